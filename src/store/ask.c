/* ask.c - asks a store for processes, their snapshots and the profiles in them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/cursor.h"
#include "base/time.h"
#include "http/request.h"
#include "process/clock.h"
#include "store/handle.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cairn_selection_begin(struct cairn_selection *selection, struct cairn_store *store, const char *statement,
			   const struct cairn_column *columns, void *row, struct cairn_error *error)
{
	*selection = (struct cairn_selection){.store = store, .columns = columns, .row = row, .error = error};
	selection->answer = store->engine->select(store->connection, statement, error);
	selection->good = selection->answer != NULL;
}

bool cairn_selection_next(struct cairn_selection *selection)
{
	return selection->good && selection->answer &&
	       selection->store->engine->next(selection->answer, selection->columns, selection->row, &selection->good, selection->error);
}

bool cairn_selection_end(struct cairn_selection *selection)
{
	if (selection->answer)
		selection->store->engine->end(selection->answer);
	return selection->good;
}

static bool says(const char *wanted, const char *value)
{
	return !wanted || strcmp(wanted, value) == 0;
}

/* LABEL is "key=value". */
static bool has_label(const struct cairn_store_process *process, const char *label)
{
	char key[128], value[512];
	const char *equals = strchr(label, '=');
	if (!equals || (size_t)(equals - label) >= sizeof key)
		return false;
	snprintf(key, sizeof key, "%.*s", (int)(equals - label), label);
	return cairn_query_get(process->labels, key, value, sizeof value) && strcmp(value, equals + 1) == 0;
}

static bool is_asked(const struct cairn_question *question, const struct cairn_store_process *process)
{
	char number[24], place[300];
	snprintf(number, sizeof number, "%llu", (unsigned long long)process->instance);
	snprintf(place, sizeof place, "%.250s:%llu", process->host, (unsigned long long)process->pid);
	if (!says(question->service, process->service) || !says(question->version, process->version))
		return false;
	if (question->instance && strcmp(question->instance, process->host) != 0 && strcmp(question->instance, place) != 0 &&
	    strcmp(question->instance, number) != 0)
		return false;
	for (size_t i = 0; i < question->label_count; i++)
		if (!has_label(process, question->labels[i]))
			return false;
	return !question->wants || question->wants(question->context, process);
}

static bool ask_processes(struct cairn_store *store, const struct cairn_question *question, struct cairn_store_processes *processes,
			  struct cairn_map *places, struct cairn_error *error)
{
	const struct cairn_column *columns = cairn_tables[CAIRN_TABLE_PROCESSES].columns;
	struct cairn_buffer statement = cairn_buffer(1 << 12);
	struct cairn_selection selection;
	struct cairn_row_process row;
	struct cairn_arena *arena = &processes->arena;
	uint64_t tenant = cairn_store_tenant(cairn_bytes_of(question->tenant ? question->tenant : ""));
	/* What was last put so long before has no snapshot in that time; a clock may be a day ahead. */
	int64_t unused = question->from_ns - CAIRN_STORE_WEEK_NS - CAIRN_DAY_NS;
	cairn_columns_select(columns, &statement);
	cairn_buffer_format(&statement, " FROM processes%s WHERE tenant = %llu AND used_ns >= %lld%c", store->engine->latest,
			    (unsigned long long)tenant, (long long)(unused > 0 ? unused : 0), 0);
	cairn_selection_begin(&selection, store, statement.data, columns, &row, error);
	cairn_buffer_free(&statement);
	while (cairn_selection_next(&selection)) {
		struct cairn_store_process process = {
			.instance = row.instance,
			.cohort = cairn_store_cohort(tenant, row.service, row.version),
			.service = cairn_arena_text(arena, row.service),
			.version = cairn_arena_text(arena, row.version),
			.host = cairn_arena_text(arena, row.host),
			.program = cairn_arena_text(arena, row.program),
			.pid = row.pid,
			.start_ns = row.start_ns,
			.labels = cairn_arena_keep(arena, row.labels),
		};
		if (!is_asked(question, &process))
			continue;
		*cairn_map_at(places, process.instance) = (uint32_t)processes->count;
		cairn_array_room(processes->items, processes->count, processes->capacity);
		processes->items[processes->count++] = process;
	}
	return cairn_selection_end(&selection);
}

void cairn_statement_list(struct cairn_buffer *out, const char *column, const uint64_t *items, size_t count)
{
	cairn_buffer_format(out, "%s IN (", column);
	for (size_t i = 0; i < count; i++)
		cairn_buffer_format(out, "%s%llu", i ? "," : "", (unsigned long long)items[i]);
	cairn_buffer_byte(out, ')');
}

static void list_instances(const struct cairn_store_processes *processes, struct cairn_buffer *out)
{
	cairn_buffer_text(out, "instance IN (");
	for (size_t i = 0; i < processes->count; i++)
		cairn_buffer_format(out, "%s%llu", i ? "," : "", (unsigned long long)processes->items[i].instance);
	cairn_buffer_byte(out, ')');
}

/* The columns of a point as aggregates over rows of one instance: of the row with the lowest time, or with the highest (LAST). */
static void write_point_columns(const struct cairn_store *store, bool last, struct cairn_buffer *out)
{
	const struct cairn_store_engine *engine = store->engine;
	cairn_buffer_text(out, "SELECT instance");
	for (const struct cairn_column *column = cairn_tables[CAIRN_TABLE_SNAPSHOTS].columns + 1; column->name; column++)
		if (strcmp(column->name, "time_ns") == 0)
			cairn_buffer_text(out, last ? ", max(time_ns)" : ", min(time_ns)");
		else
			cairn_buffer_format(out, ", %s%s%s", last ? engine->last_start : engine->first_start, column->name, engine->row_end);
}

static struct cairn_store_point point_of(const struct cairn_row_snapshot *row, struct cairn_arena *arena)
{
	struct cairn_store_point point = {
		.time_ns = row->time_ns,
		.bytes = row->bytes,
		.resident = row->resident,
		.limit = row->memory_limit,
		.limit_of_group = row->limit_of_group != 0,
		.period = row->period,
		.has_allocated = row->has_allocated != 0,
		.ended = cairn_arena_text(arena, row->ended),
		.base_ns = row->base_ns,
		.since_ns = row->since_ns,
		.before = (double)row->before_bytes,
		.own = (double)row->own_bytes,
	};
	point.unsampling = cairn_sampling_method(row->unsampling, &point.size_classes);
	return point;
}

static bool ask_points(struct cairn_store *store, const struct cairn_question *question, struct cairn_store_processes *processes,
		       const struct cairn_map *places, struct cairn_error *error)
{
	const struct cairn_column *columns = cairn_tables[CAIRN_TABLE_SNAPSHOTS].columns;
	struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
	struct cairn_selection selection;
	struct cairn_row_snapshot row;
	bool few = question->last_only || question->slot_ns > 0;
	if (few)
		write_point_columns(store, question->last_only, &statement);
	else
		cairn_columns_select(columns, &statement);
	cairn_buffer_format(&statement, " FROM snapshots%s WHERE time_ns >= %lld AND time_ns <= %lld AND %s",
			    question->whole || few ? "" : store->engine->latest, (long long)question->from_ns,
			    question->to_ns ? (long long)question->to_ns : (long long)INT64_MAX, question->whole ? "base_ns = 0 AND " : "");
	list_instances(processes, &statement);
	if (question->last_only)
		cairn_buffer_text(&statement, " GROUP BY instance");
	else if (few)
		cairn_buffer_format(&statement, " GROUP BY instance, time_ns - time_ns %% %lld ORDER BY min(time_ns)",
				    (long long)question->slot_ns);
	else
		cairn_buffer_text(&statement, " ORDER BY time_ns");
	if (question->point_most)
		cairn_buffer_format(&statement, " LIMIT %zu", question->point_most + 1);
	cairn_buffer_byte(&statement, 0);
	cairn_selection_begin(&selection, store, statement.data, columns, &row, error);
	cairn_buffer_free(&statement);
	for (size_t count = 1; cairn_selection_next(&selection); count++) {
		uint32_t place = cairn_map_get(places, row.instance);
		if (question->point_most && count > question->point_most)
			selection.good = cairn_fail_usage(
				error, "this is about more than %zu snapshots; ask about a shorter time, or fewer instances",
				question->point_most);
		if (!selection.good || place == CAIRN_NONE)
			continue;
		struct cairn_store_process *process = &processes->items[place];
		/* Without the latest rows only, one that was put twice may be there twice: both are the same. */
		if (process->point_count && process->points[process->point_count - 1].time_ns == row.time_ns)
			continue;
		cairn_array_room(process->points, process->point_count, process->point_capacity);
		process->points[process->point_count++] = point_of(&row, &processes->arena);
	}
	return cairn_selection_end(&selection);
}

/* How many points each process has, and when the first was. */
static bool ask_counts(struct cairn_store *store, const struct cairn_question *question, struct cairn_store_processes *processes,
		       const struct cairn_map *places, struct cairn_error *error)
{
	struct answer {
		uint64_t instance, count;
		int64_t first_ns;
	} row;
	static const struct cairn_column columns[] = {
		CAIRN_COLUMN(struct answer, instance), CAIRN_COLUMN(struct answer, count), CAIRN_COLUMN(struct answer, first_ns), {0}};
	struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
	struct cairn_selection selection;
	cairn_buffer_format(&statement,
			    "SELECT instance, count(*), min(time_ns) FROM snapshots%s WHERE time_ns >= %lld AND time_ns <= %lld AND ",
			    store->engine->latest, (long long)question->from_ns,
			    question->to_ns ? (long long)question->to_ns : (long long)INT64_MAX);
	list_instances(processes, &statement);
	cairn_buffer_format(&statement, " GROUP BY instance%c", 0);
	cairn_selection_begin(&selection, store, statement.data, columns, &row, error);
	cairn_buffer_free(&statement);
	while (cairn_selection_next(&selection)) {
		uint32_t place = cairn_map_get(places, row.instance);
		if (place == CAIRN_NONE)
			continue;
		processes->items[place].snapshots = (size_t)row.count;
		processes->items[place].first_ns = row.first_ns;
	}
	return cairn_selection_end(&selection);
}

/* Puts the point of one row each in front of the points of its process. */
static bool put_earlier(struct cairn_store *store, const char *statement, struct cairn_store_processes *processes,
			const struct cairn_map *places, struct cairn_error *error)
{
	struct cairn_selection selection;
	struct cairn_row_snapshot row;
	cairn_selection_begin(&selection, store, statement, cairn_tables[CAIRN_TABLE_SNAPSHOTS].columns, &row, error);
	while (cairn_selection_next(&selection)) {
		uint32_t place = cairn_map_get(places, row.instance);
		if (place == CAIRN_NONE)
			continue;
		struct cairn_store_process *process = &processes->items[place];
		if (process->point_count > 0 && process->points[0].time_ns > row.time_ns) {
			cairn_array_room(process->points, process->point_count, process->point_capacity);
			memmove(process->points + 1, process->points, process->point_count++ * sizeof *process->points);
			process->points[0] = point_of(&row, &processes->arena);
		}
	}
	return cairn_selection_end(&selection);
}

/* The last point of each process within the day before the question's time. */
static bool ask_earlier(struct cairn_store *store, const struct cairn_question *question, struct cairn_store_processes *processes,
			const struct cairn_map *places, struct cairn_error *error)
{
	enum { at_once = 200 };
	struct answer {
		uint64_t instance;
		int64_t time_ns;
	} row;
	static const struct cairn_column columns[] = {CAIRN_COLUMN(struct answer, instance), CAIRN_COLUMN(struct answer, time_ns), {0}};
	struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
	struct cairn_selection selection;
	cairn_buffer_format(&statement, "SELECT instance, max(time_ns) FROM snapshots WHERE time_ns < %lld AND time_ns >= %lld AND ",
			    (long long)question->from_ns, (long long)(question->from_ns - CAIRN_DAY_NS));
	list_instances(processes, &statement);
	cairn_buffer_format(&statement, " GROUP BY instance%c", 0);
	cairn_selection_begin(&selection, store, statement.data, columns, &row, error);
	for (bool more = cairn_selection_next(&selection); more && selection.good;) {
		statement.length = 0;
		cairn_columns_select(cairn_tables[CAIRN_TABLE_SNAPSHOTS].columns, &statement);
		cairn_buffer_format(&statement, " FROM snapshots%s WHERE ", store->engine->latest);
		for (size_t i = 0; i < at_once && more; i++, more = cairn_selection_next(&selection))
			cairn_buffer_format(&statement, "%s(instance = %llu AND time_ns = %lld)", i ? " OR " : "",
					    (unsigned long long)row.instance, (long long)row.time_ns);
		cairn_buffer_byte(&statement, 0);
		selection.good = selection.good && put_earlier(store, statement.data, processes, places, error);
	}
	cairn_buffer_free(&statement);
	return cairn_selection_end(&selection);
}

static int64_t first_seen(const struct cairn_store_process *process)
{
	return process->first_ns ? process->first_ns : process->points[0].time_ns;
}

static int compare_processes(const void *a, const void *b)
{
	const struct cairn_store_process *one = a, *other = b;
	int64_t first = first_seen(one), second = first_seen(other);
	int order = strcmp(one->service, other->service);
	order = order ? order : (first > second) - (first < second);
	order = order ? order : strverscmp(one->version, other->version);
	order = order ? order : strcmp(one->host, other->host);
	return order ? order : (one->instance > other->instance) - (one->instance < other->instance);
}

void cairn_store_processes_sort(struct cairn_store_processes *processes)
{
	if (processes->count > 0)
		qsort(processes->items, processes->count, sizeof *processes->items, compare_processes);
}

bool cairn_store_ask(struct cairn_store *store, const struct cairn_question *question, struct cairn_store_processes *processes,
		     struct cairn_error *error)
{
	struct cairn_map places = {0};
	*processes = (struct cairn_store_processes){0};
	bool good = ask_processes(store, question, processes, &places, error) &&
		    (processes->count == 0 || ask_points(store, question, processes, &places, error)) &&
		    (processes->count == 0 || !question->counted || ask_counts(store, question, processes, &places, error)) &&
		    (processes->count == 0 || !question->with_earlier || ask_earlier(store, question, processes, &places, error));
	size_t kept = 0;
	for (size_t i = 0; i < processes->count; i++)
		if (processes->items[i].point_count > 0)
			processes->items[kept++] = processes->items[i];
	processes->count = kept;
	cairn_store_processes_sort(processes);
	cairn_map_free(&places);
	return good;
}

void cairn_store_processes_free(struct cairn_store_processes *processes)
{
	for (size_t i = 0; i < processes->count; i++)
		free(processes->items[i].points);
	free(processes->items);
	cairn_arena_free(&processes->arena);
	*processes = (struct cairn_store_processes){0};
}

void cairn_store_span(const struct cairn_store_processes *processes, int64_t *first_ns, int64_t *last_ns)
{
	*first_ns = INT64_MAX;
	*last_ns = 0;
	for (size_t i = 0; i < processes->count; i++) {
		const struct cairn_store_process *process = &processes->items[i];
		int64_t first = process->points[0].time_ns, last = cairn_store_last(process)->time_ns;
		*first_ns = first < *first_ns ? first : *first_ns;
		*last_ns = last > *last_ns ? last : *last_ns;
	}
}

size_t cairn_store_choose_points(const struct cairn_store_process *process, size_t most, size_t *chosen)
{
	size_t count = process->point_count < most ? process->point_count : most;
	for (size_t i = 0; i < count; i++)
		chosen[i] = count > 1 ? i * (process->point_count - 1) / (count - 1) : process->point_count - 1;
	return count;
}

/* Numbers to ask for. */
struct wanted {
	uint64_t *items;
	size_t count, capacity;
};

static void want(struct wanted *wanted, uint64_t id)
{
	cairn_array_room(wanted->items, wanted->count, wanted->capacity);
	wanted->items[wanted->count++] = id;
}

bool cairn_store_each(struct cairn_store *store, unsigned table, const struct cairn_column *columns, void *row, const char *and,
		      const uint64_t *ids, size_t count, void (*visit)(void *context, const void *row), void *context,
		      struct cairn_error *error)
{
	enum { at_once = 10000 };
	bool good = true;
	for (size_t from = 0; good && from < count; from += at_once) {
		struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
		struct cairn_selection selection;
		cairn_columns_select(columns, &statement);
		cairn_buffer_format(&statement, " FROM %s WHERE %s", cairn_tables[table].name, and);
		cairn_statement_list(&statement, cairn_tables[table].key, ids + from, count - from < at_once ? count - from : at_once);
		cairn_buffer_byte(&statement, 0);
		cairn_selection_begin(&selection, store, statement.data, columns, row, error);
		while (cairn_selection_next(&selection))
			visit(context, row);
		good = cairn_selection_end(&selection);
		cairn_buffer_free(&statement);
	}
	return good;
}

static void add_frame(void *context, const void *row)
{
	cairn_dictionary_add_frame(context, row);
}

static void add_stack(void *context, const void *row)
{
	cairn_dictionary_add_stack(context, row);
}

/* Texts are bounded, since rows of earlier versions may have any length. */
static bool ask_frames(struct cairn_store *store, const struct wanted *wanted, struct cairn_error *error)
{
	struct cairn_row_frame row;
	static const struct cairn_column columns[] = {
		CAIRN_COLUMN(struct cairn_row_frame, frame),
		CAIRN_COLUMN_AS(struct cairn_row_frame, build_id, "substr(build_id, 1, 128)"),
		CAIRN_COLUMN_AS(struct cairn_row_frame, module, "substr(module, 1, 4096)"),
		CAIRN_COLUMN(struct cairn_row_frame, place),
		CAIRN_COLUMN_AS(struct cairn_row_frame, names, "substr(names, 1, 65536)"),
		{0},
	};
	return cairn_store_each(store, CAIRN_TABLE_FRAMES, columns, &row, "", wanted->items, wanted->count, add_frame, &store->dictionary,
				error);
}

static bool ask_stacks(struct cairn_store *store, const struct wanted *wanted, struct cairn_error *error)
{
	struct cairn_row_stack row;
	static const struct cairn_column columns[] = {
		CAIRN_COLUMN(struct cairn_row_stack, stack), CAIRN_COLUMN(struct cairn_row_stack, frames), {0}};
	return cairn_store_each(store, CAIRN_TABLE_STACKS, columns, &row, "", wanted->items, wanted->count, add_stack, &store->dictionary,
				error);
}

/* Asks again, now and then, for frames that had no names: they may have got some. */
static bool relearn(struct cairn_store *store, struct cairn_error *error)
{
	static const int64_t pause_ns = 15 * (int64_t)CAIRN_SECOND_NS;
	const struct cairn_dictionary *dictionary = &store->dictionary;
	struct wanted frames = {0};
	int64_t now = cairn_clock_ns();
	if (now < store->relearn_ns)
		return true;
	store->relearn_ns = now + pause_ns;
	for (size_t i = 0; i < dictionary->frames.capacity; i++) {
		const struct cairn_map_slot *slot = &dictionary->frames.slots[i];
		const struct cairn_place *place = slot->used && slot->value != CAIRN_NONE ? &dictionary->places[slot->value] : NULL;
		if (place && place->names.length == 0 && place->build_id.length > 0)
			want(&frames, slot->key);
	}
	bool good = ask_frames(store, &frames, error);
	free(frames.items);
	return good;
}

bool cairn_store_learn(struct cairn_store *store, const struct cairn_stored_sample *samples, size_t count, struct cairn_error *error)
{
	struct wanted stacks = {0}, frames = {0};
	struct cairn_map asked = {0};
	for (size_t i = 0; i < count; i++) {
		uint32_t *at = cairn_map_at(&asked, samples[i].stack);
		if (*at == CAIRN_NONE && cairn_map_get(&store->dictionary.stacks, samples[i].stack) == CAIRN_NONE)
			want(&stacks, samples[i].stack);
		*at = 0;
	}
	bool good = relearn(store, error) && ask_stacks(store, &stacks, error);
	cairn_map_free(&asked);
	asked = (struct cairn_map){0};
	/* Not only those of now: of an earlier question, the frames may have failed to come. */
	for (size_t i = store->dictionary.learned; good && i < store->dictionary.list_count; i++) {
		struct cairn_cursor ids = cairn_cursor(store->dictionary.lists[i]);
		while (cairn_cursor_left(&ids)) {
			uint64_t id = cairn_cursor_u64(&ids);
			uint32_t *at = cairn_map_at(&asked, id);
			if (*at == CAIRN_NONE && cairn_map_get(&store->dictionary.frames, id) == CAIRN_NONE)
				want(&frames, id);
			*at = 0;
		}
	}
	good = good && ask_frames(store, &frames, error);
	if (good)
		store->dictionary.learned = store->dictionary.list_count;
	cairn_map_free(&asked);
	free(stacks.items);
	free(frames.items);
	return good;
}

/* All samples of PROCESS at the wanted points, by time; the caller frees them. */
struct stored {
	struct cairn_stored_sample *samples;
	int64_t *times;
	size_t count, capacity, time_capacity;
};

static bool ask_samples(struct cairn_store *store, const struct cairn_store_process *process, const size_t *wanted, size_t count,
			struct stored *stored, struct cairn_error *error)
{
	const struct cairn_column *columns = cairn_tables[CAIRN_TABLE_SAMPLES].columns;
	struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
	struct cairn_selection selection;
	struct cairn_row_sample row;
	cairn_columns_select(columns, &statement);
	cairn_buffer_format(&statement, " FROM samples%s WHERE instance = %llu AND time_ns IN (", store->engine->latest,
			    (unsigned long long)process->instance);
	for (size_t i = 0; i < count; i++) {
		const struct cairn_store_point *point = &process->points[wanted[i]];
		cairn_buffer_format(&statement, "%s%lld", i ? "," : "", (long long)point->time_ns);
		if (point->base_ns && (i == 0 || process->points[wanted[i - 1]].base_ns != point->base_ns))
			cairn_buffer_format(&statement, ",%lld", (long long)point->base_ns);
	}
	cairn_buffer_format(&statement, ") ORDER BY time_ns, stack%c", 0);
	cairn_selection_begin(&selection, store, statement.data, columns, &row, error);
	cairn_buffer_free(&statement);
	while (cairn_selection_next(&selection)) {
		cairn_array_room(stored->samples, stored->count, stored->capacity);
		cairn_array_room(stored->times, stored->count, stored->time_capacity);
		stored->times[stored->count] = row.time_ns;
		stored->samples[stored->count++] = row.sample;
	}
	return cairn_selection_end(&selection);
}

/* The samples of one time, in *FIRST. Returns how many. */
static size_t samples_at(const struct stored *stored, int64_t time_ns, const struct cairn_stored_sample **first)
{
	size_t low = 0, high = stored->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (stored->times[middle] < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	size_t end = low;
	while (end < stored->count && stored->times[end] == time_ns)
		end++;
	*first = low < end ? &stored->samples[low] : NULL;
	return end - low;
}

bool cairn_store_profiles(struct cairn_store *store, const struct cairn_store_process *process, const size_t *wanted, size_t count,
			  bool (*visit)(void *context, const struct cairn_profile *profile, struct cairn_error *error), void *context,
			  struct cairn_error *error)
{
	struct stored stored = {0};
	bool good =
		ask_samples(store, process, wanted, count, &stored, error) && cairn_store_learn(store, stored.samples, stored.count, error);
	for (size_t i = 0; good && i < count; i++) {
		const struct cairn_store_point *point = &process->points[wanted[i]];
		const struct cairn_stored_sample *own, *base = NULL;
		size_t own_count = samples_at(&stored, point->time_ns, &own);
		size_t base_count = point->base_ns ? samples_at(&stored, point->base_ns, &base) : 0;
		struct cairn_stored_sample *samples = cairn_array_new(own_count + base_count, sizeof *samples);
		struct cairn_profile profile;
		cairn_profile_init(&profile);
		cairn_snapshot_read(&profile, &store->dictionary, process, point, samples,
				    cairn_samples_join(base, base_count, own, own_count, samples));
		good = visit(context, &profile, error);
		cairn_profile_free(&profile);
		free(samples);
	}
	free(stored.samples);
	free(stored.times);
	return good;
}
