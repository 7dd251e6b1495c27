/* visit.h - the piece of code by which a thread of another process maps room for code of ours and calls it once, where there is no libc to
 * ask.
 *
 * It lies where nobody else's code is, with the parameters behind it, and does not write there; nor does it use the thread's stack: there may
 * be no room below it. It maps the room, waits until the command has filled it, makes the code in it executable, calls that on a stack that is
 * in the room, and goes on where the thread was, with the registers that the command has read. So the thread needs nobody from the moment
 * it is sent: if the command ends meanwhile, it waits in vain for a while and goes on. Vector registers are not touched: nor may the code
 * that is called. Nor does it make a system call that takes the place of the one which the thread is to begin again (restart_syscall): that
 * is why it waits in pselect.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_ARCH_VISIT_H
#define CAIRN_ARCH_VISIT_H

#include "arch/machine.h"

/* The code knows these by their offsets. */
struct cairn_visit {
	uint64_t resume, flags;
	uint64_t room, room_size; /* to be mapped at this address; a size of 0 where it is there already */
	uint64_t code_size;       /* of the room, from its start on, is made executable; 0 where it is */
	uint64_t ready;           /* address of 4 bytes: the code is called once they are CAIRN_VISIT_READY */
	uint64_t turns;           /* how often they are looked at, */
	uint64_t stack, entrance;
	uint64_t pause[2];        /* with that in between: seconds and nanoseconds */
	uint64_t registers[CAIRN_REGISTERS - CAIRN_RETURN_IS_PC]; /* by their DWARF numbers */
};

enum { CAIRN_VISIT_READY = 1 };

/* Has the thread whose registers are those of MACHINE go on where they say. */
void cairn_visit_return_to(struct cairn_visit *visit, const struct cairn_machine *machine);

/* The piece. */
struct cairn_bytes cairn_visit_code(void);

/* Completes a copy of the piece that will lie at ADDRESS, for a thread that goes on at RESUME. False where that is too far away. */
bool cairn_visit_aim(char *code, uint64_t address, uint64_t resume);

#endif
