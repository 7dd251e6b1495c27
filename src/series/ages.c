/* ages.c - decides whether a share of a path's objects never dies.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/ages.h"

#include "series/law.h"
#include "series/mixture.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The probability that any path at all is called growing although none grows. */
static const double false_alarm = 0.01;
/* The mean of the longest ordinary lifetime distribution, as a share of the observed time; each of the others has half the mean of the one
 * before. */
static const double longest_law = 0.25;
/* Objects count from an age between half of this share of the observed time, and this share. A mixture of exponential distributions cannot
 * describe lifetimes that have a shortest value; what is left of such objects later, it can. */
static const double youngest_most = 1.0 / 16;
/* This many of the oldest slots are the start of the service. */
enum { start_slots = 6, judged_slots = CAIRN_AGE_SLOTS - start_slots };
/* A path is judged once the observed time is LEAST_MULTIPLE times its longest ordinary lifetime. It is in doubt up to DOUBTFUL_MULTIPLE
 * times, and if distributions too long to be told from a leak make the log-likelihood rise by LEAST_GAIN (two standard deviations). Then
 * a leak has to make it rise by as much in addition to them. The time that is reported as enough is ENOUGH_MULTIPLE times. */
static const double least_multiple = 4, doubtful_multiple = 10, least_gain = 2, enough_multiple = 20;
/* Below this many standard deviations, a survivor or two means nothing. */
static const double suspicious = 2.3;
/* How many objects must have been freed for a path to show its own longest lifetime, and to need no other path's; if very many were freed,
 * this share of them. A sum takes the longest of its paths: in a sum, many short lives would hide a few long ones. */
static const double freed_own = 5, freed_enough = 20, freed_share = 0.01;
/* Survivors in fewer slots than this do not show a course. */
enum { events_least = 5, events_suspicious = 3 };
/* Survivors older than this share of the time are examined before anything is fitted. */
enum { slots_old = CAIRN_AGE_SLOTS / 8 };
/* Slots count as leaked once ordinary survivors are at most this many for each leaked one. */
static const double ordinary_share = 0.25;
/* Prior odds that births go on at the same rate, against a change. */
static const double constant_odds = 4;
/* After a pause like earlier ones, this much doubt remains whether births go on. */
static const double pause_doubt = 0.1;
/* Births below this share of the earlier rate have stopped; below the other, they fade. */
static const double stopped_share = 0.2, fading_share = 0.5;
/* Prior odds that a path rests, against moving. */
static const double rest_odds = 10;
enum { law_never = CAIRN_AGE_LAWS - 1 };
/* The first lifetime bucket is below 2^14 ns; bucket N begins at 2^(first_power + N) ns. */
enum { first_power = 13 };

static double class_start(int number)
{
	return ldexp(1e-9, first_power + number);
}

/* The middle of the ages in a slot that count. */
static double slot_age(const struct cairn_ages_clock *clock, int slot)
{
	double width = clock->seconds / CAIRN_AGE_SLOTS;
	return 0.5 * (fmax(clock->youngest, width * slot) + fmax(clock->youngest, width * (slot + 1)));
}

void cairn_ages_clock_make(struct cairn_ages_clock *clock, double seconds)
{
	*clock = (struct cairn_ages_clock){.seconds = seconds};
	if (!(seconds > 0) || isinf(seconds) || ilogb(seconds * 1e9 / CAIRN_AGE_SLOTS) <= first_power) {
		clock->seconds = 0;
		return;
	}
	clock->first = ilogb(seconds * 1e9 * youngest_most) - first_power;
	if (clock->first > CAIRN_LIFETIMES - 1)
		clock->first = CAIRN_LIFETIMES - 1;
	clock->youngest = class_start(clock->first);
	for (int law = 0; law < CAIRN_AGE_LAWS; law++) {
		bool never = law == law_never;
		double mean = ldexp(seconds * longest_law, law < CAIRN_AGE_ORDINARY ? -law : law - CAIRN_AGE_ORDINARY + 1);
		for (int slot = 0; slot < CAIRN_AGE_SLOTS; slot++)
			clock->survives[slot][law] = never ? 1 : exp(-(slot_age(clock, slot) - clock->youngest) / mean);
		for (int lifetime = clock->first; lifetime < CAIRN_LIFETIMES; lifetime++) {
			/* The last bucket has no upper bound, but nothing lived longer than the observed time. */
			double from = class_start(lifetime) - clock->youngest;
			double to = fmin(lifetime < CAIRN_LIFETIMES - 1 ? class_start(lifetime + 1) : seconds, seconds);
			clock->dies[lifetime][law] =
				never || to <= from + clock->youngest ? 0 : exp(-from / mean) - exp(-(to - clock->youngest) / mean);
		}
	}
}

void cairn_ages_add(struct cairn_ages *ages, const struct cairn_ages_clock *clock, double age_seconds, double amount)
{
	ages->now += amount;
	if (!(clock->seconds > 0) || !(age_seconds >= clock->youngest))
		return;
	double slot = fmin(age_seconds / clock->seconds * CAIRN_AGE_SLOTS, CAIRN_AGE_SLOTS - 1);
	ages->count[(int)slot]++;
	ages->amount[(int)slot] += amount;
	ages->square[(int)slot] += amount * amount;
}

void cairn_ages_add_freed(struct cairn_ages *ages, const struct cairn_freed *freed)
{
	for (int lifetime = 0; lifetime < CAIRN_LIFETIMES; lifetime++)
		ages->freed[lifetime] += freed->lifetimes[lifetime];
}

void cairn_ages_sum(struct cairn_ages *to, const struct cairn_ages *more)
{
	to->now += more->now;
	to->longest = fmax(to->longest, more->longest);
	for (int slot = 0; slot < CAIRN_AGE_SLOTS; slot++) {
		to->count[slot] += more->count[slot];
		to->amount[slot] += more->amount[slot];
		to->square[slot] += more->square[slot];
	}
	for (int lifetime = 0; lifetime < CAIRN_LIFETIMES; lifetime++)
		to->freed[lifetime] += more->freed[lifetime];
}

double cairn_ages_longest(const struct cairn_ages *ages, const struct cairn_ages_clock *clock, double least)
{
	double count = 0, sum = 0, longest = 0;
	for (int lifetime = CAIRN_LIFETIMES - 1; lifetime >= 0; lifetime--) {
		double from = lifetime ? class_start(lifetime) : 0;
		double to = lifetime < CAIRN_LIFETIMES - 1 ? class_start(lifetime + 1) : 2 * class_start(lifetime);
		to = fmax(from, fmin(to, clock->seconds));
		/* Lifetimes are assumed to be evenly distributed on a logarithmic scale within a bucket. */
		double mean = from > 0 && to > from ? (to - from) / log(to / from) : (from + to) / 2;
		count += (double)ages->freed[lifetime];
		sum += (double)ages->freed[lifetime] * mean;
		if (count >= least)
			longest = fmax(longest, sum / count - from);
	}
	return longest;
}

/* One path being judged, and its survivors as they are counted. */
struct path {
	const struct cairn_ages *ages;
	const struct cairn_ages_clock *clock;
	double counted[judged_slots];
};

static int by_count(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	return left < right ? -1 : left > right;
}

/* Objects born at the same moment are one event, however many there are. */
static void count_survivors(struct path *path)
{
	enum { slots = judged_slots - slots_old };
	uint32_t sorted[slots];
	memcpy(sorted, path->ages->count + slots_old, sizeof sorted);
	qsort(sorted, slots, sizeof *sorted, by_count);
	double most = fmax(1, 2.0 * sorted[slots / 2]);
	for (int slot = 0; slot < judged_slots; slot++)
		path->counted[slot] = slot < slots_old ? path->ages->count[slot] : fmin(most, path->ages->count[slot]);
}

static double count_events(const struct path *path, int from, int to)
{
	double events = 0;
	for (int slot = from; slot < to; slot++)
		events += path->counted[slot] > 0;
	return events;
}

/* The cells of a path: its survivors by age, and its freed objects by lifetime. */
static void make_mixture(const struct path *path, struct cairn_mixture *mixture)
{
	static_assert(judged_slots + CAIRN_LIFETIMES <= CAIRN_MIXTURE_CELLS, "there is room for all cells");
	static_assert(CAIRN_AGE_LAWS - CAIRN_MIXTURE_LAWS <= 0, "and for all distributions");
	*mixture = (struct cairn_mixture){.laws = CAIRN_AGE_LAWS};
	for (int slot = 0; slot < judged_slots; slot++) {
		mixture->count[mixture->cells] = path->counted[slot];
		mixture->chances[mixture->cells++] = path->clock->survives[slot];
	}
	for (int lifetime = path->clock->first; lifetime < CAIRN_LIFETIMES; lifetime++) {
		mixture->count[mixture->cells] = (double)path->ages->freed[lifetime];
		mixture->chances[mixture->cells++] = path->clock->dies[lifetime];
	}
}

struct fit {
	double sigmas;                  /* how much better the fit is with a share that never dies, in standard deviations */
	double weights[CAIRN_AGE_LAWS]; /* including that share */
	/* Distributions too long to be told from a leak: how much the log-likelihood gains from them in addition to that share, and from
	 * that share in addition to them. 0 unless the fit is suspicious. */
	double gain_long, gain_never;
};

static struct fit fit_laws(const struct path *path)
{
	struct fit result = {0};
	struct cairn_mixture mixture;
	double ordinary[CAIRN_AGE_LAWS] = {0}, longer[CAIRN_AGE_LAWS] = {0}, every[CAIRN_AGE_LAWS];
	make_mixture(path, &mixture);
	for (int law = 0; law < CAIRN_AGE_ORDINARY; law++)
		ordinary[law] = 1.0 / CAIRN_AGE_ORDINARY;
	double without = cairn_mixture_fit(&mixture, ordinary);
	for (int law = 0; law < CAIRN_AGE_ORDINARY; law++)
		longer[law] = every[law] = result.weights[law] = 0.9 * ordinary[law] + 1e-3;
	for (int law = CAIRN_AGE_ORDINARY; law < law_never; law++)
		longer[law] = every[law] = 0.1 / CAIRN_AGE_LONG;
	result.weights[law_never] = every[law_never] = 0.1;
	double with = cairn_mixture_fit(&mixture, result.weights);
	result.sigmas = sqrt(fmax(0, 2 * (with - without)));
	if (result.sigmas < suspicious)
		return result;
	double both = cairn_mixture_fit(&mixture, every);
	result.gain_long = both - with;
	result.gain_never = both - cairn_mixture_fit(&mixture, longer);
	return result;
}

/* The first slot from which on nearly all survivors are leaked. */
static int first_leaked(const struct path *path, const double *weights)
{
	int slot = (int)(path->clock->youngest / path->clock->seconds * CAIRN_AGE_SLOTS) + 1; /* the first whole one that counts */
	for (; slot < judged_slots; slot++) {
		double ordinary = 0;
		for (int law = 0; law < law_never; law++)
			ordinary += weights[law] * path->clock->survives[slot][law];
		if (ordinary <= ordinary_share * weights[law_never])
			break;
	}
	return slot;
}

/* Whether births went on: where their rate last changed, and how likely a change is. */
struct change {
	int slot; /* recent births are in the slots below this one */
	double share;           /* probability that the rate changed at all */
	double ended;           /* probability that births all but ended */
	double recent, earlier; /* births per slot */
};

/* The log-probability, up to a constant, of COUNT births in WIDTH slots if their rate is unknown but about one in SCALE slots. */
static double births_evidence(double count, double width, double scale)
{
	int sign;
	return log(scale) + lgamma_r(count + 1, &sign) - (count + 1) * log(scale + width);
}

/* Whether there was an earlier pause like the one in slots FIRST to END, with hardly more births, after which births went on. */
static bool paused_before(const struct path *path, int first, int end)
{
	static const double hardly = 1.5;
	double recent = 0;
	for (int slot = first; slot < end; slot++)
		recent += path->counted[slot];
	for (int start = end + 1; start + (end - first) < judged_slots; start++) {
		double births = 0;
		for (int slot = start; slot < start + (end - first); slot++)
			births += path->counted[slot];
		if (births <= hardly * recent + 1)
			return true;
	}
	return false;
}

static struct change find_change(const struct path *path, int first)
{
	enum { shortest = 3 };
	double all = 0, width = judged_slots - first, best = -INFINITY, sum = 0, ended = 0, recent = 0;
	struct change change = {.slot = judged_slots};
	for (int slot = first; slot < judged_slots; slot++)
		all += path->counted[slot];
	double scale = width / fmax(1, all), constant = births_evidence(all, width, scale) + log(constant_odds);
	change.recent = change.earlier = all / fmax(1, width);
	int places = judged_slots - first - 2 * shortest;
	for (int slot = first; slot < judged_slots - shortest; slot++) {
		double width_recent = slot - first;
		if (width_recent >= shortest) {
			double evidence =
				births_evidence(recent, width_recent, scale) + births_evidence(all - recent, width - width_recent, scale);
			double weight = exp(evidence - constant) / fmax(1, places);
			bool ends = recent / width_recent < stopped_share * (all - recent) / (width - width_recent);
			sum += weight;
			ended += ends ? weight : 0;
			if (evidence > best) {
				best = evidence;
				change.slot = slot;
				change.recent = recent / width_recent;
				change.earlier = (all - recent) / (width - width_recent);
			}
		}
		recent += path->counted[slot];
	}
	change.share = sum / (1 + sum);
	change.ended = ended / (1 + sum);
	bool pause = change.recent < fading_share * change.earlier && change.slot < judged_slots && paused_before(path, first, change.slot);
	if (pause)
		change.share = change.ended = fmin(change.share, pause_doubt);
	if (change.share < 0.5) {
		change.slot = judged_slots;
		change.recent = change.earlier = all / fmax(1, width);
	}
	return change;
}

/* Sets the rate, per hour, of births that stayed, from the slots FIRST to END. */
static void set_rate(struct cairn_trend *trend, const struct path *path, int first, int end)
{
	static const double sigmas_95 = 1.959964;
	const struct cairn_ages *ages = path->ages;
	double sum = 0, squares = 0, scatter = 0, slots = end - first, hours = slots * path->clock->seconds / CAIRN_AGE_SLOTS / 3600;
	if (!(slots > 0))
		return;
	for (int slot = first; slot < end; slot++) {
		sum += ages->amount[slot];
		squares += ages->square[slot];
	}
	for (int slot = first; slot < end && slots > 1; slot++)
		scatter += (ages->amount[slot] - sum / slots) * (ages->amount[slot] - sum / slots) * slots / (slots - 1);
	trend->per_hour = sum / hours;
	trend->error = sqrt(fmax(squares, scatter)) / hours * cairn_law_student_quantile(0.025, fmax(2, slots - 1)) / sigmas_95;
}

/* How sure a rest can be: growth too small to show in a dump is not ruled out. */
static double surest_rest(const struct path *path)
{
	static const double unseen_events = 3;
	double old = 0, count = 0, most = 0;
	for (int slot = 0; slot < CAIRN_AGE_SLOTS; slot++) {
		count += path->ages->count[slot];
		most += path->ages->amount[slot];
		old += slot >= slots_old && slot < judged_slots ? path->ages->amount[slot] : 0;
	}
	double unit = count > 0 ? most / count : path->ages->now;
	return 1 - fmin(1, path->ages->now > 0 ? (old + unseen_events * unit) / path->ages->now : 1) / rest_odds;
}

static void judge_leaked(struct cairn_trend *trend, const struct path *path, int first, double chance)
{
	double slot_hours = path->clock->seconds / CAIRN_AGE_SLOTS / 3600;
	struct change change = find_change(path, first);
	bool changed = change.slot < judged_slots;
	trend->verdict = CAIRN_GROWING;
	set_rate(trend, path, first, change.slot);
	trend->confidence = (1 - chance) * (1 - change.ended);
	trend->since = changed ? -change.slot * slot_hours : 0;
	if (!changed || change.recent >= fading_share * change.earlier)
		return;
	if (change.recent < stopped_share * change.earlier) {
		trend->verdict = CAIRN_STOPPED;
		trend->per_hour = 0;
		trend->confidence = change.ended;
		return;
	}
	/* Births are assumed to fade exponentially: the amount still to come is the current rate times the time in which it falls to
	 * 1/e. */
	double apart = (judged_slots - first) / 2.0 * slot_hours, constant = apart / log(change.earlier / change.recent);
	double more = trend->per_hour * constant;
	trend->verdict = CAIRN_FILLING;
	trend->confidence = change.share - change.ended;
	trend->level = path->ages->now + more;
	trend->level_low = path->ages->now;
	trend->level_high = path->ages->now + 3 * more;
	trend->since = 0;
}

static double freed_of(const struct cairn_ages *ages)
{
	double freed = 0;
	for (int lifetime = 0; lifetime < CAIRN_LIFETIMES; lifetime++)
		freed += (double)ages->freed[lifetime];
	return freed;
}

void cairn_ages_finish(struct cairn_ages *ages, const struct cairn_ages_clock *clock)
{
	ages->longest = cairn_ages_longest(ages, clock, fmax(freed_own, freed_share * freed_of(ages)));
}

/* Whether nobody knows how long the objects of PATH live: hardly any were freed, neither of it nor of the others. */
static bool is_unknown(const struct path *path)
{
	return freed_of(path->ages) < freed_enough && !(path->clock->longest > 0);
}

/* How long the service must be observed before PATH can be judged; 0 if that is unknown. */
static double seconds_needed(const struct path *path, double multiple)
{
	const struct cairn_ages *ages = path->ages;
	if (is_unknown(path))
		return 0;
	return multiple * (freed_of(ages) < freed_enough ? fmax(ages->longest, path->clock->longest) : ages->longest);
}

void cairn_ages_judge(struct cairn_trend *trend, const struct cairn_ages *ages, const struct cairn_ages_clock *clock, size_t comparisons)
{
	double family = fmax(1, (double)comparisons);
	struct path path = {.ages = ages, .clock = clock};
	struct fit fit = {0};
	*trend = (struct cairn_trend){.verdict = CAIRN_TOO_EARLY, .chance = 1};
	if (!(clock->seconds > 0))
		return;
	count_survivors(&path);
	double needed = seconds_needed(&path, least_multiple), events = count_events(&path, slots_old, judged_slots);
	bool early = clock->seconds < needed || is_unknown(&path), doubtful = clock->seconds < needed * doubtful_multiple / least_multiple;
	if (events >= events_suspicious && !early)
		fit = fit_laws(&path);
	double chance = trend->chance = fmin(1, family * cairn_law_normal_above(fit.sigmas));
	if (events < events_suspicious || (!early && fit.sigmas < suspicious)) {
		trend->verdict = CAIRN_STEADY;
		trend->confidence = surest_rest(&path) * fmin(1, clock->seconds / fmax(1e-9, needed));
		return;
	}
	bool long_lives = fit.gain_long >= least_gain;
	early |= (doubtful || long_lives) && fit.gain_never < least_gain;
	int first = early ? slots_old : first_leaked(&path, fit.weights);
	if (!early && chance < false_alarm && count_events(&path, first, judged_slots) >= events_least) {
		judge_leaked(trend, &path, first, chance);
		return;
	}
	double sigmas = cairn_law_student_quantile(fmax(1e-12, false_alarm / family), 1e6) / fmax(fit.sigmas, 1);
	double seconds = early ? needed * enough_multiple / least_multiple : clock->seconds * sigmas * sigmas;
	if (early && long_lives) /* what lives long does so for twice the longest ordinary distribution at least */
		seconds = fmax(seconds, enough_multiple * 2 * longest_law * clock->seconds);
	set_rate(trend, &path, first < judged_slots ? first : slots_old, judged_slots);
	trend->more_hours = is_unknown(&path) ? 0 : (fmax(seconds, 1.1 * clock->seconds) - clock->seconds) / 3600;
	trend->confidence = 1 - cairn_law_normal_above(fit.sigmas);
}
