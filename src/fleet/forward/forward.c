/* forward.c - one receiver: its address and headers, the requests to it, and its answers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/forward/forward.h"

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "base/unpack.h"
#include "fleet/forward/delta.h"
#include "fleet/forward/receiver.h"
#include "http/client.h"
#include "profile/pprof_write.h"
#include "store/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits of one profile: Pyroscope's own. Other receivers take more, but have limits too. */
enum { samples_most = 16000, bytes_most = 4 << 20 };
enum { headers_most = 16, answer_most = 1 << 16, connect_ms = 5000, silence_ms = 10000, total_ms = 30000 };

struct cairn_forward {
	const struct cairn_receiver *receiver;
	struct cairn_buffer url; /* terminated */
	struct cairn_arena arena;
	const char *headers[headers_most];
	size_t header_count;
	bool names_tenant; /* X-Scope-OrgID is among the headers */
	struct cairn_deltas deltas;
};

static const struct cairn_receiver *receiver_of(const char *name)
{
	for (size_t i = 0; i < cairn_receiver_count; i++) {
		size_t length = strlen(cairn_receivers[i].name);
		if (strncmp(name, cairn_receivers[i].name, length) == 0 && name[length] == ':')
			return &cairn_receivers[i];
	}
	return NULL;
}

bool cairn_forward_is(const char *name)
{
	return receiver_of(name) != NULL;
}

/* Reads a header line: for all receivers or, after the name of a kind and a blank, for that kind. Returns false if it is not a header. */
static bool read_header(struct cairn_forward *forward, struct cairn_bytes line)
{
	for (size_t i = 0; i < cairn_receiver_count; i++) {
		struct cairn_bytes rest = line;
		if (!cairn_text_take(&rest, cairn_receivers[i].name) || !cairn_text_take(&rest, " "))
			continue;
		if (&cairn_receivers[i] != forward->receiver)
			return true;
		line = cairn_text_trim(rest);
	}
	const char *colon = line.length ? memchr(line.data, ':', line.length) : NULL;
	size_t name = colon ? (size_t)(colon - line.data) : 0;
	if (name == 0 || memchr(line.data, ' ', name) || forward->header_count == headers_most)
		return false;
	for (size_t i = 0; i < line.length; i++)
		if ((unsigned char)line.data[i] < ' ' && line.data[i] != '\t')
			return false;
	const char *text = cairn_arena_text(&forward->arena, line);
	forward->names_tenant |= strncasecmp(text, "X-Scope-OrgID:", strlen("X-Scope-OrgID:")) == 0;
	forward->headers[forward->header_count++] = text;
	return true;
}

static bool read_headers(struct cairn_forward *forward, const char *path, struct cairn_error *error)
{
	const char *environment = getenv("CAIRN_FORWARD_HEADERS"), *where = path ? path : "CAIRN_FORWARD_HEADERS";
	struct cairn_file file = {0};
	struct cairn_bytes rest = cairn_bytes_of(environment ? environment : ""), line;
	if (path && !cairn_file_read(&file, path, error))
		return false;
	if (path)
		rest = file.bytes;
	bool good = true;
	for (size_t number = 1; good && cairn_text_line(&rest, &line, NULL); number++) {
		line = cairn_text_trim(line);
		if (line.length > 0 && line.data[0] != '#' && !read_header(forward, line))
			good = cairn_fail(error, "%s:%zu: a header is 'NAME: VALUE', and there are %d at most", where, number,
					  headers_most);
	}
	if (path)
		cairn_file_close(&file);
	return good;
}

struct cairn_forward *cairn_forward_open(const char *name, const char *headers, struct cairn_error *error)
{
	const struct cairn_receiver *receiver = receiver_of(name);
	const char *url = receiver ? name + strlen(receiver->name) + 1 : "";
	size_t length = strlen(url);
	while (length > 0 && url[length - 1] == '/')
		length--;
	if (length == 0 || (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) || strchr(url, '?')) {
		cairn_fail_usage(
			error,
			"--forward takes pyroscope:URL, otlp:URL, parca:URL or coroot:URL with the address of the receiver, such as "
			"pyroscope:http://pyroscope:4040, not '%.100s'",
			name);
		return NULL;
	}
	struct cairn_forward *forward = cairn_array_zero(1, sizeof *forward);
	forward->receiver = receiver;
	forward->url = cairn_buffer(8000);
	cairn_buffer_append(&forward->url, url, length);
	/* The user may give the complete address. */
	if (!cairn_bytes_end_with(cairn_buffer_bytes(&forward->url), receiver->path))
		cairn_buffer_text(&forward->url, receiver->path);
	cairn_buffer_byte(&forward->url, 0);
	if (read_headers(forward, headers, error))
		return forward;
	cairn_forward_close(forward);
	return NULL;
}

void cairn_forward_close(struct cairn_forward *forward)
{
	if (!forward)
		return;
	cairn_deltas_free(&forward->deltas);
	cairn_buffer_free(&forward->url);
	cairn_arena_free(&forward->arena);
	free(forward);
}

const char *cairn_forward_kind(const struct cairn_forward *forward)
{
	return forward->receiver->name;
}

/* Gives the values of PROFILE the names that the receiver uses. */
static void rename_values(const struct cairn_receiver *receiver, struct cairn_profile *profile, struct cairn_arena *arena)
{
	for (uint32_t i = 0; i < profile->value_count; i++) {
		struct cairn_value_type *type = &profile->value_types[i];
		type->type = cairn_profile_text(profile, cairn_arena_format(arena, "%s%s:%s", receiver->type_prefix,
									    cairn_profile_string(profile, type->type),
									    cairn_profile_string(profile, type->unit)));
	}
}

static bool write_pprof(const struct cairn_profile *profile, struct cairn_buffer *plain, struct cairn_error *error)
{
	static const struct cairn_pprof_options options = {
		.names = CAIRN_PPROF_NAMES_ALL, .samples_most = samples_most, .bytes_most = bytes_most};
	return cairn_pprof_write(profile, &options, plain) || cairn_fail(error, "no sample fits into %d bytes", bytes_most);
}

/* Fills in the request from ITEM, whose profile is complete. */
static bool write_request(struct cairn_forward *forward, struct cairn_forward_item *item, struct cairn_forward_request *request,
			  struct cairn_error *error)
{
	struct cairn_buffer plain = cairn_buffer(SIZE_MAX);
	size_t length = 0;
	char *packed = NULL;
	bool good = write_pprof(item->profile, &plain, error);
	if (good && !(packed = cairn_pack_gzip(cairn_buffer_bytes(&plain), &length)))
		cairn_out_of_memory(plain.length);
	if (good) {
		item->pprof = cairn_buffer_bytes(&plain);
		item->packed = (struct cairn_bytes){packed, length};
		cairn_buffer_append(&request->url, forward->url.data, forward->url.length);
		forward->receiver->write(item, request);
	}
	free(packed);
	cairn_buffer_free(&plain);
	return good && (!request->body.failed || cairn_fail(error, "the request is too large"));
}

bool cairn_forward_prepare(struct cairn_forward *forward, struct cairn_profile *profile, const struct cairn_store_snapshot *snapshot,
			   struct cairn_forward_request *request, struct cairn_error *error)
{
	struct cairn_arena arena = {0};
	struct cairn_forward_item item = {.snapshot = snapshot, .instance = cairn_snapshot_instance(snapshot), .arena = &arena};
	struct cairn_profile changed;
	*request = (struct cairn_forward_request){
		.url = cairn_buffer(64 << 10), .body = cairn_buffer((size_t)64 << 20), .tenant = cairn_buffer(2000)};
	error->text[0] = 0;
	struct cairn_value_type types[CAIRN_VALUES_MAX];
	memcpy(types, profile->value_types, sizeof types);
	bool good = cairn_deltas_make(&forward->deltas, item.instance, profile, &arena, &changed, &item.since_ns);
	if (good && forward->receiver->type_prefix) {
		rename_values(forward->receiver, profile, &arena);
		memcpy(changed.value_types, profile->value_types, sizeof changed.value_types);
		changed.strings = profile->strings;
	}
	if (good) {
		item.profile = forward->receiver->deltas ? &changed : profile;
		good = write_request(forward, &item, request, error);
	}
	memcpy(profile->value_types, types, sizeof types);
	cairn_arena_free(&arena);
	return good;
}

void cairn_forward_settle(struct cairn_forward *forward)
{
	cairn_deltas_settle(&forward->deltas);
}

/* Whether a later attempt may succeed: the receiver is down, busy or misconfigured. */
static bool is_passing(int status)
{
	return status >= 500 || status == 401 || status == 403 || status == 404 || status == 408 || status == 429;
}

enum cairn_forwarded cairn_forward_send(const struct cairn_forward *forward, const struct cairn_forward_request *request,
					struct cairn_error *error)
{
	const char *headers[headers_most + 4] = {0};
	size_t count = 0;
	struct cairn_http_answer answer = {0};
	headers[count++] = request->type;
	if (request->encoding)
		headers[count++] = request->encoding;
	if (request->tenant.length > 0 && !forward->names_tenant)
		headers[count++] = request->tenant.data;
	for (size_t i = 0; i < forward->header_count; i++)
		headers[count++] = forward->headers[i];
	struct cairn_http_call call = {.url = request->url.data,
				       .body = cairn_buffer_bytes(&request->body),
				       .headers = headers,
				       .limit_bytes = answer_most,
				       .connect_ms = connect_ms,
				       .silence_ms = silence_ms,
				       .total_ms = total_ms};
	enum cairn_forwarded result = CAIRN_FORWARD_AWAY;
	if (cairn_http_ask(&call, &answer, error)) {
		char words[300];
		cairn_http_words(cairn_buffer_bytes(&answer.body), words, sizeof words);
		if (answer.status / 100 != 2)
			cairn_fail(error, words[0] ? "%s answers %d: %s" : "%s answers %d", forward->receiver->name, answer.status, words);
		result = answer.status / 100 == 2      ? CAIRN_FORWARDED
			 : is_passing(answer.status) ? CAIRN_FORWARD_AWAY
						     : CAIRN_FORWARD_REFUSED;
	}
	cairn_http_answer_free(&answer);
	return result;
}

void cairn_forward_request_free(struct cairn_forward_request *request)
{
	cairn_buffer_free(&request->url);
	cairn_buffer_free(&request->body);
	cairn_buffer_free(&request->tenant);
}
