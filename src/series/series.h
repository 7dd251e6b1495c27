/* series.h - several dumps of one service over time: what every stack held at every moment.
 *
 * Dumps are added in any order; a *point* is one dump. The stacks of all dumps are combined in one profile, whose samples are the *rows*; a
 * *cell* is what one row held at one point. Dumps of several processes of the service (restarts) form one series: stacks are matched by
 * their offsets in files, and each point has the number of its process. Dumps of one *run* share samples: a process begins another run when
 * its samples are discarded, or its sampling is switched on again.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_SERIES_H
#define CAIRN_SERIES_SERIES_H

#include "profile/combine.h"
#include "series/choose.h"

/* The memory that a process has to itself, not by samples; 0 for what is not known. */
struct cairn_own_memory {
	double allocated;          /* live bytes by the allocator's own count */
	double anonymous, swapped; /* resident and swapped out, according to the kernel */
	double before;             /* anonymous memory when sampling began */
	double mapped;             /* the resident part of what it mapped itself since then, past the allocator */
};

struct cairn_own_memory cairn_own_memory_of(const struct cairn_profile *profile);

/* By how much the process has grown since sampling began, beside what it mapped itself, if it is so many times PERIOD that an allocator
 * that is sampled would have had samples; otherwise 0. For a process without samples. */
double cairn_own_memory_unseen(const struct cairn_own_memory *own, double period);

/* What a walk of the heaps has found that is in PART, a dump: resident memory that is free, and the part that a call returns. Leaves both
 * as they are if it has none. */
void cairn_series_walked(const struct cairn_profile *part, double *free, double *returnable);

struct cairn_series_point {
	struct cairn_origin origin;
	uint32_t process;    /* number of the process, from 0: a restart begins another */
	uint32_t run;        /* number of the run, from 0: so does a restart, and discarding all samples */
	double total;        /* of the default value */
	double bytes;        /* the live bytes of that, where objects are counted; otherwise the total */
	bool live;           /* the total is what is live, not slack, what was ever allocated or the like */
	double resident;     /* resident memory of the process; 0 when not known */
	struct cairn_own_memory own;
	double free, returnable; /* resident memory that is free in its heaps, and the part that a call returns; by a walk; 0 if unknown */
	double limit;        /* its memory limit; 0 when not known */
	bool limit_of_group; /* the limit is that of a control group; otherwise it is the machine's memory */
	double group;        /* memory charged to that group, page cache left out as far as known; 0 when not known */
	double available;    /* what the machine could still give to all its processes; 0 when not known */
	const char *ended;   /* how the process ended, in a dump of its last moment; "" in any other; owned by the series */
	const char *path;    /* owned by the series */
};

struct cairn_series_cell {
	uint32_t row;
	uint32_t point;
	double value;
	double weight; /* of one sample (profile/unsample.h): the variance is value times weight */
	bool mixed;    /* objects of several sizes: the error of their count is unknown */
	bool unsure;   /* objects of several sizes, some of them perhaps large: the amount that one sample stands for is unknown */
	double unit;   /* the amount that one sample stands for: this part of the value comes and goes at once */
	double allocated; /* ever, freed or not; -1 if the dump does not say */
};

/* Ages and lifetimes from the newest dump; empty if it is not from Cairn's own engine, or was read without them. */
struct cairn_series_lives {
	double seconds; /* sampled time; 0 if empty */
	struct cairn_aged *aged; /* `sample` is the row */
	size_t aged_count, aged_capacity;
	struct cairn_freed *freed; /* `stack` is the row */
	size_t freed_count, freed_capacity;
	bool objects; /* the series counts objects, not bytes */
	bool endless; /* of mappings: how long those lived that are gone is not known */
};

/* Takes the lives of PART, which counts as newest from now on; PLACES has the row of each of its samples. Without any, LIVES is empty. */
void cairn_series_lives_take(struct cairn_series_lives *lives, const struct cairn_profile *part, const uint32_t *places);
void cairn_series_lives_free(struct cairn_series_lives *lives);

struct cairn_series {
	struct cairn_profile profile; /* the sum over all points, with the newest point's process; name its locations before showing rows */
	int64_t newest_ns;
	struct cairn_arena arena;
	struct cairn_combine combine;
	struct cairn_series_point *points; /* after finish: in order of time */
	size_t point_count, point_capacity;
	struct cairn_series_cell *cells; /* after finish: by row, then by point */
	size_t cell_count, cell_capacity;
	size_t *first; /* for each row, its first cell; one more at the end */
	struct cairn_series_lives lives;
	bool knows_errors; /* the weights are known in every dump */
};

static inline struct cairn_spread cairn_series_cell_spread(const struct cairn_series_cell *cell)
{
	struct cairn_spread spread = cairn_spread_of(cell->value, cell->weight);
	spread.unknown = cell->mixed ? cell->value : 0;
	return spread;
}

/* The cell for SAMPLE of PART, with its default value; the caller fills in row and point. */
struct cairn_series_cell cairn_series_cell_of(const struct cairn_profile *part, size_t sample);

/* Numbers the process and the run of POINT, which follows BEFORE; that is NULL for the first point. */
void cairn_series_point_follow(struct cairn_series_point *point, const struct cairn_series_point *before);

void cairn_series_start(struct cairn_series *series);

/* Adds one dump, with its default value. PART's time_ns must be known. Returns false with a message if the dump does not match the others;
 * the series remains usable. */
bool cairn_series_add(struct cairn_series *series, const struct cairn_profile *part, const char *path, struct cairn_error *error);

/* Sorts points and cells. A dump that was added twice counts once; *DUPLICATES is the number dropped. */
void cairn_series_finish(struct cairn_series *series, size_t *duplicates);
void cairn_series_free(struct cairn_series *series);

#endif
