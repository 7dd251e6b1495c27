/* choose.h - which of many dumps are one service over time.
 *
 * Dumps are of one service when their files have one prefix and they name the same program. Processes of one service that
 * follow each other are its runs; of processes that ran at the same time one is taken, or their dumps would be taken for
 * memory that comes and goes. A dump that lost its end lost the name of its process and its time too, so it has no place among those
 * that have both.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_CHOOSE_H
#define CAIRN_SERIES_CHOOSE_H

#include "base/bytes.h"

/* Of which process a dump is, and when it was taken. */
struct cairn_origin {
	uint64_t process_id; /* 0 when not known */
	int64_t start_ns;    /* when the process started, as exactly as two clocks tell; 0 when not known */
	int64_t time_ns;
};

/* Whether two dumps are of one process. One whose number was used before started after the earlier dump. */
bool cairn_origin_same(struct cairn_origin a, struct cairn_origin b);

struct cairn_candidate {
	struct cairn_bytes prefix;  /* of the file's name; empty where it is named otherwise */
	struct cairn_bytes program; /* its path; empty when not known */
	struct cairn_origin origin;
	bool chosen; /* out */
};

struct cairn_choice {
	size_t service;          /* one of the dumps that were chosen, to name the service by */
	size_t count;            /* dumps that were chosen */
	size_t other_services;   /* dumps of other services */
	size_t unknown;          /* dumps of the service that do not say of which process, where most do: those cut short do not */
	size_t other_processes;  /* dumps of processes of the service that ran at the same time as a chosen one */
};

/* Chooses the service with the most dumps of COUNT, which is not 0, and of its processes those with the most that do not overlap. */
struct cairn_choice cairn_series_choose(struct cairn_candidate *dumps, size_t count);

#endif
