/* archive.h - the dumps of one process in memory: every stack once, with its values in each dump.
 *
 * The stacks of all dumps are rows of one profile, the *sum*, which is named as it grows: a dump costs only what is new in it. A *point* is
 * one dump: the values of its rows. Ages and sizes are separate rows with few values, so only values that are not 0 are kept. A point, or
 * the difference of two, can be turned into a profile again (cairn_archive_profile), and all points into a series (cairn_archive_series),
 * which is what `cairn leaks` judges; the newest point has the ages of its objects as well. When the points exceed their limit of memory, every second one of the older half is dropped: the
 * timeline keeps its length, with larger steps.
 *
 * Only one thread at a time may use an archive.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_ARCHIVE_H
#define CAIRN_FLEET_SERVE_ARCHIVE_H

#include "live/source.h"
#include "profile/combine.h"
#include "series/series.h"

enum { CAIRN_ARCHIVE_REASON = 96,
       CAIRN_ARCHIVE_ENDED = 200 };

struct cairn_archive_point {
	int64_t id; /* milliseconds since 1970, unique */
	struct cairn_origin origin;
	double total; /* live bytes, as the dump estimates them */
	double objects; /* live objects; 0 if unknown */
	double resident, limit; /* 0 if unknown */
	bool limit_of_group;
	double group; /* memory charged to that group; 0 if unknown */
	double available, free, returnable; /* as in struct cairn_series_point */
	struct cairn_own_memory own;
	double period;
	uint64_t build; /* distinguishes builds of the program; 0 if unknown */
	char reason[CAIRN_ARCHIVE_REASON]; /* why it was written; "" if the dump does not say */
	char ended[CAIRN_ARCHIVE_ENDED]; /* for a dump of the last moment, how the process ended; otherwise "" */
	struct cairn_series_cell *cells; /* one for each row that it has */
	uint16_t *kinds; /* for each row, a bit for each value that is not 0 */
	double *values;  /* the values that are not 0, row after row */
	size_t count, value_count;
};

struct cairn_archive {
	struct cairn_source_options source; /* how dumps are read and named */
	uint64_t bytes_most;
	int64_t keep_ns; /* how long a point is kept, counted from the newest; 0 for ever */
	uint64_t bytes; /* of the points */
	struct cairn_profile sum;
	struct cairn_combine combine;
	size_t named; /* the number of locations when they were last named */
	struct cairn_archive_point *points; /* in the order of time */
	size_t count, capacity;
	struct cairn_series_lives lives; /* of the newest point */
	uint64_t epoch; /* changes whenever the meaning of ids may have changed */
	bool started;
};

void cairn_archive_open(struct cairn_archive *archive, const struct cairn_source_options *source, uint64_t bytes_most, int64_t keep_ns);
void cairn_archive_close(struct cairn_archive *archive);

/* Changes its limit of memory, and drops points that are too many for it. */
void cairn_archive_limit(struct cairn_archive *archive, uint64_t bytes_most);

/* Reads DUMP into PART, which it initializes and the caller frees. This is slow, and needs no archive. NAME is for messages; MODIFIED_NS is
 * the time of a dump that does not have its own. */
bool cairn_archive_read(struct cairn_profile *part, const struct cairn_source_options *source, struct cairn_bytes dump, const char *name,
			int64_t modified_ns, struct cairn_error *error);

/* Adds PART, read from DUMP, and returns its point, which is borrowed until the next call; NULL if the archive has it already. If its
 * samples have another kind than earlier ones, the archive is cleared first. */
const struct cairn_archive_point *cairn_archive_add(struct cairn_archive *archive, const struct cairn_profile *part,
						    struct cairn_bytes dump, struct cairn_error *error);

/* Drops the points later than TIME_NS and returns whether there were any. */
bool cairn_archive_drop_later(struct cairn_archive *archive, int64_t time_ns);

/* The point nearest to ID; NULL if there is none. */
const struct cairn_archive_point *cairn_archive_find(const struct cairn_archive *archive, int64_t id);

/* The profile of AT, minus BASE unless that is NULL. It borrows from the archive until that changes; free it with the function below. */
void cairn_archive_profile(const struct cairn_archive *archive, const struct cairn_archive_point *at,
			   const struct cairn_archive_point *base, struct cairn_profile *profile);
void cairn_archive_profile_free(struct cairn_profile *profile);

/* Up to MOST points, spread evenly, as a series, which borrows from the archive in the same way. */
void cairn_archive_series(const struct cairn_archive *archive, size_t most, struct cairn_series *series);
void cairn_archive_series_free(struct cairn_series *series);

#endif
