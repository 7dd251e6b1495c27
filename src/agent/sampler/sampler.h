/* sampler.h - engine two: Cairn's own sampler, on whatever allocator the host has.
 *
 * Nothing of the host is touched before sampling is first switched on. Then the ledger is made (record.h), the relocations of all loaded
 * objects are pointed at the hooks (patch.h), and from there on samples are taken (sample.h). Switched off, no new samples are taken, but
 * frees are still followed; a reset while it is off puts every relocation back.
 *
 * These functions are called by threads of the agent, one at a time, or before there are any.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_SAMPLER_H
#define CAIRN_AGENT_SAMPLER_SAMPLER_H

#include "agent/engine/profiler.h"
#include "agent/sampler/patch.h"
#include "agent/sampler/record.h"
#include "base/buffer.h"
#include "dump/ledger_read.h"

/* Applies the configuration. To be called before anything else. */
void cairn_sampler_configure(size_t ledger_bytes, uint64_t period, unsigned depth);

/* Keeps the ledger in FILE, which is borrowed. If that fails, the ledger is in memory, and the status says why. Applies to this process
 * only: a forked child has its ledger in memory. To be called before the first activation. */
void cairn_sampler_keep_in(const struct cairn_record_file *file);

/* Who has allocators counted that come with what the host loads. HAS_SIGN says whether a new object may have one; the loader's lock is
 * held. ASK is called afterwards by the thread that uses what it has loaded, without a lock of the agent's. ASKER is borrowed. */
struct cairn_sampler_asker {
	bool (*has_sign)(const struct cairn_object *object);
	void (*ask)(void);
};
void cairn_sampler_ask_with(const struct cairn_sampler_asker *asker);

extern const struct cairn_engine cairn_engine_sampler;

/* Called by the fork handler in a forked child: sampling stops there, and the ledger stays the parent's. This function and the two below
 * set the times of PROFILER to those of the child. */
void cairn_sampler_in_child(struct cairn_profiler *profiler);

/* Called by the agent of a forked child once it runs: sampling continues, with a ledger of its own, if it was active in the parent. */
void cairn_sampler_resume(struct cairn_profiler *profiler);

/* Like cairn_sampler_resume, but called by a thread of the child inside malloc, so that what it allocates is sampled whether its agent runs
 * or not. Waits for no other thread, and does not call the loader. Returns whether there is a ledger now. */
bool cairn_sampler_resume_early(struct cairn_profiler *profiler);

/* Puts every relocation back. Sampling ends. */
void cairn_sampler_stop(void);

/* Whether no relocation leads to the hooks any more. */
bool cairn_sampler_is_restored(void);

/* The command has begun to count an allocator inside the program or a library (inside_blocks.h), or has ended that: relocations that lead to
 * the same functions are given up, or taken again. Returns false if that has to be done again: a thread of the host is at it. */
bool cairn_sampler_renew(void);

/* The same on a thread of the host, which waits for no other. */
bool cairn_sampler_try_renew(void);

/* Says in one sentence what of the service's memory this engine does not see, and the fix: a malloc inside the program is called without
 * relocations, and a jemalloc with a prefix by names that are not replaced, so that the command has to count them. Returns false, with OUT
 * empty, if it sees all of it. */
bool cairn_sampler_warn(struct cairn_profiler *profiler, char *out, size_t size);

/* Whether a command has left word in the ledger that it wants the agent. */
bool cairn_sampler_is_wanted(void);

/* The descriptor of this process's ledger; -1 if it has none, or one without a descriptor. */
int cairn_sampler_ledger(void);

struct cairn_sampler_status {
	bool open;                      /* there is a ledger */
	struct cairn_ledger ledger;     /* if so, its header as of now */
	struct cairn_patch_counts patch;
	const char *allocator;          /* path of the object that contains malloc; "" for the program itself */
	bool allocator_is_program;
	char inside[500];               /* the allocators that are counted inside the program or libraries; "" for none */
	const char *file, *file_problem; /* the ledger's path, and why the configured file is not used; "" for none */
	int descriptor;                 /* of the ledger; -1 for none */
};

void cairn_sampler_get_status(struct cairn_sampler_status *status);

#endif
