/* ledger_dump.c - writes the trailer from a ledger, and joins the parts of its dump.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/ledger_dump.h"

#include "base/pages.h"
#include "base/sort.h"
#include "base/time.h"
#include "dump/engine_kind.h"

/* The process that LEDGER claims to belong to. */
static struct cairn_life life_of(const struct cairn_ledger *ledger)
{
	const struct cairn_ledger_header *header = &ledger->header;
	return (struct cairn_life){.pid = header->pid > 0 ? header->pid : 0, .boot = header->boot, .ticks = header->ticks};
}

/* The latest birth in LEDGER by its clock, at least the time of its header: its process ran at least until then. */
static int64_t newest_of(const struct cairn_ledger *ledger)
{
	struct cairn_ledger_sample sample;
	int64_t newest = ledger->header.clock_ns;
	for (uint32_t i = 0; i < cairn_ledger_count(ledger, CAIRN_LEDGER_SAMPLES); i++)
		if (cairn_ledger_get_sample(ledger, i, &sample) && sample.birth_ns > newest)
			newest = sample.birth_ns;
	return newest;
}

/* Writes nothing if the header has no value. */
static void write_text(struct cairn_buffer *out, const char *key, const char *value)
{
	if (value[0])
		cairn_trailer_write_text(out, key, value);
}

static void write_time(struct cairn_buffer *out, const char *key, int64_t ns)
{
	if (ns > 0)
		cairn_trailer_write_time(out, key, ns);
}

static void write_modules(const struct cairn_ledger *ledger, struct cairn_buffer *out)
{
	struct cairn_ledger_module module;
	struct cairn_trailer_range range;
	for (uint32_t i = 0; i < cairn_ledger_count(ledger, CAIRN_LEDGER_MODULES) && !out->failed; i++)
		if (cairn_ledger_range(ledger, i, &module, &range))
			cairn_trailer_write_range(out, "module", &range);
}

static void write_end(const struct cairn_ledger_end *end, struct cairn_buffer *out)
{
	if (!end->how)
		return;
	cairn_trailer_write_text(out, "ended", end->how);
	if (end->end.kind != CAIRN_END_UNKNOWN)
		cairn_trailer_write_number(out, end->end.kind == CAIRN_END_SIGNAL ? "ended.signal" : "ended.code",
					   (uint64_t)end->end.number);
	if (end->end.out_of_memory)
		cairn_trailer_write_text(out, "ended.oom", "inferred");
}

/* Writes the memory of the process, now or shortly before its end, and its limit. */
static void write_memory(const struct cairn_ledger_end *end, struct cairn_buffer *out)
{
	char name[40];
	uint64_t *value;
	if (end->smaps) {
		struct cairn_smaps smaps = *end->smaps;
		for (unsigned i = 0; cairn_smaps_number(&smaps, i, name, &value); i++)
			cairn_trailer_write_number(out, name, *value);
		if (end->lives && smaps.has_holes)
			cairn_trailer_write_number(out, "smaps.holes", smaps.holes);
		if (!end->lives)
			cairn_trailer_write_number(out, "smaps.before_ms",
						   end->smaps_before_ns > 0 ? (uint64_t)(end->smaps_before_ns / CAIRN_MILLISECOND_NS) : 0);
	}
	if (end->lives)
		cairn_trailer_write_huge_pages(out);
	if (end->lives && end->reading)
		cairn_trailer_write_number(out, "status.rss", end->reading->resident);
	if (end->reading)
		cairn_trailer_write_limit(out, end->memory, end->reading);
}

static int compare_rows(const void *a, const void *b)
{
	int64_t one = ((const struct cairn_ledger_row *)a)->time_ns, other = ((const struct cairn_ledger_row *)b)->time_ns;
	return one < other ? -1 : one > other;
}

/* Writes `# cairn history TIME RESIDENT USAGE LIMIT LIVE ALLOCATED`, in order of time. A row that is in both rings is written once. */
static void write_history(const struct cairn_ledger *ledger, const struct cairn_ledger_end *end, struct cairn_buffer *out)
{
	uint32_t most = cairn_ledger_count(ledger, CAIRN_LEDGER_HISTORY);
	size_t size = ((size_t)most + end->row_count + 1) * sizeof(struct cairn_ledger_row), count = 0;
	struct cairn_ledger_row *rows = cairn_pages_map(size);
	int64_t first = INT64_MAX;
	for (uint32_t i = 0; rows && i < most; i++)
		if (cairn_ledger_get_row(ledger, i, &rows[count])) {
			first = rows[count].time_ns < first ? rows[count].time_ns : first;
			count++;
		}
	for (size_t i = 0; rows && i < end->row_count; i++)
		if (end->rows[i].time_ns && end->rows[i].time_ns < first)
			rows[count++] = end->rows[i];
	if (count) {
		cairn_sort(rows, count, sizeof *rows, compare_rows);
		cairn_buffer_text(out, "# cairn section history 1\n");
	}
	for (size_t i = 0; i < count && !out->failed; i++) {
		int64_t time = cairn_ledger_time(ledger, rows[i].time_ns);
		if (time <= 0 || (i && rows[i].time_ns == rows[i - 1].time_ns))
			continue;
		cairn_buffer_format(out, "# cairn history %lld.%03lld %llu %llu %llu %llu %llu\n", (long long)(time / CAIRN_SECOND_NS),
				    (long long)(time / CAIRN_MILLISECOND_NS % 1000), (unsigned long long)rows[i].resident,
				    (unsigned long long)rows[i].usage, (unsigned long long)rows[i].limit, (unsigned long long)rows[i].live,
				    (unsigned long long)rows[i].allocated);
	}
	cairn_pages_unmap(rows, size);
}

static void write_trailer(const struct cairn_ledger *ledger, const struct cairn_ledger_heap *heap, const struct cairn_ledger_end *end,
			  int64_t now_ns, struct cairn_buffer *out)
{
	const struct cairn_ledger_header *header = &ledger->header;
	struct cairn_life life = life_of(ledger);
	char text[CAIRN_LIFE_TEXT];
	cairn_trailer_write_first(out);
	write_text(out, "version", CAIRN_VERSION);
	write_time(out, "time", end->time_ns ? end->time_ns : cairn_ledger_time(ledger, now_ns));
	write_time(out, "uptime", end->uptime_ns);
	write_text(out, "host", header->host);
	cairn_trailer_write_number(out, "pid", (uint64_t)life.pid);
	write_text(out, "process", cairn_life_text(&life, text));
	write_time(out, "start", header->start_ns);
	write_text(out, "executable", header->executable);
	write_text(out, "command", header->command);
	if (header->service[0])
		write_text(out, "service", header->service);
	write_text(out, "engine", cairn_engine_name(CAIRN_ENGINE_CAIRN));
	write_text(out, "allocator", header->allocator[0] ? header->allocator : "-");
	write_text(out, "warning", header->warning);
	cairn_ledger_write_counts(ledger, out);
	if (heap->overlapping)
		cairn_trailer_write_number(out, "sampler.stacks_overlapping", heap->overlapping);
	write_time(out, "active_since", header->active_ns);
	if (header->active_ns > 0 && header->before_bytes)
		cairn_trailer_write_number(out, "active_before", header->before_bytes);
	write_time(out, "reset_at", header->reset_ns);
	if (!end->lives)
		cairn_trailer_write_text(out, "ledger", "left");
	write_end(end, out);
	write_memory(end, out);
	write_modules(ledger, out);
	cairn_trailer_write_last(out);
}

bool cairn_ledger_write_dump(const struct cairn_ledger *ledger, const struct cairn_ledger_end *end, struct cairn_buffer *out,
			     struct cairn_error *error)
{
	struct cairn_ledger_heap heap;
	int64_t now_ns = end->clock_ns ? end->clock_ns : newest_of(ledger);
	if (!cairn_ledger_write_heap(ledger, now_ns, &end->witness, out, &heap, error))
		return false;
	cairn_buffer_text(out, "\nMAPPED_LIBRARIES:\n");
	if (end->maps.length)
		cairn_buffer_append(out, end->maps.data, end->maps.length);
	else
		cairn_ledger_write_maps(ledger, out);
	cairn_buffer_append(out, heap.sections.data, heap.sections.length);
	cairn_buffer_free(&heap.sections);
	write_history(ledger, end, out);
	write_trailer(ledger, &heap, end, now_ns, out);
	return !out->failed || cairn_fail(error, "no memory for a dump of the ledger");
}
