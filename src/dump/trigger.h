/* trigger.h - decides when a dump is worth taking, and why: rules about memory readings, the same in the agent and in `cairn watch`.
 *
 * Rules are written as keywords with values, as options (--grow 20M), as keys of CAIRN_CONF (grow:20M) and in the configuration file:
 *
 *   start     true    at the beginning
 *   grow      20M     memory grew by more than this within `every`; any dump restarts the count
 *   every     10m     the span for `grow`
 *   high      100M    memory is this much higher than at any dump before
 *   share     90%     the process's own memory reached this share of its limit; armed again once it has fallen below
 *   pressure  10%     waiting for memory took this share of ten seconds, or the group ran into its limits
 *   time      1h      this long since the last dump
 *   interval  4G      this much was allocated since the last dump of this rule, freed or not (like jemalloc's lg_prof_interval)
 *   distance  10s     the minimum time between two dumps of one rule; a rule that waits for it is not forgotten. Without it, `interval`
 *                     has one second: jemalloc has none
 *
 * A value of 0 turns a rule off. The folder's own keywords are keep_count, keep_bytes, keep_age and keep_free (folder.h); all keywords may
 * be written with - or _. Memory means anonymous memory (memory.h): page cache is not a leak.
 *
 * A trigger is the state of these rules for one process. It only computes: the caller takes readings and dumps, and reports whether a dump
 * succeeded. Times are from a monotonic clock; if it goes back, only that step is lost.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_TRIGGER_H
#define CAIRN_DUMP_TRIGGER_H

#include "process/memory.h"

/* In order of precedence: if several are due, the first names the dump. */
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

/* All zeroes means no rules. */
struct cairn_trigger_rules {
	uint64_t start;
	uint64_t grow;
	int64_t every;     /* in nanoseconds, like all times here; 0 is ten minutes */
	uint64_t high;
	double share;
	double pressure;
	int64_t time;
	uint64_t interval;
	int64_t distance;
	int64_t interval_distance; /* the same for `interval` */
};

/* The lowest reading of each part of the span for `grow`, so that a span of any length takes the same few bytes. */
enum { CAIRN_TRIGGER_PARTS = 32 };

struct cairn_trigger_low {
	int64_t time, part;
	uint64_t memory;
};

/* All zeroes is a trigger without any readings. */
struct cairn_trigger {
	bool seen;
	int64_t clock;                    /* as given by the caller at the last reading */
	int64_t now;                      /* our own count, from the first reading on */
	uint64_t memory;                  /* at the last reading */
	double speed;                     /* of its growth, in bytes per second */
	struct cairn_trigger_low lows[CAIRN_TRIGGER_PARTS];
	uint64_t grown;                   /* since the lowest of these */
	int64_t grown_within;             /* the time in which it grew */
	uint64_t highest;                 /* at any dump */
	uint64_t allocated;               /* in total, at the last dump of `interval` */
	struct cairn_memory_events events; /* at the last dump of `pressure` */
	bool share_fired, pressure_fired; /* and not armed again since */
	bool dumped;                      /* at least once */
	int64_t dumped_at;
	unsigned failures;                /* in a row */
	unsigned due;                     /* a bit for each reason, whether or not its distance has passed */
	unsigned tried;                   /* a bit for each reason that has taken a dump or failed to */
	int64_t tried_at[CAIRN_TRIGGER_REASONS]; /* when it last tried */
	int64_t wait[CAIRN_TRIGGER_REASONS];     /* how long it must wait after that */
};

/* The defaults of `cairn watch`: start, grow 20M every 10m, share 90%, distance 10s. */
extern const struct cairn_trigger_rules cairn_trigger_usual;

/* Whether any rule is set that can ask for a dump. */
bool cairn_trigger_any(const struct cairn_trigger_rules *rules);

/* Evaluates READING, taken at NOW. Returns the reason for which a dump is due at this moment, or CAIRN_TRIGGER_NONE. */
enum cairn_trigger_reason cairn_trigger_look(struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules,
					     const struct cairn_memory_reading *reading, int64_t now);

/* Reports whether the requested dump was taken (SUCCESS). After a failure it is due again after the distance, but at least a second, and
 * after twice as long with every further failure, up to five minutes: if the dump cannot be written, for example because the disk is full,
 * the process must not be stopped for snapshots again and again. Call it also for dumps taken for another reason, with
 * CAIRN_TRIGGER_NONE. */
void cairn_trigger_dumped(struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules,
			  const struct cairn_memory_reading *reading, enum cairn_trigger_reason reason, bool success);

/* The time from the last reading to the next: half a second, but down to 50 ms if the limit is near at the current speed, and less if
 * needed to be on time for a rule that waits. */
int64_t cairn_trigger_pause(const struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules,
			    const struct cairn_memory_reading *reading);

/* "start", "grow", …; "" for none. */
const char *cairn_trigger_name(enum cairn_trigger_reason reason);

/* Writes details to follow the reason's name, from the last reading: "21.3 MiB more in 4 min", "91% of the group's limit of 512.0 MiB". */
void cairn_trigger_explain(const struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules,
			   const struct cairn_memory_reading *reading, enum cairn_trigger_reason reason,
			   char *out, size_t size);

/* The keywords above, by index; NULL after the last. */
const char *cairn_trigger_word(unsigned index);

/* Sets the rule WORD from TEXT. If TEXT is invalid, returns false with a message that says what would be valid. */
bool cairn_trigger_set(struct cairn_trigger_rules *rules, const char *word, const char *text, struct cairn_error *error);

/* The value of WORD, in the form in which it is written. */
void cairn_trigger_show(const struct cairn_trigger_rules *rules, const char *word, char *out, size_t size);

#endif
