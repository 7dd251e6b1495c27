/* follow.c - the thread that asks one target for snapshots, and follows it through stops, exits and restarts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/condition.h"
#include "base/json_read.h"
#include "base/path.h"
#include "base/time.h"
#include "fleet/serve/route.h"
#include "live/service.h"
#include "live/walked.h"
#include "process/clock.h"
#include "process/proc.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Snapshots take at most 1/20 of the time while a page is open, and 1/60 otherwise. */
enum { watched_share = 20,
       alone_share = 60,
       patience_ms = 20000 };
static const int64_t retry_ns = CAIRN_SECOND_NS;

/* Waits until UNTIL on the monotonic clock, or until a snapshot is wanted or the server stops. If BEGAN is not 0, it replaces UNTIL: a
 * snapshot that began then cost COST_NS, and the wait becomes shorter when a page is opened. */
static void wait_until(struct cairn_serve_process *process, int64_t until, int64_t began, int64_t cost_ns)
{
	struct cairn_serve *serve = process->serve;
	pthread_mutex_lock(&serve->lock);
	for (;;) {
		if (began) {
			int64_t share = cairn_serve_is_watched(serve) ? watched_share : alone_share;
			until = began + (cost_ns * share > serve->every_ns ? cost_ns * share : serve->every_ns);
		}
		process->next_ns = until;
		if (atomic_load(&serve->stop) || process->wanted || cairn_clock_ns() >= until)
			break;
		cairn_condition_wait(&serve->changed, &serve->lock, until);
	}
	process->wanted = false;
	pthread_mutex_unlock(&serve->lock);
}

static bool has_ended(const struct cairn_serve_process *process)
{
	struct pollfd over = {.fd = process->pidfd, .events = POLLIN};
	return process->life.pid && (process->pidfd >= 0 ? poll(&over, 1, 0) > 0 : !cairn_life_goes_on(&process->life));
}

static void let_go(struct cairn_serve_process *process)
{
	if (process->pidfd >= 0)
		close(process->pidfd);
	process->pidfd = -1;
	process->life = (struct cairn_life){0};
	process->found = false;
	cairn_keeper_close(&process->keeper);
	pthread_mutex_lock(&process->serve->lock);
	cairn_serve_process_leave(process);
	pthread_mutex_unlock(&process->serve->lock);
}

/* Keeps DUMP. If the run's owner is not known yet, this is the time to find out: dumps stay, so a run that gives one and still cannot be
 * examined counts as foreign. */
static bool keep_dump(struct cairn_serve_process *process, struct cairn_bytes dump, const char *name, struct cairn_error *error)
{
	if (process->life.pid && process->owner == CAIRN_OWNER_UNKNOWN) {
		enum cairn_serve_owner owner = cairn_serve_owner_of(process->life.pid);
		pthread_mutex_lock(&process->serve->lock);
		process->owner = owner == CAIRN_OWNER_OWN && !has_ended(process) ? CAIRN_OWNER_OWN : CAIRN_OWNER_FOREIGN;
		pthread_mutex_unlock(&process->serve->lock);
	}
	return cairn_serve_process_dump(process, dump, name, error);
}

/* Ends following a process that has ended. Its last dump is that of its last moment, if there is one. */
static void take_leave(struct cairn_serve_process *process)
{
	struct cairn_error error;
	struct cairn_buffer dump = cairn_buffer(SIZE_MAX);
	char how[200];
	struct cairn_ending ending = {0};
	pthread_mutex_lock(&process->serve->lock);
	struct cairn_memory_reading reading = process->reading;
	ending.short_of_memory = process->memory_open && cairn_memory_was_short(&process->memory);
	pthread_mutex_unlock(&process->serve->lock);
	cairn_ending_read(&process->life, process->pidfd, &ending);
	cairn_ending_say(&ending, how, sizeof how);
	if (cairn_keeper_write(&process->keeper, &ending, &reading, &dump, &error))
		keep_dump(process, cairn_buffer_bytes(&dump), "the last moment", &error);
	cairn_buffer_free(&dump);
	let_go(process);
	cairn_serve_process_state(process, CAIRN_SERVE_ENDED, how);
}

static void attend(struct cairn_serve_process *process, int pid)
{
	let_go(process);
	if (!pid || !cairn_life_of(pid, &process->life))
		return;
	process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	enum cairn_serve_owner owner = cairn_serve_owner_of(pid);
	pthread_mutex_lock(&process->serve->lock);
	cairn_serve_process_attend(process, pid);
	process->owner = cairn_serve_owner_add(process->owner, owner);
	if (!process->program[0]) {
		char path[32], exe[256] = "";
		snprintf(path, sizeof path, "/proc/%d/exe", pid);
		ssize_t length = readlink(path, exe, sizeof exe - 1);
		exe[length > 0 ? length : 0] = 0;
		snprintf(process->program, sizeof process->program, "%.127s", cairn_base_name(exe));
	}
	if (!process->host[0])
		gethostname(process->host, sizeof process->host - 1);
	pthread_mutex_unlock(&process->serve->lock);
}

/* Finds the agent. */
static bool find(struct cairn_serve_process *process, struct cairn_error *error)
{
	char number[16];
	const char *name = process->name;
	if (process->service && !process->life.pid) {
		int pid = cairn_service_process(process->name, false, error);
		if (!pid)
			return false;
		attend(process, pid);
	}
	if (process->service) {
		snprintf(number, sizeof number, "%d", process->life.pid);
		name = number;
	}
	bool found = process->asked && process->asked == process->life.pid ? cairn_target_find_ledger(&process->target, name, NULL, error)
									    : cairn_target_find_or_start(&process->target, name, NULL, error);
	process->asked = process->target.pid;
	process->target.patience_ms = patience_ms;
	int pid = found ? cairn_target_process(&process->target) : process->target.pid;
	if (!process->life.pid && pid > 0)
		attend(process, pid);
	process->found = found;
	return found;
}

static void take_status(struct cairn_serve_process *process, struct cairn_buffer *body)
{
	char text[24];
	struct cairn_bytes status = cairn_buffer_bytes(body);
	struct cairn_json_value value = cairn_json_value(status);
	pthread_mutex_lock(&process->serve->lock);
	cairn_target_field(status, "engine.name", process->engine, sizeof process->engine);
	process->started_ms = (int64_t)(1000 * cairn_json_double(cairn_json_find(value, "active_since")));
	process->snapshot_ns = (int64_t)(1e6 * cairn_json_double(cairn_json_find(value, "snapshots.last.milliseconds")));
	struct cairn_buffer old = process->status;
	process->status = *body;
	*body = old;
	pthread_mutex_unlock(&process->serve->lock);
	cairn_target_field(status, "active", text, sizeof text);
	char why[400];
	cairn_target_field(status, "why", why, sizeof why);
	cairn_serve_process_state(process, strcmp(text, "true") == 0 ? CAIRN_SERVE_SAMPLING : CAIRN_SERVE_PAUSED, why);
}

/* Updates the state and takes a snapshot. Returns false if there is none. */
static bool look(struct cairn_serve_process *process, struct cairn_error *error)
{
	struct cairn_buffer body = {0};
	char state = process->life.pid ? cairn_proc_state(process->life.pid) : 0;
	if (state == 'T' || state == 't') {
		cairn_serve_process_state(process, CAIRN_SERVE_STOPPED, "stopped by a signal; kill -CONT resumes it");
		return false;
	}
	if (!process->found && !find(process, error)) {
		cairn_serve_process_state(process, process->service && !process->life.pid ? CAIRN_SERVE_WAITING : CAIRN_SERVE_SILENT,
					  error->text);
		return false;
	}
	pthread_mutex_lock(&process->serve->lock);
	struct cairn_memory_reading reading = process->reading;
	pthread_mutex_unlock(&process->serve->lock);
	cairn_keeper_look(&process->keeper, &process->life, &reading, 1, cairn_clock_ns());
	if (process->target.asleep)
		cairn_serve_process_state(process, CAIRN_SERVE_SAMPLING, "");
	else if (cairn_target_ask(&process->target, "GET", "/cairn/status", &body, error))
		take_status(process, &body);
	else if (!process->target.url) {
		cairn_buffer_free(&body);
		process->found = false;
		cairn_serve_process_state(process, CAIRN_SERVE_SILENT, error->text);
		return false;
	}
	cairn_buffer_free(&body);
	body = (struct cairn_buffer){0};
	bool good = cairn_target_snapshot(&process->target, &body, error);
	if (good && process->life.pid)
		cairn_walked_snapshot(&process->target, &body, NULL); /* what it costs makes snapshots as rare as it must */
	good = good && keep_dump(process, cairn_buffer_bytes(&body), process->name, error);
	if (!good)
		cairn_serve_process_state(process, process->state == CAIRN_SERVE_PAUSED ? CAIRN_SERVE_PAUSED : CAIRN_SERVE_SILENT,
					  error->text);
	else if (process->target.url && process->status.length == 0)
		cairn_serve_process_state(process, CAIRN_SERVE_SAMPLING, "");
	cairn_buffer_free(&body);
	return good;
}

/* What one snapshot costs: its time in the service and the CPU time of this thread, not the time that either waits. Returns the lower of
 * the last two costs, since the machine may have been busy for a moment. */
static int64_t note_cost(struct cairn_serve_process *process, int64_t used)
{
	pthread_mutex_lock(&process->serve->lock);
	int64_t before = process->cost_ns, now = used + process->snapshot_ns;
	process->cost_ns = now;
	pthread_mutex_unlock(&process->serve->lock);
	return before && before < now ? before : now;
}

static void begin_look(struct cairn_serve_process *process)
{
	pthread_mutex_lock(&process->serve->lock);
	process->looks = true;
	pthread_mutex_unlock(&process->serve->lock);
}

static void count_look(struct cairn_serve_process *process, bool good)
{
	pthread_mutex_lock(&process->serve->lock);
	process->looks = false;
	process->snapshots += good;
	process->failures += !good;
	pthread_cond_broadcast(&process->serve->changed);
	pthread_mutex_unlock(&process->serve->lock);
}

void *cairn_serve_follow(void *context)
{
	struct cairn_serve_process *process = context;
	struct cairn_error error;
	while (!atomic_load(&process->serve->stop)) {
		int64_t began = cairn_clock_ns(), used = cairn_clock_read(CLOCK_THREAD_CPUTIME_ID);
		error.text[0] = 0;
		if (has_ended(process)) {
			take_leave(process);
			if (!process->service)
				break;
			wait_until(process, began + retry_ns, 0, 0);
			continue;
		}
		if (process->state == CAIRN_SERVE_ENDED && process->service && !process->life.pid) {
			int pid = cairn_service_process(process->name, false, &error);
			if (!pid) {
				wait_until(process, began + retry_ns, 0, 0);
				continue;
			}
			attend(process, pid);
		}
		begin_look(process);
		bool good = look(process, &error);
		count_look(process, good);
		if (has_ended(process))
			continue;
		if (good)
			wait_until(process, 0, began, note_cost(process, cairn_clock_read(CLOCK_THREAD_CPUTIME_ID) - used));
		else
			wait_until(process, began + retry_ns, 0, 0);
	}
	pthread_mutex_lock(&process->serve->lock);
	process->next_ns = 0;
	pthread_mutex_unlock(&process->serve->lock);
	return NULL;
}
