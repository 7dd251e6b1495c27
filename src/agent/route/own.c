/* own.c - Cairn's own routes, which the cairn command uses, and the index page.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/engine/snapshot_trailer.h"
#include "agent/route/answer.h"
#include "agent/route/status.h"
#include "agent/sampler/inside_blocks.h"
#include "agent/sampler/sampler.h"
#include "agent/work/dump_writer.h"
#include "base/text.h"
#include "base/xml.h"

static int status_of(struct cairn_call *call)
{
	enum cairn_profiler_state state = cairn_profiler_state(&call->agent->profiler);
	return state < CAIRN_PROFILER_NOT_ENABLED ? 501 : state == CAIRN_PROFILER_NOT_ENABLED ? 409 : 500;
}

void cairn_control_status(struct cairn_call *call)
{
	char format[16] = "json";
	cairn_query_get(call->request->query, "format", format, sizeof format);
	bool text = strcmp(format, "text") == 0;
	cairn_response_start(call->response, 200, text ? CAIRN_TEXT : CAIRN_JSON);
	struct cairn_status status;
	cairn_status_gather(&status, call->agent);
	(text ? cairn_status_text : cairn_status_json)(&status, &call->response->body);
}

void cairn_control_metrics(struct cairn_call *call)
{
	cairn_response_start(call->response, 200, "text/plain; version=0.0.4; charset=utf-8");
	struct cairn_status status;
	cairn_status_gather(&status, call->agent);
	cairn_status_metrics(&status, &call->response->body);
}

/* After a command: the new state, or the reason why it failed. */
static void answer_command(struct cairn_call *call, bool done, const struct cairn_error *error)
{
	if (done)
		cairn_control_status(call);
	else
		cairn_answer_error(call, status_of(call), error->text, NULL);
}

void cairn_control_activate(struct cairn_call *call)
{
	struct cairn_error error;
	answer_command(call, cairn_profiler_activate(&call->agent->profiler, true, &error), &error);
}

void cairn_control_deactivate(struct cairn_call *call)
{
	struct cairn_error error;
	answer_command(call, cairn_profiler_activate(&call->agent->profiler, false, &error), &error);
}

void cairn_control_detach(struct cairn_call *call)
{
	struct cairn_error error = {{0}};
	if (!call->agent->end(&error))
		cairn_answer_error(call, 500, error.text, NULL);
	else
		cairn_response_text(call->response, 200, CAIRN_JSON, "{\"detached\":true}");
}

/* With a block in the body, maps that; without, its state has changed. */
void cairn_control_inside(struct cairn_call *call)
{
	struct cairn_error error;
	char text[32] = "";
	uint64_t address = 0;
	cairn_query_get(call->request->query, "address", text, sizeof text);
	struct cairn_bytes number = cairn_bytes_of(text);
	if (call->request->body.length == 0 && !cairn_sampler_renew())
		cairn_answer_error(call, 503, "a thread of the process is loading a library", NULL);
	else if (call->request->body.length > 0 && (!cairn_text_decimal(&number, &address) || number.length > 0))
		cairn_answer_error(call, 400, "address is a number", NULL);
	else if (call->request->body.length > 0 && !cairn_inside_take(address, call->request->body, &error))
		cairn_answer_error(call, 409, error.text, NULL);
	else
		cairn_response_text(call->response, 200, CAIRN_JSON, "{\"done\":true}");
}

void cairn_control_reset(struct cairn_call *call)
{
	struct cairn_error error;
	char text[32];
	uint64_t period = 0;
	if (cairn_query_get(call->request->query, "period", text, sizeof text) && (!cairn_text_size(text, &period) || period == 0)) {
		cairn_answer_error(call, 400, "period is a number of bytes such as 512K", NULL);
		return;
	}
	if (!cairn_profiler_reset(&call->agent->profiler, period, &error)) {
		answer_command(call, false, &error);
		return;
	}
	cairn_response_text(
		call->response, 200, CAIRN_JSON,
		"{\"reset\":true,\"period\":%llu,\"note\":\"all samples discarded; the profile now covers new allocations only\"}",
		(unsigned long long)cairn_profiler_period(&call->agent->profiler));
}

void cairn_control_gdump(struct cairn_call *call)
{
	struct cairn_error error;
	char value[16] = "";
	cairn_query_get(call->request->query, "activate", value, sizeof value);
	bool on = strcmp(value, "true") == 0;
	if (!on && strcmp(value, "false") != 0) {
		cairn_answer_error(call, 400, "missing activate=true or activate=false", NULL);
		return;
	}
	answer_command(call, cairn_profiler_gdump(&call->agent->profiler, on, &error), &error);
}

void cairn_control_snapshot(struct cairn_call *call)
{
	struct cairn_error error = {0};
	struct cairn_snapshot *snapshot = cairn_answer_take(call, &error);
	if (snapshot)
		cairn_answer_snapshot(call, snapshot, CAIRN_TEXT);
	else
		answer_command(call, false, &error);
}

void cairn_control_dump(struct cairn_call *call)
{
	struct cairn_error error = {0};
	char path[512];
	struct cairn_snapshot *snapshot = cairn_answer_take(call, &error);
	bool written = snapshot && cairn_dumps_write_dated(call->agent, snapshot, "manual",
							   &(struct cairn_folder_facts){.reason = "manual"}, path, sizeof path, &error);
	size_t size = snapshot ? snapshot->text.length : 0;
	if (snapshot)
		cairn_snapshot_release(snapshot);
	if (!written) {
		answer_command(call, false, &error);
		return;
	}
	cairn_response_start(call->response, 200, CAIRN_JSON);
	struct cairn_json json = cairn_json_answer(&call->response->body);
	cairn_json_text(&json, "path", cairn_bytes_of(path));
	cairn_json_integer(&json, "bytes", (int64_t)size);
	cairn_json_end(&json);
}

void cairn_control_memory(struct cairn_call *call)
{
	cairn_response_start(call->response, 200, CAIRN_TEXT);
	cairn_snapshot_trailer_write(&call->response->body, &call->agent->profiler, CAIRN_TRAILER_WITH_STATISTICS);
}

void cairn_control_stats(struct cairn_call *call)
{
	char format[16] = "text";
	struct cairn_error error;
	cairn_query_get(call->request->query, "format", format, sizeof format);
	bool json = strcmp(format, "json") == 0;
	cairn_response_start(call->response, 200, json ? CAIRN_JSON : CAIRN_TEXT);
	if (cairn_answer_stats(call, json ? "J" : NULL))
		return;
	cairn_profiler_explain(&call->agent->profiler, error.text, sizeof error.text);
	if (!error.text[0])
		cairn_fail(&error, call->agent->profiler.jemalloc.mallctl
					   ? "malloc_stats_print was not passed to cairn_start"
					   : "the process does not use jemalloc; 'cairn rss PID' breaks down its memory");
	cairn_answer_error(call, 501, error.text, NULL);
}

/* The first path that PATTERN matches. */
static void append_first_path(struct cairn_buffer *out, const char *pattern)
{
	for (; *pattern; pattern++) {
		if (*pattern == '{') {
			size_t length = strcspn(pattern + 1, ",}");
			cairn_buffer_append(out, pattern + 1, length);
			pattern = strchr(pattern, '}');
		} else {
			cairn_buffer_byte(out, *pattern);
		}
	}
}

/* Whether a link to ROUTE only shows something and changes nothing. */
static bool is_link(const struct cairn_route *route)
{
	return strncmp(route->methods, "GET", 3) == 0 && !strchr(route->path, '*') && !(route->flags & CAIRN_ROUTE_EFFECT);
}

void cairn_control_index(struct cairn_call *call)
{
	struct cairn_buffer *body = &call->response->body;
	struct cairn_error why;
	cairn_response_start(call->response, 200, CAIRN_HTML);
	enum cairn_profiler_state state = cairn_profiler_state(&call->agent->profiler);
	cairn_profiler_explain(&call->agent->profiler, why.text, sizeof why.text);
	cairn_buffer_text(
		body, "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>cairn</title>\n"
		      "<style>body{font:15px sans-serif;margin:2em;max-width:70em}td{padding:.1em 1em .1em 0}code{font-size:14px}</style>\n"
		      "<h1>cairn</h1>\n<p>Heap profiling: <b>");
	cairn_buffer_text(body, cairn_profiler_state_name(state));
	cairn_buffer_text(body, "</b>. ");
	cairn_xml_text(body, cairn_bytes_of(why.text));
	cairn_buffer_text(body, "</p>\n");
	if (cairn_answer_state(call, &why) >= CAIRN_PROFILER_INACTIVE)
		cairn_buffer_text(body, "<p><a href=\"/debug/pprof/heap?jeprof=true\">The heap as a flame graph, now</a></p>\n");
	cairn_buffer_text(body, "<table>\n");
	for (size_t i = 0; i < cairn_routes_count; i++) {
		const struct cairn_route *route = &cairn_routes[i];
		if (!route->about)
			continue;
		cairn_buffer_format(body, "<tr><td>%s<td>", route->methods);
		if (is_link(route)) {
			cairn_buffer_text(body, "<a href=\"");
			append_first_path(body, route->path);
			cairn_buffer_format(body, "\"><code>%s</code></a>", route->path);
		} else {
			cairn_buffer_format(body, "<code>%s</code>", route->path);
		}
		cairn_buffer_text(body, "<td>");
		cairn_xml_text(body, cairn_bytes_of(route->about));
		cairn_buffer_byte(body, '\n');
	}
	cairn_buffer_text(body, "</table>\n");
}
