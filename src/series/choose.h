/* choose.h - selects the dumps of one service over time.
 *
 * Dumps belong to one service if their files have the same prefix, or one has none, and they name the same program. Processes of one
 * service that follow each other are its runs; of processes that ran at the same time, one is chosen, because otherwise their dumps would
 * look like memory that comes and goes. A truncated dump has lost the name of its process and its time, so it cannot be placed among those
 * that have both.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_CHOOSE_H
#define CAIRN_SERIES_CHOOSE_H

#include "process/life.h"
#include "profile/profile.h"

/* The process of a dump, and when it was taken. */
struct cairn_origin {
	uint64_t process_id; /* 0 when not known */
	int64_t start_ns;    /* when the process started, as exactly as two clocks allow; 0 if unknown */
	int64_t time_ns;
	int64_t since_ns;       /* when sampling began, or all samples were last discarded; 0 if unknown */
	struct cairn_life life; /* its ticks are 0 when not known */
};

struct cairn_origin cairn_origin_of(const struct cairn_profile *profile);

/* Whether two dumps are of one process: they have the same life or, if that is unknown, the same PID, and the process of the later dump did
 * not start after the earlier one. The PID alone is not enough: it is reused, and every container has a process 1. */
bool cairn_origin_same(struct cairn_origin a, struct cairn_origin b);

/* Whether, moreover, sampling went on between the two, so that they share the samples of all objects that were live in both. */
bool cairn_origin_continues(struct cairn_origin a, struct cairn_origin b);

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
