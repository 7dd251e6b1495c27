/* ages.h - a verdict from one dump: the ages of live objects, and the lifetimes of freed ones.
 *
 * Cairn's own engine records when each sampled object was born, and how long each freed one had lived. Statisticians call this censored
 * data: for freed objects we know the lifetime, for the others only that they have lived this long *so far*. If objects die at random ages,
 * the probability that an object is still there at age a is a curve S(a). A path grows if S does not fall to zero, but levels off: some of
 * its objects never die. The share that never dies is the *leak*, and the path grows by that share of its births. The rate of births need
 * not be steady: given the births, only ages count.
 *
 * Ordinary lifetimes follow no known distribution, so they are modelled as a mixture of exponential distributions, each with twice the mean
 * of the one before, the longest with a quarter of the observed time. (Such a mixture covers every distribution whose tail gets no thinner,
 * and is heavier than any whose tail does.) The test asks whether such a mixture explains the data, or whether a share that never dies must
 * be added. It uses the likelihood ratio of the two, which follows half a chi-square distribution, because the parameter is at the edge of
 * its range. Objects count from about a twentieth of the time on: a mixture of exponential distributions has its most deaths at age zero,
 * so it fits the tail of any lifetimes, but not the beginning of those that have a shortest value. The probability of any false alarm over
 * all call paths together is held at one in a hundred, as in trend.h.
 *
 * Four things look like a leak, but are none. Objects born at the start of the service that stay: births in the first tenth of the time are
 * ignored. Objects born at one moment that stay: births in one sixty-fourth of the time count no more than those in others. Something that
 * filled up and rests: survivors must go on being born until an eighth of the time ago, except for pauses like earlier ones. And objects
 * that live longer than the service has been observed: a path is judged only once the time is a multiple of the longest lifetimes of the
 * path or, if few of its objects were freed, of the service; if hardly any object of the service was freed, nobody knows how long they live.
 * If distributions of half to twice the observed time add to what ordinary ones and a leak explain, the leak must also add to what ordinary
 * ones and those explain. In its first 25 seconds a service warms up, unless its objects live for less than a tenth of the time. Until then
 * it is too early to tell; and it is, at any time, for a path that still allocates and of which nothing was ever freed, unless it grows.
 *
 * A leak that began lately is hidden in all the time: most of its births are too young to count. So the same is asked of the births in the
 * last half of the time, in the last quarter, and so on, each divided into sixty-four slots of its own, as long as these are at least as
 * long as the longest lifetime of the service. All the time has 80 % of the probability of a false alarm, the other windows have the rest.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_AGES_H
#define CAIRN_SERIES_AGES_H

#include "profile/live.h"
#include "series/trend.h"

/* Lifetime distributions: the ordinary ones, longest first; those too long to be told from a leak; and never dying. */
enum { CAIRN_AGE_SLOTS = 64, CAIRN_AGE_ORDINARY = 7, CAIRN_AGE_LONG = 3, CAIRN_AGE_LAWS = CAIRN_AGE_ORDINARY + CAIRN_AGE_LONG + 1 };

/* Ages are looked at through *windows*: all the time, its last half, the last half of that, and so on. Each has CAIRN_AGE_SLOTS slots, and
 * the younger half of a window's slots is the next window. So there are cells for the slots of the shortest one, youngest first, then for
 * the older half of each longer one. */
enum { CAIRN_AGE_WINDOWS = 6, CAIRN_AGE_CELLS = CAIRN_AGE_SLOTS + (CAIRN_AGE_WINDOWS - 1) * CAIRN_AGE_SLOTS / 2 };

/* The survivors and the freed objects of one path; those of several paths can be added. */
struct cairn_ages {
	uint32_t count[CAIRN_AGE_CELLS]; /* live samples by age */
	double amount[CAIRN_AGE_CELLS];  /* the amount that they stand for */
	double square[CAIRN_AGE_CELLS];  /* the sum of the squares of the amount that each stands for */
	double now;                      /* the amount of all live samples */
	uint64_t freed[CAIRN_LIFETIMES]; /* freed samples by lifetime, as in struct cairn_freed */
	double longest; /* the longest ordinary lifetime, in seconds, as far as known; of a sum, the longest of its paths */
};

/* The part of the calculation that is the same for all paths of one dump. */
struct cairn_ages_clock {
	double seconds;  /* observed time; 0 if the dump has no ages */
	double longest;  /* the longest ordinary lifetime in the service, in seconds; 0 if too few objects were freed to tell */
	bool endless;    /* lifetimes of freed objects are not recorded: all that is old enough counts as leaked. Set by the caller */
	struct cairn_ages_window {
		double seconds;
		double youngest; /* in seconds: only objects that reached this age count; a boundary between lifetime classes */
		int first;       /* the lifetime class that begins there */
		double survives[CAIRN_AGE_SLOTS][CAIRN_AGE_LAWS]; /* the probability of reaching that age under each distribution; the last
								   * never dies */
		double dies[CAIRN_LIFETIMES][CAIRN_AGE_LAWS];
	} windows[CAIRN_AGE_WINDOWS]; /* all the time first */
	size_t window_count;
};

void cairn_ages_clock_make(struct cairn_ages_clock *clock, double seconds);

/* Sets the longest ordinary lifetime of the service, and with it the distributions that explain the lives of its objects. */
void cairn_ages_clock_settle(struct cairn_ages_clock *clock, double longest);

/* Adds a live sample that stands for AMOUNT. */
void cairn_ages_add(struct cairn_ages *ages, const struct cairn_ages_clock *clock, double age_seconds, double amount);
void cairn_ages_add_freed(struct cairn_ages *ages, const struct cairn_freed *freed);

/* Notes the longest ordinary lifetime of a path. Call it once all samples are added, before the path is judged or summed up. */
void cairn_ages_finish(struct cairn_ages *ages, const struct cairn_ages_clock *clock);
void cairn_ages_sum(struct cairn_ages *to, const struct cairn_ages *more);

/* The longest ordinary lifetime, in seconds: the largest mean of the time still left to objects at some age, if at least LEAST were freed
 * after that age; 0 if too few were freed. */
double cairn_ages_longest(const struct cairn_ages *ages, const struct cairn_ages_clock *clock, double least);

/* Whether a path is known by ages: not if few objects came, as of a buffer that grows, nor if nobody knows how long any object lives. */
bool cairn_ages_tell(const struct cairn_ages *ages, const struct cairn_ages_clock *clock);

/* Judges a path. COMPARISONS is the number of paths judged together. `since` is in hours before now, negative; 0 if it was always so. */
void cairn_ages_judge(struct cairn_trend *trend, const struct cairn_ages *ages, const struct cairn_ages_clock *clock, size_t comparisons);

#endif
