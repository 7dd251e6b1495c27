/* course.h - what a call path may have done over time, and what the dumps say for each possibility.
 *
 * The *noise* of a path has two sources. Objects that live shorter than the time between two dumps are sampled anew in each of them: that
 * scatters every point for itself. Objects that live longer keep their samples, so what came and went stays in later dumps, and fades as
 * they die; a path may also really wander and never come back. Which of these a path has is not known, so a handful is tried: populations
 * whose deviations fade fast or slowly (first-order autoregressive), and walks, with scatter (the local level model of state-space
 * statistics) and alone. Under each a filter turns the dumps into independent innovations and takes the unknown level of each run of the
 * service out.
 *
 * The *course* is what happened on top: nothing, a line, a line that began or stopped somewhere, a step, a filling up towards a level, or
 * two of these. Every course is a vector or two; filtered the same way and made orthogonal, its fit is a dot product with the filtered
 * dumps.
 *
 * The *evidence* of a course under a noise is the likelihood of the dumps with level, size of the noise and height of the course
 * integrated out (flat, Jeffreys' and Zellner's g prior). It needs no thresholds: a course with more freedom pays for it. Vectors depend
 * on the times of the dumps only, so they are made once for all call paths.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_COURSE_H
#define CAIRN_SERIES_COURSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CAIRN_NOISES = 8, CAIRN_COURSE_POINTS = 64, CAIRN_COURSES_MAX = 160, CAIRN_FACTORS = 256 };

enum cairn_course_kind {
	CAIRN_COURSE_FLAT,
	CAIRN_COURSE_LINE,
	CAIRN_COURSE_BEGAN,   /* flat, then a line */
	CAIRN_COURSE_BENT,    /* two lines */
	CAIRN_COURSE_WARMED,  /* filled up first, and a line */
	CAIRN_COURSE_LIFTED,  /* a step, and a line */
	CAIRN_COURSE_STOPPED, /* a line, then flat */
	CAIRN_COURSE_STEP,
	CAIRN_COURSE_FILLING, /* ever more slowly, towards a level */
	CAIRN_COURSE_SLOW,    /* the same, so slowly that it may as well be a line */
	CAIRN_COURSE_KINDS,
};

struct cairn_course {
	enum cairn_course_kind kind;
	size_t at;     /* the point where it begins, stops or steps */
	double hours;  /* the time constant of what fills */
	double prior;  /* logarithm of its chance before any dump is seen */
	size_t vector; /* its first; the last of its vectors is the one whose height says what goes on now */
	size_t vectors;
};

/* All courses for the times of one series. */
struct cairn_courses {
	size_t count; /* points */
	double hours[CAIRN_COURSE_POINTS];
	uint32_t run[CAIRN_COURSE_POINTS];
	size_t runs;
	size_t white; /* innovations: one for each point; those of a run have one degree of freedom less, for its level */
	struct cairn_course items[CAIRN_COURSES_MAX];
	size_t item_count, vector_count;
	size_t positions; /* how many places a change was looked for */
	struct cairn_course_noise {
		double fades;    /* what is left of a deviation after one interval */
		double walks;    /* variance of a walk from dump to dump, as a multiple of the scatter's */
		double prior;    /* logarithm of its chance before any dump is seen */
		bool wanders;    /* nothing pulls it back */
		double log_determinant;
		double *vectors; /* orthonormal within each course, `white` numbers each */
		double *heights; /* per vector: what one unit of its coefficient stands for; 0 where it adds nothing */
		double gain[CAIRN_COURSE_POINTS], deviation[CAIRN_COURSE_POINTS], constant[CAIRN_COURSE_POINTS];
	} noises[CAIRN_NOISES];
	double factors[2][2][CAIRN_FACTORS + 1]; /* Bayes factors by the logarithm of what a course leaves */
	double *memory;
};

/* What the dumps of one path say for each course under each noise. */
struct cairn_evidence {
	double innovations[CAIRN_NOISES][CAIRN_COURSE_POINTS];
	double square[CAIRN_NOISES];  /* the sum of their squares, and of what was known of the noise before */
	double freedom[CAIRN_NOISES]; /* degrees of freedom, with those of what was known */
	bool guessed; /* the size of a population's noise was about what its samples say */
	double weight[CAIRN_NOISES][CAIRN_COURSES_MAX]; /* logarithm of the evidence, with the prior; -INFINITY where it does not apply */
	double rate[CAIRN_NOISES][CAIRN_COURSES_MAX];   /* coefficient of the last vector */
	double sigmas[CAIRN_NOISES][CAIRN_COURSES_MAX]; /* the same as a multiple of its error: Student's t */
	double first[CAIRN_NOISES][CAIRN_COURSES_MAX];  /* coefficient of the first vector, alone */
};

/* Makes the courses for COUNT points, at most CAIRN_COURSE_POINTS, in the order of time. */
void cairn_courses_make(struct cairn_courses *courses, const double *hours, const uint32_t *run, size_t count);
void cairn_courses_free(struct cairn_courses *courses);

/* What one sample of a path stands for, and whether that is known: objects of several sizes may come and go in larger pieces. */
struct cairn_unit_size {
	double amount;
	bool known;
	bool counted;      /* the dumps say how many samples */
	double came, went; /* in all the time */
};

/* Weighs them for VALUES, one for each point. */
void cairn_courses_weigh(const struct cairn_courses *courses, const double *values, struct cairn_unit_size unit,
			 struct cairn_evidence *evidence);

/* The innovations of COURSE's residue under NOISE, `white` of them, in OUT. */
void cairn_course_residue(const struct cairn_courses *courses, const struct cairn_evidence *evidence, size_t noise, size_t course,
			  double *out);

#endif
