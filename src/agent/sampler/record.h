/* record.h - writes into the ledger (dump/ledger.h): samples, stacks, threads and modules.
 *
 * Everything here may run inside malloc, in a signal handler and on any number of threads at once: no lock, no allocation, no waiting. If
 * there is no room, the header counts that and the caller goes on.
 *
 * The ledger has the addresses of all of its records from the start, but memory only for those that were needed so far. It grows by steps
 * (record_grow.c), each of which has its pages before a record in it is used: where memory is short a step fails, and nothing else does.
 * Tables grow by *generations*, which are tables of their own: a record never moves.
 *
 * A stack that has no live samples any more can be given up for a new one (record_stack.c), but not while somebody *holds* it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_RECORD_H
#define CAIRN_AGENT_SAMPLER_RECORD_H

#include "base/error.h"
#include "dump/ledger.h"
#include "dump/ledger_read.h"

enum {
	CAIRN_RECORD_LEAST = 1 << 20, /* bytes of the smallest ledger */
	CAIRN_RECORD_GENERATIONS = 12,
	CAIRN_RECORD_DEPTH = 1024,    /* frames of the longest stack */
	CAIRN_RECORD_CROWD = 1 << 20,
	CAIRN_RECORD_KEYS = 8, CAIRN_RECORD_STACKS = 4, /* slots of a bucket: a cache line of keys, and of stacks half as many */
	CAIRN_RECORD_RUN = 8,         /* frames are handed out in multiples of this */
};

/* A hash table. A key has one bucket in each generation, and is in any of its slots. */
struct cairn_record_table {
	uint32_t bounds[CAIRN_RECORD_GENERATIONS + 1]; /* the first slot of each generation; the last is the number of slots */
	uint32_t generations, bucket;                  /* how many there are; slots of a bucket */
	_Atomic uint32_t open;                         /* generations that have memory */
	_Atomic uint32_t provided;                     /* slots that have */
};

/* A ledger that is open for writing. */
struct cairn_record {
	struct cairn_ledger_header *header;
	_Atomic uint64_t *keys;
	struct cairn_ledger_sample *samples;
	struct cairn_ledger_stack *stacks;
	uint64_t *frames;
	struct cairn_ledger_module *modules;
	struct cairn_ledger_thread *threads;
	char *text;
	struct cairn_ledger_row *rows; /* of the history, `row_count` of them */
	_Atomic uint32_t *holds; /* for each stack, how many hold it; behind the areas */
	struct cairn_record_table sample_table, stack_table;
	uint32_t sample_mask, stack_mask; /* their slots, in all generations, less one */
	size_t bytes, page;
	uint32_t row_count, module_count, text_length; /* for which there are addresses */
	uint64_t next_module;           /* where the next module is expected that is asked for: they come in the same order each time */
	bool whole;                     /* all of it has memory from the start */
	_Atomic int64_t swept_ns;       /* when numbers of threads were last freed */
	_Atomic uint32_t refusals_left; /* requests to grow that fail without a try, after one that found no memory */
	/* Where new stacks find no room, the share of stacks with live samples, in parts of CAIRN_RECORD_CROWD: a moving average. */
	_Atomic uint32_t crowding;
	_Atomic uint64_t runs[CAIRN_RECORD_DEPTH / CAIRN_RECORD_RUN + 1]; /* lists of frames that were given up, by length */
	_Atomic uint64_t frames_free;                                    /* how many are in them */
	void (*forget)(uint64_t key);   /* called for samples that make place for a new one; NULL if none may */
	int descriptor; /* -1 where it is in anonymous memory */
};

/* Makes a ledger of BYTES (rounded down to what its tables need) in a sealed memfd, or in anonymous memory if the system has no memfd or
 * RLIMIT_FSIZE is below BYTES. It takes a page, until something is recorded. Not inherited across fork. */
bool cairn_record_open(struct cairn_record *record, size_t bytes, struct cairn_error *error);

/* The same in MEMORY of at least BYTES, all zero, which may belong to another process, too: that of DESCRIPTOR, mapped. */
bool cairn_record_open_at(struct cairn_record *record, void *memory, size_t bytes, int descriptor, struct cairn_error *error);

/* Where all lies in a ledger of BYTES in MEMORY that is one already. Neither reads nor writes there. */
bool cairn_record_view(struct cairn_record *record, void *memory, size_t bytes, int descriptor, struct cairn_error *error);

/* As RECORD is seen by a process that has its memory DISTANCE bytes higher. */
struct cairn_record cairn_record_elsewhere(const struct cairn_record *record, uintptr_t distance);

/* Where a ledger is kept as a file, and who writes what an earlier process left in it. */
struct cairn_record_file {
	const char *path;
	/* False, with the reason, where it could not be saved: the file then stays as it is. */
	bool (*save)(void *context, const struct cairn_ledger *ledger, struct cairn_error *error);
	void *context;
};

/* The same in a file of that path, with all its blocks allocated, after what was in it is saved. Fails, and leaves the file as it is,
 * where that cannot be saved, another process has it, or the disk has no room. */
bool cairn_record_open_file(struct cairn_record *record, size_t bytes, const struct cairn_record_file *file, struct cairn_error *error);

/* Its memory; for cairn_record_open_file. */
void *cairn_record_map_file(const struct cairn_record_file *file, size_t bytes, int *descriptor, struct cairn_error *error);

/* Only tests call it: a process keeps its ledger until it ends. */
void cairn_record_close(struct cairn_record *record);

/* Gives memory to more records. Returns false if all have some, or there is none, or another thread is at it. */
bool cairn_record_grow(struct cairn_record *record, enum cairn_ledger_area_name area);
bool cairn_record_grow_mappings(struct cairn_record *record);
/* The same for LENGTH bytes of the ledger from AT on. */
bool cairn_record_provide(struct cairn_record *record, const void *at, size_t length);

/* The slots of samples that have memory. */
static inline uint32_t cairn_record_slots(const struct cairn_record *record)
{
	return record->sample_table.bounds[atomic_load_explicit(&record->sample_table.open, memory_order_acquire)];
}

/* The number of the stack PCS, which is added if it is new; 0, the unknown stack, if there is no room. The caller holds it until it
 * releases it, or makes it a sample's. */
uint32_t cairn_record_stack(struct cairn_record *record, void *const *pcs, unsigned count);
void cairn_record_hold_stack(struct cairn_record *record, uint32_t stack);
void cairn_record_release_stack(struct cairn_record *record, uint32_t stack);

/* What a sample or mapping of STACK, which the caller holds, has as its `stack_check`. */
uint32_t cairn_record_stack_check(const struct cairn_record *record, uint32_t stack);

/* A number for the calling thread; 0, the unknown thread, if there is no room. Later calls of cairn_record_thread_name keep its name
 * current. */
uint32_t cairn_record_thread(struct cairn_record *record, int64_t now_ns);
void cairn_record_thread_name(struct cairn_record *record, uint32_t thread);

/* Adds a live sample under KEY, and releases its stack. Where all of its slots are taken, their samples make place: some are removed, and
 * the others stand for more (see cairn_record_thin). Returns false if there is no room all the same. If KEY is already listed, because its free was
 * missed, that sample is replaced and *REPLACED is set. */
bool cairn_record_sample(struct cairn_record *record, uint64_t key, const struct cairn_ledger_sample *sample, bool *replaced);

/* Whether three quarters of the slots hold live samples, or of the stacks have some, and there will not be more. */
bool cairn_record_is_full(const struct cairn_record *record);

/* Removes the sample of KEY and counts it as freed by THREAD at NOW_NS. Returns false if there is none. */
bool cairn_record_free(struct cairn_record *record, uint64_t key, uint32_t thread, int64_t now_ns);

/* Before an object may move: marks its sample, which stays listed. Returns the slot + 1, or 0 if there is none. */
uint32_t cairn_record_hold(struct cairn_record *record, uint64_t key);
/* After it: if MOVED, counts it as freed; otherwise restores it. Returns whether it is removed. */
bool cairn_record_release(struct cairn_record *record, uint64_t key, uint32_t held, bool moved, uint32_t thread, int64_t now_ns);

/* Whether KEY is listed. */
bool cairn_record_has(const struct cairn_record *record, uint64_t key);

/* Adds one executable range of a module. Returns false if it is known, or finds no room. One caller at a time. */
bool cairn_record_module(struct cairn_record *record, const struct cairn_ledger_module *module, struct cairn_bytes path);

/* Discards all samples and all sums. Calls FORGET for each key. One caller at a time; samples taken meanwhile may stay. */
void cairn_record_clear(struct cairn_record *record, void (*forget)(uint64_t key));

/* The next random number (xorshift64*). STATE is not 0. */
static inline uint64_t cairn_record_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 0x2545f4914f6cdd1du;
}

/* Converts the samples in COUNT slots (cairn_record_slots), starting at FIRST and wrapping around, that were taken with a shorter period to
 * PERIOD: each stays with the probability that a sample of that period would have had, and then represents more. Calls FORGET for those
 * that are removed. Returns their number. */
size_t cairn_record_thin(struct cairn_record *record, uint64_t first, uint32_t count, uint64_t period, uint64_t *random,
			 void (*forget)(uint64_t key));

/* Frees the numbers of threads that have ended and have no live samples, for others to use, once they become scarce. A new thread does so,
 * too. */
void cairn_record_sweep_threads(struct cairn_record *record, int64_t now_ns);

/* In parts of CAIRN_LEDGER_OBJECT: the number of objects that a sample of SIZE bytes drawn with PERIOD represents. */
uint64_t cairn_record_objects(uint64_t size, uint64_t period);

#endif
