/* move.c - moving an instruction, for aarch64 (Arm Architecture Reference Manual, C4.1).
 *
 * The jump is a branch of four bytes over one instruction. What is moved may use x16 and x17: nobody expects anything of them at the beginning
 * of a function.
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/move.h"

#include <string.h>

enum { size = 4 };
static const uint32_t nop = 0xd503201f;

const uint64_t cairn_move_reach = UINT64_C(0x7f00000);

static uint32_t get_word(struct cairn_bytes code, size_t at)
{
	uint32_t word = 0;
	if (at + size <= code.length)
		memcpy(&word, code.data + at, size);
	return word;
}

/* The LENGTH bits of WORD from AT on, as a signed number. */
static int64_t get_signed(uint32_t word, unsigned at, unsigned length)
{
	return (int64_t)((uint64_t)word << (64 - at - length)) >> (64 - length);
}

static bool is_bl(uint32_t word)
{
	return word >> 26 == 0x25;
}

/* b, bl, b.cond, cbz, cbnz, tbz and tbnz. */
static bool is_branch(uint32_t word, uint64_t address, uint64_t *target)
{
	if ((word >> 26 & 0x1f) == 0x05)
		*target = address + (uint64_t)(get_signed(word, 0, 26) * size);
	else if (word >> 24 == 0x54 || (word >> 25 & 0x3f) == 0x1a)
		*target = address + (uint64_t)(get_signed(word, 5, 19) * size);
	else if ((word >> 25 & 0x3f) == 0x1b)
		*target = address + (uint64_t)(get_signed(word, 5, 14) * size);
	else
		return false;
	return true;
}

/* adr, adrp and loads of a literal. */
static bool is_data(uint32_t word, uint64_t address, uint64_t *target)
{
	int64_t immediate = get_signed(word, 5, 19);
	if ((word >> 24 & 0x1f) == 0x10) {
		immediate = immediate * 4 + (word >> 29 & 3);
		*target = word >> 31 ? (address & ~UINT64_C(4095)) + (uint64_t)(immediate * 4096) : address + (uint64_t)immediate;
	} else if ((word >> 24 & 0x3b) == 0x18) {
		*target = address + (uint64_t)(immediate * size);
	} else {
		return false;
	}
	return true;
}

/* In its four forms. */
static bool is_bti(uint32_t word)
{
	return (word & 0xffffff3f) == 0xd503241f;
}

/* paciasp and pacibsp, which sign the return address with the stack pointer, and are landing pads. autiasp and autibsp undo that. */
static const uint32_t undo_signing = 1 << 7;
static bool is_signing(uint32_t word)
{
	return word == 0xd503233f || word == 0xd503237f;
}

size_t cairn_move_jump(uint64_t from, uint64_t to, unsigned char out[8])
{
	int64_t distance = (int64_t)(to - from);
	uint32_t word = 0x14000000 | ((uint32_t)(distance / size) & 0x3ffffff);
	memcpy(out, &word, size);
	return distance >= -(INT64_C(1) << 27) && distance < INT64_C(1) << 27 && distance % size == 0 ? size : 0;
}

struct writer {
	unsigned char *out;
	size_t length;
	uint64_t to;
	bool failed; /* something is out of reach */
};

static void put(struct writer *writer, uint32_t word)
{
	memcpy(writer->out + writer->length, &word, size);
	writer->length += size;
}

/* Sets register NUMBER to VALUE: movz, and movk three times. */
static void put_value(struct writer *writer, unsigned number, uint64_t value)
{
	for (unsigned i = 0; i < 4; i++)
		put(writer, (i ? 0xf2800000 : 0xd2800000) | i << 21 | (uint32_t)(value >> (16 * i) & 0xffff) << 5 | number);
}

/* Direct, since an indirect one must lead to a landing pad. */
static void put_jump(struct writer *writer, uint64_t target)
{
	writer->failed |= !cairn_move_jump(writer->to + writer->length, target, writer->out + writer->length);
	writer->length += size;
}

/* The same load, of what x16 points to. A prefetch is only a hint. */
static void put_load(struct writer *writer, uint32_t word, uint64_t target)
{
	static const uint32_t loads[8] = {0xb9400200, 0xf9400200, 0xb9800200, 0, 0xbd400200, 0xfd400200, 0x3dc00200, 0};
	uint32_t load = loads[(word >> 26 & 1) << 2 | word >> 30];
	put_value(writer, 16, target);
	put(writer, load ? load | (word & 0x1f) : nop);
}

size_t cairn_move_enter(const struct cairn_move *move, unsigned char out[4])
{
	uint32_t undo = move->signing | undo_signing;
	memcpy(out, &undo, size);
	return move->signing ? size : 0;
}

size_t cairn_move_write(const struct cairn_move *move, uint64_t to, unsigned char out[CAIRN_MOVE_MOST])
{
	struct writer writer = {out, 0, to, false};
	const struct cairn_move_part *part = &move->parts[0];
	uint32_t word;
	memcpy(&word, move->bytes, size);
	if (move->signing)
		put(&writer, move->signing);
	switch ((enum cairn_move_kind)part->kind) {
	case CAIRN_MOVE_PLAIN: put(&writer, word); break;
	case CAIRN_MOVE_JUMP: put_jump(&writer, part->target); return writer.failed ? 0 : writer.length;
	case CAIRN_MOVE_DATA:
		if ((word >> 24 & 0x1f) == 0x10)
			put_value(&writer, word & 0x1f, part->target);
		else
			put_load(&writer, word, part->target);
		break;
	case CAIRN_MOVE_CONDITION: { /* to where it jumps from here, two instructions on, or past that */
		uint32_t field = (word >> 25 & 0x3f) == 0x1b ? 0x3fffu << 5 : 0x7ffffu << 5;
		put(&writer, (word & ~field) | 2 << 5);
		put(&writer, 0x14000002); /* b over that */
		put_jump(&writer, part->target);
		break;
	}
	}
	put_jump(&writer, move->address + move->at + move->taken);
	return writer.failed ? 0 : writer.length;
}

bool cairn_move_study(struct cairn_move *move, uint64_t address, struct cairn_bytes code, struct cairn_error *error)
{
	uint64_t target;
	*move = (struct cairn_move){.address = address, .taken = size, .single = true, .count = 1};
	move->signing = is_signing(get_word(code, 0)) ? get_word(code, 0) : 0;
	move->at = move->signing || is_bti(get_word(code, 0)) ? size : 0;
	uint32_t word = get_word(code, move->at);
	struct cairn_move_part *part = &move->parts[0];
	*part = (struct cairn_move_part){.length = size};
	memcpy(move->bytes, &word, size);
	if (is_bl(word) || (word & 0xfffffc1f) == 0xd63f0000)
		return cairn_fail(error, "it begins with a call");
	if (word >> 24 == 0xd4)
		return cairn_fail(error, "there is a breakpoint, or a call of the system");
	if (word >> 25 == 0x6b || word >> 16 == 0 || code.length < move->at + size)
		return cairn_fail(error, "it is shorter than a jump");
	if (is_branch(word, address + move->at, &part->target))
		part->kind = word >> 26 == 0x05 ? CAIRN_MOVE_JUMP : CAIRN_MOVE_CONDITION;
	else if (is_data(word, address + move->at, &part->target))
		part->kind = CAIRN_MOVE_DATA;
	for (size_t at = 0; at + size <= code.length; at += size)
		if (is_branch(get_word(code, at), address + at, &target) && target == address + move->at && !is_bl(get_word(code, at)))
			return cairn_fail(error, "it jumps back to its first instruction");
	return true;
}

bool cairn_move_branches(uint64_t address, struct cairn_bytes code, cairn_move_branch *see, void *context)
{
	uint64_t target;
	for (size_t at = 0; at + size <= code.length; at += size) {
		uint32_t word = get_word(code, at);
		if (is_branch(word, address + at, &target))
			see(context, address + at, target, is_bl(word) ? CAIRN_BRANCH_CALL : CAIRN_BRANCH_JUMP);
		else if ((word & 0xfffff3ff) == 0xd65f03c0 || (word & 0xfffffc1f) == 0xd65f0000) /* retaa and retab; ret */
			see(context, address + at, 0, CAIRN_BRANCH_RETURN);
	}
	return true;
}

void cairn_move_scan(uint64_t address, struct cairn_bytes code, const uint64_t *targets, size_t count, cairn_move_branch *see, void *context)
{
	uint64_t target, first = count ? targets[0] : 0, span = count ? targets[count - 1] - first : 0;
	for (size_t at = 0; count && at + size <= code.length; at += size) {
		uint32_t word = get_word(code, at);
		if ((word >> 26 & 0x1f) != 0x05 || !is_branch(word, address + at, &target) || target - first > span)
			continue;
		for (size_t i = 0; i < count; i++)
			if (targets[i] == target)
				see(context, address + at, target, is_bl(word) ? CAIRN_BRANCH_CALL : CAIRN_BRANCH_JUMP);
	}
}
