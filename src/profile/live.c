/* live.c - reads lines of `# cairn live`, `freed`, `peak`, `mapping` and `history`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/live.h"

#include "base/text.h"
#include "dump/ledger_heap.h"

#include <assert.h>

bool cairn_live_section(struct cairn_bytes text, struct cairn_bytes *section)
{
	static const char first[] = "\n" CAIRN_LEDGER_SECTION, trailer[] = "\n# cairn trailer ";
	const char *start = text.length ? memmem(text.data, text.length, first, sizeof first - 1) : NULL;
	if (!start)
		return false;
	*section = cairn_bytes_skip(text, (size_t)(start - text.data) + sizeof first - 1);
	/* Of a dump without samples, the trailer begins right here. */
	const char *end = memmem(section->data - 1, section->length + 1, trailer, sizeof trailer - 1);
	if (end)
		section->length = (size_t)(end + 1 - section->data);
	return true;
}

/* Reads COUNT numbers separated by spaces. */
static bool take_numbers(struct cairn_bytes *line, uint64_t *const *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		cairn_text_skip_blanks(line);
		if (!cairn_text_decimal(line, numbers[i]))
			return false;
	}
	return true;
}

bool cairn_live_next(struct cairn_bytes *rest, struct cairn_live *live)
{
	struct cairn_bytes line;
	bool complete;
	uint64_t *const numbers[] = {&live->stack, &live->size, &live->slack, &live->period, &live->thread, &live->age_us, &live->heap};
	uint64_t *const slab[] = {&live->slab_free, &live->slab_regions, &live->slab_bytes};
	while (cairn_text_line(rest, &line, &complete)) {
		if (!complete || !cairn_text_take(&line, "# cairn live ") ||
		    !take_numbers(&line, numbers, sizeof numbers / sizeof *numbers) || live->period == 0)
			continue;
		if (!take_numbers(&line, slab, sizeof slab / sizeof *slab) || live->slab_free >= live->slab_regions)
			live->slab_regions = 0;
		return true;
	}
	return false;
}

bool cairn_freed_next(struct cairn_bytes *rest, struct cairn_freed *freed)
{
	struct cairn_bytes line;
	bool complete;
	uint64_t *const numbers[] = {&freed->stack, &freed->samples, &freed->objects, &freed->bytes, &freed->elsewhere};
	while (cairn_text_line(rest, &line, &complete)) {
		*freed = (struct cairn_freed){0};
		if (!complete || !cairn_text_take(&line, "# cairn freed ") ||
		    !take_numbers(&line, numbers, sizeof numbers / sizeof *numbers))
			continue;
		for (uint64_t bucket, samples;;) {
			cairn_text_skip_blanks(&line);
			if (!cairn_text_decimal(&line, &bucket) || !cairn_text_take(&line, ":") || !cairn_text_decimal(&line, &samples))
				break;
			if (bucket < CAIRN_LIFETIMES)
				freed->lifetimes[bucket] += samples;
		}
		return true;
	}
	return false;
}

bool cairn_peak_next(struct cairn_bytes *rest, struct cairn_peak *peak)
{
	struct cairn_bytes line;
	bool complete;
	uint64_t *const numbers[] = {&peak->stack, &peak->samples, &peak->objects, &peak->bytes};
	while (cairn_text_line(rest, &line, &complete))
		if (complete && cairn_text_take(&line, "# cairn peak ") && take_numbers(&line, numbers, sizeof numbers / sizeof *numbers))
			return true;
	return false;
}

static const char *const mapped_kinds[] = {"anonymous", "shared", "file", "reserved", "brk"};
static_assert(sizeof mapped_kinds / sizeof *mapped_kinds == CAIRN_MAPPED_KINDS, "every kind has a name");

const char *cairn_mapped_kind_name(enum cairn_mapped_kind kind)
{
	return mapped_kinds[kind];
}

bool cairn_mapped_next(struct cairn_bytes *rest, struct cairn_mapped *mapped)
{
	struct cairn_bytes line;
	bool complete;
	uint64_t thread; /* not used */
	uint64_t *const numbers[] = {&mapped->stack, &mapped->bytes, &thread, &mapped->age_us};
	while (cairn_text_line(rest, &line, &complete)) {
		if (!complete || !cairn_text_take(&line, "# cairn mapping ") ||
		    !take_numbers(&line, numbers, sizeof numbers / sizeof *numbers))
			continue;
		cairn_text_skip_blanks(&line);
		const char *blank = line.length ? memchr(line.data, ' ', line.length) : NULL;
		struct cairn_bytes kind = {line.data, blank ? (size_t)(blank - line.data) : line.length};
		line = cairn_bytes_skip(line, kind.length);
		uint64_t *const resident[] = {&mapped->resident};
		mapped->has_resident = take_numbers(&line, resident, 1) && mapped->resident <= mapped->bytes;
		for (int i = 0; i < CAIRN_MAPPED_KINDS; i++)
			if (cairn_bytes_equal(kind, cairn_bytes_of(mapped_kinds[i]))) {
				mapped->kind = (enum cairn_mapped_kind)i;
				return true;
			}
	}
	return false;
}

bool cairn_history_next(struct cairn_bytes *rest, struct cairn_history_row *row)
{
	struct cairn_bytes line;
	bool complete;
	uint64_t *const numbers[] = {&row->resident, &row->usage, &row->limit, &row->live, &row->allocated};
	while (cairn_text_line(rest, &line, &complete)) {
		if (!complete || !cairn_text_take(&line, "# cairn history "))
			continue;
		const char *blank = line.length ? memchr(line.data, ' ', line.length) : NULL;
		struct cairn_bytes time = {line.data, blank ? (size_t)(blank - line.data) : 0};
		line = cairn_bytes_skip(line, time.length);
		if (cairn_text_seconds(time, &row->time_ns) && row->time_ns > 0 &&
		    take_numbers(&line, numbers, sizeof numbers / sizeof *numbers))
			return true;
	}
	return false;
}

static const struct {
	uint64_t below_s;
	const char *name;
} ages[] = {
	{1, "under 1 s"}, {10, "1 s to 10 s"}, {60, "10 s to 1 min"}, {600, "1 min to 10 min"}, {3600, "10 min to 1 h"},
	{6 * 3600, "1 h to 6 h"}, {24 * 3600, "6 h to 1 day"}, {UINT64_MAX, "1 day and more"},
};
static_assert(sizeof ages / sizeof *ages == CAIRN_AGES, "every class has a name");

unsigned cairn_age_class(uint64_t age_us)
{
	unsigned number = 0;
	while (age_us / 1000000 >= ages[number].below_s)
		number++;
	return number;
}

const char *cairn_age_name(unsigned number)
{
	return ages[number < CAIRN_AGES ? number : CAIRN_AGES - 1].name;
}
