/* lookup.c - looks up a batch of addresses in the units of a module, on all processors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/lookup.h"

#include "base/array.h"
#include "base/inflate.h"
#include "base/pool.h"
#include "base/strings.h"
#include "symbol/budget.h"
#include "symbol/feed.h"
#include "symbol/function.h"
#include "symbol/line.h"
#include "symbol/split.h"
#include "symbol/symtab.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { worth_a_thread = 256 * 1024 };
/* One thread at a time decompresses a stream. A few others keep up with it, and each holds some megabytes of it. */
enum { stream_threads = 4 };
/* So many functions at an address are always kept; all addresses together may have some more. Real programs have three or four on average,
 * and a few hundred at most. */
enum { frames_for_an_address = 8, frames_least = 1 << 20 };

/* What one thread keeps from unit to unit, and the frames it has made. */
struct worker {
	struct cairn_names names;
	struct cairn_arena kept;
};

struct cairn_symbols {
	struct cairn_symbols_files files;
	struct cairn_dwarf main, alt;
	bool has_dwarf;
	bool lacked_room;
	struct cairn_split *split;
	struct worker *workers;
	unsigned width;
	pthread_mutex_t lock; /* protects the warnings and the answers of a batch */
	atomic_long frames_left; /* how many more frames than those that are always kept may be made */
	struct cairn_strings warning_texts;
	const char **warnings;
	size_t warning_count, warning_capacity;
};

/* What is known about one address so far. */
struct answer {
	struct cairn_symbol symbol;
	uint64_t unit; /* the unit that gave the answer */
	bool is_plain; /* its function has a name that a symbol table may have mangled, with its scopes and parameters */
};

struct batch {
	struct cairn_symbols *symbols;
	const uint64_t *addresses; /* sorted, each once */
	size_t count;
	struct answer *answers;
	struct cairn_feed *feed;
	/* The sections that are still to be decompressed; smallest first. */
	struct cairn_inflate *inflates[2 * CAIRN_DWARF_SECTIONS];
	size_t inflate_count;
};

struct cairn_symbols *cairn_symbols_open(const struct cairn_symbols_files *files)
{
	struct cairn_symbols *symbols = cairn_array_zero(1, sizeof *symbols);
	symbols->files = *files;
	symbols->width = cairn_pool_width();
	symbols->workers = cairn_array_zero(symbols->width, sizeof *symbols->workers);
	symbols->frames_left = frames_least;
	pthread_mutex_init(&symbols->lock, NULL);
	struct cairn_elf *source = files->debug && cairn_elf_has_dwarf(files->debug) ? files->debug : files->binary;
	symbols->has_dwarf = source && cairn_elf_has_dwarf(source);
	if (symbols->has_dwarf) {
		cairn_dwarf_open(&symbols->main, source, false);
		cairn_dwarf_stream(&symbols->main);
		symbols->main.units = cairn_units_new(&symbols->main);
		symbols->split = cairn_split_new(files->package, &(struct cairn_split_places){files->sysroot, files->folders,
			files->folder_count, (files->binary ? files->binary : source)->path});
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

bool cairn_symbols_lacked_room(const struct cairn_symbols *symbols)
{
	return symbols->lacked_room;
}

const char *const *cairn_symbols_sought(const struct cairn_symbols *symbols, size_t *count)
{
	*count = 0;
	return symbols->split ? cairn_split_sought(symbols->split, count) : NULL;
}

const char *cairn_symbols_changed(const struct cairn_symbols *symbols)
{
	const struct cairn_symbols_files *files = &symbols->files;
	const struct cairn_elf *const opened[] = {files->binary, files->debug, files->alt, files->package};
	for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
		if (opened[i] && opened[i]->owns_file && !cairn_file_is_intact(&opened[i]->file, opened[i]->path))
			return opened[i]->path;
	return symbols->split ? cairn_split_changed(symbols->split) : NULL;
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

/* What was found about the addresses of one unit. */
struct findings {
	const struct cairn_inline_call **calls;
	struct cairn_line_row *rows;
	struct cairn_lines lines;
	bool mangles; /* the unit's language mangles names */
};

static void set_place(struct cairn_symbol_frame *frame, struct worker *worker, struct cairn_lines *lines, uint64_t file,
	uint32_t line, uint32_t column)
{
	frame->file = cairn_lines_path(lines, file, &worker->kept);
	frame->line = line;
	frame->column = column;
}

/* How many of the COUNT functions at an address are kept. A small file may nest a thousand inlined calls at all of its addresses. */
static uint32_t allow_frames(struct cairn_symbols *symbols, uint32_t count)
{
	long more = (long)count - frames_for_an_address;
	if (more <= 0 || atomic_fetch_sub(&symbols->frames_left, more) >= more)
		return count;
	atomic_fetch_add(&symbols->frames_left, more);
	warn(symbols, "too many inlined calls; of some addresses, only the outermost functions are known");
	return frames_for_an_address;
}

/* The line program gives the position in the innermost function; in each function further out, the position is that of the inlined call. */
static struct cairn_symbol make_symbol(struct cairn_symbols *symbols, struct worker *worker, struct findings *findings, size_t i)
{
	const struct cairn_inline_call *call = findings->calls[i];
	const struct cairn_line_row *row = &findings->rows[i];
	uint32_t count = call ? 0 : 1;
	for (const struct cairn_inline_call *each = call; each; each = each->caller)
		count++;
	uint32_t kept = allow_frames(symbols, count);
	struct cairn_symbol_frame *frames = cairn_arena_zero(&worker->kept, kept, sizeof *frames);
	if (count > kept) {
		for (; count > kept + 1; count--)
			call = call->caller;
		set_place(&frames[0], worker, &findings->lines, call->file, call->line, call->column);
		call = call->caller;
	} else if (row->found) {
		set_place(&frames[0], worker, &findings->lines, row->file, row->line, row->column);
	}
	for (uint32_t k = 0; call; k++, call = call->caller) {
		frames[k].function = call->name.text;
		frames[k].function_line = call->name.line;
		frames[k].mangled = call->name.mangled;
		frames[k].inlined = call->caller != NULL;
		if (call->caller)
			set_place(&frames[k + 1], worker, &findings->lines, call->file, call->line, call->column);
	}
	return (struct cairn_symbol){frames, kept, findings->calls[i] ? CAIRN_SYMBOL_DWARF : CAIRN_SYMBOL_NONE};
}

/* Whether the function at CALL has a plain name only, in a language that mangles names: GCC writes no linkage names for functions that are
 * private to a file, such as lambdas, static functions, and members of unnamed namespaces and local classes. */
static bool is_plain(const struct findings *findings, const struct cairn_inline_call *call)
{
	while (call && call->caller)
		call = call->caller;
	return findings->mangles && call && call->name.text && !call->name.mangled;
}

/* Two units may contain the same address: a linker that keeps one copy of a function may leave the description of the other as it is. The
 * first unit in the file counts, whichever was walked first. */
static bool is_first(const struct answer *answer, const struct cairn_job *job)
{
	return !answer->symbol.count || job->unit.offset < answer->unit;
}

static void keep_answers(struct batch *batch, struct worker *worker, const struct cairn_job *job, struct findings *findings)
{
	struct cairn_arena scratch = {0};
	struct cairn_symbol *symbols = cairn_arena_zero(&scratch, job->count, sizeof *symbols);
	bool *wanted = cairn_arena_zero(&scratch, job->count, sizeof *wanted);
	pthread_mutex_lock(&batch->symbols->lock);
	for (size_t i = 0; i < job->count; i++)
		wanted[i] = (findings->calls[i] || findings->rows[i].found) && is_first(&batch->answers[job->places[i]], job);
	pthread_mutex_unlock(&batch->symbols->lock);
	for (size_t i = 0; i < job->count; i++)
		if (wanted[i])
			symbols[i] = make_symbol(batch->symbols, worker, findings, i);
	pthread_mutex_lock(&batch->symbols->lock);
	for (size_t i = 0; i < job->count; i++) {
		struct answer *answer = &batch->answers[job->places[i]];
		if (symbols[i].count && is_first(answer, job))
			*answer = (struct answer){symbols[i], job->unit.offset, is_plain(findings, findings->calls[i])};
	}
	pthread_mutex_unlock(&batch->symbols->lock);
	cairn_arena_free(&scratch);
}

/* The addresses of JOB, in ascending order. */
static const uint64_t *asked_of(const struct batch *batch, const struct cairn_job *job, struct cairn_arena *scratch)
{
	if (job->count == batch->count)
		return batch->addresses;
	uint64_t *addresses = cairn_arena_alloc(scratch, job->count * sizeof *addresses);
	for (size_t i = 0; i < job->count; i++)
		addresses[i] = batch->addresses[job->places[i]];
	return addresses;
}

/* The functions of CALLS, which distinguish the lines of functions with the same code. */
static const struct cairn_line_function *functions_of(const struct cairn_inline_call *const *calls, size_t count,
						      struct cairn_arena *scratch)
{
	struct cairn_line_function *functions = cairn_arena_zero(scratch, count, sizeof *functions);
	for (size_t i = 0; i < count; i++) {
		const struct cairn_inline_call *call = calls[i];
		while (call && call->caller)
			call = call->caller;
		if (call)
			functions[i] = (struct cairn_line_function){call->start, call->name.line};
	}
	return functions;
}

static void walk_unit(struct batch *batch, struct worker *worker, struct cairn_job *job)
{
	struct cairn_symbols *symbols = batch->symbols;
	struct cairn_unit *unit = &job->unit, split_unit;
	const struct cairn_unit *tree = unit;
	struct cairn_arena scratch = {0};
	const uint64_t *addresses = asked_of(batch, job, &scratch);
	struct findings findings = {0};
	if (unit->dwo_name && unit->has_dwo_id) {
		struct cairn_error error;
		tree = cairn_split_unit(symbols->split, unit, &split_unit, &worker->names.abbrevs, &error);
		if (!tree)
			warn(symbols, error.text);
	}
	/* A skeleton may have the inlined calls itself, for readers without the other file (clang -fsplit-dwarf-inlining), but neither its
	 * language nor linkage names. */
	findings.calls = cairn_functions_match(tree ? tree : unit, &worker->names, &scratch, addresses, job->count);
	findings.mangles = tree ? tree->mangles : true;
	bool has_lines = cairn_lines_open(&findings.lines, unit) && cairn_cursor_left(&findings.lines.program) > 0;
	has_lines = cairn_names_spend(&worker->names, findings.lines.size) && has_lines;
	/* Rust units without code do not say so; hundreds of them are tried with all addresses, and find nothing. */
	if (has_lines || findings.calls) {
		if (!findings.calls)
			findings.calls = cairn_arena_zero(&scratch, job->count, sizeof *findings.calls);
		findings.rows = cairn_arena_zero(&scratch, job->count, sizeof *findings.rows);
		if (has_lines)
			cairn_lines_match(&findings.lines, addresses, functions_of(findings.calls, job->count, &scratch), job->count,
					  findings.rows);
		keep_answers(batch, worker, job, &findings);
	}
	cairn_lines_close(&findings.lines);
	cairn_arena_free(&scratch);
	cairn_abbrev_cache_trim(&worker->names.abbrevs);
}

/* Sets the limit: each thread may read each part a few times, and find each address at a few hundred levels of nesting. */
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
	struct cairn_job job = {0};
	cairn_dwarf_await_others(&batch->symbols->main);
	if (batch->symbols->main.alt)
		cairn_dwarf_await_others(&batch->symbols->alt);
	allow_effort(batch, &worker->names);
	while (cairn_feed_next(batch->feed, &job, &worker->names.abbrevs)) {
		if (!cairn_names_spend(&worker->names, job.count)) {
			warn(batch->symbols, "debug information refers to itself over and over; part of it was left out");
			cairn_unit_release(&job.unit);
			break;
		}
		walk_unit(batch, worker, &job);
		cairn_unit_release(&job.unit);
	}
	cairn_job_free(&job);
}

/* The first items decompress a section each, the largest first; the others loop over the feed, one for each thread. What the loops read in
 * order they decompress on their way. */
static void run_item(void *context, size_t item, unsigned worker)
{
	struct batch *batch = context;
	if (item >= batch->inflate_count) {
		work_off(batch, &batch->symbols->workers[worker]);
		return;
	}
	struct cairn_inflate *inflate = batch->inflates[batch->inflate_count - 1 - item];
	if (inflate != batch->symbols->main.inflates[CAIRN_DWARF_INFO] && !cairn_inflate_is_stream(inflate))
		cairn_inflate_wait(inflate, 0, cairn_inflate_bytes(inflate).length);
}

static void add_inflates(struct batch *batch, const struct cairn_dwarf *dwarf)
{
	for (int i = 0; i < CAIRN_DWARF_SECTIONS; i++)
		if (dwarf->inflates[i] && !cairn_inflate_is_done(dwarf->inflates[i]))
			batch->inflates[batch->inflate_count++] = dwarf->inflates[i];
}

static int smallest_first(const void *a, const void *b)
{
	size_t x = cairn_inflate_bytes(*(struct cairn_inflate *const *)a).length,
		y = cairn_inflate_bytes(*(struct cairn_inflate *const *)b).length;
	return (x > y) - (x < y);
}

/* Reserves room for everything that is to be decompressed: memory for small sections, which are read at random, and files for those that do
 * not fit. Returns false if there is not enough of either: with some sections missing, DWARF would give wrong answers. */
static bool place_inflates(struct batch *batch)
{
	bool good = true;
	qsort(batch->inflates, batch->inflate_count, sizeof *batch->inflates, smallest_first);
	for (size_t i = 0; good && i < batch->inflate_count; i++)
		good = cairn_inflate_place(batch->inflates[i]);
	return good;
}

/* There was no room: addresses without an answer get their names from symbol tables, which are mapped as they are. */
static void warn_of_room(struct batch *batch)
{
	char text[200];
	uint64_t total = 0;
	for (size_t i = 0; i < batch->inflate_count; i++)
		total += cairn_inflate_bytes(batch->inflates[i]).length;
	snprintf(text, sizeof text, "its debug information takes %llu MiB, more than --memory allows, and no folder has room for it; "
		"names come from symbol tables", (unsigned long long)(total >> 20));
	warn(batch->symbols, text);
	batch->symbols->lacked_room = true;
	batch->symbols->has_dwarf = false;
}

static void match_dwarf(struct batch *batch)
{
	struct cairn_symbols *symbols = batch->symbols;
	add_inflates(batch, &symbols->main);
	if (symbols->main.alt)
		add_inflates(batch, &symbols->alt);
	if (batch->inflate_count)
		cairn_symbol_budget_apply();
	if (batch->inflate_count && !place_inflates(batch)) {
		warn_of_room(batch);
		return;
	}
	batch->feed = cairn_feed_new(&symbols->main, batch->addresses, batch->count);
	/* A thread pays off for each few hundred kilobytes. */
	size_t threads = 1 + symbols->main.sections[CAIRN_DWARF_INFO].length / worth_a_thread;
	size_t loops = batch->count < symbols->width ? batch->count : symbols->width;
	loops = threads < loops ? threads : loops;
	if (cairn_dwarf_is_stream(&symbols->main, CAIRN_DWARF_INFO) && loops > stream_threads)
		loops = stream_threads;
	cairn_pool_run_few(batch->inflate_count + loops, threads, run_item, batch);
	cairn_feed_free(batch->feed);
	for (size_t i = 0; i < batch->inflate_count && symbols->has_dwarf; i++)
		if (cairn_inflate_lacked_room(batch->inflates[i]))
			warn_of_room(batch);
}

/* The name that DWARF has for the function of SYMBOL; NULL if it has none. */
static const char *name_of(const struct cairn_symbol *symbol)
{
	return symbol->count ? symbol->frames[symbol->count - 1].function : NULL;
}

/* The length of a symbol's name without its version, which the tables of debug files have (memcpy@GLIBC_2.2.5). Zig's names may contain the
 * same sign before other text. */
static size_t unversioned_length(const char *name)
{
	static const char version[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+-~";
	const char *last = strrchr(name, '@');
	if (!last || !last[1] || last[1 + strspn(last + 1, version)])
		return strlen(name);
	return (size_t)(last - name) - (last > name && last[-1] == '@');
}

/* The length of the mark at TEXT by which C++ tells apart the two functions that it makes of a coroutine; 0 if there is none. */
static size_t coroutine_mark(const char *text)
{
	static const char *const marks[] = {".actor", ".destroy"};
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		size_t length = strlen(marks[i]);
		if (strncmp(text, marks[i], length) == 0 && (!text[length] || strchr(".@", text[length])))
			return length;
	}
	return 0;
}

/* The length of a symbol's name without what linkers and compilers add to it: in the tables of debug files, the symbol's version.
 * Compilers mark parts and variants of a function (".cold", ".part.0", ".llvm.123"), which have the name of the function in DWARF, PLAIN.
 * These marks have no capitals, while a name with dots of its own, as Rust has them for "::", ends in a capital E. */
static size_t bare_length(const char *name, const char *plain)
{
	static const char mark[] = ".abcdefghijklmnopqrstuvwxyz0123456789_";
	size_t length = unversioned_length(name);
	if (!plain || strcmp(name, plain) == 0)
		return length;
	size_t start = length;
	while (start > 0 && memchr(mark, name[start - 1], sizeof mark - 1))
		start--;
	const char *dot = memchr(name + start, '.', length - start);
	return dot ? (size_t)(dot - name) + coroutine_mark(dot) : length;
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
	size_t length = bare_length(match->name, name_of(symbol));
	frames[count - 1].function =
		match->name[length] ? cairn_arena_text(arena, (struct cairn_bytes){match->name, length}) : match->name;
	frames[count - 1].mangled = true;
	*symbol = (struct cairn_symbol){frames, count, source};
}

/* Names the answers that have no function, or only a plain name of it, by the symbols of TABLE that cover them. */
static void match_symbols(struct batch *batch, const struct cairn_elf *elf, const char *table, enum cairn_symbol_source source)
{
	if (!elf || !cairn_elf_section(elf, table))
		return;
	struct cairn_arena scratch = {0}, *kept = &batch->symbols->workers[0].kept;
	uint64_t *addresses = cairn_arena_alloc(&scratch, batch->count * sizeof *addresses);
	struct answer **answers = cairn_arena_alloc(&scratch, batch->count * sizeof *answers);
	size_t count = 0;
	for (size_t i = 0; i < batch->count; i++) {
		if (name_of(&batch->answers[i].symbol) && !batch->answers[i].is_plain)
			continue;
		addresses[count] = batch->addresses[i];
		answers[count++] = &batch->answers[i];
	}
	struct cairn_symtab_match *matches = cairn_arena_zero(&scratch, count, sizeof *matches);
	if (count)
		cairn_symtab_match(elf, table, addresses, count, matches);
	for (size_t i = 0; i < count; i++) {
		if (!matches[i].name || strnlen(matches[i].name, CAIRN_LONGEST_NAME) == CAIRN_LONGEST_NAME)
			continue;
		if (!answers[i]->is_plain || cairn_symtab_is_mangled(matches[i].name, name_of(&answers[i]->symbol)))
			add_symbol(&answers[i]->symbol, kept, &matches[i], source);
		answers[i]->is_plain = false;
	}
	cairn_arena_free(&scratch);
}

struct wanted {
	uint64_t address;
	size_t place; /* index in the caller's array */
};

/* Sorts by address, one byte at a time from the lowest; a byte that is equal in all addresses, as most high ones are, costs one pass. The
 * result is in WANTED or SPARE; returns which. */
static struct wanted *sort_by_address(struct wanted *wanted, struct wanted *spare, size_t count)
{
	for (unsigned shift = 0; shift < 64; shift += 8) {
		size_t starts[257] = {0};
		for (size_t i = 0; i < count; i++)
			starts[(wanted[i].address >> shift & 0xff) + 1]++;
		if (starts[(wanted[0].address >> shift & 0xff) + 1] == count)
			continue;
		for (unsigned i = 1; i < 256; i++)
			starts[i] += starts[i - 1];
		for (size_t i = 0; i < count; i++)
			spare[starts[wanted[i].address >> shift & 0xff]++] = wanted[i];
		struct wanted *sorted = spare;
		spare = wanted;
		wanted = sorted;
	}
	return wanted;
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
	wanted = sort_by_address(wanted, cairn_arena_alloc(&scratch, count * sizeof *wanted), count);
	uint64_t *sorted = cairn_arena_alloc(&scratch, count * sizeof *sorted);
	struct batch batch = {.symbols = symbols, .addresses = sorted};
	for (size_t i = 0; i < count; i++)
		if (i == 0 || wanted[i].address != wanted[i - 1].address)
			sorted[batch.count++] = wanted[i].address;
	batch.answers = cairn_arena_zero(&scratch, batch.count, sizeof *batch.answers);
	symbols->frames_left += (long)batch.count;
	match_all(&batch);
	for (size_t i = 0, k = 0; i < count; i++) {
		if (sorted[k] != wanted[i].address)
			k++;
		results[wanted[i].place] = batch.answers[k].symbol;
	}
	cairn_arena_free(&scratch);
}
