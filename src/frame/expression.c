/* expression.c - the stack machine of DWARF expressions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "frame/expression.h"

#include "base/cursor.h"

enum { stack_most = 16, steps_most = 256 };

enum {
	OP_ADDRESS = 0x03, OP_DEREF = 0x06, OP_CONST1U = 0x08, OP_CONST1S, OP_CONST2U, OP_CONST2S, OP_CONST4U, OP_CONST4S,
	OP_CONST8U, OP_CONST8S, OP_CONSTU, OP_CONSTS, OP_DUP, OP_DROP, OP_OVER, OP_PICK, OP_SWAP, OP_ROT,
	OP_ABS = 0x19, OP_AND, OP_DIV, OP_MINUS, OP_MOD, OP_MUL, OP_NEG, OP_NOT, OP_OR, OP_PLUS, OP_PLUS_UCONST, OP_SHL,
	OP_SHR, OP_SHRA, OP_XOR, OP_BRA, OP_EQ, OP_GE, OP_GT, OP_LE, OP_LT, OP_NE, OP_SKIP,
	OP_LIT0 = 0x30, OP_REG0 = 0x50, OP_BREG0 = 0x70, OP_REGX = 0x90, OP_BREGX = 0x92, OP_DEREF_SIZE = 0x94, OP_NOP = 0x96,
};

struct machine {
	struct cairn_cursor in;
	const struct cairn_expression_world *world;
	uint64_t stack[stack_most];
	unsigned depth;
	bool failed;
};

static void push(struct machine *machine, uint64_t value)
{
	if (machine->depth == stack_most)
		machine->failed = true;
	else
		machine->stack[machine->depth++] = value;
}

static uint64_t pop(struct machine *machine)
{
	if (machine->depth == 0) {
		machine->failed = true;
		return 0;
	}
	return machine->stack[--machine->depth];
}

/* The element INDEX below the top. */
static uint64_t pick(struct machine *machine, unsigned index)
{
	if (index >= machine->depth) {
		machine->failed = true;
		return 0;
	}
	return machine->stack[machine->depth - 1 - index];
}

static uint64_t register_value(struct machine *machine, uint64_t number)
{
	if (number >= machine->world->registers_count) {
		machine->failed = true;
		return 0;
	}
	return machine->world->registers[number];
}

static uint64_t load(struct machine *machine, unsigned size)
{
	uint64_t value = 0;
	if (size == 0 || size > 8 || !machine->world->read(machine->world->context, pop(machine), size, &value))
		machine->failed = true;
	return value;
}

static void jump(struct machine *machine, int16_t distance)
{
	cairn_cursor_seek(&machine->in, cairn_cursor_offset(&machine->in) + (uint64_t)(int64_t)distance);
}

static uint64_t divide(struct machine *machine, uint64_t left, uint64_t right)
{
	if (right == 0 || ((int64_t)left == INT64_MIN && (int64_t)right == -1)) {
		machine->failed = true;
		return 0;
	}
	return (uint64_t)((int64_t)left / (int64_t)right);
}

/* Operations that take two values and leave one. */
static bool run_binary(struct machine *machine, uint8_t opcode)
{
	if (opcode < OP_AND || opcode > OP_NE || opcode == OP_NEG || opcode == OP_NOT || opcode == OP_PLUS_UCONST || opcode == OP_BRA)
		return false;
	uint64_t right = pop(machine), left = pop(machine), result = 0;
	switch (opcode) {
	case OP_AND: result = left & right; break;
	case OP_DIV: result = divide(machine, left, right); break;
	case OP_MINUS: result = left - right; break;
	case OP_MOD:
		machine->failed |= right == 0;
		result = right ? left % right : 0;
		break;
	case OP_MUL: result = left * right; break;
	case OP_OR: result = left | right; break;
	case OP_PLUS: result = left + right; break;
	case OP_SHL: result = right < 64 ? left << right : 0; break;
	case OP_SHR: result = right < 64 ? left >> right : 0; break;
	case OP_SHRA: result = (uint64_t)((int64_t)left >> (right < 64 ? right : 63)); break;
	case OP_XOR: result = left ^ right; break;
	case OP_EQ: result = left == right; break;
	case OP_GE: result = (int64_t)left >= (int64_t)right; break;
	case OP_GT: result = (int64_t)left > (int64_t)right; break;
	case OP_LE: result = (int64_t)left <= (int64_t)right; break;
	case OP_LT: result = (int64_t)left < (int64_t)right; break;
	case OP_NE: result = left != right; break;
	}
	push(machine, result);
	return true;
}

static bool run_constant(struct machine *machine, uint8_t opcode)
{
	struct cairn_cursor *in = &machine->in;
	switch (opcode) {
	case OP_CONST1U: push(machine, cairn_cursor_u8(in)); return true;
	case OP_CONST1S: push(machine, (uint64_t)(int8_t)cairn_cursor_u8(in)); return true;
	case OP_CONST2U: push(machine, cairn_cursor_u16(in)); return true;
	case OP_CONST2S: push(machine, (uint64_t)(int16_t)cairn_cursor_u16(in)); return true;
	case OP_CONST4U: push(machine, cairn_cursor_u32(in)); return true;
	case OP_CONST4S: push(machine, (uint64_t)(int32_t)cairn_cursor_u32(in)); return true;
	case OP_ADDRESS:
	case OP_CONST8U:
	case OP_CONST8S: push(machine, cairn_cursor_u64(in)); return true;
	case OP_CONSTU: push(machine, cairn_cursor_uleb(in)); return true;
	case OP_CONSTS: push(machine, (uint64_t)cairn_cursor_sleb(in)); return true;
	}
	return false;
}

static bool run_stack(struct machine *machine, uint8_t opcode)
{
	uint64_t first, second, third;
	switch (opcode) {
	case OP_DUP: push(machine, pick(machine, 0)); return true;
	case OP_DROP: pop(machine); return true;
	case OP_OVER: push(machine, pick(machine, 1)); return true;
	case OP_PICK: push(machine, pick(machine, cairn_cursor_u8(&machine->in))); return true;
	case OP_SWAP:
		first = pop(machine), second = pop(machine);
		push(machine, first);
		push(machine, second);
		return true;
	case OP_ROT:
		first = pop(machine), second = pop(machine), third = pop(machine);
		push(machine, first);
		push(machine, third);
		push(machine, second);
		return true;
	}
	return false;
}

static void run_other(struct machine *machine, uint8_t opcode)
{
	struct cairn_cursor *in = &machine->in;
	int16_t distance;
	uint64_t value;
	switch (opcode) {
	case OP_DEREF: push(machine, load(machine, 8)); return;
	case OP_DEREF_SIZE: push(machine, load(machine, cairn_cursor_u8(in))); return;
	case OP_ABS:
		value = pop(machine);
		push(machine, (int64_t)value < 0 ? 0 - value : value);
		return;
	case OP_NEG: push(machine, 0 - pop(machine)); return;
	case OP_NOT: push(machine, ~pop(machine)); return;
	case OP_PLUS_UCONST: push(machine, pop(machine) + cairn_cursor_uleb(in)); return;
	case OP_SKIP: jump(machine, (int16_t)cairn_cursor_u16(in)); return;
	case OP_BRA:
		distance = (int16_t)cairn_cursor_u16(in);
		if (pop(machine))
			jump(machine, distance);
		return;
	case OP_REGX: push(machine, register_value(machine, cairn_cursor_uleb(in))); return;
	case OP_BREGX:
		value = register_value(machine, cairn_cursor_uleb(in));
		push(machine, value + (uint64_t)cairn_cursor_sleb(in));
		return;
	case OP_NOP: return;
	}
	machine->failed = true;
}

bool cairn_expression_value(struct cairn_bytes expression, const struct cairn_expression_world *world, const uint64_t *first,
			    uint64_t *value)
{
	struct machine machine = {.in = cairn_cursor(expression), .world = world};
	if (first)
		push(&machine, *first);
	for (unsigned step = 0; cairn_cursor_left(&machine.in) > 0; step++) {
		if (step == steps_most || machine.failed)
			return false;
		uint8_t opcode = cairn_cursor_u8(&machine.in);
		if (opcode >= OP_LIT0 && opcode < OP_LIT0 + 32)
			push(&machine, opcode - OP_LIT0);
		else if (opcode >= OP_REG0 && opcode < OP_REG0 + 32)
			push(&machine, register_value(&machine, opcode - OP_REG0));
		else if (opcode >= OP_BREG0 && opcode < OP_BREG0 + 32)
			push(&machine, register_value(&machine, opcode - OP_BREG0) + (uint64_t)cairn_cursor_sleb(&machine.in));
		else if (!run_constant(&machine, opcode) && !run_stack(&machine, opcode) && !run_binary(&machine, opcode))
			run_other(&machine, opcode);
	}
	*value = pop(&machine);
	return !machine.failed && !machine.in.failed;
}
