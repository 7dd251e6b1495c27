/* cpu.h - CPU profiles: where the threads of this process spend processor time.
 *
 * Each thread gets a timer on its own CPU clock, so a thread that does not run costs nothing. The timer's signal interrupts the thread;
 * the unwinder takes its stack and puts it into a ring buffer. A thread of the agent empties the ring regularly, adds up equal stacks and
 * looks for new threads. There is one run at a time in a process.
 *
 * The signal is SIGPROF if nobody else handles it, otherwise an unused real-time signal: a host that profiles itself continues
 * undisturbed; if it begins to do so during a run, the sampling ends. At the end of a run, its timers are deleted, pending signals are
 * discarded and the signal's disposition is restored.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_CPU_CPU_H
#define CAIRN_AGENT_CPU_CPU_H

#include "base/buffer.h"
#include "base/error.h"

struct cairn_cpu;

enum { CAIRN_CPU_FREQUENCY_MOST = 10000 };

/* Begins a run that samples each thread FREQUENCY times per second of its CPU time. NULL with the reason; *BUSY if that is another run. */
struct cairn_cpu *cairn_cpu_start(unsigned frequency, bool *busy, struct cairn_error *error);

/* Empties the ring and looks for new threads; call it several times a second. */
void cairn_cpu_collect(struct cairn_cpu *cpu);

/* Ends the sampling; the samples stay until cairn_cpu_free. */
void cairn_cpu_stop(struct cairn_cpu *cpu);

/* Appends the profile in gperftools' binary form: stacks, the memory map, then lines that name the threads (doc/trailer.md). */
void cairn_cpu_write(struct cairn_cpu *cpu, struct cairn_buffer *out);

/* Stops it if necessary. */
void cairn_cpu_free(struct cairn_cpu *cpu);

/* In a forked child: runs of the parent do not continue here. */
void cairn_cpu_forget(void);

struct cairn_cpu_counts {
	uint64_t runs, samples, dropped; /* of all runs; dropped: the ring was full, or memory ran out */
	bool running;
};
void cairn_cpu_count(struct cairn_cpu_counts *counts);

#endif
