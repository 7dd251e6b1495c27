/* series.h - several dumps of one service as a film: what every stack held at every instant.
 *
 * Dumps are added in any order; a *point* is one dump. The stacks of all dumps are put together in one profile, whose
 * samples are the *rows*; a *cell* is what one row held at one point. Dumps of several runs of the service (restarts) are
 * one series: stacks are matched by place in the file, and each point says of which run it is.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_SERIES_H
#define CAIRN_SERIES_SERIES_H

#include "profile/combine.h"
#include "series/choose.h"

struct cairn_series_point {
	struct cairn_origin origin;
	uint32_t run;        /* counts the runs of the service, from 0 */
	double total;        /* of the default value */
	double resident;     /* what the process weighed; 0 when not known */
	double limit;        /* and might weigh; 0 when not known */
	bool limit_of_group; /* that is a control group's limit, else the machine's memory */
	const char *ended;   /* how the process ended, for a dump of its last moment; "" for any other; owned by the series */
	const char *path;    /* owned by the series */
};

struct cairn_series_cell {
	uint32_t row;
	uint32_t point;
	double value;
	double weight; /* of one sample (profile/unsample.h): the variance is value times weight */
	bool mixed;    /* objects of several sizes, whose count has an error that is not known */
	bool unsure;   /* objects of several sizes, some of which may be large: what one sample stands for is not known */
	double unit;   /* what one sample stands for: a share of the value that comes and goes at once */
	double allocated; /* ever, freed or not; -1 where the dump does not say */
};

/* What the newest dump says of ages and lifetimes; nothing where it is not of Cairn's own engine, or was not read with them. */
struct cairn_series_lives {
	double seconds; /* that it had been sampled for; 0 where there is nothing */
	struct cairn_aged *aged; /* `sample` is the row */
	size_t aged_count, aged_capacity;
	struct cairn_freed *freed; /* `stack` is the row */
	size_t freed_count, freed_capacity;
	bool objects; /* the series is of objects, not of bytes */
};

struct cairn_series {
	struct cairn_profile profile; /* the sum over all points, and the newest one's process; name its locations before showing rows */
	int64_t newest_ns;
	struct cairn_arena arena;
	struct cairn_combine combine;
	struct cairn_series_point *points; /* after finish: in the order of time */
	size_t point_count, point_capacity;
	struct cairn_series_cell *cells; /* after finish: by row, then by point */
	size_t cell_count, cell_capacity;
	size_t *first; /* per row, its first cell; one more at the end */
	struct cairn_series_lives lives;
	bool knows_errors; /* the weights are known, of every dump */
};

static inline struct cairn_spread cairn_series_cell_spread(const struct cairn_series_cell *cell)
{
	struct cairn_spread spread = cairn_spread_of(cell->value, cell->weight);
	spread.unknown = cell->mixed ? cell->value : 0;
	return spread;
}

/* What SAMPLE of PART holds of its default value; row and point are the caller's to fill in. */
struct cairn_series_cell cairn_series_cell_of(const struct cairn_profile *part, size_t sample);

void cairn_series_start(struct cairn_series *series);

/* Adds one dump, with its default value. PART's time_ns must be known. False, with a sentence, when it does not fit the others; the
 * series can go on without it. */
bool cairn_series_add(struct cairn_series *series, const struct cairn_profile *part, const char *path, struct cairn_error *error);

/* Puts points and cells in order. A dump that is there twice counts once; *DUPLICATES says how many were dropped. */
void cairn_series_finish(struct cairn_series *series, size_t *duplicates);
void cairn_series_free(struct cairn_series *series);

#endif
