/* chance.c - Student's test of the rate under each noise, and what protects it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/chance.h"

#include "series/law.h"

#include <math.h>

/* A quarter of the probability of a false alarm is for lines, the rest for everything that began somewhere, which is harder to see. */
static const double line_share = 4, searched_share = 4 / 3.0;
/* About one path in fifty wanders, so that many of those that are judged together are tested for it, and this one. */
static const double walking_share = 0.02;
/* How often the size of a walk happens to be that which samples alone would give a population. A line is seen so well that the test does
 * without this. */
static const double same_size = 0.2;
/* Blocks of dumps must agree if there are at least this many. */
enum { blocks_least = 8 };
/* If at least this part of the noise is left one interval later, successive steps may be correlated. */
static const double lasting = 0.95;
/* Below this many samples that came or went, the coin test is applied as well; above it, Student's test is as careful. */
static const double few_events = 60;

/* The noise model with the most evidence for COURSE, in *BEST. Returns that evidence. */
static double best_noise(const struct cairn_judged *path, size_t course, size_t *best)
{
	double most = -INFINITY;
	*best = 0;
	for (size_t n = 0; n < CAIRN_NOISES; n++)
		if (path->evidence->weight[n][course] > most) {
			most = path->evidence->weight[n][course];
			*best = n;
		}
	return most;
}

/* The probability of a rate like COURSE's under NOISE. If the noise is larger after the course begins than before, the larger one counts,
 * and the dumps before count half: they may have had another noise. */
static double chance_under(const struct cairn_judged *path, size_t noise, size_t course, double sign)
{
	const struct cairn_courses *courses = path->courses;
	const struct cairn_course *of = &courses->items[course];
	double freedom = path->evidence->freedom[noise] - (double)of->vectors, sigmas = sign * path->evidence->sigmas[noise][course];
	if (of->kind == CAIRN_COURSE_BEGAN || of->kind == CAIRN_COURSE_BENT) {
		double residue[CAIRN_COURSE_POINTS], behind = 0, all = 0, steps = 0;
		cairn_course_residue(courses, path->evidence, noise, course, residue);
		for (size_t w = 0; w < courses->white; w++) {
			all += residue[w] * residue[w];
			if (w > of->at) {
				behind += residue[w] * residue[w];
				steps++;
			}
		}
		double known = freedom + (double)of->vectors - (double)(courses->count - courses->runs),
		       least = path->evidence->square[noise];
		for (size_t w = 0; w < courses->white; w++)
			least -= path->evidence->innovations[noise][w] * path->evidence->innovations[noise][w];
		double own = (behind + least) / fmax(1, steps - 1 + known), whole = (all + least) / fmax(1, freedom);
		if (own > whole)
			sigmas *= sqrt(whole / own);
		freedom = fmin(freedom, steps - 1 + known + 0.5 * ((double)courses->count - steps));
	}
	return cairn_law_student_above(sigmas, freedom);
}

/* If successive steps may be correlated, fewer and longer steps (blocks) must also show the movement. FIRST is where the judged part
 * begins. */
static double chance_of_blocks(const struct cairn_judged *path, size_t first, double sign)
{
	const struct cairn_courses *courses = path->courses;
	size_t last = courses->count - 1, steps = last - first, length = steps / blocks_least;
	double worst = 0;
	if (courses->runs > 1)
		return 0;
	for (; length >= 2; length--) {
		size_t count = steps / length;
		double sum = 0, squares = 0, time = 0;
		for (size_t b = 0; b < count; b++) {
			size_t end = last - b * length;
			double hours = fmax(1e-9, courses->hours[end] - courses->hours[end - length]);
			double step = path->values[end] - path->values[end - length];
			sum += step;
			squares += step * step / hours;
			time += hours;
		}
		double rest = fmax(0, squares - sum * sum / time) + path->unit * path->unit * (double)count / time;
		double sigmas = sign * sum / sqrt(time * rest / (double)(count - 1));
		worst = fmax(worst, cairn_law_student_above(sigmas, (double)count - 1));
	}
	return worst;
}

/* If each sample came or went independently, the probability that so many more came. */
static double chance_of_events(const struct cairn_judged *path, size_t first, double sign)
{
	const struct cairn_courses *courses = path->courses;
	double up = 0, down = 0;
	for (size_t i = first + 1; i < courses->count; i++)
		if (courses->run[i] == courses->run[i - 1]) {
			double events = sign * (path->values[i] - path->values[i - 1]) / path->unit;
			up += fmax(0, events);
			down += fmax(0, -events);
		}
	return up + down < few_events ? cairn_law_coin_above(up + down, up) : 0;
}

/* Adds the probability of each noise model, if the path follows COURSE, to WEIGHTS, scaled by SHARE. */
static void weigh_noises(const struct cairn_judged *path, size_t course, double share, double *weights)
{
	size_t best;
	double most = best_noise(path, course, &best), sum = 0;
	for (size_t n = 0; n < CAIRN_NOISES; n++)
		sum += exp(path->evidence->weight[n][course] - most);
	for (size_t n = 0; n < CAIRN_NOISES; n++)
		weights[n] += share * exp(path->evidence->weight[n][course] - most) / sum;
}

/* The probability that noise alone makes one of COMPARISONS paths look like COURSE: that of the populations among the noise models, and
 * that of the walks, each averaged by evidence, whichever is larger. If the size of the noise could not be guessed, a slow noise may pass
 * for a course, and the remainder for a fast noise; so half of the weight of each noise model is its probability if the path did nothing. */
static double chance_of_noise(const struct cairn_judged *path, size_t course, double sign, double comparisons)
{
	double weights[CAIRN_NOISES] = {0}, chance[2] = {0}, weight[2] = {0};
	bool guessed = path->evidence->guessed, line = path->courses->items[course].kind == CAIRN_COURSE_LINE;
	weigh_noises(path, course, guessed ? 1 : 0.5, weights);
	if (!guessed)
		weigh_noises(path, CAIRN_COURSE_FLAT, 0.5, weights);
	for (size_t n = 0; n < CAIRN_NOISES; n++) {
		bool walks = path->courses->noises[n].wanders;
		weight[walks] += weights[n];
		chance[walks] += weights[n] > 1e-9 ? weights[n] * chance_under(path, n, course, sign) : 0;
	}
	double populations = weight[false] > 0 ? comparisons * chance[false] / weight[false] : 0;
	double walks = weight[true] > 0 ? fmax(1, walking_share * comparisons) * chance[true] / weight[true] : 0;
	return fmax(populations, guessed && !line ? same_size * walks : walks);
}

/* The same, with the checks on what the noise models assume. */
static double chance_of_course(const struct cairn_judged *path, size_t course, double sign, double comparisons)
{
	const struct cairn_course *of = &path->courses->items[course];
	size_t best, first = of->kind == CAIRN_COURSE_BEGAN || of->kind == CAIRN_COURSE_BENT ? of->at : 0;
	if (!(best_noise(path, course, &best) > -INFINITY))
		return 1;
	double chance = chance_of_noise(path, course, sign, comparisons);
	if (path->courses->noises[best].fades < lasting)
		return chance;
	if (of->kind != CAIRN_COURSE_WARMED && of->kind != CAIRN_COURSE_LIFTED)
		chance = fmax(chance, comparisons * chance_of_blocks(path, first, sign));
	if (path->unit > 0)
		chance = fmax(chance, comparisons * chance_of_events(path, first, sign));
	return chance;
}

/* The likeliest course, other than the line, that now moves in the direction of SIGN. */
static size_t best_searched(const struct cairn_judged *path, double sign)
{
	const struct cairn_courses *courses = path->courses;
	size_t best = 0;
	double most = -INFINITY;
	for (size_t s = 0; s < courses->item_count; s++) {
		enum cairn_course_kind kind = courses->items[s].kind;
		if (kind != CAIRN_COURSE_BEGAN && kind != CAIRN_COURSE_BENT && kind != CAIRN_COURSE_WARMED && kind != CAIRN_COURSE_LIFTED)
			continue;
		size_t noise;
		double weight = best_noise(path, s, &noise);
		if (weight > most && sign * path->evidence->rate[noise][s] > 0) {
			most = weight;
			best = s;
		}
	}
	return best;
}

double cairn_chance_moving(const struct cairn_judged *path, double sign, double comparisons)
{
	const struct cairn_courses *courses = path->courses;
	double line = chance_of_course(path, CAIRN_COURSE_LINE, sign, comparisons);
	if (courses->count < CAIRN_COURSE_SEARCHED || courses->positions == 0)
		return fmin(1, line);
	size_t searched = best_searched(path, sign);
	double other = searched ? chance_of_course(path, searched, sign, comparisons) : 1;
	return fmin(1, fmin(line * line_share, other * (double)courses->positions * searched_share));
}
