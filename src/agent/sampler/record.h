/* record.h - writing into the ledger (dump/ledger.h): samples, stacks, threads and modules.
 *
 * Everything here may run inside malloc, in a signal handler and on any number of threads at once: no lock, no allocation, no waiting.
 * Whoever finds no room counts that in the header and goes on.
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
	int descriptor; /* -1 where there is no memfd */
};

enum { CAIRN_RECORD_LEAST = 1 << 20 }; /* bytes of the smallest ledger */

/* Makes a ledger of BYTES (rounded down to what its tables need) in a sealed memfd, or in memory without a name where the system has
 * none. All of it is allocated before this returns, so that no later store can fail. Not inherited across fork. */
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
void cairn_record_close(struct cairn_record *record);

/* The number of the stack PCS, which is added where it is new; 0, the unknown stack, where there is no room. */
uint32_t cairn_record_stack(struct cairn_record *record, void *const *pcs, unsigned count);

/* A number for the calling thread; 0, the unknown thread, where there is no room. Later calls of cairn_record_thread_name keep its name
 * current. */
uint32_t cairn_record_thread(struct cairn_record *record, int64_t now_ns);
void cairn_record_thread_name(struct cairn_record *record, uint32_t thread);

/* Adds a live sample under KEY. False where there is no room. A sample already listed under KEY whose free was missed is replaced, and
 * *REPLACED set. */
bool cairn_record_sample(struct cairn_record *record, uint64_t key, const struct cairn_ledger_sample *sample, bool *replaced);

/* Takes the sample of KEY out, and counts it as freed by THREAD at NOW_NS. False where there is none. */
bool cairn_record_free(struct cairn_record *record, uint64_t key, uint32_t thread, int64_t now_ns);

/* Before an object may move: marks its sample, which stays listed. The slot + 1, or 0 where there is none. */
uint32_t cairn_record_hold(struct cairn_record *record, uint64_t key);
/* After it: MOVED counts it as freed, else it is as before. */
void cairn_record_release(struct cairn_record *record, uint32_t held, bool moved, uint32_t thread, int64_t now_ns);

/* Whether KEY is listed. */
bool cairn_record_has(const struct cairn_record *record, uint64_t key);

/* One executable range of a module. Known ones are not added again. One caller at a time. */
void cairn_record_module(struct cairn_record *record, const struct cairn_ledger_module *module, struct cairn_bytes path);

/* Throws all samples and all sums away. Calls FORGET for each key. One caller at a time; samples taken meanwhile may stay. */
void cairn_record_clear(struct cairn_record *record, void (*forget)(uint64_t key));

/* Brings the samples in COUNT slots from FIRST on (round the table) that were taken with a shorter period to PERIOD: each stays with the
 * chance
 * that a sample of that period would have had, and then stands for more. Calls FORGET for those that go. Returns how many went. */
size_t cairn_record_thin(struct cairn_record *record, uint64_t first, uint32_t count, uint64_t period, uint64_t *random,
			 void (*forget)(uint64_t key));

/* Marks the numbers of threads that have ended and hold no live sample as free, for others to have. One caller at a time. */
void cairn_record_sweep_threads(struct cairn_record *record, int process);

/* In parts of CAIRN_LEDGER_OBJECT: how many objects a sample of SIZE bytes stands for, drawn with PERIOD. */
uint64_t cairn_record_objects(uint64_t size, uint64_t period);

#endif
