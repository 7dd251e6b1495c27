/* status.c - collects the facts about the agent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/status.h"

#include "agent/work/dump_writer.h"
#include "base/descriptor.h"
#include "dump/engine_kind.h"

#include <stdio.h>

static void gather_profiler(struct cairn_status *status, struct cairn_profiler *profiler)
{
	status->state = cairn_profiler_state(profiler);
	status->state_name = cairn_profiler_state_name(status->state);
	status->active = status->state == CAIRN_PROFILER_ACTIVE;
	cairn_profiler_explain(profiler, status->why.text, sizeof status->why.text);
	status->active_since_ns = atomic_load(&profiler->active_since);
	status->reset_ns = atomic_load(&profiler->reset_at);
	status->period = cairn_profiler_period(profiler);
	status->gdump = cairn_profiler_gdump_is_active(profiler);
}

/* Cairn's own engine and its ledger. */
static void gather_sampler(struct cairn_status *status, struct cairn_profiler *profiler)
{
	struct cairn_sampler_status *sampler = &status->sampler;
	status->engine = cairn_engine_name(cairn_profiler_engine(profiler)->kind);
	status->engine_warning[0] = 0;
	status->uses_sampler = !cairn_profiler_is_jemalloc(profiler);
	if (!status->uses_sampler)
		return;
	cairn_profiler_engine(profiler)->get_status(sampler);
	cairn_profiler_engine(profiler)->warn(profiler, status->engine_warning, sizeof status->engine_warning);
	status->has_ledger = sampler->open;
	if (!sampler->open)
		return;
	const struct cairn_ledger_header *header = &sampler->ledger.header;
	status->first_period = header->first_period;
	status->ledger_live = header->live;
	status->ledger_slots = cairn_ledger_count(&sampler->ledger, CAIRN_LEDGER_SAMPLES);
	status->ledger_stacks = header->stacks_used;
	status->ledger_stack_slots = cairn_ledger_count(&sampler->ledger, CAIRN_LEDGER_STACKS);
	status->ledger_taken = header->taken;
	status->ledger_freed = header->freed;
	status->ledger_replaced = header->replaced;
	status->ledger_dropped = header->dropped;
	status->ledger_dropped_bytes = header->dropped_bytes;
	status->ledger_thinned = header->thinned;
	status->ledger_doublings = header->doublings;
	status->ledger_stacks_lost = header->stacks_lost;
	status->ledger_stacks_recycled = header->stacks_recycled;
	status->ledger_threads_lost = header->threads_lost;
	status->ledger_live_bytes = header->allocated_bytes > header->freed_bytes ? header->allocated_bytes - header->freed_bytes : 0;
	status->ledger_highest_bytes = header->highest_bytes;
}

static uint64_t statistic(struct cairn_jemalloc *jemalloc, const char *name)
{
	size_t value;
	return cairn_jemalloc_get_size(jemalloc, name, &value) == 0 ? value : 0;
}

static void gather_allocator(struct cairn_status *status, struct cairn_jemalloc *jemalloc)
{
	status->jemalloc_version = jemalloc->version;
	status->jemalloc_prefix = jemalloc->prefix;
	status->jemalloc_module = jemalloc->module;
	status->jemalloc_found = jemalloc->handed_over ? "handed over"
				 : !jemalloc->mallctl  ? "not"
				 : jemalloc->exported  ? "exported"
						       : "symtab";
	status->is_malloc = jemalloc->is_malloc;
	status->has_jemalloc = jemalloc->mallctl;
	if (!jemalloc->mallctl)
		return;
	cairn_jemalloc_variable(jemalloc, status->variable, sizeof status->variable);
	status->jemalloc_variable = status->variable;
	cairn_jemalloc_get_text(jemalloc, "opt.prof_prefix", &status->prof_prefix);
	cairn_jemalloc_get_bool(jemalloc, "opt.prof_accum", &status->accumulates);
	cairn_jemalloc_refresh(jemalloc);
	size_t allocated;
	status->has_statistics = cairn_jemalloc_get_size(jemalloc, "stats.allocated", &allocated) == 0;
	status->allocated = allocated;
	status->in_pages = statistic(jemalloc, "stats.active");
	status->metadata = statistic(jemalloc, "stats.metadata");
	status->resident = statistic(jemalloc, "stats.resident");
	status->mapped = statistic(jemalloc, "stats.mapped");
	status->retained = statistic(jemalloc, "stats.retained");
	status->allocated_in_all = cairn_jemalloc_total(jemalloc);
}

/* Which unwinder takes the stacks, how well it works, and what profiling costs. */
static void gather_cost(struct cairn_status *status, struct cairn_agent *agent)
{
	struct cairn_budget *budget = &agent->budget;
	cairn_profiler_engine(&agent->profiler)->count(&status->stacks);
	bool ours = status->stacks.installed;
	status->unwinder = cairn_engine_name(ours ? CAIRN_ENGINE_CAIRN : CAIRN_ENGINE_JEMALLOC);
	status->unwinder_why = ours ? "" : agent->unwinder_problem.text;
	status->unwinder_warning = ours || cairn_code_is_live() ? "" :
		"glibc before 2.35: jemalloc's own unwinder takes the loader's lock and may deadlock in a process that loads libraries";
	status->seconds_per_stack = status->stacks.ns_per_stack / 1e9;
	status->samples_per_second = atomic_load(&budget->samples_per_second);
	status->ns_per_sample = atomic_load(&budget->ns_per_sample);
	status->cpu_share = atomic_load(&budget->share);
	status->budget = (double)agent->config.budget / 1e6;
	status->profiling_memory = cairn_profiler_is_jemalloc(&agent->profiler)
					   ? cairn_budget_memory(atomic_load(&agent->snapshots.last_samples))
				   : status->sampler.open ? status->sampler.ledger.header.bytes
							  : 0;
	status->previous_period = atomic_load(&budget->previous_period);
	status->period_changes = atomic_load(&budget->changes);
	status->period_changed_ns = atomic_load(&budget->changed_at);
	cairn_cpu_count(&status->cpu);
}

static void gather_snapshots(struct cairn_status *status, struct cairn_snapshots *snapshots)
{
	int64_t duration_ns = atomic_load(&snapshots->last_duration_ns);
	status->snapshots = atomic_load(&snapshots->taken);
	status->snapshots_shared = atomic_load(&snapshots->shared);
	status->snapshots_failed = atomic_load(&snapshots->failed);
	status->snapshot_ns = atomic_load(&snapshots->last_time_ns);
	status->snapshot_milliseconds = (double)duration_ns / 1e6;
	status->snapshot_seconds = (double)duration_ns / 1e9;
	status->snapshot_samples = atomic_load(&snapshots->last_samples);
	status->snapshot_bytes = atomic_load(&snapshots->last_bytes);
	status->snapshot_size = atomic_load(&snapshots->last_size);
}

/* The rules for automatic dumps, and their results. */
static void gather_dumps(struct cairn_status *status, struct cairn_agent *agent)
{
	struct cairn_monitor *monitor = &agent->monitor;
	struct cairn_folder folder;
	cairn_dumps_folder(agent, &folder);
	snprintf(status->folder, sizeof status->folder, "%s", folder.path);
	status->watching = monitor->watching;
	status->rules = &monitor->rules;
	status->dumps = atomic_load(&agent->counters.dumps);
	for (int i = 0; i < CAIRN_TRIGGER_REASONS; i++) {
		status->dumps_by_rule[i] = atomic_load(&monitor->dumps[i]);
		status->rule_dumps += status->dumps_by_rule[i];
	}
	status->rule_dumps_failed = atomic_load(&monitor->failed);
	status->dumps_thinned = atomic_load(&monitor->thinned);
	pthread_mutex_lock(&monitor->mutex);
	status->dump_ns = monitor->last_ns;
	memcpy(status->dump_path, monitor->last_path, sizeof status->dump_path);
	memcpy(status->dump_reason, monitor->last_reason, sizeof status->dump_reason);
	status->dump_problem = monitor->problem;
	pthread_mutex_unlock(&monitor->mutex);
}

static void gather_agent(struct cairn_status *status, struct cairn_agent *agent)
{
	struct cairn_counters *counters = &agent->counters;
	status->version = CAIRN_VERSION;
	status->started_ns = agent->started_ns;
	status->socket = agent->listen.path;
	status->socket_problem = agent->listen.local_problem;
	status->listen = agent->listen.tcp_shown;
	status->listen_problem = agent->listen.tcp_problem;
	status->tool = agent->tool;
	status->config_problems = agent->config.problems;
	status->requests = atomic_load(&counters->requests);
	status->refused = atomic_load(&counters->refused);
	status->dropped = atomic_load(&counters->busy);
	status->memory = atomic_load(&agent->memory.whole.used);
	status->children = atomic_load(&counters->children);
	status->children_failed = atomic_load(&counters->children_bad);
	status->restarts = atomic_load(&counters->restarts);
	status->descriptors = cairn_descriptors_count();
}

void cairn_status_gather(struct cairn_status *status, struct cairn_agent *agent)
{
	*status = (struct cairn_status){.config = &agent->config};
	cairn_facts_get(&status->process);
	cairn_context_own(status->service);
	gather_profiler(status, &agent->profiler);
	gather_sampler(status, &agent->profiler);
	gather_allocator(status, &agent->profiler.jemalloc);
	gather_cost(status, agent);
	gather_snapshots(status, &agent->snapshots);
	gather_dumps(status, agent);
	gather_agent(status, agent);
}
