/* profile.c - builds a profile piece by piece, and answers simple questions about it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/profile.h"

#include "base/array.h"
#include "base/path.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* More than anybody reads; a dump may bring any number of its own. */
enum { warnings_most = 100 };

void cairn_profile_init(struct cairn_profile *profile)
{
	*profile = (struct cairn_profile){.format = ""};
	cairn_array_room(profile->label_sets, 0, profile->label_set_capacity);
	profile->label_sets[0] = (struct cairn_label_set){0};
	profile->label_set_count = 1;
}

void cairn_profile_free(struct cairn_profile *profile)
{
	cairn_strings_free(&profile->strings);
	free(profile->modules);
	free(profile->mappings);
	free(profile->functions);
	free(profile->frames);
	free(profile->locations);
	free(profile->stacks);
	free(profile->samples);
	free(profile->values);
	free(profile->sampled);
	free(profile->counted);
	free(profile->freed);
	free(profile->aged);
	free(profile->history);
	free(profile->base);
	free(profile->labels);
	free(profile->label_sets);
	free(profile->threads);
	free(profile->comments);
	free(profile->warnings);
	cairn_index_free(&profile->module_index);
	cairn_index_free(&profile->function_index);
	cairn_index_free(&profile->label_index);
	cairn_index_free(&profile->location_index);
	*profile = (struct cairn_profile){.format = ""};
}

void cairn_profile_warn(struct cairn_profile *profile, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (profile->warning_count == warnings_most)
		return;
	uint32_t id = cairn_profile_text(profile, text);
	for (size_t i = 0; i < profile->warning_count; i++)
		if (profile->warnings[i] == id)
			return;
	cairn_array_room(profile->warnings, profile->warning_count, profile->warning_capacity);
	profile->warnings[profile->warning_count++] = id;
}

uint32_t cairn_profile_text(struct cairn_profile *profile, const char *text)
{
	return cairn_strings_add_text(&profile->strings, text);
}

void cairn_profile_add_value_type(struct cairn_profile *profile, const char *type, const char *unit)
{
	if (profile->value_count < CAIRN_VALUES_MAX)
		profile->value_types[profile->value_count++] =
			(struct cairn_value_type){cairn_profile_text(profile, type), cairn_profile_text(profile, unit)};
}

uint32_t cairn_profile_add_module(struct cairn_profile *profile, uint32_t path, uint32_t build_id)
{
	uint64_t hash = cairn_hash_mix((uint64_t)path << 32 | build_id);
	size_t position = 0;
	uint32_t id;
	while ((id = cairn_index_next(&profile->module_index, hash, &position)) != CAIRN_NONE)
		if (profile->modules[id].path == path && profile->modules[id].build_id == build_id)
			return id;
	cairn_array_room(profile->modules, profile->module_count, profile->module_capacity);
	id = (uint32_t)profile->module_count++;
	profile->modules[id] = (struct cairn_module){.path = path, .build_id = build_id};
	cairn_index_add(&profile->module_index, hash, id);
	return id;
}

uint32_t cairn_profile_add_mapping(struct cairn_profile *profile, const struct cairn_mapping *mapping)
{
	cairn_array_room(profile->mappings, profile->mapping_count, profile->mapping_capacity);
	profile->mappings[profile->mapping_count] = *mapping;
	return (uint32_t)profile->mapping_count++;
}

uint32_t cairn_profile_add_function(struct cairn_profile *profile, const struct cairn_function *function)
{
	uint64_t hash = cairn_hash_bytes(function, sizeof *function);
	size_t position = 0;
	uint32_t id;
	while ((id = cairn_index_next(&profile->function_index, hash, &position)) != CAIRN_NONE)
		if (memcmp(&profile->functions[id], function, sizeof *function) == 0)
			return id;
	cairn_array_room(profile->functions, profile->function_count, profile->function_capacity);
	id = (uint32_t)profile->function_count++;
	profile->functions[id] = *function;
	cairn_index_add(&profile->function_index, hash, id);
	return id;
}

uint32_t cairn_profile_new_location(struct cairn_profile *profile, const struct cairn_location *location)
{
	cairn_array_room(profile->locations, profile->location_count, profile->location_capacity);
	profile->locations[profile->location_count] = *location;
	return (uint32_t)profile->location_count++;
}

uint32_t cairn_profile_add_location(struct cairn_profile *profile, uint64_t address, uint32_t mapping, bool is_call)
{
	uint64_t hash = cairn_hash_mix(address * 2 + is_call + cairn_hash_mix(mapping));
	size_t position = 0;
	uint32_t id;
	while ((id = cairn_index_next(&profile->location_index, hash, &position)) != CAIRN_NONE) {
		const struct cairn_location *known = &profile->locations[id];
		if (known->address == address && known->mapping == mapping && known->is_call == is_call)
			return id;
	}
	id = cairn_profile_new_location(profile, &(struct cairn_location){.address = address, .mapping = mapping, .is_call = is_call});
	cairn_index_add(&profile->location_index, hash, id);
	return id;
}

struct cairn_frame *cairn_profile_frame_room(struct cairn_profile *profile, uint32_t location, size_t count)
{
	assert(location < profile->location_count);
	profile->frames =
		cairn_array_reserve(profile->frames, &profile->frame_capacity, profile->frame_count + count + 1, sizeof *profile->frames);
	profile->locations[location].first_frame = (uint32_t)profile->frame_count;
	profile->locations[location].frame_count = (uint32_t)count;
	profile->frame_count += count;
	return profile->frames + profile->frame_count - count;
}

void cairn_profile_set_frames(struct cairn_profile *profile, uint32_t location, const struct cairn_frame *frames, size_t count)
{
	struct cairn_frame *room = cairn_profile_frame_room(profile, location, count);
	if (count)
		memcpy(room, frames, count * sizeof *frames);
}

static bool same_label(const struct cairn_label *a, const struct cairn_label *b)
{
	return a->key == b->key && a->text == b->text && a->unit == b->unit && a->is_number == b->is_number && a->number == b->number;
}

uint32_t cairn_profile_add_labels(struct cairn_profile *profile, const struct cairn_label *labels, size_t count)
{
	if (count == 0)
		return 0;
	uint64_t hash = count;
	for (size_t i = 0; i < count; i++) {
		uint64_t words = (uint64_t)labels[i].key << 32 | labels[i].text;
		hash = cairn_hash_mix(hash ^ cairn_hash_mix(words + (uint64_t)labels[i].number) ^ labels[i].unit);
	}
	size_t position = 0;
	uint32_t id;
	while ((id = cairn_index_next(&profile->label_index, hash, &position)) != CAIRN_NONE) {
		const struct cairn_label_set *set = &profile->label_sets[id];
		size_t same = 0;
		while (set->count == count && same < count && same_label(&profile->labels[set->first + same], &labels[same]))
			same++;
		if (same == count)
			return id;
	}
	profile->labels = cairn_array_reserve(profile->labels, &profile->label_capacity, profile->label_count + count, sizeof *labels);
	memcpy(profile->labels + profile->label_count, labels, count * sizeof *labels);
	cairn_array_room(profile->label_sets, profile->label_set_count, profile->label_set_capacity);
	id = (uint32_t)profile->label_set_count++;
	profile->label_sets[id] = (struct cairn_label_set){(uint32_t)profile->label_count, (uint32_t)count};
	profile->label_count += count;
	cairn_index_add(&profile->label_index, hash, id);
	return id;
}

uint32_t *cairn_profile_stack_room(struct cairn_profile *profile, size_t depth)
{
	size_t room = profile->stack_count + depth + 1;
	profile->stacks = cairn_array_reserve(profile->stacks, &profile->stack_capacity, room, sizeof *profile->stacks);
	return profile->stacks + profile->stack_count;
}

void cairn_profile_label_all(struct cairn_profile *profile, const char *key, const char *text)
{
	enum { most = 16 };
	struct cairn_label labels[most + 1];
	struct cairn_label added = {.key = cairn_profile_text(profile, key), .text = cairn_profile_text(profile, text)};
	uint32_t before = CAIRN_NONE, after = 0;
	for (size_t i = 0; i < profile->sample_count; i++) {
		struct cairn_sample *sample = &profile->samples[i];
		if (sample->labels != before) {
			const struct cairn_label_set *set = &profile->label_sets[sample->labels];
			size_t count = set->count < most ? set->count : most;
			if (count > 0)
				memcpy(labels, profile->labels + set->first, count * sizeof *labels);
			labels[count] = added;
			before = sample->labels;
			after = cairn_profile_add_labels(profile, labels, count + 1);
		}
		sample->labels = after;
	}
}

size_t cairn_profile_add_sample(struct cairn_profile *profile, size_t depth, uint32_t labels, const double *values)
{
	size_t sample = profile->sample_count++, width = profile->value_count;
	if (!profile->stacks) /* nobody asked for the room of no frames: a stack has an address even so */
		cairn_profile_stack_room(profile, 0);
	profile->samples = cairn_array_reserve(profile->samples, &profile->sample_capacity, sample + 1, sizeof *profile->samples);
	profile->samples[sample] = (struct cairn_sample){(uint32_t)profile->stack_count, (uint32_t)depth, labels};
	profile->stack_count += depth;
	profile->values = cairn_array_reserve(profile->values, &profile->value_capacity, (sample + 1) * width, sizeof *profile->values);
	memcpy(profile->values + sample * width, values, width * sizeof *values);
	return sample;
}

size_t cairn_profile_add_sample_like(struct cairn_profile *profile, size_t like, uint32_t labels, const double *values)
{
	size_t sample = cairn_profile_add_sample(profile, 0, labels, values);
	profile->samples[sample].stack = profile->samples[like].stack;
	profile->samples[sample].depth = profile->samples[like].depth;
	return sample;
}

void cairn_profile_subtract(struct cairn_profile *profile, size_t sample, uint32_t value, double amount)
{
	assert(sample < profile->sample_count && value < profile->value_count);
	size_t needed = (sample + 1) * profile->value_count;
	if (profile->base_count < needed) {
		profile->base = cairn_array_reserve(profile->base, &profile->base_capacity, needed, sizeof *profile->base);
		memset(profile->base + profile->base_count, 0, (needed - profile->base_count) * sizeof *profile->base);
		profile->base_count = needed;
	}
	profile->base[sample * profile->value_count + value] += amount;
	profile->values[sample * profile->value_count + value] -= amount;
}

void cairn_profile_set_sampled(struct cairn_profile *profile, size_t sample, double count)
{
	assert(sample < profile->sample_count);
	size_t before = profile->sampled_capacity;
	profile->sampled = cairn_array_reserve(profile->sampled, &profile->sampled_capacity, sample + 1, sizeof *profile->sampled);
	memset(profile->sampled + before, 0, (profile->sampled_capacity - before) * sizeof *profile->sampled);
	profile->sampled[sample] = count;
}

struct cairn_spread *cairn_profile_counted(struct cairn_profile *profile, size_t sample)
{
	size_t before = profile->counted_capacity;
	profile->counted = cairn_array_reserve(profile->counted, &profile->counted_capacity, sample + 1, sizeof *profile->counted);
	memset(profile->counted + before, 0, (profile->counted_capacity - before) * sizeof *profile->counted);
	return &profile->counted[sample];
}

bool cairn_profile_is_diff_base(const struct cairn_profile *profile, uint32_t labels)
{
	if (labels == 0)
		return false;
	const struct cairn_label_set *set = &profile->label_sets[labels];
	for (uint32_t i = 0; i < set->count; i++) {
		const struct cairn_label *label = &profile->labels[set->first + i];
		if (strcmp(cairn_profile_string(profile, label->key), "pprof::base") == 0 &&
		    strcmp(cairn_profile_string(profile, label->text), "true") == 0)
			return true;
	}
	return false;
}

const struct cairn_module *cairn_profile_module(const struct cairn_profile *profile, const struct cairn_location *location)
{
	if (location->mapping == CAIRN_NONE)
		return NULL;
	return &profile->modules[profile->mappings[location->mapping].module];
}

uint64_t cairn_profile_file_offset(const struct cairn_profile *profile, const struct cairn_location *location)
{
	if (location->mapping == CAIRN_NONE)
		return location->address;
	const struct cairn_mapping *mapping = &profile->mappings[location->mapping];
	return location->address - mapping->start + mapping->offset;
}

void cairn_profile_place(const struct cairn_profile *profile, const struct cairn_location *location, struct cairn_buffer *out)
{
	const struct cairn_module *module = cairn_profile_module(profile, location);
	if (!module) {
		cairn_buffer_hex(out, location->address + location->is_call);
	} else if (!module->path) {
		cairn_buffer_text(out, "[code without a file]");
	} else {
		cairn_buffer_text(out, cairn_base_name(cairn_profile_string(profile, module->path)));
		cairn_buffer_byte(out, '+');
		cairn_buffer_hex(out, cairn_profile_file_offset(profile, location) + profile->mappings[location->mapping].link_bias);
	}
}

uint32_t cairn_profile_find_value(const struct cairn_profile *profile, const char *name)
{
	for (uint32_t i = 0; i < profile->value_count; i++)
		if (strcmp(cairn_profile_string(profile, profile->value_types[i].type), name) == 0)
			return i;
	return CAIRN_NONE;
}

bool cairn_profile_in_bytes(const struct cairn_profile *profile, uint32_t value)
{
	return strcmp(cairn_profile_string(profile, profile->value_types[value].unit), "bytes") == 0;
}

uint32_t cairn_profile_partner(const struct cairn_profile *profile, uint32_t value)
{
	assert(value < CAIRN_VALUES_MAX);
	const char *type = cairn_profile_string(profile, profile->value_types[value].type);
	const struct cairn_shown_view *view = cairn_shown_of(type);
	if (!view || !view->objects || view->exact)
		return CAIRN_NONE;
	return cairn_profile_find_value(profile, strcmp(type, view->space) == 0 ? view->objects : view->space);
}

bool cairn_profile_knows_errors(const struct cairn_profile *profile, uint32_t value)
{
	return profile->unsampling == CAIRN_UNSAMPLE_NONE ||
	       (profile->unsampling == CAIRN_UNSAMPLE_POISSON &&
		(profile->kind == CAIRN_PROFILE_CPU || cairn_profile_partner(profile, value) != CAIRN_NONE));
}

double cairn_profile_weight(const struct cairn_profile *profile, uint32_t value, double amount, double partner)
{
	if (profile->unsampling != CAIRN_UNSAMPLE_POISSON || !(amount > 0))
		return 0;
	if (profile->kind == CAIRN_PROFILE_CPU)
		return value == profile->default_value ? profile->period : 1;
	if (!(partner > 0))
		return 0;
	bool in_bytes = cairn_profile_in_bytes(profile, value);
	double mean = in_bytes ? amount / partner : partner / amount;
	return (in_bytes ? mean : 1) * cairn_sample_weight(profile->period, mean);
}

double cairn_profile_unit(const struct cairn_profile *profile, uint32_t value, double amount, double partner)
{
	double weight = cairn_profile_weight(profile, value, amount, partner);
	if (profile->kind == CAIRN_PROFILE_CPU)
		return weight;
	bool in_bytes = cairn_profile_in_bytes(profile, value);
	return weight + (in_bytes ? (amount > 0 && partner > 0 ? amount / partner : 0) : 1);
}

double cairn_profile_total(const struct cairn_profile *profile, uint32_t value)
{
	double total = 0;
	for (size_t i = 0; i < profile->sample_count; i++)
		total += profile->values[i * profile->value_count + value];
	return total;
}

/* Removes column VALUE from rows of WIDTH numbers, COUNT numbers in total. Returns how many numbers are left. */
static size_t drop_column(double *numbers, size_t count, uint32_t width, uint32_t value)
{
	size_t to = 0;
	for (size_t i = 0; i < count; i++)
		if (i % width != value)
			numbers[to++] = numbers[i];
	return to;
}

void cairn_profile_drop_value(struct cairn_profile *profile, uint32_t value)
{
	uint32_t width = profile->value_count;
	assert(value < width);
	drop_column(profile->values, profile->sample_count * width, width, value);
	profile->base_count = drop_column(profile->base, profile->base_count, width, value);
	memmove(&profile->value_types[value], &profile->value_types[value + 1], (width - value - 1) * sizeof *profile->value_types);
	profile->value_count--;
	if (profile->default_value > value || profile->default_value == profile->value_count)
		profile->default_value -= profile->default_value > 0;
}

bool cairn_profile_append_value(struct cairn_profile *profile, const char *type, const char *unit)
{
	uint32_t width = profile->value_count;
	if (width == CAIRN_VALUES_MAX)
		return false;
	cairn_profile_add_value_type(profile, type, unit);
	profile->values = cairn_array_reserve(profile->values, &profile->value_capacity, profile->sample_count * (width + 1),
					      sizeof *profile->values);
	for (size_t i = profile->sample_count; i-- > 0;) { /* from the last row on, because each moves up */
		memmove(profile->values + i * (width + 1), profile->values + i * width, width * sizeof *profile->values);
		profile->values[i * (width + 1) + width] = 0;
	}
	return true;
}

bool cairn_profile_complete(struct cairn_profile *profile)
{
	bool good = true;
	for (size_t i = 0; i < sizeof cairn_shown_views / sizeof *cairn_shown_views; i++) {
		const struct cairn_shown_view *view = &cairn_shown_views[i];
		if (view->objects && cairn_profile_find_value(profile, view->objects) == CAIRN_NONE)
			good = good && cairn_profile_append_value(profile, view->objects, "count");
		if (cairn_profile_find_value(profile, view->space) == CAIRN_NONE)
			good = good && cairn_profile_append_value(profile, view->space, "bytes");
	}
	return good;
}

void cairn_profile_keep_samples(struct cairn_profile *profile, const bool *keep)
{
	size_t to = 0, width = profile->value_count, aged = 0;
	uint32_t *places = profile->aged_count ? cairn_array_zero(profile->sample_count, sizeof *places) : NULL;
	for (size_t from = 0; from < profile->sample_count; from++) {
		if (!keep[from])
			continue;
		if (places)
			places[from] = (uint32_t)to;
		profile->samples[to] = profile->samples[from];
		memmove(profile->values + to * width, profile->values + from * width, width * sizeof *profile->values);
		if (from < profile->freed_count)
			profile->freed[to] = profile->freed[from];
		if (profile->sampled)
			profile->sampled[to] = profile->sampled[from];
		if (profile->counted)
			*cairn_profile_counted(profile, to) = *cairn_profile_counted(profile, from);
		for (size_t v = 0; v < width && to * width < profile->base_count; v++)
			profile->base[to * width + v] = cairn_profile_base(profile, from, (uint32_t)v);
		to++;
	}
	for (size_t i = 0; i < profile->aged_count; i++)
		if (keep[profile->aged[i].sample]) {
			profile->aged[aged] = profile->aged[i];
			profile->aged[aged].sample = places[profile->aged[i].sample];
			aged++;
		}
	free(places);
	profile->aged_count = aged;
	profile->sample_count = to;
	if (profile->base_count > to * width)
		profile->base_count = to * width;
}
