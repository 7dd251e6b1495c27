/* unwind.c - walking the stack: by cached rules, or with all registers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/unwind.h"

#include "agent/unwind/rule_cache.h"
#include "agent/unwind/stack.h"
#include "frame/expression.h"

#include <assert.h>
#include <signal.h>

enum { codes_kept = 4 };

/* One walk under way. */
struct walk {
	uint64_t pc, sp, fp;
	bool exact; /* the pc is where the thread stands; otherwise the call is before it */
	struct cairn_stack stack;
	const struct cairn_code *code;       /* the object of the last frame, in `codes` */
	struct cairn_code codes[codes_kept]; /* objects met; while their frames are on the stack they stay loaded */
	unsigned code_count;
	uint64_t verified; /* frame pointers up to this one lead through generated code to a call in a loaded object */
	unsigned switches; /* how often the walk went over to another stack */
	bool by_fp;        /* this frame was found by its callee's frame pointer */
	const struct cairn_unwind_ranges *leave_out; /* NULL once a frame was outside of them */
	void **pcs;
	unsigned count, most;
};

const char *cairn_unwind_end_name(enum cairn_unwind_end end)
{
	static const char *const names[] = {
		[CAIRN_UNWIND_COMPLETE] = "complete", [CAIRN_UNWIND_TRUNCATED] = "truncated",   [CAIRN_UNWIND_NO_CODE] = "no code",
		[CAIRN_UNWIND_NO_RULE] = "no rule",   [CAIRN_UNWIND_UNREADABLE] = "unreadable",
	};
	static_assert(sizeof names / sizeof *names == CAIRN_UNWIND_ENDS, "every end has a name");
	return names[end];
}

static void start(struct walk *walk, const struct cairn_registers *registers, const struct cairn_unwind_ranges *leave_out)
{
	walk->pc = registers->pc;
	walk->sp = registers->values[CAIRN_REGISTER_SP];
	walk->fp = registers->values[CAIRN_REGISTER_FP];
	walk->exact = registers->pc_is_exact;
	walk->stack = cairn_stack_at(walk->sp);
	walk->leave_out = leave_out;
	walk->count = 0;
	walk->verified = 0;
	walk->switches = 0;
	walk->by_fp = false;
}

/* An address that lies in the code this frame is executing: a return address may already be the next function's. */
static uint64_t inside(const struct walk *walk)
{
	return walk->pc - !walk->exact;
}

static bool is_in(const struct cairn_code *code, uint64_t pc)
{
	return pc - code->start < code->end - code->start;
}

__attribute__((noinline)) static const struct cairn_code *find_other_code(struct walk *walk, uint64_t pc)
{
	for (unsigned i = 0; i < walk->code_count && i < codes_kept; i++)
		if (is_in(&walk->codes[i], pc))
			return &walk->codes[i];
	struct cairn_code *code = &walk->codes[walk->code_count % codes_kept];
	if (!cairn_code_find(pc, code)) {
		*code = (struct cairn_code){0};
		return NULL;
	}
	walk->code_count++;
	return code;
}

/* The loaded object that covers PC, or NULL. Callers are mostly in the same one. */
static const struct cairn_code *find_code(struct walk *walk, uint64_t pc)
{
	if (!is_in(walk->code, pc)) {
		const struct cairn_code *code = find_other_code(walk, pc);
		if (!code)
			return NULL;
		walk->code = code;
	}
	return walk->code;
}

__attribute__((noinline)) static bool is_left_out(const struct cairn_unwind_ranges *leave_out, uint64_t pc)
{
	unsigned low = 0, high = leave_out->count;
	while (low < high) {
		unsigned middle = (low + high) / 2;
		if (leave_out->ranges[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && pc < leave_out->ranges[low - 1].end;
}

/* Notes the frame; false when there is no room for it. A frame that is left out takes the place of all before it. */
__attribute__((always_inline)) static inline bool record(struct walk *walk)
{
	if (walk->leave_out && walk->count > 0) {
		if (is_left_out(walk->leave_out, inside(walk)))
			walk->count = 0;
		else if (walk->count > walk->leave_out->gap)
			walk->leave_out = NULL;
	}
	if (walk->count == walk->most)
		return false;
	walk->pcs[walk->count++] = (void *)walk->pc;
	return true;
}

static bool find_rules(const struct cairn_code *code, uint64_t pc, struct cairn_frame_rules *rules)
{
	struct cairn_image image = cairn_code_image(code);
	struct cairn_fde fde;
	return code->unwind_header && cairn_eh_frame_find(&image, code->unwind_header, pc, &fde) &&
	       cairn_eh_frame_rules(&image, &fde, pc, rules);
}

/* Whether the instruction before PC is a call. */
static bool follows_call(uint64_t pc)
{
	unsigned char before[8];
	if (pc < sizeof before || !cairn_stack_is_readable(pc - sizeof before))
		return false;
	memcpy(before, (const void *)(pc - sizeof before), sizeof before);
	return cairn_arch_is_call(before);
}

/* The frame that FP points to: the caller's frame pointer, which must be above it (or the last), and where the call returns to. */
static bool read_frame(struct walk *walk, uint64_t fp, uint64_t *next_fp, uint64_t *next_pc)
{
	if (!cairn_stack_read(&walk->stack, fp, next_fp) || !cairn_stack_read(&walk->stack, fp + 8, next_pc))
		return false;
	*next_pc = cairn_arch_plain_address(*next_pc);
	return *next_fp > fp || *next_fp == 0;
}

/* Generated code has no rules and belongs to no object. Most compilers keep frame pointers in it: they are believed if they lead,
 * upwards and through readable code, back to a call in a loaded object. */
__attribute__((noinline)) static bool leads_to_code(struct walk *walk, uint64_t fp)
{
	enum { frames_most = 500 };
	for (unsigned i = 0; i < frames_most; i++) {
		uint64_t next_fp, next_pc;
		if (!read_frame(walk, fp, &next_fp, &next_pc))
			return false;
		if (find_code(walk, next_pc - 1)) {
			walk->verified = fp;
			return follows_call(next_pc);
		}
		if (next_fp == 0 || next_pc < 8 || !cairn_stack_is_readable(next_pc - 8))
			return false;
		fp = next_fp;
	}
	return false;
}

/* A runtime may call C on another stack, as Go does: its own code there has no rules, and the frame pointer still is that of the stack it
 * came from. */
static bool leads_to_other_stack(struct walk *walk, uint64_t next_pc)
{
	enum { switches_most = 4 };
	return walk->switches++ < switches_most && find_code(walk, next_pc - 1) && follows_call(next_pc);
}

/* Code without rules: the frame pointer is believed if it points into the stack above this frame and the return address is in a
 * loaded object, or if what it leads to shows that it is one. */
static bool step_by_frame_pointer(struct walk *walk)
{
	uint64_t fp = walk->fp, next_fp, next_pc;
	if (fp == 0 || !read_frame(walk, fp, &next_fp, &next_pc))
		return false;
	bool generated = !is_in(walk->code, inside(walk));
	if (fp < walk->sp ? generated || !leads_to_other_stack(walk, next_pc)
			  : fp > walk->verified && (generated || !find_code(walk, next_pc - 1)) && !leads_to_code(walk, fp))
		return false;
	walk->sp = fp + 16;
	walk->fp = next_fp;
	walk->pc = next_pc;
	walk->exact = false;
	walk->by_fp = true;
	return true;
}

/* The end of a chain of frame pointers, as every ABI has it. */
static bool ends_chain(const struct walk *walk)
{
	return walk->by_fp && walk->fp == 0;
}

/* No call returns to the first instruction of a function: such a return address was put there by makecontext or its like, and
 * the frame is the last. */
static bool starts_function(const struct cairn_code *code, uint64_t pc)
{
	struct cairn_image image = cairn_code_image(code);
	struct cairn_fde fde;
	return code->unwind_header && cairn_eh_frame_find(&image, code->unwind_header, pc, &fde) && fde.start == pc;
}

__attribute__((noinline)) static cairn_short_rule make_short_rule(const struct cairn_code *code, uint64_t pc)
{
	struct cairn_image image = cairn_code_image(code);
	struct cairn_frame_rules rules;
	cairn_short_rule rule = cairn_short_rule_of(CAIRN_SHORT_NO_RULE);
	if (find_rules(code, pc, &rules))
		rule = cairn_short_rule_make(&image, &rules);
	else if (starts_function(code, pc + 1))
		rule = cairn_short_rule_of(CAIRN_SHORT_OUTERMOST);
	cairn_rule_cache_put(pc, code->tag, rule);
	return rule;
}

/* The rule of the frame, from the table or worked out. */
static cairn_short_rule find_short_rule(struct walk *walk)
{
	uint64_t pc = inside(walk);
	const struct cairn_code *code = find_code(walk, pc);
	if (!code)
		return cairn_short_rule_of(CAIRN_SHORT_NO_CODE);
	cairn_short_rule rule = cairn_rule_cache_get(pc, code->tag);
	return rule ? rule : make_short_rule(code, pc);
}

/* One step of the fast walk by a rule that names a CFA. */
static bool step(struct walk *walk, cairn_short_rule rule)
{
	uint64_t base = cairn_short_rule_uses_fp(rule) ? walk->fp : walk->sp;
	uint64_t cfa = base + (uint64_t)cairn_short_rule_cfa_offset(rule), fp_at = cfa;
	if (cairn_short_rule_kind(rule) == CAIRN_SHORT_REALIGNED) {
		fp_at = walk->fp;
		if (!cairn_stack_read(&walk->stack, cfa, &cfa))
			return false;
	}
	uint64_t pc, fp = walk->fp;
	if (cfa <= walk->sp || !cairn_stack_read(&walk->stack, cfa + (uint64_t)cairn_short_rule_return_offset(rule), &pc))
		return false;
	if (cairn_short_rule_saves_fp(rule) && !cairn_stack_read(&walk->stack, fp_at + (uint64_t)cairn_short_rule_fp_offset(rule), &fp))
		return false;
	walk->pc = cairn_arch_plain_address(pc);
	walk->sp = cfa;
	walk->fp = fp;
	walk->exact = false;
	return true;
}

/* SIZE bytes, up to 8, that do not cross a word. */
static bool read_memory(void *context, uint64_t address, unsigned size, uint64_t *value)
{
	struct cairn_stack *stack = context;
	uint64_t word, shift = address % 8;
	if (shift + size > 8 || !cairn_stack_read(stack, address - shift, &word))
		return false;
	word >>= shift * 8;
	*value = size == 8 ? word : word & ((UINT64_C(1) << size * 8) - 1);
	return true;
}

static bool is_signal_return(uint64_t pc)
{
	if (!CAIRN_ARCH_SIGNAL_REGISTERS)
		return false;
	struct cairn_stack code = cairn_stack_at(pc);
	uint64_t first, second;
	return read_memory(&code, pc, 4, &first) && read_memory(&code, pc + 4, 4, &second) &&
	       cairn_arch_is_signal_return(first, second);
}

static bool leave_signal(struct walk *walk, struct cairn_registers *registers)
{
	uint64_t saved = walk->sp + CAIRN_ARCH_SIGNAL_REGISTERS;
	for (unsigned i = 0; i < CAIRN_REGISTERS; i++)
		if (!cairn_stack_read(&walk->stack, saved + i * 8, &registers->values[i]))
			return false;
	if (!cairn_stack_read(&walk->stack, saved + CAIRN_REGISTERS * 8, &walk->pc))
		return false;
	walk->exact = true;
	walk->sp = registers->values[CAIRN_REGISTER_SP];
	walk->fp = registers->values[CAIRN_REGISTER_FP];
	return true;
}

/* The fast walk; *NEEDS_ALL is set when a frame needs more than three registers. */
static enum cairn_unwind_end walk_fast(struct walk *walk, bool *needs_all)
{
	while (walk->pc) {
		if (!record(walk))
			return CAIRN_UNWIND_TRUNCATED;
		cairn_short_rule rule = find_short_rule(walk);
		switch (cairn_short_rule_kind(rule)) {
		case CAIRN_SHORT_CFA:
		case CAIRN_SHORT_REALIGNED:
			if (!step(walk, rule))
				return CAIRN_UNWIND_UNREADABLE;
			break;
		case CAIRN_SHORT_OUTERMOST: return CAIRN_UNWIND_COMPLETE;
		case CAIRN_SHORT_NO_CODE:
			*needs_all = is_signal_return(walk->pc);
			if (*needs_all || !step_by_frame_pointer(walk))
				return CAIRN_UNWIND_NO_CODE;
			break;
		case CAIRN_SHORT_NO_RULE:
			*needs_all = is_signal_return(walk->pc);
			if (!*needs_all && ends_chain(walk))
				return CAIRN_UNWIND_COMPLETE;
			if (*needs_all || !step_by_frame_pointer(walk))
				return CAIRN_UNWIND_NO_RULE;
			break;
		case CAIRN_SHORT_NEEDS_ALL: *needs_all = true; return CAIRN_UNWIND_NO_RULE;
		}
	}
	return CAIRN_UNWIND_COMPLETE;
}

struct frame {
	struct cairn_image image;
	struct cairn_frame_rules rules;
	struct cairn_expression_world world;
	struct cairn_stack *stack;
	uint64_t cfa;
};

static bool find_cfa(struct frame *frame)
{
	const struct cairn_frame_rules *rules = &frame->rules;
	if (rules->cfa.kind == CAIRN_RULE_EXPRESSION)
		return cairn_expression_value(cairn_eh_frame_expression(&frame->image, rules->cfa.value), &frame->world, NULL, &frame->cfa);
	frame->cfa = frame->world.registers[rules->cfa.value] + (uint64_t)(int64_t)rules->cfa_offset;
	return true;
}

/* The caller's value of a register. */
static bool find_register(struct frame *frame, unsigned number, uint64_t *value)
{
	struct cairn_rule rule = frame->rules.registers[number];
	switch (rule.kind) {
	case CAIRN_RULE_SAME: *value = frame->world.registers[number]; return true;
	case CAIRN_RULE_UNDEFINED: *value = 0; return true;
	case CAIRN_RULE_OFFSET: return cairn_stack_read(frame->stack, frame->cfa + (uint64_t)(int64_t)rule.value, value);
	case CAIRN_RULE_VALUE_OFFSET: *value = frame->cfa + (uint64_t)(int64_t)rule.value; return true;
	case CAIRN_RULE_REGISTER:
		*value = rule.value < CAIRN_REGISTERS ? frame->world.registers[rule.value] : 0;
		return rule.value < CAIRN_REGISTERS;
	case CAIRN_RULE_EXPRESSION:
	case CAIRN_RULE_VALUE_EXPRESSION:
		if (!cairn_expression_value(cairn_eh_frame_expression(&frame->image, rule.value), &frame->world, &frame->cfa, value))
			return false;
		return rule.kind == CAIRN_RULE_VALUE_EXPRESSION || cairn_stack_read(frame->stack, *value, value);
	}
	return false;
}

/* One step with all registers: a register that cannot be found does not matter unless a later frame asks for it, and is 0
 * then; the return address must be found. */
static bool step_all(struct walk *walk, struct cairn_registers *registers, struct frame *frame)
{
	struct cairn_registers caller;
	unsigned return_register = frame->rules.return_register;
	if (!find_cfa(frame) || (frame->cfa < walk->sp && !frame->rules.is_signal) || !find_register(frame, return_register, &caller.pc))
		return false;
	caller.pc = cairn_arch_plain_address(caller.pc);
	for (unsigned i = 0; i < CAIRN_REGISTERS; i++)
		if (!find_register(frame, i, &caller.values[i]))
			caller.values[i] = 0;
	if (frame->rules.registers[CAIRN_REGISTER_SP].kind == CAIRN_RULE_SAME)
		caller.values[CAIRN_REGISTER_SP] = frame->cfa;
	if (caller.pc == walk->pc && caller.values[CAIRN_REGISTER_SP] == walk->sp)
		return false;
	*registers = caller;
	walk->exact = frame->rules.is_signal;
	walk->pc = caller.pc;
	walk->sp = caller.values[CAIRN_REGISTER_SP];
	walk->fp = caller.values[CAIRN_REGISTER_FP];
	return true;
}

static enum cairn_unwind_end walk_all(struct walk *walk, struct cairn_registers *registers)
{
	while (walk->pc) {
		if (!record(walk))
			return CAIRN_UNWIND_TRUNCATED;
		const struct cairn_code *code = find_code(walk, inside(walk));
		struct frame frame = {
			.world = {registers->values, CAIRN_REGISTERS, read_memory, &walk->stack},
			.stack = &walk->stack,
		};
		if (CAIRN_RETURN_IS_PC)
			registers->values[CAIRN_REGISTER_RETURN] = walk->pc;
		if (!code || !find_rules(code, inside(walk), &frame.rules)) {
			bool signal_return = is_signal_return(walk->pc);
			if (code && !signal_return && ends_chain(walk))
				return CAIRN_UNWIND_COMPLETE;
			if (signal_return ? !leave_signal(walk, registers) : !step_by_frame_pointer(walk))
				return code ? CAIRN_UNWIND_NO_RULE : CAIRN_UNWIND_NO_CODE;
			registers->values[CAIRN_REGISTER_SP] = walk->sp;
			registers->values[CAIRN_REGISTER_FP] = walk->fp;
			continue;
		}
		frame.image = cairn_code_image(code);
		if (frame.rules.registers[frame.rules.return_register].kind == CAIRN_RULE_UNDEFINED)
			return CAIRN_UNWIND_COMPLETE;
		if (!step_all(walk, registers, &frame))
			return CAIRN_UNWIND_UNREADABLE;
	}
	return CAIRN_UNWIND_COMPLETE;
}

/* Kept apart so that the fast walk does not pay for the room this needs. */
__attribute__((noinline)) static enum cairn_unwind_end walk_again(struct walk *walk, const struct cairn_registers *registers,
								  const struct cairn_unwind_ranges *leave_out)
{
	struct cairn_registers copy = *registers;
	start(walk, registers, leave_out);
	return walk_all(walk, &copy);
}

enum cairn_unwind_end cairn_unwind(const struct cairn_registers *registers, const struct cairn_unwind_ranges *leave_out, void **pcs,
				   unsigned most, unsigned *count)
{
	struct walk walk;
	walk.pcs = pcs;
	walk.most = most;
	walk.code_count = 0;
	walk.codes[0] = (struct cairn_code){0};
	walk.code = walk.codes;
	start(&walk, registers, leave_out);
	bool needs_all = false;
	enum cairn_unwind_end end = walk_fast(&walk, &needs_all);
	if (needs_all)
		end = walk_again(&walk, registers, leave_out);
	*count = walk.count;
	return end;
}

void cairn_registers_interrupted(struct cairn_registers *registers, const ucontext_t *context)
{
	registers->pc_is_exact = true;
	registers->pc = cairn_arch_interrupted(registers->values, context);
}
