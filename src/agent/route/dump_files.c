/* dump_files.c - the dump folder over HTTP: lists dumps, sends one, and thins the folder.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/answer.h"
#include "agent/work/dump_writer.h"
#include "base/text.h"
#include "base/time.h"

#include <errno.h>
#include <stdio.h>

enum { name_size = 300 };

/* A missing folder or file is a 404, any other failure a 500. */
static void answer_failure(struct cairn_call *call, const struct cairn_error *error)
{
	cairn_answer_error(call, errno == ENOENT || errno == ELOOP || errno == EINVAL ? 404 : 500, error->text, NULL);
}

void cairn_dumps_list(struct cairn_call *call)
{
	struct cairn_folder folder;
	struct cairn_listing listing;
	struct cairn_error error = {0};
	char format[16] = "json";
	cairn_query_get(call->request->query, "format", format, sizeof format);
	cairn_dumps_folder(call->agent, &folder);
	errno = 0;
	if (!cairn_folder_list(&folder, &listing, &error)) {
		answer_failure(call, &error);
	} else if (strcmp(format, "text") == 0) {
		cairn_response_start(call->response, 200, CAIRN_TEXT);
		cairn_listing_text(&listing, folder.path, call->agent->utc_offset, &call->response->body);
	} else {
		cairn_response_start(call->response, 200, CAIRN_JSON);
		cairn_listing_json(&listing, folder.path, &call->response->body);
	}
	cairn_listing_free(&listing);
}

/* Opens the file that the path names in the dump folder. If the name itself is refused, errno is not set. */
static void take_name(struct cairn_call *call, struct cairn_folder *folder, char *name)
{
	cairn_dumps_folder(call->agent, folder);
	cairn_query_decode(call->rest, false, name, name_size);
	errno = EINVAL;
}

void cairn_dumps_fetch(struct cairn_call *call)
{
	struct cairn_folder folder;
	struct cairn_error error = {0};
	char name[name_size];
	take_name(call, &folder, name);
	int descriptor = cairn_folder_open_file(&folder, name, &error);
	if (descriptor < 0)
		answer_failure(call, &error);
	else
		cairn_answer_file(call, descriptor);
}

void cairn_dumps_remove(struct cairn_call *call)
{
	struct cairn_folder folder;
	struct cairn_error error = {0};
	char name[name_size];
	take_name(call, &folder, name);
	if (cairn_folder_remove(&folder, name, &error))
		cairn_dumps_list(call);
	else
		answer_failure(call, &error);
}

/* A person who gives a limit means all dumps of the folder, but not the default limits of those of this process. */
static void limit_all(struct cairn_call *call, struct cairn_folder *folder)
{
	static const char *const keys[] = {"keep_count", "keep_bytes", "keep_age"};
	char text[32];
	bool given = false;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		given = given || cairn_query_get(call->request->query, keys[i], text, sizeof text);
	if (given && folder->limits.owner.pid)
		folder->limits = (struct cairn_folder_limits){.free_bytes = folder->limits.free_bytes};
}

/* The configured limits, replaced by those of the request. */
void cairn_dumps_thin(struct cairn_call *call)
{
	struct cairn_folder folder;
	struct cairn_error error = {0};
	char text[32];
	cairn_dumps_folder(call->agent, &folder);
	limit_all(call, &folder);
	const struct {
		const char *key;
		uint64_t *value;
	} sizes[] = {{"keep_count", &folder.limits.count}, {"keep_bytes", &folder.limits.bytes}, {"keep_free", &folder.limits.free_bytes}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (cairn_query_get(call->request->query, sizes[i].key, text, sizeof text) && !cairn_text_size(text, sizes[i].value)) {
			cairn_answer_error(call, 400, "a limit is a number such as 100 or 1G", sizes[i].key);
			return;
		}
	int64_t age;
	if (cairn_query_get(call->request->query, "keep_age", text, sizeof text)) {
		if (!cairn_text_duration(text, &age)) {
			cairn_answer_error(call, 400, "keep_age is a time such as 12h or 7d", NULL);
			return;
		}
		folder.limits.age_seconds = (uint64_t)age / CAIRN_SECOND_NS;
	}
	errno = 0;
	if (cairn_folder_thin(&folder, NULL, &error))
		cairn_dumps_list(call);
	else
		answer_failure(call, &error);
}
