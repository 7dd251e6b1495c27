/* move.h - the first instructions of a function, moved elsewhere, so that a jump fits in their place.
 *
 * Of a function that begins with a landing pad for indirect branches (endbr64, bti, paciasp), that stays, and what follows it is moved. The jump is
 * one write of at most eight bytes: on x86-64 five, over as many instructions as lie in them; on AArch64 one instruction.
 *
 * Nothing is moved that would do something else at another place, or to which the function itself jumps back. x86-64 is decoded by Zydis; a
 * build without it refuses every function.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_ARCH_MOVE_H
#define CAIRN_ARCH_MOVE_H

#include "base/bytes.h"
#include "base/error.h"

#include <stdint.h>

enum { CAIRN_MOVE_PARTS = 8, CAIRN_MOVE_BYTES = 32, CAIRN_MOVE_MOST = 160 };

/* Farther than that from the function, and from the data that its first instructions use, they cannot be moved. */
extern const uint64_t cairn_move_reach;

enum cairn_move_kind {
	CAIRN_MOVE_PLAIN,     /* the same bytes anywhere */
	CAIRN_MOVE_DATA,      /* refers to TARGET, relative to where it is */
	CAIRN_MOVE_CONDITION, /* goes to TARGET if something holds */
	CAIRN_MOVE_JUMP,      /* goes to TARGET */
};

/* What is to be moved. */
struct cairn_move {
	uint64_t address;     /* of the function */
	unsigned at, taken;   /* where the jump is written, counted from there, and how many bytes of instructions have to go */
	bool single;          /* one instruction: no thread can stand in the middle of them */
	uint32_t signing;     /* AArch64: the instruction before the jump, which has signed the return address; 0 for none */
	struct cairn_move_part {
		uint8_t kind, at, length; /* at: in BYTES */
		uint8_t field;  /* where in it the reference is */
		uint64_t target;
	} parts[CAIRN_MOVE_PARTS];
	unsigned count;
	unsigned char bytes[CAIRN_MOVE_BYTES]; /* from `at` on */
};

/* Decodes the function at ADDRESS, whose CODE is given to its end. False, with a reason that follows "because", if it must be left alone. */
bool cairn_move_study(struct cairn_move *move, uint64_t address, struct cairn_bytes code, struct cairn_error *error);

/* Writes into OUT what comes first where the jump leads to, so that the function is called again by the moved instructions, and returns its
 * length: a signed return address is as before. */
size_t cairn_move_enter(const struct cairn_move *move, unsigned char out[4]);

/* Writes the moved instructions as they are at TO, and the jump back, and returns their length; 0 where something is out of reach. */
size_t cairn_move_write(const struct cairn_move *move, uint64_t to, unsigned char out[CAIRN_MOVE_MOST]);

/* A jump from FROM to TO into OUT, and its length; 0 where that is out of reach. */
size_t cairn_move_jump(uint64_t from, uint64_t to, unsigned char out[8]);

/* How one instruction goes elsewhere. Those of AArch64 never go through a slot by themselves. */
enum cairn_branch { CAIRN_BRANCH_CALL, CAIRN_BRANCH_JUMP, CAIRN_BRANCH_CALL_SLOT, CAIRN_BRANCH_JUMP_SLOT, CAIRN_BRANCH_RETURN };
/* TARGET is where the branch goes, or the slot that says it; 0 for a return. */
typedef void cairn_move_branch(void *context, uint64_t from, uint64_t target, enum cairn_branch branch);

/* Calls SEE for each branch in the CODE at ADDRESS, which is a function, that names its target, and for each return. Returns false where it is not
 * understood to its end. */
bool cairn_move_branches(uint64_t address, struct cairn_bytes code, cairn_move_branch *see, void *context);

/* Calls SEE for what looks like a direct call of, or jump to, one of COUNT sorted TARGETS anywhere in the CODE at ADDRESS, fast: on x86-64 some may lie
 * inside of other instructions. */
void cairn_move_scan(uint64_t address, struct cairn_bytes code, const uint64_t *targets, size_t count, cairn_move_branch *see, void *context);

#endif
