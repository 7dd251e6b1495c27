/* userver.c - userver's commands under /service/jemalloc, with the status codes and texts of newer versions and the real cause; with
 * compat:old every command answers 200, as older versions do.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/answer.h"
#include "agent/route/symbols.h"
#include "agent/work/dump_writer.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>

static const char active_key[] = " prof.active:"; /* as userver's check looks for it: grep ' prof.active:' */

static void answer_ok(struct cairn_call *call)
{
	cairn_response_text(call->response, 200, CAIRN_TEXT, "OK\n");
}

static void answer_failure(struct cairn_call *call, const char *cause)
{
	int status = call->agent->config.old_contract ? 200 : 500;
	cairn_response_text(call->response, status, CAIRN_TEXT, "mallctl() returned error: %s\n", cause);
}

static void refuse_without_jemalloc(struct cairn_call *call, const char *cause)
{
	if (call->agent->config.old_contract)
		answer_failure(call, "Operation not supported");
	else
		cairn_response_text(
			call->response, 501, CAIRN_TEXT,
			"'jemalloc' profiling is not available. Is USERVER_FEATURE_JEMALLOC defined? Is the platform supported?\n%s\n",
			cause);
}

/* Refuses unless profiling is enabled. */
static bool require(struct cairn_call *call)
{
	enum cairn_profiler_state state;
	struct cairn_error cause;
	if (cairn_answer_can_profile(call, &state, &cause))
		return true;
	if (state != CAIRN_PROFILER_NOT_ENABLED)
		refuse_without_jemalloc(call, cause.text);
	else if (call->agent->config.old_contract)
		answer_failure(call, "No such file or directory");
	else
		cairn_response_text(call->response, 503, CAIRN_TEXT,
				    "'jemalloc' profiling is not available because the service was not started with a 'MALLOC_CONF' "
				    "environment variable that contain 'prof:true'\n%s\n", cause.text);
	return false;
}

/* Refuses if there is no jemalloc, also where Cairn's engine can profile without one. */
static bool require_jemalloc(struct cairn_call *call)
{
	if (call->agent->profiler.jemalloc.mallctl)
		return true;
	if (require(call))
		refuse_without_jemalloc(call, call->agent->profiler.missing.text);
	return false;
}

static char *find_active(struct cairn_buffer *body)
{
	return body->length ? memmem(body->data, body->length, active_key, sizeof active_key - 1) : NULL;
}

/* Removes the line of jemalloc's statistics in which its own profiler is on or off. */
static void remove_active(struct cairn_buffer *body)
{
	char *found = find_active(body);
	if (!found)
		return;
	const char *before = memrchr(body->data, '\n', (size_t)(found - body->data)), *stop = body->data + body->length;
	char *start = before ? body->data + (before + 1 - body->data) : body->data;
	const char *newline = memchr(found, '\n', (size_t)(stop - found)), *rest = newline ? newline + 1 : stop;
	memmove(start, rest, (size_t)(stop - rest));
	body->length -= (size_t)(rest - start);
}

/* The line that userver looks for tells whether the engine in use samples. jemalloc's own does if that is the engine; older versions of
 * it leave it out where profiling is not enabled. */
void cairn_userver_stat(struct cairn_call *call)
{
	struct cairn_profiler *profiler = &call->agent->profiler;
	cairn_response_start(call->response, 200, CAIRN_TEXT);
	if (!cairn_answer_stats(call, NULL) && cairn_profiler_is_jemalloc(profiler)) {
		if (call->agent->config.old_contract)
			cairn_response_text(call->response, 200, CAIRN_TEXT, "(libjemalloc support is disabled)");
		else
			require_jemalloc(call);
		return;
	}
	if (cairn_profiler_is_jemalloc(profiler) && find_active(&call->response->body))
		return;
	struct cairn_error cause;
	remove_active(&call->response->body);
	cairn_buffer_format(&call->response->body, " %s %s\n", active_key,
			    cairn_answer_state(call, &cause) == CAIRN_PROFILER_ACTIVE ? "true" : "false");
}

void cairn_userver_enable(struct cairn_call *call)
{
	struct cairn_error error;
	if (!require(call))
		return;
	if (cairn_profiler_activate(&call->agent->profiler, true, &error))
		answer_ok(call);
	else
		answer_failure(call, error.text);
}

void cairn_userver_disable(struct cairn_call *call)
{
	struct cairn_error error;
	/* What is not enabled is off already. */
	if (cairn_profiler_state(&call->agent->profiler) < CAIRN_PROFILER_INACTIVE ||
	    cairn_profiler_activate(&call->agent->profiler, false, &error))
		answer_ok(call);
	else
		answer_failure(call, error.text);
}

void cairn_userver_dump(struct cairn_call *call)
{
	struct cairn_error error = {0};
	char path[512];
	if (!require(call))
		return;
	struct cairn_snapshot *snapshot = cairn_answer_take(call, &error);
	bool written = snapshot && cairn_dumps_write_numbered(call->agent, snapshot, 'm', path, sizeof path, &error);
	if (snapshot)
		cairn_snapshot_release(snapshot);
	if (written)
		answer_ok(call);
	else
		answer_failure(call, error.text);
}

static void answer_code(struct cairn_call *call, int code, const char *what)
{
	struct cairn_error error;
	if (code == 0) {
		answer_ok(call);
		return;
	}
	errno = code;
	cairn_fail_errno(&error, "jemalloc %s refused %s", call->agent->profiler.jemalloc.version, what);
	answer_failure(call, error.text);
}

void cairn_userver_set_threads(struct cairn_call *call)
{
	char text[32];
	uint64_t count;
	if (!require_jemalloc(call))
		return;
	if (!cairn_query_get(call->request->query, "count", text, sizeof text)) {
		cairn_response_text(call->response, 400, CAIRN_TEXT, "missing 'count' argument");
		return;
	}
	struct cairn_bytes rest = cairn_bytes_of(text);
	if (!cairn_text_decimal(&rest, &count) || rest.length > 0 || count == 0) {
		cairn_response_text(call->response, 400, CAIRN_TEXT, "invalid 'count' value: %s", text);
		return;
	}
	size_t value = (size_t)count;
	answer_code(call, call->agent->profiler.jemalloc.mallctl("max_background_threads", NULL, NULL, &value, sizeof value),
		    "max_background_threads");
}

static void switch_threads(struct cairn_call *call, bool on)
{
	if (require_jemalloc(call))
		answer_code(call, cairn_jemalloc_set_bool(&call->agent->profiler.jemalloc, "background_thread", on), "background_thread");
}

void cairn_userver_start_threads(struct cairn_call *call)
{
	switch_threads(call, true);
}

void cairn_userver_stop_threads(struct cairn_call *call)
{
	switch_threads(call, false);
}

void cairn_userver_heap(struct cairn_call *call)
{
	struct cairn_error error = {0};
	if (!require(call))
		return;
	struct cairn_snapshot *snapshot = cairn_answer_take(call, &error);
	if (snapshot)
		cairn_answer_snapshot(call, snapshot, CAIRN_OCTETS);
	else
		answer_failure(call, error.text);
}

void cairn_userver_symbol(struct cairn_call *call)
{
	cairn_symbols_answer(call, CAIRN_SYMBOLS_USERVER);
}

void cairn_userver_unknown(struct cairn_call *call)
{
	if (call->agent->config.old_contract)
		cairn_response_text(call->response, 200, CAIRN_TEXT, "Unsupported command");
	else
		cairn_response_text(call->response, 404, CAIRN_TEXT,
				    "Unsupported command. Supported commands are: stat, enable, disable, dump, bg_threads_set_max, "
				    "bg_threads_enable, bg_threads_disable, heap, symbol, cmdline\n");
}

void cairn_userver_wrong_method(struct cairn_response *response, struct cairn_bytes method)
{
	cairn_response_text(response, 405, CAIRN_TEXT, "Unsupported method for this command: %.*s\n",
			    (int)(method.length < 20 ? method.length : 20), method.data);
}

void cairn_userver_long_body(struct cairn_response *response, uint64_t length, size_t maximum)
{
	cairn_response_text(response, 413, CAIRN_TEXT, "Request body is too large: %llu > %zu bytes\n", (unsigned long long)length,
			    maximum);
}
