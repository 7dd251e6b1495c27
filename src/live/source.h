/* source.h - turns the sources on the command line into one profile: files, folders, standard input, live processes.
 *
 * Every report and picture command takes the same sources and the same options for them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_SOURCE_H
#define CAIRN_LIVE_SOURCE_H

#include "live/option_list.h"
#include "live/target.h"
#include "profile/profile.h"
#include "symbol/symbolize.h"

struct cairn_source_options {
	bool sum;
	bool tree; /* a PID stands for all processes that descend from it */
	struct cairn_option_list base;
	bool normalize; /* the base to the total of what there is now */
	const char *thread;
	const char *older, *younger; /* only what is at least or at most so old */
	bool shows[CAIRN_SHOWN_COUNT]; /* these instead of what is live; at most one */
	const char *mappings;          /* the same for CAIRN_SHOWN_MAPPED, of this kind */
	const char *service; /* only dumps of this program */
	/* Not options of their own, but set by commands. */
	bool quiet;                /* by those that load many: naming prints no notes */
	bool listed_before;        /* by those that have listed the sources already (files.h) */
	struct cairn_symbolize_report *unnamed; /* by those that show a part: filled instead of printing a note about missing names */
	bool split_threads;        /* by those that show threads */
	bool split_ages;           /* by those that show ages */
	bool split_sizes;          /* by those that show sizes of objects */
	bool every_kind;           /* by those that show several values: also the peak, slack, fragmentation and mappings */
	bool with_freed;           /* by those that show what was freed */
	bool all_values;           /* by those that hand on all there is */
	bool as_jeprof;            /* by jeprof: its numbers to the last digit */
	bool reads_standard_input; /* by those for which no name means standard input, unless that is a terminal */
	bool columns_compare;      /* by those that show differences: the two columns of folded text are one */
	bool may_be_empty;         /* by those that hand a profile on: nothing sampled is an answer too, and a note says so */
	struct cairn_option_list binary;
	struct cairn_option_list symbols;
	const char *sysroot;
	bool debuginfod;
	bool no_cache;
	bool no_symbols;
	const char *only_modules;
	uint64_t memory; /* that naming may take; 0 for the default */
	const char *token;
};

/* Where to search for binaries and debug files according to OPTIONS. Borrows from OPTIONS. */
struct cairn_find_options cairn_source_find(const struct cairn_source_options *options);

/* Whether OPTIONS select all that dumps say of the heap: neither a part nor another value. */
bool cairn_source_is_plain(const struct cairn_source_options *options);

/* Whether dumps say how old everything is that OPTIONS select: the heap, or mappings. */
bool cairn_source_knows_ages(const struct cairn_source_options *options);

/* Whether they select that, of one dump: neither a sum nor a difference. */
bool cairn_source_is_whole(const struct cairn_source_options *options);

/* Whether OPTIONS make sense, whatever the sources are; fails with a usage error. Loading or reading sources checks it again. */
bool cairn_source_check(const struct cairn_source_options *options, struct cairn_error *error);

/* Loads the sources into PROFILE, which it initialises and the caller frees: the newest of several dumps or their sum, minus the base,
 * only the selected thread, with names. Notes on standard error say what could not be symbolized and why. Fails with a message, also if
 * there are no samples, unless the profile may be empty. */
bool cairn_source_load(struct cairn_profile *profile, const struct cairn_source_options *options, int count, char **names,
		       struct cairn_error *error);

/* Fails with why PROFILE has no samples. SOURCE is where it was read from; NULL if that is several. */
bool cairn_source_fail_empty(const struct cairn_profile *profile, const char *source, struct cairn_error *error);

/* Reads one file or live process into PROFILE, which it initialises and the caller frees in either case; without names. It has no samples
 * if it has none of the thread that OPTIONS name: another source may. Any thread may call it. */
bool cairn_source_read(struct cairn_profile *profile, const char *name, const struct cairn_source_options *options,
		       struct cairn_error *error);

/* The same of the process that TARGET is, which was found by NAME; DUMP receives what it answers. */
bool cairn_source_take(struct cairn_profile *profile, const struct cairn_target *target, struct cairn_buffer *dump, const char *name,
		       const struct cairn_source_options *options, struct cairn_error *error);

/* Fails with a list of the threads if OPTIONS name one of which PROFILE, all that was read, has no sample. */
bool cairn_source_check_thread(const struct cairn_profile *profile, const struct cairn_source_options *options, struct cairn_error *error);

/* Symbolizes the locations that have no name yet, unless OPTIONS disable it. Prints one note if enough of the profile stays unnamed,
 * unless OPTIONS->unnamed keeps that for cairn_source_note_unnamed. */
void cairn_source_name(struct cairn_profile *profile, const struct cairn_source_options *options);

/* Prints one note about the names that are missing from what is shown, if they are at least a twentieth of it: SCOPE says which samples
 * and which value are shown (NULL: all), and TEXT, if not NULL, is the report: modules without an address in it are not mentioned. */
void cairn_source_note_unnamed(const struct cairn_profile *profile, struct cairn_symbolize_report *report,
			       const struct cairn_symbolize_scope *scope, const struct cairn_bytes *text);

#endif
