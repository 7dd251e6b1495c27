/* collect.c - `cairn collect`: takes snapshots from many machines and puts them into a store.
 *
 * Three threads: one speaks HTTP, one writes what came to the spool and answers its sender, and one moves the spool into the store, naming
 * addresses on the way. A sender waits for the disk of this machine, and never for the store.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/config.h"
#include "agent/host/listen.h"
#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "cmd/collect/spool.h"
#include "cmd/command.h"
#include "cmd/source.h"
#include "http/server.h"
#include "process/clock.h"
#include "profile/read.h"
#include "store/store.h"
#include "symbol/symbolize.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { batch_most = 64, waiting_most = 256, body_most = 64 << 20, tokens_most = 1024 };
static const uint64_t usual_spool = (uint64_t)4 << 30;

struct options {
	struct cairn_source_options source; /* where names come from */
	const char *store, *listen, *spool, *tokens;
	uint64_t spool_bytes;
};

#define FIND(member) offsetof(struct options, source) + offsetof(struct cairn_source_options, member)

static const struct cairn_option table[] = {
	{0, "store", "STORE", "the store: sqlite:PATH or clickhouse://HOST:PORT/DATABASE (default: $CAIRN_STORE)", CAIRN_OPTION_TEXT,
	 offsetof(struct options, store), 0},
	{0, "listen", "ADDRESS", "listen here (default: 127.0.0.1:4920)", CAIRN_OPTION_TEXT, offsetof(struct options, listen), 0},
	{0, "tokens", "FILE", "accept only senders with a token of this file: TOKEN [TENANT] on each line", CAIRN_OPTION_TEXT,
	 offsetof(struct options, tokens), 0},
	{0, "spool", "DIR", "folder for what is not in the store yet (default: cairn-spool, in $XDG_STATE_HOME or ~/.local/state)",
	 CAIRN_OPTION_TEXT, offsetof(struct options, spool), 0},
	{0, "spool-bytes", "SIZE", "refuse more while the spool holds this much (default: 4G)", CAIRN_OPTION_SIZE,
	 offsetof(struct options, spool_bytes), 0},
	{0},
};

static const struct cairn_option name_table[] = {
	{0, "symbols", "DIR", "also search this folder for binaries and debug files", CAIRN_OPTION_LIST, FIND(symbols), 0},
	{0, "sysroot", "DIR", "root folder with the files of the profiled machines", CAIRN_OPTION_TEXT, FIND(sysroot), 0},
	{0, "debuginfod", NULL, "fetch debug files from the servers in DEBUGINFOD_URLS", CAIRN_OPTION_FLAG, FIND(debuginfod), 0},
	{0},
};

static const struct cairn_option_group groups[] = {{NULL, table, 0}, {"names", name_table, 0}, {0}};

struct sender {
	const char *token, *tenant;
};

struct collector {
	const struct options *options;
	const char *store_name;
	struct cairn_spool spool;
	struct cairn_arena arena;
	struct sender *senders;
	size_t sender_count, sender_capacity;
	pthread_mutex_t lock;
	pthread_cond_t arrived; /* something waits, or the end has come */
	struct cairn_exchange *waiting[waiting_most];
	size_t first, count;
	atomic_bool stop;
	_Atomic uint64_t accepted, refused, stored, rejected, failures;
};

static volatile sig_atomic_t signalled;

static void note_signal(int number)
{
	(void)number;
	signalled = 1;
}

/* How long it takes says nothing about the token, except its length. */
static bool same_token(struct cairn_bytes sent, const char *token)
{
	size_t length = strlen(token);
	unsigned different = sent.length != length;
	for (size_t i = 0; i < length; i++)
		different |= (unsigned char)(token[i] ^ (i < sent.length ? sent.data[i] : 0));
	return different == 0;
}

/* Whose request it is; NULL for a stranger's. Every token is looked at. */
static const char *tenant_of(const struct collector *collector, struct cairn_bytes authorization)
{
	const char *tenant = collector->sender_count ? NULL : "";
	if (!cairn_text_take(&authorization, "Bearer ") && !cairn_text_take(&authorization, "bearer "))
		return tenant;
	for (size_t i = 0; i < collector->sender_count; i++)
		if (same_token(authorization, collector->senders[i].token))
			tenant = collector->senders[i].tenant;
	return tenant;
}

static bool read_tokens(struct collector *collector, const char *path, struct cairn_error *error)
{
	struct cairn_file file;
	struct cairn_bytes rest, line;
	if (!cairn_file_read(&file, path, error))
		return false;
	rest = file.bytes;
	while (cairn_text_line(&rest, &line, NULL) && collector->sender_count < tokens_most) {
		line = cairn_text_trim(line);
		if (line.length == 0 || line.data[0] == '#')
			continue;
		size_t length = 0;
		while (length < line.length && line.data[length] != ' ' && line.data[length] != '\t')
			length++;
		struct cairn_bytes tenant = cairn_text_trim(cairn_bytes_skip(line, length));
		cairn_array_room(collector->senders, collector->sender_count, collector->sender_capacity);
		collector->senders[collector->sender_count++] =
			(struct sender){cairn_arena_text(&collector->arena, (struct cairn_bytes){line.data, length}),
					cairn_arena_text(&collector->arena, tenant)};
	}
	cairn_file_close(&file);
	return collector->sender_count > 0 || cairn_fail(error, "%s: no token in this file, so nobody could send", path);
}

static bool is_upload(const struct cairn_request *request)
{
	static const char *const paths[] = {"/v1/snapshots", "/v1/pprof"};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (cairn_bytes_equal(request->path, cairn_bytes_of(paths[i])))
			return true;
	return false;
}

static bool refuse(struct collector *collector, struct cairn_response *response, int status, const char *why)
{
	collector->refused++;
	cairn_response_text(response, status, "application/json", "{\"error\":\"%s\"}\n", why);
	return true;
}

/* Whether a request may go on, once its head is there: nobody sends a large body for nothing. */
static bool admit(void *context, struct cairn_exchange *exchange, size_t *body_maximum)
{
	struct collector *collector = context;
	const struct cairn_request *request = &exchange->request;
	struct cairn_response *response = &exchange->response;
	/* Without tokens, a page in a browser on this machine is kept out by what it cannot help sending. */
	if (request->origin.length > 0 || (!collector->sender_count && !cairn_listen_host_is_ours(request->host, "")))
		return !refuse(collector, response, 403, "browsers are not answered here, nor requests for another host");
	if (!tenant_of(collector, request->authorization))
		return !refuse(collector, response, 401, "the token is missing or wrong; send Authorization: Bearer TOKEN");
	if (!is_upload(request))
		*body_maximum = 0;
	else if (!cairn_spool_has_room(&collector->spool, request->has_length ? (size_t)request->content_length : body_most))
		return !refuse(collector, response, 503, "the spool is full, since the store does not take what is there; try again later");
	return true;
}

static void show_metrics(struct collector *collector, struct cairn_response *response)
{
	const struct {
		const char *name, *type, *help;
		uint64_t value;
	} rows[] = {
		{"cairn_collect_accepted_total", "counter", "Snapshots accepted from senders.", collector->accepted},
		{"cairn_collect_refused_total", "counter", "Requests refused.", collector->refused},
		{"cairn_collect_stored_total", "counter", "Snapshots put into the store.", collector->stored},
		{"cairn_collect_rejected_total", "counter", "Accepted snapshots that no profile could be read from.", collector->rejected},
		{"cairn_collect_store_failures_total", "counter", "Times the store did not take a batch.", collector->failures},
		{"cairn_collect_spool_files", "gauge", "Snapshots waiting for the store.", collector->spool.files},
		{"cairn_collect_spool_bytes", "gauge", "Bytes waiting for the store.", collector->spool.bytes},
	};
	cairn_response_start(response, 200, "text/plain; version=0.0.4");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cairn_buffer_format(&response->body, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", rows[i].name, rows[i].help, rows[i].name, rows[i].type,
				    rows[i].name, (unsigned long long)rows[i].value);
}

static bool handle(void *context, struct cairn_exchange *exchange)
{
	struct collector *collector = context;
	const struct cairn_request *request = &exchange->request;
	struct cairn_response *response = &exchange->response;
	bool get = cairn_request_is(request, "GET");
	if (get && cairn_bytes_equal(request->path, cairn_bytes_of("/metrics"))) {
		show_metrics(collector, response);
		return true;
	}
	if (get && cairn_bytes_equal(request->path, cairn_bytes_of("/health"))) {
		cairn_response_text(response, 200, "text/plain", "ok\n");
		return true;
	}
	if (!is_upload(request))
		return refuse(collector, response, 404, "this is a collector: POST /v1/snapshots, GET /metrics, GET /health");
	if (!cairn_request_is(request, "POST"))
		return refuse(collector, response, 405, "profiles are sent by POST");
	enum cairn_format format = cairn_profile_sniff(request->body);
	if (format == CAIRN_FORMAT_UNKNOWN || format == CAIRN_FORMAT_EMPTY)
		return refuse(collector, response, 400, "the body is no profile that cairn can read");
	pthread_mutex_lock(&collector->lock);
	bool room = collector->count < waiting_most;
	if (room)
		collector->waiting[(collector->first + collector->count++) % waiting_most] = exchange;
	pthread_cond_broadcast(&collector->arrived);
	pthread_mutex_unlock(&collector->lock);
	return room ? false : refuse(collector, response, 503, "too many senders at once; try again");
}

/* The next exchange that waits; NULL at the end. */
static struct cairn_exchange *next_exchange(struct collector *collector)
{
	struct cairn_exchange *exchange = NULL;
	pthread_mutex_lock(&collector->lock);
	while (collector->count == 0 && !collector->stop)
		pthread_cond_wait(&collector->arrived, &collector->lock);
	if (collector->count > 0) {
		exchange = collector->waiting[collector->first];
		collector->first = (collector->first + 1) % waiting_most;
		collector->count--;
	}
	pthread_mutex_unlock(&collector->lock);
	return exchange;
}

static void *run_spooler(void *context)
{
	struct collector *collector = context;
	struct cairn_exchange *exchange;
	while ((exchange = next_exchange(collector))) {
		struct cairn_error error;
		const char *tenant = tenant_of(collector, exchange->request.authorization);
		if (cairn_spool_write(&collector->spool, exchange->request.query, cairn_bytes_of(tenant ? tenant : ""), exchange->request.body, &error)) {
			collector->accepted++;
			cairn_response_text(&exchange->response, 202, "application/json", "{\"accepted\":true}\n");
			pthread_mutex_lock(&collector->lock);
			pthread_cond_broadcast(&collector->arrived);
			pthread_mutex_unlock(&collector->lock);
		} else {
			cairn_say_note(error.text);
			refuse(collector, &exchange->response, 503, "it could not be written to disk; try again later");
		}
		cairn_exchange_finish(exchange);
	}
	return NULL;
}

/* One file of the spool, read and named. */
struct loaded {
	struct cairn_file file;
	struct cairn_profile profile;
	char service[256], version[256], host[256];
	struct cairn_buffer labels;
	struct cairn_store_snapshot snapshot;
};

/* Copies what QUERY says beside service, version and host. */
static void keep_labels(struct cairn_bytes query, struct cairn_buffer *out)
{
	static const char *const own[] = {"service=", "version=", "host="};
	while (query.length > 0) {
		const char *end = memchr(query.data, '&', query.length);
		struct cairn_bytes part = {query.data, end ? (size_t)(end - query.data) : query.length};
		bool label = part.length > 0;
		query = cairn_bytes_skip(query, end ? part.length + 1 : part.length);
		for (size_t i = 0; i < sizeof own / sizeof *own; i++)
			label = label && !cairn_bytes_start_with(part, own[i]);
		if (label && out->length > 0)
			cairn_buffer_byte(out, '&');
		if (label)
			cairn_buffer_append(out, part.data, part.length);
	}
}

static bool load(struct collector *collector, const char *name, struct loaded *loaded, struct cairn_error *error)
{
	struct cairn_bytes query, tenant, body;
	char path[4096];
	*loaded = (struct loaded){.labels = cairn_buffer(1 << 16)};
	cairn_profile_init(&loaded->profile);
	snprintf(path, sizeof path, "%s/%s", collector->spool.path, name);
	if (!cairn_file_map(&loaded->file, path, error))
		return false;
	if (!cairn_spool_parse(loaded->file.bytes, &query, &tenant, &body) ||
	    !cairn_profile_read(&loaded->profile, body, "a snapshot", &(struct cairn_read_options){0}, error))
		return false;
	struct cairn_profile *profile = &loaded->profile;
	struct cairn_symbolize_options symbolize = {.find = cairn_source_find(&collector->options->source)};
	struct cairn_symbolize_report report;
	if (profile->time_ns <= 0)
		profile->time_ns = cairn_clock_wall_ns();
	cairn_symbolize(profile, &symbolize, &report);
	cairn_symbolize_report_free(&report);
	if (!cairn_query_get(query, "service", loaded->service, sizeof loaded->service) || !loaded->service[0])
		snprintf(loaded->service, sizeof loaded->service, "%.250s",
			 profile->process ? cairn_base_name(cairn_profile_string(profile, profile->process)) : "unknown");
	cairn_query_get(query, "version", loaded->version, sizeof loaded->version);
	cairn_query_get(query, "host", loaded->host, sizeof loaded->host);
	keep_labels(query, &loaded->labels);
	loaded->snapshot = (struct cairn_store_snapshot){
		.profile = profile,
		.tenant = tenant,
		.service = cairn_bytes_of(loaded->service),
		.version = cairn_bytes_of(loaded->version),
		.host = cairn_bytes_of(loaded->host),
		.labels = cairn_buffer_bytes(&loaded->labels),
	};
	return cairn_store_accepts(profile, error);
}

static void unload(struct loaded *loaded)
{
	cairn_profile_free(&loaded->profile);
	cairn_buffer_free(&loaded->labels);
	cairn_file_close(&loaded->file);
}

/* Moves up to a batch from the spool into STORE. Returns how many files were dealt with, or -1 where the store did not take them. */
static int move_batch(struct collector *collector, struct cairn_store *store, struct cairn_error *error)
{
	struct cairn_arena arena = {0};
	const char *names[batch_most];
	size_t count = cairn_spool_list(&collector->spool, &arena, names, batch_most), good = 0;
	struct loaded *loaded = cairn_array_zero(count, sizeof *loaded);
	struct cairn_store_snapshot snapshots[batch_most];
	size_t file_of[batch_most];
	for (size_t i = 0; i < count; i++) {
		struct cairn_error bad;
		if (load(collector, names[i], &loaded[i], &bad)) {
			file_of[good] = i;
			snapshots[good++] = loaded[i].snapshot;
			continue;
		}
		cairn_note("a snapshot from %s is no use: %s", loaded[i].host[0] ? loaded[i].host : "a sender", bad.text);
		collector->rejected++;
		cairn_spool_remove(&collector->spool, names[i]);
	}
	bool put = good == 0 || cairn_store_put(store, snapshots, good, error);
	for (size_t i = 0; put && i < good; i++)
		cairn_spool_remove(&collector->spool, names[file_of[i]]);
	collector->stored += put ? good : 0;
	for (size_t i = 0; i < count; i++)
		unload(&loaded[i]);
	free(loaded);
	cairn_arena_free(&arena);
	return put ? (int)count : -1;
}

/* Waits until something may have come, at most so long. */
static void wait_for_work(struct collector *collector, unsigned milliseconds)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	int64_t end = cairn_time_ns(&until) + (int64_t)milliseconds * 1000000;
	until = (struct timespec){end / CAIRN_SECOND_NS, end % CAIRN_SECOND_NS};
	pthread_mutex_lock(&collector->lock);
	if (!collector->stop)
		pthread_cond_timedwait(&collector->arrived, &collector->lock, &until);
	pthread_mutex_unlock(&collector->lock);
}

static void *run_mover(void *context)
{
	enum { idle_ms = 1000, shortest_ms = 500, longest_ms = 30000 };
	struct collector *collector = context;
	struct cairn_store *store = NULL;
	unsigned pause = 0;
	while (!collector->stop) {
		struct cairn_error error;
		if (!store)
			store = cairn_store_open(collector->store_name, &error);
		int moved = store && (collector->spool.files == 0 || cairn_store_check(store, &error)) ? move_batch(collector, store, &error) : -1;
		if (moved < 0) {
			collector->failures++;
			if (pause == 0)
				cairn_note("the store takes nothing, so snapshots wait on disk: %s", error.text);
			pause = pause == 0 ? shortest_ms : pause * 2 < longest_ms ? pause * 2 : longest_ms;
			cairn_store_close(store);
			store = NULL;
			wait_for_work(collector, pause);
		} else {
			if (pause > 0)
				cairn_note("the store takes snapshots again");
			pause = 0;
			if (moved < batch_most)
				wait_for_work(collector, idle_ms);
		}
	}
	cairn_store_close(store);
	return NULL;
}

static int tick(void *context)
{
	struct collector *collector = context;
	if (signalled)
		collector->stop = true;
	return 200;
}

static int listen_at(const struct collector *collector, struct cairn_error *error)
{
	static struct cairn_config config;
	struct cairn_listen place = {.folder_descriptor = -1};
	snprintf(config.listen, sizeof config.listen, "%s", collector->options->listen ? collector->options->listen : "127.0.0.1:4920");
	snprintf(config.token, sizeof config.token, "%s", collector->sender_count ? "of a file" : "");
	int listener = cairn_listen_tcp(&place, &config);
	if (listener < 0)
		cairn_fail(error, "cannot listen: %s", place.tcp_problem);
	else
		printf("collecting at http://%s\n", place.tcp_shown);
	fflush(stdout);
	return listener;
}

static bool serve(struct collector *collector, struct cairn_error *error)
{
	struct cairn_server_options options = {
		.connections = 256,
		.seconds = 30,
		.body_maximum = body_most,
		.response_maximum = 1 << 20,
		.admit = admit,
		.handle = handle,
		.tick = tick,
		.context = collector,
		.stop = &collector->stop,
	};
	pthread_t spooler, mover;
	struct cairn_server *server = cairn_server_open(&options, error);
	int listener = server ? listen_at(collector, error) : -1;
	if (listener < 0 || !cairn_server_listen(server, listener, false, error)) {
		if (server)
			cairn_server_close(server);
		return false;
	}
	if (pthread_create(&spooler, NULL, run_spooler, collector) != 0 || pthread_create(&mover, NULL, run_mover, collector) != 0)
		return cairn_fail(error, "cannot start a thread");
	cairn_server_run(server);
	collector->stop = true;
	pthread_mutex_lock(&collector->lock);
	pthread_cond_broadcast(&collector->arrived);
	pthread_mutex_unlock(&collector->lock);
	pthread_join(spooler, NULL);
	pthread_join(mover, NULL);
	cairn_server_close(server);
	return true;
}

static const char *usual_folder(struct cairn_arena *arena)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	if (state && state[0] == '/')
		return cairn_arena_format(arena, "%s/cairn-spool", state);
	return home && home[0] == '/' ? cairn_arena_format(arena, "%s/.local/state/cairn-spool", home) : "cairn-spool";
}

static int run(const void *values, int operand_count, char **operands)
{
	const struct options *options = values;
	struct cairn_error error;
	struct collector collector = {.options = options, .lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};
	collector.store_name = options->store ? options->store : getenv("CAIRN_STORE");
	const char *folder = options->spool ? options->spool : usual_folder(&collector.arena);
	bool good = operand_count == 0 || cairn_fail_usage(&error, "collect takes options only, not '%.100s'", operands[0]);
	if (good && !collector.store_name)
		good = cairn_fail_usage(&error, "which store? --store STORE or CAIRN_STORE says: sqlite:PATH or clickhouse://HOST:PORT/DATABASE");
	if (good && !cairn_store_is(collector.store_name))
		good = cairn_fail_usage(&error, "a store is called sqlite:PATH or clickhouse://HOST:PORT/DATABASE, not '%.100s'", collector.store_name);
	good = good && (!options->tokens || read_tokens(&collector, options->tokens, &error)) &&
	       cairn_spool_open(&collector.spool, folder, options->spool_bytes ? options->spool_bytes : usual_spool, &error);
	if (good) {
		struct sigaction action = {.sa_handler = note_signal};
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		good = serve(&collector, &error);
		cairn_spool_close(&collector.spool);
	}
	free(collector.senders);
	cairn_arena_free(&collector.arena);
	return good ? CAIRN_EXIT_DONE : cairn_say_failure(&error);
}

const struct cairn_command cairn_command_collect = {
	.name = "collect",
	.summary = "take snapshots from many machines and put them into a store",
	.arguments = "",
	.detail = "Senders are 'cairn watch --push URL' on every machine, and anybody who can POST a pprof profile to /v1/pprof.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
