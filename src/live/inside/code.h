/* code.h - the functions of one file of a process, and which of them belong to an allocator.
 *
 * What a function is, and where it ends, symbols say, and .eh_frame where they do not. All addresses are those of the process; the bytes are
 * those of the file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_INSIDE_CODE_H
#define CAIRN_LIVE_INSIDE_CODE_H

#include "arch/move.h"
#include "live/inside/allocators.h"
#include "protocol/inside.h"

struct cairn_code_function {
	uint64_t address, size;
	const char *name; /* NULL for none; borrowed from the file */
};

struct cairn_file_code {
	const struct cairn_subject_module *module;
	struct cairn_code_function *functions; /* by address */
	size_t count, capacity;
};

/* Reads the symbols of MODULE's file, and of NAMES, its debug file, which may be NULL. */
void cairn_file_code_open(struct cairn_file_code *code, const struct cairn_subject_module *module, const struct cairn_elf *names);
void cairn_file_code_close(struct cairn_file_code *code);

/* The function that ADDRESS is in. False for none. */
bool cairn_file_code_at(const struct cairn_file_code *code, uint64_t address, struct cairn_code_function *function);

/* What the file has at ADDRESS, at most SIZE bytes. */
struct cairn_bytes cairn_file_code_bytes(const struct cairn_file_code *code, uint64_t address, uint64_t size);

/* The code of an allocator: all functions that have its names, those of FAMILY, and what these go on to by jumps, which leave no frame. Sorted
 * and without gaps that hold nothing; free() it. */
struct cairn_inside_range *cairn_file_code_ranges(const struct cairn_file_code *code, const struct cairn_family *family, size_t *count);

/* Whether a branch to TARGET, the function or, for a branch through a slot, the slot, is what is looked for. */
typedef bool cairn_file_code_wanted(void *context, uint64_t target, enum cairn_branch branch);

/* Whether each way through the function of SIZE bytes at ADDRESS takes a branch that IS_WANTED before it returns. Ways that throw do not return.
 * False where that is not certain. */
bool cairn_file_code_always(const struct cairn_file_code *code, uint64_t address, uint64_t size, cairn_file_code_wanted *is_wanted, void *context);

/* Takes the code from START to END out of COUNT ranges, which may be moved. */
void cairn_ranges_cut(struct cairn_inside_range **ranges, size_t *count, uint64_t start, uint64_t end);

/* Whether ADDRESS is in one of COUNT ranges. */
bool cairn_ranges_have(const struct cairn_inside_range *ranges, size_t count, uint64_t address);

#endif
