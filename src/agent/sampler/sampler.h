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

#include "agent/engine.h"
#include "agent/sampler/patch.h"
#include "agent/sampler/record.h"
#include "base/buffer.h"
#include "dump/ledger_read.h"

/* As the configuration says, before the first activation. */
void cairn_sampler_configure(size_t ledger_bytes, uint64_t period, unsigned depth);

/* The same: keeps the ledger in FILE, which is borrowed. Where that fails it is in memory, and the status says why. Only of this process:
 * a forked child has its ledger in memory. */
void cairn_sampler_keep_in(const struct cairn_record_file *file);

extern const struct cairn_engine cairn_engine_sampler;

/* To be called about every second: new objects, new modules, a ledger that fills up. */
void cairn_sampler_look(void);

/* In a forked child, by its handler; and by the child's agent once it runs: sampling goes on there, with a ledger of its own, if it was
 * on. The times of PROFILER become those of the child. */
void cairn_sampler_in_child(struct cairn_profiler *profiler);
void cairn_sampler_resume(struct cairn_profiler *profiler);
/* The same at once, on a thread of the child's own, inside malloc: what it allocates before its agent runs is not to be missed. Waits for
 * nobody, and asks nothing of the loader. */
void cairn_sampler_resume_early(struct cairn_profiler *profiler);

/* The most bytes that lived at once, as far as samples tell. */
uint64_t cairn_sampler_highest(void);

/* Puts every relocation back. Sampling ends. */
void cairn_sampler_stop(void);

/* Whether no relocation leads to the hooks any more. */
bool cairn_sampler_is_restored(void);

struct cairn_sampler_status {
	bool open;                      /* there is a ledger */
	struct cairn_ledger ledger;     /* if so, its header as of now */
	struct cairn_patch_counts patch;
	const char *allocator;          /* path of the object malloc is in; "" for the program itself */
	bool allocator_is_program;
	const char *file, *file_problem; /* where the ledger is a file, its path; why it is none although one was asked for; "" */
	int descriptor;                 /* of the ledger; -1 where it has none */
};

void cairn_sampler_get_status(struct cairn_sampler_status *status);

#endif
