/* onset_test.c - sampling that began late: what only comes into view is not called growing, and what grows is.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/onset.h"

#include "simulate.h"
#include "tap.h"

enum { dumps = 16 };
static const double period = 524288, megabyte = 1e6, before = 800e6;
static const int64_t minute_ns = 60000000000, start_ns = 1000000000000;

/* A service in which two paths rise in a line, by SLOW and FAST bytes a minute; the memory of the process grows by REAL, and is not known
 * with KNOWS false. Sampling began with the first dump, and again with the dump RESET, unless that is 0. */
struct service {
	double slow, fast, real;
	bool knows, from_start;
	int reset, dumps;
	double before;
};

static double held(double per_minute, int minutes)
{
	double bytes = round(per_minute * (double)minutes / period) * period;
	return fmax(0, bytes);
}

static void add_dump(struct cairn_series *series, const struct service *service, int i)
{
	struct cairn_profile profile;
	struct cairn_error error;
	bool anew = service->reset && i >= service->reset;
	int minutes = anew ? i - service->reset : i;
	sim_start_profile(&profile, period);
	for (size_t p = 0; p < 2; p++) {
		double bytes = held(p ? service->fast : service->slow, minutes), values[] = {bytes / 4096, bytes};
		uint32_t function = cairn_profile_add_function(
			&profile, &(struct cairn_function){.name = cairn_profile_text(&profile, p ? "fast" : "slow")});
		uint32_t location = cairn_profile_add_location(&profile, 0x1000 * (p + 1), CAIRN_NONE, false);
		cairn_profile_set_frames(&profile, location, &(struct cairn_frame){.function = function}, 1);
		*cairn_profile_stack_room(&profile, 1) = location;
		if (bytes > 0)
			cairn_profile_add_sample(&profile, 1, 0, values);
	}
	profile.facts.process_id = 7;
	profile.facts.start_ns = start_ns;
	profile.facts.time_ns = start_ns + (100 + i) * minute_ns;
	profile.facts.since_ns = service->from_start ? start_ns : start_ns + (100 + (anew ? service->reset : 0)) * minute_ns;
	profile.facts.before_bytes = service->before;
	profile.facts.anonymous_bytes = service->knows ? before + service->real * i : 0;
	cairn_series_add(series, &profile, "made up", &error);
	cairn_profile_free(&profile);
}

/* "slow growing, fast too early": the verdicts on the two paths. */
static const char *judge(struct service service)
{
	static char text[128];
	const char *verdicts[2] = {"", ""};
	struct cairn_series series;
	struct cairn_view view;
	struct cairn_leaks leaks;
	struct cairn_error error;
	size_t duplicates;
	cairn_series_start(&series);
	for (int i = 0; i < (service.dumps ? service.dumps : dumps); i++)
		add_dump(&series, &service, i);
	cairn_series_finish(&series, &duplicates);
	cairn_view_make(&view, &series.profile, &(struct cairn_view_options){0}, &error);
	cairn_leaks_rank(&leaks, &series, &view);
	for (size_t i = 0; i < leaks.count; i++)
		verdicts[cairn_leak_name(&leaks, &view, &leaks.rows[i], 0).data[0] == 'f'] =
			cairn_verdict_name(leaks.rows[i].trend.verdict);
	snprintf(text, sizeof text, "slow %s, fast %s", verdicts[0], verdicts[1]);
	ok((leaks.growing > 0) == (leaks.forecast_per_hour > 0), "there is a forecast where something grows");
	cairn_leaks_free(&leaks);
	cairn_view_free(&view);
	cairn_series_free(&series);
	return text;
}

static void test_verdicts(void)
{
	const double slow = 10 * megabyte, fast = 60 * megabyte;
	is_text(judge((struct service){.slow = slow, .fast = fast, .knows = true, .from_start = true}), "slow growing, fast growing",
		"sampled from the start, samples are enough");
	is_text(judge((struct service){.slow = slow, .fast = fast, .knows = true, .before = before}), "slow too early, fast too early",
		"a process of constant size does not grow");
	is_text(judge((struct service){.slow = slow, .fast = fast, .real = slow + fast, .knows = true, .before = before}),
		"slow growing, fast growing", "one that grows by as much as its samples does");
	is_text(judge((struct service){.slow = slow, .fast = fast, .real = fast, .knows = true, .before = before}),
		"slow too early, fast growing", "where the process grows less than its samples, the faster path must grow, not the slower");
	is_text(judge((struct service){.slow = slow, .fast = fast, .real = slow, .knows = true, .before = before}),
		"slow too early, fast too early", "where it grows much less, nobody knows which");
	is_text(judge((struct service){.slow = slow, .fast = fast}), "slow too early, fast too early",
		"nor where nothing is known of its memory");
	is_text(judge((struct service){.slow = slow, .fast = fast, .before = megabyte}), "slow growing, fast growing",
		"unless it had hardly any when sampling began");
}

static void test_reset(void)
{
	const double slow = 10 * megabyte, fast = 60 * megabyte;
	struct service service = {.slow = slow, .fast = fast, .knows = true, .reset = 16, .dumps = 32};
	is_text(judge(service), "slow too early, fast too early", "what comes back after a reset does not grow");
	service.reset = 8;
	service.real = slow + fast;
	is_text(judge(service), "slow growing, fast growing", "what goes beyond, and the process with it, does");
}

int main(void)
{
	test_verdicts();
	test_reset();
	return tap_done();
}
