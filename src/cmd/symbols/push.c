/* push.c - finds the files with a build-id, asks which of them are wanted, and sends those in pieces.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/symbols/push.h"

#include "base/file.h"
#include "base/json_read.h"
#include "base/sha256.h"
#include "base/text.h"
#include "cmd/command.h"
#include "fleet/collect/uploads.h"
#include "fleet/collector_token.h"
#include "http/client.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { deepest = 32, answer_most = 1 << 16, silence_ms = 300000, attempts_most = 5 };

struct push {
	struct cairn_buffer base; /* the collector's address */
	char *authorization;      /* a header line; NULL for none */
	size_t sent, known, failed;
};

/* What the collector says about a file. */
struct said {
	int status;
	bool complete;
	uint64_t received;
	char words[600];
};

static bool ask(const struct push *push, const char *sum, const char *query, struct cairn_bytes piece, struct said *said,
		struct cairn_error *error)
{
	struct cairn_buffer url = cairn_buffer(8000);
	struct cairn_http_answer answer = {0};
	const char *headers[] = {"Content-Type: application/octet-stream", push->authorization, NULL};
	cairn_buffer_append(&url, push->base.data, push->base.length);
	cairn_buffer_format(&url, "/v1/symbols/%s?%s%c", sum, query, 0);
	struct cairn_http_call call = {.url = url.data, .body = piece, .method = piece.length ? "PUT" : NULL, .headers = headers,
				       .limit_bytes = answer_most, .silence_ms = silence_ms};
	bool good = cairn_http_ask(&call, &answer, error);
	if (good) {
		struct cairn_json_value value = cairn_json_value(cairn_buffer_bytes(&answer.body));
		double received = cairn_json_double(cairn_json_find(value, "received"));
		*said = (struct said){.status = answer.status,
				      .complete = cairn_json_find(value, "complete").kind == CAIRN_JSON_TRUE,
				      .received = received > 0 && received < 1e15 ? (uint64_t)received : 0};
		cairn_http_words(cairn_buffer_bytes(&answer.body), said->words, sizeof said->words);
	}
	cairn_http_answer_free(&answer);
	cairn_buffer_free(&url);
	return good;
}

static void write_sum(struct cairn_bytes bytes, char out[CAIRN_UPLOAD_SUM + 1])
{
	struct cairn_sha256 state;
	cairn_sha256_begin(&state);
	cairn_sha256_add(&state, bytes);
	cairn_sha256_hex(&state, out);
}

static bool refuse(const struct push *push, const struct said *said, struct cairn_error *error)
{
	cairn_fail(error, said->words[0] ? "the collector answers %d: %s" : "the collector answers %d", said->status, said->words);
	cairn_collector_token_hint(said->status, push->authorization, error);
	return false;
}

/* Sends BYTES from where the collector has come to. *NEW says whether there was anything to send. */
static bool send_file(const struct push *push, const struct cairn_build_file *file, struct cairn_bytes bytes, bool *new,
		      struct cairn_error *error)
{
	char sum[CAIRN_UPLOAD_SUM + 1], question[300];
	struct said said;
	unsigned attempts = 0;
	write_sum(bytes, sum);
	snprintf(question, sizeof question, "build_id=%s&program=%d&detail=%d&size=%zu", file->build_id, file->program, (int)file->detail,
		 bytes.length);
	if (!ask(push, sum, question, (struct cairn_bytes){0}, &said, error))
		return false;
	*new = said.status == 200 && !said.complete;
	while (said.status == 200 && !said.complete) {
		uint64_t offset = said.received < bytes.length ? said.received : 0;
		struct cairn_bytes piece = cairn_bytes_skip(bytes, (size_t)offset);
		char query[100];
		piece.length = piece.length < CAIRN_UPLOAD_PIECE ? piece.length : CAIRN_UPLOAD_PIECE;
		snprintf(query, sizeof query, "size=%zu&offset=%llu", bytes.length, (unsigned long long)offset);
		bool answered = ask(push, sum, query, piece, &said, error);
		if (answered && said.status == 200) {
			if (!said.complete && said.received <= offset)
				return cairn_fail(error, "the collector accepts pieces of the file, and does not say that it keeps them");
			attempts = 0;
			continue;
		}
		if (answered && said.status != 409 && said.status != 503)
			break;
		if (attempts++ == attempts_most) {
			if (answered && said.status == 503)
				break;
			return answered ? cairn_fail(error,
						     "the collector keeps another part of the file each time; if a load balancer stands "
						     "before several, name one of them in --to")
					: false;
		}
		if (answered && said.status == 409) {
			said.status = 200; /* it says from where to go on */
			continue;
		}
		nanosleep(&(struct timespec){attempts, 0}, NULL);
		said.status = 200;
		if (!ask(push, sum, question, (struct cairn_bytes){0}, &said, error))
			said = (struct said){.status = 200, .received = offset};
	}
	return said.status == 200 || refuse(push, &said, error);
}

/* Uploads PATH and says so. Of a folder's files, those that are no programs or debug files are passed over (QUIETLY). */
static void push_file(struct push *push, const char *path, bool quietly)
{
	struct cairn_build_file file;
	struct cairn_file mapped;
	struct cairn_error error;
	char size[24];
	bool new = false;
	if (!cairn_build_file_read(&file, path, path, &error)) {
		if (quietly)
			return;
		push->failed++;
		cairn_say_error(error.text);
		return;
	}
	bool good = cairn_file_map(&mapped, path, &error);
	if (good) {
		good = send_file(push, &file, mapped.bytes, &new, &error);
		cairn_file_close(&mapped);
	}
	if (!good) {
		cairn_fail_within(&error, "%s: ", path);
		cairn_say_error(error.text);
		push->failed++;
		return;
	}
	push->sent += new;
	push->known += !new;
	if (!cairn_option_quiet)
		cairn_print(stdout, "%s  %s  %s\n", file.build_id, new ? cairn_text_human((double)file.size, size) : "there already", path);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Links are not followed: they may lead round in circles, and what they lead to has a name of its own. */
static void push_folder(struct push *push, const char *folder, unsigned depth)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, by_name);
	if (count < 0) {
		struct cairn_error error;
		cairn_fail_errno(&error, "%s", folder);
		cairn_say_error(error.text);
		push->failed++;
		return;
	}
	for (int i = 0; i < count; i++) {
		char *path;
		struct stat status;
		const char *name = entries[i]->d_name;
		if (asprintf(&path, "%s/%s", folder, name) < 0)
			cairn_out_of_memory(strlen(folder));
		bool there = strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && lstat(path, &status) == 0;
		if (there && S_ISDIR(status.st_mode) && depth < deepest)
			push_folder(push, path, depth + 1);
		else if (there && S_ISREG(status.st_mode))
			push_file(push, path, true);
		free(path);
		free(entries[i]);
	}
	free(entries);
}

int cairn_symbols_push(const char *to, const char *token, int count, char **names)
{
	struct push push = {.base = cairn_buffer(4096)};
	struct cairn_error error;
	size_t length = to ? strlen(to) : 0;
	while (length > 0 && to[length - 1] == '/')
		length--;
	bool good = length > 0 && !strchr(to, '?');
	if (!to)
		cairn_fail_usage(&error, "missing --to URL, the collector, such as http://collector:4920");
	else if (!good)
		cairn_fail_usage(&error, "--to takes the address of a collector, such as http://collector:4920, not '%.100s'", to);
	else if (count == 0)
		good = cairn_fail_usage(&error, "missing FILE: a program, library or debug file, or a folder with some");
	if (!good)
		return cairn_say_failure(&error);
	cairn_buffer_append(&push.base, to, length);
	push.authorization = cairn_collector_authorization(token);
	for (int i = 0; i < count; i++) {
		struct stat status;
		if (stat(names[i], &status) == 0 && S_ISDIR(status.st_mode))
			push_folder(&push, names[i], 0);
		else
			push_file(&push, names[i], false);
	}
	if (push.sent + push.known + push.failed == 0) {
		cairn_say_error("nothing to upload: no file there is a program, library or debug file with a build-id");
		push.failed++;
	}
	free(push.authorization);
	cairn_buffer_free(&push.base);
	return push.failed ? CAIRN_EXIT_FAILED : CAIRN_EXIT_DONE;
}
