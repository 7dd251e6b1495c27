/* pprof.c - the pages that jeprof, gperftools' pprof and Go's pprof request.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/answer.h"
#include "agent/route/symbols.h"
#include "base/text.h"
#include "base/time.h"
#include "process/clock.h"
#include "process/facts.h"
#include "process/proc.h"
#include "protocol/empty_profile.h"

#include <stdio.h>
#include <stdlib.h>

enum { seconds_maximum = 3600 };

/* A snapshot, or NULL after a refusal: 503 if the service has to be started differently, 501 if it has to be built differently, 500
 * otherwise. */
static struct cairn_snapshot *take(struct cairn_call *call)
{
	struct cairn_error error = {0};
	enum cairn_profiler_state state;
	struct cairn_snapshot *snapshot = cairn_answer_can_profile(call, &state, &error) ? cairn_answer_take(call, &error) : NULL;
	int status = state == CAIRN_PROFILER_NOT_ENABLED ? 503 : state < CAIRN_PROFILER_NOT_ENABLED ? 501 : 500;
	if (!snapshot)
		cairn_response_text(call->response, status, CAIRN_TEXT, "%s\n", error.text);
	return snapshot;
}

/* growth is the same as heap: jemalloc records stacks only of what is live, not of the growth of the address space. */
void cairn_pprof_heap(struct cairn_call *call)
{
	struct cairn_snapshot *snapshot = take(call);
	if (snapshot)
		cairn_answer_snapshot(call, snapshot, CAIRN_TEXT);
}

void cairn_pprof_symbol(struct cairn_call *call)
{
	cairn_symbols_answer(call, CAIRN_SYMBOLS_ANY);
}

void cairn_pprof_symbol_count(struct cairn_call *call)
{
	cairn_response_text(call->response, 200, CAIRN_TEXT, "num_symbols: %d\n", call->agent->tool[0] != 0);
}

void cairn_pprof_cmdline(struct cairn_call *call)
{
	cairn_response_start(call->response, 200, CAIRN_TEXT);
	struct cairn_buffer *body = &call->response->body;
	char path[CAIRN_PROC_PATH];
	if (!cairn_facts_read(cairn_proc_path(path, 0, "cmdline"), body))
		cairn_response_text(call->response, 500, CAIRN_TEXT, "%s cannot be read\n", path);
	/* A program that writes its state to its command line leaves zeroes after it. */
	while (body->length > 0 && body->data[body->length - 1] == 0)
		body->length--;
}

void cairn_pprof_missing(struct cairn_call *call)
{
	cairn_response_text(call->response, 501, CAIRN_TEXT, "jemalloc keeps no such profile; heap is the one it has\n");
}

void cairn_go_index(struct cairn_call *call)
{
	cairn_response_text(
		call->response, 200, CAIRN_HTML,
		"<!DOCTYPE html>\n<title>/debug/pprof/</title>\n<a href=\"heap?debug=1\">heap</a><br>\n<a "
		"href=\"allocs?debug=1\">allocs</a><br>\n"
		"<a href=\"profile?seconds=5\">profile</a><br>\n"
		"<a href=\"goroutine\">goroutine</a>, <a href=\"mutex\">mutex</a>, <a href=\"block\">block</a> (without samples)<br>\n"
		"<a href=\"cmdline\">cmdline</a><br>\n<a href=\"/\">more</a>\n");
}

/* Scrapers ask for what Go has and log an error where it is missing. */
void cairn_go_empty(struct cairn_call *call)
{
	struct cairn_bytes path = call->request->path;
	cairn_text_take(&path, "/debug/pprof/");
	cairn_response_start(call->response, 200, CAIRN_OCTETS);
	cairn_empty_profile(path, &call->response->body);
}

bool cairn_pprof_limits(struct cairn_call *call, struct cairn_pprof_limits *limits)
{
	struct cairn_bytes query = call->request->query;
	char *const texts[] = {limits->samples, limits->bytes};
	static const char *const keys[] = {"max_samples", "max_bytes"}, *const usual[] = {CAIRN_PPROF_SAMPLES, CAIRN_PPROF_BYTES};
	for (size_t i = 0; i < 2; i++) {
		uint64_t value;
		if (!cairn_query_get(query, keys[i], texts[i], sizeof limits->samples))
			snprintf(texts[i], sizeof limits->samples, "%s", usual[i]);
		struct cairn_bytes rest = cairn_bytes_of(texts[i]);
		if (!cairn_text_decimal(&rest, &value) || rest.length > 0) {
			cairn_response_text(call->response, 400, CAIRN_TEXT, "invalid value for \"%s\": use a number, or 0 for no limit\n",
					    keys[i]);
			return false;
		}
	}
	return true;
}

size_t cairn_pprof_limit_arguments(const struct cairn_pprof_limits *limits, const char **arguments, size_t count)
{
	const char *const options[] = {"--max-samples", "--max-bytes"}, *const texts[] = {limits->samples, limits->bytes};
	for (size_t i = 0; i < 2; i++)
		if (strtoull(texts[i], NULL, 10) > 0) {
			arguments[count++] = options[i];
			arguments[count++] = texts[i];
		}
	return count;
}

/* With ?seconds=N the handler is called twice: the first call leaves its snapshot and returns later. As in Go, the answer is what was
 * allocated in between, and what is in use at the end. */
static void answer_go(struct cairn_call *call, bool allocs)
{
	struct cairn_error error = {0};
	char text[32] = "0";
	uint64_t seconds = 0;
	if (!call->base && cairn_query_get(call->request->query, "seconds", text, sizeof text)) {
		struct cairn_bytes rest = cairn_bytes_of(text);
		if (!cairn_text_decimal(&rest, &seconds) || rest.length > 0 || seconds > seconds_maximum) {
			cairn_response_text(call->response, 400, CAIRN_TEXT, "invalid value for \"seconds\": use a number up to %d\n",
					    seconds_maximum);
			return;
		}
	}
	struct cairn_pprof_limits limits;
	if (!cairn_pprof_limits(call, &limits))
		return;
	struct cairn_snapshot *snapshot = take(call);
	if (!snapshot)
		return;
	if (seconds > 0) {
		call->base = snapshot;
		call->arrived_ns = call->due_ns = cairn_clock_ns() + seconds * CAIRN_SECOND_NS;
		return;
	}
	if (cairn_query_get(call->request->query, "debug", text, sizeof text) && strcmp(text, "0") != 0 && !call->base) {
		cairn_answer_snapshot(call, snapshot, CAIRN_TEXT);
		return;
	}
	const char *arguments[12] = {"pprof"};
	size_t count = cairn_pprof_limit_arguments(&limits, arguments, 1);
	if (allocs) {
		arguments[count++] = "--default-type";
		arguments[count++] = "alloc_space";
	}
	if (call->base) {
		arguments[count++] = "--since";
		arguments[count++] = "/dev/fd/3";
	}
	arguments[count++] = "-";
	int status =
		cairn_answer_render(call, arguments, snapshot->descriptor, call->base ? call->base->descriptor : -1, CAIRN_OCTETS, &error);
	cairn_snapshot_release(snapshot);
	if (status != 200)
		cairn_response_text(call->response, status, CAIRN_TEXT, "%s\n", error.text);
	else
		cairn_response_header(call->response, "Content-Disposition",
				      allocs ? "attachment; filename=\"allocs\"" : "attachment; filename=\"heap\"");
}

void cairn_go_heap(struct cairn_call *call)
{
	if (!cairn_tikv_heap(call))
		answer_go(call, false);
}

void cairn_go_allocs(struct cairn_call *call)
{
	answer_go(call, true);
}
