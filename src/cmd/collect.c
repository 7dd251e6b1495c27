/* collect.c - `cairn collect`: takes snapshots from many machines and puts them into a store. collect/collector.h has the parts.
 *
 * `cairn collect -` is the child that names addresses (collect/namer.h). Nobody types that, so it is not in the help.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/condition.h"
#include "base/text.h"
#include "base/time.h"
#include "cmd/command.h"
#include "fleet/collect/collector.h"
#include "fleet/collect/move.h"
#include "fleet/collect/receive.h"
#include "fleet/collect/symbols.h"
#include "http/tcp.h"
#include "store/store.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t usual_spool = (uint64_t)4 << 30, usual_unpacked = 128 << 20;
static const uint64_t usual_naming_memory = (uint64_t)2 << 30;
static const int64_t usual_naming_ns = 2 * CAIRN_MINUTE_NS;
static const uint64_t usual_upload = (uint64_t)2 << 30, usual_uploads = (uint64_t)16 << 30;

struct options {
	struct cairn_source_options source; /* where to look for debug files */
	const char *store, *listen, *spool, *tokens, *uploads;
	uint64_t spool_bytes, unpacked_bytes, upload_largest, upload_total, naming_memory;
	const char *naming_time;
	struct cairn_option_list forward;
	const char *forward_headers;
};

#define FIND(member) offsetof(struct options, source) + offsetof(struct cairn_source_options, member)

static const struct cairn_option table[] = {
	{0, "store", "STORE", "the store: sqlite:PATH or clickhouse://HOST:PORT/DATABASE (default: $CAIRN_STORE)", CAIRN_OPTION_TEXT,
	 offsetof(struct options, store), 0},
	{0, "listen", "ADDRESS", "listen here (default: 127.0.0.1:4920)", CAIRN_OPTION_TEXT, offsetof(struct options, listen), 0},
	{0, "tokens", "FILE", "accept only senders with a token of this file: TOKEN [TENANT] on each line", CAIRN_OPTION_TEXT,
	 offsetof(struct options, tokens), 0},
	{0, "spool", "FOLDER", "folder for what is not in the store yet (default: cairn-spool, in $XDG_STATE_HOME or ~/.local/state)",
	 CAIRN_OPTION_TEXT, offsetof(struct options, spool), 0},
	{0, "spool-bytes", "SIZE", "refuse more while the spool holds this much (default: 4G)", CAIRN_OPTION_SIZE,
	 offsetof(struct options, spool_bytes), 0},
	{0, "unpacked-bytes", "SIZE", "refuse a profile that decompresses to more than this (default: 128M)", CAIRN_OPTION_SIZE,
	 offsetof(struct options, unpacked_bytes), 0},
	{0},
};

static const struct cairn_option name_table[] = {
	{0, "symbols", "FOLDER", "also search this folder for binaries and debug files", CAIRN_OPTION_LIST, FIND(symbols), 0},
	{0, "sysroot", "FOLDER", "root folder with the files of the profiled machines", CAIRN_OPTION_TEXT, FIND(sysroot), 0},
	{0, "debuginfod", NULL, "fetch debug files from the servers in DEBUGINFOD_URLS", CAIRN_OPTION_FLAG, FIND(debuginfod), 0},
	{0, "uploads", "FOLDER", "folder for what 'cairn symbols push' uploads (default: uploads, in the folder of --spool)",
	 CAIRN_OPTION_TEXT, offsetof(struct options, uploads), 0},
	{0, "upload-largest", "SIZE", "refuse an uploaded file that is larger than this (default: 2G)", CAIRN_OPTION_SIZE,
	 offsetof(struct options, upload_largest), 0},
	{0, "upload-total", "SIZE",
	 "keep this much of the uploads of one tenant; remove the least recently used beyond that (default: 16G)",
	 CAIRN_OPTION_SIZE, offsetof(struct options, upload_total), 0},
	{0, "naming-memory", "SIZE", "memory for symbolizing a snapshot; one that takes more has no names (default: 2G)", CAIRN_OPTION_SIZE,
	 offsetof(struct options, naming_memory), 0},
	{0, "naming-time", "TIME", "time for symbolizing a snapshot (default: 2m)", CAIRN_OPTION_TEXT,
	 offsetof(struct options, naming_time), 0},
	{0},
};

static const struct cairn_option forward_table[] = {
	{0, "forward", "KIND:URL", "also send snapshots on to pyroscope:URL, otlp:URL, parca:URL or coroot:URL; can be repeated",
	 CAIRN_OPTION_LIST, offsetof(struct options, forward), 0},
	{0, "forward-headers", "FILE", "HTTP headers for them, such as tokens: NAME: VALUE on each line (default: $CAIRN_FORWARD_HEADERS)",
	 CAIRN_OPTION_TEXT, offsetof(struct options, forward_headers), 0},
	{0},
};

static const struct cairn_option_group groups[] = {{NULL, table, 0}, {"symbols", name_table, 0}, {"other systems", forward_table, 0}, {0}};

static volatile sig_atomic_t signalled;

static void note_signal(int number)
{
	(void)number;
	signalled = 1;
}

static int tick(void *context)
{
	struct cairn_collector *collector = context;
	if (signalled)
		collector->stop = true;
	return 200;
}

static int listen_at(const struct cairn_collector *collector, const char *address, struct cairn_error *error)
{
	struct cairn_tcp tcp;
	char shown[CAIRN_TCP_SHOWN];
	const char *where = address ? address : "127.0.0.1:4920", *wrong = cairn_tcp_read(&tcp, where, false);
	if (!wrong && !tcp.loopback && !collector->senders.count) {
		cairn_fail_usage(error, "cannot listen on %.100s: not a loopback address; --tokens FILE lists who may send", where);
		return -1;
	}
	int listener = wrong ? -1 : cairn_tcp_listen(&tcp);
	if (listener < 0)
		cairn_fail(error, "cannot listen on %.100s: %s", where, wrong ? wrong : cairn_errno_text(errno));
	else
		printf("collecting at http://%s\n", cairn_tcp_show(&tcp, shown));
	fflush(stdout);
	return listener;
}

static bool serve(struct cairn_collector *collector, const char *address, struct cairn_error *error)
{
	/* Requests beyond the limit are answered with 503, and their senders try again. */
	static struct cairn_quota bodies = {.limit = CAIRN_COLLECT_BODIES};
	struct cairn_server_options options = {
		.quota = &bodies,
		.local_quota = &bodies,
		.connections = 256,
		.seconds = 30,
		.body_maximum = CAIRN_COLLECT_BODY,
		.response_maximum = 1 << 20,
		.admit = cairn_receive_admit,
		.handle = cairn_receive_handle,
		.tick = tick,
		.context = collector,
		.stop = &collector->stop,
	};
	const struct cairn_outbox requests = {
		.item_size = sizeof(struct cairn_exchange *), .most = CAIRN_COLLECT_WAITING, .refuses = true, .context = collector};
	pthread_t mover;
	collector->snapshots = collector->symbols = requests;
	collector->snapshots.send = cairn_receive_send;
	collector->symbols.send = cairn_symbols_send;
	struct cairn_server *server = cairn_server_open(&options, error);
	int listener = server ? listen_at(collector, address, error) : -1;
	if (listener < 0 || !cairn_server_listen(server, listener, false, error)) {
		if (server)
			cairn_server_close(server);
		return false;
	}
	if (!cairn_outbox_open(&collector->snapshots, error) || !cairn_outbox_open(&collector->symbols, error))
		return false;
	if (pthread_create(&mover, NULL, cairn_move_run, collector) != 0)
		return cairn_fail(error, "cannot start a thread");
	cairn_server_run(server);
	collector->stop = true;
	pthread_mutex_lock(&collector->lock);
	pthread_cond_broadcast(&collector->arrived);
	pthread_mutex_unlock(&collector->lock);
	cairn_outbox_close(&collector->snapshots, INT64_MAX / 2); /* all requests are answered */
	cairn_outbox_close(&collector->symbols, INT64_MAX / 2);
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
	struct cairn_arena arena = {0};
	struct cairn_collector collector = {.lock = PTHREAD_MUTEX_INITIALIZER};
	cairn_condition_init(&collector.arrived);
	collector.unpacked_most = options->unpacked_bytes ? options->unpacked_bytes : usual_unpacked;
	collector.namer = (struct cairn_namer){
		.source = &options->source,
		.uploads = &collector.uploads,
		.memory = options->naming_memory ? options->naming_memory : usual_naming_memory,
		.time_ns = usual_naming_ns,
		.names_most = CAIRN_NAMES_SHARE * collector.unpacked_most,
	};
	if (operand_count == 1 && strcmp(operands[0], "-") == 0)
		return cairn_namer_run(&collector.namer) ? CAIRN_EXIT_DONE : CAIRN_EXIT_USAGE;
	const char *folder = options->spool ? options->spool : usual_folder(&arena);
	const char *uploads = options->uploads ? options->uploads : cairn_arena_format(&arena, "%s/uploads", folder);
	bool good = operand_count == 0 || cairn_fail_usage(&error, "collect takes options only, not '%.100s'", operands[0]);
	if (good && options->naming_time && (!cairn_text_duration(options->naming_time, &collector.namer.time_ns) || collector.namer.time_ns <= 0))
		good = cairn_fail_usage(&error, "--naming-time takes a time such as 30s or 2m, not '%.40s'", options->naming_time);
	good = good && (collector.store_name = cairn_store_name(options->store, &arena, &error)) &&
	       (!options->tokens || cairn_senders_read(&collector.senders, options->tokens, &error)) &&
	       cairn_spool_open(&collector.spool, folder, options->spool_bytes ? options->spool_bytes : usual_spool, &error);
	collector.spool.shared = cairn_senders_are_several(&collector.senders);
	if (good) {
		struct sigaction action = {.sa_handler = note_signal};
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		good = cairn_uploads_open(&collector.uploads, uploads, options->upload_largest ? options->upload_largest : usual_upload,
					  options->upload_total ? options->upload_total : usual_uploads, !options->uploads, &error) &&
		       (options->forward.count == 0 ||
			(collector.forwards = cairn_forward_queues_open(&options->forward, options->forward_headers, &error))) &&
		       serve(&collector, options->listen, &error);
		cairn_forward_queues_close(collector.forwards);
		cairn_spool_close(&collector.spool);
	}
	cairn_senders_free(&collector.senders);
	cairn_arena_free(&arena);
	return good ? CAIRN_EXIT_DONE : cairn_say_failure(&error);
}

const struct cairn_command cairn_command_collect = {
	.name = "collect",
	.summary = "take snapshots from many machines and put them into a store",
	.arguments = "",
	.detail = "Senders are 'cairn watch --push URL' on every machine, and clients that POST a pprof profile to /v1/pprof.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
