/* archive.h - the dumps of one process as they are kept in memory: every stack once, and what each dump says of it.
 *
 * The stacks of all dumps are rows of one profile, the *sum*, which is named as it grows: a dump costs what is new in it. A *point* is one
 * dump, the values of its rows; ages and sizes are rows of their own, which have few of the values, so only those that are not 0 are kept.
 * Any point, or what changed from one to another, is a profile again (cairn_archive_profile), and many
 * points together are a series (cairn_archive_series) as `cairn leaks` judges it. When the points take more memory than they may, every
 * second one of the older half goes: the course stays, with larger steps.
 *
 * One thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SERVE_ARCHIVE_H
#define CAIRN_CMD_SERVE_ARCHIVE_H

#include "cmd/source.h"
#include "profile/combine.h"
#include "series/series.h"

enum { CAIRN_ARCHIVE_REASON = 96,
       CAIRN_ARCHIVE_ENDED = 200 };

struct cairn_archive_point {
	int64_t id; /* milliseconds since 1970, of no other point */
	struct cairn_origin origin;
	double total; /* live bytes, as the dump estimates them */
	double objects; /* live objects; 0 when not known */
	double resident, limit, allocated; /* 0 when not known */
	bool limit_of_group;
	int64_t since_ns; /* when sampling began */
	double period;
	uint64_t build; /* tells builds of the program apart; 0 when not known */
	char reason[CAIRN_ARCHIVE_REASON]; /* why it was written; "" when it says nothing */
	char ended[CAIRN_ARCHIVE_ENDED]; /* how the process ended, of its last moment; "" for any other */
	struct cairn_series_cell *cells; /* of the rows that it has */
	uint16_t *kinds; /* a bit for each value that is not 0, */
	double *values;  /* and those, row after row */
	size_t count, value_count;
};

struct cairn_archive {
	struct cairn_source_options source; /* how dumps are read and named */
	uint64_t bytes_most;
	int64_t keep_ns; /* how long a point stays, counted from the newest; 0 for ever */
	uint64_t bytes; /* of the points */
	struct cairn_profile sum;
	struct cairn_combine combine;
	size_t named; /* locations that were there when names were last looked for */
	struct cairn_archive_point *points; /* in the order of time */
	size_t count, capacity;
	uint64_t epoch; /* changes whenever what an id stands for may have changed */
	bool started;
};

void cairn_archive_open(struct cairn_archive *archive, const struct cairn_source_options *source, uint64_t bytes_most, int64_t keep_ns);
void cairn_archive_close(struct cairn_archive *archive);

/* Reads DUMP into PART, which it initialises and the caller frees: the slow part, which needs no archive. NAME is for messages, MODIFIED_NS
 * the time of a dump that does not say its own. */
bool cairn_archive_read(struct cairn_profile *part, const struct cairn_source_options *source, struct cairn_bytes dump, const char *name,
			int64_t modified_ns, struct cairn_error *error);

/* Adds PART, read from DUMP, and returns its point: borrowed until the next call. NULL for one that is there already. Samples of another
 * kind than those before them begin a new archive. */
const struct cairn_archive_point *cairn_archive_add(struct cairn_archive *archive, const struct cairn_profile *part,
						    struct cairn_bytes dump, struct cairn_error *error);

/* The point nearest to ID, or NULL where there is none. */
const struct cairn_archive_point *cairn_archive_find(const struct cairn_archive *archive, int64_t id);

/* The profile of AT, less BASE where that is not NULL. It borrows from the archive, until that changes; free it by the function below. */
void cairn_archive_profile(const struct cairn_archive *archive, const struct cairn_archive_point *at,
			   const struct cairn_archive_point *base, struct cairn_profile *profile);
void cairn_archive_profile_free(struct cairn_profile *profile);

/* Up to MOST points, spread over all there are, as a series, which borrows in the same way. */
void cairn_archive_series(const struct cairn_archive *archive, size_t most, struct cairn_series *series);
void cairn_archive_series_free(struct cairn_series *series);

#endif
