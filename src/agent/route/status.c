/* status.c - GET /cairn/status.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/status.h"

#include "agent/cpu/cpu.h"
#include "agent/host/dump_writer.h"
#include "agent/jemalloc/hook.h"
#include "base/date.h"
#include "base/descriptor.h"
#include "base/json.h"
#include "process/clock.h"
#include "process/facts.h"

#include <stdio.h>

static void write_text(struct cairn_json *json, const char *key, const char *value)
{
	if (value && value[0])
		cairn_json_text(json, key, cairn_bytes_of(value));
	else
		cairn_json_null(json, key);
}

/* Seconds since 1970, to the millisecond; null for never. */
static void write_time(struct cairn_json *json, const char *key, int64_t ns)
{
	if (ns)
		cairn_json_number(json, key, (double)(ns / 1000000) / 1000);
	else
		cairn_json_null(json, key);
}

static void write_profiler(struct cairn_json *json, struct cairn_agent *agent)
{
	struct cairn_profiler *profiler = &agent->profiler;
	struct cairn_jemalloc *jemalloc = &profiler->jemalloc;
	enum cairn_profiler_state state = cairn_profiler_state(profiler);
	struct cairn_error why;
	cairn_profiler_explain(profiler, why.text, sizeof why.text);
	cairn_json_text(json, "state", cairn_bytes_of(cairn_profiler_state_name(state)));
	cairn_json_bool(json, "active", state == CAIRN_PROFILER_ACTIVE);
	write_time(json, "active_since", atomic_load(&profiler->active_since));
	write_text(json, "why", why.text);
	cairn_json_integer(json, "period", (int64_t)cairn_profiler_period(profiler));
	write_time(json, "reset_at", atomic_load(&profiler->reset_at));
	cairn_json_bool(json, "gdump", cairn_profiler_gdump_is_active(profiler));
	cairn_json_open(json, "jemalloc", '{');
	write_text(json, "version", jemalloc->version);
	cairn_json_text(json, "prefix", cairn_bytes_of(jemalloc->prefix));
	write_text(json, "module", jemalloc->module);
	cairn_json_text(json, "found", cairn_bytes_of(jemalloc->handed_over ? "handed over" : !jemalloc->mallctl ? "not" :
						      jemalloc->exported ? "exported" : "symtab"));
	cairn_json_bool(json, "is_malloc", jemalloc->is_malloc);
	if (jemalloc->mallctl) {
		const char *prefix;
		cairn_jemalloc_get_text(jemalloc, "opt.prof_prefix", &prefix);
		write_text(json, "prof_prefix", prefix);
		bool accumulates;
		cairn_jemalloc_get_bool(jemalloc, "opt.prof_accum", &accumulates);
		cairn_json_bool(json, "prof_accum", accumulates);
	}
	cairn_json_close(json, '}');
}

/* Which unwinder takes the stacks, how it fares and what profiling costs. */
static void write_unwinder(struct cairn_json *json, struct cairn_agent *agent)
{
	struct cairn_hook_counts hook;
	cairn_hook_count(&hook);
	cairn_json_open(json, "unwinder", '{');
	cairn_json_text(json, "name", cairn_bytes_of(hook.installed ? "cairn" : "jemalloc"));
	write_text(json, "why", hook.installed ? "" : agent->unwinder_problem.text);
	write_text(json, "warning", hook.installed || cairn_code_is_live() ? "" :
		   "glibc before 2.35: jemalloc's own unwinder takes the loader's lock and may wait for ever in a process that loads libraries");
	cairn_json_integer(json, "stacks", (int64_t)hook.stacks);
	for (int i = CAIRN_UNWIND_TRUNCATED; i < CAIRN_UNWIND_ENDS; i++) {
		char key[32];
		snprintf(key, sizeof key, "%s", cairn_unwind_end_name((enum cairn_unwind_end)i));
		for (char *space; (space = strchr(key, ' '));)
			*space = '_';
		cairn_json_integer(json, key, (int64_t)hook.ends[i]);
	}
	cairn_json_number(json, "frames_per_stack", hook.frames_per_stack);
	cairn_json_number(json, "ns_per_stack", hook.ns_per_stack);
	cairn_json_close(json, '}');
}

static void write_cost(struct cairn_json *json, struct cairn_agent *agent)
{
	struct cairn_budget *budget = &agent->budget;
	cairn_json_open(json, "cost", '{');
	cairn_json_number(json, "samples_per_second", atomic_load(&budget->samples_per_second));
	cairn_json_number(json, "ns_per_sample", atomic_load(&budget->ns_per_sample));
	cairn_json_number(json, "cpu_share", atomic_load(&budget->share));
	cairn_json_integer(json, "memory_bytes", (int64_t)cairn_budget_memory(atomic_load(&agent->snapshots.last_samples)));
	if (agent->config.budget)
		cairn_json_number(json, "budget", (double)agent->config.budget / 1e6);
	else
		cairn_json_null(json, "budget");
	cairn_json_integer(json, "period_changes", atomic_load(&budget->changes));
	cairn_json_integer(json, "previous_period", (int64_t)atomic_load(&budget->previous_period));
	write_time(json, "changed_at", atomic_load(&budget->changed_at));
	cairn_json_close(json, '}');
}

static void write_cpu(struct cairn_json *json)
{
	struct cairn_cpu_counts cpu;
	cairn_cpu_count(&cpu);
	cairn_json_open(json, "cpu", '{');
	cairn_json_bool(json, "running", cpu.running);
	cairn_json_integer(json, "runs", (int64_t)cpu.runs);
	cairn_json_integer(json, "samples", (int64_t)cpu.samples);
	cairn_json_integer(json, "dropped", (int64_t)cpu.dropped);
	cairn_json_close(json, '}');
}

static void write_snapshots(struct cairn_json *json, struct cairn_agent *agent)
{
	struct cairn_snapshots *snapshots = &agent->snapshots;
	cairn_json_open(json, "snapshots", '{');
	cairn_json_integer(json, "taken", atomic_load(&snapshots->taken));
	cairn_json_integer(json, "shared", atomic_load(&snapshots->shared));
	cairn_json_integer(json, "failed", atomic_load(&snapshots->failed));
	cairn_json_open(json, "last", '{');
	write_time(json, "time", atomic_load(&snapshots->last_time_ns));
	cairn_json_number(json, "milliseconds", (double)atomic_load(&snapshots->last_duration_ns) / 1e6);
	cairn_json_integer(json, "samples", (int64_t)atomic_load(&snapshots->last_samples));
	cairn_json_integer(json, "sampled_bytes", (int64_t)atomic_load(&snapshots->last_bytes));
	cairn_json_integer(json, "size", (int64_t)atomic_load(&snapshots->last_size));
	cairn_json_close(json, '}');
	cairn_json_close(json, '}');
}

/* The rules for dumps that nobody asks for, and what became of them. */
static void write_dumps(struct cairn_json *json, struct cairn_agent *agent)
{
	struct cairn_monitor *monitor = &agent->monitor;
	struct cairn_folder folder;
	char value[32];
	cairn_dumps_folder(agent, &folder);
	cairn_json_open(json, "dumps", '{');
	write_text(json, "folder", folder.path);
	cairn_json_bool(json, "watching", monitor->watching);
	cairn_json_open(json, "rules", '{');
	for (unsigned i = 0; monitor->watching && cairn_trigger_word(i); i++) {
		cairn_trigger_show(&monitor->rules, cairn_trigger_word(i), value, sizeof value);
		cairn_json_text(json, cairn_trigger_word(i), cairn_bytes_of(value));
	}
	cairn_json_close(json, '}');
	cairn_json_integer(json, "written", atomic_load(&agent->counters.dumps));
	cairn_json_open(json, "by_rule", '{');
	for (int i = CAIRN_TRIGGER_NONE + 1; i < CAIRN_TRIGGER_REASONS; i++)
		cairn_json_integer(json, cairn_trigger_name((enum cairn_trigger_reason)i), atomic_load(&monitor->dumps[i]));
	cairn_json_close(json, '}');
	cairn_json_integer(json, "failed", atomic_load(&monitor->failed));
	cairn_json_integer(json, "thinned", atomic_load(&monitor->thinned));
	pthread_mutex_lock(&monitor->mutex);
	write_time(json, "last_time", monitor->last_ns);
	write_text(json, "last_path", monitor->last_path);
	write_text(json, "last_reason", monitor->last_reason);
	write_text(json, "problem", monitor->problem.text);
	pthread_mutex_unlock(&monitor->mutex);
	cairn_json_close(json, '}');
}

static void write_config(struct cairn_json *json, const struct cairn_config *config)
{
	cairn_json_open(json, "config", '{');
	for (unsigned i = 0; i < CAIRN_CONFIG_KEYS; i++) {
		char value[300];
		const char *key = cairn_config_show(config, i, value, sizeof value);
		cairn_json_open(json, key, '{');
		cairn_json_text(json, "value", cairn_bytes_of(value));
		cairn_json_text(json, "from", cairn_bytes_of(cairn_config_origin_name(config->origins[i])));
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, '}');
	write_text(json, "config_problems", config->problems);
}

static void write_agent(struct cairn_json *json, struct cairn_agent *agent)
{
	struct cairn_counters *counters = &agent->counters;
	cairn_json_open(json, "agent", '{');
	cairn_json_text(json, "version", cairn_bytes_of(CAIRN_VERSION));
	write_time(json, "started", agent->started_ns);
	write_text(json, "socket", agent->listen.path);
	write_text(json, "socket_problem", agent->listen.local_problem);
	write_text(json, "listen", agent->listen.tcp_shown);
	write_text(json, "listen_problem", agent->listen.tcp_problem);
	write_text(json, "tool", agent->tool);
	cairn_json_integer(json, "requests", atomic_load(&counters->requests));
	cairn_json_integer(json, "refused", atomic_load(&counters->refused));
	cairn_json_integer(json, "dropped", atomic_load(&counters->busy));
	cairn_json_integer(json, "memory", (int64_t)atomic_load(&agent->memory.whole.used));
	cairn_json_integer(json, "children", atomic_load(&counters->children));
	cairn_json_integer(json, "children_failed", atomic_load(&counters->children_bad));
	cairn_json_integer(json, "dumps", atomic_load(&counters->dumps));
	cairn_json_integer(json, "restarts", atomic_load(&counters->restarts));
	cairn_json_integer(json, "descriptors", cairn_descriptors_count());
	cairn_json_close(json, '}');
}

void cairn_status_json(struct cairn_agent *agent, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json(out);
	struct cairn_facts facts;
	cairn_facts_get(&facts);
	cairn_json_open(&json, NULL, '{');
	cairn_json_integer(&json, "pid", facts.pid);
	write_text(&json, "command", facts.command);
	write_text(&json, "executable", facts.executable);
	write_text(&json, "host", facts.host);
	write_time(&json, "start", facts.start_ns);
	write_profiler(&json, agent);
	write_unwinder(&json, agent);
	write_cost(&json, agent);
	write_cpu(&json);
	write_snapshots(&json, agent);
	write_dumps(&json, agent);
	write_agent(&json, agent);
	write_config(&json, &agent->config);
	cairn_json_close(&json, '}');
}

static void add_line(struct cairn_buffer *out, const char *key, const char *value)
{
	if (value[0])
		cairn_buffer_format(out, "%s: %s\n", key, value);
}

/* As 2026-11-15T04:10:02Z. */
static void add_time(struct cairn_buffer *out, const char *key, int64_t ns)
{
	struct tm date = cairn_date(ns / 1000000000);
	if (ns)
		cairn_buffer_format(out, "%s: %04d-%02d-%02dT%02d:%02d:%02dZ\n", key, date.tm_year + 1900, date.tm_mon + 1, date.tm_mday,
				    date.tm_hour, date.tm_min, date.tm_sec);
}

static void add_dumps(struct cairn_buffer *out, struct cairn_monitor *monitor)
{
	unsigned dumps = 0;
	for (int i = 0; i < CAIRN_TRIGGER_REASONS; i++)
		dumps += atomic_load(&monitor->dumps[i]);
	pthread_mutex_lock(&monitor->mutex);
	if (monitor->watching || monitor->problem.text[0])
		cairn_buffer_format(out, "dumps by rules: %u written, %u failed\n", dumps, atomic_load(&monitor->failed));
	add_time(out, "last dump", monitor->last_ns);
	add_line(out, "last dump is", monitor->last_path);
	add_line(out, "last dump for", monitor->last_reason);
	add_line(out, "dump problem", monitor->problem.text);
	pthread_mutex_unlock(&monitor->mutex);
}

void cairn_status_text(struct cairn_agent *agent, struct cairn_buffer *out)
{
	struct cairn_profiler *profiler = &agent->profiler;
	struct cairn_snapshots *snapshots = &agent->snapshots;
	struct cairn_facts facts;
	struct cairn_error why;
	cairn_facts_get(&facts);
	cairn_profiler_explain(profiler, why.text, sizeof why.text);
	cairn_buffer_format(out, "pid: %d\n", facts.pid);
	add_line(out, "command", facts.command);
	add_line(out, "executable", facts.executable);
	add_line(out, "host", facts.host);
	add_time(out, "start", facts.start_ns);
	add_line(out, "state", cairn_profiler_state_name(cairn_profiler_state(profiler)));
	add_line(out, "why", why.text);
	add_time(out, "active since", atomic_load(&profiler->active_since));
	add_time(out, "reset at", atomic_load(&profiler->reset_at));
	cairn_buffer_format(out, "period: %llu\ngdump: %s\n", (unsigned long long)cairn_profiler_period(profiler),
			    cairn_profiler_gdump_is_active(profiler) ? "on" : "off");
	add_line(out, "jemalloc", profiler->jemalloc.version);
	add_line(out, "prefix", profiler->jemalloc.prefix);
	add_line(out, "module", profiler->jemalloc.module);
	if (profiler->jemalloc.mallctl)
		cairn_buffer_format(out, "allocated in all: %llu\n", (unsigned long long)cairn_jemalloc_total(&profiler->jemalloc));
	cairn_buffer_format(out, "snapshots: %u taken, %u shared, %u failed\n", atomic_load(&snapshots->taken), atomic_load(&snapshots->shared),
			    atomic_load(&snapshots->failed));
	add_time(out, "last snapshot", atomic_load(&snapshots->last_time_ns));
	cairn_buffer_format(out, "samples: %llu\n", (unsigned long long)atomic_load(&snapshots->last_samples));
	add_line(out, "socket", agent->listen.path);
	add_line(out, "socket problem", agent->listen.local_problem);
	add_line(out, "listen", agent->listen.tcp_shown);
	add_line(out, "listen problem", agent->listen.tcp_problem);
	add_line(out, "tool", agent->tool);
	add_line(out, "config problems", agent->config.problems);
	add_dumps(out, &agent->monitor);
	cairn_buffer_format(out, "dropped: %u\n", atomic_load(&agent->counters.busy));
	add_line(out, "agent", CAIRN_VERSION);
}
