/* lookout.c - looking, dumping, and keeping the folder in order.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/lookout.h"

#include "agent/clock.h"
#include "agent/dumps.h"
#include "agent/route.h"

#include <stdio.h>
#include <sys/stat.h>

static const int64_t second = 1000000000;
static const int64_t tidy_every_ns = 10 * second, tidy_busy_ns = second, tidy_at_least_ns = 600 * second;
enum { idle_ms = 1000, dumping_ms = 20 };

void cairn_lookout_clear(struct cairn_lookout *lookout)
{
	memset(lookout, 0, sizeof *lookout);
	pthread_mutex_init(&lookout->mutex, NULL);
}

static bool open_memory(struct cairn_lookout *lookout, struct cairn_profiler *profiler)
{
	struct cairn_error error;
	if (cairn_profiler_state(profiler) < CAIRN_PROFILER_INACTIVE)
		cairn_profiler_explain(profiler, error.text, sizeof error.text);
	else if (cairn_memory_open(&lookout->memory, "", 0, &error))
		return true;
	pthread_mutex_lock(&lookout->mutex);
	lookout->problem = error;
	pthread_mutex_unlock(&lookout->mutex);
	return false;
}

void cairn_lookout_open(struct cairn_agent *agent)
{
	struct cairn_lookout *lookout = &agent->lookout;
	struct cairn_folder_limits limits;
	if (!agent->profiler.jemalloc.mallctl)
		return;
	cairn_config_limits(&agent->config, &limits);
	lookout->keeping = limits.count || limits.bytes || limits.age_seconds;
	lookout->watching = cairn_config_rules(&agent->config, &lookout->rules) && open_memory(lookout, &agent->profiler);
}

void cairn_lookout_close(struct cairn_agent *agent)
{
	if (agent->lookout.watching)
		cairn_memory_close(&agent->lookout.memory);
	agent->lookout.watching = agent->lookout.keeping = false;
}

/* Hands work to the queue that no client waits for. */
static bool enqueue(struct cairn_agent *agent, const struct cairn_route *route, int64_t due_ns, void (*finish)(struct cairn_call *call))
{
	struct cairn_call *call = cairn_call_new(&agent->work);
	if (!call)
		return false;
	call->agent = agent;
	call->route = route;
	call->finish = finish;
	call->arrived_ns = cairn_clock_ns();
	call->due_ns = due_ns;
	if (cairn_call_enqueue(&agent->work, call))
		return true;
	cairn_call_free(&agent->work, call);
	return false;
}

static void write_dump(struct cairn_call *call)
{
	struct cairn_agent *agent = call->agent;
	struct cairn_lookout *lookout = &agent->lookout;
	struct cairn_error error = {0};
	char path[sizeof lookout->last_path], reason[sizeof lookout->last_reason];
	snprintf(reason, sizeof reason, "%s: %.80s", cairn_trigger_name(lookout->reason), lookout->explained);
	struct cairn_snapshot *snapshot = cairn_snapshot_take(&agent->snapshots, call->arrived_ns, &error);
	const struct cairn_folder_facts facts = {.memory = lookout->due.anonymous, .reason = reason, .urgent = true};
	bool written = snapshot && cairn_dumps_write_dated(agent, snapshot, "auto", &facts, path, sizeof path, &error);
	if (snapshot)
		cairn_snapshot_release(snapshot);
	pthread_mutex_lock(&lookout->mutex);
	if (written) {
		lookout->last_ns = cairn_clock_wall_ns();
		memcpy(lookout->last_path, path, sizeof path);
		memcpy(lookout->last_reason, reason, sizeof reason);
	} else {
		lookout->problem = error;
	}
	pthread_mutex_unlock(&lookout->mutex);
	atomic_fetch_add(written ? &lookout->dumps[lookout->reason] : &lookout->failed, 1);
	atomic_store(&lookout->state, written ? CAIRN_LOOKOUT_DUMPED : CAIRN_LOOKOUT_FAILED);
}

/* Also of a dump that never began, because the agent stops. */
static void finish_dump(struct cairn_call *call)
{
	enum cairn_lookout_state dumping = CAIRN_LOOKOUT_DUMPING;
	atomic_compare_exchange_strong(&call->agent->lookout.state, &dumping, CAIRN_LOOKOUT_FAILED);
	cairn_call_free(&call->agent->work, call);
}

static void start_dump(struct cairn_agent *agent, enum cairn_trigger_reason reason)
{
	static const struct cairn_route dump = {.handle = write_dump};
	struct cairn_lookout *lookout = &agent->lookout;
	lookout->reason = reason;
	lookout->due = lookout->reading;
	cairn_trigger_explain(&lookout->trigger, &lookout->rules, &lookout->reading, reason, lookout->explained, sizeof lookout->explained);
	atomic_store(&lookout->state, CAIRN_LOOKOUT_DUMPING);
	if (!enqueue(agent, &dump, CAIRN_URGENT, finish_dump)) {
		atomic_fetch_add(&lookout->failed, 1);
		atomic_store(&lookout->state, CAIRN_LOOKOUT_FAILED);
	}
}

/* Others write into the folder too, jemalloc's gdump thousands of files. It is thinned when it has changed, every second while there is
 * something to remove, and from time to time for what has become old. Files so young that their writers may be at it are left for later. */
static void tidy(struct cairn_call *call)
{
	struct cairn_lookout *lookout = &call->agent->lookout;
	struct cairn_folder folder;
	struct cairn_error error;
	struct stat status;
	size_t removed = 0;
	cairn_dumps_folder(call->agent, &folder);
	if (stat(folder.path, &status) != 0)
		return;
	int64_t changed = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec, now = cairn_clock_wall_ns();
	if (changed == lookout->seen_folder_ns && cairn_clock_ns() < lookout->tidied_ns + tidy_at_least_ns)
		return;
	lookout->tidied_ns = cairn_clock_ns();
	cairn_folder_thin(&folder, &removed, &error);
	atomic_fetch_add(&lookout->thinned, (unsigned)removed);
	atomic_store(&lookout->busy, removed > 0);
	bool settled = now - changed > 2 * second;
	lookout->seen_folder_ns = settled && stat(folder.path, &status) == 0 ?
				  (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec : 0;
}

static void finish_tidy(struct cairn_call *call)
{
	atomic_store(&call->agent->lookout.tidying, false);
	cairn_call_free(&call->agent->work, call);
}

static void look_at_folder(struct cairn_agent *agent, int64_t now)
{
	static const struct cairn_route thin = {.handle = tidy};
	struct cairn_lookout *lookout = &agent->lookout;
	if (now < lookout->tidy_ns || atomic_exchange(&lookout->tidying, true))
		return;
	lookout->tidy_ns = now + (atomic_load(&lookout->busy) ? tidy_busy_ns : tidy_every_ns);
	if (!enqueue(agent, &thin, 0, finish_tidy))
		atomic_store(&lookout->tidying, false);
}

int cairn_lookout_look(struct cairn_agent *agent)
{
	struct cairn_lookout *lookout = &agent->lookout;
	int64_t now = cairn_clock_ns();
	if (lookout->keeping)
		look_at_folder(agent, now);
	if (!lookout->watching)
		return idle_ms;
	enum cairn_lookout_state state = atomic_load(&lookout->state);
	if (state == CAIRN_LOOKOUT_DUMPING)
		return dumping_ms;
	if (!cairn_memory_read(&lookout->memory, now, &lookout->reading)) { /* a daemon closed our descriptors */
		cairn_memory_close(&lookout->memory);
		open_memory(lookout, &agent->profiler);
		return idle_ms;
	}
	if (lookout->rules.interval)
		lookout->reading.allocated = cairn_jemalloc_total(&agent->profiler.jemalloc);
	if (agent->forked && !lookout->trigger.seen) {
		/* What a child has from its parent is the parent's to report: its own story begins here. */
		cairn_trigger_look(&lookout->trigger, &lookout->rules, &lookout->reading, now);
		cairn_trigger_dumped(&lookout->trigger, &lookout->rules, &lookout->reading, CAIRN_TRIGGER_NONE, true);
		return idle_ms;
	}
	if (state != CAIRN_LOOKOUT_IDLE) {
		cairn_trigger_dumped(&lookout->trigger, &lookout->rules, &lookout->due, lookout->reason, state == CAIRN_LOOKOUT_DUMPED);
		atomic_store(&lookout->state, CAIRN_LOOKOUT_IDLE);
	}
	enum cairn_trigger_reason reason = cairn_trigger_look(&lookout->trigger, &lookout->rules, &lookout->reading, now);
	if (reason != CAIRN_TRIGGER_NONE) {
		start_dump(agent, reason);
		return dumping_ms;
	}
	return (int)(cairn_trigger_pause(&lookout->trigger, &lookout->rules, &lookout->reading) / 1000000);
}
