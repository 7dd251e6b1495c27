/* push.c - a queue of file names, and a thread that sends them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/watch/push.h"

#include "base/array.h"
#include "base/file.h"
#include "base/unpack.h"
#include "base/url.h"
#include "cmd/command.h"
#include "cmd/template.h"
#include "http/client.h"
#include "process/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { waiting_most = 512, shortest_ms = 500, longest_ms = 30000, patience_ms = 5000, answer_most = 1 << 16 };

struct cairn_push {
	struct cairn_buffer url; /* with the labels, terminated */
	char *authorization;     /* a header line; NULL for none */
	const char *folder;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	char (*waiting)[CAIRN_TEMPLATE_NAME];
	size_t first, count, dropped;
	bool closing;
	int64_t end_ns; /* of closing */
};

/* What came of sending a file: it is done with, or it is to be tried again. */
static bool send_file(struct cairn_push *push, const char *name, struct cairn_error *error)
{
	char path[4096];
	struct cairn_file file;
	struct cairn_http_answer answer = {0};
	size_t length;
	snprintf(path, sizeof path, "%s/%s", push->folder, name);
	if (!cairn_file_map(&file, path, NULL))
		return true; /* thinned out by now */
	char *packed = cairn_pack_gzip(file.bytes, &length);
	cairn_file_close(&file);
	if (!packed)
		return cairn_fail(error, "out of memory");
	const char *headers[] = {"Content-Type: application/octet-stream", push->authorization, NULL};
	struct cairn_http_call call = {.url = push->url.data, .body = {packed, length}, .headers = headers, .limit_bytes = answer_most,
				       .silence_ms = longest_ms};
	bool sent = cairn_http_ask(&call, &answer, error);
	bool good = sent && answer.status / 100 == 2;
	if (sent && !good) {
		char words[300];
		cairn_http_words(cairn_buffer_bytes(&answer.body), words, sizeof words);
		cairn_fail(error, "the collector answers %d: %s", answer.status, words);
		/* It will not take this one, ever; the next one it may. */
		good = answer.status == 400 || answer.status == 413;
		if (good)
			cairn_note("%s was not pushed: %s", name, error->text);
	}
	cairn_http_answer_free(&answer);
	free(packed);
	return good;
}

/* The next file to send, in NAME. False at the end. */
static bool next_file(struct cairn_push *push, char name[CAIRN_TEMPLATE_NAME])
{
	pthread_mutex_lock(&push->lock);
	while (push->count == 0 && !push->closing)
		pthread_cond_wait(&push->changed, &push->lock);
	bool more = push->count > 0 && (!push->closing || cairn_clock_ns() < push->end_ns);
	if (more)
		memcpy(name, push->waiting[push->first], CAIRN_TEMPLATE_NAME);
	pthread_mutex_unlock(&push->lock);
	return more;
}

/* The file that was sent is NAME; it may have been dropped meanwhile. */
static void take_off(struct cairn_push *push, const char *name)
{
	pthread_mutex_lock(&push->lock);
	if (push->count > 0 && strcmp(push->waiting[push->first], name) == 0) {
		push->first = (push->first + 1) % waiting_most;
		push->count--;
	}
	pthread_mutex_unlock(&push->lock);
}

static void pause_for(struct cairn_push *push, unsigned milliseconds)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	int64_t end = cairn_time_ns(&until) + (int64_t)milliseconds * 1000000;
	until = (struct timespec){end / CAIRN_SECOND_NS, end % CAIRN_SECOND_NS};
	pthread_mutex_lock(&push->lock);
	if (!push->closing)
		pthread_cond_timedwait(&push->changed, &push->lock, &until);
	bool closing = push->closing;
	pthread_mutex_unlock(&push->lock);
	if (closing)
		nanosleep(&(struct timespec){0, 200000000}, NULL);
}

static void *run(void *context)
{
	struct cairn_push *push = context;
	char name[CAIRN_TEMPLATE_NAME];
	unsigned pause = 0;
	while (next_file(push, name)) {
		struct cairn_error error;
		if (send_file(push, name, &error)) {
			if (pause > 0)
				cairn_note("the collector takes dumps again");
			pause = 0;
			take_off(push, name);
			continue;
		}
		if (pause == 0)
			cairn_note("dumps are not pushed for now and wait in the folder: %s", error.text);
		pause = pause == 0 ? shortest_ms : pause * 2 < longest_ms ? pause * 2 : longest_ms;
		pause_for(push, pause);
	}
	return NULL;
}

/* URL with the path that a collector takes dumps at, and the labels. */
static bool make_url(struct cairn_buffer *out, const char *url, const struct cairn_option_list *labels, const char *host,
		     struct cairn_error *error)
{
	size_t length = strlen(url);
	while (length > 0 && url[length - 1] == '/')
		length--;
	if (length == 0 || strchr(url, '?'))
		return cairn_fail_usage(error, "--push takes the address of a collector, such as http://collector:4920, not '%.100s'", url);
	cairn_buffer_append(out, url, length);
	cairn_buffer_text(out, "/v1/snapshots?host=");
	cairn_url_name(out, host);
	for (size_t i = 0; i < labels->count; i++) {
		const char *label = labels->items[i], *equals = strchr(label, '=');
		char key[128];
		if (!equals || equals == label || (size_t)(equals - label) >= sizeof key)
			return cairn_fail_usage(error, "--label takes KEY=VALUE, not '%.100s'", label);
		snprintf(key, sizeof key, "%.*s", (int)(equals - label), label);
		cairn_buffer_byte(out, '&');
		cairn_url_name(out, key);
		cairn_buffer_byte(out, '=');
		cairn_url_name(out, equals + 1);
	}
	cairn_buffer_byte(out, 0);
	return !out->failed || cairn_fail_usage(error, "the labels are too long");
}

struct cairn_push *cairn_push_open(const char *url, const char *token, const struct cairn_option_list *labels, const char *host,
				   const char *folder, struct cairn_error *error)
{
	struct cairn_push *push = cairn_array_zero(1, sizeof *push);
	*push = (struct cairn_push){.url = cairn_buffer(8000), .folder = folder, .lock = PTHREAD_MUTEX_INITIALIZER,
				    .changed = PTHREAD_COND_INITIALIZER, .waiting = cairn_array_new(waiting_most, sizeof *push->waiting)};
	if (token && asprintf(&push->authorization, "Authorization: Bearer %s", token) < 0)
		cairn_out_of_memory(strlen(token));
	bool good = make_url(&push->url, url, labels, host, error);
	if (good && pthread_create(&push->thread, NULL, run, push) != 0)
		good = cairn_fail(error, "cannot start a thread");
	if (good)
		return push;
	cairn_buffer_free(&push->url);
	free(push->authorization);
	free(push->waiting);
	free(push);
	return NULL;
}

void cairn_push_add(struct cairn_push *push, const char *file)
{
	pthread_mutex_lock(&push->lock);
	if (push->count == waiting_most) {
		push->first = (push->first + 1) % waiting_most;
		push->count--;
		if (push->dropped++ == 0)
			cairn_note("more than %d dumps wait to be pushed; the oldest will not be, but stay in the folder", waiting_most);
	}
	snprintf(push->waiting[(push->first + push->count++) % waiting_most], CAIRN_TEMPLATE_NAME, "%s", file);
	pthread_cond_signal(&push->changed);
	pthread_mutex_unlock(&push->lock);
}

void cairn_push_close(struct cairn_push *push)
{
	if (!push)
		return;
	pthread_mutex_lock(&push->lock);
	push->closing = true;
	push->end_ns = cairn_clock_ns() + (int64_t)patience_ms * 1000000;
	pthread_cond_signal(&push->changed);
	pthread_mutex_unlock(&push->lock);
	pthread_join(push->thread, NULL);
	cairn_buffer_free(&push->url);
	free(push->authorization);
	free(push->waiting);
	free(push);
}
