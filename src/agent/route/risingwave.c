/* risingwave.c - RisingWave's dashboard routes; this process is its worker 0.
 *
 * The path in `analyze` is the path of a dump in base64url. Only its last part counts, and only the dump folder is searched: RisingWave
 * passes any path of the machine to a script.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/answer.h"
#include "agent/work/dump_writer.h"
#include "base/base64.h"
#include "base/descriptor.h"
#include "base/pages.h"
#include "base/path.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Removes the worker's number and a slash from the rest of the path; refuses any number but 0. */
static bool take_worker(struct cairn_call *call, struct cairn_bytes *rest)
{
	uint64_t worker;
	*rest = call->rest;
	if (cairn_text_decimal(rest, &worker) && worker == 0 && (rest->length == 0 || cairn_text_take(rest, "/")))
		return true;
	cairn_answer_error(call, 500, "worker node not found", "this process is worker 0");
	return false;
}

void cairn_risingwave_dump(struct cairn_call *call)
{
	struct cairn_error error = {0};
	struct cairn_bytes rest;
	enum cairn_profiler_state state;
	char path[512];
	if (!take_worker(call, &rest))
		return;
	if (!cairn_answer_can_profile(call, &state, &error)) {
		cairn_answer_error(call, 500,
				   "Jemalloc profiling is not enabled on the node. Try start the node with `MALLOC_CONF=prof:true`",
				   error.text);
		return;
	}
	struct cairn_snapshot *snapshot = cairn_answer_take(call, &error);
	bool written = snapshot && cairn_dumps_write_dated(call->agent, snapshot, "manual",
							   &(struct cairn_folder_facts){.reason = "manual"}, path, sizeof path, &error);
	if (snapshot)
		cairn_snapshot_release(snapshot);
	if (written)
		cairn_response_text(call->response, 200, CAIRN_JSON, "{}");
	else
		cairn_answer_error(call, 500, error.text, NULL);
}

struct listing {
	struct cairn_json json;
	const char *kind;
	const char *key; /* NULL once the list is open */
};

static void list_name(void *context, const char *name)
{
	struct listing *listing = context;
	size_t length = strlen(name);
	if (!strstr(name, listing->kind) || (length >= 9 && strcmp(name + length - 9, "collapsed") == 0))
		return;
	if (listing->key)
		cairn_json_open(&listing->json, listing->key, '[');
	listing->key = NULL;
	cairn_json_text(&listing->json, NULL, cairn_bytes_of(name));
}

void cairn_risingwave_list(struct cairn_call *call)
{
	struct cairn_error error;
	struct cairn_bytes rest;
	struct cairn_folder folder;
	if (!take_worker(call, &rest))
		return;
	cairn_dumps_folder(call->agent, &folder);
	cairn_response_start(call->response, 200, CAIRN_JSON);
	struct listing listing = {.json = cairn_json(&call->response->body)};
	cairn_json_open(&listing.json, NULL, '{');
	cairn_json_text(&listing.json, "dir", cairn_bytes_of(folder.path));
	static const char *const lists[2][2] = {{"manual.heap", "nameManually"}, {"auto.heap", "nameAuto"}};
	for (int i = 0; i < 2; i++) {
		listing.kind = lists[i][0];
		listing.key = lists[i][1];
		if (!cairn_folder_visit(&folder, list_name, &listing, &error)) {
			cairn_answer_error(call, 500, error.text, NULL);
			return;
		}
		if (!listing.key) /* empty lists are left out */
			cairn_json_close(&listing.json, ']');
	}
	cairn_json_close(&listing.json, '}');
}

/* Decodes the base64 TEXT into PATH. False if it is something else, too long, or contains a zero byte. */
static bool decode_path(const char *text, char *path, size_t size)
{
	struct cairn_buffer decoded = cairn_pages(strlen(text) + 3);
	bool good = cairn_base64_read(&decoded, cairn_bytes_of(text)) && decoded.length > 0 && decoded.length < size &&
		    !memchr(decoded.data, 0, decoded.length);
	if (good)
		snprintf(path, size, "%.*s", (int)decoded.length, decoded.data);
	cairn_buffer_free(&decoded);
	return good;
}

/* Whether the part of PATH before NAME is FOLDER, in any spelling: ".", the listed path, or the full path. */
static bool is_in_folder(const char *path, const char *name, const struct cairn_folder *folder)
{
	struct stat ours, theirs;
	char parent[768];
	snprintf(parent, sizeof parent, "%.*s", name > path ? (int)(name - path) : 1, path);
	return stat(folder->path, &ours) == 0 && stat(parent, &theirs) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

void cairn_risingwave_analyze(struct cairn_call *call)
{
	struct cairn_error error = {0};
	struct cairn_bytes rest;
	char encoded[1024], path[768];
	if (!take_worker(call, &rest))
		return;
	cairn_query_decode(rest, false, encoded, sizeof encoded);
	if (!decode_path(encoded, path, sizeof path)) {
		cairn_answer_error(call, 500, "the path is not base64", NULL);
		return;
	}
	struct cairn_folder folder;
	cairn_dumps_folder(call->agent, &folder);
	const char *name = path + cairn_path_folder(path);
	if (name > path && !is_in_folder(path, name - 1, &folder)) {
		cairn_answer_error(call, 500, "the path is not in the dump folder", folder.path);
		return;
	}
	static const char *const collapsed[] = {"collapsed", "-", NULL};
	int descriptor = cairn_folder_open_file(&folder, name, &error);
	int status = descriptor < 0 ? 500 : cairn_answer_render(call, collapsed, descriptor, -1, CAIRN_OCTETS, &error);
	cairn_descriptor_close(descriptor);
	if (status != 200)
		cairn_answer_error(call, status == 501 ? 501 : 500, error.text, NULL);
}
