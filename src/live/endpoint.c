/* endpoint.c - tries the heap endpoints of other services, one after another.
 *
 * Endpoints that only read come first. RisingWave's comes last, and only if none of the others exists: its node writes a file first, and
 * returns only call paths with names.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/endpoint.h"

#include "base/arena.h"
#include "base/base64.h"
#include "base/json_read.h"
#include "base/note.h"
#include "profile/read.h"

#include <stdio.h>

static const struct {
	const char *method, *path, *service;
} endpoints[] = {
	{"POST", "/debug/prof/mem", "GreptimeDB"},
	{"GET", "/debug/pprof/heap", "TiKV, and many others"},
	{"GET", "/debug/mem/pprof/profile", "Databend"},
	{"GET", "/service/jemalloc/pprof/heap", "userver"},
};

/* Folded text is hard to distinguish from other text, and none of these endpoints returns it. */
static bool is_profile(const struct cairn_buffer *body)
{
	enum cairn_format format = cairn_profile_sniff(cairn_buffer_bytes(body));
	return format != CAIRN_FORMAT_UNKNOWN && format != CAIRN_FORMAT_FOLDED;
}

/* Whether an answer of STATUS means that the endpoint exists. Servers of web pages answer 200 to any path. */
static bool is_refusal(int status)
{
	return status != 0 && status != 200 && status != 404 && status != 405;
}

/* The number of the first compute node; 0, the meta node itself, if there is none. */
static unsigned find_compute_node(const struct cairn_target *target)
{
	struct cairn_buffer body = cairn_buffer(0);
	struct cairn_json_value node;
	size_t position = 0;
	double number = 0;
	if (cairn_target_ask(target, "GET", "/api/clusters/2", &body, NULL) &&
	    cairn_json_next(cairn_json_value(cairn_buffer_bytes(&body)), &position, NULL, &node))
		number = cairn_json_double(cairn_json_find(node, "id"));
	cairn_buffer_free(&body);
	return number >= 0 && number < 1e9 ? (unsigned)number : 0;
}

/* The path of the newest dump in RisingWave's list, whose names are dates; empty if there is none. */
static void newest_dump(struct cairn_json_value list, char *out, size_t size)
{
	char dir[2048], newest[256] = "", name[256];
	struct cairn_json_value value;
	size_t position = 0;
	while (cairn_json_next(cairn_json_find(list, "nameManually"), &position, NULL, &value)) {
		cairn_json_copy(value, name, sizeof name);
		if (strcmp(name, newest) > 0)
			memcpy(newest, name, sizeof newest);
	}
	cairn_json_copy(cairn_json_find(list, "dir"), dir, sizeof dir);
	snprintf(out, size, "%s%s%s", newest[0] ? dir : "", newest[0] ? "/" : "", newest);
}

/* Makes the node write a dump, finds it in the node's list and fetches its call paths. Sets *FOUND if the endpoints exist. */
static bool ask_risingwave(const struct cairn_target *target, struct cairn_buffer *body, bool *found, struct cairn_error *error)
{
	struct cairn_arena arena = {0};
	struct cairn_buffer encoded = cairn_buffer(1 << 16);
	char path[2400];
	unsigned node = find_compute_node(target);
	const char *list = cairn_arena_format(&arena, "/api/monitor/list_heap_profile/%u", node);
	const char *dump = cairn_arena_format(&arena, "/api/monitor/dump_heap_profile/%u", node);
	int status = cairn_target_status(target, "GET", list, body, error);
	*found = status == 500 || (status == 200 && cairn_json_value(cairn_buffer_bytes(body)).kind == CAIRN_JSON_OBJECT);
	bool good = *found;
	for (int step = 0; good && step < 2; step++) {
		cairn_buffer_free(body);
		good = cairn_target_ask(target, "GET", step == 0 ? dump : list, body, error);
	}
	if (good) {
		newest_dump(cairn_json_value(cairn_buffer_bytes(body)), path, sizeof path);
		good = path[0] || cairn_fail(error, "%s: node %u lists no heap dump after it was asked to write one", target->url, node);
	}
	if (good) {
		cairn_buffer_free(body);
		cairn_base64_append(&encoded, cairn_bytes_of(path), true);
		const char *analyze = cairn_arena_format(&arena, "/api/monitor/analyze/%u/%.*s", node, (int)encoded.length, encoded.data);
		good = cairn_target_ask(target, "GET", analyze, body, error);
	}
	if (good)
		cairn_note("%s has no agent; the profile is from /api/monitor/analyze of RisingWave, of %s, which node %u wrote for it",
			   target->url, path, node);
	cairn_buffer_free(&encoded);
	cairn_arena_free(&arena);
	return good;
}

bool cairn_endpoint_snapshot(const struct cairn_target *target, struct cairn_buffer *body, struct cairn_error *error)
{
	struct cairn_error refusal = {0};
	for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++) {
		int status = cairn_target_status(target, endpoints[i].method, endpoints[i].path, body, error);
		if (status == 200 && is_profile(body)) {
			cairn_note("%s has no agent; the profile is from %s %s (%s)", target->url, endpoints[i].method, endpoints[i].path,
				   endpoints[i].service);
			return true;
		}
		cairn_buffer_free(body);
		if (status == 0)
			return false;
		if (is_refusal(status) && !refusal.text[0]) {
			refusal = *error;
			cairn_fail_within(&refusal, "%s %s: ", endpoints[i].method, endpoints[i].path);
		}
	}
	bool found = false;
	if (!refusal.text[0] && ask_risingwave(target, body, &found, error))
		return true;
	if (refusal.text[0])
		*error = refusal;
	else if (!found)
		cairn_fail(error,
			   "%s: no agent answers there, nor a heap endpoint of GreptimeDB, TiKV, Databend, userver or RisingWave; another "
			   "endpoint is named with its path: %s/PATH",
			   target->url, target->url);
	return false;
}
