/* judge.h - the verdict on a process: what `cairn leaks`, `cairn watch`, `cairn doctor`, `cairn why` and the live page say of it, with the
 * words of words.h.
 *
 * leaks.h judges call paths; this decides what is announced. Growth is, if a call path grows with 99 % confidence or more. What may grow,
 * with less than that, makes it too early to tell: nothing changes between an alarm and an all-clear without passing through that. If nothing of the
 * heap grows, the ranges that the service mapped itself are judged by their ages; how long such ranges live is not known, so the memory of
 * the process must grow with them.
 *
 * The forecast follows the memory of the process, which is known exactly, since the growth began or, if that swings too widely, all that
 * grows. There is none if its 95 % interval is wider than a factor of two. A limit of the machine is what it has available, which all processes share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_JUDGE_H
#define CAIRN_SERIES_JUDGE_H

#include "series/leaks.h"

/* What grows is announced with this confidence or more. */
#define CAIRN_JUDGE_SURE 0.99

enum cairn_limit_kind {
	CAIRN_LIMIT_NONE,
	CAIRN_LIMIT_OPTION,
	CAIRN_LIMIT_GROUP,     /* of the control group, for all of its processes together */
	CAIRN_LIMIT_AVAILABLE, /* what the machine has available */
	CAIRN_LIMIT_MACHINE,   /* all of its memory, in dumps that do not know what was available */
};

/* "option", "cgroup", "available", "machine"; "" for none. */
const char *cairn_limit_name(enum cairn_limit_kind kind);

struct cairn_limit {
	enum cairn_limit_kind kind;
	double bytes;
	double left; /* how much of that is left */
};

/* What the caller knows beyond the dumps. */
struct cairn_judge_context {
	double limit;           /* what the user says; 0 for the one in the last dump */
	double others_per_hour; /* how much other processes grow that share the limit of the machine */
	bool no_forecast;       /* the process has ended, or what is counted is not its live bytes */
	const struct cairn_leaks *mapped; /* of the ranges that the service mapped itself in the last dump; NULL if nobody looked */
	const struct cairn_view *mapped_view;
};

/* Nothing in it is owned. */
struct cairn_judgement {
	enum cairn_verdict verdict; /* growing, too early, shrinking or steady */
	const struct cairn_series *series;
	const struct cairn_leaks *leaks; /* of the heap or, if `mapped`, of mappings: whose rows the verdict is about */
	const struct cairn_view *view;
	bool mapped; /* if too early, mappings grow by their ages, and it is not known whether the process does */
	const struct cairn_leak *first; /* the row that grows fastest; if too early, one that may grow; NULL if it has no name */
	size_t growing;                 /* rows that are announced */
	double per_hour, error;         /* of these */
	double confidence;
	double hidden_per_hour; /* resident memory grows by this, and neither the heap nor mappings do; 0 if not */
	struct cairn_limit limit;
	double process_per_hour; /* how fast the process grows, if anything does; 0 if not */
	double hours_left, soonest, latest; /* until the limit is reached, with its interval; negative if there is no forecast */
};

/* Whether the caller should look at mappings before judging LEAKS of SERIES: nothing in the heap grows, and there are some. */
bool cairn_judge_wants_mapped(const struct cairn_series *series, const struct cairn_leaks *leaks);

void cairn_judge(struct cairn_judgement *judgement, const struct cairn_series *series, const struct cairn_leaks *leaks,
		 const struct cairn_view *view, const struct cairn_judge_context *context);

#endif
