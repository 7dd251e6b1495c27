/* choose.h - selects the dumps of one service over time.
 *
 * Dumps belong to one service if their files have the same prefix, or one has none, and they name the same program. Processes of one
 * service that follow each other are its runs; of processes that ran at the same time, one is chosen, because otherwise their dumps would
 * look like memory that comes and goes. A truncated dump has lost the name of its process and its time, so it cannot be placed among those
 * that have both.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_CHOOSE_H
#define CAIRN_SERIES_CHOOSE_H

#include "base/bytes.h"

/* The process of a dump, and when it was taken. */
struct cairn_origin {
	uint64_t process_id; /* 0 when not known */
	int64_t start_ns;    /* when the process started, as exactly as two clocks allow; 0 if unknown */
	int64_t time_ns;
};

/* Whether two dumps are of one process. If a PID was reused, the second process started after the earlier dump. */
bool cairn_origin_same(struct cairn_origin a, struct cairn_origin b);

struct cairn_candidate {
	struct cairn_bytes prefix;  /* of the file's name; empty if it is named otherwise */
	struct cairn_bytes program; /* its path; empty when not known */
	struct cairn_origin origin;
	bool chosen; /* out */
};

struct cairn_choice {
	size_t service;          /* one of the chosen dumps, which names the service */
	size_t count;            /* dumps that were chosen */
	size_t other_services;   /* dumps of other services */
	size_t unknown;          /* dumps of the service without a process, if most have one: truncated dumps have none */
	size_t other_processes;  /* dumps of processes of the service that ran at the same time as a chosen one */
};

/* Chooses the service with the most of COUNT dumps, which is not 0, and among its processes those with the most dumps that do not
 * overlap. */
struct cairn_choice cairn_series_choose(struct cairn_candidate *dumps, size_t count);

#endif
