/* unwind.h - the call stack of the running thread, taken fast and safely.
 *
 * No lock, no allocation, no call into libgcc or libunwind; every read is checked, so an invalid stack ends the walk instead of the
 * process. It may run inside malloc and in a signal handler.
 *
 * There are two walks. The fast one needs only pc, stack pointer and frame pointer: nearly every function defines its CFA by one of the
 * latter two, and that rule is stored, in one word, in a table by pc. If a function needs more (a frame of the kernel for a signal
 * handler, a CFA in another register), the stack is walked again from its start with all registers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_UNWIND_UNWIND_H
#define CAIRN_AGENT_UNWIND_UNWIND_H

#include "agent/unwind/code.h"
#include "frame/eh_frame.h"

struct cairn_registers {
	uint64_t values[CAIRN_REGISTERS];
	uint64_t pc;
	bool pc_is_exact; /* the current pc of the thread, not a return address */
};

enum cairn_unwind_end {
	CAIRN_UNWIND_COMPLETE,   /* the outermost frame was reached */
	CAIRN_UNWIND_TRUNCATED,  /* there are more frames than requested */
	CAIRN_UNWIND_NO_CODE,    /* a pc outside every loaded object: generated code, or not a return address */
	CAIRN_UNWIND_NO_RULE,    /* code without unwind information and without a trustworthy frame pointer */
	CAIRN_UNWIND_UNREADABLE, /* an unreadable stack slot, or a stack that does not grow */
	CAIRN_UNWIND_ENDS,       /* how many there are */
};

const char *cairn_unwind_end_name(enum cairn_unwind_end end);

/* Code whose frames are left out if they are innermost, except the last of them. */
struct cairn_unwind_ranges {
	struct cairn_unwind_range {
		uintptr_t start, end;
	} ranges[32]; /* sorted */
	unsigned count;
	unsigned gap; /* up to this many other frames may lie between two inside, and are left out too */
};

/* Fills PCS with the frames of REGISTERS, innermost first, at most MOST (1 or more), and sets *COUNT. LEAVE_OUT may be NULL. The first pc
 * is that of REGISTERS or, if frames were left out, that of the last of them. */
enum cairn_unwind_end cairn_unwind(const struct cairn_registers *registers, const struct cairn_unwind_ranges *leave_out, void **pcs,
				   unsigned most, unsigned *count);

/* All of CODE's object, as its unwind tables are read. */
static inline struct cairn_image cairn_code_image(const struct cairn_code *code)
{
	return (struct cairn_image){{(const char *)code->image_start, code->image_end - code->image_start}, code->image_start};
}

/* The registers that a signal handler interrupted. */
void cairn_registers_interrupted(struct cairn_registers *registers, const ucontext_t *context);

/* The registers at this place in the calling function. Registers that a call may change are not set: no rule in a caller needs them. */
__attribute__((always_inline)) static inline void cairn_registers_here(struct cairn_registers *registers)
{
	registers->pc_is_exact = true;
	registers->pc = cairn_arch_registers(registers->values);
}

#endif
