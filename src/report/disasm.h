/* disasm.h - machine code with the memory allocated at each instruction, disassembled by objdump.
 *
 * A routine is the symbol that covers a matching address, in the module's file or one of its debug files; an address without a symbol
 * cannot be shown, because the start of its function is unknown. A function that was inlined is shown in the routines that contain it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_DISASM_H
#define CAIRN_REPORT_DISASM_H

#include "base/pattern.h"
#include "report/top.h"
#include "symbol/find.h"

struct cairn_disasm {
	struct cairn_disasm_place {
		uint64_t address; /* link-time, inside the instruction */
		struct cairn_top_row row;
		uint32_t routine;
		uint32_t inlined; /* the function inlined there that matched; CAIRN_NONE if the routine's own did */
	} *places; /* grouped by routine, sorted by address */
	size_t place_count;
	struct cairn_disasm_routine {
		uint32_t module;
		uint32_t path; /* of its file, in `paths` */
		uint64_t start, end; /* link-time */
		uint32_t entry;      /* the first that matched, for its function's name */
		struct cairn_top_row row; /* has no entry */
		size_t first, count; /* of the places */
	} *routines; /* by module and address */
	size_t routine_count;
	struct cairn_strings paths;
	struct cairn_strings notes; /* messages about what could not be shown */
};

/* Finds the routines whose name, short or full, matches the expression WANTED in VIEW, which must be by addresses and without inlined
 * functions; with INLINED, also those into which a matching function was inlined, with only its places. FIND says where their files may
 * be. Fails with a message if there is none, or if none can be found in its file. */
bool cairn_disasm_make(struct cairn_disasm *disasm, struct cairn_view *view, const char *wanted, bool inlined,
		       const struct cairn_find_options *find, struct cairn_error *error);
void cairn_disasm_free(struct cairn_disasm *disasm);

struct cairn_disasm_instruction {
	uint64_t address; /* link-time */
	struct cairn_bytes text;
	struct cairn_top_row row; /* its entry is that of a place in it; CAIRN_NONE if there is none */
};

typedef void cairn_disasm_visitor(void *context, const struct cairn_disasm_instruction *instruction);

/* Calls VISIT for each instruction of ROUTINE, in order. This function and those below run objdump, and fail with a message if it is not
 * installed. */
bool cairn_disasm_each(const struct cairn_disasm *disasm, const struct cairn_disasm_routine *routine,
		       cairn_disasm_visitor *visit, void *context, struct cairn_error *error);

/* Writes the routines, "routines", with their instructions. */
bool cairn_disasm_write(const struct cairn_disasm *disasm, struct cairn_report *report, struct cairn_error *error);

#endif
