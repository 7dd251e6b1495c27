/* status.h - the agent's account of itself: gathered once, told in three ways.
 *
 * cairn_status_gather fills one plain struct with every fact at one moment. One table (status_table.c) has a row per fact with its name in
 * JSON, its label in the text for people and its metric for Prometheus. To add a fact, add a member here, fill it in status.c and give it a
 * row. Programs read the JSON; the text is for people and may change its words.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_ROUTE_STATUS_H
#define CAIRN_AGENT_ROUTE_STATUS_H

#include "agent/cpu/cpu.h"
#include "agent/sampler/sampler.h"
#include "agent/work/agent.h"
#include "process/context.h"
#include "process/facts.h"

struct cairn_status {
	struct cairn_facts process;
	char service[CAIRN_CONTEXT_NAME]; /* as the host publishes it */
	const struct cairn_config *config;
	/* The profiler. */
	enum cairn_profiler_state state;
	const char *state_name;
	bool active;
	struct cairn_error why; /* profiling cannot be used; "" when it can */
	int64_t active_since_ns, reset_ns;
	uint64_t period;
	bool gdump;
	/* The engine. */
	const char *engine;
	char engine_warning[500]; /* what the engine does not see; "" when it sees everything */
	struct cairn_sampler_status sampler; /* of Cairn's own */
	bool uses_sampler, has_ledger;
	uint64_t ledger_live, ledger_slots, ledger_stacks, ledger_stack_slots, ledger_taken, ledger_freed, ledger_replaced, ledger_dropped;
	uint64_t ledger_dropped_bytes, ledger_thinned, ledger_doublings, ledger_stacks_lost, ledger_stacks_recycled, ledger_threads_lost,
		ledger_live_bytes, ledger_highest_bytes;
	uint64_t first_period;
	/* The allocator. */
	bool has_jemalloc;
	const char *jemalloc_version, *jemalloc_prefix, *jemalloc_module, *jemalloc_found, *jemalloc_variable, *prof_prefix;
	char variable[64]; /* what jemalloc_variable points to */
	bool is_malloc, accumulates;
	bool has_statistics; /* the numbers below are jemalloc's own */
	uint64_t allocated, in_pages, metadata, resident, mapped, retained, allocated_in_all;
	/* The unwinder, and what profiling costs. */
	struct cairn_engine_counts stacks;
	const char *unwinder, *unwinder_why, *unwinder_warning;
	double seconds_per_stack;
	double samples_per_second, ns_per_sample, cpu_share, budget;
	uint64_t profiling_memory, previous_period;
	unsigned period_changes;
	int64_t period_changed_ns;
	struct cairn_cpu_counts cpu;
	/* Snapshots. */
	unsigned snapshots, snapshots_shared, snapshots_failed;
	int64_t snapshot_ns;
	double snapshot_milliseconds, snapshot_seconds;
	uint64_t snapshot_samples, snapshot_bytes, snapshot_size;
	/* Dumps. */
	char folder[340];
	bool watching;
	const struct cairn_trigger_rules *rules;
	unsigned dumps, dumps_by_rule[CAIRN_TRIGGER_REASONS], rule_dumps, rule_dumps_failed, dumps_thinned;
	int64_t dump_ns;
	char dump_path[340], dump_reason[96];
	struct cairn_error dump_problem;
	/* The agent. */
	const char *version, *socket, *socket_problem, *listen, *listen_problem, *tool, *config_problems;
	int64_t started_ns;
	unsigned requests, refused, dropped, children, children_failed, restarts;
	uint64_t memory; /* held by requests, snapshots and answers */
	int descriptors;
};

/* Everything as it is now. Texts are borrowed from AGENT and last as long as it runs. */
void cairn_status_gather(struct cairn_status *status, struct cairn_agent *agent);

void cairn_status_json(const struct cairn_status *status, struct cairn_buffer *out);
/* Lines `label: value` for people; what is not known is left out. */
void cairn_status_text(const struct cairn_status *status, struct cairn_buffer *out);
/* Prometheus' text format, version 0.0.4. */
void cairn_status_metrics(const struct cairn_status *status, struct cairn_buffer *out);

#endif
