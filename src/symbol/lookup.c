/* lookup.c - a batch of addresses through the units of a module, on all processors.
 *
 * Workers take units from a *feed* in the order of .debug_info, which is the order in which it is unpacked when it is
 * compressed: unpacking and walking go on side by side. The feed knows units by .debug_aranges; only when some address
 * is not in there does it go through the units themselves.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/lookup.h"

#include "base/array.h"
#include "base/inflate.h"
#include "base/pool.h"
#include "base/strings.h"
#include "symbol/aranges.h"
#include "symbol/function.h"
#include "symbol/line.h"
#include "symbol/split.h"
#include "symbol/symtab.h"

#include <pthread.h>
#include <stdlib.h>

/* What one thread keeps from unit to unit, and the frames it made. */
struct worker {
	struct cairn_names names;
	struct cairn_arena kept;
};

struct cairn_symbols {
	struct cairn_symbols_files files;
	struct cairn_dwarf main, alt;
	bool has_dwarf;
	struct cairn_split *split;
	struct worker *workers;
	unsigned width;
	pthread_mutex_t lock; /* over warnings, and the answers of a batch */
	struct cairn_strings warning_texts;
	const char **warnings;
	size_t warning_count, warning_capacity;
};

/* What is known of one address so far. */
struct answer {
	struct cairn_symbol symbol;
	uint64_t unit; /* of two units that know as much, the first in the file is taken, whichever was walked first */
	uint8_t quality; /* 0 nothing, 1 a line, 2 a function */
};

struct batch {
	struct cairn_symbols *symbols;
	const uint64_t *addresses; /* sorted, each once */
	size_t count;
	struct answer *answers;

	struct cairn_aranges aranges;
	size_t next_touch, next_known;
	bool all_units;     /* go through the units themselves */
	uint64_t next_unit; /* where the next one starts */
	bool ended;
	pthread_mutex_t feed_lock;
	struct cairn_abbrev_cache feed_abbrevs;

	struct cairn_inflate *inflates[2 * CAIRN_DWARF_SECTIONS];
	size_t inflate_count;
};

/* Some of the sorted addresses: COUNT of them from FIRST on. */
struct span {
	size_t first;
	size_t count;
};

/* A unit and the addresses that may be in it: first as spans, in any order and overlapping, then as places, each once. */
struct job {
	struct cairn_unit unit;
	struct span *spans;
	size_t span_count, span_capacity;
	size_t *places;
	size_t count, capacity;
};

struct cairn_symbols *cairn_symbols_open(const struct cairn_symbols_files *files)
{
	struct cairn_symbols *symbols = calloc(1, sizeof *symbols);
	unsigned width = cairn_pool_width();
	struct worker *workers = calloc(width, sizeof *workers);
	if (!symbols || !workers)
		cairn_out_of_memory(sizeof *symbols);
	symbols->files = *files;
	symbols->workers = workers;
	symbols->width = width;
	pthread_mutex_init(&symbols->lock, NULL);
	struct cairn_elf *source = files->debug && cairn_elf_has_dwarf(files->debug) ? files->debug : files->binary;
	symbols->has_dwarf = source && cairn_elf_has_dwarf(source);
	if (symbols->has_dwarf) {
		cairn_dwarf_open(&symbols->main, source, false);
		symbols->main.units = cairn_units_new(&symbols->main);
		symbols->split = cairn_split_new(files->package, files->sysroot, files->binary->path);
	}
	if (symbols->has_dwarf && files->alt) {
		cairn_dwarf_open(&symbols->alt, files->alt, false);
		symbols->alt.units = cairn_units_new(&symbols->alt);
		symbols->alt.number = 1;
		symbols->main.alt = &symbols->alt;
	}
	return symbols;
}

void cairn_symbols_close(struct cairn_symbols *symbols)
{
	if (!symbols)
		return;
	if (symbols->split)
		cairn_split_free(symbols->split);
	cairn_units_free(symbols->main.units);
	cairn_units_free(symbols->alt.units);
	for (unsigned i = 0; i < symbols->width; i++) {
		cairn_names_free(&symbols->workers[i].names);
		cairn_arena_free(&symbols->workers[i].kept);
	}
	free(symbols->workers);
	cairn_strings_free(&symbols->warning_texts);
	free(symbols->warnings);
	pthread_mutex_destroy(&symbols->lock);
	free(symbols);
}

const char *const *cairn_symbols_warnings(const struct cairn_symbols *symbols, size_t *count)
{
	*count = symbols->warning_count;
	return symbols->warnings;
}

static void warn(struct cairn_symbols *symbols, const char *text)
{
	enum { most_warnings = 16 };
	pthread_mutex_lock(&symbols->lock);
	size_t before = symbols->warning_texts.count;
	uint32_t id = cairn_strings_add_text(&symbols->warning_texts, text);
	if (symbols->warning_texts.count > before && symbols->warning_count < most_warnings) {
		cairn_array_room(symbols->warnings, symbols->warning_count, symbols->warning_capacity);
		symbols->warnings[symbols->warning_count++] = cairn_strings_text(&symbols->warning_texts, id);
	}
	pthread_mutex_unlock(&symbols->lock);
}

/* The feed. */

static int by_first(const void *a, const void *b)
{
	const struct span *left = a, *right = b;
	return (left->first > right->first) - (left->first < right->first);
}

static void add_span(struct job *job, size_t first, size_t count)
{
	if (count == 0)
		return;
	cairn_array_room(job->spans, job->span_count, job->span_capacity);
	job->spans[job->span_count++] = (struct span){first, count};
}

static void set_places(struct job *job)
{
	qsort(job->spans, job->span_count, sizeof *job->spans, by_first);
	size_t next = 0;
	job->count = 0;
	for (size_t i = 0; i < job->span_count; i++) {
		size_t first = job->spans[i].first, end = first + job->spans[i].count;
		for (next = next > first ? next : first; next < end; next++) {
			cairn_array_room(job->places, job->count, job->capacity);
			job->places[job->count++] = next;
		}
	}
}

/* Takes what .debug_aranges found for the unit at OFFSET, if it is the next one there. */
static void take_touches(struct batch *batch, struct job *job, uint64_t offset)
{
	const struct cairn_aranges *aranges = &batch->aranges;
	for (; batch->next_touch < aranges->touch_count && aranges->touches[batch->next_touch].unit <= offset; batch->next_touch++)
		if (aranges->touches[batch->next_touch].unit == offset)
			add_span(job, aranges->touches[batch->next_touch].first, aranges->touches[batch->next_touch].count);
}

static bool is_known(struct batch *batch, uint64_t offset)
{
	const struct cairn_aranges *aranges = &batch->aranges;
	while (batch->next_known < aranges->unit_count && aranges->units[batch->next_known] < offset)
		batch->next_known++;
	return batch->next_known < aranges->unit_count && aranges->units[batch->next_known] == offset;
}

/* Which addresses the root of a unit says it has. Where it says nothing, its functions have to: all addresses are tried. */
static void take_ranges(struct batch *batch, struct job *job)
{
	struct cairn_unit *unit = &job->unit;
	if (!cairn_unit_has_code(unit) || !cairn_unit_read_root(unit, &batch->feed_abbrevs) || !cairn_unit_has_code(unit))
		return;
	cairn_abbrev_cache_trim(&batch->feed_abbrevs);
	if (unit->ranges.kind == CAIRN_VALUE_NONE && unit->high.kind == CAIRN_VALUE_NONE) {
		add_span(job, 0, batch->count);
		return;
	}
	struct cairn_ranges ranges = cairn_ranges(unit, &unit->low, &unit->high, &unit->ranges);
	struct cairn_range range;
	while (cairn_ranges_next(&ranges, &range)) {
		size_t found, first = cairn_addresses_within(batch->addresses, batch->count, range, &found);
		add_span(job, first, found);
	}
}

static bool next_of_all(struct batch *batch, struct job *job)
{
	while (!batch->ended) {
		uint64_t offset = batch->next_unit;
		bool good = cairn_unit_read(&job->unit, &batch->symbols->main, offset, &batch->next_unit);
		batch->ended = batch->next_unit == 0;
		if (!good)
			continue;
		if (is_known(batch, offset))
			take_touches(batch, job, offset);
		else
			take_ranges(batch, job);
		if (job->span_count)
			return true;
	}
	return false;
}

/* The next unit that some address is in. */
static bool next_job(struct batch *batch, struct job *job)
{
	bool found;
	job->span_count = 0;
	pthread_mutex_lock(&batch->feed_lock);
	if (batch->all_units) {
		found = next_of_all(batch, job);
	} else {
		found = batch->next_touch < batch->aranges.touch_count;
		if (found) {
			job->unit.offset = batch->aranges.touches[batch->next_touch].unit;
			take_touches(batch, job, job->unit.offset);
		}
	}
	pthread_mutex_unlock(&batch->feed_lock);
	if (found)
		set_places(job);
	return found;
}

/* The work on one unit. */

struct findings {
	const struct cairn_call **calls;
	struct cairn_line_row *rows;
	struct cairn_lines lines;
};

static void set_place(struct cairn_symbol_frame *frame, struct worker *worker, struct cairn_lines *lines, uint64_t file,
	uint32_t line, uint32_t column)
{
	frame->file = cairn_lines_path(lines, file, &worker->kept);
	frame->line = line;
	frame->column = column;
}

/* A function's own place comes from the line program; that of the function it is inlined into is where it is called. */
static void make_frames(struct worker *worker, struct findings *findings, size_t i, struct answer *answer)
{
	const struct cairn_call *call = findings->calls[i];
	const struct cairn_line_row *row = &findings->rows[i];
	uint32_t count = call ? 0 : 1;
	for (const struct cairn_call *each = call; each; each = each->caller)
		count++;
	struct cairn_symbol_frame *frames = cairn_arena_zero(&worker->kept, count, sizeof *frames);
	if (row->found)
		set_place(&frames[0], worker, &findings->lines, row->file, row->line, row->column);
	for (uint32_t k = 0; call; k++, call = call->caller) {
		frames[k].function = call->name.text;
		frames[k].function_line = call->name.line;
		frames[k].mangled = call->name.mangled;
		frames[k].inlined = call->caller != NULL;
		if (call->caller)
			set_place(&frames[k + 1], worker, &findings->lines, call->file, call->line, call->column);
	}
	answer->symbol = (struct cairn_symbol){frames, count, findings->calls[i] ? CAIRN_SYMBOL_DWARF : CAIRN_SYMBOL_NONE};
}

static void keep_answers(struct batch *batch, struct worker *worker, const struct job *job, struct findings *findings)
{
	pthread_mutex_lock(&batch->symbols->lock);
	for (size_t i = 0; i < job->count; i++) {
		struct answer *answer = &batch->answers[job->places[i]];
		uint8_t quality = findings->calls[i] ? 2 : findings->rows[i].found ? 1 : 0;
		if (quality < answer->quality || quality == 0 || (quality == answer->quality && answer->unit < job->unit.offset))
			continue;
		answer->quality = quality;
		answer->unit = job->unit.offset;
		make_frames(worker, findings, i, answer);
	}
	pthread_mutex_unlock(&batch->symbols->lock);
}

static void walk_unit(struct batch *batch, struct worker *worker, struct job *job)
{
	struct cairn_symbols *symbols = batch->symbols;
	struct cairn_unit *unit = &job->unit, split_unit;
	const struct cairn_unit *tree = unit;
	struct cairn_arena scratch = {0};
	uint64_t *addresses = cairn_arena_alloc(&scratch, job->count * sizeof *addresses);
	for (size_t i = 0; i < job->count; i++)
		addresses[i] = batch->addresses[job->places[i]];
	struct findings findings = {
		.calls = cairn_arena_zero(&scratch, job->count, sizeof *findings.calls),
		.rows = cairn_arena_zero(&scratch, job->count, sizeof *findings.rows),
	};
	if (unit->dwo_name && unit->has_dwo_id) {
		struct cairn_error error;
		tree = cairn_split_unit(symbols->split, unit, &split_unit, &worker->names.abbrevs, &error);
		if (!tree)
			warn(symbols, error.text);
	}
	if (tree)
		cairn_functions_match(tree, &worker->names, &scratch, addresses, job->count, findings.calls);
	if (cairn_lines_open(&findings.lines, unit) && cairn_names_spend(&worker->names, cairn_cursor_left(&findings.lines.program)))
		cairn_lines_match(&findings.lines, addresses, job->count, findings.rows);
	keep_answers(batch, worker, job, &findings);
	cairn_lines_close(&findings.lines);
	cairn_arena_free(&scratch);
	cairn_abbrev_cache_trim(&worker->names.abbrevs);
}

/* Each part may be read a few times by each thread, and each address be found some hundred levels deep. */
static void allow_effort(const struct batch *batch, struct cairn_names *names)
{
	uint64_t total = 1 << 20;
	for (int i = 0; i < CAIRN_DWARF_SECTIONS; i++)
		total += batch->symbols->main.sections[i].length;
	names->spent = 0;
	names->limit = 8 * total + 1000 * (uint64_t)batch->count;
}

static void work_off(struct batch *batch, struct worker *worker)
{
	struct job job = {0};
	cairn_dwarf_await_others(&batch->symbols->main);
	if (batch->symbols->main.alt)
		cairn_dwarf_await_others(&batch->symbols->alt);
	allow_effort(batch, &worker->names);
	while (next_job(batch, &job)) {
		uint64_t next;
		if (!cairn_names_spend(&worker->names, 0)) {
			warn(batch->symbols, "debug information refers to the same parts over and over; some of it was left out");
			break;
		}
		if (!batch->all_units && !cairn_unit_read(&job.unit, &batch->symbols->main, job.unit.offset, &next))
			continue;
		if (cairn_unit_read_root(&job.unit, &worker->names.abbrevs))
			walk_unit(batch, worker, &job);
	}
	free(job.places);
	free(job.spans);
}

/* Items are unpackings first, then one loop over the feed for each thread. */
static void run_item(void *context, size_t item, unsigned worker)
{
	struct batch *batch = context;
	if (item < batch->inflate_count)
		cairn_inflate_run(batch->inflates[item]);
	else
		work_off(batch, &batch->symbols->workers[worker]);
}

/* .debug_info comes first: it takes the longest, and everything waits for it. */
static void add_inflates(struct batch *batch, const struct cairn_dwarf *dwarf)
{
	for (int i = 0; i < CAIRN_DWARF_SECTIONS; i++)
		if (dwarf->inflates[i] && !cairn_inflate_is_done(dwarf->inflates[i]))
			batch->inflates[batch->inflate_count++] = dwarf->inflates[i];
}

static bool covers_all(const struct batch *batch)
{
	struct job all = {0};
	for (size_t i = 0; i < batch->aranges.touch_count; i++)
		add_span(&all, batch->aranges.touches[i].first, batch->aranges.touches[i].count);
	if (all.span_count)
		set_places(&all);
	bool covers = all.count == batch->count;
	free(all.spans);
	free(all.places);
	return covers;
}

static void match_dwarf(struct batch *batch)
{
	struct cairn_symbols *symbols = batch->symbols;
	cairn_aranges_match(&batch->aranges, &symbols->main, batch->addresses, batch->count);
	batch->all_units = !covers_all(batch);
	add_inflates(batch, &symbols->main);
	if (symbols->main.alt)
		add_inflates(batch, &symbols->alt);
	pthread_mutex_init(&batch->feed_lock, NULL);
	size_t loops = batch->count < symbols->width ? batch->count : symbols->width;
	cairn_pool_run(batch->inflate_count + loops, run_item, batch);
	pthread_mutex_destroy(&batch->feed_lock);
	cairn_abbrev_cache_free(&batch->feed_abbrevs);
	cairn_aranges_free(&batch->aranges);
}

/* A function DWARF knows of but has no name for can still get one. */
static bool is_named(const struct cairn_symbol *symbol)
{
	return symbol->count && symbol->frames[symbol->count - 1].function;
}

static void add_symbol(struct cairn_symbol *symbol, struct cairn_arena *arena, const struct cairn_symtab_match *match,
	enum cairn_symbol_source source)
{
	uint32_t count = symbol->count ? symbol->count : 1;
	struct cairn_symbol_frame *frames = cairn_arena_zero(arena, count, sizeof *frames);
	if (symbol->count)
		memcpy(frames, symbol->frames, count * sizeof *frames);
	else
		frames[0].file = match->file;
	/* Tables of debug files write a symbol's version behind its name. */
	size_t length = strcspn(match->name, "@");
	frames[count - 1].function =
		match->name[length] ? cairn_arena_text(arena, (struct cairn_bytes){match->name, length}) : match->name;
	frames[count - 1].mangled = true;
	*symbol = (struct cairn_symbol){frames, count, source};
}

/* Gives answers without a function the name of a symbol of TABLE that covers them. */
static void match_symbols(struct batch *batch, const struct cairn_elf *elf, const char *table, enum cairn_symbol_source source)
{
	if (!elf || !cairn_elf_section(elf, table))
		return;
	struct cairn_arena scratch = {0}, *kept = &batch->symbols->workers[0].kept;
	uint64_t *addresses = cairn_arena_alloc(&scratch, batch->count * sizeof *addresses);
	struct cairn_symbol **symbols = cairn_arena_alloc(&scratch, batch->count * sizeof *symbols);
	size_t count = 0;
	for (size_t i = 0; i < batch->count; i++) {
		if (is_named(&batch->answers[i].symbol))
			continue;
		addresses[count] = batch->addresses[i];
		symbols[count++] = &batch->answers[i].symbol;
	}
	struct cairn_symtab_match *matches = cairn_arena_zero(&scratch, count, sizeof *matches);
	if (count)
		cairn_symtab_match(elf, table, addresses, count, matches);
	for (size_t i = 0; i < count; i++)
		if (matches[i].name)
			add_symbol(symbols[i], kept, &matches[i], source);
	cairn_arena_free(&scratch);
}

struct wanted {
	uint64_t address;
	size_t place; /* in the caller's array */
};

static int by_address(const void *a, const void *b)
{
	const struct wanted *left = a, *right = b;
	return (left->address > right->address) - (left->address < right->address);
}

static void match_all(struct batch *batch)
{
	const struct cairn_symbols_files *files = &batch->symbols->files;
	if (batch->symbols->has_dwarf)
		match_dwarf(batch);
	match_symbols(batch, files->debug, ".symtab", CAIRN_SYMBOL_SYMTAB);
	match_symbols(batch, files->binary, ".symtab", CAIRN_SYMBOL_SYMTAB);
	match_symbols(batch, files->binary, ".dynsym", CAIRN_SYMBOL_DYNSYM);
	match_symbols(batch, files->mini, ".symtab", CAIRN_SYMBOL_MINI);
}

void cairn_symbols_lookup(struct cairn_symbols *symbols, const uint64_t *addresses, size_t count, struct cairn_symbol *results)
{
	if (count == 0)
		return;
	struct cairn_arena scratch = {0};
	struct wanted *wanted = cairn_arena_alloc(&scratch, count * sizeof *wanted);
	for (size_t i = 0; i < count; i++)
		wanted[i] = (struct wanted){addresses[i], i};
	qsort(wanted, count, sizeof *wanted, by_address);
	uint64_t *sorted = cairn_arena_alloc(&scratch, count * sizeof *sorted);
	struct batch batch = {.symbols = symbols, .addresses = sorted};
	for (size_t i = 0; i < count; i++)
		if (i == 0 || wanted[i].address != wanted[i - 1].address)
			sorted[batch.count++] = wanted[i].address;
	batch.answers = cairn_arena_zero(&scratch, batch.count, sizeof *batch.answers);
	match_all(&batch);
	for (size_t i = 0, k = 0; i < count; i++) {
		if (sorted[k] != wanted[i].address)
			k++;
		results[wanted[i].place] = batch.answers[k].symbol;
	}
	cairn_arena_free(&scratch);
}
