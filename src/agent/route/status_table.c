/* status_table.c - one row per fact of the agent's status, and the three ways to tell them.
 *
 * A row's place in JSON is a path ("snapshots.last.samples"): rows of one object stand together, so that the writer opens it once. A row
 * without a path is not in JSON, one without a label not in the text, one without a metric not for Prometheus. A family is a row for
 * several numbers of one kind, told apart by a word.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/status.h"

#include "base/date.h"
#include "base/json.h"
#include "base/time.h"
#include "base/utf8.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

enum kind {
	TEXT,    /* const char *; null in JSON when empty */
	CHARS,   /* char[] */
	BOOL,
	INT,     /* int */
	UINT,    /* unsigned */
	SIZE,    /* uint64_t */
	DOUBLE,
	SHARE,   /* double; null in JSON when 0 */
	TIME,    /* int64_t nanoseconds since 1970; null when 0, seconds to the millisecond in JSON and metrics */
	FAMILY,  /* see `family` */
	SPECIAL, /* written by a function */
};

enum condition { ALWAYS, WITH_SAMPLER, WITH_LEDGER, WITH_JEMALLOC, WITH_STATISTICS, WITH_HOOK, WITH_RULES };

struct family {
	int first, end;
	const char *(*word)(int member);
	double (*value)(const struct cairn_status *status, int member);
	const char *label; /* in the metric */
};

struct fact {
	enum kind kind;
	size_t offset;
	const char *path;  /* in JSON */
	const char *label; /* in the text */
	const char *metric, *type, *help;
	enum condition condition;
	const struct family *family;
	void (*special)(const struct cairn_status *status, struct cairn_json *json, const char *key);
};

static const char *rule_word(int member)
{
	return cairn_trigger_name((enum cairn_trigger_reason)member);
}

static double rule_dumps(const struct cairn_status *status, int member)
{
	return status->dumps_by_rule[member];
}

static const char *state_word(int member)
{
	return cairn_profiler_state_name((enum cairn_profiler_state)member);
}

static double is_state(const struct cairn_status *status, int member)
{
	return (int)status->state == member;
}

static const char *end_word(int member)
{
	return cairn_unwind_end_name((enum cairn_unwind_end)member);
}

static double stack_ends(const struct cairn_status *status, int member)
{
	return (double)status->stacks.ends[member];
}

static const struct family by_rule = {CAIRN_TRIGGER_NONE + 1, CAIRN_TRIGGER_REASONS, rule_word, rule_dumps, "rule"};
static const struct family by_state = {CAIRN_PROFILER_UNAVAILABLE, CAIRN_PROFILER_ACTIVE + 1, state_word, is_state, "state"};
static const struct family by_end = {0, CAIRN_UNWIND_ENDS, end_word, stack_ends, "end"};
/* In JSON those that ended well are `stacks` less all others. */
static const struct family by_bad_end = {CAIRN_UNWIND_TRUNCATED, CAIRN_UNWIND_ENDS, end_word, stack_ends, NULL};

static void write_rules(const struct cairn_status *status, struct cairn_json *json, const char *key)
{
	char value[32];
	cairn_json_open(json, key, '{');
	for (unsigned i = 0; status->watching && cairn_trigger_word(i); i++) {
		cairn_trigger_show(status->rules, cairn_trigger_word(i), value, sizeof value);
		cairn_json_text(json, cairn_trigger_word(i), cairn_bytes_of(value));
	}
	cairn_json_close(json, '}');
}

static void write_config(const struct cairn_status *status, struct cairn_json *json, const char *key)
{
	cairn_json_open(json, key, '{');
	for (unsigned i = 0; i < CAIRN_CONFIG_KEYS; i++) {
		char value[300];
		const char *name = cairn_config_show(status->config, i, value, sizeof value);
		cairn_json_open(json, name, '{');
		cairn_json_text(json, "value", cairn_bytes_of(value));
		cairn_json_text(json, "from", cairn_bytes_of(cairn_config_origin_name(status->config->origins[i])));
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, '}');
}

#define AT(member) offsetof(struct cairn_status, member)
#define GAUGE "gauge"
#define COUNTER "counter"
static const struct fact facts[] = {
	{INT, AT(process.pid), "pid", "pid"},
	{CHARS, AT(process.command), "command", "command"},
	{CHARS, AT(process.executable), "executable", "executable"},
	{CHARS, AT(service), "service", "service"},
	{CHARS, AT(process.host), "host", "host"},
	{TIME, AT(process.start_ns), "start", "start"},
	{TEXT, AT(state_name), "state", "state"},
	{FAMILY, .metric = "cairn_profiler_state", .type = GAUGE, .help = "State of the heap profiler: 1 for the current state.",
	 .family = &by_state},
	{BOOL, AT(active), "active"},
	{CHARS, AT(why.text), "why", "why"},
	{TIME, AT(active_since_ns), "active_since", "active since"},
	{TIME, AT(reset_ns), "reset_at", "reset at"},
	{SIZE, AT(period), "period", "period", "cairn_sampling_period_bytes", GAUGE, "Mean bytes allocated between samples."},
	{SIZE, AT(stacks.stacks), "samples", "samples taken since the start", .condition = WITH_HOOK},
	{SIZE, AT(ledger_taken), "samples", "samples taken since the start", .condition = WITH_LEDGER},
	{BOOL, AT(gdump), "gdump", "gdump"},
	{TEXT, AT(engine), "engine.name", "engine"},
	{CHARS, AT(engine_warning), "engine.warning", "engine warning"},
	{TEXT, AT(sampler.allocator), "engine.allocator", "allocator", .condition = WITH_SAMPLER},
	{CHARS, AT(sampler.inside), "engine.inside", "allocators inside", .condition = WITH_SAMPLER},
	{UINT, AT(sampler.patch.objects), "engine.objects", .condition = WITH_SAMPLER},
	{UINT, AT(sampler.patch.slots), "engine.relocations", .condition = WITH_SAMPLER},
	{UINT, AT(sampler.patch.pending), "engine.pending", .condition = WITH_SAMPLER},
	{TEXT, AT(sampler.file), "ledger.file", "ledger file", .condition = WITH_LEDGER},
	{TEXT, AT(sampler.file_problem), "ledger.problem", "ledger problem", .condition = WITH_LEDGER},
	{SIZE, AT(first_period), "ledger.first_period", .condition = WITH_LEDGER},
	{SIZE, AT(sampler.ledger.header.bytes), "ledger.bytes", .condition = WITH_LEDGER},
	{SIZE, AT(ledger_live), "ledger.live", "live samples", "cairn_ledger_live_samples", GAUGE, "Live samples in the ledger.",
	 WITH_LEDGER},
	{SIZE, AT(ledger_slots), "ledger.slots", NULL, "cairn_ledger_slots", GAUGE, "Samples the ledger has room for.", WITH_LEDGER},
	{SIZE, AT(ledger_live_bytes), "ledger.live_bytes", "live bytes", "cairn_ledger_live_bytes", GAUGE, "Estimated live bytes.",
	 WITH_LEDGER},
	{SIZE, AT(ledger_highest_bytes), "ledger.highest_bytes", "highest", "cairn_ledger_highest_bytes", GAUGE,
	 "The highest estimate of live bytes so far.", WITH_LEDGER},
	{SIZE, AT(ledger_taken), "ledger.taken", NULL, "cairn_ledger_samples_total", COUNTER, "Samples taken.", WITH_LEDGER},
	{SIZE, AT(ledger_freed), "ledger.freed", NULL, "cairn_ledger_freed_total", COUNTER, "Samples whose objects were freed.",
	 WITH_LEDGER},
	{SIZE, AT(ledger_stacks), "ledger.stacks", .condition = WITH_LEDGER},
	{SIZE, AT(ledger_stack_slots), "ledger.stack_slots", .condition = WITH_LEDGER},
	{SIZE, AT(ledger_replaced), "ledger.replaced", "missed frees", "cairn_ledger_missed_frees_total", COUNTER,
	 "Samples whose free was missed: their address was handed out again.", WITH_LEDGER},
	{SIZE, AT(ledger_dropped), "ledger.dropped", "dropped samples", "cairn_ledger_dropped_total", COUNTER,
	 "Samples for which the ledger had no room.", WITH_LEDGER},
	{SIZE, AT(ledger_dropped_bytes), "ledger.dropped_bytes", .condition = WITH_LEDGER},
	{SIZE, AT(ledger_doublings), "ledger.doublings", "period doublings", "cairn_ledger_doublings_total", COUNTER,
	 "How often the period was doubled because the ledger filled up.", WITH_LEDGER},
	{SIZE, AT(ledger_thinned), "ledger.thinned", .condition = WITH_LEDGER},
	{SIZE, AT(ledger_stacks_lost), "ledger.stacks_lost", "stacks lost", "cairn_ledger_stacks_lost_total", COUNTER,
	 "Samples whose stack the ledger had no room for.", WITH_LEDGER},
	{SIZE, AT(ledger_stacks_recycled), "ledger.stacks_recycled", .condition = WITH_LEDGER},
	{SIZE, AT(ledger_threads_lost), "ledger.threads_lost", .condition = WITH_LEDGER},
	{TEXT, AT(jemalloc_version), "jemalloc.version", "jemalloc"},
	{TEXT, AT(jemalloc_prefix), "jemalloc.prefix", "prefix"},
	{TEXT, AT(jemalloc_module), "jemalloc.module", "module"},
	{TEXT, AT(jemalloc_found), "jemalloc.found"},
	{BOOL, AT(is_malloc), "jemalloc.is_malloc"},
	{TEXT, AT(jemalloc_variable), "jemalloc.variable", .condition = WITH_JEMALLOC},
	{TEXT, AT(prof_prefix), "jemalloc.prof_prefix", .condition = WITH_JEMALLOC},
	{BOOL, AT(accumulates), "jemalloc.prof_accum", .condition = WITH_JEMALLOC},
	{BOOL, AT(has_statistics), "jemalloc.statistics", "statistics", "jemalloc_statistics", GAUGE,
	 "Whether jemalloc was built with statistics; 0 means that its numbers are missing here.", WITH_JEMALLOC},
	{SIZE, AT(allocated), "jemalloc.allocated", NULL, "jemalloc_allocated_bytes", GAUGE,
	 "Bytes in live allocations of the application.", WITH_STATISTICS},
	{SIZE, AT(in_pages), "jemalloc.active", NULL, "jemalloc_active_bytes", GAUGE, "Bytes in pages that hold live allocations.",
	 WITH_STATISTICS},
	{SIZE, AT(metadata), "jemalloc.metadata", NULL, "jemalloc_metadata_bytes", GAUGE, "Bytes the allocator uses for itself.",
	 WITH_STATISTICS},
	{SIZE, AT(resident), "jemalloc.resident", NULL, "jemalloc_resident_bytes", GAUGE,
	 "Bytes of the allocator's pages that are in physical memory, at most.", WITH_STATISTICS},
	{SIZE, AT(mapped), "jemalloc.mapped", NULL, "jemalloc_mapped_bytes", GAUGE,
	 "Bytes of address space in extents the allocator has mapped.", WITH_STATISTICS},
	{SIZE, AT(retained), "jemalloc.retained", NULL, "jemalloc_retained_bytes", GAUGE,
	 "Bytes of address space kept after their memory was given back.", WITH_STATISTICS},
	{SIZE, AT(allocated_in_all), "jemalloc.allocated_total", "allocated in total", "jemalloc_allocated_bytes_total", COUNTER,
	 "Bytes allocated since the start, freed or not.", WITH_STATISTICS},
	/* As Databend calls them. */
	{SIZE, AT(resident), .metric = "sys_jemalloc_resident", .type = GAUGE,
	 .help = "Bytes of the allocator's pages that are in physical memory, at most.", .condition = WITH_STATISTICS},
	{SIZE, AT(allocated), .metric = "sys_jemalloc_allocated", .type = GAUGE, .help = "Bytes in live allocations of the application.",
	 .condition = WITH_STATISTICS},
	{TEXT, AT(unwinder), "unwinder.name"},
	{TEXT, AT(unwinder_why), "unwinder.why"},
	{TEXT, AT(unwinder_warning), "unwinder.warning"},
	{SIZE, AT(stacks.stacks), "unwinder.stacks"},
	{FAMILY, .path = "unwinder", .family = &by_bad_end},
	{FAMILY, .metric = "cairn_stacks_total", .type = COUNTER,
	 .help = "Stacks of sampled allocations taken by Cairn's unwinder, by how they ended.", .family = &by_end},
	{DOUBLE, AT(stacks.frames_per_stack), "unwinder.frames_per_stack"},
	{DOUBLE, AT(stacks.ns_per_stack), "unwinder.ns_per_stack"},
	{DOUBLE, AT(seconds_per_stack), .metric = "cairn_stack_seconds", .type = GAUGE, .help = "Mean time to take a stack."},
	{DOUBLE, AT(samples_per_second), "cost.samples_per_second", NULL, "cairn_profiling_samples_per_second", GAUGE,
	 "Sampled allocations per second."},
	{DOUBLE, AT(ns_per_sample), "cost.ns_per_sample"},
	{DOUBLE, AT(cpu_share), "cost.cpu_share", NULL, "cairn_profiling_cpu_share", GAUGE,
	 "Share of the process's CPU time that heap profiling costs."},
	{SIZE, AT(profiling_memory), "cost.memory_bytes", NULL, "cairn_profiling_memory_bytes", GAUGE,
	 "Upper bound of the extra memory that sampled objects of the last snapshot take."},
	{SHARE, AT(budget), "cost.budget"},
	{UINT, AT(period_changes), "cost.period_changes", NULL, "cairn_period_changes_total", COUNTER,
	 "Changes of the sampling period made to stay within the budget."},
	{SIZE, AT(previous_period), "cost.previous_period"},
	{TIME, AT(period_changed_ns), "cost.changed_at"},
	{BOOL, AT(cpu.running), "cpu.running"},
	{SIZE, AT(cpu.runs), "cpu.runs"},
	{SIZE, AT(cpu.samples), "cpu.samples", NULL, "cairn_cpu_samples_total", COUNTER, "CPU samples in profiles."},
	{SIZE, AT(cpu.dropped), "cpu.dropped", NULL, "cairn_cpu_samples_dropped_total", COUNTER,
	 "CPU samples dropped because the ring was full or memory ran out."},
	{UINT, AT(snapshots), "snapshots.taken", "snapshots", "cairn_snapshots_total", COUNTER, "Snapshots taken."},
	{UINT, AT(snapshots_shared), "snapshots.shared"},
	{UINT, AT(snapshots_failed), "snapshots.failed", "snapshots failed", "cairn_snapshots_failed_total", COUNTER,
	 "Snapshots that failed."},
	{TIME, AT(snapshot_ns), "snapshots.last.time", "last snapshot"},
	{DOUBLE, AT(snapshot_milliseconds), "snapshots.last.milliseconds"},
	{DOUBLE, AT(snapshot_seconds), .metric = "cairn_last_snapshot_seconds", .type = GAUGE, .help = "How long the last snapshot took."},
	{SIZE, AT(snapshot_samples), "snapshots.last.samples", "live samples in the last snapshot", "cairn_last_snapshot_samples", GAUGE,
	 "Sampled live objects in the last snapshot."},
	{SIZE, AT(snapshot_bytes), "snapshots.last.sampled_bytes"},
	{SIZE, AT(snapshot_size), "snapshots.last.size"},
	{CHARS, AT(folder), "dumps.folder"},
	{BOOL, AT(watching), "dumps.watching"},
	{SPECIAL, .path = "dumps.rules", .special = write_rules},
	{UINT, AT(dumps), "dumps.written", NULL, "cairn_dumps_total", COUNTER, "Dump files written."},
	{FAMILY, .path = "dumps.by_rule", .metric = "cairn_trigger_dumps_total", .type = COUNTER,
	 .help = "Dumps written because a rule asked for them, by rule.", .family = &by_rule},
	{UINT, AT(rule_dumps), .label = "dumps by rules", .condition = WITH_RULES},
	{UINT, AT(rule_dumps_failed), "dumps.failed", NULL, "cairn_trigger_dumps_failed_total", COUNTER,
	 "Dumps that a rule asked for and that could not be written."},
	{UINT, AT(rule_dumps_failed), .label = "dumps by rules failed", .condition = WITH_RULES},
	{UINT, AT(dumps_thinned), "dumps.thinned", NULL, "cairn_dumps_thinned_total", COUNTER,
	 "Dump files removed to stay within limits, beside those removed for a new one."},
	{TIME, AT(dump_ns), "dumps.last_time", "last dump", "cairn_last_trigger_dump_time_seconds", GAUGE,
	 "When the last dump that a rule asked for was written, since 1970."},
	{CHARS, AT(dump_path), "dumps.last_path", "last dump file"},
	{CHARS, AT(dump_reason), "dumps.last_reason", "last dump reason"},
	{CHARS, AT(dump_problem.text), "dumps.problem", "dump problem"},
	{TEXT, AT(version), "agent.version", "agent"},
	{TIME, AT(started_ns), "agent.started"},
	{TEXT, AT(socket), "agent.socket", "socket"},
	{TEXT, AT(socket_problem), "agent.socket_problem", "socket problem"},
	{TEXT, AT(listen), "agent.listen", "listen"},
	{TEXT, AT(listen_problem), "agent.listen_problem", "listen problem"},
	{TEXT, AT(tool), "agent.tool", "tool"},
	{UINT, AT(requests), "agent.requests", NULL, "cairn_requests_total", COUNTER, "Requests the agent has answered."},
	{UINT, AT(refused), "agent.refused", NULL, "cairn_requests_refused_total", COUNTER,
	 "Requests refused for their Host, Origin or token."},
	{UINT, AT(dropped), "agent.dropped", "requests dropped", "cairn_dropped_total", COUNTER,
	 "Requests rejected because too many were in progress."},
	{SIZE, AT(memory), "agent.memory", NULL, "cairn_memory_held_bytes", GAUGE, "Bytes that requests, snapshots and answers hold."},
	{UINT, AT(children), "agent.children"},
	{UINT, AT(children_failed), "agent.children_failed", NULL, "cairn_children_failed_total", COUNTER,
	 "Failed child processes for symbolizing and drawing."},
	{UINT, AT(dumps), "agent.dumps"},
	{UINT, AT(restarts), "agent.restarts"},
	{INT, AT(descriptors), "agent.descriptors"},
	{SPECIAL, .path = "config", .special = write_config},
	{TEXT, AT(config_problems), "config_problems", "config problems"},
};
enum { fact_count = sizeof facts / sizeof *facts };

static bool holds(const struct cairn_status *status, enum condition condition)
{
	return condition == ALWAYS || (condition == WITH_SAMPLER && status->uses_sampler) ||
	       (condition == WITH_LEDGER && status->has_ledger) || (condition == WITH_JEMALLOC && status->has_jemalloc) ||
	       (condition == WITH_STATISTICS && status->has_statistics) ||
	       (condition == WITH_HOOK && status->stacks.installed && !status->has_ledger) ||
	       (condition == WITH_RULES && (status->watching || status->dump_problem.text[0]));
}

static const char *text_of(const struct cairn_status *status, const struct fact *fact)
{
	const char *member = (const char *)status + fact->offset;
	const char *text = fact->kind == CHARS ? member : *(const char *const *)(const void *)member;
	return text ? text : "";
}

static int64_t time_of(const struct cairn_status *status, const struct fact *fact)
{
	return *(const int64_t *)(const void *)((const char *)status + fact->offset);
}

static double number_of(const struct cairn_status *status, const struct fact *fact)
{
	const void *member = (const char *)status + fact->offset;
	switch (fact->kind) {
	case BOOL:
		return *(const bool *)member;
	case INT:
		return *(const int *)member;
	case UINT:
		return *(const unsigned *)member;
	case SIZE:
		return (double)*(const uint64_t *)member;
	case DOUBLE:
	case SHARE:
		return *(const double *)member;
	case TIME:
		return (double)(time_of(status, fact) / CAIRN_MILLISECOND_NS) / 1000;
	default:
		assert(false && "a fact that is no number");
		return 0;
	}
}

static void write_members(const struct cairn_status *status, const struct family *family, struct cairn_json *json)
{
	for (int i = family->first; i < family->end; i++) {
		char key[32];
		snprintf(key, sizeof key, "%s", family->word(i));
		for (char *space; (space = strchr(key, ' '));)
			*space = '_';
		cairn_json_number(json, key, family->value(status, i));
	}
}

static void write_value(const struct cairn_status *status, const struct fact *fact, struct cairn_json *json, const char *key)
{
	switch (fact->kind) {
	case TEXT:
	case CHARS:
		if (text_of(status, fact)[0])
			cairn_json_text(json, key, cairn_bytes_of(text_of(status, fact)));
		else
			cairn_json_null(json, key);
		break;
	case BOOL:
		cairn_json_bool(json, key, number_of(status, fact) != 0);
		break;
	case TIME:
	case SHARE:
		if (number_of(status, fact) == 0)
			cairn_json_null(json, key);
		else
			cairn_json_number(json, key, number_of(status, fact));
		break;
	case SPECIAL:
		fact->special(status, json, key);
		break;
	case FAMILY:
		assert(false && "a family has an object of its own");
		break;
	default:
		cairn_json_number(json, key, number_of(status, fact));
	}
}

/* Closes and opens objects so that the one at PATH[0..LENGTH) is open; OPEN is the path of the one that is. */
static void enter(struct cairn_json *json, char *open, size_t size, const char *path, size_t length)
{
	/* Out to what both paths share. */
	for (size_t have; (have = strlen(open)) > 0;) {
		if (have <= length && memcmp(open, path, have) == 0 && (have == length || path[have] == '.'))
			break;
		char *point = strrchr(open, '.');
		*(point ? point : open) = 0;
		cairn_json_close(json, '}');
	}
	/* And in, a key at a time. */
	for (size_t at = strlen(open); at < length;) {
		at += at > 0; /* the point */
		size_t end = at;
		while (end < length && path[end] != '.')
			end++;
		char key[32];
		assert(end - at < sizeof key && end < size);
		snprintf(key, sizeof key, "%.*s", (int)(end - at), path + at);
		cairn_json_open(json, key, '{');
		snprintf(open, size, "%.*s", (int)end, path);
		at = end;
	}
}

void cairn_status_json(const struct cairn_status *status, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json_answer(out);
	char open[64] = "";
	for (size_t i = 0; i < fact_count; i++) {
		const struct fact *fact = &facts[i];
		if (!fact->path || !holds(status, fact->condition))
			continue;
		if (fact->kind == FAMILY) {
			enter(&json, open, sizeof open, fact->path, strlen(fact->path));
			write_members(status, fact->family, &json);
			continue;
		}
		const char *point = strrchr(fact->path, '.');
		enter(&json, open, sizeof open, fact->path, point ? (size_t)(point - fact->path) : 0);
		write_value(status, fact, &json, point ? point + 1 : fact->path);
	}
	enter(&json, open, sizeof open, "", 0);
	cairn_json_end(&json);
}

/* As 2026-11-15T04:10:02Z. */
static void add_time(struct cairn_buffer *out, int64_t ns)
{
	struct tm date = cairn_date(ns / CAIRN_SECOND_NS);
	cairn_buffer_format(out, "%04d-%02d-%02dT%02d:%02d:%02dZ\n", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday, date.tm_hour,
			    date.tm_min, date.tm_sec);
}

void cairn_status_text(const struct cairn_status *status, struct cairn_buffer *out)
{
	for (size_t i = 0; i < fact_count; i++) {
		const struct fact *fact = &facts[i];
		bool is_text = fact->kind == TEXT || fact->kind == CHARS;
		if (!fact->label || !holds(status, fact->condition) || (is_text && !text_of(status, fact)[0]) ||
		    (fact->kind == TIME && !time_of(status, fact)))
			continue;
		cairn_buffer_format(out, "%s: ", fact->label);
		if (is_text) { /* a name may have line ends, and what follows one would pass for another fact */
			cairn_utf8_show(out, cairn_bytes_of(text_of(status, fact)));
			cairn_buffer_byte(out, '\n');
		} else if (fact->kind == TIME)
			add_time(out, time_of(status, fact));
		else if (fact->kind == BOOL)
			cairn_buffer_text(out, number_of(status, fact) != 0 ? "on\n" : "off\n");
		else
			cairn_buffer_format(out, "%.15g\n", number_of(status, fact));
	}
}

void cairn_status_metrics(const struct cairn_status *status, struct cairn_buffer *out)
{
	cairn_buffer_format(out, "# HELP cairn_process_info The process that answers.\n# TYPE cairn_process_info gauge\n"
			    "cairn_process_info{pid=\"%d\"} 1\n", status->process.pid);
	for (size_t i = 0; i < fact_count; i++) {
		const struct fact *fact = &facts[i];
		if (!fact->metric || !holds(status, fact->condition))
			continue;
		cairn_buffer_format(out, "# HELP %s %s\n# TYPE %s %s\n", fact->metric, fact->help, fact->metric, fact->type);
		if (fact->kind != FAMILY) {
			cairn_buffer_format(out, "%s %.17g\n", fact->metric, number_of(status, fact));
			continue;
		}
		for (int k = fact->family->first; k < fact->family->end; k++)
			cairn_buffer_format(out, "%s{%s=\"%s\"} %.17g\n", fact->metric, fact->family->label, fact->family->word(k),
					    fact->family->value(status, k));
	}
}
