/* combine.c - adds and subtracts profiles.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/combine.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

/* Maps indices of the part being added to indices of the sum. */
struct translation {
	uint32_t *strings;   /* CAIRN_NONE until needed */
	uint32_t *modules;
	uint32_t *mappings;  /* CAIRN_NONE until needed */
	uint32_t *functions; /* CAIRN_NONE until needed */
	uint32_t *locations; /* CAIRN_NONE until needed */
	uint32_t *labels;    /* label sets; CAIRN_NONE until needed */
};

static uint32_t string(struct cairn_combine *combine, const struct cairn_profile *part, struct translation *to, uint32_t id)
{
	if (to->strings[id] == CAIRN_NONE)
		to->strings[id] = cairn_strings_add(&combine->sum->strings, cairn_strings_bytes(&part->strings, id));
	return to->strings[id];
}

/* A build-id identifies a file whatever its path; without one, the path identifies it. */
static uint32_t add_module(struct cairn_combine *combine, uint32_t path, uint32_t build_id)
{
	if (!build_id)
		return cairn_profile_add_module(combine->sum, path, 0);
	uint64_t hash = cairn_hash_mix(build_id);
	size_t position = 0;
	uint32_t id;
	while ((id = cairn_index_next(&combine->modules, hash, &position)) != CAIRN_NONE)
		if (combine->sum->modules[id].build_id == build_id)
			return id;
	id = cairn_profile_add_module(combine->sum, path, build_id);
	cairn_index_add(&combine->modules, hash, id);
	return id;
}

static void add_modules(struct cairn_combine *combine, const struct cairn_profile *part, struct translation *to)
{
	for (size_t i = 0; i < part->module_count; i++) {
		const struct cairn_module *module = &part->modules[i];
		to->modules[i] = add_module(combine, string(combine, part, to, module->path), string(combine, part, to, module->build_id));
		combine->sum->modules[to->modules[i]].deleted |= module->deleted;
	}
}

/* Modules without a path or a build-id are memory of no file, where equal offsets mean nothing. */
static bool is_file(const struct cairn_module *module)
{
	return module->path != 0 || module->build_id != 0;
}

static uint32_t add_mapping(struct cairn_combine *combine, const struct cairn_profile *part, struct translation *to, uint32_t id)
{
	if (to->mappings[id] != CAIRN_NONE)
		return to->mappings[id];
	struct cairn_profile *sum = combine->sum;
	struct cairn_mapping mapping = part->mappings[id];
	mapping.module = to->modules[mapping.module];
	bool has_file = is_file(&sum->modules[mapping.module]);
	uint64_t size = mapping.limit - mapping.start;
	uint64_t hash = cairn_hash_mix(mapping.offset ^ cairn_hash_mix(size + ((uint64_t)mapping.module << 40)));
	size_t position = 0;
	uint32_t known;
	while ((known = cairn_index_next(&combine->mappings, hash, &position)) != CAIRN_NONE) {
		const struct cairn_mapping *other = &sum->mappings[known];
		if (other->module == mapping.module && other->offset == mapping.offset && other->limit - other->start == size &&
		    (has_file || other->start == mapping.start))
			return to->mappings[id] = known;
	}
	known = cairn_profile_add_mapping(sum, &mapping);
	cairn_index_add(&combine->mappings, hash, known);
	return to->mappings[id] = known;
}

static uint32_t add_function(struct cairn_combine *combine, const struct cairn_profile *part, struct translation *to, uint32_t id)
{
	if (to->functions[id] == CAIRN_NONE) {
		struct cairn_function function = part->functions[id];
		function.name = string(combine, part, to, function.name);
		function.system_name = string(combine, part, to, function.system_name);
		function.file = string(combine, part, to, function.file);
		to->functions[id] = cairn_profile_add_function(combine->sum, &function);
	}
	return to->functions[id];
}

/* What identifies a location within its module: the offset in a file, otherwise the address. */
static uint64_t place_of(const struct cairn_profile *profile, const struct cairn_location *location)
{
	const struct cairn_module *module = cairn_profile_module(profile, location);
	return module && is_file(module) && location->address ? cairn_profile_file_offset(profile, location) : location->address;
}

static uint64_t place_hash(const struct cairn_profile *sum, const struct cairn_location *location)
{
	uint32_t module = location->mapping == CAIRN_NONE ? CAIRN_NONE : sum->mappings[location->mapping].module;
	return cairn_hash_mix(cairn_hash_mix(place_of(sum, location) * 2 + location->is_call) ^ cairn_hash_mix(module));
}

static bool same_place(const struct cairn_profile *sum, const struct cairn_location *a, const struct cairn_location *b)
{
	return a->is_call == b->is_call && cairn_profile_module(sum, a) == cairn_profile_module(sum, b) &&
	       place_of(sum, a) == place_of(sum, b);
}

static bool same_frames(const struct cairn_profile *sum, const struct cairn_location *known, const struct cairn_location *location,
			const struct cairn_frame *frames)
{
	return known->frame_count == location->frame_count &&
	       (known->frame_count == 0 || memcmp(sum->frames + known->first_frame, frames, known->frame_count * sizeof *frames) == 0);
}

/* The location indexed by the place of LOCATION alone, or CAIRN_NONE. */
static uint32_t find_place(const struct cairn_combine *combine, uint64_t hash, const struct cairn_location *location)
{
	size_t position = 0;
	uint32_t known;
	while ((known = cairn_index_next(&combine->locations, hash, &position)) != CAIRN_NONE)
		if (same_place(combine->sum, &combine->sum->locations[known], location))
			break;
	return known;
}

/* The one indexed by FRAMES as well. */
static uint32_t find_frames(const struct cairn_combine *combine, uint64_t hash, const struct cairn_location *location,
			    const struct cairn_frame *frames)
{
	const struct cairn_profile *sum = combine->sum;
	size_t position = 0;
	uint32_t known;
	while ((known = cairn_index_next(&combine->locations, hash, &position)) != CAIRN_NONE)
		if (same_place(sum, &sum->locations[known], location) && same_frames(sum, &sum->locations[known], location, frames))
			break;
	return known;
}

static uint32_t new_location(struct cairn_combine *combine, uint64_t hash, const struct cairn_location *location,
			     const struct cairn_frame *frames)
{
	uint32_t id = cairn_profile_new_location(combine->sum, location);
	cairn_profile_set_frames(combine->sum, id, frames, location->frame_count);
	cairn_index_add(&combine->locations, hash, id);
	return id;
}

/* Finds LOCATION, in terms of the sum and with FRAMES, or adds it. The first location at an address is indexed by its place alone, so that
 * it is found without frames too; those with other frames, and those without an address, are indexed by their frames as well. */
static uint32_t join_location(struct cairn_combine *combine, const struct cairn_location *location, const struct cairn_frame *frames)
{
	struct cairn_profile *sum = combine->sum;
	uint64_t hash = place_hash(sum, location);
	uint32_t known;
	if (location->address) {
		if ((known = find_place(combine, hash, location)) == CAIRN_NONE)
			return new_location(combine, hash, location, frames);
		if (location->frame_count == 0 || same_frames(sum, &sum->locations[known], location, frames))
			return known;
		if (sum->locations[known].frame_count == 0) {
			cairn_profile_set_frames(sum, known, frames, location->frame_count);
			return known;
		}
	}
	hash = cairn_hash_mix(hash ^ cairn_hash_bytes(frames, location->frame_count * sizeof *frames));
	known = find_frames(combine, hash, location, frames);
	return known == CAIRN_NONE ? new_location(combine, hash, location, frames) : known;
}

static uint32_t add_location(struct cairn_combine *combine, const struct cairn_profile *part, struct translation *to, uint32_t id)
{
	if (to->locations[id] != CAIRN_NONE)
		return to->locations[id];
	struct cairn_location location = part->locations[id];
	struct cairn_frame *frames = cairn_array_new(location.frame_count, sizeof *frames);
	for (uint32_t i = 0; i < location.frame_count; i++) {
		frames[i] = part->frames[location.first_frame + i];
		frames[i].function = add_function(combine, part, to, frames[i].function);
	}
	if (location.mapping != CAIRN_NONE) {
		location.mapping = add_mapping(combine, part, to, location.mapping);
		const struct cairn_mapping *mapping = &combine->sum->mappings[location.mapping];
		if (location.address)
			location.address = cairn_profile_file_offset(part, &part->locations[id]) - mapping->offset + mapping->start;
	}
	to->locations[id] = join_location(combine, &location, frames);
	free(frames);
	return to->locations[id];
}

static uint32_t add_labels(struct cairn_combine *combine, const struct cairn_profile *part, struct translation *to, uint32_t id)
{
	if (id == 0 || to->labels[id] != CAIRN_NONE)
		return id ? to->labels[id] : 0;
	struct cairn_label_set set = part->label_sets[id];
	struct cairn_label *labels = cairn_array_new(set.count, sizeof *labels);
	for (uint32_t i = 0; i < set.count; i++) {
		labels[i] = part->labels[set.first + i];
		labels[i].key = string(combine, part, to, labels[i].key);
		labels[i].text = string(combine, part, to, labels[i].text);
		labels[i].unit = string(combine, part, to, labels[i].unit);
	}
	to->labels[id] = cairn_profile_add_labels(combine->sum, labels, set.count);
	free(labels);
	return to->labels[id];
}

static uint32_t find_sample(const struct cairn_combine *combine, uint64_t hash, const uint32_t *stack, uint32_t depth, uint32_t labels)
{
	const struct cairn_profile *sum = combine->sum;
	size_t position = 0;
	uint32_t known;
	while ((known = cairn_index_next(&combine->samples, hash, &position)) != CAIRN_NONE) {
		const struct cairn_sample *sample = &sum->samples[known];
		if (sample->depth == depth && sample->labels == labels &&
		    (depth == 0 || memcmp(sum->stacks + sample->stack, stack, depth * sizeof *stack) == 0))
			return known;
	}
	return CAIRN_NONE;
}

/* COLUMNS gives the value of the part that corresponds to each value of the sum. */
static void add_samples(struct cairn_combine *combine, const struct cairn_profile *part, struct translation *to,
			const uint32_t *columns, double factor)
{
	struct cairn_profile *sum = combine->sum;
	combine->places = cairn_array_reserve(combine->places, &combine->place_capacity, part->sample_count, sizeof *combine->places);
	for (size_t i = 0; i < part->sample_count; i++) {
		const struct cairn_sample *sample = &part->samples[i];
		const double *from = cairn_profile_values(part, i);
		uint32_t *stack = cairn_profile_stack_room(sum, sample->depth);
		for (uint32_t d = 0; d < sample->depth; d++)
			stack[d] = add_location(combine, part, to, part->stacks[sample->stack + d]);
		uint32_t labels = add_labels(combine, part, to, sample->labels);
		uint64_t hash = cairn_hash_mix(cairn_hash_bytes(stack, sample->depth * sizeof *stack) + labels);
		size_t known = find_sample(combine, hash, stack, sample->depth, labels);
		if (known == CAIRN_NONE) {
			static const double zeros[CAIRN_VALUES_MAX];
			known = cairn_profile_add_sample(sum, sample->depth, labels, zeros);
			if (part->sampled || sum->sampled)
				cairn_profile_set_sampled(sum, known, 0);
			cairn_index_add(&combine->samples, hash, (uint32_t)known);
		}
		combine->places[i] = (uint32_t)known;
		for (uint32_t v = 0; v < sum->value_count; v++) {
			double amount = factor * from[columns[v]];
			if (factor < 0)
				cairn_profile_subtract(sum, known, v, -amount);
			else
				sum->values[known * sum->value_count + v] += amount;
		}
		if (part->sampled && sum->sampled)
			sum->sampled[known] += part->sampled[i];
		if (part->counted && i < part->counted_capacity && factor == 1)
			cairn_spread_add(cairn_profile_counted(sum, known), part->counted[i]);
		else
			cairn_profile_counted(sum, known)->variance = NAN;
	}
}

static void take_facts(struct cairn_combine *combine, const struct cairn_profile *part, struct translation *to)
{
	struct cairn_profile *sum = combine->sum;
	sum->kind = part->kind;
	sum->format = part->format;
	sum->allocated = part->allocated;
	sum->period = part->period;
	sum->unsampling = part->unsampling;
	sum->mixed_periods = part->mixed_periods;
	sum->facts.time_ns = part->facts.time_ns;
	sum->facts.duration_ns = part->facts.duration_ns;
	sum->facts.process = string(combine, part, to, part->facts.process);
	sum->facts.process_id = part->facts.process_id;
	sum->value_count = part->value_count;
	sum->default_value = part->default_value;
	sum->period_type.type = string(combine, part, to, part->period_type.type);
	sum->period_type.unit = string(combine, part, to, part->period_type.unit);
	sum->drop_frames = string(combine, part, to, part->drop_frames);
	sum->keep_frames = string(combine, part, to, part->keep_frames);
	sum->doc_url = string(combine, part, to, part->doc_url);
	for (uint32_t v = 0; v < part->value_count; v++)
		sum->value_types[v] = (struct cairn_value_type){string(combine, part, to, part->value_types[v].type),
								string(combine, part, to, part->value_types[v].unit)};
}

static void take_lists(struct cairn_combine *combine, const struct cairn_profile *part, struct translation *to)
{
	struct cairn_profile *sum = combine->sum;
	for (size_t i = 0; i < part->thread_count; i++) {
		cairn_array_room(sum->threads, sum->thread_count, sum->thread_capacity);
		sum->threads[sum->thread_count++] =
			(struct cairn_thread){part->threads[i].uid, string(combine, part, to, part->threads[i].name)};
	}
	for (size_t i = 0; i < part->comment_count; i++) {
		cairn_array_room(sum->comments, sum->comment_count, sum->comment_capacity);
		sum->comments[sum->comment_count++] = string(combine, part, to, part->comments[i]);
	}
	for (size_t i = 0; i < part->warning_count; i++)
		cairn_profile_warn(sum, "%s", cairn_profile_string(part, part->warnings[i]));
}

/* Drops the values of the sum that PART does not have, and finds the others in PART. */
static bool match_values(struct cairn_profile *sum, const struct cairn_profile *part, uint32_t *columns, struct cairn_error *error)
{
	if (sum->kind != part->kind)
		return cairn_fail(error, "profiles of two kinds cannot be put together: %s and %s", sum->format, part->format);
	for (uint32_t v = 0; v < sum->value_count;) {
		const char *type = cairn_profile_string(sum, sum->value_types[v].type);
		const char *unit = cairn_profile_string(sum, sum->value_types[v].unit), *other;
		columns[v] = cairn_profile_find_value(part, type);
		if (columns[v] != CAIRN_NONE) {
			other = cairn_profile_string(part, part->value_types[columns[v]].unit);
			if (strcmp(unit, other) != 0)
				return cairn_fail(error, "%s is in different units: \"%.40s\" and \"%.40s\"", type, unit, other);
			v++;
		} else if (sum->value_count > 1) {
			cairn_profile_drop_value(sum, v);
		} else {
			return cairn_fail(error, "the profiles have no value in common (%s is only in one)", type);
		}
	}
	return true;
}

static bool has_known_errors(const struct cairn_profile *profile)
{
	return profile->unsampling == CAIRN_UNSAMPLE_NONE || profile->unsampling == CAIRN_UNSAMPLE_POISSON;
}

void cairn_combine_start(struct cairn_combine *combine, struct cairn_profile *sum)
{
	*combine = (struct cairn_combine){.sum = sum};
}

bool cairn_combine_add(struct cairn_combine *combine, const struct cairn_profile *part, double factor, struct cairn_error *error)
{
	struct cairn_profile *sum = combine->sum;
	struct translation to = {
		.strings = cairn_array_none(part->strings.count + 1),
		.modules = cairn_array_none(part->module_count),
		.mappings = cairn_array_none(part->mapping_count),
		.functions = cairn_array_none(part->function_count),
		.locations = cairn_array_none(part->location_count),
		.labels = cairn_array_none(part->label_set_count),
	};
	bool first = sum->value_count == 0;
	sum->facts.foreign |= part->facts.foreign;
	if (first)
		take_facts(combine, part, &to);
	uint32_t columns[CAIRN_VALUES_MAX];
	bool good = match_values(sum, part, columns, error);
	if (good) {
		if (part->period != sum->period && part->period > 0)
			sum->mixed_periods = true;
		if (part->period > sum->period)
			sum->period = part->period;
		/* If one part was sampled and another was not, the sum has sampling errors, provided that the errors of both are known. */
		if (part->unsampling != sum->unsampling)
			sum->unsampling = has_known_errors(part) && has_known_errors(sum) ? CAIRN_UNSAMPLE_POISSON : CAIRN_UNSAMPLE_UNKNOWN;
		if (factor < 0) /* a base without samples is one, too */
			sum->base = cairn_array_reserve(sum->base, &sum->base_capacity, 1, sizeof *sum->base);
		sum->size_classes |= part->size_classes;
		take_lists(combine, part, &to);
		add_modules(combine, part, &to);
		for (uint32_t i = 0; first && i < part->mapping_count; i++)
			add_mapping(combine, part, &to, i);
		add_samples(combine, part, &to, columns, factor);
	}
	free(to.strings);
	free(to.modules);
	free(to.mappings);
	free(to.functions);
	free(to.locations);
	free(to.labels);
	return good;
}

void cairn_combine_finish(struct cairn_combine *combine)
{
	cairn_index_free(&combine->samples);
	cairn_index_free(&combine->locations);
	cairn_index_free(&combine->mappings);
	cairn_index_free(&combine->modules);
	free(combine->places);
}

void cairn_combine_normalize(struct cairn_profile *sum)
{
	for (uint32_t v = 0; v < sum->value_count; v++) {
		double before = 0, now = 0;
		for (size_t i = 0; i < sum->sample_count; i++) {
			before += cairn_profile_base(sum, i, v);
			now += cairn_profile_values(sum, i)[v] + cairn_profile_base(sum, i, v);
		}
		double ratio = before != 0 ? now / before : 0;
		for (size_t at = v; at < sum->base_count; at += sum->value_count) {
			sum->values[at] += sum->base[at] * (1 - ratio);
			sum->base[at] *= ratio;
		}
	}
}
