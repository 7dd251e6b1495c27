/* inside.h - what the command writes into a process to count the calls of an allocator that is linked into it.
 *
 * Nearly all of it is in one *block* of memory near the allocator's code, which is complete when it appears and never changes: this header, the
 * *functions* that are counted, the *words* of the process that lead to them, the ranges of the allocator's code, and the *stubs*. A word is
 * eight bytes: a slot of a GOT, or the beginning of the function itself, where a jump is written (arch/move.h). It leads to the function, and
 * then to its stub (arch/stub.h), which counts as the hooks of agent/sampler/hooks.c do and goes on with the function. The slow half of all
 * stubs is cairn_inside_call (agent/sampler/inside.h).
 *
 * A block and its state are enough to undo what was done with it: a word that reads AFTER becomes BEFORE. So a command that is killed at any
 * moment leaves a program that runs, and the next command finishes its work or undoes it. A block is never unmapped: a thread may be in a stub.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROTOCOL_INSIDE_H
#define CAIRN_PROTOCOL_INSIDE_H

#include <assert.h>
#include <stdint.h>

enum cairn_call_kind {
	CAIRN_CALL_ALLOCATES, /* returns the object */
	CAIRN_CALL_PLACES,    /* returns 0, and the object where an argument points to: posix_memalign */
	CAIRN_CALL_RELEASES,
	CAIRN_CALL_MOVES,     /* takes an object and returns it, moved or not; NULL if it stays as it was */
	CAIRN_CALL_RESIZES,   /* returns the size that the object now has: xallocx */
	CAIRN_CALL_MEASURES,  /* returns the size that the object has: malloc_usable_size. Never counted */
};

/* What a function does with its arguments, which are numbered from 0. */
enum { CAIRN_NO_ARGUMENT = 15, CAIRN_ARGUMENTS = 6 };
struct cairn_signature {
	uint8_t call;        /* enum cairn_call_kind */
	uint8_t size, count; /* what is asked for is their product */
	uint8_t object;      /* the object, or where to put it */
};

/* Of a block. Each is written before the step that it names is taken. */
enum cairn_inside_state {
	CAIRN_INSIDE_MAPPED,   /* no word was changed */
	CAIRN_INSIDE_WRITING,  /* any of the words may read AFTER */
	CAIRN_INSIDE_ON,       /* all do */
	CAIRN_INSIDE_REMOVING, /* any of them may read BEFORE */
	CAIRN_INSIDE_OFF,      /* all do */
};

struct cairn_inside_function {
	uint64_t function;    /* its address: the innermost frame of its samples */
	uint64_t real;        /* what is called for it without counting again, */
	uint64_t twin;        /* and if this is not 0, only if this has returned NULL, which does the same and does not throw */
	uint64_t usable_size; /* the allocator's malloc_usable_size; 0 for none */
	struct cairn_signature signature;
	uint32_t null_allocates; /* moves NULL by a jump to a function that is counted as well */
};

struct cairn_inside_word {
	uint64_t address, before, after;
};

struct cairn_inside_range {
	uint64_t start, end;
};

enum { CAIRN_INSIDE_VERSION = 2, CAIRN_INSIDE_TEXT = 200 };
static const uint64_t cairn_inside_magic = 0x304e4953444e4943;

struct cairn_inside_block {
	uint64_t magic;
	uint32_t version, size; /* of all of it */
	struct {
		uint32_t at, count; /* offset in the block; how many there are */
	} functions, words, ranges;
	uint64_t module;  /* where the file is mapped that the allocator is part of */
	char text[CAIRN_INSIDE_TEXT]; /* names the allocator in messages: jemalloc (_rjem_) in /usr/bin/app */
};
static_assert(sizeof(struct cairn_inside_block) == 48 + CAIRN_INSIDE_TEXT, "no padding");

/* By the symbol `cairn_inside`, in a process with an agent: its blocks, whose states the command writes, and what stubs need to know. */
enum { CAIRN_INSIDE_BLOCKS = 32 };
struct cairn_inside {
	uint32_t version;
	_Atomic uint32_t count; /* of blocks */
	struct {
		uint64_t address;
		_Atomic uint64_t state;
	} blocks[CAIRN_INSIDE_BLOCKS];
	uint64_t countdown;    /* of a thread, from its thread pointer on */
	uint64_t filter_words; /* of sampler/filter.h */
	uint64_t filter_mask;
	uint64_t slow; /* where stubs go if a sample is due or an object may be one */
};
static_assert(sizeof(struct cairn_inside) == 8 + 16 * CAIRN_INSIDE_BLOCKS + 32, "no padding");

#endif
