/* store.c - the thread that follows a store.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/serve/store.h"

#include "base/array.h"
#include "base/note.h"
#include "base/time.h"
#include "fleet/leaks.h"
#include "process/clock.h"
#include "series/words.h"
#include "store/rows.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The most instances and the most services on the list. */
enum { instances_most = CAIRN_SERVE_PROCESSES * 3 / 4,
       services_most = CAIRN_SERVE_PROCESSES - instances_most,
       points_most = CAIRN_COURSE_POINTS,
       overview_points = 48 };
static const int64_t usual_back_ns = CAIRN_DAY_NS;
static const uint64_t usual_memory = 512 << 20; /* of all entries */

bool cairn_serve_store_open(struct cairn_serve_store *store, struct cairn_serve *serve, const char *name, struct cairn_error *error)
{
	*store = (struct cairn_serve_store){.serve = serve, .tenant = serve->options->tenant};
	store->store = cairn_store_open(name, error);
	if (store->store)
		cairn_store_cancel_when(store->store, &serve->stop);
	atomic_fetch_add(&serve->loading, 1);
	return store->store && cairn_store_check(store->store, error);
}

/* Never the same as the number of an instance. */
static uint64_t service_id(const char *name)
{
	return cairn_store_id(2, cairn_bytes_of(name));
}

/* Gives each entry its part of the memory. */
static void share_memory(const struct cairn_serve_store *store)
{
	uint64_t memory = store->serve->options->memory ? store->serve->options->memory : usual_memory;
	for (size_t i = 0; i < store->count; i++)
		cairn_serve_process_limit(store->listed[i].process, memory / store->count);
}

/* The entry of the list with ID, which is added if it is missing; NULL if there is no room. Its key begins with LABEL. */
static struct cairn_serve_listed *find_listed(struct cairn_serve_store *store, uint64_t id, bool service, const char *label)
{
	char key[CAIRN_SERVE_KEY], clean[48];
	size_t length = 0, others = 0;
	for (size_t i = 0; i < store->count; i++) {
		if (store->listed[i].id == id)
			return &store->listed[i];
		others += store->listed[i].service == service;
	}
	if (others >= (service ? services_most : instances_most))
		return NULL;
	for (const char *at = label; *at && length + 1 < sizeof clean; at++)
		clean[length++] = isalnum((unsigned char)*at) || strchr("._-", *at) ? *at : '_';
	clean[length] = 0;
	snprintf(key, sizeof key, "%s-%llx", clean, (unsigned long long)id);
	pthread_mutex_lock(&store->serve->lock);
	struct cairn_serve_process *process = cairn_serve_process_new(store->serve, key);
	if (process) {
		process->state = CAIRN_SERVE_FOLDER;
		process->usual_keep_ns = usual_back_ns;
		process->sum = service;
	}
	pthread_mutex_unlock(&store->serve->lock);
	if (!process)
		return NULL;
	cairn_array_room(store->listed, store->count, store->capacity);
	store->listed[store->count++] = (struct cairn_serve_listed){.process = process, .id = id, .service = service};
	share_memory(store);
	return &store->listed[store->count - 1];
}

/* Drops entries of which the store has nothing any more and, if there is no room for all of the first instances in SORTED, also instances
 * that are not among these. */
static void make_room(struct cairn_serve_store *store, const struct cairn_store_process *const *sorted, size_t count)
{
	struct cairn_map places = {0}; /* in SORTED; 0 for services */
	size_t listed = 0, lacking = 0, kept = 0;
	for (size_t i = 0; i < count; i++) {
		*cairn_map_at(&places, service_id(sorted[i]->service)) = 0;
		*cairn_map_at(&places, sorted[i]->instance) = (uint32_t)i;
	}
	for (size_t i = 0; i < store->count; i++) {
		uint32_t place = cairn_map_get(&places, store->listed[i].id);
		listed += !store->listed[i].service && place != CAIRN_NONE;
		lacking += !store->listed[i].service && place < instances_most;
	}
	lacking = (count < instances_most ? count : instances_most) - lacking;
	for (size_t i = 0; i < store->count; i++) {
		uint32_t place = cairn_map_get(&places, store->listed[i].id);
		if (place != CAIRN_NONE && (listed + lacking <= instances_most || place < instances_most)) {
			store->listed[kept++] = store->listed[i];
			continue;
		}
		pthread_mutex_lock(&store->serve->lock);
		cairn_serve_process_drop(store->listed[i].process, &store->dropped);
		pthread_mutex_unlock(&store->serve->lock);
	}
	bool fewer = kept < store->count;
	store->count = kept;
	if (fewer)
		share_memory(store);
	cairn_map_free(&places);
	cairn_serve_dropped_free(&store->dropped);
}

/* Sets what the list shows of an entry, in place of what its snapshots say. */
static void name_listed(struct cairn_serve_process *process, const char *program, const char *command, const char *host)
{
	pthread_mutex_lock(&process->serve->lock);
	snprintf(process->program, sizeof process->program, "%s", program);
	snprintf(process->command, sizeof process->command, "%s", command);
	snprintf(process->host, sizeof process->host, "%s", host);
	pthread_mutex_unlock(&process->serve->lock);
}

static bool add_snapshot(void *context, const struct cairn_profile *profile, struct cairn_error *error)
{
	(void)error;
	struct cairn_profile part = *profile; /* a shallow copy, since adding it sets its process_id */
	cairn_serve_process_add(context, &part, (struct cairn_bytes){"", 0}, false);
	return true;
}

/* Adds the new snapshots of PROCESS to its entry LISTED, or some of them if there are very many. */
static bool follow_instance(struct cairn_serve_store *store, struct cairn_serve_listed *listed, const struct cairn_store_process *process,
			    struct cairn_error *error)
{
	char program[256], command[256];
	size_t wanted[points_most], first = 0;
	while (first < process->point_count && process->points[first].time_ns <= listed->newest_ns)
		first++;
	size_t fresh = process->point_count - first, count = fresh < points_most ? fresh : points_most;
	if (fresh == 0)
		return true;
	for (size_t i = 0; i < count; i++)
		wanted[i] = first + (count > 1 ? i * (fresh - 1) / (count - 1) : fresh - 1);
	if (!cairn_store_profiles(store->store, process, wanted, count, add_snapshot, listed->process, error))
		return false;
	const struct cairn_store_point *last = cairn_store_last(process);
	listed->newest_ns = last->time_ns;
	snprintf(program, sizeof program, "%.60s %.60s", process->service, process->version);
	snprintf(command, sizeof command, "%.200s, release %.40s", process->program, process->version);
	name_listed(listed->process, program, command, process->host);
	cairn_serve_process_judge(listed->process);
	cairn_serve_process_state(listed->process, last->ended[0] ? CAIRN_SERVE_ENDED : CAIRN_SERVE_FOLDER, last->ended);
	return true;
}

static bool add_sum(void *context, struct cairn_profile *sum, const struct cairn_fleet_instant *instant, struct cairn_error *error)
{
	struct cairn_serve_listed *listed = context;
	(void)error;
	if (instant->time_ns <= listed->newest_ns)
		return true;
	listed->sets += listed->sets == 0 || !cairn_fleet_same_instances(&listed->counted, instant);
	listed->counted = *instant;
	sum->facts.process_id = listed->sets; /* the sum of other instances is not the same sum grown */
	cairn_serve_process_add(listed->process, sum, (struct cairn_bytes){"", 0}, false);
	listed->newest_ns = instant->time_ns;
	return true;
}

/* When the first of the instances reaches its limit; 0 for never. */
static int64_t first_limit(struct cairn_serve_store *store, const struct cairn_store_processes *service)
{
	int64_t first = 0;
	pthread_mutex_lock(&store->serve->lock);
	for (size_t i = 0; i < service->count; i++)
		for (size_t k = 0; k < store->count; k++) {
			const struct cairn_serve_process *process = store->listed[k].process;
			int64_t limit = process->state == CAIRN_SERVE_ENDED ? 0 : process->verdict.limit_ns;
			if (store->listed[k].id == service->items[i].instance && limit && (!first || limit < first))
				first = limit;
		}
	pthread_mutex_unlock(&store->serve->lock);
	return first;
}

/* Makes the verdict over all instances, which replaces the one on their sum. */
static bool judge_service(struct cairn_serve_store *store, const struct cairn_store_processes *service, struct cairn_serve_process *process,
			  struct cairn_error *error)
{
	struct cairn_fleet fleet = {0};
	struct cairn_buffer sentence = cairn_buffer(4096);
	struct cairn_verdict_summary verdict = {.kind = CAIRN_VERDICT_EARLY};
	bool good = cairn_fleet_judge_processes(store->store, service, &fleet, error);
	if (good && fleet.count > 0) {
		const struct cairn_fleet_row *row = &fleet.rows[0], *open;
		cairn_words_fleet(&fleet, &sentence);
		verdict.kind = cairn_verdict_kind(cairn_fleet_verdict(&fleet, &open));
		verdict.per_hour = row->verdict == CAIRN_GROWING ? row->per_hour * (double)row->growing : 0;
		verdict.limit_ns = first_limit(store, service);
	} else if (good) {
		cairn_buffer_format(&sentence, "%zu instance%s; a verdict takes three snapshots of one, with samples", service->count,
				    service->count == 1 ? "" : "s");
	}
	snprintf(verdict.sentence, sizeof verdict.sentence, "%.*s", (int)sentence.length, sentence.data ? sentence.data : "");
	if (good)
		cairn_serve_process_conclude(process, &verdict);
	cairn_buffer_free(&sentence);
	cairn_fleet_free(&fleet);
	return good;
}

static bool follow_service(struct cairn_serve_store *store, const struct cairn_store_processes *service, struct cairn_error *error)
{
	struct cairn_fleet_instant instants[CAIRN_FLEET_INSTANTS];
	const char *name = service->items[0].service;
	char command[256];
	struct cairn_serve_listed *listed = find_listed(store, service_id(name), true, name);
	size_t count = cairn_fleet_instants(service, instants);
	if (!listed || count == 0 || instants[count - 1].time_ns <= listed->newest_ns)
		return true;
	/* The first time, all instants are added, later only the newest. */
	if (listed->newest_ns) {
		instants[0] = instants[count - 1];
		count = 1;
	}
	if (!cairn_fleet_sums(store->store, service, instants, count, false, add_sum, listed, error))
		return false;
	snprintf(command, sizeof command, "the sum of %zu instances", service->count);
	name_listed(listed->process, name, command, "");
	pthread_mutex_lock(&store->serve->lock);
	listed->process->limit = listed->counted.limit;
	listed->process->limit_of_group = listed->counted.machines == 0;
	listed->process->machines = listed->counted.machines;
	pthread_mutex_unlock(&store->serve->lock);
	cairn_serve_process_judge(listed->process);
	return judge_service(store, service, listed->process, error);
}

static double fullness(const struct cairn_store_process *process)
{
	const struct cairn_store_point *last = cairn_store_last(process);
	return last->limit > 0 ? last->resident / last->limit : 0;
}

static int by_fullness(const void *a, const void *b)
{
	double one = fullness(*(const struct cairn_store_process *const *)a),
	       other = fullness(*(const struct cairn_store_process *const *)b);
	return (one < other) - (one > other);
}

/* Counts those of ALL that are not listed. */
static void count_unlisted(struct cairn_serve_store *store, const struct cairn_store_processes *all)
{
	size_t instances = 0, services = 0, listed_services = 0;
	for (size_t i = 0; i < all->count; i++)
		services += i == 0 || strcmp(all->items[i].service, all->items[i - 1].service) != 0;
	for (size_t i = 0; i < store->count; i++) {
		instances += !store->listed[i].service;
		listed_services += store->listed[i].service;
	}
	pthread_mutex_lock(&store->serve->lock);
	store->serve->unlisted_instances = all->count - instances;
	store->serve->unlisted_services = services - listed_services;
	pthread_mutex_unlock(&store->serve->lock);
}

/* The time between points of an overview of BACK_NS: a part of an hour or several hours, so that it includes the first snapshots of hours
 * (store/hourly.h). */
static int64_t overview_slot(int64_t back_ns)
{
	int64_t slot = 10 * CAIRN_MINUTE_NS;
	while (back_ns / slot > overview_points)
		slot = slot < 30 * CAIRN_MINUTE_NS ? 30 * CAIRN_MINUTE_NS : slot < CAIRN_HOUR_NS ? CAIRN_HOUR_NS : slot * 2;
	return slot;
}

static size_t count_points(const struct cairn_store_processes *processes)
{
	size_t count = 0;
	for (size_t i = 0; i < processes->count; i++)
		count += processes->items[i].point_count;
	return count;
}

/* All processes since FROM_NS, each with its last point. Earlier points are whole snapshots at intervals, since a day of thousands of
 * instances has too many points; if most processes have few of these yet, all points are included. */
static bool ask_overview(struct cairn_serve_store *store, int64_t from_ns, int64_t back_ns, struct cairn_store_processes *all,
			 struct cairn_error *error)
{
	enum { enough = 12 };
	struct cairn_question question = {.tenant = store->tenant, .from_ns = from_ns, .whole = true, .slot_ns = overview_slot(back_ns)};
	struct cairn_question last = {.tenant = store->tenant, .from_ns = from_ns, .last_only = true};
	struct cairn_store_processes whole = {0};
	bool good = cairn_store_ask(store->store, &question, &whole, error);
	if (good && (whole.count == 0 || count_points(&whole) < enough * whole.count)) {
		cairn_store_processes_free(&whole);
		return cairn_store_ask(store->store, &(struct cairn_question){.tenant = store->tenant, .from_ns = from_ns}, all, error);
	}
	good = good && cairn_store_ask(store->store, &last, all, error);
	struct cairn_map places = {0};
	for (size_t i = 0; good && i < whole.count; i++)
		*cairn_map_at(&places, whole.items[i].instance) = (uint32_t)i;
	for (size_t i = 0; good && i < all->count; i++) {
		struct cairn_store_process *process = &all->items[i];
		uint32_t at = cairn_map_get(&places, process->instance);
		if (at == CAIRN_NONE)
			continue;
		struct cairn_store_process *earlier = &whole.items[at];
		if (cairn_store_last(earlier)->time_ns < process->points[0].time_ns) {
			cairn_array_room(earlier->points, earlier->point_count, earlier->point_capacity);
			earlier->points[earlier->point_count++] = process->points[0];
		}
		/* The texts of points are in the arena of WHOLE, which is freed below. */
		for (size_t k = 0; k < earlier->point_count; k++)
			earlier->points[k].ended = cairn_arena_text(&all->arena, cairn_bytes_of(earlier->points[k].ended));
		struct cairn_store_point *points = process->points;
		process->points = earlier->points;
		process->point_count = earlier->point_count;
		process->point_capacity = earlier->point_capacity;
		earlier->points = points;
	}
	cairn_store_processes_sort(all);
	cairn_map_free(&places);
	cairn_store_processes_free(&whole);
	return good;
}

/* The instances that have new snapshots, and since when. */
struct fresh {
	struct cairn_map instances;
	int64_t since_ns;
};

static bool is_fresh(const void *context, const struct cairn_store_process *process)
{
	const struct fresh *fresh = context;
	return cairn_map_get(&fresh->instances, process->instance) != CAIRN_NONE;
}

/* Those that were judged first did not know yet how fast the others grow that share the memory of their machine. */
static void judge_sharers(struct cairn_serve_store *store)
{
	for (size_t i = 0; i < store->count && !atomic_load(&store->serve->stop); i++) {
		struct cairn_serve_process *process = store->listed[i].process;
		pthread_mutex_lock(&store->serve->lock);
		bool shares = !process->sum && process->limit > 0 && !process->limit_of_group && process->verdict.per_hour > 0;
		pthread_mutex_unlock(&store->serve->lock);
		if (shares)
			cairn_serve_process_judge(process);
	}
}

/* Adds the new snapshots of those instances in SORTED for which the list has room. */
static bool follow_instances(struct cairn_serve_store *store, const struct cairn_store_process *const *sorted, size_t count,
			     int64_t from_ns, struct cairn_error *error)
{
	struct fresh fresh = {.since_ns = INT64_MAX};
	for (size_t i = 0; i < count; i++) {
		const struct cairn_serve_listed *listed = find_listed(store, sorted[i]->instance, false, sorted[i]->service);
		if (!listed || cairn_store_last(sorted[i])->time_ns <= listed->newest_ns)
			continue;
		*cairn_map_at(&fresh.instances, sorted[i]->instance) = 0;
		fresh.since_ns = listed->newest_ns < fresh.since_ns ? listed->newest_ns : fresh.since_ns;
	}
	struct cairn_store_processes news = {0};
	struct cairn_question question = {.tenant = store->tenant,
					  .from_ns = fresh.since_ns > from_ns ? fresh.since_ns : from_ns,
					  .wants = is_fresh,
					  .context = &fresh};
	bool good = fresh.instances.count == 0 || cairn_store_ask(store->store, &question, &news, error);
	for (size_t i = 0; good && i < news.count && !atomic_load(&store->serve->stop); i++) {
		struct cairn_serve_listed *listed = find_listed(store, news.items[i].instance, false, news.items[i].service);
		good = !listed || follow_instance(store, listed, &news.items[i], error);
	}
	if (good && atomic_load(&store->serve->loading) > 0)
		judge_sharers(store);
	cairn_store_processes_free(&news);
	cairn_map_free(&fresh.instances);
	return good;
}

/* One look at everything. */
static bool look(struct cairn_serve_store *store, struct cairn_error *error)
{
	struct cairn_store_processes all = {0};
	int64_t now = cairn_clock_wall_ns(), back = store->serve->keep_ns ? store->serve->keep_ns : usual_back_ns;
	if (!ask_overview(store, now - back, back, &all, error)) {
		cairn_store_processes_free(&all);
		return false;
	}
	const struct cairn_store_process **sorted = cairn_array_new(all.count, sizeof *sorted);
	for (size_t i = 0; i < all.count; i++)
		sorted[i] = &all.items[i];
	if (all.count > 0)
		qsort(sorted, all.count, sizeof *sorted, by_fullness);
	make_room(store, sorted, all.count);
	bool good = follow_instances(store, sorted, all.count, now - back, error);
	free(sorted);
	/* The processes of a service are next to each other. */
	for (size_t from = 0, end; good && from < all.count && !atomic_load(&store->serve->stop); from = end) {
		for (end = from + 1; end < all.count && strcmp(all.items[end].service, all.items[from].service) == 0; end++)
			;
		struct cairn_store_processes service = {.items = all.items + from, .count = end - from};
		good = follow_service(store, &service, error);
	}
	if (good && !atomic_load(&store->serve->stop))
		count_unlisted(store, &all);
	cairn_store_processes_free(&all);
	return good;
}

void *cairn_serve_store_run(void *context)
{
	struct cairn_serve_store *store = context;
	struct cairn_serve *serve = store->serve;
	bool known = false;
	while (!atomic_load(&serve->stop)) {
		struct cairn_error error;
		int64_t before = cairn_clock_ns();
		bool good = look(store, &error);
		if (!good && !store->complained)
			cairn_note("the store does not answer: %s", error.text);
		if (good && store->complained)
			cairn_note("the store answers again");
		store->complained = !good;
		if (good && !known) {
			known = true;
			atomic_fetch_sub(&serve->loading, 1);
		}
		/* Waits longer if it took long, so that it is busy for at most a fifth of the time. */
		int64_t took = cairn_clock_ns() - before, wait = took * 4 > serve->every_ns ? took * 4 : serve->every_ns;
		for (int64_t until = cairn_clock_ns() + wait; cairn_clock_ns() < until && !atomic_load(&serve->stop);)
			nanosleep(&(struct timespec){.tv_nsec = 100 * CAIRN_MILLISECOND_NS}, NULL);
	}
	return NULL;
}
