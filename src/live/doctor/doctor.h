/* doctor.h - the checks of `cairn doctor`: each examines one thing that can make a profile empty or misleading, and reports what it
 * found.
 *
 * A check that does not apply reports nothing. What cannot be known from here is reported as unknown; nothing is guessed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_DOCTOR_DOCTOR_H
#define CAIRN_LIVE_DOCTOR_DOCTOR_H

#include "base/json.h"
#include "live/doctor/diagnosis.h"

enum {
	CAIRN_PERIOD_FINE = 64 << 10, /* with this period in bytes or a shorter one, few samples are not due to the period */
	CAIRN_PERIOD_USUAL = 512 << 10,
};

enum cairn_finding_level {
	CAIRN_NOTHING,    /* the check does not apply */
	CAIRN_RIGHT,
	CAIRN_NOTE,    /* worth knowing, but nothing is wrong */
	CAIRN_UNKNOWN, /* it cannot be told from here */
	CAIRN_WRONG,
};

struct cairn_finding {
	enum cairn_finding_level level;
	struct cairn_error text;
	const char *fix;    /* a command that fixes it when pasted into a shell; NULL for none. Lives as long as the diagnosis */
	const char *advice; /* what to do if no command fixes it; NULL for none. Lives as long */
};

/* Fills FINDING. */
void cairn_finding_say(struct cairn_finding *finding, enum cairn_finding_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The fix is a restart with VARIABLE=VALUE in the environment: a command if the command line is known, else in words. */
void cairn_finding_restart(struct cairn_finding *finding, struct cairn_diagnosis *diagnosis, const char *variable, const char *value);

/* The fix is `cairn attach`, where diagnosis->can_attach. */
void cairn_finding_attach(struct cairn_finding *finding, struct cairn_diagnosis *diagnosis);

/* The fix is to start it with `cairn run`, which adds the agent and samples from the start. */
void cairn_finding_run(struct cairn_finding *finding, struct cairn_diagnosis *diagnosis);

/* The fix is a sample every PERIOD bytes, a power of two: by the agent, without a restart, else by an option of jemalloc. */
void cairn_finding_period(struct cairn_finding *finding, struct cairn_diagnosis *diagnosis, unsigned period);

typedef void cairn_check_look(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding);

/* Of the allocator: allocator.c. */
cairn_check_look cairn_check_allocator;
cairn_check_look cairn_check_use;
cairn_check_look cairn_check_single;
cairn_check_look cairn_check_built;
cairn_check_look cairn_check_statistics;
cairn_check_look cairn_check_variable;
cairn_check_look cairn_check_options;
cairn_check_look cairn_check_enabled;
cairn_check_look cairn_check_active;
cairn_check_look cairn_check_threads;
cairn_check_look cairn_check_period;
cairn_check_look cairn_check_folder;

/* Of allocators inside the program and its libraries: inside.c. */
cairn_check_look cairn_check_inside;

/* Of the process around it: process.c. */
cairn_check_look cairn_check_agent;
cairn_check_look cairn_check_settings;
cairn_check_look cairn_check_privileges;
cairn_check_look cairn_check_limits;
cairn_check_look cairn_check_memory;
cairn_check_look cairn_check_attach;
cairn_check_look cairn_check_sandbox;
cairn_check_look cairn_check_container;
cairn_check_look cairn_check_unwinder;
cairn_check_look cairn_check_samples;

/* Of the files that give names: file.c. */
cairn_check_look cairn_check_on_disk;
cairn_check_look cairn_check_build_id;
cairn_check_look cairn_check_names;
cairn_check_look cairn_check_stacks;
cairn_check_look cairn_check_loading;

/* Of the ledger: ledger.c. */
cairn_check_look cairn_check_last_moment;
cairn_check_look cairn_check_leaks;
cairn_check_look cairn_check_dump_end;
cairn_check_look cairn_check_dump_ages;
cairn_check_look cairn_check_dump_leaks; /* once the profile has names */
cairn_check_look cairn_check_dump_resident;

/* Of a dump: dump.c. */
cairn_check_look cairn_check_dump_allocator;
cairn_check_look cairn_check_dump_samples;
cairn_check_look cairn_check_dump_period;
cairn_check_look cairn_check_dump_maps;
cairn_check_look cairn_check_dump_trailer;
cairn_check_look cairn_check_dump_coverage;
cairn_check_look cairn_check_dump_start;
cairn_check_look cairn_check_dump_totals;
cairn_check_look cairn_check_dump_names;
cairn_check_look cairn_check_dump_debug;

/* All of the above are in one table, in the order in which a person would check. */
enum { CAIRN_CHECKS = 44 };
const char *cairn_check_name(int check);
/* "right", "note", …; "" for nothing. */
const char *cairn_finding_word(enum cairn_finding_level level);

/* Runs every check that applies, the findings of which are zeroes. Returns whether nothing is wrong. */
bool cairn_doctor_check(struct cairn_diagnosis *diagnosis, struct cairn_finding findings[CAIRN_CHECKS]);

/* Adds what was found to the open object of JSON. GOOD is what cairn_doctor_check returned. */
void cairn_doctor_write_json(const struct cairn_diagnosis *diagnosis, const struct cairn_finding findings[CAIRN_CHECKS], bool good,
			     struct cairn_json *json);

/* Diagnoses NAME: adds the members that `cairn doctor --json NAME` prints to the open object of JSON. Fails if NAME cannot be examined; then nothing is
 * added. TOKEN may be NULL. */
bool cairn_doctor_json(const char *name, const char *token, struct cairn_json *json, struct cairn_error *error);

/* Whether PROFILE has samples of objects, live or freed. The memory that the service mapped itself has stacks without any. */
bool cairn_check_has_samples(const struct cairn_profile *profile);

/* PROFILE has no samples. If that is because the process maps its memory itself, past the allocator, says so and returns true. */
bool cairn_check_maps_itself(struct cairn_diagnosis *diagnosis, const struct cairn_profile *profile, struct cairn_finding *finding);

/* The number of samples in PROFILE, and how much it shows of what the allocator counts. TRAILER may be NULL. */
void cairn_check_profile_coverage(struct cairn_diagnosis *diagnosis, const struct cairn_profile *profile,
				  const struct cairn_trailer *trailer, struct cairn_finding *finding);

#endif
