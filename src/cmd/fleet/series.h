/* series.h - a store as a series: what all instances together held, at instants spread over the time that is asked about.
 *
 * An instance counts at an instant with its last snapshot before it, from its first snapshot until it has ended or was silent for three
 * times as long as it usually is. What there is at an instant is the sum over the instances, or with per=instance their mean.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_FLEET_SERIES_H
#define CAIRN_CMD_FLEET_SERIES_H

#include "cmd/fleet/question.h"
#include "report/view.h"
#include "series/series.h"

enum { CAIRN_FLEET_INSTANTS = 48 };

/* Who counted at one instant. */
struct cairn_fleet_instant {
	int64_t time_ns;
	size_t instances;
	double live, resident;
	double limit; /* of all of them; 0 where one has none */
	uint64_t who; /* a number that changes with who they are */
};

/* The instants that suit PROCESSES, at most CAIRN_FLEET_INSTANTS, and who counts at each. A single process is looked at when it has
 * snapshots. */
size_t cairn_fleet_instants(const struct cairn_store_processes *processes, struct cairn_fleet_instant *instants);

/* Whether PROCESS is there no more at NOW_NS: it ended, or has sent nothing for longer than it used to. */
bool cairn_fleet_is_gone(const struct cairn_store_process *process, int64_t now_ns);

/* Fills SHARES, one for each of PROCESSES: for which part of the time from the first snapshot of any of them to the last it was there. It
 * was there from its start on, or from its first snapshot if its start is not known; one that ended without a word, until its next
 * snapshot was due. Returns their sum: how many were there at a time, on average. */
double cairn_fleet_shares(const struct cairn_store_processes *processes, double *shares);

/* The point that PROCESS counts with at TIME_NS; SIZE_MAX where it does not count. */
size_t cairn_fleet_point_at(const struct cairn_store_process *process, int64_t time_ns);

/* Calls VISIT with what PROCESSES held together at each of the COUNT instants at which some counted, in order; with MEAN, what one of them
 * held on average. A profile says by its process_id which of them ran together: it changes where others count than before. */
bool cairn_fleet_sums(struct cairn_store *store, const struct cairn_store_processes *processes, const struct cairn_fleet_instant *instants,
		      size_t count, bool mean,
		      bool (*visit)(void *context, struct cairn_profile *sum, const struct cairn_fleet_instant *instant,
				    struct cairn_error *error),
		      void *context, struct cairn_error *error);

/* Adds the instants of the source NAME (cmd/fleet/question.h) to SERIES, which is started and not finished. It is of the value that VIEW
 * asks for. */
bool cairn_fleet_source_series(struct cairn_series *series, const char *name, const struct cairn_view_options *view,
			       struct cairn_error *error);

#endif
