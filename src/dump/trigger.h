/* trigger.h - when a dump is worth taking, and why: rules over readings of memory, the same in the agent and in `cairn watch`.
 *
 * Rules are written by words, as options (--grow 20M), as keys of CAIRN_CONF (grow:20M) and in the configuration's file:
 *
 *   start     true    a dump at the beginning
 *   grow      20M     memory grew by more than this within `every`; any dump begins the count anew
 *   every     10m     the span for `grow`
 *   high      100M    memory is higher by this than at any dump before
 *   share     90%     the process's own memory reached this share of its limit; armed again once it fell below
 *   pressure  10%     waiting for memory took this share of ten seconds, or the group ran into its limits
 *   time      1h      this long since the last dump
 *   interval  4G      this much was allocated since the last dump of this rule, freed or not (as jemalloc's lg_prof_interval)
 *   distance  10s     the least time between two dumps of one rule; a rule that waits for it is not forgotten
 *
 * and 0 turns one off. The folder's own words are keep_count, keep_bytes, keep_age and keep_free (folder.h); in all of them
 * - and _ are the same. Memory is anonymous memory (memory.h): what the page cache does is nobody's leak.
 *
 * A trigger is the state of these rules for one process. It only computes: the caller reads, takes the dump and says whether
 * that went well. Times are of a clock that never goes back; one that does only loses the step.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_TRIGGER_H
#define CAIRN_DUMP_TRIGGER_H

#include "process/memory.h"

/* In the order of what a dump is named by when several are due. */
enum cairn_trigger_reason {
	CAIRN_TRIGGER_NONE,
	CAIRN_TRIGGER_SHARE,
	CAIRN_TRIGGER_PRESSURE,
	CAIRN_TRIGGER_START,
	CAIRN_TRIGGER_GROW,
	CAIRN_TRIGGER_HIGH,
	CAIRN_TRIGGER_INTERVAL,
	CAIRN_TRIGGER_TIME,
	CAIRN_TRIGGER_REASONS,
};

/* All zeroes: no rule. */
struct cairn_trigger_rules {
	uint64_t start;
	uint64_t grow;
	int64_t every;     /* nanoseconds, as all times here; 0 is ten minutes */
	uint64_t high;
	double share;
	double pressure;
	int64_t time;
	uint64_t interval;
	int64_t distance;
};

/* The lowest reading of each part of the span for `grow`, so that a span of any length takes the same few bytes. */
enum { CAIRN_TRIGGER_PARTS = 32 };

struct cairn_trigger_low {
	int64_t time, part;
	uint64_t memory;
};

/* All zeroes is one that has seen nothing. */
struct cairn_trigger {
	bool seen;
	int64_t clock;                    /* as the caller gave it at the last look, */
	int64_t now;                      /* and by our own count, from the first look on */
	uint64_t memory;                  /* then */
	double speed;                     /* of its growth, bytes a second */
	struct cairn_trigger_low lows[CAIRN_TRIGGER_PARTS];
	uint64_t grown;                   /* since the lowest of them, */
	int64_t grown_within;             /* in this time */
	uint64_t highest;                 /* at any dump */
	uint64_t allocated;               /* in all, at the last dump of `interval` */
	struct cairn_memory_events events; /* at the last dump of `pressure` */
	bool share_fired, pressure_fired; /* and not fallen since */
	bool dumped;                      /* ever */
	int64_t dumped_at;
	unsigned failures;                /* in a row */
	unsigned due;                     /* a bit for each reason, whether or not its distance has passed */
	unsigned tried;                   /* and one for each that has dumped or failed to, */
	int64_t tried_at[CAIRN_TRIGGER_REASONS]; /* when, */
	int64_t wait[CAIRN_TRIGGER_REASONS];     /* and how long it may not since */
};

/* The defaults of `cairn watch`: start, grow 20M every 10m, share 90%, distance 10s. */
extern const struct cairn_trigger_rules cairn_trigger_usual;

/* Takes READING of the time NOW in. The reason a dump is due for at this moment, or CAIRN_TRIGGER_NONE. */
enum cairn_trigger_reason cairn_trigger_look(struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules,
					     const struct cairn_memory_reading *reading, int64_t now);

/* The dump that the last look asked for was taken (SUCCESS) or not. One that failed is due again after the distance, a
 * second at least, and after twice as long each time it fails once more, up to five minutes: what keeps it from being written, a
 * full disk for one, is no reason to stop the process for a snapshot again and again. Also for dumps that were taken for another
 * reason, with CAIRN_TRIGGER_NONE. */
void cairn_trigger_dumped(struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules,
			  const struct cairn_memory_reading *reading, enum cairn_trigger_reason reason, bool success);

/* How long after the last look the next one should come: half a second, down to 50 ms where the limit is near at the present
 * speed, or less to be on time for a rule that waits. */
int64_t cairn_trigger_pause(const struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules,
			    const struct cairn_memory_reading *reading);

/* "start", "grow", …; "" for none. */
const char *cairn_trigger_name(enum cairn_trigger_reason reason);

/* What there is to say behind the reason's name, from the last look: "21.3 MiB more in 4 min", "91% of the group's limit of
 * 512.0 MiB". */
void cairn_trigger_explain(const struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules,
			   const struct cairn_memory_reading *reading, enum cairn_trigger_reason reason,
			   char *out, size_t size);

/* The words above, by number; NULL past the last. */
const char *cairn_trigger_word(unsigned index);

/* Sets the rule of that word from TEXT. False, with a sentence that names what would be right, when TEXT does not fit. */
bool cairn_trigger_set(struct cairn_trigger_rules *rules, const char *word, const char *text, struct cairn_error *error);

/* The value of that word, as it could be written. */
void cairn_trigger_show(const struct cairn_trigger_rules *rules, const char *word, char *out, size_t size);

#endif
