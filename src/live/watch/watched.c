/* watched.c - looking at one process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/watch/watched.h"

#include "base/pages.h"
#include "base/time.h"
#include "dump/dump.h"
#include "dump/ledger_dump.h"
#include "live/target.h"
#include "process/clock.h"
#include "process/proc.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int64_t grid_ns = 50 * CAIRN_MILLISECOND_NS, longest_ns = 500 * CAIRN_MILLISECOND_NS;
static const int64_t numbers_soonest_ns = CAIRN_SECOND_NS, numbers_latest_ns = 15 * CAIRN_SECOND_NS,
		     elsewhere_pause_ns = 5 * CAIRN_SECOND_NS, agent_pause_ns = 200 * CAIRN_MILLISECOND_NS;

static int64_t user_of(int pid)
{
	char path[CAIRN_PROC_PATH];
	uint64_t user;
	return pid && cairn_proc_number(cairn_proc_path(path, pid, "status"), "Uid:", &user) ? (int64_t)user : -1;
}

static bool begin_here(struct cairn_watched *watched, int pid, struct cairn_error *error)
{
	if (!cairn_memory_open(&watched->memory, "", pid, error))
		return false;
	watched->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool known = cairn_life_of(pid, &watched->life);
	/* As long as this one runs the number was not another's in between. */
	if (!known || !cairn_memory_read(&watched->memory, cairn_clock_ns(), &watched->reading)) {
		cairn_watched_close(watched);
		return cairn_fail(error, "no process %d", pid);
	}
	watched->most = watched->reading.anonymous;
	watched->user = user_of(pid);
	cairn_watch_job_program(pid, watched->program, sizeof watched->program);
	cairn_keeper_look(&watched->keeper, &watched->life, &watched->reading, 1, cairn_clock_ns());
	return true;
}

bool cairn_watched_begin(struct cairn_watched *watched, int pid, struct cairn_error *error)
{
	*watched = (struct cairn_watched){
		.name = watched->name,
		.service = watched->service,
		.descends = watched->descends,
		.said = watched->said,
		.said_ns = watched->said_ns,
		.told_refusal = pid && watched->life.pid == pid && watched->told_refusal,
		.running = true,
		.user = -1,
		.pidfd = -1,
		.memory = {.statm = -1, .events = -1, .pressure = -1},
		.keeper = cairn_keeper(),
	};
	if (pid)
		return watched->running = begin_here(watched, pid, error);
	const char *host = cairn_target_host(watched->name);
	snprintf(watched->program, sizeof watched->program, "%.*s", (int)strcspn(host, "/"), host);
	return true;
}

void cairn_watched_close(struct cairn_watched *watched)
{
	cairn_memory_close(&watched->memory);
	cairn_keeper_close(&watched->keeper);
	if (watched->pidfd >= 0)
		close(watched->pidfd);
	watched->pidfd = -1;
	watched->running = false;
}

static void send(struct cairn_watched *watched, const struct cairn_watch *watch, enum cairn_watch_job_kind kind,
		 enum cairn_trigger_reason reason)
{
	struct cairn_watch_job *job = &watched->job;
	*job = (struct cairn_watch_job){
		.watch = watch,
		.kind = kind,
		.name = watched->name,
		.life = watched->life,
		.first = watched->dumps == 0,
		.descends = watched->descends,
		.reason = reason,
		.word = cairn_trigger_name(reason),
		.reading = watched->reading,
	};
	memcpy(job->program, watched->program, sizeof job->program);
	watched->user = user_of(watched->life.pid);
	if (kind == CAIRN_WATCH_JOB_DUMP)
		cairn_trigger_explain(&watched->trigger, &watch->rules, &watched->reading, reason, job->why, sizeof job->why);
	if (!cairn_watch_job_send(job))
		job->kind = CAIRN_WATCH_JOB_NONE; /* cannot start a thread now: it stays due */
}

/* Looks are done together, on a grid, so that many processes wake the loop no more often than one does. */
static int64_t after(int64_t now, int64_t pause)
{
	int64_t step = pause >= longest_ns ? longest_ns : grid_ns;
	int64_t next = (now + pause) / step * step;
	return next > now ? next : next + step;
}

/* Asks the trigger, and sends for what is due. */
static void consider(struct cairn_watched *watched, const struct cairn_watch *watch, int64_t now, bool may_send)
{
	may_send = may_send && watched->job.kind == CAIRN_WATCH_JOB_NONE;
	watched->next_ns = after(now, longest_ns);
	if (watch->attach && watched->life.pid && !watched->attached) {
		if (may_send)
			send(watched, watch, CAIRN_WATCH_JOB_ATTACH, CAIRN_TRIGGER_NONE);
		watched->attached = may_send;
		watched->next_ns = after(now, grid_ns);
		return;
	}
	if (watched->job.kind == CAIRN_WATCH_JOB_ATTACH)
		return;
	if (watched->job.kind == CAIRN_WATCH_JOB_DUMP) /* what is due meanwhile is seen when that is back */
		return;
	enum cairn_trigger_reason due = cairn_trigger_look(&watched->trigger, &watch->rules, &watched->reading, now);
	if (due && may_send)
		send(watched, watch, CAIRN_WATCH_JOB_DUMP, due);
	else if (watch->rules.interval && watched->life.pid && may_send && now >= watched->numbers_ns)
		send(watched, watch, CAIRN_WATCH_JOB_NUMBERS, CAIRN_TRIGGER_NONE);
	watched->next_ns = after(now, cairn_trigger_pause(&watched->trigger, &watch->rules, &watched->reading));
}

static void take_reading(struct cairn_watched *watched, const struct cairn_memory_reading *reading)
{
	watched->reading = *reading;
	watched->most = reading->anonymous > watched->most ? reading->anonymous : watched->most;
}

void cairn_watched_look(struct cairn_watched *watched, const struct cairn_watch *watch, int64_t now, bool may_send)
{
	struct cairn_memory_reading reading;
	if (!watched->life.pid) {
		if (now >= watched->numbers_ns && watched->job.kind == CAIRN_WATCH_JOB_NONE && may_send)
			send(watched, watch, CAIRN_WATCH_JOB_NUMBERS, CAIRN_TRIGGER_NONE);
		watched->next_ns = after(now, longest_ns);
		return;
	}
	watched->memory.groups = watch->groups;
	bool stale = cairn_keeper_is_stale(&watched->keeper);
	if (watched->ended || !cairn_memory_read(&watched->memory, now, &reading)) {
		if (!watched->ended) /* at once: the group may go with its last process */
			watched->short_of_memory = cairn_memory_was_short(&watched->memory);
		watched->ended = true;
		watched->next_ns = INT64_MAX;
		return;
	}
	if (stale) /* the memory went and the process is still there: an exec */
		cairn_keeper_close(&watched->keeper);
	cairn_keeper_look(&watched->keeper, &watched->life, &reading, watch->running, now);
	reading.allocated = watched->reading.allocated;
	take_reading(watched, &reading);
	consider(watched, watch, now, may_send);
}

bool cairn_watched_is_ending(struct cairn_watched *watched, int64_t now)
{
	struct cairn_memory_reading reading;
	return watched->ended || (watched->life.pid && !cairn_memory_read(&watched->memory, now, &reading));
}

bool cairn_watched_keep_last(struct cairn_watched *watched, const struct cairn_watch *watch, const struct cairn_ending *ending)
{
	struct cairn_watch_job *job = &watched->job;
	*job = (struct cairn_watch_job){
		.watch = watch,
		.name = watched->name,
		.life = watched->life,
		.word = CAIRN_DUMP_LAST,
		.reading = watched->reading,
		.time = time(NULL),
	};
	memcpy(job->program, watched->program, sizeof job->program);
	if (watched->keeper.ledger < 0)
		return false;
	struct cairn_buffer dump = cairn_pages(CAIRN_LEDGER_DUMP_MOST);
	cairn_ending_say(ending, job->why, sizeof job->why);
	job->good = cairn_keeper_write(&watched->keeper, ending, &watched->reading, &dump, &job->error) &&
		    cairn_watch_job_write(job, cairn_buffer_bytes(&dump));
	cairn_buffer_free(&dump);
	if (!job->good)
		return false;
	cairn_folder_thin(&watch->folder, NULL, &(struct cairn_error){{0}}); /* a service may crash again and again */
	watched->dumps++;
	memcpy(watched->last, job->file, sizeof watched->last);
	return true;
}

/* Half of the way to the next dump at the present speed. */
static int64_t numbers_pause(const struct cairn_watched *watched, const struct cairn_watch *watch, uint64_t before, int64_t elapsed)
{
	uint64_t total = watched->reading.allocated, due = watched->trigger.allocated + watch->rules.interval;
	if (before == 0)
		return numbers_soonest_ns;
	if (total <= before || due <= total)
		return due <= total ? numbers_soonest_ns : numbers_latest_ns;
	double pause = (double)(due - total) / (double)(total - before) * (double)elapsed / 2;
	return pause > (double)numbers_latest_ns    ? numbers_latest_ns
	       : pause < (double)numbers_soonest_ns ? numbers_soonest_ns
						    : (int64_t)pause;
}

static void settle_numbers(struct cairn_watched *watched, const struct cairn_watch *watch, int64_t now)
{
	const struct cairn_watch_job *job = &watched->job;
	uint64_t before = watched->reading.allocated;
	int64_t elapsed = now - watched->asked_ns;
	watched->asked_ns = now;
	if (watched->life.pid) {
		if (job->good)
			watched->reading.allocated = job->reading.allocated;
		watched->numbers_ns = now + (job->early || job->awaited ? agent_pause_ns :
			job->good ? numbers_pause(watched, watch, before, elapsed) : numbers_latest_ns);
		return;
	}
	watched->numbers_ns = now + elsewhere_pause_ns;
	if (job->good) {
		take_reading(watched, &job->reading);
		consider(watched, watch, now, true);
	} else {
		watched->trigger = (struct cairn_trigger){0}; /* whoever answers next may be another process */
	}
}

static void settle_dump(struct cairn_watched *watched, const struct cairn_watch *watch, int64_t now)
{
	const struct cairn_watch_job *job = &watched->job;
	watched->next_ns = job->early || job->awaited ? now + agent_pause_ns : now;
	if (job->early || job->awaited)
		return;
	cairn_trigger_dumped(&watched->trigger, &watch->rules, &job->reading, job->reason, job->good);
	if (!job->good)
		return;
	watched->dumps++;
	memcpy(watched->last, job->file, sizeof watched->last);
}

void cairn_watched_settle(struct cairn_watched *watched, const struct cairn_watch *watch, int64_t now)
{
	enum cairn_watch_job_kind kind = watched->job.kind;
	watched->job.kind = CAIRN_WATCH_JOB_NONE;
	if (kind == CAIRN_WATCH_JOB_ATTACH) {
		watched->next_ns = now;
		return;
	}
	(kind == CAIRN_WATCH_JOB_DUMP ? settle_dump : settle_numbers)(watched, watch, now);
}
