/* record.h - writes into the ledger (dump/ledger.h): samples, stacks, threads and modules.
 *
 * Everything here may run inside malloc, in a signal handler and on any number of threads at once: no lock, no allocation, no waiting. If
 * there is no room, the header counts that and the caller goes on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_RECORD_H
#define CAIRN_AGENT_SAMPLER_RECORD_H

#include "base/error.h"
#include "dump/ledger.h"
#include "dump/ledger_read.h"

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
	uint32_t sample_mask, stack_mask; /* their counts less one */
	size_t bytes;
	int descriptor; /* -1 where it is in anonymous memory */
};

enum { CAIRN_RECORD_LEAST = 1 << 20 }; /* bytes of the smallest ledger */

/* Makes a ledger of BYTES (rounded down to what its tables need) in a sealed memfd, or in anonymous memory if the system has no memfd or
 * RLIMIT_FSIZE is below BYTES. All of it is allocated before this returns, so that no later store can fail. Not inherited across fork. */
bool cairn_record_open(struct cairn_record *record, size_t bytes, struct cairn_error *error);

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

/* The number of the stack PCS, which is added if it is new; 0, the unknown stack, if there is no room. */
uint32_t cairn_record_stack(struct cairn_record *record, void *const *pcs, unsigned count);

/* A number for the calling thread; 0, the unknown thread, if there is no room. Later calls of cairn_record_thread_name keep its name
 * current. */
uint32_t cairn_record_thread(struct cairn_record *record, int64_t now_ns);
void cairn_record_thread_name(struct cairn_record *record, uint32_t thread);

/* Adds a live sample under KEY. Returns false if there is no room. If KEY is already listed, because its free was missed, that sample is
 * replaced and *REPLACED is set. */
bool cairn_record_sample(struct cairn_record *record, uint64_t key, const struct cairn_ledger_sample *sample, bool *replaced);

/* Removes the sample of KEY and counts it as freed by THREAD at NOW_NS. Returns false if there is none. */
bool cairn_record_free(struct cairn_record *record, uint64_t key, uint32_t thread, int64_t now_ns);

/* Before an object may move: marks its sample, which stays listed. Returns the slot + 1, or 0 if there is none. */
uint32_t cairn_record_hold(struct cairn_record *record, uint64_t key);
/* After it: if MOVED, counts it as freed; otherwise restores it. Returns whether it is removed. */
bool cairn_record_release(struct cairn_record *record, uint64_t key, uint32_t held, bool moved, uint32_t thread, int64_t now_ns);

/* Whether KEY is listed. */
bool cairn_record_has(const struct cairn_record *record, uint64_t key);

/* Adds one executable range of a module, unless it is known. One caller at a time. */
void cairn_record_module(struct cairn_record *record, const struct cairn_ledger_module *module, struct cairn_bytes path);

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

/* Converts the samples in COUNT slots, starting at FIRST and wrapping around, that were taken with a shorter period to PERIOD: each stays
 * with the probability that a sample of that period would have had, and then represents more. Calls FORGET for those that are removed.
 * Returns their number. */
size_t cairn_record_thin(struct cairn_record *record, uint64_t first, uint32_t count, uint64_t period, uint64_t *random,
			 void (*forget)(uint64_t key));

/* Frees the numbers of threads that have ended and have no live samples, for others to use. One caller at a time. */
void cairn_record_sweep_threads(struct cairn_record *record, int process);

/* In parts of CAIRN_LEDGER_OBJECT: the number of objects that a sample of SIZE bytes drawn with PERIOD represents. */
uint64_t cairn_record_objects(uint64_t size, uint64_t period);

#endif
