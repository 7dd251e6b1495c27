/* stub.h - the code between the callers of a function and the function itself, which counts.
 *
 * It does what the fast paths of agent/sampler/hooks.c do: where an object is asked for, the thread's countdown goes down by its size, and
 * where one is given back, the filter is asked for it. Then it goes on with the function, whose caller is the host, so that the stub is in no
 * stack; or, if the countdown has ended or the filter knows the object, to the slow half, with the DESCRIPTION of the function in a register (plus
 * CAIRN_STUB_DUE for the first of these reasons): r11 on x86-64, x16 on AArch64.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_ARCH_STUB_H
#define CAIRN_ARCH_STUB_H

#include "arch/move.h"

enum { CAIRN_STUB_MOST = 512, CAIRN_STUB_DUE = 1, CAIRN_STUB_NONE = 15 };

/* Which arguments, from 0 to 5, a stub looks at; CAIRN_STUB_NONE for none. */
struct cairn_stub_arguments {
	uint8_t size, count; /* their product is asked for */
	uint8_t object;      /* is given back, or moved */
};

/* Where the process has what stubs use: absolute addresses, but for `countdown`. */
struct cairn_stub_world {
	uint64_t countdown; /* from the thread pointer on, */
	uint64_t lines;     /* unless this is not 0: a table with a line for each thread, which begins with the thread pointer and the countdown. The
			     * line is where a hash of the thread pointer says, or the slow half finds it elsewhere */
	uint64_t filter_words, filter_mask;
	uint64_t slow;
};

/* The hash: the upper bits of the product with this odd number. */
#define CAIRN_STUB_SPREAD UINT64_C(0x9e3779b97f4a7c15)
enum { CAIRN_STUB_LINES_LOG2 = 12, CAIRN_STUB_LINE_LOG2 = 7 };

struct cairn_stub {
	unsigned char code[CAIRN_STUB_MOST];
	size_t length;
	size_t real; /* where in it the function goes on */
};

/* Writes the stub of the function at ADDRESS that lies at TO. MOVE is what of the function has to be moved; NULL where it is whole, and slots lead
 * to the stub. False where something is out of reach. */
bool cairn_stub_write(struct cairn_stub *stub, const struct cairn_stub_world *world, struct cairn_stub_arguments arguments, uint64_t address,
		      const struct cairn_move *move, uint64_t description, uint64_t to);

#endif
