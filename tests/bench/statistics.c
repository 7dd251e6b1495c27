/* statistics.c - how often verdicts, rates, intervals and forecasts are right: simulated services, fresh seeds at each run.
 *
 *	statistics [SEEDS [SEED [NAME]]]
 *
 * NAME is a part of a scenario's name; SEED may be - for a fresh one. With STATISTICS_SHOW in the environment, false alarms are shown.
 * SPDX-License-Identifier: Apache-2.0 */
#include "scenario.h"

#include "series/leaks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { verdict_count = CAIRN_TOO_EARLY + 1 };
/* The test is passed below a chance of 1 %; the curve shows what other levels would find, and raise. */
static const double levels[] = {1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1};
enum { level_count = sizeof levels / sizeof *levels, usual_level = 3 };
static int seeds = 100;
static uint64_t first_seed;
static const char *only;
static struct scenario_truth truth;

/* What is counted of one scenario. */
struct tally {
	int series, two, alarms, false_paths, found, growing, verdicts[verdict_count], rate_right, rates, sinces, since_right, levels,
		covered;
	double rate_sum, forecast_sum;
	int rate_covered, forecasts, forecast_covered, dates;
	int said99[verdict_count], wrong99[verdict_count];
	int found_at[level_count], alarms_at[level_count]; /* the points of the curve */
};

static bool verdict_wrong(enum cairn_verdict verdict, const struct scenario_path *path)
{
	switch (verdict) {
	case CAIRN_GROWING:
		return !path->grows;
	case CAIRN_TOO_EARLY:
		return false;
	default:
		return path->grows;
	}
}

/* A path that the scenario is about. */
static void count_special(struct tally *tally, const struct cairn_leak *leak, const struct scenario_path *path, size_t dumps)
{
	const struct cairn_trend *trend = &leak->trend;
	tally->verdicts[trend->verdict]++;
	tally->growing += trend->verdict == CAIRN_GROWING;
	if (trend->verdict == CAIRN_GROWING && path->grows) {
		tally->rates++;
		tally->rate_covered += fabs(trend->per_hour - path->per_hour) < 1.96 * trend->error;
		tally->rate_right += fabs(trend->per_hour - path->per_hour) < path->per_hour / 4;
		tally->rate_sum += trend->per_hour / path->per_hour;
		if (path->since >= 0) {
			tally->sinces++;
			tally->since_right += fabs(trend->since * SCENARIO_DUMPS_PER_HOUR - path->since) <= 0.125 * (double)dumps;
		}
	}
	if (trend->verdict == CAIRN_FILLING && path->level > 0) {
		tally->levels++;
		tally->covered += trend->level_low <= path->level && path->level <= trend->level_high;
	}
}

static void count_rows(struct tally *tally, const struct cairn_leaks *leaks, const struct cairn_view *view, size_t dumps)
{
	int alarms = 0, growing = 0;
	bool found = false, holds = truth.special > 0 && truth.paths[0].grows;
	for (size_t r = 0; r < leaks->count; r++) {
		const struct cairn_leak *leak = &leaks->rows[r];
		struct cairn_bytes name = cairn_leak_name(leaks, view, leak, 0);
		enum cairn_verdict verdict = leak->trend.verdict;
		if (leak->above > 0) { /* a frame that sums several up; one that holds what leaks grows, too */
			bool real = truth.spread && strcmp(name.data, "parent1") == 0;
			found |= real && verdict == CAIRN_GROWING;
			alarms += !real && !holds && verdict == CAIRN_GROWING;
			continue;
		}
		size_t number = (size_t)atoi(name.data + 1);
		const struct scenario_path *path = &truth.paths[number];
		if (leak->trend.confidence >= 0.99) {
			tally->said99[verdict]++;
			tally->wrong99[verdict] += verdict_wrong(verdict, path);
		}
		alarms += verdict == CAIRN_GROWING && !path->grows;
		if (number < truth.special && !truth.spread) {
			count_special(tally, leak, path, dumps);
			growing += verdict == CAIRN_GROWING;
			found |= verdict == CAIRN_GROWING && path->grows;
		}
	}
	tally->alarms += alarms > 0;
	tally->false_paths += alarms;
	tally->found += found;
	tally->two += growing == 2;
}

/* The same at other levels. Below the usual one, fewer of those that are growing pass; above it, also those for which only the test is
 * missing. */
static void count_levels(struct tally *tally, const struct cairn_leaks *leaks, const struct cairn_view *view)
{
	for (size_t l = 0; l < level_count; l++) {
		bool found = false, alarm = false;
		for (size_t r = 0; r < leaks->count; r++) {
			const struct cairn_leak *leak = &leaks->rows[r];
			const struct cairn_trend *trend = &leak->trend;
			bool rests = trend->verdict == CAIRN_TOO_EARLY || trend->verdict == CAIRN_STEADY || trend->verdict == CAIRN_WANDERING;
			bool more = rests && trend->rises && trend->chance >= levels[usual_level];
			if ((trend->verdict != CAIRN_GROWING && !more) || trend->chance >= levels[l])
				continue;
			bool grows = leak->above == 0 ? truth.paths[atoi(cairn_leak_name(leaks, view, leak, 0).data + 1)].grows
						      : truth.per_hour > 0;
			found |= grows && leak->above == 0;
			alarm |= !grows;
		}
		tally->found_at[l] += found;
		tally->alarms_at[l] += alarm;
	}
}

/* For who looks into an alarm: what the paths held that are called growing and are not. */
static void show_alarms(const char *name, uint64_t seed, const struct cairn_leaks *leaks, const struct cairn_view *view, size_t dumps)
{
	struct cairn_series_value values[256];
	fprintf(stderr, "%s, seed %llu, %zu dumps, %zu paths\n", name, (unsigned long long)seed, dumps, leaks->path_count);
	for (size_t r = 0; r < leaks->count; r++) {
		const struct cairn_leak *leak = &leaks->rows[r];
		struct cairn_bytes leaf = cairn_leak_name(leaks, view, leak, 0);
		if (leak->trend.verdict != CAIRN_GROWING || leaf.data[0] == 'L' || dumps > 256)
			continue;
		fprintf(stderr, "%s x%zu chance %.2g sure %.3f %.3g/h since %.2g:", leaf.data, leak->members, leak->trend.chance,
			leak->trend.confidence, leak->trend.per_hour, leak->trend.since * SCENARIO_DUMPS_PER_HOUR);
		cairn_leaks_values(leaks, leak, values);
		fprintf(stderr, " (one sample %.3g)", cairn_series_unit(values, dumps).amount);
		for (size_t i = 0; i < dumps; i++)
			fprintf(stderr, " %.3g", values[i].value);
		fprintf(stderr, "\n");
	}
}

static void count_series(const struct scenario *scenario, struct tally *tally, uint64_t seed)
{
	struct cairn_series series;
	struct cairn_view view;
	struct cairn_leaks leaks;
	struct cairn_error error;
	scenario->make(scenario->number, seed, &series, &truth);
	cairn_view_make(&view, &series.profile, &(struct cairn_view_options){0}, &error);
	cairn_leaks_rank(&leaks, &series, &view);
	tally->series++;
	int alarms = tally->alarms;
	count_rows(tally, &leaks, &view, series.point_count);
	count_levels(tally, &leaks, &view);
	if (tally->alarms > alarms && getenv("STATISTICS_SHOW"))
		show_alarms(scenario->name, seed, &leaks, &view, series.point_count);
	if (leaks.forecast_per_hour > 0) {
		tally->dates++;
		if (truth.per_hour > 0) {
			tally->forecasts++;
			tally->forecast_sum += leaks.forecast_per_hour / truth.per_hour;
			tally->forecast_covered += fabs(leaks.forecast_per_hour - truth.per_hour) < 1.96 * leaks.forecast_error;
		}
	}
	cairn_leaks_free(&leaks);
	cairn_view_free(&view);
	cairn_series_free(&series);
}

/* What WANTED is about: its first word. */
static double measured(const char *wanted, const struct tally *t)
{
	double n = t->series;
	switch (wanted[0] == 'f' ? wanted[1] : wanted[0]) {
	case 'a': /* alarms: series with any */
		return 100 * t->alarms / n;
	case 'o': /* found */
		return 100 * t->found / n;
	case 'g': /* growing */
		return 100 * t->growing / n;
	case 'i': /* filling */
		return 100 * t->verdicts[CAIRN_FILLING] / n;
	case 's': /* shrinking or sawtooth */
		return 100 * t->verdicts[wanted[1] == 'h' ? CAIRN_SHRINKING : CAIRN_SAWTOOTH] / n;
	case 't': /* both of two leaks */
		return 100 * t->two / n;
	case 'r': /* rate on average, of those found */
		return t->rates ? 100 * t->rate_sum / t->rates : 0;
	default: /* false paths in a hundred series */
		return 100 * t->false_paths / n;
	}
}

/* Whether every part of WANTED is met, "found >= 87 %, alarms <= 1 %". */
static bool meets(const char *wanted, const struct tally *t)
{
	char word[16], sign[3];
	double bound, value = measured(wanted, t);
	const char *next = strchr(wanted, ',');
	if (sscanf(wanted, "%15s %2s %lf", word, sign, &bound) != 3 || !(sign[0] == '<' ? value <= bound : value >= bound))
		return false;
	return !next || meets(next + 2, t);
}

static void print_tally(const struct scenario *scenario, const struct tally *t)
{
	bool wants = strpbrk(scenario->wanted, "<>");
	printf("%-44s %-28s %6.1f  %-7s", scenario->name, scenario->wanted, measured(scenario->wanted, t),
	       !wants ? "" : meets(scenario->wanted, t) ? "met" : "NOT MET");
	if (scenario->wanted[0] != 'a')
		printf(" alarms %.1f %%;", measured("alarms", t));
	if (t->rates)
		printf(" rate within a quarter %.0f %%, on average %.2f, in its interval %.0f %%;", 100.0 * t->rate_right / t->rates,
		       t->rate_sum / t->rates, 100.0 * t->rate_covered / t->rates);
	if (t->sinces)
		printf(" since when right in %.0f %%;", 100.0 * t->since_right / t->sinces);
	if (t->forecasts)
		printf(" forecast on average %.2f, in its interval %.0f %%;", t->forecast_sum / t->forecasts,
		       100.0 * t->forecast_covered / t->forecasts);
	else
		printf(" dates %.1f %%;", 100.0 * t->dates / t->series);
	if (t->levels)
		printf(" level in its interval %.0f %%;", 100.0 * t->covered / t->levels);
	if (truth.special && scenario->wanted[0] != 'a')
		printf(" false paths a series %.3f;", (double)t->false_paths / t->series);
	for (int v = 0; v < verdict_count && truth.special && !truth.spread; v++)
		if (t->verdicts[v])
			printf(" %s %d", cairn_verdict_name((enum cairn_verdict)v), t->verdicts[v]);
	printf("\n");
	fflush(stdout);
}

/* Power against false alarms: a row for each kind with a leak, and those without any together. */
struct curve {
	char rows[2048];
	int kinds[2]; /* without a leak; queues apart */
	double sum[2][level_count], worst[2][level_count];
};

static void add_to_curve(struct curve *curve, const struct scenario *scenario, const struct tally *t)
{
	size_t end = strlen(curve->rows), queues = strstr(scenario->name, "queue") ? 1 : 0;
	if (scenario->wanted[0] == 'f') {
		end += (size_t)snprintf(curve->rows + end, sizeof curve->rows - end, "found, %-37s", scenario->name);
		for (size_t l = 0; l < level_count; l++)
			end += (size_t)snprintf(curve->rows + end, sizeof curve->rows - end, " %6.1f", 100.0 * t->found_at[l] / t->series);
		snprintf(curve->rows + end, sizeof curve->rows - end, "\n");
		return;
	}
	curve->kinds[queues]++;
	for (size_t l = 0; l < level_count; l++) {
		double alarms = 100.0 * t->alarms_at[l] / t->series;
		curve->sum[queues][l] += alarms;
		curve->worst[queues][l] = fmax(curve->worst[queues][l], alarms);
	}
}

static void print_curve(const struct curve *curve)
{
	static const char *const names[] = {"kinds without a leak", "queues"};
	printf("%-44s", "% of series, if the chance must be below");
	for (size_t l = 0; l < level_count; l++)
		printf(" %4.4g %%", 100 * levels[l]);
	printf("\n%s", curve->rows);
	for (size_t k = 0; k < 2; k++)
		for (int worst = 0; worst < 2 && curve->kinds[k] > 0; worst++) {
			printf("alarms, %d %s, %-*s", curve->kinds[k], names[k], (int)(32 - strlen(names[k])),
			       worst ? "the worst" : "on average");
			for (size_t l = 0; l < level_count; l++)
				printf(" %6.1f", worst ? curve->worst[k][l] : curve->sum[k][l] / curve->kinds[k]);
			printf("\n");
		}
}

static void run(const struct scenario *scenario, struct tally *all, struct curve *curve)
{
	struct tally tally = {0};
	if (only && !strstr(scenario->name, only))
		return;
	for (int s = 0; s < seeds; s++)
		count_series(scenario, &tally, first_seed + (uint64_t)s);
	print_tally(scenario, &tally);
	if (curve)
		add_to_curve(curve, scenario, &tally);
	for (int v = 0; v < verdict_count; v++) {
		all->said99[v] += tally.said99[v];
		all->wrong99[v] += tally.wrong99[v];
	}
}

int main(int argc, char **argv)
{
	struct scenario scenario;
	struct tally all = {0};
	static struct curve curve;
	seeds = argc > 1 ? atoi(argv[1]) : seeds;
	if (argc > 2 && strcmp(argv[2], "-") != 0)
		first_seed = strtoull(argv[2], NULL, 10);
	else if (getrandom(&first_seed, 4, 0) != 4)
		first_seed = (uint64_t)time(NULL);
	only = argc > 3 ? argv[3] : NULL;
	printf("seed %llu, %d series a scenario; a * marks kinds of our own; 40 other paths, period 512 KiB and 24 dumps where not said\n"
	       "%-44s %-28s %s\n", (unsigned long long)first_seed, seeds, "situation", "wanted", "measured");
	for (size_t i = 0; scenario_of_populations(i, &scenario); i++)
		run(&scenario, &all, NULL);
	for (size_t i = 0; scenario_of_objects(i, &scenario); i++)
		run(&scenario, &all, NULL);
	for (size_t i = 0; scenario_of_weak_leaks(i, &scenario); i++)
		run(&scenario, &all, &curve);
	print_curve(&curve);
	printf("verdicts said with 99 %% and more, and how many of them were wrong (wanted: at most 1 %% of each):");
	for (int v = 0; v < verdict_count; v++)
		if (all.said99[v])
			printf(" %s %d of %d;", cairn_verdict_name((enum cairn_verdict)v), all.wrong99[v], all.said99[v]);
	printf("\n");
	return 0;
}
