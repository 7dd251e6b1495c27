/* cpu.h - CPU profiles: where the threads of this process spend processor time.
 *
 * Each thread gets a timer on its own CPU clock, so a thread that does not run costs nothing. The timer's signal interrupts
 * the thread, whose stack is taken by the unwinder and put into a ring; a thread of the agent empties the ring now and
 * then, adds equal stacks up and looks for new threads. One run at a time in a process.
 *
 * The signal is SIGPROF where nobody else handles it, and otherwise a real-time signal that nobody uses: a host that
 * profiles itself goes on undisturbed; one that begins to during a run ends the sampling. When a run ends its timers are
 * deleted, signals under way are discarded and the signal is left as it was.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_CPU_CPU_H
#define CAIRN_AGENT_CPU_CPU_H

#include "base/buffer.h"
#include "base/error.h"

struct cairn_cpu;

enum { CAIRN_CPU_FREQUENCY_MOST = 10000 };

/* Begins a run that samples FREQUENCY times per second of CPU time of each thread. NULL with the reason, and *BUSY when that
 * is another run. */
struct cairn_cpu *cairn_cpu_start(unsigned frequency, bool *busy, struct cairn_error *error);

/* Empties the ring and looks for new threads; to be called several times a second. */
void cairn_cpu_collect(struct cairn_cpu *cpu);

/* Ends the sampling; what was taken stays until cairn_cpu_free. */
void cairn_cpu_stop(struct cairn_cpu *cpu);

/* Appends the profile in gperftools' binary form: stacks, the memory map, then lines that name the threads (doc/trailer.md). */
void cairn_cpu_write(struct cairn_cpu *cpu, struct cairn_buffer *out);

/* Stops it if need be. */
void cairn_cpu_free(struct cairn_cpu *cpu);

/* In a forked child: no run of the parent's goes on here. */
void cairn_cpu_forget(void);

struct cairn_cpu_counts {
	uint64_t runs, samples, dropped; /* of all runs; dropped: the ring was full, or memory ran out */
	bool running;
};
void cairn_cpu_count(struct cairn_cpu_counts *counts);

#endif
