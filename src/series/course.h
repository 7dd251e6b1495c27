/* course.h - what a call path may have done over time, and the evidence of the dumps for each possibility.
 *
 * The *noise* of a path has two sources. Objects that live shorter than the time between two dumps are sampled anew in each, which scatters
 * every point independently. Objects that live longer keep their samples, so deviations remain in later dumps and fade as the objects die;
 * a path may also really wander, and never return. Which of these a path has is unknown, so several models are tried: populations whose
 * deviations fade fast or slowly (first-order autoregressive), and walks, with scatter (the local level model of state-space statistics)
 * and alone. Under each model, a filter turns the dumps into independent innovations, and removes the unknown level of each run of the
 * service.
 *
 * The *course* is what happened on top: nothing, a line, a line that began or stopped somewhere, a step, filling up towards a level, or two
 * of these. Every course is one or two vectors; once these are filtered the same way and made orthogonal, its fit is a dot product with the
 * filtered dumps.
 *
 * The *evidence* for a course under a noise model is the likelihood of the dumps, with the level, the size of the noise and the height of
 * the course integrated out (flat, Jeffreys' and Zellner's g prior). It needs no thresholds: a course with more parameters pays for them.
 * The vectors depend only on the times of the dumps, so they are made once for all call paths.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_COURSE_H
#define CAIRN_SERIES_COURSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CAIRN_NOISES = 8, CAIRN_COURSE_POINTS = 64, CAIRN_COURSES_MAX = 160, CAIRN_FACTORS = 256 };

/* From this many points on, courses that began to move somewhere on the way are looked for: half of it is the fewest that give a useful
 * rate. */
enum { CAIRN_COURSE_SEARCHED = 12 };

enum cairn_course_kind {
	CAIRN_COURSE_FLAT,
	CAIRN_COURSE_LINE,
	CAIRN_COURSE_BEGAN,   /* flat, then a line */
	CAIRN_COURSE_BENT,    /* two lines */
	CAIRN_COURSE_WARMED,  /* filled up at first, plus a line */
	CAIRN_COURSE_LIFTED,  /* a step, plus a line */
	CAIRN_COURSE_STOPPED, /* a line, then flat */
	CAIRN_COURSE_STEP,
	CAIRN_COURSE_FILLING, /* more and more slowly, towards a level */
	CAIRN_COURSE_SLOW,    /* the same, but too slowly to be told from a line */
	CAIRN_COURSE_KINDS,
};

struct cairn_course {
	enum cairn_course_kind kind;
	size_t at;     /* the point where it begins, stops or steps */
	double hours;  /* the time constant of filling */
	double prior;  /* logarithm of the prior probability */
	size_t vector; /* index of its first vector; the height of the last one shows what is going on now */
	size_t vectors;
};

/* All courses for the times of one series. */
struct cairn_courses {
	size_t count; /* points */
	double hours[CAIRN_COURSE_POINTS];
	uint32_t run[CAIRN_COURSE_POINTS];
	size_t runs;
	size_t white; /* number of innovations, one for each point; each run has one degree of freedom less, for its level */
	struct cairn_course items[CAIRN_COURSES_MAX];
	size_t item_count, vector_count;
	size_t positions; /* number of positions at which a change was looked for */
	struct cairn_course_noise {
		double fades;    /* the part of a deviation that is left after one interval */
		double walks;    /* variance of a walk from dump to dump, as a multiple of the scatter's */
		double prior;    /* logarithm of the prior probability */
		bool wanders;    /* nothing pulls it back */
		double log_determinant;
		double *vectors; /* orthonormal within each course, `white` numbers each */
		double *heights; /* for each vector, what one unit of its coefficient stands for; 0 if it adds nothing */
		double gain[CAIRN_COURSE_POINTS], deviation[CAIRN_COURSE_POINTS], constant[CAIRN_COURSE_POINTS];
	} noises[CAIRN_NOISES];
	double factors[2][2][CAIRN_FACTORS + 1]; /* Bayes factors by the logarithm of the share that a course leaves */
	double *memory;
};

/* The evidence of one path's dumps for each course under each noise model. */
struct cairn_evidence {
	double innovations[CAIRN_NOISES][CAIRN_COURSE_POINTS];
	double square[CAIRN_NOISES];  /* the sum of their squares, plus prior knowledge of the noise */
	double freedom[CAIRN_NOISES]; /* degrees of freedom, including those of prior knowledge */
	bool guessed; /* the noise of the population was about as large as its samples suggest */
	double weight[CAIRN_NOISES][CAIRN_COURSES_MAX]; /* logarithm of the evidence, including the prior; -INFINITY if the course does not
							 * apply */
	double rate[CAIRN_NOISES][CAIRN_COURSES_MAX];   /* coefficient of the last vector */
	double sigmas[CAIRN_NOISES][CAIRN_COURSES_MAX]; /* the same as a multiple of its error: Student's t */
	double first[CAIRN_NOISES][CAIRN_COURSES_MAX];  /* coefficient of the first vector, alone */
};

/* Makes the courses for COUNT points, at most CAIRN_COURSE_POINTS, in order of time. */
void cairn_courses_make(struct cairn_courses *courses, const double *hours, const uint32_t *run, size_t count);
void cairn_courses_free(struct cairn_courses *courses);

/* Whether so few points from AT on show the level after a step there that it may be the beginning of growth. */
bool cairn_course_is_recent(const struct cairn_courses *courses, size_t at);

/* The amount that one sample of a path stands for, and whether that is known: objects of several sizes may come and go in larger pieces. */
struct cairn_unit_size {
	double amount;
	bool known;
	bool resized;      /* its objects change their size, and do not come or go */
	bool all_seen;     /* its objects are so large that sampling misses hardly any: what it holds is no estimate */
	bool counted;      /* the dumps record how many samples came and went */
	double came, went; /* over the whole time */
	double excess;     /* the variance of the noise of this service's paths, as a multiple of what their samples suggest; at most 1 if
			    * they are not noisier */
};

/* The variance of the noise of a path with VALUES, as a multiple of what its samples suggest; NAN if the path does not show it. Other paths
 * of a service are likely to be as noisy. */
double cairn_courses_excess(const struct cairn_courses *courses, const double *values, struct cairn_unit_size unit);

/* Calculates the evidence for VALUES, one for each point. */
void cairn_courses_weigh(const struct cairn_courses *courses, const double *values, struct cairn_unit_size unit,
			 struct cairn_evidence *evidence);

/* Writes the `white` innovations of COURSE's residual under NOISE to OUT. */
void cairn_course_residue(const struct cairn_courses *courses, const struct cairn_evidence *evidence, size_t noise, size_t course,
			  double *out);

#endif
