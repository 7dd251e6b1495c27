/* line.c - reads and runs line number programs, versions 2 to 5.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/line.h"

#include "base/array.h"
#include "symbol/ranges.h"

#include <stdlib.h>

enum {
	DW_LNS_extended = 0,
	DW_LNS_copy = 1,
	DW_LNS_advance_pc = 2,
	DW_LNS_advance_line = 3,
	DW_LNS_set_file = 4,
	DW_LNS_set_column = 5,
	DW_LNS_negate_stmt = 6,
	DW_LNS_set_basic_block = 7,
	DW_LNS_const_add_pc = 8,
	DW_LNS_fixed_advance_pc = 9,
	DW_LNE_end_sequence = 1,
	DW_LNE_set_address = 2,
	DW_LNE_define_file = 3,
	DW_LNCT_path = 1,
	DW_LNCT_directory_index = 2,
};

static struct cairn_form_value text_value(const char *text)
{
	return (struct cairn_form_value){.kind = text ? CAIRN_FORM_TEXT : CAIRN_FORM_NONE, .text = text};
}

static void add_directory(struct cairn_lines *lines, struct cairn_form_value name)
{
	cairn_array_room(lines->directories, lines->directory_count, lines->directory_capacity);
	lines->directories[lines->directory_count++] = name;
}

static void add_file(struct cairn_lines *lines, struct cairn_form_value name, uint64_t directory)
{
	cairn_array_room(lines->files, lines->file_count, lines->file_capacity);
	lines->files[lines->file_count++] = (struct cairn_line_file){.name = name, .directory = directory};
}

/* Reads what follows the name of a file in versions before 5: directory, time and length. */
static void read_old_file(struct cairn_lines *lines, const char *name, struct cairn_cursor *in)
{
	uint64_t directory = cairn_cursor_uleb(in);
	cairn_cursor_uleb(in);
	cairn_cursor_uleb(in);
	if (!in->failed)
		add_file(lines, text_value(name), directory);
}

/* Directory 0 is the unit's own directory, and file 0 means none. Both lists end with an empty name. */
static void read_old_tables(struct cairn_lines *lines, struct cairn_cursor *in)
{
	struct cairn_bytes name;
	add_directory(lines, text_value(lines->unit->directory));
	while ((name = cairn_cursor_text(in)).length > 0)
		add_directory(lines, text_value(name.data));
	add_file(lines, text_value(NULL), 0);
	while ((name = cairn_cursor_text(in)).length > 0)
		read_old_file(lines, name.data, in);
}

/* Reads one of the two tables of version 5: first the forms of its columns, then its rows. */
static void read_new_table(struct cairn_lines *lines, struct cairn_cursor *in, bool of_files)
{
	struct {
		uint64_t content, form;
	} columns[UINT8_MAX];
	size_t column_count = cairn_cursor_u8(in);
	for (size_t i = 0; i < column_count; i++) {
		columns[i].content = cairn_cursor_uleb(in);
		columns[i].form = cairn_cursor_uleb(in);
	}
	uint64_t count = cairn_cursor_uleb(in);
	for (uint64_t row = 0; row < count && !in->failed; row++) {
		const unsigned char *before = in->at;
		struct cairn_form_value name = {0}, directory = {0};
		for (size_t i = 0; i < column_count; i++) {
			struct cairn_form_value value = cairn_value_read_form(columns[i].form, lines->encoding, in);
			if (columns[i].content == DW_LNCT_path)
				name = value;
			else if (columns[i].content == DW_LNCT_directory_index)
				directory = value;
		}
		/* Rows that take no bytes could be repeated without limit. */
		if (in->failed || in->at == before)
			return;
		if (of_files)
			add_file(lines, name, directory.number);
		else
			add_directory(lines, name);
	}
}

/* Holds the bytes of .debug_line up to END from now on, and waits for them. */
static void hold(struct cairn_lines *lines, uint64_t end)
{
	const struct cairn_unit *unit = lines->unit;
	cairn_dwarf_hold(unit->dwarf, CAIRN_DWARF_LINE, unit->lines, end);
	if (lines->end)
		cairn_dwarf_release(unit->dwarf, CAIRN_DWARF_LINE, unit->lines, lines->end);
	lines->end = end;
	cairn_dwarf_await(unit->dwarf, CAIRN_DWARF_LINE, unit->lines, end);
}

/* The header of the program and what follows it, without the length at the start. */
static struct cairn_cursor read_length(struct cairn_lines *lines)
{
	enum { long_length = 12 };
	const struct cairn_unit *unit = lines->unit;
	struct cairn_cursor in = cairn_dwarf_cursor(unit->dwarf, unit->dwarf->sections[CAIRN_DWARF_LINE]);
	cairn_cursor_seek(&in, unit->lines);
	hold(lines, unit->lines + (cairn_cursor_left(&in) < long_length ? cairn_cursor_left(&in) : long_length));
	lines->encoding = (struct cairn_encoding){.offset_size = 4, .address_size = unit->encoding.address_size};
	uint64_t length = cairn_cursor_u32(&in);
	if (length == UINT32_MAX) {
		length = cairn_cursor_u64(&in);
		lines->encoding.offset_size = 8;
	}
	if (length < cairn_cursor_left(&in))
		in.end = in.at + length;
	lines->size = cairn_cursor_left(&in);
	hold(lines, cairn_cursor_offset(&in) + lines->size);
	return in;
}

bool cairn_lines_open(struct cairn_lines *lines, const struct cairn_unit *unit)
{
	*lines = (struct cairn_lines){.unit = unit};
	if (!unit->has_lines || unit->lines >= unit->dwarf->sections[CAIRN_DWARF_LINE].length)
		return false;
	struct cairn_cursor in = read_length(lines);
	uint16_t version = cairn_cursor_u16(&in);
	if (in.failed || version < 2 || version > 5)
		return false;
	lines->encoding.version = (uint8_t)version;
	if (version >= 5) {
		lines->encoding.address_size = cairn_cursor_u8(&in);
		cairn_cursor_u8(&in); /* size of segment selectors */
	}
	uint64_t header_length = cairn_cursor_sized(&in, lines->encoding.offset_size);
	lines->program = in;
	cairn_cursor_skip(&lines->program, header_length);
	lines->minimum_instruction = cairn_cursor_u8(&in);
	lines->maximum_operations = version >= 4 ? cairn_cursor_u8(&in) : 1;
	cairn_cursor_u8(&in); /* initial value of is_stmt */
	lines->line_base = (int8_t)cairn_cursor_u8(&in);
	lines->line_range = cairn_cursor_u8(&in);
	lines->opcode_base = cairn_cursor_u8(&in);
	lines->operand_counts = in.at;
	cairn_cursor_skip(&in, lines->opcode_base ? lines->opcode_base - 1u : 0u);
	if (in.failed || lines->line_range == 0 || lines->opcode_base == 0)
		return false;
	if (version >= 5) {
		read_new_table(lines, &in, false);
		read_new_table(lines, &in, true);
	} else {
		read_old_tables(lines, &in);
	}
	return !lines->program.failed;
}

void cairn_lines_close(struct cairn_lines *lines)
{
	if (lines->end)
		cairn_dwarf_release(lines->unit->dwarf, CAIRN_DWARF_LINE, lines->unit->lines, lines->end);
	free(lines->directories);
	free(lines->files);
}

/* The state machine (DWARF 5, 6.2.2), and the addresses that it is run for. */
struct machine {
	struct cairn_lines *lines;
	const uint64_t *addresses;
	const struct cairn_line_function *functions;
	size_t count;
	struct cairn_line_row *rows;
	size_t left;     /* addresses without an answer */
	size_t patience; /* how often the program may still come across addresses that have an answer: a hostile one goes back and forth
			  * over them */
	size_t next;     /* the first address not before the last row */
	uint64_t target; /* addresses[next]; all ones if there is none */
	uint64_t address;
	uint64_t operation; /* index within a VLIW instruction */
	struct cairn_line_row row;
	uint64_t last_address;
	struct cairn_line_row last_row;
	uint64_t start; /* first address of this sequence */
	uint32_t start_line;
	bool open;    /* the last row belongs to this sequence */
	bool removed; /* the sequence is for code that the linker removed */
};

static void find_target(struct machine *machine)
{
	machine->next = cairn_addresses_find(machine->addresses, machine->count, machine->address);
	machine->target = machine->next < machine->count ? machine->addresses[machine->next] : UINT64_MAX;
}

/* A sequence that starts at the address of FUNCTION should start a few lines below its declaration; otherwise it probably belongs to
 * another function with the same code. */
static uint32_t doubt_of(const struct machine *machine, const struct cairn_line_function *function)
{
	enum { few_lines = 4 };
	if (function->start != machine->start || !function->line)
		return 0;
	return machine->start_line < function->line ? UINT32_MAX
	       : machine->start_line - function->line <= few_lines ? 0 : machine->start_line - function->line;
}

/* Gives address I the last row. If two sequences contain the address, the first one keeps it, unless the second fits its function
 * better. */
static void settle(struct machine *machine, size_t i)
{
	struct cairn_line_row *row = &machine->rows[i];
	const struct cairn_line_function *function = machine->functions ? &machine->functions[i] : NULL;
	uint32_t doubt = function ? doubt_of(machine, function) : 0;
	if (row->found) {
		machine->patience -= machine->patience > 0;
		if (doubt >= row->doubt || function->start != machine->start)
			return;
	}
	*row = machine->last_row;
	row->doubt = doubt;
	machine->left -= doubt == 0;
}

/* The last row covers everything before the current address: answers the addresses in that range. */
static void answer(struct machine *machine)
{
	for (; machine->next < machine->count && machine->addresses[machine->next] < machine->address; machine->next++)
		settle(machine, machine->next);
	machine->target = machine->next < machine->count ? machine->addresses[machine->next] : UINT64_MAX;
}

static inline void emit_row(struct machine *machine)
{
	if (!machine->open || machine->address < machine->last_address) {
		find_target(machine);
		if (!machine->open) {
			machine->start = machine->address;
			machine->start_line = machine->row.line;
		}
		machine->open = !machine->removed;
	} else if (machine->address > machine->target) {
		answer(machine);
	}
	machine->last_address = machine->address;
	machine->last_row = machine->row;
}

static void reset(struct machine *machine)
{
	machine->address = machine->operation = 0;
	machine->row = (struct cairn_line_row){.file = 1, .line = 1, .found = true};
	machine->open = machine->removed = false;
}

static inline void advance(struct machine *machine, uint64_t operations)
{
	const struct cairn_lines *lines = machine->lines;
	if (lines->maximum_operations <= 1) {
		machine->address += lines->minimum_instruction * operations;
		return;
	}
	uint64_t total = machine->operation + operations;
	machine->address += lines->minimum_instruction * (total / lines->maximum_operations);
	machine->operation = total % lines->maximum_operations;
}

static void run_extended(struct machine *machine, struct cairn_cursor *in)
{
	uint64_t length = cairn_cursor_uleb(in);
	struct cairn_bytes bytes = cairn_cursor_bytes(in, length);
	struct cairn_cursor inner = cairn_dwarf_cursor(machine->lines->unit->dwarf, bytes);
	switch (cairn_cursor_u8(&inner)) {
	case DW_LNE_end_sequence:
		emit_row(machine);
		reset(machine);
		break;
	case DW_LNE_set_address:
		machine->address = cairn_cursor_left(&inner) >= 8 ? cairn_cursor_u64(&inner) : cairn_cursor_u32(&inner);
		machine->operation = 0;
		machine->removed = cairn_dwarf_is_tombstone(machine->lines->unit->dwarf, machine->address);
		break;
	case DW_LNE_define_file: {
		struct cairn_bytes name = cairn_cursor_text(&inner);
		read_old_file(machine->lines, name.data, &inner);
		break;
	}
	default:
		break;
	}
}

static void run_standard(struct machine *machine, struct cairn_cursor *in, uint8_t opcode)
{
	const struct cairn_lines *lines = machine->lines;
	switch (opcode) {
	case DW_LNS_extended:
		run_extended(machine, in);
		break;
	case DW_LNS_copy:
		emit_row(machine);
		break;
	case DW_LNS_advance_pc:
		advance(machine, cairn_cursor_uleb(in));
		break;
	case DW_LNS_advance_line:
		machine->row.line += (uint32_t)cairn_cursor_sleb(in);
		break;
	case DW_LNS_set_file:
		machine->row.file = (uint32_t)cairn_cursor_uleb(in);
		break;
	case DW_LNS_set_column:
		machine->row.column = (uint32_t)cairn_cursor_uleb(in);
		break;
	case DW_LNS_negate_stmt:
	case DW_LNS_set_basic_block:
		break;
	case DW_LNS_const_add_pc:
		advance(machine, (UINT8_MAX - lines->opcode_base) / lines->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		machine->address += cairn_cursor_u16(in);
		machine->operation = 0;
		break;
	default:
		for (unsigned i = lines->operand_counts[opcode - 1]; i > 0; i--)
			cairn_cursor_uleb(in);
		break;
	}
}

void cairn_lines_match(struct cairn_lines *lines, const uint64_t *addresses, const struct cairn_line_function *functions, size_t count,
	struct cairn_line_row *rows)
{
	struct machine machine = {.lines = lines,
				  .addresses = addresses,
				  .functions = functions,
				  .count = count,
				  .left = count,
				  .rows = rows,
				  .patience = 1024 + 64 * count + lines->size};
	struct cairn_cursor in = lines->program;
	struct {
		uint8_t operations;
		int16_t line;
	} special[UINT8_MAX + 1];
	for (unsigned opcode = lines->opcode_base; opcode <= UINT8_MAX; opcode++) {
		unsigned adjusted = opcode - lines->opcode_base;
		special[opcode].operations = (uint8_t)(adjusted / lines->line_range);
		special[opcode].line = (int16_t)(lines->line_base + (int)(adjusted % lines->line_range));
	}
	reset(&machine);
	cairn_dwarf_expect(lines->unit->dwarf, CAIRN_DWARF_LINE, lines->unit->lines, lines->size);
	while (in.at < in.end && machine.left && machine.patience) {
		uint8_t opcode = *in.at++;
		if (opcode < lines->opcode_base) {
			run_standard(&machine, &in, opcode);
			continue;
		}
		advance(&machine, special[opcode].operations);
		machine.row.line += (uint32_t)special[opcode].line;
		emit_row(&machine);
	}
}

const char *cairn_lines_path(struct cairn_lines *lines, uint64_t number, struct cairn_arena *arena)
{
	if (number >= lines->file_count)
		return NULL;
	struct cairn_line_file *file = &lines->files[number];
	if (file->path)
		return file->path;
	const char *name = cairn_unit_text(lines->unit, &file->name);
	const char *directory =
		file->directory < lines->directory_count ? cairn_unit_text(lines->unit, &lines->directories[file->directory]) : NULL;
	const char *root = lines->unit->directory; /* also directory 0 */
	if (!name || name[0] == '/' || !directory)
		file->path = file->name.kind == CAIRN_FORM_TEXT
				     ? cairn_dwarf_keep(lines->unit->dwarf, CAIRN_DWARF_LINE, name, arena)
				     : name;
	else if (directory[0] == '/' || !root || file->directory == 0)
		file->path = cairn_arena_format(arena, "%.4096s/%.4096s", directory, name);
	else
		file->path = cairn_arena_format(arena, "%.4096s/%.4096s/%.4096s", root, directory, name);
	return file->path;
}
