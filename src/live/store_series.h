/* store_series.h - a store as a series: what all instances together held, at instants spread over the time that is asked about.
 *
 * An instance counts at an instant with its last snapshot before it, from its first snapshot until it has ended or was silent for three
 * times as long as it usually is. What there is at an instant is the sum over the instances, or with per=instance their mean.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_STORE_SERIES_H
#define CAIRN_LIVE_STORE_SERIES_H

#include "live/store_source.h"
#include "report/view.h"
#include "series/series.h"

enum { CAIRN_FLEET_INSTANTS = 48 };

/* Who counted at one instant. */
struct cairn_fleet_instant {
	int64_t time_ns;
	size_t instances;
	double live, resident;
	double limit; /* those of their control groups, or the memory of their machines, each once; 0 if one has neither, or some have one and
			 some the other */
	size_t machines; /* whose memory that is; 0 if it is groups' */
	uint64_t who; /* a number that changes with who they are */
};

/* The instants that suit PROCESSES, at most CAIRN_FLEET_INSTANTS, and who counts at each. A single process is looked at when it has
 * snapshots. */
size_t cairn_fleet_instants(const struct cairn_store_processes *processes, struct cairn_fleet_instant *instants);

/* Whether the sums at ONE and OTHER are of the same instances, but for less than 2 % of them: else their difference is not growth. */
bool cairn_fleet_same_instances(const struct cairn_fleet_instant *one, const struct cairn_fleet_instant *other);

/* Whether PROCESS is there no more at NOW_NS: it ended, or has sent nothing for longer than it used to. */
bool cairn_fleet_is_gone(const struct cairn_store_process *process, int64_t now_ns);

/* Fills SHARES, one for each of PROCESSES: the share of the time between the first and the last snapshot of all processes during which it
 * ran. A process runs from its start, or from its first snapshot if its start is not known; one that disappeared counts until its next
 * snapshot was due. Returns the sum, the mean number of running processes. */
double cairn_fleet_shares(const struct cairn_store_processes *processes, double *shares);

/* The point that PROCESS counts with at TIME_NS; SIZE_MAX where it does not count. */
size_t cairn_fleet_point_at(const struct cairn_store_process *process, int64_t time_ns);

/* Calls VISIT for each of the COUNT instants, in order, with the sum of what the running PROCESSES held (with MEAN, the average). Its
 * process_id changes when the set of running processes does. */
bool cairn_fleet_sums(struct cairn_store *store, const struct cairn_store_processes *processes, const struct cairn_fleet_instant *instants,
		      size_t count, bool mean,
		      bool (*visit)(void *context, struct cairn_profile *sum, const struct cairn_fleet_instant *instant,
				    struct cairn_error *error),
		      void *context, struct cairn_error *error);

/* Adds the instants of the source NAME (live/store_source.h) to SERIES, which is started and not finished. It is of the value that VIEW
 * asks for. */
bool cairn_fleet_source_series(struct cairn_series *series, const char *name, const struct cairn_view_options *view,
			       struct cairn_error *error);

#endif
