/* compare.h - `cairn why --compare`: one program under several allocators and settings, in turn, measured from outside.
 *
 * All settings are variables of the environment, or what a child inherits: so the program is the same. In each round every setting has its
 * turn, and the order moves on, so that a machine that becomes slower is not held against one of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_WHY_COMPARE_H
#define CAIRN_LIVE_WHY_COMPARE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

#include <signal.h>

enum { CAIRN_COMPARE_SETTINGS = 24, CAIRN_COMPARE_ROUNDS = 50 };

enum cairn_compare_measure {
	CAIRN_COMPARE_PEAK,    /* bytes resident at the highest, all processes together */
	CAIRN_COMPARE_SETTLED, /* the median of the last third of the time */
	CAIRN_COMPARE_CPU,     /* seconds */
	CAIRN_COMPARE_FAULTS,  /* page faults */
	CAIRN_COMPARE_TIME,    /* seconds from start to end, or until it was ended */
	CAIRN_COMPARE_MEASURES,
};

/* The mean of the rounds, and half of its 95 % confidence interval; that is 0 after one round. */
struct cairn_compare_value {
	double mean, error;
};

struct cairn_compare_row {
	const char *name; /* as it was asked for: "arenas=2" */
	struct cairn_compare_value values[CAIRN_COMPARE_MEASURES];
	unsigned rounds, failures; /* failures: rounds in which the program did not exit with 0 */
};

struct cairn_compare {
	struct cairn_arena arena;
	struct cairn_compare_row rows[CAIRN_COMPARE_SETTINGS];
	size_t count;
};

/* Appends a line for each setting: how it is written, and what it sets. */
void cairn_compare_help(struct cairn_buffer *out);

struct cairn_compare_plan {
	const char *settings;  /* separated by blanks */
	char *const *command;  /* ends with NULL */
	unsigned rounds;
	int64_t for_ns;        /* then the program is ended; 0: it ends by itself */
	void (*begin)(const char *setting, unsigned round); /* called before each run; may be NULL */
	const volatile sig_atomic_t *stop; /* set by a signal handler: the run in progress does not count, and is the last */
};

/* Runs the command of PLAN under each of its settings, in each of its rounds. A run is over when the first process of the command ends, or
 * its time is up; the command's other processes, daemons among them, are ended then: by SIGTERM, and after five seconds by SIGKILL. So the
 * caller must have no other children, and becomes the parent of orphans. Fails with a message if a setting is unknown, or an allocator is
 * not installed, or the program cannot be started, or it was stopped before each setting had run once. Free it in any case. */
bool cairn_compare_run(struct cairn_compare *compare, const struct cairn_compare_plan *plan, struct cairn_error *error);
void cairn_compare_free(struct cairn_compare *compare);

#endif
