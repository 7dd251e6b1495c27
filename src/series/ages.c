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
static const double least_multiple = 4, doubtful_multiple = CAIRN_SETTLED_LIVES, least_gain = 2, enough_multiple = 20;
/* What the longest lifetime of the service counts for a path of which hardly any object was freed. */
static const double others_share = 0.85;
/* The shortest window, and the part of the probability of a false alarm that the windows other than all the time have together. */
static const double window_seconds = 30, windows_share = 0.2;
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
/* Prior odds that births go on at the same rate, against a change before the last eighth of the time. */
static const double constant_odds = 4;
/* After a pause like earlier ones, this much doubt remains whether births go on. */
static const double pause_doubt = 0.005;
/* Births below this share of the earlier rate have stopped; below the other, they fade. */
static const double stopped_share = 0.2, fading_share = 0.5;
/* Below this probability of having stopped, it is too early to tell. */
static const double surely_ended = 0.95;
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
static double slot_age(const struct cairn_ages_window *window, int slot)
{
	double width = window->seconds / CAIRN_AGE_SLOTS;
	return 0.5 * (fmax(window->youngest, width * slot) + fmax(window->youngest, width * (slot + 1)));
}

/* The distributions of WINDOW if lives are to be expected as after SECONDS of observation, of which TIME are known. */
static void set_laws(struct cairn_ages_window *window, double seconds, double time)
{
	for (int law = 0; law < CAIRN_AGE_LAWS; law++) {
		bool never = law == law_never;
		double mean = ldexp(seconds * longest_law, law < CAIRN_AGE_ORDINARY ? -law : law - CAIRN_AGE_ORDINARY + 1);
		for (int slot = 0; slot < CAIRN_AGE_SLOTS; slot++)
			window->survives[slot][law] = never ? 1 : exp(-(slot_age(window, slot) - window->youngest) / mean);
		for (int lifetime = window->first; lifetime < CAIRN_LIFETIMES; lifetime++) {
			/* The last bucket has no upper bound, but nothing lived longer than the observed time. */
			double from = class_start(lifetime) - window->youngest;
			double to = fmin(lifetime < CAIRN_LIFETIMES - 1 ? class_start(lifetime + 1) : time, time);
			window->dies[lifetime][law] =
				never || to <= from + window->youngest ? 0 : exp(-from / mean) - exp(-(to - window->youngest) / mean);
		}
	}
}

void cairn_ages_clock_make(struct cairn_ages_clock *clock, double seconds)
{
	*clock = (struct cairn_ages_clock){.seconds = seconds};
	if (!(seconds > 0) || isinf(seconds) || ilogb(seconds * 1e9 / CAIRN_AGE_SLOTS) <= first_power) {
		clock->seconds = 0;
		return;
	}
	for (int i = 0; i < CAIRN_AGE_WINDOWS; i++) {
		struct cairn_ages_window *window = &clock->windows[i];
		window->seconds = ldexp(seconds, -i);
		window->first = ilogb(window->seconds * 1e9 * youngest_most) - first_power;
		window->first = window->first < 0 ? 0 : window->first > CAIRN_LIFETIMES - 1 ? CAIRN_LIFETIMES - 1 : window->first;
		window->youngest = class_start(window->first);
	}
	set_laws(&clock->windows[0], seconds, seconds);
	clock->window_count = 1;
}

/* What is born late may live as long as anything in the service, which has been observed for longer than the window. */
void cairn_ages_clock_settle(struct cairn_ages_clock *clock, double longest)
{
	clock->longest = longest;
	clock->window_count = clock->seconds > 0;
	for (size_t i = 1; i < CAIRN_AGE_WINDOWS && longest > 0; i++) {
		struct cairn_ages_window *window = &clock->windows[i];
		if (window->seconds < fmax(window_seconds, longest))
			break;
		set_laws(window, fmin(clock->seconds, fmax(window->seconds, doubtful_multiple * longest)), clock->seconds);
		clock->window_count++;
	}
}

/* The cell of an age: a slot of the shortest window that reaches so far back. */
static int cell_of(const struct cairn_ages_clock *clock, double age_seconds)
{
	double share = fmax(0, fmin(age_seconds / clock->seconds, 1 - 0x1p-50));
	int window = share > 0 ? -ilogb(share) - 1 : CAIRN_AGE_WINDOWS;
	if (window >= CAIRN_AGE_WINDOWS - 1)
		return (int)ldexp(share * CAIRN_AGE_SLOTS, CAIRN_AGE_WINDOWS - 1);
	return CAIRN_AGE_CELLS - window * CAIRN_AGE_SLOTS / 2 - CAIRN_AGE_SLOTS + (int)ldexp(share * CAIRN_AGE_SLOTS, window);
}

/* How old the objects in CELL are at least, in seconds. */
static double cell_start(const struct cairn_ages_clock *clock, int cell)
{
	int window = cell < CAIRN_AGE_SLOTS ? CAIRN_AGE_WINDOWS - 1 : (CAIRN_AGE_CELLS - 1 - cell) / (CAIRN_AGE_SLOTS / 2);
	int slot = cell < CAIRN_AGE_SLOTS ? cell : cell - (CAIRN_AGE_CELLS - window * CAIRN_AGE_SLOTS / 2 - CAIRN_AGE_SLOTS);
	return ldexp(clock->seconds, -window) * slot / CAIRN_AGE_SLOTS;
}

void cairn_ages_add(struct cairn_ages *ages, const struct cairn_ages_clock *clock, double age_seconds, double amount)
{
	ages->now += amount;
	if (!(clock->seconds > 0) || !(age_seconds >= 0))
		return;
	int cell = cell_of(clock, age_seconds);
	ages->count[cell]++;
	ages->amount[cell] += amount;
	ages->square[cell] += amount * amount;
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
	for (int cell = 0; cell < CAIRN_AGE_CELLS; cell++) {
		to->count[cell] += more->count[cell];
		to->amount[cell] += more->amount[cell];
		to->square[cell] += more->square[cell];
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

/* One path being judged, its survivors by the slots of a window, and as they are counted. */
struct path {
	const struct cairn_ages *ages;
	const struct cairn_ages_clock *clock;
	const struct cairn_ages_window *window;
	uint32_t count[CAIRN_AGE_SLOTS];
	double amount[CAIRN_AGE_SLOTS], square[CAIRN_AGE_SLOTS];
	double counted[judged_slots];
};

/* Sorts the survivors that count into the slots of the window. */
static void look_through(struct path *path, const struct cairn_ages_window *window)
{
	path->window = window;
	for (int slot = 0; slot < CAIRN_AGE_SLOTS; slot++)
		path->count[slot] = 0, path->amount[slot] = path->square[slot] = 0;
	for (int cell = 0; cell < CAIRN_AGE_CELLS; cell++) {
		double start = cell_start(path->clock, cell);
		int slot = (int)(start / window->seconds * CAIRN_AGE_SLOTS);
		if (start < window->youngest || slot >= CAIRN_AGE_SLOTS)
			continue;
		path->count[slot] += path->ages->count[cell];
		path->amount[slot] += path->ages->amount[cell];
		path->square[slot] += path->ages->square[cell];
	}
}

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
	memcpy(sorted, path->count + slots_old, sizeof sorted);
	qsort(sorted, slots, sizeof *sorted, by_count);
	double most = fmax(1, 2.0 * sorted[slots / 2]);
	for (int slot = 0; slot < judged_slots; slot++)
		path->counted[slot] = slot < slots_old ? path->count[slot] : fmin(most, path->count[slot]);
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
		mixture->chances[mixture->cells++] = path->window->survives[slot];
	}
	for (int lifetime = path->window->first; lifetime < CAIRN_LIFETIMES; lifetime++) {
		mixture->count[mixture->cells] = (double)path->ages->freed[lifetime];
		mixture->chances[mixture->cells++] = path->window->dies[lifetime];
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
	int slot = (int)(path->window->youngest / path->window->seconds * CAIRN_AGE_SLOTS) + 1; /* the first whole one that counts */
	for (; slot < judged_slots; slot++) {
		double ordinary = 0;
		for (int law = 0; law < law_never; law++)
			ordinary += weights[law] * path->window->survives[slot][law];
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
	int places = judged_slots - shortest - (first + shortest > slots_old ? first + shortest : slots_old);
	for (int slot = first; slot < judged_slots - shortest; slot++) {
		double width_recent = slot - first;
		if (width_recent >= shortest && slot >= slots_old) {
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
	double sum = 0, squares = 0, scatter = 0, slots = end - first, hours = slots * path->window->seconds / CAIRN_AGE_SLOTS / 3600;
	if (!(slots > 0))
		return;
	for (int slot = first; slot < end; slot++) {
		sum += path->amount[slot];
		squares += path->square[slot];
	}
	for (int slot = first; slot < end && slots > 1; slot++)
		scatter += (path->amount[slot] - sum / slots) * (path->amount[slot] - sum / slots) * slots / (slots - 1);
	trend->per_hour = sum / hours;
	trend->error = sqrt(fmax(squares, scatter)) / hours * cairn_law_student_quantile(0.025, fmax(2, slots - 1)) / sigmas_95;
}

/* How sure a rest can be: growth too small to show in a dump is not ruled out. */
static double surest_rest(const struct path *path)
{
	static const double unseen_events = 3;
	double old = 0, count = 0, most = 0;
	for (int slot = 0; slot < CAIRN_AGE_SLOTS; slot++) {
		count += path->count[slot];
		most += path->amount[slot];
		old += slot >= slots_old && slot < judged_slots ? path->amount[slot] : 0;
	}
	double unit = count > 0 ? most / count : path->ages->now;
	return 1 - fmin(1, path->ages->now > 0 ? (old + unseen_events * unit) / path->ages->now : 1) / rest_odds;
}

static void judge_leaked(struct cairn_trend *trend, const struct path *path, int first, double chance)
{
	double slot_hours = path->window->seconds / CAIRN_AGE_SLOTS / 3600;
	struct change change = find_change(path, first);
	bool changed = change.slot < judged_slots, always = path->window == path->clock->windows;
	trend->verdict = CAIRN_GROWING;
	set_rate(trend, path, first, change.slot);
	trend->confidence = (1 - chance) * (1 - change.ended);
	trend->since = changed ? -change.slot * slot_hours : always ? 0 : -CAIRN_AGE_SLOTS * slot_hours;
	if (!changed || change.recent >= fading_share * change.earlier)
		return;
	if (change.recent < stopped_share * change.earlier) {
		trend->verdict = change.ended < surely_ended ? CAIRN_TOO_EARLY : CAIRN_STOPPED;
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
	if (freed_of(ages) < freed_enough)
		ages->longest = fmax(ages->longest, others_share * clock->longest);
}

/* Whether nobody knows how long the objects of PATH live: hardly any were freed, neither of it nor of the others. */
static bool is_unknown(const struct path *path)
{
	return freed_of(path->ages) < freed_enough && !(path->clock->longest > 0) && !path->clock->endless;
}

bool cairn_ages_tell(const struct cairn_ages *ages, const struct cairn_ages_clock *clock)
{
	double all = freed_of(ages);
	for (int cell = 0; cell < CAIRN_AGE_CELLS; cell++)
		all += ages->count[cell];
	return all >= freed_enough && !is_unknown(&(struct path){.ages = ages, .clock = clock});
}

/* How long the service must be observed before PATH can be judged; 0 if that is unknown. */
static double seconds_needed(const struct path *path)
{
	return is_unknown(path) ? 0 : least_multiple * path->ages->longest;
}

/* Whether PATH allocated in the last quarter of the time, and nothing of it was ever freed: nobody knows whether it rests. */
static bool is_untold(const struct path *path)
{
	uint32_t recent = 0;
	for (int cell = 0; cell < CAIRN_AGE_CELLS - CAIRN_AGE_SLOTS; cell++)
		recent += path->ages->count[cell];
	return recent > 0 && freed_of(path->ages) == 0;
}

/* Judges what was born in a window. EARLY is whether lives may be longer than was observed; DOUBTFUL, whether some lives may. */
static void judge_window(struct cairn_trend *trend, struct path *path, const struct cairn_ages_window *window, double family,
			 bool early, bool doubtful)
{
	struct fit fit = {0};
	look_through(path, window);
	count_survivors(path);
	double needed = seconds_needed(path), seconds = path->clock->seconds, events = count_events(path, slots_old, judged_slots);
	if (events >= events_suspicious && !early)
		fit = fit_laws(path);
	*trend = (struct cairn_trend){.verdict = CAIRN_TOO_EARLY, .chance = fmin(1, family * cairn_law_normal_above(fit.sigmas))};
	if (events < events_suspicious || (!early && fit.sigmas < suspicious)) {
		trend->verdict = is_untold(path) ? CAIRN_TOO_EARLY : CAIRN_STEADY;
		trend->confidence = surest_rest(path) * fmin(1, seconds / fmax(1e-9, needed));
		return;
	}
	bool long_lives = fit.gain_long >= least_gain;
	early |= (doubtful || long_lives) && fit.gain_never < least_gain;
	int first = early ? slots_old : first_leaked(path, fit.weights);
	if (!early && trend->chance < false_alarm && count_events(path, first, judged_slots) >= events_least) {
		judge_leaked(trend, path, first, trend->chance);
		return;
	}
	double sigmas = cairn_law_student_quantile(fmax(1e-12, false_alarm / family), 1e6) / fmax(fit.sigmas, 1);
	double enough = early ? needed * enough_multiple / least_multiple : seconds * sigmas * sigmas;
	if (early && long_lives) /* what lives long does so for twice the longest ordinary distribution at least */
		enough = fmax(enough, enough_multiple * 2 * longest_law * seconds);
	set_rate(trend, path, first < judged_slots ? first : slots_old, judged_slots);
	trend->more_hours = is_unknown(path) ? 0 : (fmax(enough, 1.1 * seconds) - seconds) / 3600;
	trend->confidence = 1 - cairn_law_normal_above(fit.sigmas);
}

void cairn_ages_judge(struct cairn_trend *trend, const struct cairn_ages *ages, const struct cairn_ages_clock *clock, size_t comparisons)
{
	double family = fmax(1, (double)comparisons);
	struct path path = {.ages = ages, .clock = clock};
	*trend = (struct cairn_trend){.verdict = CAIRN_TOO_EARLY, .chance = 1};
	if (!(clock->seconds > 0))
		return;
	double needed = seconds_needed(&path), settled = needed * doubtful_multiple / least_multiple;
	bool doubtful = clock->seconds < settled;
	bool early = clock->seconds < needed || is_unknown(&path);
	early |= (doubtful || clock->endless) && clock->seconds < CAIRN_SETTLED_SECONDS;
	bool windows = clock->window_count > 1;
	judge_window(trend, &path, &clock->windows[0], windows ? family / (1 - windows_share) : family, early, doubtful);
	if (trend->verdict == CAIRN_GROWING || early)
		return;
	for (size_t i = 1; i < clock->window_count; i++) {
		struct cairn_trend recent;
		judge_window(&recent, &path, &clock->windows[i], family * (double)(clock->window_count - 1) / windows_share, false, doubtful);
		if (recent.verdict == CAIRN_GROWING && (trend->verdict != CAIRN_GROWING || recent.chance < trend->chance))
			*trend = recent;
	}
}
