/* metrics.c - GET /metrics, for Prometheus (its text format, version 0.0.4).
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/status.h"

#include "agent/cpu/cpu.h"
#include "agent/jemalloc/budget.h"
#include "agent/jemalloc/hook.h"

struct metric {
	const char *name, *type, *help;
	double value;
};

static void write_head(struct cairn_buffer *out, const char *name, const char *type, const char *help)
{
	cairn_buffer_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_all(struct cairn_buffer *out, const struct metric *metrics, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		write_head(out, metrics[i].name, metrics[i].type, metrics[i].help);
		cairn_buffer_format(out, "%s %.17g\n", metrics[i].name, metrics[i].value);
	}
}

static void write_allocator(struct cairn_buffer *out, struct cairn_jemalloc *jemalloc)
{
	static const struct {
		const char *statistic, *name, *help;
	} gauges[] = {
		{"stats.allocated", "jemalloc_allocated_bytes", "Bytes in live allocations of the application."},
		{"stats.active", "jemalloc_active_bytes", "Bytes in pages that hold live allocations."},
		{"stats.metadata", "jemalloc_metadata_bytes", "Bytes the allocator uses for itself."},
		{"stats.resident", "jemalloc_resident_bytes", "Bytes of the allocator's pages that are in physical memory, at most."},
		{"stats.mapped", "jemalloc_mapped_bytes", "Bytes of address space in extents the allocator has mapped."},
		{"stats.retained", "jemalloc_retained_bytes", "Bytes of address space kept after their memory was given back."},
		{"stats.resident", "sys_jemalloc_resident", "Bytes of the allocator's pages that are in physical memory, at most."},
		{"stats.allocated", "sys_jemalloc_allocated", "Bytes in live allocations of the application."},
	};
	if (!jemalloc->mallctl)
		return;
	cairn_jemalloc_refresh(jemalloc);
	for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++) {
		size_t value;
		if (cairn_jemalloc_get_size(jemalloc, gauges[i].statistic, &value) == 0)
			write_all(out, &(struct metric){gauges[i].name, "gauge", gauges[i].help, (double)value}, 1);
	}
	write_all(out, &(struct metric){"jemalloc_allocated_bytes_total", "counter", "Bytes allocated since the start, freed or not.",
					(double)cairn_jemalloc_total(jemalloc)}, 1);
}

/* Those that come in several, told apart by a label. */
static void write_labelled(struct cairn_buffer *out, enum cairn_profiler_state state, const struct cairn_hook_counts *hook,
			   struct cairn_monitor *monitor)
{
	write_head(out, "cairn_trigger_dumps_total", "counter", "Dumps written because a rule asked for them, by rule.");
	for (int i = CAIRN_TRIGGER_NONE + 1; i < CAIRN_TRIGGER_REASONS; i++)
		cairn_buffer_format(out, "cairn_trigger_dumps_total{rule=\"%s\"} %u\n", cairn_trigger_name((enum cairn_trigger_reason)i),
				    atomic_load(&monitor->dumps[i]));
	write_head(out, "cairn_profiler_state", "gauge", "The state of the heap profiler: 1 for the one it is in.");
	for (int i = CAIRN_PROFILER_NO_JEMALLOC; i <= CAIRN_PROFILER_ACTIVE; i++)
		cairn_buffer_format(out, "cairn_profiler_state{state=\"%s\"} %d\n", cairn_profiler_state_name((enum cairn_profiler_state)i),
				    (int)state == i);
	write_head(out, "cairn_stacks_total", "counter", "Stacks of sampled allocations taken by Cairn's unwinder, by how they ended.");
	for (int i = 0; i < CAIRN_UNWIND_ENDS; i++)
		cairn_buffer_format(out, "cairn_stacks_total{end=\"%s\"} %llu\n", cairn_unwind_end_name((enum cairn_unwind_end)i),
				    (unsigned long long)hook->ends[i]);
}

static double last_dump(struct cairn_monitor *monitor)
{
	pthread_mutex_lock(&monitor->mutex);
	double seconds = (double)(monitor->last_ns / 1000000) / 1000;
	pthread_mutex_unlock(&monitor->mutex);
	return seconds;
}

void cairn_status_metrics(struct cairn_agent *agent, struct cairn_buffer *out)
{
	struct cairn_profiler *profiler = &agent->profiler;
	struct cairn_snapshots *snapshots = &agent->snapshots;
	struct cairn_counters *counters = &agent->counters;
	struct cairn_hook_counts hook;
	struct cairn_cpu_counts cpu;
	cairn_hook_count(&hook);
	cairn_cpu_count(&cpu);
	uint64_t samples = atomic_load(&snapshots->last_samples);
	write_allocator(out, &profiler->jemalloc);
	write_labelled(out, cairn_profiler_state(profiler), &hook, &agent->monitor);
	const struct metric metrics[] = {
		{"cairn_stack_seconds", "gauge", "Mean time to take a stack.", hook.ns_per_stack / 1e9},
		{"cairn_profiling_samples_per_second", "gauge", "Sampled allocations per second.", atomic_load(&agent->budget.samples_per_second)},
		{"cairn_profiling_cpu_share", "gauge", "Share of the process's CPU time that heap profiling costs.",
		 atomic_load(&agent->budget.share)},
		{"cairn_profiling_memory_bytes", "gauge", "Memory that sampled objects of the last snapshot take beyond their size, at most.",
		 (double)cairn_budget_memory(samples)},
		{"cairn_period_changes_total", "counter", "Changes of the sampling period made to stay within the budget.",
		 atomic_load(&agent->budget.changes)},
		{"cairn_cpu_samples_total", "counter", "CPU samples in profiles.", (double)cpu.samples},
		{"cairn_cpu_samples_dropped_total", "counter", "CPU samples dropped because the ring was full or memory ran out.", (double)cpu.dropped},
		{"cairn_sampling_period_bytes", "gauge", "Mean distance of samples, in allocated bytes.", (double)cairn_profiler_period(profiler)},
		{"cairn_last_snapshot_samples", "gauge", "Sampled live objects in the last snapshot.", (double)samples},
		{"cairn_last_snapshot_seconds", "gauge", "How long jemalloc took to write the last snapshot.",
		 (double)atomic_load(&snapshots->last_duration_ns) / 1e9},
		{"cairn_snapshots_total", "counter", "Snapshots taken.", atomic_load(&snapshots->taken)},
		{"cairn_snapshots_failed_total", "counter", "Snapshots that failed.", atomic_load(&snapshots->failed)},
		{"cairn_dumps_total", "counter", "Dump files written.", atomic_load(&counters->dumps)},
		{"cairn_trigger_dumps_failed_total", "counter", "Dumps that a rule asked for and that could not be written.",
		 atomic_load(&agent->monitor.failed)},
		{"cairn_last_trigger_dump_time_seconds", "gauge", "When the last of them was written, since 1970.", last_dump(&agent->monitor)},
		{"cairn_dumps_thinned_total", "counter", "Dump files removed to stay within limits, beside those removed for a new one.",
		 atomic_load(&agent->monitor.thinned)},
		{"cairn_requests_total", "counter", "Requests the agent has answered.", atomic_load(&counters->requests)},
		{"cairn_requests_refused_total", "counter", "Requests refused for their Host, Origin or token.", atomic_load(&counters->refused)},
		{"cairn_dropped_total", "counter", "Requests turned away because too much was under way.", atomic_load(&counters->busy)},
		{"cairn_children_failed_total", "counter", "Children for naming and drawing that failed.", atomic_load(&counters->children_bad)},
	};
	write_all(out, metrics, sizeof metrics / sizeof *metrics);
}
