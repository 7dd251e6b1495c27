/* line.h - line number programs: the source line of each address.
 *
 * A unit's program is run once for all addresses of the unit, in the order of the program, without building a table of its rows: an
 * address belongs to the last row at or before it within a sequence (DWARF 5, 6.2).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_LINE_H
#define CAIRN_SYMBOL_LINE_H

#include "symbol/unit.h"

/* Most files of a unit are never needed, so only the positions of their names are kept. */
struct cairn_line_file {
	struct cairn_form_value name;
	uint64_t directory;
	const char *path; /* set on first use */
};

struct cairn_lines {
	const struct cairn_unit *unit;
	struct cairn_encoding encoding; /* of the program, which may differ from the unit's */
	uint8_t minimum_instruction;
	uint8_t maximum_operations;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	const unsigned char *operand_counts; /* of standard opcodes, from opcode 1 */
	size_t size; /* of the header, with its tables, and the program */
	uint64_t end; /* of what is held of .debug_line; 0 for nothing */
	struct cairn_cursor program;
	struct cairn_form_value *directories;
	size_t directory_count, directory_capacity;
	struct cairn_line_file *files;
	size_t file_count, file_capacity;
};

/* The source position of an address. */
struct cairn_line_row {
	uint32_t file; /* as cairn_lines_path takes it */
	uint32_t line;
	uint32_t column;
	uint32_t doubt; /* 0, or the number of lines by which it seems to belong to another function */
	bool found;
};

/* The function that contains an address: its start, and the line of its declaration. A linker that merges functions with the same code
 * leaves their line programs as they are; this tells them apart. */
struct cairn_line_function {
	uint64_t start;
	uint32_t line; /* 0 when not known */
};

/* Reads the header of UNIT's program and its tables of files. Returns false if they cannot be read; the part of the tables that was read
 * can still be used. Holds that part of .debug_line until cairn_lines_close, which frees the rest as well. */
bool cairn_lines_open(struct cairn_lines *lines, const struct cairn_unit *unit);
void cairn_lines_close(struct cairn_lines *lines);

/* Fills ROWS, all zeroes at first, for ADDRESSES, which are sorted. The program is run until all are found. FUNCTIONS, one for each
 * address, may be NULL. */
void cairn_lines_match(struct cairn_lines *lines, const uint64_t *addresses, const struct cairn_line_function *functions, size_t count,
	struct cairn_line_row *rows);

/* The path of the file with that number, absolute if the directory of its compilation is known; NULL if there is no such file. In ARENA. */
const char *cairn_lines_path(struct cairn_lines *lines, uint64_t file, struct cairn_arena *arena);

#endif
