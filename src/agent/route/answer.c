/* answer.c - the common parts of answers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/answer.h"

#include "agent/engine/scratch.h"
#include "agent/engine/snapshot_trailer.h"
#include "agent/jemalloc/profiler.h"
#include "agent/sampler/sampler.h"
#include "agent/work/spawn.h"
#include "base/descriptor.h"
#include "base/pages.h"
#include "base/quota.h"
#include "dump/engine_kind.h"
#include "process/facts.h"
#include "process/proc.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

void cairn_answer_error(struct cairn_call *call, int status, const char *text, const char *cause)
{
	cairn_response_start(call->response, status, CAIRN_JSON);
	struct cairn_json json = cairn_json(&call->response->body);
	cairn_json_open(&json, NULL, '{');
	cairn_json_text(&json, "error", cairn_bytes_of(text));
	if (cause && cause[0])
		cairn_json_text(&json, "cause", cairn_bytes_of(cause));
	cairn_json_close(&json, '}');
}

enum cairn_profiler_state cairn_answer_state(struct cairn_call *call, struct cairn_error *cause)
{
	struct cairn_profiler *profiler = &call->agent->profiler;
	if (!cairn_profiler_is_jemalloc(profiler) && call->agent->config.engine != CAIRN_ENGINE_CAIRN &&
	    cairn_profiler_engine(profiler)->warn(profiler, cause->text, sizeof cause->text))
		return profiler->jemalloc.mallctl ? cairn_engine_jemalloc.state(profiler) : CAIRN_PROFILER_NOT_ENABLED;
	cairn_profiler_explain(profiler, cause->text, sizeof cause->text);
	return cairn_profiler_state(profiler);
}

bool cairn_answer_can_profile(struct cairn_call *call, enum cairn_profiler_state *state, struct cairn_error *cause)
{
	*state = cairn_answer_state(call, cause);
	return *state >= CAIRN_PROFILER_INACTIVE;
}

static const char memory_is_used_up[] =
	"other snapshots and answers use all of the memory for answers (`memory` in CAIRN_CONF)";

struct cairn_snapshot *cairn_answer_take(struct cairn_call *call, struct cairn_error *error)
{
	struct cairn_snapshot_ask ask = {.since_ns = call->arrived_ns, .quota = call->quota, .gone = call->gone};
	struct cairn_snapshot *snapshot = cairn_snapshot_take(&call->agent->snapshots, &ask, error);
	if (ask.refused)
		call->busy = memory_is_used_up;
	return snapshot;
}

static void release_snapshot(void *owner)
{
	cairn_snapshot_release(owner);
}

void cairn_answer_snapshot(struct cairn_call *call, struct cairn_snapshot *snapshot, const char *type)
{
	cairn_response_start(call->response, 200, type);
	call->response->content = snapshot->text;
	call->response->release = release_snapshot;
	call->response->owner = snapshot;
}

void cairn_answer_file(struct cairn_call *call, int descriptor)
{
	struct stat status;
	if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
		cairn_response_text(call->response, 500, CAIRN_TEXT, "the file cannot be read\n");
		cairn_descriptor_close(descriptor);
		return;
	}
	cairn_response_start(call->response, 200, CAIRN_OCTETS);
	call->response->file = descriptor;
	call->response->file_length = (uint64_t)status.st_size;
}

int cairn_answer_render(struct cairn_call *call, const char *const *arguments, int input, int base, const char *type,
			struct cairn_error *error)
{
	struct cairn_agent *agent = call->agent;
	if (!agent->tool[0]) {
		cairn_fail(error, "cannot symbolize or draw: the cairn command is neither beside libcairn.so nor on PATH; "
				  "set CAIRN_TOOL to its path");
		return 501;
	}
	struct cairn_spawn spawn = {
		.path = agent->tool,
		.arguments = {"cairn"},
		.environment = agent->environment,
		.input = input,
		.base = base,
		.seconds = (unsigned)agent->config.tool_seconds,
		.memory = agent->config.tool_memory,
		.gone = call->gone,
		.stop = &agent->stop,
	};
	for (size_t i = 0; arguments[i] && i + 2 < CAIRN_SPAWN_ARGUMENTS; i++)
		spawn.arguments[i + 1] = arguments[i];
	cairn_response_start(call->response, 200, type);
	atomic_fetch_add(&agent->counters.children, 1);
	enum cairn_spawn_result result = cairn_spawn_run(&spawn, &call->response->body, error);
	if (result == CAIRN_SPAWN_DONE)
		return 200;
	atomic_fetch_add(&agent->counters.children_bad, 1);
	if (call->response->body.failed)
		call->busy = memory_is_used_up;
	call->response->body.length = 0;
	call->response->body.failed = false;
	return result == CAIRN_SPAWN_TOO_LONG ? 504 : 500;
}

/* Text for the cairn command: a scratch file, whose size is charged to the call's quota. */
struct handed {
	struct cairn_scratch scratch;
	size_t length;
};

static void take_back(struct cairn_call *call, struct handed *handed)
{
	cairn_scratch_close(&handed->scratch);
	cairn_quota_give(call->quota, handed->length);
}

/* Fills HANDED with TEXT. Returns 200, or the status of the failure; nothing has to be released then. */
static int hand_over(struct cairn_call *call, struct cairn_bytes text, struct handed *handed, struct cairn_error *error)
{
	handed->length = text.length;
	if (!cairn_quota_take(call->quota, text.length)) {
		call->busy = memory_is_used_up;
		cairn_fail(error, "%s", memory_is_used_up);
		return 503;
	}
	if (!cairn_scratch_open(&handed->scratch, call->agent->snapshots.folder, true, error)) {
		cairn_quota_give(call->quota, text.length);
		return 500;
	}
	if (cairn_descriptor_write_all(handed->scratch.descriptor, &text))
		return 200;
	cairn_fail_errno(error, "cannot hand the text to the cairn command");
	take_back(call, handed);
	return 500;
}

int cairn_answer_render_text(struct cairn_call *call, const char *const *arguments, struct cairn_bytes text, const char *type,
			     struct cairn_error *error)
{
	struct handed handed;
	int status = hand_over(call, text, &handed, error);
	if (status != 200)
		return status;
	status = cairn_answer_render(call, arguments, handed.scratch.descriptor, -1, type, error);
	take_back(call, &handed);
	return status;
}

int cairn_answer_render_upload(struct cairn_call *call, const char *const *arguments, struct cairn_bytes text, const char *type,
			       struct cairn_error *error)
{
	struct handed handed, modules;
	char path[CAIRN_PROC_PATH];
	struct cairn_buffer list = cairn_pages(64 << 20);
	cairn_facts_read(cairn_proc_path(path, 0, "maps"), &list);
	cairn_snapshot_trailer_begin(&list);
	cairn_snapshot_trailer_end(&list, cairn_profiler_engine(&call->agent->profiler));
	int status = 500;
	if (list.failed)
		cairn_fail(error, "no memory for the list of modules");
	else
		status = hand_over(call, cairn_buffer_bytes(&list), &modules, error);
	cairn_buffer_free(&list);
	if (status != 200)
		return status;
	status = hand_over(call, text, &handed, error);
	if (status == 200) {
		status = cairn_answer_render(call, arguments, handed.scratch.descriptor, modules.scratch.descriptor, type, error);
		take_back(call, &handed);
	}
	take_back(call, &modules);
	return status;
}

static void append_text(void *context, const char *text)
{
	cairn_buffer_text(context, text);
}

bool cairn_answer_stats(struct cairn_call *call, const char *options)
{
	struct cairn_jemalloc *jemalloc = &call->agent->profiler.jemalloc;
	if (!jemalloc->stats_print)
		return false;
	jemalloc->stats_print(append_text, &call->response->body, options);
	return true;
}
