/* job.c - dumps and numbers from an agent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/watch/job.h"

#include "base/path.h"
#include "base/peek.h"
#include "base/text.h"
#include "base/time.h"
#include "dump/trailer.h"
#include "live/attach/spawn.h"
#include "live/ledger_snapshot.h"
#include "live/target.h"
#include "live/walked.h"
#include "live/watch/own_dumps.h"
#include "process/clock.h"
#include "process/proc.h"
#include "protocol/profiler_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const int64_t young_ns = 5 * CAIRN_SECOND_NS;
enum { names_tried = 1000, lists_read = 4 };

void cairn_watch_job_program(int pid, char *out, size_t size)
{
	char path[CAIRN_PROC_PATH], text[512];
	text[cairn_peek(cairn_proc_path(path, pid, "cmdline"), text, sizeof text - 1).length] = 0;
	struct cairn_bytes program = cairn_path_program(cairn_bytes_of(text));
	if (program.length == 0)
		program = cairn_bytes_of("process");
	snprintf(out, size, "%.*s", program.length < 60 ? (int)program.length : 60, program.data);
}

/* A process that the user named has its agent started, if it waits; of descendants, who may have to have one thread, the ledger will do. */
static bool find_once(struct cairn_watch_job *job, struct cairn_target *target, const char *name)
{
	bool starts = job->first && !job->descends;
	if (!(starts ? cairn_target_find_or_start : cairn_target_find_ledger)(target, name, job->watch->token, &job->error) &&
	    !(job->first && job->descends && target->loaded && cairn_target_start_jemalloc(target->pid) &&
	      cairn_target_find(target, name, job->watch->token, &job->error)))
		return false;
	job->error.text[0] = 0;
	target->spool = job->watch->folder.path;
	if (job->life.pid)
		cairn_watch_job_program(job->life.pid, job->program, sizeof job->program);
	return true;
}

/* Finds the agent of the process, or its ledger. A process that has just begun may not have an agent yet. The kernel's list of sockets can
 * miss some while others are opened and closed, so it is read a few times. */
static bool find_agent(struct cairn_watch_job *job, struct cairn_target *target)
{
	char pid[16];
	snprintf(pid, sizeof pid, "%d", job->life.pid);
	for (int i = 0; i < lists_read; i++) {
		const char *name = job->watch->from ? job->watch->from : job->life.pid ? pid : job->name;
		if (find_once(job, target, name))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 50 * CAIRN_MILLISECOND_NS}, NULL);
	}
	job->early = job->life.pid && cairn_clock_wall_ns() - cairn_life_start_ns(&job->life) < young_ns;
	/* One that has loaded the agent and has no use for it may be about to become a program that has: a shell before its exec. */
	job->awaited = !job->early && job->life.pid && cairn_life_goes_on(&job->life) && cairn_target_has_loaded(job->life.pid);
	if (job->awaited)
		cairn_fail(&job->error,
			   "process %d has loaded the agent, which does not run in it yet; waiting for its first sample, or for it to exec",
			   job->life.pid);
	job->hopeless = !job->early && !job->awaited && cairn_life_goes_on(&job->life);
	if (job->hopeless)
		cairn_own_dumps_mention(job->life.pid, &job->error);
	return false;
}

/* Sends GET PATH, and gives up on one that wants another token: it will not change its mind. */
static int ask(struct cairn_watch_job *job, const struct cairn_target *target, const char *path,
	       struct cairn_buffer *body, struct cairn_error *error)
{
	int status = cairn_target_status(target, "GET", path, body, error);
	job->hopeless = status == 401 || status == 403;
	return status;
}

/* Whether a profile can be had from TARGET at all. A server that is no agent does not say, and is only asked for the profile. */
static bool check_state(struct cairn_watch_job *job, const struct cairn_target *target)
{
	struct cairn_buffer body = cairn_buffer(0);
	char state[32] = "", why[400] = "";
	struct cairn_error error;
	struct cairn_ledger_header header;
	if (target->asleep && cairn_ledger_header_of(target->pid, &header))
		snprintf(state, sizeof state, "%s", header.active ? "active" : "inactive");
	else if (ask(job, target, "/cairn/status", &body, &error) == 200) {
		cairn_target_field(cairn_buffer_bytes(&body), "state", state, sizeof state);
		cairn_target_field(cairn_buffer_bytes(&body), "why", why, sizeof why);
	}
	cairn_buffer_free(&body);
	if (job->hopeless) {
		job->error = error;
		return false;
	}
	if (cairn_profiler_state_is(state, CAIRN_PROFILER_INACTIVE))
		cairn_fail(&job->error, "%s: sampling is off, so its dumps show nothing new; 'cairn activate %s' turns it on",
			   job->name, job->watch->from ? job->watch->from : job->name);
	if (!state[0] || cairn_profiler_state_is_enabled(state))
		return true;
	job->hopeless = true;
	return cairn_fail(&job->error, "%s: %s", job->name, why[0] ? why : state);
}

bool cairn_watch_job_write(struct cairn_watch_job *job, struct cairn_bytes body)
{
	const struct cairn_watch *watch = job->watch;
	char reason[200], path[600];
	struct cairn_template_facts names = {job->time, job->program, watch->host, job->word, job->life.pid};
	struct cairn_folder_facts facts = {job->life, (int64_t)job->time * CAIRN_SECOND_NS, job->reading.anonymous, reason};
	bool heap = cairn_bytes_start_with(body, "heap_v2/"), good = false;
	struct cairn_error error;
	snprintf(reason, sizeof reason, "%s: %s", names.reason, job->why);
	errno = EEXIST;
	for (unsigned number = 1; !good && errno == EEXIST && number < names_tried; number++) {
		cairn_template_name(watch->pattern, &names, number, job->file);
		snprintf(path, sizeof path, "%s/%s", watch->folder.path, job->file);
		good = heap ? cairn_folder_write(&watch->folder, job->file, body, &facts, &error)
			    : cairn_folder_write_file(path, body, &error);
	}
	job->bytes = body.length;
	if (!good)
		job->error = error;
	return good;
}

/* Whether DUMP says itself that it is whole and of the process, whose number may be another in a container. */
static bool is_whole(struct cairn_bytes dump, const struct cairn_life *life)
{
	struct cairn_trailer trailer;
	struct cairn_life of;
	return cairn_trailer_read(dump, &trailer) && trailer.complete && cairn_life_parse(cairn_trailer_value(&trailer, "process"), &of) &&
	       of.ticks == life->ticks && of.boot == life->boot;
}

static bool take_dump(struct cairn_watch_job *job)
{
	struct cairn_target target;
	struct cairn_buffer body = cairn_buffer(0);
	struct cairn_error error;
	job->time = time(NULL);
	if (!find_agent(job, &target) || (job->first && !check_state(job, &target)))
		return false;
	bool good = cairn_target_snapshot(&target, &body, &error);
	if (good && body.length == 0)
		good = cairn_fail(&error, "%s: the answer is empty", job->name);
	/* The PID may have been reused by now; a dump that the right process sent in time matters most of all. */
	if (good && job->life.pid && !cairn_life_goes_on(&job->life) && !is_whole(cairn_buffer_bytes(&body), &job->life))
		good = cairn_fail(&error, "process %d ended before its dump was whole", job->life.pid);
	if (!good)
		job->error = error;
	if (good && job->life.pid) /* what is free in its heap, if that can be read */
		cairn_walked_snapshot(&target, &body, &(struct cairn_error){{0}});
	good = good && cairn_watch_job_write(job, cairn_buffer_bytes(&body));
	cairn_buffer_free(&body);
	return good;
}

/* The value of the gauge or counter NAME in Prometheus's text; 0 when it is not there. */
static uint64_t metric(struct cairn_bytes text, const char *name)
{
	struct cairn_bytes line;
	char number[64];
	while (cairn_text_line(&text, &line, NULL)) {
		const char *blank = line.length ? memrchr(line.data, ' ', line.length) : NULL;
		if (!blank || !cairn_text_take(&line, name) || (line.data[0] != ' ' && line.data[0] != '{'))
			continue;
		snprintf(number, sizeof number, "%.*s", (int)(line.data + line.length - blank), blank);
		double value = strtod(number, NULL);
		return value > 0 && value < 0x1p63 ? (uint64_t)value : 0;
	}
	return 0;
}

/* Of a process elsewhere: what its allocator holds. GreptimeDB itself says so as an agent does. */
static bool ask_elsewhere(struct cairn_watch_job *job, struct cairn_target *target)
{
	struct cairn_buffer body = cairn_buffer(0);
	char origin[300];
	const char *host = cairn_target_host(job->name);
	snprintf(origin, sizeof origin, "%.*s", (int)(host - job->name) + (int)strcspn(host, "/"), job->name);
	target->url = origin;
	bool good = ask(job, target, "/metrics", &body, &job->error) == 200;
	job->reading.anonymous = good ? metric(cairn_buffer_bytes(&body), "sys_jemalloc_resident") : 0;
	job->reading.allocated = good ? metric(cairn_buffer_bytes(&body), "jemalloc_allocated_bytes_total") : 0;
	if (good && job->reading.anonymous == 0)
		good = cairn_fail(&job->error, "%s: /metrics there has no sys_jemalloc_resident, so its memory is not known", job->name);
	cairn_buffer_free(&body);
	return good;
}

static bool ask_numbers(struct cairn_watch_job *job)
{
	struct cairn_buffer body = cairn_buffer(0);
	struct cairn_target target;
	char total[32] = "";
	if (!find_agent(job, &target))
		return false;
	if (!job->life.pid)
		return ask_elsewhere(job, &target);
	struct cairn_ledger_header header;
	if (target.asleep && cairn_ledger_header_of(target.pid, &header)) {
		job->reading.allocated = header.allocated_bytes;
		return true;
	}
	bool good = cairn_target_ask(&target, "GET", "/cairn/status", &body, &job->error);
	char statistics[8] = "";
	if (good) {
		cairn_target_field(cairn_buffer_bytes(&body), "jemalloc.allocated_total", total, sizeof total);
		cairn_target_field(cairn_buffer_bytes(&body), "jemalloc.statistics", statistics, sizeof statistics);
	}
	if (strcmp(statistics, "false") == 0)
		good = cairn_fail(&job->error,
				  "process %d: its jemalloc was built without statistics, so --interval cannot tell how much it allocates",
				  job->life.pid);
	job->reading.allocated = strtoull(total, NULL, 10);
	cairn_buffer_free(&body);
	return good;
}

/* One that cannot be attached to is watched no more, as one that has no agent. */
static bool attach(struct cairn_watch_job *job)
{
	struct cairn_target target;
	char pid[16];
	snprintf(pid, sizeof pid, "%d", job->life.pid);
	if (cairn_target_find_ledger(&target, pid, job->watch->token, &job->error)) {
		job->error.text[0] = 0;
		return true;
	}
	job->error.text[0] = 0;
	if (cairn_attach_spawn(job->life.pid, &job->watch->agent, &job->error))
		return true;
	job->hopeless = cairn_life_goes_on(&job->life);
	return false;
}

static void *run_job(void *context)
{
	struct cairn_watch_job *job = context;
	int back = job->watch->back;
	job->good = job->kind == CAIRN_WATCH_JOB_DUMP     ? take_dump(job)
		    : job->kind == CAIRN_WATCH_JOB_ATTACH ? attach(job)
							  : ask_numbers(job);
	while (write(back, &job, sizeof job) < 0 && errno == EINTR)
		;
	return NULL;
}

bool cairn_watch_job_send(struct cairn_watch_job *job)
{
	return pthread_create(&job->thread, NULL, run_job, job) == 0;
}

void cairn_watch_job_end(struct cairn_watch_job *job)
{
	pthread_join(job->thread, NULL);
}
