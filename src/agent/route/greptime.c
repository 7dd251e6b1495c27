/* greptime.c - GreptimeDB's routes under /debug/prof/mem and two of Databend's, with their wording.
 *
 * Bodies and status codes are theirs. Content types are correct, unless compat:old asks for theirs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/answer.h"

#include <strings.h>

/* Theirs are octet-stream for every dump and text/plain for the rest. */
static const char *type_of(struct cairn_call *call, const char *right, const char *old)
{
	return call->agent->config.old_contract ? old : right;
}

/* Refuses unless profiling is enabled. */
static bool require(struct cairn_call *call)
{
	enum cairn_profiler_state state;
	struct cairn_error cause;
	if (cairn_answer_can_profile(call, &state, &cause))
		return true;
	if (state == CAIRN_PROFILER_NOT_ENABLED)
		cairn_answer_error(call, 400, "Memory profiling is not enabled", cause.text);
	else
		cairn_response_text(call->response, 501, CAIRN_TEXT, "The 'mem-prof' feature is disabled: %s", cause.text);
	return false;
}

static void answer_render(struct cairn_call *call, int status, const char *what, struct cairn_error *error)
{
	if (status == 200)
		return;
	cairn_answer_error(call, status, what, error->text);
}

void cairn_greptime_dump(struct cairn_call *call)
{
	char output[32] = "text";
	cairn_query_get(call->request->query, "output", output, sizeof output);
	bool text = strcmp(output, "text") == 0, proto = strcmp(output, "proto") == 0;
	if (!text && !proto && strcmp(output, "flamegraph") != 0) {
		cairn_response_text(
			call->response, 400, CAIRN_TEXT,
			"Failed to deserialize query string: output: unknown variant `%s`, expected one of `proto`, `text`, `flamegraph`",
			output);
		return;
	}
	struct cairn_error error = {0};
	if (!require(call))
		return;
	struct cairn_snapshot *snapshot = cairn_answer_take(call, &error);
	if (!snapshot) {
		cairn_answer_error(call, 503, "Failed to dump profiling data", error.text);
		return;
	}
	if (text) {
		cairn_answer_snapshot(call, snapshot, type_of(call, CAIRN_TEXT, CAIRN_OCTETS));
		return;
	}
	static const char *const pprof[] = {"pprof", "-", NULL}, *const flame[] = {"flame", "-", NULL};
	const char *type = proto ? CAIRN_OCTETS : type_of(call, CAIRN_SVG, CAIRN_OCTETS);
	int status = cairn_answer_render(call, proto ? pprof : flame, snapshot->descriptor, -1, type, &error);
	cairn_snapshot_release(snapshot);
	answer_render(call, status, proto ? "Failed to dump profile data to pprof" : "Failed to dump profile data to flamegraph", &error);
}

static void activate(struct cairn_call *call, bool active)
{
	struct cairn_error error;
	if (!require(call))
		return;
	if (!cairn_profiler_activate(&call->agent->profiler, active, &error))
		cairn_answer_error(call, 500, active ? "Failed to activate heap profiling" : "Failed to deactivate heap profiling",
				   error.text);
	else
		cairn_response_text(call->response, 200, CAIRN_TEXT, active ? "Heap profiling activated" : "Heap profiling deactivated");
}

void cairn_greptime_activate(struct cairn_call *call)
{
	activate(call, true);
}

void cairn_greptime_deactivate(struct cairn_call *call)
{
	activate(call, false);
}

static void answer_active(struct cairn_call *call, bool active)
{
	cairn_response_text(call->response, 200, type_of(call, CAIRN_JSON, CAIRN_TEXT), "{\"active\": %s}", active ? "true" : "false");
}

void cairn_greptime_status(struct cairn_call *call)
{
	struct cairn_error cause;
	answer_active(call, cairn_answer_state(call, &cause) == CAIRN_PROFILER_ACTIVE);
}

void cairn_greptime_gdump_status(struct cairn_call *call)
{
	struct cairn_error cause;
	answer_active(call, cairn_answer_state(call, &cause) >= CAIRN_PROFILER_INACTIVE &&
				    cairn_profiler_gdump_is_active(&call->agent->profiler));
}

/* Media types have no case, and may have parameters. */
static bool is_form(struct cairn_bytes type)
{
	static const char form[] = "application/x-www-form-urlencoded";
	size_t length = sizeof form - 1;
	return type.length >= length && strncasecmp(type.data, form, length) == 0 &&
	       (type.length == length || type.data[length] == ';' || type.data[length] == ' ');
}

void cairn_greptime_gdump(struct cairn_call *call)
{
	struct cairn_error error;
	char value[16];
	if (!is_form(call->request->content_type)) {
		cairn_response_text(call->response, 415, CAIRN_TEXT,
				    "Form requests must have `Content-Type: application/x-www-form-urlencoded`");
		return;
	}
	bool given = cairn_query_get(call->request->body, "activate", value, sizeof value);
	bool active = given && strcmp(value, "true") == 0;
	if (!given || (!active && strcmp(value, "false") != 0)) {
		cairn_response_text(call->response, 422, CAIRN_TEXT, "Failed to deserialize form body: %s",
				    given ? "activate: provided string was not `true` or `false`" : "missing field `activate`");
		return;
	}
	if (!require(call))
		return;
	if (!cairn_profiler_gdump(&call->agent->profiler, active, &error))
		cairn_answer_error(call, 500, "Failed to update jemalloc gdump flag", error.text);
	else
		cairn_response_text(call->response, 200, CAIRN_TEXT, active ? "gdump activated" : "gdump deactivated");
}

void cairn_greptime_symbol(struct cairn_call *call)
{
	struct cairn_error error;
	static const char *const flame[] = {"flame", "--only-modules", "/dev/fd/3", "-", NULL};
	if (call->request->body.length == 0) {
		cairn_answer_error(call, 400, "Failed to parse jeheap profile: the request has no body", NULL);
		return;
	}
	int status = cairn_answer_render_upload(call, flame, call->request->body, type_of(call, CAIRN_SVG, CAIRN_OCTETS), &error);
	answer_render(call, status, "Failed to dump profile data to flamegraph", &error);
}

void cairn_databend_home(struct cairn_call *call)
{
	cairn_response_text(call->response, 200, CAIRN_HTML,
			    "<!DOCTYPE html>\n<title>debug</title>\n<a href=\"/debug/pprof/profile?seconds=5\">pprof/profile</a><br>\n"
			    "<a href=\"/debug/mem/pprof/profile?seconds=0\">mem/pprof/profile</a><br>\n<a href=\"/\">more</a>\n");
}

void cairn_databend_profile(struct cairn_call *call)
{
	struct cairn_error error = {0};
	enum cairn_profiler_state state;
	if (!cairn_answer_can_profile(call, &state, &error)) {
		cairn_response_text(call->response, 500, CAIRN_TEXT,
				    "opt.prof is not ON,\n            please start the application with proper MALLOC env.\n"
				    "            e.g.  MALLOC_CONF=prof:true \n%s\n", error.text);
		return;
	}
	struct cairn_snapshot *snapshot = cairn_answer_take(call, &error);
	if (!snapshot) {
		cairn_response_text(call->response, 500, CAIRN_TEXT, "dump Jemalloc prof: failure: %s\n", error.text);
		return;
	}
	cairn_answer_snapshot(call, snapshot, CAIRN_OCTETS);
	cairn_response_header(call->response, "Content-Disposition", "attachment; filename=\"heap_dump.prof\"");
}
