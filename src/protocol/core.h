/* core.h - what a command and the core in another process tell each other.
 *
 * The core (agent/core/) is Cairn's sampler without libc and without thread-local memory, for programs into which no library can be loaded:
 * static ones, and those on another libc. A command has a thread of the program map room for it, writes it there, and has the thread call it
 * (arch/visit.h). Its data begin with this struct; where all else lies its symbols say. From then on the command, and the process that stays
 * beside the program, read and write the core's memory from outside. It is never unmapped: a thread may be in it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROTOCOL_CORE_H
#define CAIRN_PROTOCOL_CORE_H

#include <assert.h>
#include <stdint.h>

enum { CAIRN_CORE_VERSION = 1, CAIRN_CORE_CALLS = 8, CAIRN_CORE_FRAMES = 8 };
static const uint64_t cairn_core_magic = 0x4552434e52494143; /* "CAIRNCRE" in memory order */

/* Of a visit. */
enum cairn_core_state {
	CAIRN_CORE_NONE,    /* not all of the core is written */
	CAIRN_CORE_READY,   /* a thread may enter (CAIRN_VISIT_READY) */
	CAIRN_CORE_ENTERED, /* one has */
	CAIRN_CORE_DONE,    /* it has done what it was sent for, and may still be held */
};

struct cairn_core {
	uint64_t magic;
	uint32_t version;
	_Atomic uint32_t state; /* enum cairn_core_state */
	uint64_t build;         /* a hash of the core's file: what lies where differs from build to build */
	uint32_t process;       /* of whom it is: its PID as the process knows it */
	_Atomic uint32_t hold;  /* 1: a thread that stays is not to go on yet, */
	uint64_t stays;         /* as the next to enter does, but no longer than CAIRN_CORE_HOLD_MS */
	uint64_t clock;         /* clock_gettime of the vdso; 0 for the system call */
	uint64_t stack_top;     /* an address in the highest page of the first thread's stack */
	/* What the thread does: makes memory for a ledger of `ledger_bytes`, if there is none, and then these system calls. */
	uint64_t ledger_bytes;
	uint64_t ledger;        /* where that is mapped; 0 for nowhere */
	int64_t descriptor;     /* of its memfd */
	int64_t failure;        /* to make it: -errno, or 0 */
	uint64_t visits;        /* so far, by ways that begin in the core (CAIRN_CORE_WAYS) */
	struct {
		uint64_t module, header; /* where a file is mapped that has no .eh_frame_hdr, and where the one made for it is; 0 for none */
	} frames[CAIRN_CORE_FRAMES];
	uint64_t call_count;
	struct cairn_core_call {
		uint64_t number, arguments[6];
		int64_t result; /* 0 or more, or -errno */
	} calls[CAIRN_CORE_CALLS];
};
static_assert(sizeof(struct cairn_core) == 104 + 16 * CAIRN_CORE_FRAMES + 64 * CAIRN_CORE_CALLS, "no padding");

/* Who comes again comes by a place of its own behind the core's code, `cairn_core_ways`: none is used twice, since a thread may still be there,
 * below a signal handler. */
enum { CAIRN_CORE_WAYS = 16, CAIRN_CORE_WAY = 1024 };

enum { CAIRN_CORE_STACK = 32 << 10 }; /* of a thread that visits, from the symbol `cairn_core_stack` on */

/* A program that is started stopped waits for its core no longer than that, should the command be killed. */
enum { CAIRN_CORE_HOLD_MS = 10000 };

#endif
