/* api.c - the functions of cairn.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cairn.h"

#include "agent/host/admission.h"
#include "agent/host/start.h"
#include "agent/route/route.h"
#include "agent/sampler/sampler.h"
#include "agent/work/dump_writer.h"
#include "base/descriptor.h"
#include "base/file_limit.h"
#include "base/pages.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { body_maximum = 512 << 20 };

static_assert((int)CAIRN_UNAVAILABLE == (int)CAIRN_PROFILER_UNAVAILABLE && (int)CAIRN_NOT_BUILT == (int)CAIRN_PROFILER_NOT_BUILT &&
		      (int)CAIRN_NOT_ENABLED == (int)CAIRN_PROFILER_NOT_ENABLED && (int)CAIRN_INACTIVE == (int)CAIRN_PROFILER_INACTIVE &&
		      (int)CAIRN_ACTIVE == (int)CAIRN_PROFILER_ACTIVE,
	      "the states of cairn.h are those of the profiler");

/* Passes an internal error on to the caller's buffer. */
static bool pass_on(bool good, const struct cairn_error *inner, char *error, size_t size)
{
	if (!good && error && size > 0)
		snprintf(error, size, "%s", inner->text);
	return good;
}

static void take_text(struct cairn_config *config, const char *key, const char *value)
{
	if (value)
		cairn_config_set(config, key, cairn_bytes_of(value), CAIRN_CONFIG_API);
}

static bool start(const struct cairn_options *given, struct cairn_error *error)
{
	struct cairn_options options = {0};
	struct cairn_config config;
	if (given && given->size < offsetof(struct cairn_options, token))
		return cairn_fail(error, "options.size is %zu; set it to sizeof(struct cairn_options)", given->size);
	if (given) /* a caller that was built with an older header has fewer fields */
		memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
	cairn_config_default(&config);
	take_text(&config, "listen", options.listen);
	take_text(&config, "token", options.token);
	take_text(&config, "dumps", options.dumps);
	take_text(&config, "tool", options.tool);
	if (options.heap_profiling)
		take_text(&config, "enable_heap_profiling", options.heap_profiling > 0 ? "true" : "false");
	if (options.mallctl && atomic_load(&cairn_agent.stage) != CAIRN_STAGE_RUNNING &&
	    !cairn_jemalloc_take(&cairn_agent.profiler.jemalloc, options.mallctl, options.malloc_stats_print, error))
		return false;
	return cairn_service_start(&config, CAIRN_SERVICE_CALLED, error);
}

bool cairn_start(const struct cairn_options *options, char *error, size_t size)
{
	struct cairn_error inner = {0};
	cairn_service_lock();
	bool started = start(options, &inner);
	cairn_service_unlock();
	return pass_on(started, &inner, error, size);
}

void cairn_stop(void)
{
	cairn_service_lock();
	cairn_service_stop();
	cairn_service_unlock();
}

/* Everything below needs the agent's state. */
static bool require_started(struct cairn_error *error)
{
	return cairn_service_is_running() || cairn_fail(error, "the agent is not running; call cairn_start first");
}

enum cairn_state cairn_state(void)
{
	return (enum cairn_state)cairn_profiler_state(&cairn_agent.profiler);
}

bool cairn_activate(char *error, size_t size)
{
	struct cairn_error inner;
	return pass_on(require_started(&inner) && cairn_profiler_activate(&cairn_agent.profiler, true, &inner), &inner, error, size);
}

bool cairn_deactivate(char *error, size_t size)
{
	struct cairn_error inner;
	return pass_on(require_started(&inner) && cairn_profiler_activate(&cairn_agent.profiler, false, &inner), &inner, error, size);
}

bool cairn_reset(uint64_t period, char *error, size_t size)
{
	struct cairn_error inner;
	return pass_on(require_started(&inner) && cairn_profiler_reset(&cairn_agent.profiler, period, &inner), &inner, error, size);
}

bool cairn_gdump(bool active, char *error, size_t size)
{
	struct cairn_error inner;
	return pass_on(require_started(&inner) && cairn_profiler_gdump(&cairn_agent.profiler, active, &inner), &inner, error, size);
}

/* The memory that a reply refers to. It belongs to the caller, who may fork with it: a child inherits these pages, unlike the agent's
 * others. */
struct kept {
	size_t size;
	char headers[sizeof((struct cairn_response *)0)->headers];
	_Alignas(16) char body[];
};

static struct kept *keep_response(const struct cairn_response *response, struct cairn_bytes content)
{
	size_t size = sizeof(struct kept) + content.length;
	struct kept *kept = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (kept == MAP_FAILED)
		return NULL;
	kept->size = size;
	memcpy(kept->headers, response->headers, sizeof kept->headers);
	if (content.length)
		memcpy(kept->body, content.data, content.length);
	return kept;
}

bool cairn_answer(const char *method, const char *target, const char *content_type, const void *body, size_t length,
		  struct cairn_reply *reply)
{
	struct cairn_request request = {
		.method = cairn_bytes_of(method),
		.content_type = cairn_bytes_of(content_type ? content_type : ""),
		.body = {body, length},
	};
	*reply = (struct cairn_reply){0};
	struct cairn_response *response = cairn_pages_map(sizeof *response);
	if (!response)
		return false;
	response->body = cairn_pages_of(&cairn_agent.memory.local, body_maximum);
	struct cairn_error inner;
	if (!require_started(&inner))
		cairn_response_text(response, 503, CAIRN_TEXT, "%s\n", inner.text);
	else if (!cairn_request_target(&request, cairn_bytes_of(target)))
		cairn_response_text(response, 400, CAIRN_TEXT, "the target is not a path\n");
	else
		cairn_admission_answer(&request, response);
	cairn_response_load(response);
	struct cairn_bytes content = cairn_response_content(response);
	struct kept *kept = keep_response(response, content);
	if (kept)
		*reply = (struct cairn_reply){response->status, response->type, kept->headers, kept->body, content.length, kept};
	cairn_response_free(response);
	cairn_pages_unmap(response, sizeof *response);
	return kept != NULL;
}

void cairn_reply_free(struct cairn_reply *reply)
{
	struct kept *kept = reply->owner;
	if (kept)
		munmap(kept, kept->size);
	*reply = (struct cairn_reply){0};
}

size_t cairn_status(char *json, size_t size)
{
	struct cairn_reply reply;
	size_t length = 0;
	if (cairn_answer("GET", "/cairn/status", NULL, NULL, 0, &reply)) {
		length = reply.length;
		if (size > 0)
			snprintf(json, size, "%.*s", (int)length, length ? (const char *)reply.body : "");
		cairn_reply_free(&reply);
	}
	return length;
}

int cairn_ledger(void)
{
	struct cairn_sampler_status status;
	cairn_sampler_get_status(&status);
	if (!status.open || !cairn_descriptor_is_ours(status.descriptor))
		return -1;
	return cairn_descriptor_reopen(status.descriptor); /* a duplicate could write */
}

bool cairn_snapshot_to(int descriptor, char *error, size_t size)
{
	struct cairn_error inner;
	struct cairn_snapshot *snapshot = require_started(&inner) ? cairn_admission_snapshot(&inner) : NULL;
	if (!snapshot)
		return pass_on(false, &inner, error, size);
	struct cairn_bytes rest = snapshot->text;
	struct cairn_file_limit limit;
	cairn_file_limit_enter(&limit);
	bool good = cairn_descriptor_write_all(descriptor, &rest) || cairn_fail_errno(&inner, "cannot write the snapshot");
	cairn_file_limit_leave(&limit, !good);
	cairn_snapshot_release(snapshot);
	return pass_on(good, &inner, error, size);
}

bool cairn_snapshot_file(const char *path, char *error, size_t size)
{
	struct cairn_error inner;
	struct cairn_snapshot *snapshot = require_started(&inner) ? cairn_admission_snapshot(&inner) : NULL;
	if (!snapshot)
		return pass_on(false, &inner, error, size);
	struct cairn_file_limit limit;
	cairn_file_limit_enter(&limit);
	bool good = cairn_folder_write_file(path, snapshot->text, &inner);
	cairn_file_limit_leave(&limit, !good);
	if (good)
		atomic_fetch_add(&cairn_agent.counters.dumps, 1);
	cairn_snapshot_release(snapshot);
	return pass_on(good, &inner, error, size);
}

bool cairn_statistics(void (*write_piece)(void *context, const char *text), void *context, const char *options)
{
	cairn_stats_print *print = cairn_agent.profiler.jemalloc.stats_print;
	if (print)
		print(write_piece, context, options);
	return print != NULL;
}
