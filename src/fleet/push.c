/* push.c - a queue of file names, and a thread that sends them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/push.h"

#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/note.h"
#include "base/outbox.h"
#include "base/text.h"
#include "base/unpack.h"
#include "base/url.h"
#include "dump/listing.h"
#include "fleet/collect/load.h"
#include "fleet/collector_token.h"
#include "fleet/forward/forward.h"
#include "http/client.h"
#include "live/watch/template.h"
#include "process/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { waiting_most = 512, silence_ms = 30000, patience_ms = 5000, answer_most = 1 << 16 };
static const size_t dump_most = (size_t)1 << 30; /* unpacked: it is a dump of our own */

struct cairn_push {
	struct cairn_buffer url; /* of a collector, with the labels, terminated */
	struct cairn_buffer query; /* host and labels */
	struct cairn_forward *forward; /* NULL for a collector or a store */
	const char *store_name; /* NULL for a collector or a forward */
	struct cairn_store *store; /* while it is open */
	char mark[4096]; /* the path of the file that says how far sending has come */
	char *authorization;     /* a header line; NULL for none */
	const char *folder;
	struct cairn_outbox outbox; /* of file names */
	char back[128];
	size_t dropped;
};

static bool load_dump(struct cairn_push *push, struct cairn_bytes dump, struct cairn_loaded *loaded, struct cairn_error *error)
{
	static const struct cairn_source_options source;
	const struct cairn_load_options options = {
		.query = cairn_buffer_bytes(&push->query),
		.tenant = {"", 0},
		.body = dump,
		.unpacked_most = dump_most,
		.arrived_ns = cairn_clock_wall_ns(),
		.source = &source,
	};
	return cairn_loaded_read(loaded, &options, error);
}

static bool put_snapshot(struct cairn_store *store, const struct cairn_store_snapshot *snapshot, struct cairn_error *error)
{
	bool good = cairn_store_put(store, snapshot, 1, error);
	if (good && cairn_store_removal(store))
		cairn_note("%s", cairn_store_removal(store));
	return good;
}

/* Puts DUMP, the file NAME, into the store. */
static bool store_file(struct cairn_push *push, const char *name, struct cairn_bytes dump, struct cairn_error *error)
{
	struct cairn_loaded loaded;
	if (!push->store && !(push->store = cairn_store_open(push->store_name, error)))
		return false;
	bool good = cairn_store_check(push->store, error);
	if (good) {
		if (load_dump(push, dump, &loaded, error))
			good = put_snapshot(push->store, &loaded.snapshot, error);
		else
			cairn_note("%s is not stored: %s", name, error->text); /* which another attempt would not change */
		cairn_loaded_free(&loaded);
	}
	if (!good) {
		cairn_store_close(push->store);
		push->store = NULL;
	}
	return good;
}

/* Sends DUMP, the file NAME, on to another system. */
static bool forward_file(struct cairn_push *push, const char *name, struct cairn_bytes dump, struct cairn_error *error)
{
	struct cairn_loaded loaded;
	struct cairn_forward_request request = {0};
	bool done = true;
	if (!load_dump(push, dump, &loaded, error)) {
		cairn_note("%s is not forwarded: %s", name, error->text);
	} else if (!cairn_forward_prepare(push->forward, &loaded.profile, &loaded.snapshot, &request, error)) {
		if (error->text[0])
			cairn_note("%s is not forwarded: %s", name, error->text);
	} else {
		enum cairn_forwarded result = cairn_forward_send(push->forward, &request, error);
		done = result != CAIRN_FORWARD_AWAY;
		if (done)
			cairn_forward_settle(push->forward);
		if (result == CAIRN_FORWARD_REFUSED)
			cairn_note("%s is not forwarded: %s", name, error->text);
	}
	cairn_forward_request_free(&request);
	cairn_loaded_free(&loaded);
	return done;
}

/* Sends a file. Returns false if it has to be sent again. */
static bool send_file(void *context, void *item, struct cairn_error *error)
{
	struct cairn_push *push = context;
	const char *name = item;
	char path[4096];
	struct cairn_file file;
	struct cairn_http_answer answer = {0};
	size_t length;
	snprintf(path, sizeof path, "%s/%s", push->folder, name);
	if (!cairn_file_map(&file, path, NULL))
		return true; /* thinned out by now */
	if (push->store_name || push->forward) {
		bool done = (push->forward ? forward_file : store_file)(push, name, file.bytes, error);
		cairn_file_close(&file);
		return done;
	}
	char *packed = cairn_pack_gzip(file.bytes, &length);
	cairn_file_close(&file);
	if (!packed)
		return cairn_fail(error, "out of memory");
	const char *headers[] = {"Content-Type: application/octet-stream", push->authorization, NULL};
	struct cairn_http_call call = {.url = push->url.data, .body = {packed, length}, .headers = headers, .limit_bytes = answer_most,
				       .silence_ms = silence_ms};
	bool sent = cairn_http_ask(&call, &answer, error);
	bool good = sent && answer.status / 100 == 2;
	if (sent && !good) {
		char words[300];
		cairn_http_words(cairn_buffer_bytes(&answer.body), words, sizeof words);
		cairn_fail(error, "the collector answers %d: %s", answer.status, words);
		cairn_collector_token_hint(answer.status, push->authorization, error);
		/* It will not take this one, ever; the next one it may. */
		good = answer.status == 400 || answer.status == 413;
		if (good)
			cairn_note("%s was not pushed: %s", name, error->text);
	}
	cairn_http_answer_free(&answer);
	free(packed);
	return good;
}

/* Says on disk that NAME, and whatever is older, was sent. */
static void set_mark(const struct cairn_push *push, const char *name)
{
	char path[4096], text[40];
	struct stat status;
	snprintf(path, sizeof path, "%s/%s", push->folder, name);
	if (stat(path, &status) != 0)
		return;
	int length = snprintf(text, sizeof text, "%lld\n", (long long)cairn_time_ns(&status.st_mtim));
	cairn_file_write(push->mark, (struct cairn_bytes){text, (size_t)length}, NULL);
}

static void finish_file(void *context, void *item, bool sent)
{
	struct cairn_push *push = context;
	if (sent)
		set_mark(push, item);
	else if (!push->outbox.closing && push->dropped++ == 0)
		cairn_note("more than %d dumps wait to be pushed; the oldest will not be, but stay in the folder", waiting_most);
}

/* What every dump is sent with. */
static bool make_query(struct cairn_buffer *out, const struct cairn_option_list *labels, const char *host, struct cairn_error *error)
{
	cairn_buffer_text(out, "host=");
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
	return !out->failed || cairn_fail_usage(error, "the labels are too long");
}

/* URL with the path that a collector takes dumps at, and the query. */
static bool make_url(struct cairn_push *push, const char *url, struct cairn_error *error)
{
	size_t length = strlen(url);
	while (length > 0 && url[length - 1] == '/')
		length--;
	if (length == 0 || strchr(url, '?'))
		return cairn_fail_usage(error, "--push takes the address of a collector, such as http://collector:4920, not '%.100s'", url);
	cairn_buffer_append(&push->url, url, length);
	cairn_buffer_text(&push->url, "/v1/snapshots?");
	cairn_buffer_append(&push->url, push->query.data, push->query.length);
	cairn_buffer_byte(&push->url, 0);
	return true;
}

/* A dump of the folder, and when it was written. */
struct left {
	char name[CAIRN_TEMPLATE_NAME];
	int64_t time_ns;
};

static int compare_left(const void *a, const void *b)
{
	const struct left *one = a, *other = b;
	return (one->time_ns > other->time_ns) - (one->time_ns < other->time_ns);
}

/* How names made from PATTERN end, from the dot on: a number may come before it; "" where that differs from name to name. */
static const char *ending_of(const char *pattern)
{
	const char *percent = strrchr(pattern, '%'), *tail = percent && percent[1] ? percent + 2 : pattern, *dot = strrchr(tail, '.');
	return dot ? dot : "";
}

static uint64_t hash_name(const char *name)
{
	return cairn_hash_bytes(name, strlen(name));
}

/* The hashes of the names of all heap dumps in FOLDER, whatever they end in. */
static void list_dumps(const char *folder, struct cairn_map *names)
{
	struct cairn_listing listing = {0};
	struct cairn_error error;
	int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (descriptor < 0)
		return;
	if (cairn_listing_read(&listing, descriptor, &error))
		for (size_t i = 0; i < listing.count; i++)
			*cairn_map_at(names, hash_name(listing.dumps[i].name)) = 0;
	cairn_listing_free(&listing);
	close(descriptor);
}

/* Queues the dumps of the folder that an earlier sender did not come to: heap dumps, and what is called like the dumps of this one, which
 * may be of another format. Without a mark there was none. */
static void queue_left(struct cairn_push *push, const char *pattern)
{
	const char *ending = ending_of(pattern);
	struct cairn_map dumps = {0};
	struct cairn_file mark;
	struct cairn_bytes line;
	uint64_t since = 0;
	struct left *left = NULL;
	size_t count = 0, capacity = 0;
	if (!cairn_file_map(&mark, push->mark, NULL)) {
		char text[40];
		int length = snprintf(text, sizeof text, "%lld\n", (long long)cairn_clock_wall_ns());
		cairn_file_write(push->mark, (struct cairn_bytes){text, (size_t)length}, NULL);
		return;
	}
	line = mark.bytes;
	bool known = cairn_text_decimal(&line, &since);
	cairn_file_close(&mark);
	DIR *entries = known ? opendir(push->folder) : NULL;
	if (entries)
		list_dumps(push->folder, &dumps);
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		struct stat status;
		struct cairn_bytes name = cairn_bytes_of(entry->d_name);
		bool ours = name.data[0] != '.' && ((ending[0] && cairn_bytes_end_with(name, ending)) ||
						    cairn_map_get(&dumps, hash_name(entry->d_name)) != CAIRN_NONE);
		if (!ours || name.length >= CAIRN_TEMPLATE_NAME ||
		    fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
		    cairn_time_ns(&status.st_mtim) <= (int64_t)since)
			continue;
		cairn_array_room(left, count, capacity);
		snprintf(left[count].name, sizeof left[count].name, "%s", entry->d_name);
		left[count++].time_ns = cairn_time_ns(&status.st_mtim);
	}
	if (entries)
		closedir(entries);
	cairn_map_free(&dumps);
	if (count > 0)
		qsort(left, count, sizeof *left, compare_left);
	for (size_t i = 0; i < count; i++)
		cairn_push_add(push, left[i].name);
	free(left);
}

static void free_push(struct cairn_push *push)
{
	cairn_outbox_close(&push->outbox, patience_ms * CAIRN_MILLISECOND_NS);
	cairn_store_close(push->store);
	cairn_forward_close(push->forward);
	cairn_buffer_free(&push->url);
	cairn_buffer_free(&push->query);
	free(push->authorization);
	free(push);
}

struct cairn_push *cairn_push_open(const struct cairn_push_options *options, struct cairn_error *error)
{
	const char *to = options->to;
	struct cairn_push *push = cairn_array_zero(1, sizeof *push);
	*push = (struct cairn_push){.url = cairn_buffer(8000),
				    .query = cairn_buffer(7000),
				    .folder = options->folder,
				    .outbox = {.item_size = CAIRN_TEMPLATE_NAME,
					       .most = waiting_most,
					       .send = send_file,
					       .done = finish_file,
					       .context = push,
					       .backoff = {.away = "dumps are not pushed for now and wait in the folder", .back = push->back}}};
	push->authorization = cairn_collector_authorization(NULL);
	push->store_name = cairn_store_is(to) ? to : NULL;
	snprintf(push->mark, sizeof push->mark, "%s/.cairn-pushed-%016llx", options->folder,
		 (unsigned long long)cairn_hash_text(cairn_bytes_of(to)));
	bool good = make_query(&push->query, options->labels, options->host, error);
	if (good && cairn_forward_is(to))
		good = (push->forward = cairn_forward_open(to, options->headers, error)) != NULL;
	else
		good = good && (push->store_name || make_url(push, to, error));
	snprintf(push->back, sizeof push->back, "%s takes dumps again",
		 push->forward ? cairn_forward_kind(push->forward) : push->store_name ? "the store" : "the collector");
	if (good)
		queue_left(push, options->pattern);
	if (good && cairn_outbox_open(&push->outbox, error))
		return push;
	free_push(push);
	return NULL;
}

void cairn_push_add(struct cairn_push *push, const char *file)
{
	char name[CAIRN_TEMPLATE_NAME];
	snprintf(name, sizeof name, "%s", file);
	cairn_outbox_add(&push->outbox, name, 0);
}

void cairn_push_close(struct cairn_push *push)
{
	if (push)
		free_push(push);
}
