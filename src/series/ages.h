/* ages.h - what one dump says of the future: the ages of what survives, and the lifetimes of what was freed.
 *
 * Cairn's own engine notes when each sampled object was born, and how long each that was freed had lived. That is what people who study
 * survival call censored data: of the freed we know how long they lived, of the others that they have lived so long *already*. If births
 * come at any rate and objects die at random ages, the chance that an object is still there at age a is a curve S(a); a path grows if S
 * does not go down to zero, but levels off: some of what is born never dies. How much never dies is the share of a *leak*, and what the
 * path grows by is that share of what is born. None of this needs the rate of births to be steady: given the births, only ages count.
 *
 * Ordinary lifetimes follow no known law, so they are a mixture of exponential laws, each twice as long as the one before, the longest a
 * quarter of the time that was observed (a mixture of these covers every law whose tail gets no thinner, and is heavier than any
 * whose tail does). The test asks whether such a mixture explains what is there, or whether a share that never dies must be added to it:
 * the likelihood ratio of the two, whose law is that of a parameter on the edge of its range (half a chi-square). The chance of any false
 * alarm over all call paths together is held at one in a hundred, as in trend.h.
 *
 * Four things are no leak and look like one. What is born as a service starts and stays: births in the first tenth of the time count for
 * nothing. What is born at one moment and stays: of births in one sixty-fourth of the time, no more count than in others. What filled up
 * and rests: survivors must go on being born until now, but for pauses as there were before. And objects that live longer than the service
 * has been observed: a path is judged only where longer laws, of half the time to twice the time, explain it worse than a leak does, and
 * once the time is a multiple of the longest lifetimes of the path, or where few of its objects were freed, of the service. Until then it
 * is too early to tell.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_AGES_H
#define CAIRN_SERIES_AGES_H

#include "profile/live.h"
#include "series/trend.h"

/* Laws of lifetimes: the ordinary ones, the longest first; those too long to be told from a leak; and never. */
enum { CAIRN_AGE_SLOTS = 64, CAIRN_AGE_ORDINARY = 7, CAIRN_AGE_LONG = 3, CAIRN_AGE_LAWS = CAIRN_AGE_ORDINARY + CAIRN_AGE_LONG + 1 };

/* The survivors and the dead of one path; those of several add up. */
struct cairn_ages {
	uint32_t count[CAIRN_AGE_SLOTS]; /* live samples by age, the youngest first: each slot is a sixty-fourth of the time */
	double amount[CAIRN_AGE_SLOTS];  /* what they stand for */
	double square[CAIRN_AGE_SLOTS];  /* and the sum of the squares of what each stands for */
	double now;                      /* what all live samples stand for, also those too young to count */
	uint64_t freed[CAIRN_LIFETIMES]; /* samples by lifetime, as in struct cairn_freed */
};

/* What is the same for all paths of one dump. */
struct cairn_ages_clock {
	double seconds;  /* that births and deaths were observed for; 0 where a dump says nothing of ages */
	double youngest; /* seconds: only what reached this age counts; a bound of the lifetimes' classes */
	int first;       /* the class of lifetimes that begins there */
	double longest;  /* the longest ordinary lifetime of the service, in seconds, as far as it shows; set by the caller */
	double survives[CAIRN_AGE_SLOTS][CAIRN_AGE_LAWS]; /* the chance to be that old under each law; the last never dies */
	double dies[CAIRN_LIFETIMES][CAIRN_AGE_LAWS];
};

void cairn_ages_clock_make(struct cairn_ages_clock *clock, double seconds);

/* Adds a live sample that stands for AMOUNT. */
void cairn_ages_add(struct cairn_ages *ages, const struct cairn_ages_clock *clock, double age_seconds, double amount);
void cairn_ages_add_freed(struct cairn_ages *ages, const struct cairn_freed *freed);
void cairn_ages_sum(struct cairn_ages *to, const struct cairn_ages *more);

/* How long ordinary objects live at most: the longest mean of what remained to those that had reached some age, where at least LEAST
 * were freed after it; 0 where too few were freed. In seconds. */
double cairn_ages_longest(const struct cairn_ages *ages, const struct cairn_ages_clock *clock, double least);

/* Judges a path. COMPARISONS is how many are judged together. `since` is in hours before now, negative, or 0 where it always did so. */
void cairn_ages_judge(struct cairn_trend *trend, const struct cairn_ages *ages, const struct cairn_ages_clock *clock, size_t comparisons);

#endif
