/* verdict.c - asking `cairn leaks`, and saying what is new.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/watch/verdict.h"

#include "base/array.h"
#include "base/condition.h"
#include "base/json_read.h"
#include "base/lock.h"
#include "base/time.h"
#include "cmd/watch/event.h"
#include "process/clock.h"
#include "series/trend.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { files_most = CAIRN_COURSE_POINTS, files_least = 3, answer_most = 1 << 22, low_priority = 10 };
static const int64_t slowest_ns = CAIRN_MINUTE_NS, patience_ns = 3 * CAIRN_SECOND_NS;
/* The thread rests this many times as long as it worked. */
static const int64_t rest = 20;

struct target {
	char name[CAIRN_TEMPLATE_NAME]; /* copied: by the time it is printed, its place may have passed to another process */
	bool service; /* its dumps are of all its processes, one after the other */
	int pid;
	char program[64];
	char (*files)[CAIRN_TEMPLATE_NAME]; /* the oldest first */
	size_t count;
	size_t dumps, judged; /* ever; and how many there were when they were last judged */
	int64_t next_ns;      /* not before this time */
	char said[160];       /* the verdict that was last printed, and of what */
};

struct cairn_watch_verdicts {
	const char *folder;
	bool json;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool closing;
	int64_t end_ns; /* of closing */
	struct target *targets;
	size_t count;
};

static bool is_due(const struct target *target)
{
	return target->count >= files_least && target->dumps > target->judged + target->judged / 10;
}

/* The next one to judge, when it is time; NULL at the end. The lock is held. */
static struct target *await_target(struct cairn_watch_verdicts *verdicts)
{
	assert(cairn_lock_is_held(&verdicts->lock));
	for (;;) {
		struct target *next = NULL;
		int64_t now = cairn_clock_ns();
		for (size_t i = 0; i < verdicts->count; i++)
			if (is_due(&verdicts->targets[i]) && (!next || verdicts->targets[i].next_ns < next->next_ns))
				next = &verdicts->targets[i];
		if (verdicts->closing && (!next || now >= verdicts->end_ns))
			return NULL;
		if (next && (verdicts->closing || next->next_ns <= now))
			return next;
		if (next)
			cairn_condition_wait(&verdicts->changed, &verdicts->lock, next->next_ns);
		else
			pthread_cond_wait(&verdicts->changed, &verdicts->lock);
	}
}

/* Starts `cairn leaks --json` on those of the files that are still there; what it prints comes out of the returned end, or -1. */
static int start(const char *folder, const struct target *target, pid_t *child)
{
	char name[] = "cairn", command[] = "leaks", json[] = "--json", rows[] = "--nodecount=1", end_of_options[] = "--";
	char *arguments[files_most + 6] = {name, command, json, rows, end_of_options};
	size_t count = 5;
	int ends[2];
	sigset_t none;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	for (size_t i = 0; i < target->count; i++) {
		char *path;
		if (asprintf(&path, "%s/%s", folder, target->files[i]) < 0)
			cairn_out_of_memory(CAIRN_TEMPLATE_NAME);
		if (access(path, R_OK) == 0)
			arguments[count++] = path;
		else
			free(path); /* thinned out by now */
	}
	bool enough = count >= files_least + 5 && pipe2(ends, O_CLOEXEC) == 0;
	if (enough) {
		sigemptyset(&none);
		posix_spawnattr_init(&attributes);
		posix_spawnattr_setsigmask(&attributes, &none);
		posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
		posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
		bool failed = posix_spawn(child, "/proc/self/exe", &actions, &attributes, arguments, environ) != 0;
		posix_spawn_file_actions_destroy(&actions);
		posix_spawnattr_destroy(&attributes);
		close(ends[1]);
		if (failed)
			close(ends[0]);
		enough = !failed;
	}
	for (size_t i = 5; i < count; i++)
		free(arguments[i]);
	if (enough)
		setpriority(PRIO_PROCESS, (id_t)*child, low_priority);
	return enough ? ends[0] : -1;
}

/* When to give up on a process that was started at FROM. */
static int64_t give_up_at(struct cairn_watch_verdicts *verdicts, int64_t from)
{
	pthread_mutex_lock(&verdicts->lock);
	int64_t end = verdicts->closing && verdicts->end_ns < from + slowest_ns ? verdicts->end_ns : from + slowest_ns;
	pthread_mutex_unlock(&verdicts->lock);
	return end;
}

static bool ask(struct cairn_watch_verdicts *verdicts, const struct target *target, struct cairn_buffer *answer)
{
	pid_t child;
	int status = -1, end = start(verdicts->folder, target, &child);
	int64_t from = cairn_clock_ns();
	bool open = end >= 0, whole = false;
	if (!open)
		return false;
	while (open && cairn_clock_ns() < give_up_at(verdicts, from)) {
		char part[1 << 14];
		struct pollfd ready = {.fd = end, .events = POLLIN};
		if (poll(&ready, 1, 100) <= 0)
			continue;
		ssize_t got = read(end, part, sizeof part);
		open = got > 0 || (got < 0 && errno == EINTR);
		whole = got == 0;
		if (got > 0)
			cairn_buffer_append(answer, part, (size_t)got);
	}
	close(end);
	if (!whole)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return whole && WIFEXITED(status) && WEXITSTATUS(status) == 0 && !answer->failed;
}

/* Prints the verdict in ANSWER if it is another than the last one: another word, or another call path that grows first. */
static void say(const struct cairn_watch_verdicts *verdicts, struct target *target, struct cairn_bytes answer)
{
	char verdict[24], first[100], summary[1000], all[sizeof target->said];
	struct cairn_json_value value = cairn_json_value(answer), row = {0};
	size_t position = 0;
	cairn_json_copy(cairn_json_find(value, "verdict"), verdict, sizeof verdict);
	cairn_json_copy(cairn_json_find(value, "summary"), summary, sizeof summary);
	cairn_json_next(cairn_json_find(value, "rows"), &position, NULL, &row);
	cairn_json_copy(cairn_json_find(row, "name"), first, sizeof first);
	bool grows = strcmp(verdict, cairn_verdict_name(CAIRN_GROWING)) == 0;
	snprintf(all, sizeof all, "%s %s", verdict, grows ? first : "");
	if (!summary[0] || strcmp(all, target->said) == 0)
		return;
	memcpy(target->said, all, sizeof all);
	struct cairn_buffer line = cairn_buffer(1 << 16);
	if (verdicts->json) {
		struct cairn_json json = cairn_watch_event(&line, "verdict", target->name, target->pid, target->program);
		cairn_json_text(&json, "verdict", cairn_bytes_of(verdict));
		cairn_json_text(&json, "summary", cairn_bytes_of(summary));
		if (grows)
			cairn_json_text(&json, "name", cairn_bytes_of(first));
		cairn_json_integer(&json, "dumps", (int64_t)target->count);
		cairn_json_close(&json, '}');
	} else {
		cairn_watch_event_text(&line, time(NULL), target->pid, target->program);
		bool said = strncmp(summary, verdict, strlen(verdict)) == 0; /* "too early to tell" */
		cairn_buffer_format(&line, "  %s%s%s", said ? "" : verdict, said ? "" : ": ", summary);
	}
	cairn_watch_say(&line);
}

static void *run(void *context)
{
	struct cairn_watch_verdicts *verdicts = context;
	struct target *target, copy;
	char (*files)[CAIRN_TEMPLATE_NAME] = cairn_array_zero(files_most, sizeof *files);
	pthread_mutex_lock(&verdicts->lock);
	while ((target = await_target(verdicts))) {
		copy = *target;
		memcpy(files, target->files, target->count * sizeof *files);
		copy.files = files;
		target->judged = target->dumps;
		pthread_mutex_unlock(&verdicts->lock);
		struct cairn_buffer answer = cairn_buffer(answer_most);
		int64_t from = cairn_clock_ns();
		if (ask(verdicts, &copy, &answer))
			say(verdicts, &copy, cairn_buffer_bytes(&answer));
		cairn_buffer_free(&answer);
		int64_t now = cairn_clock_ns();
		pthread_mutex_lock(&verdicts->lock);
		target->next_ns = now + rest * (now - from);
		if (target->pid == copy.pid || target->service)
			memcpy(target->said, copy.said, sizeof copy.said);
	}
	pthread_mutex_unlock(&verdicts->lock);
	free(files);
	return NULL;
}

struct cairn_watch_verdicts *cairn_watch_verdicts_open(size_t targets, const char *folder, bool json)
{
	struct cairn_watch_verdicts *verdicts = cairn_array_zero(1, sizeof *verdicts);
	*verdicts = (struct cairn_watch_verdicts){.folder = folder, .json = json, .lock = PTHREAD_MUTEX_INITIALIZER,
						  .count = targets,
						  .targets = cairn_array_zero(targets, sizeof *verdicts->targets)};
	cairn_condition_init(&verdicts->changed);
	if (pthread_create(&verdicts->thread, NULL, run, verdicts) == 0)
		return verdicts;
	free(verdicts->targets);
	free(verdicts);
	return NULL;
}

/* Leaves out every other file of the older half, so that the rest still covers the whole time. */
static void thin(struct target *target)
{
	size_t kept = 0;
	for (size_t i = 0; i < target->count; i++)
		if (i >= target->count / 2 || i % 2 == 0)
			memmove(target->files[kept++], target->files[i], sizeof *target->files);
	target->count = kept;
}

void cairn_watch_verdicts_add(struct cairn_watch_verdicts *verdicts, size_t number, const struct cairn_watched *watched, const char *file)
{
	pthread_mutex_lock(&verdicts->lock);
	struct target *target = &verdicts->targets[number];
	if (!target->files)
		target->files = cairn_array_zero(files_most, sizeof *target->files);
	if (!watched->service && target->pid != watched->life.pid) { /* room that another process had */
		target->count = target->dumps = target->judged = 0;
		target->said[0] = 0;
	}
	snprintf(target->name, sizeof target->name, "%s", watched->name);
	target->service = watched->service;
	target->pid = watched->life.pid;
	memcpy(target->program, watched->program, sizeof target->program);
	if (target->count == files_most)
		thin(target);
	snprintf(target->files[target->count++], sizeof *target->files, "%s", file);
	target->dumps++;
	pthread_cond_signal(&verdicts->changed);
	pthread_mutex_unlock(&verdicts->lock);
}

void cairn_watch_verdicts_close(struct cairn_watch_verdicts *verdicts)
{
	if (!verdicts)
		return;
	pthread_mutex_lock(&verdicts->lock);
	verdicts->closing = true;
	verdicts->end_ns = cairn_clock_ns() + patience_ns;
	pthread_cond_signal(&verdicts->changed);
	pthread_mutex_unlock(&verdicts->lock);
	pthread_join(verdicts->thread, NULL);
	for (size_t i = 0; i < verdicts->count; i++)
		free(verdicts->targets[i].files);
	free(verdicts->targets);
	free(verdicts);
}
