/* judge_test.c - what is announced of a process, and when its memory runs out.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/judge.h"

#include "series/words.h"
#include "simulate.h"
#include "tap.h"

#include <string.h>

enum { paths = 3, dumps = 16 };
static const double period = 524288, mib = 1 << 20, gib = 1 << 30;
static const int64_t minute_ns = 60000000000, start_ns = 1000000000000;
static const char *const names[paths] = {"cache_put", "remember", "forget"};

/* A service whose dumps are a minute apart. Each path rises by so much a minute; the rest is of the last dump. */
struct service {
	double rise[paths], own_rise, noise;
	double available, limit, group, mapped;
	bool of_group;
	int dumps;
	bool aged, last_only; /* the newest dump has ages: of the second path nothing is freed; only that dump is there */
};

struct judged {
	struct cairn_series series;
	struct cairn_view view;
	struct cairn_leaks leaks;
	struct cairn_judgement judgement;
};

enum { aged_each = 100, short_class = 10 };

/* Of each path, so many samples live that came evenly since the start; as many lived for milliseconds. */
static void add_ages(struct cairn_profile *profile, int minutes)
{
	profile->freed = calloc(paths, sizeof *profile->freed);
	profile->freed_count = paths;
	profile->aged = calloc(paths * aged_each, sizeof *profile->aged);
	profile->aged_count = profile->aged_capacity = paths * aged_each;
	for (uint32_t p = 0; p < paths; p++) {
		profile->freed[p] = (struct cairn_freed){.stack = p, .samples = aged_each, .lifetimes = {[short_class] = aged_each}};
		for (int i = 0; i < aged_each; i++) /* what does not leak has lived since the start */
			profile->aged[p * aged_each + (uint32_t)i] = (struct cairn_aged){
				.sample = p, .age_us = (uint64_t)(6e7 * minutes * (p == 1 ? (i + 0.5) / aged_each : 0.999)), .objects = 128,
				.bytes = period,
			};
	}
}

static void add_dump(struct cairn_series *series, const struct service *service, int i)
{
	struct cairn_profile profile;
	struct cairn_error error;
	sim_start_profile(&profile, period);
	for (size_t p = 0; p < paths; p++) {
		double bytes = round((40 * mib + service->rise[p] * i) / period) * period, values[] = {bytes / 4096, bytes};
		uint32_t function = cairn_profile_add_function(&profile, &(struct cairn_function){.name = cairn_profile_text(&profile, names[p])});
		uint32_t location = cairn_profile_add_location(&profile, 0x1000 * (p + 1), CAIRN_NONE, false);
		cairn_profile_set_frames(&profile, location, &(struct cairn_frame){.function = function}, 1);
		*cairn_profile_stack_room(&profile, 1) = location;
		cairn_profile_add_sample(&profile, 1, 0, values);
	}
	struct cairn_dump_facts *facts = &profile.facts;
	facts->process_id = 7;
	facts->start_ns = start_ns;
	facts->time_ns = start_ns + (1 + i) * minute_ns;
	facts->anonymous_bytes = facts->resident_bytes = 200 * mib + service->own_rise * i + service->noise * (i * 7 % 5);
	facts->available_bytes = service->available;
	facts->limit_bytes = service->limit;
	facts->limit_of_group = service->of_group;
	facts->group_bytes = service->group;
	facts->mapped_bytes = service->mapped;
	if (service->aged && i == (service->dumps ? service->dumps : dumps) - 1)
		add_ages(&profile, 1 + i);
	cairn_series_add(series, &profile, "made up", &error);
	cairn_profile_free(&profile);
}

static void open_judged(struct judged *judged, const struct service *service)
{
	struct cairn_error error;
	size_t duplicates;
	cairn_series_start(&judged->series);
	int count = service->dumps ? service->dumps : dumps;
	for (int i = service->last_only ? count - 1 : 0; i < count; i++)
		add_dump(&judged->series, service, i);
	cairn_series_finish(&judged->series, &duplicates);
	cairn_view_make(&judged->view, &judged->series.profile, &(struct cairn_view_options){0}, &error);
	cairn_leaks_rank(&judged->leaks, &judged->series, &judged->view);
}

static void close_judged(struct judged *judged)
{
	cairn_leaks_free(&judged->leaks);
	cairn_view_free(&judged->view);
	cairn_series_free(&judged->series);
}

static const char *say(const struct judged *judged, void (*words)(const struct cairn_judgement *, struct cairn_buffer *))
{
	static char text[400];
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	words(&judged->judgement, &out);
	snprintf(text, sizeof text, "%.*s", (int)out.length, out.length ? out.data : "");
	cairn_buffer_free(&out);
	return text;
}

static void sentence(const struct cairn_judgement *judgement, struct cairn_buffer *out)
{
	cairn_words_judgement(judgement, &(struct cairn_shape){0}, out);
}

/* What is said of SERVICE if the confidence of all that grows is SURE; 0 for what it is. */
static const char *verdict_on(struct service service, double sure)
{
	struct judged judged;
	open_judged(&judged, &service);
	for (size_t i = 0; i < judged.leaks.count && sure > 0; i++)
		judged.leaks.rows[i].trend.confidence = sure;
	cairn_judge(&judged.judgement, &judged.series, &judged.leaks, &judged.view, &(struct cairn_judge_context){0});
	const char *text = say(&judged, sentence);
	close_judged(&judged);
	return text;
}

static void test_sentences(void)
{
	is_text(verdict_on((struct service){0}, 0), "nothing keeps growing", "what rests is an all-clear");
	is_text(verdict_on((struct service){.rise = {[2] = 120 * mib}, .own_rise = 120 * mib}, 0),
		"forget keeps growing, by 2.0 MiB/s (more than 99.9 % sure)", "what grows is named, with its rate");
	is_text(verdict_on((struct service){.rise = {0, 60 * mib, 120 * mib}, .own_rise = 180 * mib}, 0),
		"forget and 1 other call path keep growing, by 3.0 MiB/s together (more than 99.9 % sure)", "with others, together");
	is_text(verdict_on((struct service){.rise = {[2] = 120 * mib}, .own_rise = 120 * mib}, 0.995),
		"forget keeps growing, by 2.0 MiB/s (99.5 % sure)", "99 %% is enough");
	is_text(verdict_on((struct service){.rise = {[2] = 120 * mib}, .own_rise = 120 * mib}, 0.98),
		"forget may keep growing, by 2.0 MiB/s (98 % sure)", "less is no alarm, and no all-clear");
	is_text(verdict_on((struct service){.own_rise = 60 * mib}, 0),
		"nothing keeps growing in the heap, but resident memory grows by 1.0 MiB/s: 'cairn why' finds the cause",
		"growth that is not the heap's is not passed over");
	is_text(verdict_on((struct service){.dumps = 2}, 0), "too early to tell", "two dumps are not enough for an all-clear");
}

static const char *forecast_of(struct service service, struct cairn_judge_context context)
{
	struct judged judged;
	open_judged(&judged, &service);
	cairn_judge(&judged.judgement, &judged.series, &judged.leaks, &judged.view, &context);
	struct cairn_judgement *judgement = &judged.judgement;
	static char text[100];
	if (judgement->hours_left < 0)
		snprintf(text, sizeof text, "none");
	else
		snprintf(text, sizeof text, "%s %.0f minutes", cairn_limit_name(judgement->limit.kind), 60 * judgement->hours_left);
	ok(judgement->hours_left < 0 || (judgement->soonest <= judgement->hours_left && judgement->latest >= judgement->hours_left &&
					 judgement->latest <= 2 * judgement->soonest), "its interval is narrow, or there is none");
	close_judged(&judged);
	return text;
}

static void test_forecast(void)
{
	/* A path grows by 60 MiB a minute, the process by twice that. It holds 2000 MiB in the last dump. */
	struct service service = {.rise = {[1] = 60 * mib}, .own_rise = 120 * mib, .available = 12000 * mib, .limit = 64 * gib};
	const struct cairn_judge_context plain = {0};
	is_text(forecast_of(service, plain), "available 100 minutes", "the process's growth counts, and what the machine has available");
	is_text(forecast_of(service, (struct cairn_judge_context){.others_per_hour = 60 * 120 * mib}), "available 50 minutes",
		"which others use as well");
	is_text(forecast_of(service, (struct cairn_judge_context){.limit = 3200 * mib}), "option 10 minutes", "or what the user says");
	is_text(forecast_of(service, (struct cairn_judge_context){.no_forecast = true}), "none", "nothing of a process that has ended");
	service.available = 0;
	service.limit = 14000 * mib;
	is_text(forecast_of(service, plain), "machine 100 minutes", "old dumps know the machine's memory only");
	service.of_group = true;
	is_text(forecast_of(service, plain), "cgroup 100 minutes", "a group's limit is for this process");
	service.group = 12800 * mib;
	is_text(forecast_of(service, plain), "cgroup 10 minutes", "and for all others in it");
	service.group = 20000 * mib;
	is_text(forecast_of(service, plain), "cgroup 0 minutes", "which may be over it");
	service.noise = 1500 * mib;
	service.group = 8000 * mib;
	is_text(forecast_of(service, plain), "cgroup 100 minutes", "if the process swings widely, all that grows counts");
	service = (struct service){.rise = {[1] = 60 * mib}, .available = 12000 * mib};
	is_text(forecast_of(service, plain), "none", "nor if it does not grow with its heap");
	service = (struct service){.own_rise = 120 * mib, .available = 12000 * mib};
	is_text(forecast_of(service, plain), "none", "without growth there is none");

	struct judged judged;
	service = (struct service){.rise = {[1] = 60 * mib}, .own_rise = 60 * mib, .available = 6000 * mib};
	open_judged(&judged, &service);
	cairn_judge(&judged.judgement, &judged.series, &judged.leaks, &judged.view, &plain);
	const char *text = say(&judged, cairn_words_forecast);
	ok(strstr(text, "at this rate the machine's available memory of 5.9 GiB is used up in 1.7 hours, at ") == text &&
	   strstr(text, " (95 %: 1.7 hours to 1.7 hours)"), "in words: %s", text);
	close_judged(&judged);
}

/* The mappings of a service that was sampled for SECONDS, all still there: COUNT of 1 MiB, of the ages that came evenly. */
static void open_mapped(struct judged *mapped, double seconds, int count)
{
	struct cairn_profile profile;
	struct cairn_error error;
	size_t duplicates;
	double values[] = {count, count * mib};
	sim_start_profile(&profile, 1);
	profile.shown = CAIRN_SHOWN_MAPPED;
	uint32_t function = cairn_profile_add_function(&profile, &(struct cairn_function){.name = cairn_profile_text(&profile, "map_ring")});
	uint32_t location = cairn_profile_add_location(&profile, 0x9000, CAIRN_NONE, false);
	cairn_profile_set_frames(&profile, location, &(struct cairn_frame){.function = function}, 1);
	*cairn_profile_stack_room(&profile, 1) = location;
	cairn_profile_add_sample(&profile, 1, 0, values);
	profile.freed = calloc(1, sizeof *profile.freed);
	profile.aged = calloc((size_t)count, sizeof *profile.aged);
	profile.aged_count = profile.aged_capacity = (size_t)count;
	for (int i = 0; i < count; i++)
		profile.aged[i] = (struct cairn_aged){.age_us = (uint64_t)(1e6 * seconds * (i + 0.5) / count), .objects = 1, .bytes = mib};
	profile.facts.start_ns = start_ns;
	profile.facts.time_ns = start_ns + (int64_t)(seconds * 1e9);
	cairn_series_start(&mapped->series);
	cairn_series_add(&mapped->series, &profile, "made up", &error);
	cairn_series_finish(&mapped->series, &duplicates);
	cairn_view_make(&mapped->view, &mapped->series.profile, &(struct cairn_view_options){0}, &error);
	cairn_leaks_rank(&mapped->leaks, &mapped->series, &mapped->view);
	cairn_profile_free(&profile);
}

static const char *mapped_verdict(struct service service, double seconds)
{
	struct judged judged, mapped;
	open_judged(&judged, &service);
	open_mapped(&mapped, seconds, 100);
	ok(cairn_judge_wants_mapped(&judged.series, &judged.leaks), "mappings are looked at");
	cairn_judge(&judged.judgement, &judged.series, &judged.leaks, &judged.view,
		    &(struct cairn_judge_context){.mapped = &mapped.leaks, .mapped_view = &mapped.view});
	const char *text = say(&judged, sentence);
	close_judged(&mapped);
	close_judged(&judged);
	return text;
}

static void test_mapped(void)
{
	struct service service = {.own_rise = 60 * mib, .mapped = 100 * mib};
	is_text(mapped_verdict(service, 100), "mapped memory: map_ring keeps growing, by 1.0 MiB/s (more than 99.9 % sure)",
		"mappings that stay, and with which the process grows");
	is_text(mapped_verdict((struct service){.mapped = 100 * mib}, 100), "nothing keeps growing", "not if it rests");
	is_text(mapped_verdict(service, 20), "too early to tell, but resident memory grows by 1.0 MiB/s: 'cairn why' finds the cause",
		"nor in the first seconds");
	service.dumps = 1;
	service.own_rise = 0;
	is_text(mapped_verdict(service, 100), "mapped memory: map_ring keeps growing, by 1.0 MiB/s (more than 99.9 % sure)",
		"of one dump, the growth since sampling began counts");
	struct judged judged;
	service = (struct service){.mapped = mib};
	open_judged(&judged, &service);
	ok(!cairn_judge_wants_mapped(&judged.series, &judged.leaks), "a few mappings are not worth a look");
	close_judged(&judged);
}

/* Where ages tell, many dumps lead to the same sentence as the newest alone. */
static void test_ages(void)
{
	char many[300];
	struct service service = {.rise = {0, 2 * mib, 0}, .own_rise = 2 * mib, .aged = true};
	snprintf(many, sizeof many, "%s", verdict_on(service, 0));
	service.last_only = true;
	is_text(many, verdict_on(service, 0), "sixteen dumps and the last of them say: %s", many);
	ok(strncmp(many, "remember keeps growing, by ", 27) == 0, "which is by ages");
}

int main(void)
{
	test_sentences();
	test_ages();
	test_forecast();
	test_mapped();
	return tap_done();
}
