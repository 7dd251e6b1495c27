/* trial.h - `cairn why --try`: does in the running process what might return memory, through its agent, and watches what it does.
 *
 * A setting that can be restored is restored at the end; by the agent itself if the command is no longer there. What cannot be undone, or
 * may keep threads waiting for long, is refused with the reason unless the user insists. `stall_ms` is how long the call took: a thread
 * that needed the heap waited that long at most.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_WHY_TRIAL_H
#define CAIRN_LIVE_WHY_TRIAL_H

#include "live/target.h"
#include "live/why/why.h"

#include <signal.h>

enum cairn_trial_kind {
	CAIRN_TRIAL_TRIM,
	CAIRN_TRIAL_PURGE,
	CAIRN_TRIAL_ARENAS,
	CAIRN_TRIAL_THRESHOLD,
	CAIRN_TRIAL_DECAY,
	CAIRN_TRIAL_HUGE,
	CAIRN_TRIAL_KINDS,
};

struct cairn_trial {
	enum cairn_trial_kind kind;
	int64_t value;  /* a number, bytes or milliseconds */
	char made[96];  /* the call that was made in the process */
	double before, after, settled; /* resident bytes: before and after the call, and at the end */
	double group_before, group_after, group_settled; /* charged to the control group; 0 if it has none */
	struct cairn_trial_prediction {
		bool known;
		double bytes, error; /* what resident memory was to fall by, and the standard deviation of that */
		double group;        /* what the charge of the control group was to fall by */
	} predicted;
	double stall_ms; /* at most */
	uint64_t faults, major_faults; /* from the call to the end */
	int64_t watched_ns;
	bool undone, ended; /* the setting was restored; the process has ended meanwhile */
	char variable[40], setting[160]; /* makes it permanent: a variable of the environment; "" if there is none */
	char note[CAIRN_CAUSE_TEXT]; /* what else is needed for that, or what it does not do; "" for nothing */
};

/* Reads "trim", "purge", "arenas=N", "mmap-threshold=SIZE", "decay=TIME" or "thp=never". */
bool cairn_trial_parse(struct cairn_trial *trial, const char *text, struct cairn_error *error);

/* Tries it in the process of TARGET, of which WHY was found, and watches for WATCH_NS, or until *STOP
 * is set by a signal handler. Without INSISTS refuses what it should. */
bool cairn_trial_run(struct cairn_trial *trial, const struct cairn_why *why, const struct cairn_target *target, int64_t watch_ns,
		     bool insists, const volatile sig_atomic_t *stop, struct cairn_error *error);

#endif
