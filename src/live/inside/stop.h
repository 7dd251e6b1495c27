/* stop.h - all threads of a process, stopped together for a moment, so that its code can be changed.
 *
 * They are stopped by ptrace, by a thread of ours that does nothing else and ends afterwards: should it be killed meanwhile, the kernel lets
 * all of them go on. While they are stopped no thread is in the middle of the code that is to be changed, nor is a signal handler about to
 * return there: otherwise all go on for a moment, and are stopped again. A system call that was interrupted begins again; a signal that came
 * is passed on. A thread that hangs in the kernel (a disk that does not answer) stops as soon as it leaves it, before it runs on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_INSIDE_STOP_H
#define CAIRN_LIVE_INSIDE_STOP_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* No thread may be between them, but for START itself. */
struct cairn_stop_place {
	uint64_t start, end;
};

struct cairn_stop {
	int pid;
	const struct cairn_stop_place *places; /* sorted */
	size_t place_count;
	/* The result. */
	size_t threads;
	int64_t stopped_ns; /* for how long, the last time */
	unsigned repeats;   /* how often they had to go on */
};

/* What is to be done. TID is one of the threads, and the caller its tracer. */
typedef bool cairn_stop_act(void *context, int tid, struct cairn_error *error);

/* Stops all threads, calls ACT, and lets them go. False, with ACT not called, where they cannot be stopped: another process traces them, or
 * one of them never leaves a place, or is about to start a program (vfork), whose child runs in the same memory; or where ACT says so. */
bool cairn_stop_all(struct cairn_stop *stop, cairn_stop_act *act, void *context, struct cairn_error *error);

#endif
