/* disasm.c - finds routines in their files, and combines values with objdump's lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/disasm.h"

#include "base/array.h"
#include "base/process.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/head.h"
#include "report/number.h"
#include "report/top.h"
#include "symbol/elf.h"

#include <elf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Finds the function symbol of TABLE that covers ADDRESS. */
static bool find_in_table(const struct cairn_elf *elf, const char *table, uint64_t address, uint64_t *start, uint64_t *end)
{
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, table);
	struct cairn_elf_symbol symbol;
	while (cairn_elf_symbols_next(&symbols, &symbol))
		if ((symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) && address >= symbol.address &&
		    address - symbol.address < symbol.size) {
			*start = symbol.address;
			*end = symbol.address + symbol.size;
			return true;
		}
	return false;
}

/* The same in all files that describe the binary. */
static bool find_symbol(const struct cairn_symbols_files *files, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct cairn_elf *const all[] = {files->binary, files->debug, files->mini};
	for (size_t f = 0; f < sizeof all / sizeof *all; f++)
		if (all[f] &&
		    (find_in_table(all[f], ".symtab", address, start, end) || find_in_table(all[f], ".dynsym", address, start, end)))
			return true;
	return false;
}

static void note(struct cairn_disasm *disasm, const char *path, const char *why)
{
	struct cairn_error error;
	cairn_fail(&error, "%s: %s", path, why);
	cairn_strings_add_text(&disasm->notes, error.text);
}

/* The files of one module, searched for on first use. */
struct module {
	bool tried;
	struct cairn_binary binary;
	struct cairn_debug debug;
};

struct search {
	const struct cairn_profile *profile;
	struct cairn_finder finder;
	struct module *modules;
};

static struct module *open_module(struct search *search, struct cairn_disasm *disasm, uint32_t id)
{
	struct module *module = &search->modules[id];
	if (!module->tried) {
		module->tried = true;
		cairn_find_binary(&search->finder, search->profile, &search->profile->modules[id], &module->binary);
		if (module->binary.path && !module->binary.is_debug_file)
			cairn_find_debug(&search->finder, &module->binary, &module->debug);
		else
			note(disasm, cairn_profile_string(search->profile, search->profile->modules[id].path),
			     module->binary.path ? "only its debug file is here, which has no code" : module->binary.reason);
	}
	return module->debug.files.binary ? module : NULL;
}

/* Finds the link-time address of ENTRY's location in its file, and the routine that contains it. */
static bool find_place(struct cairn_disasm *disasm, struct search *search, const struct cairn_entry *entry, uint64_t *address,
		       struct cairn_disasm_routine *routine)
{
	const struct cairn_profile *profile = search->profile;
	const struct cairn_location *location = &profile->locations[entry->location];
	if (location->mapping == CAIRN_NONE) {
		note(disasm, "code without a file", "the profile has no memory map there");
		return false;
	}
	uint32_t id = profile->mappings[location->mapping].module;
	struct module *module = open_module(search, disasm, id);
	if (!module)
		return false;
	routine->module = id;
	routine->path = cairn_strings_add_text(&disasm->paths, module->binary.path);
	if (cairn_elf_address_of(module->debug.files.binary, cairn_profile_file_offset(profile, location), address) &&
	    find_symbol(&module->debug.files, *address, &routine->start, &routine->end))
		return true;
	note(disasm, cairn_profile_string(profile, profile->modules[id].path), "no symbol covers a matching address; it may be stripped");
	return false;
}

static int compare_places(const void *a, const void *b, void *context)
{
	const struct cairn_disasm_place *left = a, *right = b;
	const struct cairn_disasm_routine *routines = context;
	uint32_t l = routines[left->routine].module, r = routines[right->routine].module;
	if (l != r)
		return l < r ? -1 : 1;
	return left->address < right->address ? -1 : left->address > right->address;
}

/* So far, each place has its own routine: merges routines with the same range, and adds them up. */
static void join_routines(struct cairn_disasm *disasm, struct cairn_view *view)
{
	qsort_r(disasm->places, disasm->place_count, sizeof *disasm->places, compare_places, disasm->routines);
	uint32_t *groups = cairn_array_zero(view->entry_count, sizeof *groups);
	struct cairn_disasm_routine *joined = cairn_array_zero(disasm->place_count, sizeof *joined);
	for (size_t e = 0; e < view->entry_count; e++)
		groups[e] = CAIRN_NONE;
	size_t count = 0;
	for (size_t i = 0; i < disasm->place_count; i++) {
		struct cairn_disasm_routine routine = disasm->routines[disasm->places[i].routine];
		if (count == 0 || joined[count - 1].module != routine.module || joined[count - 1].start != routine.start) {
			joined[count] = routine;
			joined[count++].first = i;
		}
		joined[count - 1].count++;
		groups[disasm->places[i].row.entry] = disasm->places[i].routine = (uint32_t)count - 1;
	}
	free(disasm->routines);
	disasm->routines = joined;
	disasm->routine_count = count;
	struct cairn_top_row *rows = cairn_array_zero(count, sizeof *rows);
	cairn_top_groups(view, groups, count, rows);
	for (size_t r = 0; r < count; r++)
		joined[r].row = rows[r];
	free(rows);
	free(groups);
}

/* Whether PATTERN matches the function at ENTRY's location or, if INLINED is not NULL, one inlined into it, which is stored there. */
static bool match_entry(struct cairn_view *view, const struct cairn_entry *entry, const struct cairn_pattern *pattern, uint32_t *inlined)
{
	const struct cairn_location *location = &view->profile->locations[entry->location];
	if (cairn_view_match(view, entry->function, pattern))
		return true;
	for (uint32_t f = 0; inlined && f + 1 < location->frame_count; f++) {
		*inlined = view->profile->frames[location->first_frame + f].function;
		if (cairn_view_match(view, *inlined, pattern))
			return true;
	}
	return false;
}

bool cairn_disasm_make(struct cairn_disasm *disasm, struct cairn_view *view, const char *wanted, bool inlined,
		       const struct cairn_find_options *find, struct cairn_error *error)
{
	*disasm = (struct cairn_disasm){0};
	struct cairn_pattern *pattern = cairn_pattern_compile(wanted, error);
	if (!pattern)
		return false;
	const struct cairn_profile *profile = view->profile;
	struct search search = {profile, {.options = find}, cairn_array_zero(profile->module_count, sizeof *search.modules)};
	struct cairn_top top;
	bool matched = false;
	cairn_top_make(&top, view, &(struct cairn_shape){0});
	*disasm = (struct cairn_disasm){
		.places = cairn_array_zero(top.count, sizeof *disasm->places),
		.routines = cairn_array_zero(top.count, sizeof *disasm->routines),
	};
	for (size_t i = 0; i < top.count; i++) {
		const struct cairn_top_row *row = &top.rows[i];
		const struct cairn_entry *entry = &view->entries[row->entry];
		struct cairn_disasm_routine routine = {.entry = row->entry};
		uint64_t address;
		uint32_t matched_inlined = CAIRN_NONE;
		if (!match_entry(view, entry, pattern, inlined ? &matched_inlined : NULL))
			continue;
		matched = true;
		if (!find_place(disasm, &search, entry, &address, &routine))
			continue;
		disasm->routines[disasm->place_count] = routine;
		disasm->places[disasm->place_count] =
			(struct cairn_disasm_place){address, *row, (uint32_t)disasm->place_count, matched_inlined};
		disasm->place_count++;
	}
	join_routines(disasm, view);
	cairn_top_free(&top);
	for (size_t m = 0; m < profile->module_count; m++)
		if (search.modules[m].tried)
			cairn_debug_close(&search.modules[m].debug);
	free(search.modules);
	cairn_finder_free(&search.finder);
	cairn_pattern_free(pattern);
	if (disasm->routine_count > 0)
		return true;
	if (!matched)
		return cairn_fail(error, "no function matches '%s'; 'cairn top' lists the names", wanted);
	return cairn_fail(error, "nothing can be disassembled: %s (use --binary FILE for a file that has moved)",
			  disasm->notes.count ? disasm->notes.items[0].data : "no code");
}

void cairn_disasm_free(struct cairn_disasm *disasm)
{
	free(disasm->places);
	free(disasm->routines);
	cairn_strings_free(&disasm->notes);
	cairn_strings_free(&disasm->paths);
	*disasm = (struct cairn_disasm){0};
}

/* Runs objdump on ROUTINE. */
static bool run_objdump(const struct cairn_disasm *disasm, const struct cairn_disasm_routine *routine,
			struct cairn_buffer *out, struct cairn_error *error)
{
	char start[48], end[48];
	const char *path = cairn_strings_text(&disasm->paths, routine->path);
	snprintf(start, sizeof start, "--start-address=0x%llx", (unsigned long long)routine->start);
	snprintf(end, sizeof end, "--stop-address=0x%llx", (unsigned long long)routine->end);
	const char *const arguments[] = {"objdump", "--disassemble", "--demangle", "--no-show-raw-insn", start, end, "--", path, NULL};
	return cairn_process_read(arguments, out, error) ||
	       cairn_fail(error, "objdump (package binutils) cannot disassemble %s", path);
}

/* Reads the next instruction from REST: "  401136:  push   %rbp". */
static bool next_instruction(struct cairn_bytes *rest, uint64_t *address, struct cairn_bytes *text)
{
	struct cairn_bytes line;
	while (cairn_text_line(rest, &line, NULL)) {
		line = cairn_text_trim(line);
		if (cairn_text_hex(&line, address) && cairn_text_take(&line, ":\t")) {
			*text = cairn_text_trim(line);
			return true;
		}
	}
	return false;
}

bool cairn_disasm_each(const struct cairn_disasm *disasm, const struct cairn_disasm_routine *routine,
		       cairn_disasm_visitor *visit, void *context, struct cairn_error *error)
{
	enum { largest_listing = 256 << 20 };
	struct cairn_buffer listing = cairn_buffer(largest_listing);
	if (!run_objdump(disasm, routine, &listing, error)) {
		cairn_buffer_free(&listing);
		return false;
	}
	struct cairn_bytes rest = cairn_buffer_bytes(&listing), next_text;
	uint64_t next_address;
	size_t place = routine->first, end = routine->first + routine->count;
	bool more = next_instruction(&rest, &next_address, &next_text);
	while (more) {
		struct cairn_disasm_instruction instruction = {.address = next_address, .text = next_text, .row.entry = CAIRN_NONE};
		more = next_instruction(&rest, &next_address, &next_text);
		/* A value belongs to the instruction that contains its address. */
		for (; place < end && !(more && disasm->places[place].address >= next_address); place++) {
			cairn_top_add(&instruction.row, &disasm->places[place].row);
			instruction.row.entry = disasm->places[place].row.entry;
		}
		visit(context, &instruction);
	}
	cairn_buffer_free(&listing);
	return true;
}

static const char *routine_name(struct cairn_view *view, const struct cairn_disasm_routine *routine)
{
	return cairn_view_function(view, view->entries[routine->entry].function);
}

/* The next function, from *PLACE of ROUTINE on, that matched and was inlined into it; each once. NULL after the last. */
static const char *next_inlined(const struct cairn_disasm *disasm, struct cairn_view *view, const struct cairn_disasm_routine *routine,
				size_t *place)
{
	const struct cairn_disasm_place *places = disasm->places + routine->first;
	while (*place < routine->count) {
		uint32_t function = places[(*place)++].inlined;
		bool known = function == CAIRN_NONE;
		for (size_t i = 0; i + 1 < *place && !known; i++)
			known = places[i].inlined == function;
		if (!known)
			return cairn_view_function(view, function);
	}
	return NULL;
}

/* The path of ROUTINE's file. That of a running process is read by a link below /proc, which nobody knows it by. */
static const char *routine_path(const struct cairn_disasm *disasm, const struct cairn_view *view,
				const struct cairn_disasm_routine *routine)
{
	const char *path = cairn_strings_text(&disasm->paths, routine->path);
	bool linked = strncmp(path, "/proc/", 6) == 0;
	return linked ? cairn_profile_string(view->profile, view->profile->modules[routine->module].path) : path;
}

static void title_text(const struct cairn_disasm *disasm, struct cairn_view *view, const struct cairn_disasm_routine *routine,
		       struct cairn_buffer *out)
{
	size_t place = 0;
	const char *name = next_inlined(disasm, view, routine, &place), *separator = name ? ", in " : " in ";
	while (name) {
		cairn_utf8_show(out, cairn_bytes_of(name));
		name = next_inlined(disasm, view, routine, &place);
		cairn_buffer_text(out, name ? ", " : ", inlined into ");
	}
	cairn_utf8_show(out, cairn_bytes_of(routine_name(view, routine)));
	cairn_buffer_text(out, separator);
	cairn_utf8_show(out, cairn_bytes_of(routine_path(disasm, view, routine)));
	cairn_buffer_byte(out, '\n');
}

static void columns(struct cairn_table *table, void *context, const void *item)
{
	const struct cairn_disasm_instruction *instruction = item;
	cairn_top_columns(context, &instruction->row, NAN);
	if (table->json) {
		cairn_json_integer(table->json, "address", (int64_t)instruction->address);
		cairn_json_text(table->json, "text", instruction->text);
	} else {
		cairn_buffer_format(table->out, " %10llx: ", (unsigned long long)instruction->address);
		cairn_utf8_show_lines(table->out, instruction->text);
	}
}

static void write_instruction(void *context, const struct cairn_disasm_instruction *instruction)
{
	struct cairn_report *report = context;
	cairn_table_row(&report->table, columns, report, instruction);
}

static void write_head(const struct cairn_disasm *disasm, struct cairn_report *report, const struct cairn_disasm_routine *routine)
{
	const char *name;
	if (report->json) {
		cairn_json_text(report->json, "name", cairn_bytes_of(routine_name(report->view, routine)));
		cairn_json_text(report->json, "module", cairn_bytes_of(routine_path(disasm, report->view, routine)));
		cairn_json_open(report->json, "inlined", '[');
		for (size_t place = 0; (name = next_inlined(disasm, report->view, routine, &place));)
			cairn_json_text(report->json, NULL, cairn_bytes_of(name));
		cairn_json_close(report->json, ']');
	} else {
		cairn_buffer_text(report->out, "ROUTINE ======================== ");
		title_text(disasm, report->view, routine, report->out);
		report->table.start = report->out->length;
	}
	cairn_top_columns(report, &routine->row, NAN);
	if (!report->json)
		cairn_buffer_format(report->out, " (Self, Total) %.2f%% of all\n", cairn_number_percent(routine->row.cum, report->view->whole));
}

bool cairn_disasm_write(const struct cairn_disasm *disasm, struct cairn_report *report, struct cairn_error *error)
{
	bool good = true;
	for (size_t i = 0; !report->json && i < disasm->notes.count; i++) {
		cairn_utf8_show(report->out, cairn_bytes_of(disasm->notes.items[i].data));
		cairn_buffer_text(report->out, "\n\n");
	}
	cairn_table_open(&report->table, "routines", '[');
	for (size_t r = 0; good && r < disasm->routine_count; r++) {
		if (r && !report->json)
			cairn_buffer_byte(report->out, '\n');
		cairn_table_open(&report->table, NULL, '{');
		write_head(disasm, report, &disasm->routines[r]);
		cairn_table_open(&report->table, "instructions", '[');
		report->dots = true;
		good = cairn_disasm_each(disasm, &disasm->routines[r], write_instruction, report, error);
		report->dots = false;
		cairn_table_close(&report->table, ']');
		cairn_table_close(&report->table, '}');
	}
	cairn_table_close(&report->table, ']');
	return good;
}
