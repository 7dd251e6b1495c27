/* watch.c - `cairn watch`: keeps the dumps that matter of many processes, in one loop.
 *
 * The loop sleeps until memory is to be read, a process ends (its pidfd reports it at once), a job is done or a signal arrives.
 * Longer than other files: it has the command's many options, and one loop whose parts share its state.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "base/time.h"
#include "cmd/command.h"
#include "cmd/shared_options.h"
#include "cmd/watch/event.h"
#include "cmd/watch/verdict.h"
#include "dump/engine_kind.h"
#include "fleet/forward/forward.h"
#include "fleet/push.h"
#include "live/program.h"
#include "live/service.h"
#include "live/target.h"
#include "live/watch/ending.h"
#include "live/watch/watched.h"
#include "process/clock.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { tree_most = 256, tree_share = 50 }; /* a look takes no more than that part of the time */
enum { jobs_maximum = 8, patience_ms = 3000, events_at_once = 64 };
/* Agents may take their time. Those of one user do not keep the processes of others waiting, nor do URLs those of this machine. */
enum { user_jobs = 2, elsewhere_jobs = 6 };
static const int64_t service_pause_ns = CAIRN_SECOND_NS, attach_pause_ns = 30 * CAIRN_SECOND_NS, problem_pause_ns = 60 * CAIRN_SECOND_NS;
static const char usual_pattern[] = "%n-%p-%h-%T-%r.heap";
static const uint64_t usual_bytes = (uint64_t)1 << 30; /* of the folder, if dumps are also sent */

/* The keywords of rules, in the order of cairn_trigger_word. */
enum { START, GROW, EVERY, HIGH, SHARE, PRESSURE, TIME, INTERVAL, DISTANCE, RULE_WORDS };

struct options {
	struct cairn_target_options target;
	const char *words[RULE_WORDS];
	const char *folder, *file_name, *keep_age, *duration;
	const char *keep_bytes; /* a size, 0 included; NULL if it was not given */
	uint64_t keep_count, keep_free;
	struct cairn_option_list services;
	const char *from;
	const char *push, *store;
	struct cairn_option_list labels, forwards;
	const char *forward_headers;
	bool once, quiet, json, tree, attach;
	struct cairn_attach_settings agent;
};

#define WORD(word) offsetof(struct options, words) + (word) * sizeof(const char *)

static const struct cairn_option rule_table[] = {
	{0, "grow", "SIZE", "dump when memory grows by more than this within --every (default: 20M)", CAIRN_OPTION_TEXT, WORD(GROW), 0},
	{0, "every", "TIME", "the time span for --grow (default: 10m)", CAIRN_OPTION_TEXT, WORD(EVERY), 0},
	{0, "high", "SIZE", "dump when memory is this much above the highest dump", CAIRN_OPTION_TEXT, WORD(HIGH), 0},
	{0, "share", "SHARE", "dump when its own memory reaches this share of its limit (default: 90%)", CAIRN_OPTION_TEXT, WORD(SHARE), 0},
	{0, "pressure", "SHARE", "dump when waiting for memory takes this share of the time", CAIRN_OPTION_TEXT, WORD(PRESSURE), 0},
	{0, "time", "TIME", "dump when the last dump is this old", CAIRN_OPTION_TEXT, WORD(TIME), 0},
	{0, "interval", "SIZE", "dump each time this much was allocated, freed or not", CAIRN_OPTION_TEXT, WORD(INTERVAL), 0},
	{0, "start", "BOOL", "dump at the start (default: true)", CAIRN_OPTION_TEXT, WORD(START), 0},
	{0, "distance", "TIME", "minimum time between two dumps for the same reason (default: 10s)", CAIRN_OPTION_TEXT, WORD(DISTANCE), 0},
	{0},
};

static const struct cairn_option folder_table[] = {
	{'o', "folder", "FOLDER", "the folder for dumps (default: the current folder)", CAIRN_OPTION_TEXT, offsetof(struct options, folder),
	 0},
	{0, "output", "FOLDER", NULL, CAIRN_OPTION_TEXT, offsetof(struct options, folder), 0},
	{0, "file-name", "NAME", "name dump files: %t time, %T time in UTC, %n program, %p PID, %h host, %r reason", CAIRN_OPTION_TEXT,
	 offsetof(struct options, file_name), 0},
	{0, "keep-count", "N", "keep at most N dumps in the folder (default: no limit)", CAIRN_OPTION_COUNT,
	 offsetof(struct options, keep_count), 0},
	{0, "keep-bytes", "SIZE", "keep at most this much in the folder (default: no limit, or 1G with --push, --store or --forward)",
	 CAIRN_OPTION_TEXT, offsetof(struct options, keep_bytes), 0},
	{0, "keep-age", "TIME", "remove dumps older than this (default: no limit)", CAIRN_OPTION_TEXT, offsetof(struct options, keep_age),
	 0},
	{0, "keep-free", "SIZE", "write no dump that leaves less disk space than this (default: a twentieth of the disk, at most 1G)",
	 CAIRN_OPTION_SIZE, offsetof(struct options, keep_free), 0},
	{0},
};

static const struct cairn_option table[] = {
	{0, "service", "NAME", "follow a systemd service, or a program of that name, across restarts; can be repeated",
	 CAIRN_OPTION_LIST, offsetof(struct options, services), 0},
	{0, "tree", NULL, "with a PID: also watch its present and future descendants", CAIRN_OPTION_FLAG,
	 offsetof(struct options, tree), 0},
	{0, "from", "URL", "with one PID: take its dumps from this page, such as GreptimeDB's, instead of from an agent", CAIRN_OPTION_TEXT,
	 offsetof(struct options, from), 0},
	{0, "once", NULL, "exit after the first dump of each process", CAIRN_OPTION_FLAG, offsetof(struct options, once), 0},
	{0, "for", "TIME", "exit after this time", CAIRN_OPTION_TEXT, offsetof(struct options, duration), 0},
	{'q', "quiet", NULL, "print errors only", CAIRN_OPTION_FLAG, offsetof(struct options, quiet), 0},
	{0, "json", NULL, "print one JSON object per line instead of text", CAIRN_OPTION_FLAG, offsetof(struct options, json), 0},
	{0},
};

static const struct cairn_option attach_table[] = {
	{0, "attach", NULL, "attach to processes without an agent, as 'cairn attach' does", CAIRN_OPTION_FLAG,
	 offsetof(struct options, attach), 0},
	{0, "period", "SIZE", "sample once in this many bytes (default: 512K)", CAIRN_OPTION_PERIOD, offsetof(struct options, agent.period),
	 0},
	{0, "engine", "NAME", "profile with: auto, cairn (any allocator) or jemalloc (default: auto)", CAIRN_OPTION_TEXT,
	 offsetof(struct options, agent.engine), 0, (const char *const[]){CAIRN_ENGINE_NAMES, NULL}},
	{0, "listen", "ADDRESS", "let the agent listen on TCP too, such as 127.0.0.1:9999; clients need the token of --token",
	 CAIRN_OPTION_TEXT, offsetof(struct options, agent.listen), 0},
	{0, "budget", "PERCENT", "lengthen the period to stay within this share of CPU time, such as 1%", CAIRN_OPTION_TEXT,
	 offsetof(struct options, agent.budget), 0},
	{0, "filtered", NULL, "attach although a process filters its system calls (seccomp), as in containers", CAIRN_OPTION_FLAG,
	 offsetof(struct options, agent.filtered), 0},
	{0},
};

static const struct cairn_option push_table[] = {
	{0, "push", "URL", "also send each dump to the collector there, with the token of $CAIRN_COLLECTOR_TOKEN", CAIRN_OPTION_TEXT,
	 offsetof(struct options, push), 0},
	{0, "store", "STORE", "also put each dump into this store: sqlite:PATH or clickhouse://HOST:PORT/DATABASE", CAIRN_OPTION_TEXT,
	 offsetof(struct options, store), 0},
	{0, "label", "KEY=VALUE", "add this label to everything sent; service and version are labels; can be repeated",
	 CAIRN_OPTION_LIST, offsetof(struct options, labels), 0},
	{0, "forward", "KIND:URL", "also send each dump to pyroscope:URL, otlp:URL, parca:URL or coroot:URL; can be repeated",
	 CAIRN_OPTION_LIST, offsetof(struct options, forwards), 0},
	{0, "forward-headers", "FILE", "HTTP headers for them, such as tokens: NAME: VALUE on each line (default: $CAIRN_FORWARD_HEADERS)",
	 CAIRN_OPTION_TEXT, offsetof(struct options, forward_headers), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, table, 0},
	{"rules (any but --start and --distance replaces the defaults, --grow 20M --share 90%)", rule_table, 0},
	{"dumps", folder_table, 0},
	{"attach", attach_table, 0},
	{"fleet", push_table, 0},
	{"target", cairn_target_option_table, offsetof(struct options, target)},
	{0},
};

struct loop {
	const struct options *options;
	struct cairn_watch watch;
	struct cairn_push *senders[CAIRN_OPTION_LIST_MAX + 2]; /* where dumps are sent */
	size_t sender_count;
	struct cairn_watch_verdicts *verdicts; /* NULL where nobody would hear them */
	struct cairn_memory_groups groups;
	struct cairn_arena arena; /* of the name of the store */
	struct cairn_watched *items;
	size_t count;
	size_t named;          /* those named by the user; the rest is room for descendants */
	int64_t trees_ns;      /* when to look for more of those; INT64_MAX for never */
	char numbers[tree_most][12]; /* the names of descendants */
	bool is_full;          /* there was no room for one, */
	bool told_full;        /* and the user knows */
	int epoll, signals, back; /* back: the end of the pipe that jobs come out of */
	const struct cairn_watched *out[jobs_maximum]; /* those with a job under way */
	unsigned jobs;                                 /* their number */
	size_t turn;           /* whose look is first, so that those at the end of the list get their share of the jobs */
	bool stop;
};

static struct cairn_json open_event(struct cairn_buffer *out, const char *event, const struct cairn_watched *watched)
{
	return cairn_watch_event(out, event, watched->name, watched->life.pid, watched->program);
}

/* The memory of all watched processes, and their number. What those of a tree share is counted once, unless there is so much of it that
 * the loop would wait. */
static uint64_t sum_memory(const struct loop *loop, size_t *processes)
{
	static const uint64_t quick = (uint64_t)8 << 30;
	uint64_t sum = 0, once = 0;
	*processes = 0;
	for (size_t i = 0; i < loop->count; i++) {
		const struct cairn_watched *watched = &loop->items[i];
		if (!watched->running || watched->ended)
			continue;
		++*processes;
		sum += watched->reading.anonymous;
		if (loop->options->tree && sum <= quick)
			once += cairn_memory_in_sum(watched->life.pid, watched->reading.anonymous);
	}
	return loop->options->tree && sum <= quick ? once : sum;
}

/* Reports a new dump, and queues it for --push and for a verdict. */
static void tell_dump(const struct loop *loop, const struct cairn_watched *watched)
{
	size_t processes;
	uint64_t sum = sum_memory(loop, &processes);
	const struct cairn_watch_job *job = &watched->job;
	const char *folder = loop->options->folder ? loop->options->folder : "";
	const char *slash = folder[0] && folder[strlen(folder) - 1] != '/' ? "/" : "";
	struct cairn_buffer line = cairn_buffer(1 << 16);
	char path[600];
	snprintf(path, sizeof path, "%s%s%s", folder, slash, job->file);
	for (size_t i = 0; i < loop->sender_count; i++)
		cairn_push_add(loop->senders[i], job->file);
	if (loop->verdicts)
		cairn_watch_verdicts_add(loop->verdicts, (size_t)(watched - loop->items), watched, job->file);
	if (loop->options->json) {
		struct cairn_json json = open_event(&line, "dump", watched);
		cairn_json_integer(&json, "memory", (int64_t)job->reading.anonymous);
		cairn_json_integer(&json, "limit", (int64_t)job->reading.limit);
		if (loop->options->tree) {
			cairn_json_integer(&json, "tree_memory", (int64_t)sum);
			cairn_json_integer(&json, "tree_processes", (int64_t)processes);
		}
		cairn_json_text(&json, "reason", cairn_bytes_of(job->word));
		cairn_json_text(&json, "why", cairn_bytes_of(job->why));
		cairn_json_text(&json, "file", cairn_bytes_of(path));
		cairn_json_integer(&json, "bytes", (int64_t)job->bytes);
		cairn_json_close(&json, '}');
	} else if (!loop->options->quiet) {
		char memory[24];
		cairn_watch_event_text(&line, job->time, watched->life.pid, watched->program);
		cairn_buffer_format(&line, "  %s", cairn_text_human((double)job->reading.anonymous, memory));
		if (loop->options->tree)
			cairn_buffer_format(&line, " of %s in %zu process%s", cairn_text_human((double)sum, memory), processes,
					    processes == 1 ? "" : "es");
		cairn_buffer_format(&line, "  %s: %s  %s", job->word, job->why, path);
	} else {
		return;
	}
	cairn_watch_say(&line);
}

/* Prints TEXT on standard error: the same text once until the problem is solved, another (which may differ only in numbers) after a
 * while. */
static void tell_problem(struct cairn_watched *watched, const char *text, bool note)
{
	int64_t now = cairn_clock_ns();
	if (watched->said.text[0] && (strcmp(watched->said.text, text) == 0 || now - watched->said_ns < problem_pause_ns))
		return;
	snprintf(watched->said.text, sizeof watched->said.text, "%s", text);
	watched->said_ns = now;
	if (note)
		cairn_say_note(text);
	else
		cairn_say_error(text);
}

/* Finishes with a process that has ended; its last moment is kept first. */
static void tell_end(const struct loop *loop, struct cairn_watched *watched)
{
	struct cairn_ending ending = {.short_of_memory = watched->short_of_memory};
	char how[200], most[24], dumps[CAIRN_TEMPLATE_NAME + 64];
	struct cairn_error text;
	cairn_ending_read(&watched->life, watched->pidfd, &ending);
	cairn_ending_tell(&ending, how, sizeof how);
	if (cairn_watched_keep_last(watched, &loop->watch, &ending))
		tell_dump(loop, watched);
	else if (watched->job.error.text[0])
		cairn_say_error(watched->job.error.text);
	if (watched->dumps == 0)
		snprintf(dumps, sizeof dumps, "no dump of it was taken");
	else
		snprintf(dumps, sizeof dumps, "%zu dump%s, the last is %s", watched->dumps, watched->dumps == 1 ? "" : "s", watched->last);
	cairn_fail(&text, "process %d (%s) %s; at most %s were seen, %s", watched->life.pid, watched->program, how,
		   cairn_text_human((double)watched->most, most), dumps);
	if (loop->options->json) {
		struct cairn_buffer line = cairn_buffer(1 << 16);
		struct cairn_json json = open_event(&line, "end", watched);
		cairn_json_text(&json, "text", cairn_bytes_of(text.text));
		if (ending.known && WIFEXITED(ending.status))
			cairn_json_integer(&json, "code", WEXITSTATUS(ending.status));
		if (ending.known && WIFSIGNALED(ending.status))
			cairn_json_integer(&json, "signal", WTERMSIG(ending.status));
		cairn_json_bool(&json, "short_of_memory", ending.short_of_memory);
		cairn_json_integer(&json, "most", (int64_t)watched->most);
		cairn_json_integer(&json, "dumps", (int64_t)watched->dumps);
		cairn_json_text(&json, "last", cairn_bytes_of(watched->last));
		cairn_json_close(&json, '}');
		cairn_watch_say(&line);
	} else if (!loop->options->quiet) {
		cairn_say_note(text.text);
	}
}

static bool begin(struct loop *loop, struct cairn_watched *watched, int pid, struct cairn_error *error)
{
	if (!cairn_watched_begin(watched, pid, error))
		return false;
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = watched};
	if (watched->pidfd >= 0)
		epoll_ctl(loop->epoll, EPOLL_CTL_ADD, watched->pidfd, &event);
	return true;
}

/* Closes the process, and the target unless it is a service, which may come back. */
static void leave(struct cairn_watched *watched, int64_t now)
{
	cairn_watched_close(watched);
	watched->done = !watched->service;
	watched->next_ns = now + service_pause_ns;
}

static void await_service(struct loop *loop, struct cairn_watched *watched, int64_t now)
{
	struct cairn_error error = {0};
	int pid = cairn_service_process(watched->name, loop->options->attach, &error);
	watched->next_ns = now + service_pause_ns;
	if (!(pid && begin(loop, watched, pid, &error)) && !loop->options->quiet)
		tell_problem(watched, error.text, true);
}

/* A process that ends releases its memory before it reports how it ended. */
static bool is_over(const struct cairn_watched *watched)
{
	struct pollfd over = {.fd = watched->pidfd, .events = POLLIN};
	return watched->pidfd < 0 || poll(&over, 1, 0) != 0;
}

/* Says once, while something can still be done about it, that a process's end will leave no dump. */
static void tell_refusal(const struct loop *loop, struct cairn_watched *watched)
{
	if (!watched->keeper.refused || watched->told_refusal || loop->options->quiet)
		return;
	watched->told_refusal = true;
	cairn_note("the last moment of process %d will not be kept: this user may not read /proc/%d/fd; watch as the process's user or as "
		   "root",
		   watched->life.pid, watched->life.pid);
}

/* Whether WATCHED may have a job, beside those that others have. */
static bool may_send(const struct loop *loop, const struct cairn_watched *watched)
{
	unsigned same = 0;
	if (loop->jobs < user_jobs)
		return true;
	for (unsigned i = 0; i < loop->jobs; i++)
		same += loop->out[i]->user == watched->user;
	return loop->jobs < jobs_maximum && same < (watched->user >= 0 ? user_jobs : elsewhere_jobs);
}

static void note_sent(struct loop *loop, const struct cairn_watched *watched)
{
	loop->out[loop->jobs++] = watched;
}

static void note_back(struct loop *loop, const struct cairn_watched *watched)
{
	unsigned kept = 0;
	for (unsigned i = 0; i < loop->jobs; i++)
		if (loop->out[i] != watched)
			loop->out[kept++] = loop->out[i];
	loop->jobs = kept;
}

static void look(struct loop *loop, struct cairn_watched *watched, int64_t now)
{
	if (!watched->running) {
		await_service(loop, watched, now);
		return;
	}
	bool out = watched->job.kind != CAIRN_WATCH_JOB_NONE;
	tell_refusal(loop, watched);
	cairn_watched_look(watched, &loop->watch, now, may_send(loop, watched));
	if (watched->job.kind != CAIRN_WATCH_JOB_NONE && !out) {
		note_sent(loop, watched);
		loop->turn = (size_t)(watched - loop->items) + 1;
	}
	if (watched->ended && !out && is_over(watched)) { /* if not, its pidfd wakes the loop */
		tell_end(loop, watched);
		watched->failed = watched->dumps == 0 && !watched->service;
		leave(watched, now);
	}
}

static void settle(struct loop *loop, struct cairn_watched *watched, int64_t now)
{
	struct cairn_watch_job *job = &watched->job;
	bool dump = job->kind == CAIRN_WATCH_JOB_DUMP, attach = job->kind == CAIRN_WATCH_JOB_ATTACH;
	note_back(loop, watched);
	if (job->good && dump) {
		memcpy(watched->program, job->program, sizeof watched->program); /* it may have become another by exec */
		tell_dump(loop, watched);
	}
	if (job->error.text[0] && !job->early && !cairn_watched_is_ending(watched, now))
		tell_problem(watched, job->error.text, job->good || job->awaited);
	else if (job->good && dump)
		watched->said.text[0] = 0;
	cairn_watched_settle(watched, &loop->watch, now);
	if (job->kind != CAIRN_WATCH_JOB_NONE)
		note_sent(loop, watched);
	if (job->hopeless && !watched->ended) {
		watched->failed = !watched->service;
		watched->hopeless = true;
		leave(watched, now);
		watched->next_ns += attach || !watched->service ? attach_pause_ns : 0;
	} else if (loop->options->once && watched->dumps > 0) {
		leave(watched, now);
		watched->done = true;
	} else if (watched->ended) {
		watched->next_ns = now;
	}
}

/* When the loop is to wake by itself. */
static int64_t next_look(const struct loop *loop, int64_t end)
{
	int64_t next = loop->trees_ns < end ? loop->trees_ns : end;
	for (size_t i = 0; i < loop->count; i++)
		if (!loop->items[i].done && loop->items[i].next_ns < next)
			next = loop->items[i].next_ns;
	return next;
}

static bool is_done(const struct loop *loop)
{
	for (size_t i = 0; i < loop->count; i++)
		if (!loop->items[i].done)
			return false;
	return true;
}

/* Takes one finished job, if there is one within WAIT_MS. */
static bool take_back(struct loop *loop, int wait_ms)
{
	struct cairn_watch_job *job;
	struct pollfd ready = {.fd = loop->back, .events = POLLIN};
	if (poll(&ready, 1, wait_ms) <= 0 || read(loop->back, &job, sizeof job) != sizeof job)
		return false;
	cairn_watch_job_end(job);
	settle(loop, (struct cairn_watched *)(void *)((char *)job - offsetof(struct cairn_watched, job)), cairn_clock_ns());
	return true;
}

/* Room for process PID; NULL if it is watched already, was given up a short while ago, or there is no room. A process that was given up
 * keeps its place as long as it runs, and with it what was said about it; it may become another program by exec, so it is tried again. */
static struct cairn_watched *room_for(struct loop *loop, int pid, int64_t now)
{
	struct cairn_watched *room = NULL;
	for (size_t i = 0; i < loop->count; i++) {
		struct cairn_watched *watched = &loop->items[i];
		if (watched->life.pid == pid && (!watched->done || i < loop->named))
			return NULL;
		if (i < loop->named || !watched->done || watched->job.kind != CAIRN_WATCH_JOB_NONE)
			continue;
		bool kept = watched->hopeless && cairn_life_goes_on(&watched->life);
		if (kept && watched->life.pid == pid)
			return now < watched->next_ns ? NULL : watched;
		if (!kept && !room)
			room = watched;
	}
	loop->is_full = loop->is_full || !room;
	return room;
}

/* Says once that there are more processes than are watched. */
static void tell_full(struct loop *loop)
{
	if (!loop->is_full || loop->told_full)
		return;
	loop->told_full = true;
	cairn_note("there are more than %d descendants with an agent; the others are watched when some of these have ended", tree_most);
}

/* Begins to watch the processes of the trees that have an agent by now. */
static void look_for_more(struct loop *loop, int64_t now)
{
	for (size_t i = 0; i < loop->named; i++) {
		const struct cairn_watched *root = &loop->items[i];
		int *pids;
		if (!root->running || !root->life.pid)
			continue;
		size_t count = cairn_target_tree(root->life.pid, &pids, NULL);
		for (size_t k = 0; k < count; k++) {
			struct cairn_watched *room = room_for(loop, pids[k], now);
			struct cairn_error error;
			if (!room)
				continue;
			if (room->life.pid != pids[k] || !room->hopeless) {
				char *number = loop->numbers[room - loop->items - (ptrdiff_t)loop->named];
				snprintf(number, sizeof *loop->numbers, "%d", pids[k]);
				*room = (struct cairn_watched){.name = number, .descends = true};
			}
			room->done = !begin(loop, room, pids[k], &error);
		}
		free(pids);
	}
	tell_full(loop);
	int64_t took = cairn_clock_ns() - now;
	loop->trees_ns = now + took + (took * tree_share > service_pause_ns ? took * tree_share : service_pause_ns);
}

static size_t count_running(const struct loop *loop)
{
	size_t count = 0;
	for (size_t i = 0; i < loop->count; i++)
		count += loop->items[i].running;
	return count;
}

static void run_loop(struct loop *loop, int64_t end)
{
	loop->watch.groups = &loop->groups;
	while (!loop->stop && !is_done(loop)) {
		struct epoll_event events[events_at_once];
		int64_t now = cairn_clock_ns(), wait = next_look(loop, end) - now;
		int wait_ms = wait <= 0 ? 0 : wait > CAIRN_HOUR_NS ? 3600 * 1000 : (int)((wait + 999999) / CAIRN_MILLISECOND_NS);
		int count = epoll_wait(loop->epoll, events, events_at_once, wait_ms);
		now = cairn_clock_ns();
		for (int i = 0; i < count; i++) {
			struct cairn_watched *watched = events[i].data.ptr;
			if (events[i].data.ptr == &loop->signals)
				loop->stop = true;
			else if (events[i].data.ptr != &loop->back)
				watched->next_ns = now; /* it has ended */
		}
		while (take_back(loop, 0))
			;
		if (now >= loop->trees_ns)
			look_for_more(loop, now);
		loop->watch.running = count_running(loop);
		for (size_t i = 0, first = loop->turn; i < loop->count && !loop->stop; i++) {
			struct cairn_watched *watched = &loop->items[(first + i) % loop->count];
			if (!watched->done && watched->next_ns <= now)
				look(loop, watched, now);
		}
		loop->stop = loop->stop || now >= end;
	}
	/* Jobs in progress may still produce a dump; those that do not answer are abandoned. */
	while (loop->jobs > 0 && take_back(loop, patience_ms))
		;
}

static bool open_loop(struct loop *loop, struct cairn_error *error)
{
	int ends[2];
	sigset_t signals;
	cairn_memory_raise_file_limit(); /* up to four descriptors a process */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->signals = signalfd(-1, &signals, SFD_CLOEXEC);
	if (loop->epoll < 0 || loop->signals < 0 || pipe2(ends, O_CLOEXEC) != 0)
		return cairn_fail_errno(error, "no descriptors for the loop");
	loop->back = ends[0];
	loop->watch.back = ends[1];
	struct epoll_event signal_event = {.events = EPOLLIN, .data.ptr = &loop->signals};
	struct epoll_event back_event = {.events = EPOLLIN, .data.ptr = &loop->back};
	return (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->signals, &signal_event) == 0 &&
		epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->back, &back_event) == 0) ||
	       cairn_fail_errno(error, "no descriptors for the loop");
}

/* The given rules, with the default start and distance; all defaults if none was given. */
static bool read_rules(const struct options *options, struct cairn_trigger_rules *rules, struct cairn_error *error)
{
	bool given = false;
	struct cairn_error wrong;
	for (unsigned i = GROW; i < DISTANCE; i++)
		given = given || options->words[i];
	*rules = cairn_trigger_usual;
	if (given)
		*rules = (struct cairn_trigger_rules){.start = rules->start, .every = rules->every, .distance = rules->distance,
						      .interval_distance = rules->interval_distance,
						      .grow = options->words[EVERY] ? rules->grow : 0};
	for (unsigned i = 0; i < RULE_WORDS; i++)
		if (options->words[i] && !cairn_trigger_set(rules, cairn_trigger_word(i), options->words[i], &wrong))
			return cairn_fail_usage(error, "--%s", wrong.text);
	return cairn_trigger_any(rules) || cairn_fail_usage(error, "no rule triggers a dump; give one, such as --grow 20M");
}

static bool sends_dumps(const struct options *options)
{
	return options->push || options->store || options->forwards.count > 0;
}

/* Whether the folder has the limit of those whose dumps are also sent, and so kept elsewhere: without one they would fill the disk, and
 * then no more could be written and sent. */
static bool has_usual_limit(const struct options *options)
{
	return sends_dumps(options) && !options->keep_count && !options->keep_bytes && !options->keep_age;
}

static bool read_folder(const struct options *options, struct cairn_folder *folder, struct cairn_error *error)
{
	static const struct cairn_option keep_bytes = {.name = "keep-bytes", .kind = CAIRN_OPTION_SIZE};
	uint64_t bytes = has_usual_limit(options) ? usual_bytes : 0;
	int64_t age = 0;
	if (options->keep_bytes && !cairn_option_set(&keep_bytes, &bytes, options->keep_bytes, error))
		return false;
	if (options->keep_age && !cairn_text_duration(options->keep_age, &age))
		return cairn_fail_usage(error, "--keep-age takes a time such as 30s, 10m or 7d, not '%s'", options->keep_age);
	return cairn_folder_set(folder, options->folder ? options->folder : ".", &(struct cairn_folder_limits){
		.count = options->keep_count,
		.bytes = bytes,
		.age_seconds = (uint64_t)(age / CAIRN_SECOND_NS),
		.free_bytes = options->keep_free ? options->keep_free : CAIRN_FREE_DEFAULT,
	}, error);
}

static bool check_folder(const char *path, struct cairn_error *error)
{
	struct stat status;
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return cairn_fail_errno(error, "the folder %s cannot be made", path);
	if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode))
		return cairn_fail(error, "%s is not a folder", path);
	return access(path, W_OK | X_OK) == 0 || cairn_fail_errno(error, "dumps cannot be written to %s", path);
}

/* Begins with what OPERAND names. */
static void begin_operand(struct loop *loop, struct cairn_watched *watched, const char *operand)
{
	struct cairn_target target = {0};
	struct cairn_error error;
	int pid = cairn_target_pid(operand);
	watched->name = operand;
	bool good = pid || cairn_target_find(&target, operand, loop->watch.token, &error);
	if (good && !pid)
		pid = cairn_target_process(&target);
	if (good && !target.url && pid <= 0)
		good = cairn_fail(&error, "%s: nothing answers there", operand);
	if (good && begin(loop, watched, pid, &error))
		return;
	cairn_say_error(error.text);
	watched->done = watched->failed = true;
}

/* Starts sending dumps to TO, unless that is NULL. */
static bool open_sender(struct loop *loop, const char *to, struct cairn_error *error)
{
	const struct options *options = loop->options;
	const struct cairn_push_options push_options = {
		.to = to,
		.headers = options->forward_headers,
		.labels = &options->labels,
		.host = loop->watch.host,
		.folder = loop->watch.folder.path,
		.pattern = loop->watch.pattern,
	};
	struct cairn_push *push = to ? cairn_push_open(&push_options, error) : NULL;
	if (push)
		loop->senders[loop->sender_count++] = push;
	return push || !to;
}

static bool open_senders(struct loop *loop, struct cairn_error *error)
{
	const struct options *options = loop->options;
	const char *store = options->store ? cairn_store_name(options->store, &loop->arena, error) : NULL;
	bool good = (store || !options->store) && open_sender(loop, options->push, error) && open_sender(loop, store, error);
	for (size_t i = 0; good && i < options->forwards.count; i++)
		good = open_sender(loop, options->forwards.items[i], error);
	return good;
}

static void close_senders(struct loop *loop)
{
	for (size_t i = 0; i < loop->sender_count; i++)
		cairn_push_close(loop->senders[i]);
	cairn_arena_free(&loop->arena);
}

static int watch_all(struct loop *loop, int64_t duration_ns, int count, char **operands)
{
	struct cairn_error error;
	if (!open_loop(loop, &error))
		return cairn_say_error(error.text);
	if (!open_senders(loop, &error)) {
		close_senders(loop);
		return cairn_say_failure(&error);
	}
	const struct cairn_option_list *services = &loop->options->services;
	loop->named = (size_t)count + services->count;
	loop->count = loop->named + (loop->options->tree ? tree_most : 0);
	loop->trees_ns = loop->options->tree ? 0 : INT64_MAX;
	loop->items = calloc(loop->count, sizeof *loop->items);
	if (!loop->items)
		cairn_out_of_memory(loop->count * sizeof *loop->items);
	for (size_t i = loop->named; i < loop->count; i++)
		loop->items[i].done = true;
	for (int i = 0; i < count; i++)
		begin_operand(loop, &loop->items[i], operands[i]);
	for (size_t i = 0; i < services->count; i++) {
		loop->items[(size_t)count + i].name = services->items[i];
		loop->items[(size_t)count + i].service = true;
	}
	if (!loop->options->once && (loop->options->json || !loop->options->quiet))
		loop->verdicts = cairn_watch_verdicts_open(loop->count, loop->watch.folder.path, loop->options->json);
	run_loop(loop, duration_ns ? cairn_clock_ns() + duration_ns : INT64_MAX);
	close_senders(loop);
	cairn_watch_verdicts_close(loop->verdicts);
	bool failed = false;
	for (size_t i = 0; i < loop->count; i++) {
		struct cairn_watched *watched = &loop->items[i];
		failed = failed || watched->failed || (watched->running && watched->dumps == 0 && watched->said.text[0]);
		if (watched->running && watched->job.kind == CAIRN_WATCH_JOB_NONE)
			cairn_watched_close(watched);
	}
	int code = failed ? CAIRN_EXIT_FAILED : CAIRN_EXIT_DONE;
	if (loop->jobs > 0) /* a thread still has one of them, and uses what the libraries would clean up */
		_exit(code);
	free(loop->items);
	return code;
}

/* Fails if an operand is neither a number nor a URL nor a path. */
static bool check_operands(int count, char **operands, struct cairn_error *error)
{
	for (int i = 0; i < count; i++)
		if (!cairn_target_is(operands[i]) && !strchr(operands[i], '/') && !cairn_target_pid(operands[i]))
			return cairn_fail_usage(error, "%s: not a TARGET: give a PID, an agent's socket, or a URL; or --service NAME",
						operands[i]);
	return true;
}

static bool check_forwards(const struct cairn_option_list *names, struct cairn_error *error)
{
	bool good = true;
	for (size_t i = 0; good && i < names->count; i++)
		good = cairn_forward_is(names->items[i]) ||
		       cairn_fail_usage(error,
					"--forward takes pyroscope:URL, otlp:URL, parca:URL or coroot:URL, "
					"not '%.100s'",
					names->items[i]);
	return good;
}

/* Checks what can be checked without touching a process or the folder. Sets *DURATION_NS to --for, or to 0. */
static bool check_options(const struct options *options, int count, char **operands, int64_t *duration_ns, struct cairn_error *error)
{
	const struct cairn_attach_settings *agent = &options->agent;
	struct cairn_program_settings settings = {agent->listen ? options->target.token : NULL, agent->listen,
						  agent->budget};
	*duration_ns = 0;
	if (options->duration && (!cairn_text_duration(options->duration, duration_ns) || *duration_ns == 0))
		return cairn_fail_usage(error, "--for takes a time such as 30s, 10m or 1h, not '%s'", options->duration);
	if (!options->attach && (agent->period || agent->engine || agent->listen || agent->budget || agent->filtered))
		return cairn_fail_usage(error, "--period, --engine, --listen, --budget and --filtered go with --attach");
	if (options->labels.count > 0 && !sends_dumps(options))
		return cairn_fail_usage(error, "--label goes with --push URL, --store STORE or --forward KIND:URL");
	if (!check_forwards(&options->forwards, error))
		return false;
	if (options->from && (count != 1 || !cairn_target_pid(operands[0]) || options->services.count || options->tree || options->attach ||
			      options->words[INTERVAL]))
		return cairn_fail_usage(error, "--from goes with one PID, and not with --service, --tree, --attach or --interval");
	if (options->from && (!cairn_target_is(options->from) || cairn_target_pid(options->from)))
		return cairn_fail_usage(error, "--from takes a URL such as http://localhost:4000/debug/prof/mem, not '%.100s'",
					options->from);
	struct cairn_arena arena = {0};
	bool stored = !options->store || cairn_store_name(options->store, &arena, error);
	cairn_arena_free(&arena);
	if (!stored)
		return false;
	if (count + (int)options->services.count == 0)
		return cairn_fail_usage(error, "missing TARGET: a PID, socket or URL; or --service NAME");
	return check_operands(count, operands, error) && cairn_program_settings_are_good(&settings, error);
}

static int run(const void *values, int count, char **operands)
{
	const struct options *options = values;
	struct loop loop = {.options = options,
			    .watch = {.token = options->target.token, .from = options->from, .attach = options->attach,
				      .agent = options->agent}};
	struct cairn_error error;
	int64_t duration_ns;
	loop.watch.agent.token = options->target.token;
	loop.watch.pattern = options->file_name ? options->file_name : usual_pattern;
	gethostname(loop.watch.host, sizeof loop.watch.host - 1);
	if (!check_options(options, count, operands, &duration_ns, &error) || !read_rules(options, &loop.watch.rules, &error) ||
	    !read_folder(options, &loop.watch.folder, &error) || !cairn_template_check(loop.watch.pattern, &error) ||
	    !check_folder(loop.watch.folder.path, &error))
		return cairn_say_failure(&error);
	if (has_usual_limit(options) && !options->quiet)
		cairn_note(
			"the folder %s is kept below 1 GiB of dumps, since they are also sent; --keep-bytes sets another limit, 0 for none",
			loop.watch.folder.path);
	return watch_all(&loop, duration_ns, count, operands);
}

const struct cairn_command cairn_command_watch = {
	.name = "watch",
	.summary = "watch running processes and keep the dumps that matter",
	.arguments = "TARGET...|--service NAME",
	.detail = "TARGET is a PID, an agent's socket, or a URL. Prints a line for each dump, for each new verdict on what\n"
		  "grows, and reports when a process exits.\n"
		  "GreptimeDB's dump.sh is: cairn watch --grow 20M --every 10m --file-name 'greptime-%t.gprof' PID",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
