/* monitor.c - checks memory, requests dumps, and thins the folder.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/work/monitor.h"

#include "agent/engine/profiler.h"
#include "agent/jemalloc/profiler.h"
#include "agent/sampler/sampler.h"
#include "agent/work/dump_writer.h"
#include "base/time.h"
#include "process/clock.h"

#include <stdio.h>
#include <sys/stat.h>

static const int64_t second = CAIRN_SECOND_NS;
static const int64_t tidy_every_ns = 10 * second, tidy_busy_ns = second, tidy_at_least_ns = 600 * second;
enum { idle_ms = 1000, dumping_ms = 20 };

void cairn_monitor_clear(struct cairn_monitor *monitor)
{
	memset(monitor, 0, sizeof *monitor);
	pthread_mutex_init(&monitor->mutex, NULL);
}

static bool open_memory(struct cairn_monitor *monitor, struct cairn_profiler *profiler)
{
	struct cairn_error error;
	if (cairn_profiler_state(profiler) < CAIRN_PROFILER_INACTIVE)
		cairn_profiler_explain(profiler, error.text, sizeof error.text);
	else if (cairn_memory_open(&monitor->memory, "", 0, &error))
		return true;
	pthread_mutex_lock(&monitor->mutex);
	monitor->problem = error;
	pthread_mutex_unlock(&monitor->mutex);
	return false;
}

/* Whether jemalloc writes the dumps of the rule `interval` by itself, because the rule was taken from lg_prof_interval or both were set to
 * the same (`cairn run`): it would write each of them again. */
static bool writes_intervals_itself(struct cairn_agent *agent)
{
	uint64_t own = cairn_profiler_jemalloc_interval(&agent->profiler), rule = agent->config.rules.interval;
	return own && (agent->config.origins[CAIRN_KEY_INTERVAL] == CAIRN_CONFIG_MALLOC_CONF ||
		       (cairn_profiler_is_jemalloc(&agent->profiler) && own <= rule && rule / 2 < own));
}

void cairn_monitor_open(struct cairn_agent *agent)
{
	struct cairn_monitor *monitor = &agent->monitor;
	struct cairn_folder_limits limits;
	if (!agent->profiler.jemalloc.mallctl && cairn_profiler_is_jemalloc(&agent->profiler))
		return;
	cairn_config_limits(&agent->config, &limits);
	monitor->keeping = limits.count || limits.bytes || limits.age_seconds;
	cairn_config_rules(&agent->config, &monitor->rules);
	if (writes_intervals_itself(agent))
		monitor->rules.interval = 0;
	monitor->watching = cairn_trigger_any(&monitor->rules) && open_memory(monitor, &agent->profiler);
}

void cairn_monitor_close(struct cairn_agent *agent)
{
	if (agent->monitor.watching)
		cairn_memory_close(&agent->monitor.memory);
	agent->monitor.watching = agent->monitor.keeping = false;
}

/* Queues work that no client waits for. */
static bool enqueue(struct cairn_agent *agent, cairn_call_handle *handle, int64_t due_ns, void (*finish)(struct cairn_call *call))
{
	struct cairn_call *call = cairn_call_new(&agent->work, CAIRN_CALL_OWN);
	if (!call)
		return false;
	call->agent = agent;
	call->handle = handle;
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
	struct cairn_monitor *monitor = &agent->monitor;
	struct cairn_error error = {0};
	char path[sizeof monitor->last_path], reason[sizeof monitor->last_reason];
	snprintf(reason, sizeof reason, "%s: %.80s", cairn_trigger_name(monitor->reason), monitor->explained);
	struct cairn_snapshot_ask ask = {.since_ns = call->arrived_ns};
	struct cairn_snapshot *snapshot = cairn_snapshot_take(&agent->snapshots, &ask, &error);
	const struct cairn_folder_facts facts = {.memory = monitor->due.anonymous, .reason = reason, .urgent = true};
	/* Names the dump as jemalloc would, if a prefix is configured. */
	bool numbered = monitor->reason == CAIRN_TRIGGER_INTERVAL && cairn_dumps_names_intervals(agent);
	bool written = snapshot && (numbered ? cairn_dumps_write_numbered(agent, snapshot, 'i', path, sizeof path, &error) :
				    cairn_dumps_write_dated(agent, snapshot, "auto", &facts, path, sizeof path, &error));
	if (snapshot)
		cairn_snapshot_release(snapshot);
	pthread_mutex_lock(&monitor->mutex);
	if (written) {
		monitor->last_ns = cairn_clock_wall_ns();
		memcpy(monitor->last_path, path, sizeof path);
		memcpy(monitor->last_reason, reason, sizeof reason);
	} else {
		monitor->problem = error;
	}
	pthread_mutex_unlock(&monitor->mutex);
	atomic_fetch_add(written ? &monitor->dumps[monitor->reason] : &monitor->failed, 1);
	atomic_store(&monitor->state, written ? CAIRN_MONITOR_DUMPED : CAIRN_MONITOR_FAILED);
}

/* Also called for a dump that never began because the agent stops. */
static void finish_dump(struct cairn_call *call)
{
	enum cairn_monitor_state dumping = CAIRN_MONITOR_DUMPING;
	atomic_compare_exchange_strong(&call->agent->monitor.state, &dumping, CAIRN_MONITOR_FAILED);
	cairn_call_free(&call->agent->work, call);
}

static void start_dump(struct cairn_agent *agent, enum cairn_trigger_reason reason)
{
	struct cairn_monitor *monitor = &agent->monitor;
	monitor->reason = reason;
	monitor->due = monitor->reading;
	cairn_trigger_explain(&monitor->trigger, &monitor->rules, &monitor->reading, reason, monitor->explained, sizeof monitor->explained);
	atomic_store(&monitor->state, CAIRN_MONITOR_DUMPING);
	if (!enqueue(agent, write_dump, CAIRN_URGENT, finish_dump)) {
		atomic_fetch_add(&monitor->failed, 1);
		atomic_store(&monitor->state, CAIRN_MONITOR_FAILED);
	}
}

/* Others write to the folder too; jemalloc's gdump may write thousands of files. The folder is thinned when it has changed, every second
 * while there is something to remove, and from time to time for files that have become old. Files that are so new that their writers may
 * not have finished are left for later. */
static size_t tidy_folder(const struct cairn_folder *folder, struct cairn_monitor_folder *seen)
{
	struct cairn_error error;
	struct stat status;
	size_t removed = 0;
	if (stat(folder->path, &status) != 0)
		return 0;
	int64_t changed = cairn_time_ns(&status.st_mtim), now = cairn_clock_wall_ns();
	if (changed == seen->changed_ns && cairn_clock_ns() < seen->tidied_ns + tidy_at_least_ns)
		return 0;
	seen->tidied_ns = cairn_clock_ns();
	cairn_folder_thin(folder, &removed, &error);
	bool settled = now - changed > 2 * second;
	seen->changed_ns = settled && stat(folder->path, &status) == 0 ?
			   cairn_time_ns(&status.st_mtim) : 0;
	return removed;
}

static void tidy(struct cairn_call *call)
{
	struct cairn_monitor *monitor = &call->agent->monitor;
	struct cairn_folder folder;
	cairn_dumps_folder(call->agent, &folder);
	size_t removed = tidy_folder(&folder, &monitor->folders[0]);
	if (cairn_dumps_prefix_folder(call->agent, &folder))
		removed += tidy_folder(&folder, &monitor->folders[1]);
	atomic_fetch_add(&monitor->thinned, (unsigned)removed);
	atomic_store(&monitor->busy, removed > 0);
}

static void finish_tidy(struct cairn_call *call)
{
	atomic_store(&call->agent->monitor.tidying, false);
	cairn_call_free(&call->agent->work, call);
}

static void look_at_folder(struct cairn_agent *agent, int64_t now)
{
	struct cairn_monitor *monitor = &agent->monitor;
	if (now < monitor->tidy_ns || atomic_exchange(&monitor->tidying, true))
		return;
	monitor->tidy_ns = now + (atomic_load(&monitor->busy) ? tidy_busy_ns : tidy_every_ns);
	if (!enqueue(agent, tidy, 0, finish_tidy))
		atomic_store(&monitor->tidying, false);
}

/* gdump on Cairn's engine: requests a dump when live memory reaches a new high, in steps that keep their number reasonable. They are kept
 * within limits, configured or default, as dumps requested by rules are. */
static void write_high_dump(struct cairn_call *call)
{
	struct cairn_agent *agent = call->agent;
	struct cairn_error error;
	struct cairn_folder folder;
	char path[340];
	size_t removed = 0;
	struct cairn_snapshot_ask ask = {.since_ns = call->arrived_ns};
	struct cairn_snapshot *snapshot = cairn_snapshot_take(&agent->snapshots, &ask, &error);
	bool written = snapshot && cairn_dumps_write_dated(agent, snapshot, "gdump", &(struct cairn_folder_facts){.reason = "high: gdump"},
							   path, sizeof path, &error);
	if (snapshot)
		cairn_snapshot_release(snapshot);
	cairn_dumps_folder(agent, &folder);
	cairn_dumps_limit(agent, &agent->config.keep, &folder);
	cairn_folder_thin(&folder, &removed, &error);
	atomic_fetch_add(written ? &agent->monitor.dumps[CAIRN_TRIGGER_HIGH] : &agent->monitor.failed, 1);
}

static void finish_high_dump(struct cairn_call *call)
{
	atomic_store(&call->agent->monitor.high_dumping, false);
	cairn_call_free(&call->agent->work, call);
}

static void look_for_high(struct cairn_agent *agent)
{
	enum { step_least = 1 << 20, step_part = 16 };
	struct cairn_monitor *monitor = &agent->monitor;
	uint64_t highest = cairn_profiler_engine(&agent->profiler)->highest();
	if (highest < monitor->dumped_high) /* a reset: highs are those since then */
		monitor->dumped_high = 0;
	uint64_t step = monitor->dumped_high / step_part;
	if (highest < monitor->dumped_high + (step > step_least ? step : step_least) || atomic_exchange(&monitor->high_dumping, true))
		return;
	monitor->dumped_high = highest;
	if (!enqueue(agent, write_high_dump, 0, finish_high_dump))
		atomic_store(&monitor->high_dumping, false);
}

int cairn_monitor_look(struct cairn_agent *agent)
{
	struct cairn_monitor *monitor = &agent->monitor;
	int64_t now = cairn_clock_ns();
	if (!cairn_profiler_is_jemalloc(&agent->profiler) && cairn_profiler_gdump_is_active(&agent->profiler))
		look_for_high(agent);
	if (monitor->keeping)
		look_at_folder(agent, now);
	if (!monitor->watching)
		return idle_ms;
	enum cairn_monitor_state state = atomic_load(&monitor->state);
	if (state == CAIRN_MONITOR_DUMPING)
		return dumping_ms;
	if (!cairn_memory_read(&monitor->memory, now, &monitor->reading)) { /* a daemon closed our descriptors */
		cairn_memory_close(&monitor->memory);
		open_memory(monitor, &agent->profiler);
		return idle_ms;
	}
	if (agent->config.limit && (!monitor->reading.limit || agent->config.limit < monitor->reading.limit)) {
		monitor->reading.limit = agent->config.limit;
		monitor->reading.limit_is_told = true;
	}
	if (monitor->rules.interval)
		monitor->reading.allocated = cairn_profiler_engine(&agent->profiler)->allocated(&agent->profiler);
	if (agent->forked && !monitor->trigger.seen) {
		/* What a child inherits is the parent's to report: its own records begin here. */
		cairn_trigger_look(&monitor->trigger, &monitor->rules, &monitor->reading, now);
		cairn_trigger_dumped(&monitor->trigger, &monitor->rules, &monitor->reading, CAIRN_TRIGGER_NONE, true);
		return idle_ms;
	}
	if (state != CAIRN_MONITOR_IDLE) {
		cairn_trigger_dumped(&monitor->trigger, &monitor->rules, &monitor->due, monitor->reason, state == CAIRN_MONITOR_DUMPED);
		atomic_store(&monitor->state, CAIRN_MONITOR_IDLE);
	}
	enum cairn_trigger_reason reason = cairn_trigger_look(&monitor->trigger, &monitor->rules, &monitor->reading, now);
	if (reason != CAIRN_TRIGGER_NONE) {
		start_dump(agent, reason);
		return dumping_ms;
	}
	return (int)(cairn_trigger_pause(&monitor->trigger, &monitor->rules, &monitor->reading) / CAIRN_MILLISECOND_NS);
}
