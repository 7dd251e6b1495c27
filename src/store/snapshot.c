/* snapshot.c - turns profiles into rows, and rows into profiles.
 *
 * A frame is identified by the build-id of its module and its offset in that file, so that the same code is the same frame on every
 * machine. Without a build-id, it is identified by path and names as well: two builds at one path must not become one.
 *
 * The names of a frame are lines, innermost first: function, file, line and first line, separated by tabs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/snapshot.h"

#include "base/array.h"
#include "base/cursor.h"
#include "base/text.h"
#include "process/clock.h"
#include "series/bill.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

uint64_t cairn_store_tenant(struct cairn_bytes tenant)
{
	return cairn_store_id(1, tenant);
}

uint64_t cairn_store_cohort(uint64_t tenant, struct cairn_bytes service, struct cairn_bytes version)
{
	return cairn_store_id(cairn_store_id(cairn_store_id_number(3, tenant), service), version);
}

enum { name_most = 4096 };
static_assert(2 * name_most + 32 <= CAIRN_STORE_NAMES, "the innermost line always fits");

/* Writes TEXT without the characters that separate names, and cut to a length that people read: a small profile can have a long name at
 * many addresses. */
static void write_name(struct cairn_buffer *out, const char *text)
{
	for (const char *end = text + name_most; *text && text < end; text++)
		cairn_buffer_byte(out, (unsigned char)*text < ' ' ? ' ' : *text);
}

/* An upper bound for the length of such a line. */
static size_t line_size(const struct cairn_profile *profile, const struct cairn_function *function)
{
	size_t name = cairn_strings_bytes(&profile->strings, function->name).length;
	size_t file = cairn_strings_bytes(&profile->strings, function->file).length;
	return (name < name_most ? name : name_most) + (file < name_most ? file : name_most) + 32;
}

/* Writes the names of LOCATION, without the outermost if there are too many. Each is complete, since half a name would be another name. */
static void write_names(const struct cairn_profile *profile, const struct cairn_location *location, struct cairn_buffer *out)
{
	for (uint32_t i = 0; i < location->frame_count; i++) {
		const struct cairn_frame *frame = &profile->frames[location->first_frame + i];
		const struct cairn_function *function = &profile->functions[frame->function];
		if (out->length + line_size(profile, function) > CAIRN_STORE_NAMES)
			break;
		write_name(out, cairn_profile_string(profile, function->name));
		cairn_buffer_byte(out, '\t');
		write_name(out, cairn_profile_string(profile, function->file));
		cairn_buffer_format(out, "\t%u\t%u\n", frame->line, function->start_line);
	}
}

/* The current week. A row that is in use is put again in each week, which shows that it is in use. */
static uint64_t this_week(void)
{
	int64_t now = cairn_clock_wall_ns();
	return (uint64_t)(now - now % CAIRN_STORE_WEEK_NS);
}

void cairn_numbered_free(struct cairn_numbered *numbered)
{
	cairn_map_free(&numbered->at);
	free(numbered->ids);
	*numbered = (struct cairn_numbered){0};
}

/* Finds the number for HASH. Returns false if it has none yet: the caller must store one in **ID. */
static bool find_number(struct cairn_numbered *numbered, uint64_t hash, uint64_t **id)
{
	uint32_t *at = cairn_map_at(&numbered->at, hash);
	bool known = *at != CAIRN_NONE;
	if (!known) {
		*at = (uint32_t)numbered->count;
		cairn_array_room(numbered->ids, numbered->count, numbered->capacity);
		numbered->count++;
	}
	*id = &numbered->ids[*at];
	return known;
}

uint64_t cairn_frame_id(uint64_t tenant, struct cairn_bytes build_id, uint64_t offset)
{
	return cairn_store_id(cairn_store_id_number(tenant, offset), build_id);
}

static struct cairn_bytes cut(struct cairn_bytes text, size_t most)
{
	return (struct cairn_bytes){text.data, text.length < most ? text.length : most};
}

size_t cairn_frames_size(const struct cairn_profile *profile)
{
	size_t size = 0;
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		const struct cairn_module *module = cairn_profile_module(profile, location);
		size_t names = 0, path = module ? cairn_strings_bytes(&profile->strings, module->path).length : 0;
		size_t build_id = module ? cairn_strings_bytes(&profile->strings, module->build_id).length : 0;
		for (uint32_t k = 0; k < location->frame_count; k++) {
			size_t line = line_size(profile, &profile->functions[profile->frames[location->first_frame + k].function]);
			if (names + line > CAIRN_STORE_NAMES)
				break;
			names += line;
		}
		size += names + (path < CAIRN_STORE_PATH ? path : CAIRN_STORE_PATH) +
			(build_id < CAIRN_STORE_BUILD_ID ? build_id : CAIRN_STORE_BUILD_ID) + sizeof(struct cairn_row_frame) + 1;
	}
	return size;
}

/* Adds the row of LOCATION to ROWS unless it is there already. Returns the frame's number. NAMES is for temporary use. */
static uint64_t write_frame(const struct cairn_profile *profile, const struct cairn_location *location, uint64_t tenant,
			    struct cairn_numbered *numbered, struct cairn_rows *rows, struct cairn_buffer *names)
{
	const struct cairn_module *module = cairn_profile_module(profile, location);
	struct cairn_bytes build_id = module ? cairn_strings_bytes(&profile->strings, module->build_id) : (struct cairn_bytes){"", 0};
	struct cairn_bytes path = module ? cairn_strings_bytes(&profile->strings, module->path) : (struct cairn_bytes){"", 0};
	bool by_place = build_id.length > 0 && location->address; /* its names may become known later; otherwise they are part of it */
	uint64_t *id;
	names->length = 0;
	write_names(profile, location, names);
	struct cairn_row_frame row = {
		.build_id = cut(build_id, CAIRN_STORE_BUILD_ID),
		.module = cut(path, CAIRN_STORE_PATH),
		.place = location->address ? cairn_profile_file_offset(profile, location) : 0, /* the address if there is no file */
		.names = cairn_buffer_bytes(names),
		.nameless = names->length == 0,
		.used_ns = this_week(),
	};
	uint64_t hash = cairn_row_hash(cairn_tables[CAIRN_TABLE_FRAMES].columns, &row);
	if (!find_number(numbered, hash ^ cairn_hash_mix(tenant), &id)) {
		*id = cairn_frame_id(tenant, build_id.length ? build_id : path, row.place);
		if (!by_place)
			*id = cairn_store_id(*id, row.names);
		row.frame = *id;
		row.names = cairn_arena_keep(&rows->texts, row.names);
		cairn_rows_add(rows, CAIRN_TABLE_FRAMES, &row);
	}
	return *id;
}

/* The same for the row of a stack of DEPTH frames. */
static uint64_t write_stack(const uint64_t *frames, size_t depth, uint64_t tenant, struct cairn_numbered *numbered, struct cairn_rows *rows)
{
	struct cairn_bytes bytes = {(const char *)frames, depth * sizeof *frames};
	uint64_t *id;
	if (!find_number(numbered, cairn_hash_bytes(bytes.data, bytes.length) + cairn_hash_mix(~tenant), &id)) {
		*id = cairn_store_id(tenant, bytes);
		struct cairn_row_stack row = {*id, {cairn_arena_keep(&rows->texts, bytes)}, this_week()};
		cairn_rows_add(rows, CAIRN_TABLE_STACKS, &row);
	}
	return *id;
}

size_t cairn_frames_write(const struct cairn_profile *profile, uint64_t tenant, struct cairn_rows *rows)
{
	size_t count = 0;
	struct cairn_numbered numbered = {0};
	struct cairn_buffer names = cairn_buffer(CAIRN_STORE_NAMES);
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		const struct cairn_module *module = cairn_profile_module(profile, location);
		if (location->frame_count == 0 || !module || !module->build_id)
			continue;
		write_frame(profile, location, tenant, &numbered, rows, &names);
		count++;
	}
	cairn_numbered_free(&numbered);
	cairn_buffer_free(&names);
	return count;
}

/* The values of a heap profile that a row has, in order; CAIRN_NONE for those that the profile lacks. */
struct values {
	uint32_t bytes, objects, allocated_bytes, allocated_objects;
};

static double value_of(const double *values, uint32_t which)
{
	double value = which == CAIRN_NONE ? 0 : values[which];
	return isfinite(value) ? value : 0;
}

/* Adds the rows of all samples. Several samples of one stack, which differ in labels, become one row: their sum. Returns the number of
 * rows of samples. */
static size_t write_samples(const struct cairn_store_snapshot *snapshot, struct cairn_numbered *numbered, uint64_t tenant,
			    uint64_t instance, const struct values *which, struct cairn_rows *rows)
{
	const struct cairn_profile *profile = snapshot->profile;
	uint64_t *frames = cairn_array_new(profile->location_count, sizeof *frames);
	struct cairn_stored_sample *sums = cairn_array_zero(profile->sample_count, sizeof *sums);
	struct cairn_map seen = {0};
	struct cairn_buffer names = cairn_buffer(CAIRN_STORE_NAMES);
	size_t count = 0, deepest = 0;
	for (size_t i = 0; i < profile->location_count; i++)
		frames[i] = write_frame(profile, &profile->locations[i], tenant, numbered, rows, &names);
	for (size_t i = 0; i < profile->sample_count; i++)
		deepest = profile->samples[i].depth > deepest ? profile->samples[i].depth : deepest;
	uint64_t *stack = cairn_array_new(deepest, sizeof *stack);
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct cairn_sample *sample = &profile->samples[i];
		const double *values = cairn_profile_values(profile, i);
		for (uint32_t k = 0; k < sample->depth; k++)
			stack[k] = frames[profile->stacks[sample->stack + k]];
		uint64_t id = write_stack(stack, sample->depth, tenant, numbered, rows);
		uint32_t *at = cairn_map_at(&seen, id);
		if (*at == CAIRN_NONE) {
			*at = (uint32_t)count;
			sums[count++].stack = id;
		}
		struct cairn_stored_sample *sum = &sums[*at];
		sum->bytes += value_of(values, which->bytes);
		sum->objects += value_of(values, which->objects);
		sum->sampled += profile->sampled && isfinite(profile->sampled[i]) ? profile->sampled[i] : 0;
		sum->allocated_bytes += value_of(values, which->allocated_bytes);
		sum->allocated_objects += value_of(values, which->allocated_objects);
	}
	for (size_t i = 0; i < count; i++)
		cairn_rows_add(rows, CAIRN_TABLE_SAMPLES, &(struct cairn_row_sample){instance, profile->facts.time_ns, sums[i]});
	cairn_map_free(&seen);
	cairn_buffer_free(&names);
	free(stack);
	free(sums);
	free(frames);
	return count;
}

/* Identified by its life (process/life.h) if the dump has it, otherwise by host, PID and start. */
uint64_t cairn_snapshot_instance(const struct cairn_store_snapshot *snapshot)
{
	const struct cairn_profile *profile = snapshot->profile;
	uint64_t tenant = cairn_store_tenant(snapshot->tenant);
	uint64_t id = cairn_store_id(cairn_store_id(tenant, snapshot->host), snapshot->service);
	id = cairn_store_id(cairn_store_id(id, snapshot->version), snapshot->labels);
	if (profile->facts.life)
		return cairn_store_id(id, cairn_strings_bytes(&profile->strings, profile->facts.life));
	return cairn_store_id_number(cairn_store_id_number(id, profile->facts.process_id), (uint64_t)profile->facts.start_ns);
}

static struct cairn_bytes program_build(const struct cairn_profile *profile)
{
	for (size_t i = 0; i < profile->module_count; i++)
		if (profile->modules[i].path && profile->modules[i].path == profile->facts.process)
			return cairn_strings_bytes(&profile->strings, profile->modules[i].build_id);
	return profile->module_count ? cairn_strings_bytes(&profile->strings, profile->modules[0].build_id) : (struct cairn_bytes){"", 0};
}

static uint64_t whole_bytes(double bytes)
{
	return (uint64_t)fmin(fmax(0, bytes), 0x1p62);
}

bool cairn_store_accepts(const struct cairn_profile *profile, struct cairn_error *error)
{
	if (cairn_profile_find_value(profile, "inuse_space") == CAIRN_NONE)
		return cairn_fail(error, "it has no inuse_space: a store keeps profiles of live memory");
	return profile->facts.time_ns > 0 || cairn_fail(error, "it does not say when it was taken");
}

bool cairn_snapshot_write(const struct cairn_store_snapshot *snapshot, struct cairn_numbered *numbered, struct cairn_rows *rows,
			  struct cairn_snapshot_part *part)
{
	const struct cairn_profile *profile = snapshot->profile;
	const struct cairn_dump_facts *facts = &profile->facts;
	struct values which = {cairn_profile_find_value(profile, "inuse_space"), cairn_profile_find_value(profile, "inuse_objects"),
			       cairn_profile_find_value(profile, "alloc_space"), cairn_profile_find_value(profile, "alloc_objects")};
	if (!cairn_store_accepts(profile, NULL))
		return false;
	uint64_t tenant = cairn_store_tenant(snapshot->tenant), instance = cairn_snapshot_instance(snapshot);
	struct cairn_bytes build = program_build(profile), version = snapshot->version.length ? snapshot->version : build;
	part->samples = write_samples(snapshot, numbered, tenant, instance, &which, rows);
	part->cohort = cairn_store_cohort(tenant, snapshot->service, version);
	cairn_rows_add(rows, CAIRN_TABLE_PROCESSES, &(struct cairn_row_process){
		.instance = instance, .tenant = tenant, .service = snapshot->service, .version = version, .host = snapshot->host,
		.pid = facts->process_id, .program = cairn_strings_bytes(&profile->strings, facts->process), .build_id = build,
		.start_ns = facts->start_ns > 0 ? facts->start_ns : 0, .labels = snapshot->labels, .used_ns = this_week()});
	for (unsigned i = 0; snapshot->bill && i < CAIRN_BILL_LINES; i++)
		if (snapshot->bill->lines[i] > 0)
			cairn_rows_add(rows, CAIRN_TABLE_BILLS, &(struct cairn_row_bill){
				instance, facts->time_ns, cairn_bytes_of(cairn_bill_key(i)), (double)snapshot->bill->lines[i]});
	cairn_rows_add(rows, CAIRN_TABLE_SNAPSHOTS, &(struct cairn_row_snapshot){
		.instance = instance, .time_ns = facts->time_ns, .bytes = cairn_profile_total(profile, which.bytes),
		.resident = facts->resident_bytes, .memory_limit = facts->limit_bytes, .limit_of_group = facts->limit_of_group,
		.period = profile->period, .unsampling = cairn_sampling_number(profile->unsampling, profile->size_classes),
		.has_allocated = which.allocated_bytes != CAIRN_NONE && which.allocated_objects != CAIRN_NONE,
		.ended = cairn_strings_bytes(&profile->strings, facts->ended), .since_ns = facts->since_ns > 0 ? facts->since_ns : 0,
		.before_bytes = whole_bytes(facts->before_bytes), .own_bytes = whole_bytes(facts->anonymous_bytes + facts->swap_bytes)});
	return true;
}

void cairn_dictionary_add_stack(struct cairn_dictionary *dictionary, const struct cairn_row_stack *row)
{
	uint32_t *at = cairn_map_at(&dictionary->stacks, row->stack);
	if (*at != CAIRN_NONE)
		return;
	*at = (uint32_t)dictionary->list_count;
	cairn_array_room(dictionary->lists, dictionary->list_count, dictionary->list_capacity);
	dictionary->lists[dictionary->list_count++] = cairn_arena_keep(&dictionary->arena, row->frames.items);
}

void cairn_dictionary_add_frame(struct cairn_dictionary *dictionary, const struct cairn_row_frame *row)
{
	uint32_t *at = cairn_map_at(&dictionary->frames, row->frame);
	/* A frame that was named later may still have a row without names. */
	if (*at != CAIRN_NONE && (dictionary->places[*at].names.length > 0 || row->names.length == 0))
		return;
	*at = (uint32_t)dictionary->place_count;
	cairn_array_room(dictionary->places, dictionary->place_count, dictionary->place_capacity);
	dictionary->places[dictionary->place_count++] = (struct cairn_place){
		.build_id = cairn_arena_keep(&dictionary->arena, row->build_id),
		.module = cairn_arena_keep(&dictionary->arena, row->module),
		.names = cairn_arena_keep(&dictionary->arena, row->names),
		.offset = row->place,
	};
}

void cairn_dictionary_free(struct cairn_dictionary *dictionary)
{
	cairn_map_free(&dictionary->stacks);
	cairn_map_free(&dictionary->frames);
	free(dictionary->lists);
	free(dictionary->places);
	cairn_arena_free(&dictionary->arena);
}

static uint32_t take_count(struct cairn_bytes *line)
{
	struct cairn_bytes field = cairn_text_field(line, '\t');
	uint64_t value = 0;
	return cairn_text_decimal(&field, &value) && value < UINT32_MAX ? (uint32_t)value : 0;
}

static void set_names(struct cairn_profile *profile, uint32_t location, struct cairn_bytes names)
{
	enum { most = 256 };
	struct cairn_frame frames[most];
	struct cairn_bytes line;
	size_t count = 0;
	while (count < most && cairn_text_line(&names, &line, NULL)) {
		struct cairn_function function = {0};
		function.name = function.system_name = cairn_strings_add(&profile->strings, cairn_text_field(&line, '\t'));
		function.file = cairn_strings_add(&profile->strings, cairn_text_field(&line, '\t'));
		frames[count].line = take_count(&line);
		frames[count].column = 0;
		function.start_line = take_count(&line);
		frames[count++].function = cairn_profile_add_function(profile, &function);
	}
	if (count > 0)
		cairn_profile_set_frames(profile, location, frames, count);
}

enum { with_size_classes = 16 };

uint64_t cairn_sampling_number(enum cairn_unsampling unsampling, bool size_classes)
{
	return (uint64_t)unsampling + (size_classes ? with_size_classes : 0);
}

enum cairn_unsampling cairn_sampling_method(uint64_t number, bool *size_classes)
{
	*size_classes = (number & with_size_classes) != 0;
	number &= ~(uint64_t)with_size_classes;
	return number <= CAIRN_UNSAMPLE_RATIO ? (enum cairn_unsampling)number : CAIRN_UNSAMPLE_UNKNOWN;
}

/* The store does not keep where modules were loaded; each gets a range of addresses that no other can reach into. */
enum { module_shift = 44 };

static uint32_t add_mapping(struct cairn_profile *profile, struct cairn_map *mappings, const struct cairn_place *place)
{
	uint32_t path = cairn_strings_add(&profile->strings, place->module),
		 build_id = cairn_strings_add(&profile->strings, place->build_id);
	uint32_t module = cairn_profile_add_module(profile, path, build_id), *at = cairn_map_at(mappings, module);
	if (*at == CAIRN_NONE) {
		uint64_t start = (uint64_t)(module + 1) << module_shift;
		*at = cairn_profile_add_mapping(
			profile, &(struct cairn_mapping){.start = start, .limit = start + ((uint64_t)1 << module_shift), .module = module});
	}
	return *at;
}

/* The location of frame ID, added when it is first used. */
static uint32_t location_of(struct cairn_profile *profile, const struct cairn_dictionary *dictionary, struct cairn_map *locations,
			    struct cairn_map *mappings, uint64_t id)
{
	uint32_t *at = cairn_map_at(locations, id), place_at = cairn_map_get(&dictionary->frames, id);
	if (*at != CAIRN_NONE)
		return *at;
	static const char unknown[] = "[not in the store]\t\t0\t0\n";
	static const struct cairn_place lost = {.names = {unknown, sizeof unknown - 1}};
	const struct cairn_place *place = place_at == CAIRN_NONE ? &lost : &dictionary->places[place_at];
	struct cairn_location location = {.address = place->offset, .mapping = CAIRN_NONE, .is_call = true};
	uint64_t offset = place->offset & (((uint64_t)1 << module_shift) - 1);
	if (place->module.length || place->build_id.length) {
		location.mapping = add_mapping(profile, mappings, place);
		location.address = profile->mappings[location.mapping].start + offset;
	}
	*at = cairn_profile_new_location(profile, &location);
	set_names(profile, *at, place->names);
	return *at;
}

void cairn_snapshot_read(struct cairn_profile *profile, const struct cairn_dictionary *dictionary,
			 const struct cairn_store_process *process, const struct cairn_store_point *point,
			 const struct cairn_stored_sample *samples, size_t count)
{
	struct cairn_map locations = {0}, mappings = {0};
	profile->kind = CAIRN_PROFILE_HEAP;
	profile->format = "a store";
	profile->period = point->period;
	profile->unsampling = point->unsampling;
	profile->size_classes = point->size_classes;
	profile->facts.time_ns = point->time_ns;
	profile->facts.start_ns = process->start_ns;
	profile->facts.process_id = process->pid;
	profile->facts.process = cairn_profile_text(profile, *process->program ? process->program : process->service);
	profile->facts.since_ns = point->since_ns;
	profile->facts.before_bytes = point->before;
	profile->facts.anonymous_bytes = point->own;
	profile->facts.resident_bytes = point->resident;
	profile->facts.limit_bytes = point->limit;
	profile->facts.limit_of_group = point->limit_of_group;
	profile->facts.ended = cairn_profile_text(profile, point->ended);
	profile->period_type = (struct cairn_value_type){cairn_profile_text(profile, "space"), cairn_profile_text(profile, "bytes")};
	if (point->has_allocated) {
		cairn_profile_add_value_type(profile, "alloc_objects", "count");
		cairn_profile_add_value_type(profile, "alloc_space", "bytes");
	}
	cairn_profile_add_value_type(profile, "inuse_objects", "count");
	cairn_profile_add_value_type(profile, "inuse_space", "bytes");
	profile->default_value = profile->value_count - 1;
	for (size_t i = 0; i < count; i++) {
		uint32_t list = cairn_map_get(&dictionary->stacks, samples[i].stack);
		struct cairn_cursor ids = cairn_cursor(list == CAIRN_NONE ? (struct cairn_bytes){"", 0} : dictionary->lists[list]);
		size_t depth = cairn_cursor_left(&ids) / 8;
		uint32_t *room = cairn_profile_stack_room(profile, depth ? depth : 1);
		for (size_t k = 0; k < depth; k++)
			room[k] = location_of(profile, dictionary, &locations, &mappings, cairn_cursor_u64(&ids));
		if (depth == 0)
			room[0] = location_of(profile, dictionary, &locations, &mappings, 0);
		const struct cairn_stored_sample *sample = &samples[i];
		const double values[] = {sample->allocated_objects, sample->allocated_bytes, sample->objects, sample->bytes};
		size_t at = cairn_profile_add_sample(profile, depth ? depth : 1, 0, point->has_allocated ? values : values + 2);
		cairn_profile_set_sampled(profile, at, sample->sampled);
	}
	cairn_map_free(&locations);
	cairn_map_free(&mappings);
}
