/* store_source.c - from options or a source's name to the processes of a store, and to one profile of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/store_source.h"

#include "base/array.h"
#include "base/text.h"
#include "base/time.h"
#include "base/url.h"
#include "http/request.h"
#include "live/store_series.h"
#include "process/clock.h"
#include "profile/combine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_time(const char *text, const char *option, int64_t now, int64_t *time_ns, struct cairn_error *error)
{
	int64_t span;
	struct cairn_bytes rest = cairn_bytes_of(text);
	if (text[0] == '-' && cairn_text_duration(text + 1, &span) && span >= 0 && span < now)
		*time_ns = now - span;
	else if (!cairn_text_seconds(rest, time_ns) && !cairn_text_date(text, time_ns))
		return cairn_fail_usage(error, "--%s takes a time such as -6h, 2026-11-18T19:00 or seconds since 1970, not '%.60s'", option,
					text);
	return true;
}

/* The question that OPTIONS ask, which it borrows from. */
static bool make_question(const struct cairn_fleet_options *options, int64_t back_ns, struct cairn_question *question,
			  struct cairn_error *error)
{
	int64_t now = cairn_clock_wall_ns();
	*question = (struct cairn_question){
		.tenant = options->tenant,
		.service = options->service,
		.version = options->version,
		.instance = options->instance,
		.labels = options->labels.items,
		.label_count = options->labels.count,
		.last_only = options->last_only,
		.counted = options->last_only,
		.from_ns = back_ns ? now - back_ns : 0,
	};
	for (size_t i = 0; i < options->labels.count; i++)
		if (!strchr(options->labels.items[i], '='))
			return cairn_fail_usage(error, "--label takes KEY=VALUE, not '%.100s'", options->labels.items[i]);
	return (!options->from || read_time(options->from, "from", now, &question->from_ns, error)) &&
	       (!options->to || read_time(options->to, "to", now, &question->to_ns, error));
}

static bool is_empty(struct cairn_store *store, const char *tenant)
{
	struct cairn_store_processes all;
	bool empty = cairn_store_ask(store, &(struct cairn_question){.tenant = tenant, .last_only = true}, &all, NULL) && all.count == 0;
	cairn_store_processes_free(&all);
	return empty;
}

/* Nothing was found: says what there is. */
static bool fail_empty(struct cairn_store *store, const struct cairn_question *question, struct cairn_error *error)
{
	struct cairn_store_processes all;
	struct cairn_question wider = *question;
	char span[24];
	wider.from_ns = wider.to_ns = 0;
	wider.last_only = true;
	bool good = cairn_store_ask(store, &wider, &all, error);
	int64_t newest = 0;
	for (size_t i = 0; good && i < all.count; i++) {
		int64_t last = cairn_store_last(&all.items[i])->time_ns;
		newest = last > newest ? last : newest;
	}
	if (good && newest)
		cairn_fail(error, "no snapshot in that time; the newest is %s old (--from -TIME reaches further back)",
			   cairn_text_span(cairn_clock_wall_ns() - newest, span));
	else if (good && is_empty(store, question->tenant))
		cairn_fail(error, "%s", question->tenant ? "the store has no snapshot of this tenant"
							 : "the store is empty; 'cairn collect' or 'cairn watch --push' fills it "
							   "(--tenant NAME shows the snapshots of a tenant)");
	else if (good)
		cairn_fail(error, "no process in the store matches; 'cairn fleet services --store STORE' lists its services");
	cairn_store_processes_free(&all);
	return false;
}

/* Asks QUESTION; with SPARSE, only about whole snapshots if processes have a dozen of them on average. */
static bool ask(struct cairn_store *store, const struct cairn_question *question, bool sparse, struct cairn_store_processes *processes,
		struct cairn_error *error)
{
	enum { enough = 12 };
	struct cairn_question whole = *question;
	size_t points = 0;
	whole.whole = true;
	if (!sparse)
		return cairn_store_ask(store, question, processes, error);
	if (!cairn_store_ask(store, &whole, processes, error))
		return false;
	for (size_t i = 0; i < processes->count; i++)
		points += processes->items[i].point_count;
	if (points >= enough * processes->count && processes->count > 0)
		return true;
	cairn_store_processes_free(processes);
	return cairn_store_ask(store, question, processes, error);
}

struct cairn_store *cairn_fleet_ask(const struct cairn_fleet_options *options, int64_t back_ns, struct cairn_store_processes *processes,
				    struct cairn_error *error)
{
	struct cairn_question question;
	struct cairn_arena arena = {0};
	const char *name = cairn_store_name(options->store, &arena, error);
	*processes = (struct cairn_store_processes){0};
	struct cairn_store *store = name && make_question(options, back_ns, &question, error) ? cairn_store_open(name, error) : NULL;
	cairn_arena_free(&arena);
	if (store && cairn_store_check(store, error) && ask(store, &question, options->sparse, processes, error) &&
	    (processes->count > 0 || fail_empty(store, &question, error)))
		return store;
	cairn_store_processes_free(processes);
	cairn_store_close(store);
	return NULL;
}

static void name_part(struct cairn_buffer *out, const char *key, const char *value)
{
	if (!value)
		return;
	cairn_buffer_format(out, "&%s=", key);
	cairn_url_name(out, value);
}

void cairn_fleet_source_name(const struct cairn_fleet_options *options, struct cairn_buffer *out)
{
	cairn_buffer_format(out, "%s?", options->store);
	name_part(out, "tenant", options->tenant);
	name_part(out, "service", options->service);
	name_part(out, "version", options->version);
	name_part(out, "instance", options->instance);
	name_part(out, "from", options->from);
	name_part(out, "to", options->to);
	for (size_t i = 0; i < options->labels.count; i++)
		name_part(out, "label", options->labels.items[i]);
	if (options->per_instance)
		cairn_buffer_text(out, "&per=instance");
}

bool cairn_fleet_source_parse(const char *name, struct cairn_arena *arena, struct cairn_fleet_options *options, struct cairn_error *error)
{
	const char *mark = strrchr(name, '?');
	struct cairn_bytes rest = mark ? cairn_bytes_of(mark + 1) : (struct cairn_bytes){"", 0};
	const struct {
		const char *key;
		const char **value;
	} parts[] = {{"tenant", &options->tenant}, {"service", &options->service}, {"version", &options->version},
		     {"instance", &options->instance}, {"from", &options->from}, {"to", &options->to}};
	options->store = mark ? cairn_arena_text(arena, (struct cairn_bytes){name, (size_t)(mark - name)}) : name;
	while (rest.length > 0) {
		const char *ampersand = memchr(rest.data, '&', rest.length);
		struct cairn_bytes part = {rest.data, ampersand ? (size_t)(ampersand - rest.data) : rest.length};
		const char *equals = part.length ? memchr(part.data, '=', part.length) : NULL;
		char text[1024];
		bool known = part.length == 0;
		rest = cairn_bytes_skip(rest, ampersand ? part.length + 1 : part.length);
		if (equals)
			cairn_query_decode(cairn_bytes_skip(part, (size_t)(equals - part.data) + 1), true, text, sizeof text);
		struct cairn_bytes key = {part.data, equals ? (size_t)(equals - part.data) : part.length};
		for (size_t i = 0; equals && i < sizeof parts / sizeof *parts; i++)
			if (cairn_bytes_equal(key, cairn_bytes_of(parts[i].key))) {
				*parts[i].value = cairn_arena_text(arena, cairn_bytes_of(text));
				known = true;
			}
		if (equals && cairn_bytes_equal(key, cairn_bytes_of("label")) && options->labels.count < CAIRN_OPTION_LIST_MAX) {
			options->labels.items[options->labels.count++] = cairn_arena_text(arena, cairn_bytes_of(text));
			known = true;
		}
		if (equals && cairn_bytes_equal(key, cairn_bytes_of("per")))
			known = options->per_instance = strcmp(text, "instance") == 0;
		if (!known)
			return cairn_fail_usage(
				error,
				"a store takes tenant, service, version, instance, label, from, to and per=instance behind its ?, "
				"not '%.*s'",
				(int)part.length, part.data);
	}
	return true;
}

struct sum {
	struct cairn_combine combine;
	double factor;
};

static bool add_profile(void *context, const struct cairn_profile *profile, struct cairn_error *error)
{
	struct sum *sum = context;
	return cairn_combine_add(&sum->combine, profile, sum->factor, error);
}

bool cairn_fleet_source_read(struct cairn_profile *profile, const char *name, struct cairn_error *error)
{
	enum { points_most = 12 };
	struct cairn_arena arena = {0};
	struct cairn_fleet_options options = {0};
	struct cairn_store_processes processes = {0};
	struct sum sum;
	bool good = cairn_fleet_source_parse(name, &arena, &options, error);
	struct cairn_store *store = good ? cairn_fleet_ask(&options, CAIRN_HOUR_NS, &processes, error) : NULL;
	double *shares = cairn_array_new(processes.count, sizeof *shares);
	double instances = cairn_fleet_shares(&processes, shares);
	cairn_combine_start(&sum.combine, profile);
	good = store != NULL;
	for (size_t i = 0; good && i < processes.count; i++) {
		const struct cairn_store_process *process = &processes.items[i];
		size_t wanted[points_most], count = cairn_store_choose_points(process, points_most, wanted);
		sum.factor = shares[i] / (double)count / (options.per_instance ? instances : 1);
		good = cairn_store_profiles(store, process, wanted, count, add_profile, &sum, error);
	}
	cairn_combine_finish(&sum.combine);
	free(shares);
	if (good) {
		char text[200];
		snprintf(text, sizeof text, "%.100s, %s %zu process%s, averaged over time",
			 options.service ? options.service : "all services", options.per_instance ? "the mean of" : "the sum of",
			 processes.count, processes.count == 1 ? "" : "es");
		profile->facts.process = cairn_profile_text(profile, text);
		profile->facts.process_id = 0;
	}
	cairn_store_processes_free(&processes);
	cairn_store_close(store);
	cairn_arena_free(&arena);
	return good;
}
