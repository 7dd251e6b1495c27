/* move.c - moving instructions, for x86_64.
 *
 * A caller takes the function to have changed whatever the calling convention lets it change, unless its compiler knows better (gcc's
 * -fipa-ra), which it does only of a function that calls nothing unknown: no allocator's.
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/move.h"

#include <string.h>

enum { jump_length = 5 };

const uint64_t cairn_move_reach = UINT64_C(0x7ff00000);

static bool put_relative(unsigned char *out, uint64_t target, uint64_t next)
{
	int64_t distance = (int64_t)(target - next);
	int32_t value = (int32_t)distance;
	memcpy(out, &value, sizeof value);
	return distance == value;
}

size_t cairn_move_jump(uint64_t from, uint64_t to, unsigned char out[8])
{
	out[0] = 0xe9;
	return put_relative(out + 1, to, from + jump_length) ? jump_length : 0;
}

/* The short form of a condition has its number in the low half of the opcode, as the long one has. */
static size_t write_part(const struct cairn_move *move, const struct cairn_move_part *part, uint64_t to, unsigned char *out)
{
	const unsigned char *bytes = move->bytes + part->at;
	if (part->kind == CAIRN_MOVE_JUMP)
		return cairn_move_jump(to, part->target, out);
	if (part->kind == CAIRN_MOVE_CONDITION) {
		out[0] = 0x0f;
		out[1] = 0x80 | (bytes[part->field - 1] & 0xf);
		return put_relative(out + 2, part->target, to + 6) ? 6 : 0;
	}
	memcpy(out, bytes, part->length);
	return part->kind == CAIRN_MOVE_PLAIN || put_relative(out + part->field, part->target, to + part->length) ? part->length : 0;
}

size_t cairn_move_enter(const struct cairn_move *move, unsigned char out[4])
{
	(void)move, (void)out;
	return 0;
}

size_t cairn_move_write(const struct cairn_move *move, uint64_t to, unsigned char out[CAIRN_MOVE_MOST])
{
	size_t length = 0;
	for (unsigned i = 0; i < move->count; i++) {
		size_t size = write_part(move, &move->parts[i], to + length, out + length);
		if (!size)
			return 0;
		length += size;
	}
	if (move->count && move->parts[move->count - 1].kind == CAIRN_MOVE_JUMP)
		return length;
	size_t back = cairn_move_jump(to + length, move->address + move->at + move->taken, out + length);
	return back ? length + back : 0;
}

static bool is_wanted(uint64_t target, const uint64_t *targets, size_t count)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (targets[middle] < target)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && targets[low] == target;
}

void cairn_move_scan(uint64_t address, struct cairn_bytes code, const uint64_t *targets, size_t count, cairn_move_branch *see, void *context)
{
	const unsigned char *bytes = (const unsigned char *)code.data;
	uint64_t first = count ? targets[0] : 0, span = count ? targets[count - 1] - first : 0;
	for (size_t i = 0; count && i + jump_length <= code.length; i++) {
		int32_t distance;
		if ((bytes[i] & 0xfe) != 0xe8)
			continue;
		memcpy(&distance, bytes + i + 1, sizeof distance);
		uint64_t target = address + i + jump_length + (uint64_t)(int64_t)distance;
		if (target - first <= span && is_wanted(target, targets, count))
			see(context, address + i, target, bytes[i] == 0xe8 ? CAIRN_BRANCH_CALL : CAIRN_BRANCH_JUMP);
	}
}

#ifdef CAIRN_HAS_ZYDIS
#include <Zydis/Zydis.h>

static bool decode(struct cairn_bytes code, size_t at, ZydisDecodedInstruction *decoded)
{
	ZydisDecoder decoder;
	return at < code.length && ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code.data + at, code.length - at, decoded));
}

static bool is_condition(const ZydisDecodedInstruction *decoded)
{
	unsigned high = decoded->opcode & 0xf0;
	return decoded->meta.category == ZYDIS_CATEGORY_COND_BR &&
	       ((decoded->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && high == 0x70) || (decoded->opcode_map == ZYDIS_OPCODE_MAP_0F && high == 0x80));
}

/* Whether the instruction, which is at ADDRESS, goes to a place that it says itself. */
static bool is_branch(const ZydisDecodedInstruction *decoded, uint64_t address, uint64_t *target)
{
	if (!decoded->raw.imm[0].is_relative)
		return false;
	*target = address + decoded->length + (uint64_t)decoded->raw.imm[0].value.s;
	return true;
}

static bool add_part(struct cairn_move *move, const ZydisDecodedInstruction *decoded, uint64_t address, const char **why)
{
	struct cairn_move_part *part = &move->parts[move->count++];
	*part = (struct cairn_move_part){.at = (uint8_t)move->taken, .length = decoded->length};
	*why = NULL;
	if (is_branch(decoded, address, &part->target)) {
		part->kind = decoded->meta.category == ZYDIS_CATEGORY_UNCOND_BR ? CAIRN_MOVE_JUMP : CAIRN_MOVE_CONDITION;
		part->field = decoded->raw.imm[0].offset;
		if (part->kind == CAIRN_MOVE_CONDITION && !is_condition(decoded))
			*why = "a call or a loop is among its first instructions";
	} else if (decoded->attributes & ZYDIS_ATTRIB_IS_RELATIVE) {
		part->kind = CAIRN_MOVE_DATA;
		part->field = decoded->raw.disp.offset;
		part->target = address + decoded->length + (uint64_t)decoded->raw.disp.value;
		if (decoded->raw.disp.size != 32 || decoded->address_width != 64)
			*why = "it refers to data in a way that cannot be moved";
	}
	switch (decoded->meta.category) {
	case ZYDIS_CATEGORY_CALL: *why = "a call is among its first instructions"; break;
	case ZYDIS_CATEGORY_RET: *why = "it is shorter than a jump"; break;
	case ZYDIS_CATEGORY_INTERRUPT: *why = "there is a breakpoint"; break;
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM: *why = "an instruction of the system is among its first ones"; break;
	case ZYDIS_CATEGORY_UNCOND_BR: *why = part->kind == CAIRN_MOVE_JUMP ? *why : "it begins with an indirect jump"; break;
	default: break;
	}
	return !*why;
}

bool cairn_move_branches(uint64_t address, struct cairn_bytes code, cairn_move_branch *see, void *context)
{
	ZydisDecodedInstruction decoded;
	uint64_t target;
	for (size_t at = 0; at < code.length; at += decoded.length) {
		if (!decode(code, at, &decoded))
			return false;
		bool is_call = decoded.meta.category == ZYDIS_CATEGORY_CALL;
		if (is_branch(&decoded, address + at, &target))
			see(context, address + at, target, is_call ? CAIRN_BRANCH_CALL : CAIRN_BRANCH_JUMP);
		else if (decoded.meta.category == ZYDIS_CATEGORY_RET)
			see(context, address + at, 0, CAIRN_BRANCH_RETURN);
		else if ((is_call || decoded.meta.category == ZYDIS_CATEGORY_UNCOND_BR) && (decoded.attributes & ZYDIS_ATTRIB_IS_RELATIVE))
			see(context, address + at, address + at + decoded.length + (uint64_t)decoded.raw.disp.value,
			    is_call ? CAIRN_BRANCH_CALL_SLOT : CAIRN_BRANCH_JUMP_SLOT);
	}
	return true;
}

/* Of the branches in a function: whether one goes to where the jump will be. */
struct backward {
	uint64_t start, end;
	bool found;
};

static void look_backward(void *context, uint64_t from, uint64_t target, enum cairn_branch branch)
{
	struct backward *backward = context;
	(void)from;
	backward->found |= (branch == CAIRN_BRANCH_CALL || branch == CAIRN_BRANCH_JUMP) && target >= backward->start && target < backward->end;
}

bool cairn_move_study(struct cairn_move *move, uint64_t address, struct cairn_bytes code, struct cairn_error *error)
{
	ZydisDecodedInstruction decoded;
	const char *why;
	*move = (struct cairn_move){.address = address};
	if (decode(code, 0, &decoded) && decoded.mnemonic == ZYDIS_MNEMONIC_ENDBR64)
		move->at = decoded.length;
	bool ends = false;
	while (move->taken < jump_length && !ends) {
		size_t at = move->at + move->taken;
		if (!decode(code, at, &decoded))
			return cairn_fail(error, "its first instructions are unknown");
		if (!add_part(move, &decoded, address + at, &why))
			return cairn_fail(error, "%s", why);
		move->taken += decoded.length;
		ends = move->parts[move->count - 1].kind == CAIRN_MOVE_JUMP;
	}
	move->single = move->count == 1;
	memcpy(move->bytes, code.data + move->at, move->taken);
	if (move->taken < jump_length)
		return cairn_fail(error, "it is shorter than a jump");
	struct backward backward = {address + move->at, address + move->at + move->taken, false};
	if (!cairn_move_branches(address, code, look_backward, &backward))
		return cairn_fail(error, "it cannot be decoded to its end");
	return !backward.found || cairn_fail(error, "it jumps back to its first instructions");
}

#else

bool cairn_move_branches(uint64_t address, struct cairn_bytes code, cairn_move_branch *see, void *context)
{
	(void)address, (void)code, (void)see, (void)context;
	return false;
}

bool cairn_move_study(struct cairn_move *move, uint64_t address, struct cairn_bytes code, struct cairn_error *error)
{
	(void)code;
	*move = (struct cairn_move){.address = address};
	return cairn_fail(error, "this cairn was built without Zydis, which decodes instructions");
}

#endif
