/* pprof_read.c - reads pprof's profile.proto, already decompressed.
 *
 * Fields may come in any order, and strings are referred to by index. So the first pass collects the string table, plain numbers, and the
 * position of each kind of message; then there is one pass for each kind, with kinds that others refer to first. Anything that pprof itself
 * would reject (an unknown id, a sample with too few values) is left out with a warning.
 *
 * Addresses are used as they are: the writer of the file has already subtracted one from return addresses. Amounts of memory become bytes
 * and times nanoseconds, whatever their unit, so that reports know them and profiles with different units can be added.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/read.h"

#include "base/array.h"
#include "base/cursor.h"
#include "base/path.h"
#include "base/time.h"
#include "profile/bound.h"
#include "profile/maps.h"
#include "profile/pprof_fields.h"

#include <stdlib.h>
#include <strings.h>

enum { top_fields = PPROF_DOC_URL + 1 };

static const int64_t exact_most = (int64_t)1 << 53; /* integers up to this are exact in a double */

/* Maps the file's ids to our indices. Nearly all writers count from 1; other ids go through the map. */
struct ids {
	uint32_t *dense;
	size_t dense_count;
	struct cairn_map sparse;
};

struct span {
	size_t begin, end; /* offsets of the first message of a kind, and of the end of the last */
	size_t count;
};

struct pprof {
	struct cairn_profile *profile;
	struct cairn_bytes data;
	struct span spans[top_fields];
	uint64_t numbers[top_fields]; /* the last value of each plain field */
	uint32_t *strings;            /* our string ids by index in the string table */
	size_t string_count, string_capacity;
	struct ids mappings, functions, locations;
	uint32_t declared_values; /* may be more than a profile can hold */
	/* Amounts in the file times these are in the units of the profile. */
	int64_t value_scales[CAIRN_VALUES_MAX], period_scale, label_scale;
	uint32_t label_unit, label_base; /* what LABEL_SCALE is for, and the unit of the profile */

	struct cairn_label *labels;
	size_t label_capacity;
	struct cairn_frame *frames;
	size_t frame_capacity;

	size_t text_left; /* how much more text the references to strings may stand for */
	size_t times, empty_strings, repeated_ids, cut_strings;
	size_t bad_samples, bad_locations, bad_functions, bad_strings, inexact_values;
};

/* Calls READ for each field with that number and wire type. */
static void each(struct pprof *pprof, unsigned number, enum cairn_wire wire,
		 void (*read)(struct pprof *, struct cairn_bytes bytes))
{
	const struct span *span = &pprof->spans[number];
	struct cairn_cursor in = cairn_cursor((struct cairn_bytes){pprof->data.data + span->begin, span->end - span->begin});
	struct cairn_protobuf_field field;
	while (cairn_protobuf_next(&in, &field))
		if (field.id == number && field.wire == wire)
			read(pprof, field.bytes);
}

/* Reads the plain numbers of a message into VALUES. Fields from COUNT on are ignored. */
static void read_numbers(struct cairn_bytes message, uint64_t *values, size_t count)
{
	struct cairn_cursor in = cairn_cursor(message);
	struct cairn_protobuf_field field;
	while (cairn_protobuf_next(&in, &field))
		if (field.wire == CAIRN_WIRE_VARINT && field.id < count)
			values[field.id] = field.number;
}

static void ids_start(struct ids *ids, size_t count)
{
	ids->dense_count = count + 1;
	ids->dense = cairn_array_none(ids->dense_count);
}

static uint32_t ids_get(const struct ids *ids, uint64_t id)
{
	return id < ids->dense_count ? ids->dense[id] : cairn_map_get(&ids->sparse, id);
}

static void ids_add(struct pprof *pprof, struct ids *ids, uint64_t id, uint32_t index)
{
	uint32_t *slot = id < ids->dense_count ? &ids->dense[id] : cairn_map_at(&ids->sparse, id);
	pprof->repeated_ids += *slot != CAIRN_NONE;
	*slot = index;
}

static void ids_free(struct ids *ids)
{
	free(ids->dense);
	cairn_map_free(&ids->sparse);
}

/* A small file may refer to a long string very often. Beyond a limit, no more than the beginning counts. */
static uint32_t take_text(struct pprof *pprof, uint32_t text)
{
	enum { short_text = 64 };
	struct cairn_bytes bytes = cairn_strings_bytes(&pprof->profile->strings, text);
	if (bytes.length > pprof->text_left && bytes.length > short_text) {
		pprof->cut_strings++;
		return cairn_strings_add(&pprof->profile->strings, (struct cairn_bytes){bytes.data, short_text});
	}
	pprof->text_left -= bytes.length < pprof->text_left ? bytes.length : pprof->text_left;
	return text;
}

static uint32_t text_at(struct pprof *pprof, uint64_t index)
{
	if (index < pprof->string_count)
		return take_text(pprof, pprof->strings[index]);
	pprof->bad_strings += index != 0;
	return 0;
}

/* Line numbers and the like: values out of range become 0. */
static uint32_t small(uint64_t value)
{
	return value <= UINT32_MAX ? (uint32_t)value : 0;
}

static void add_string(struct pprof *pprof, struct cairn_bytes text)
{
	cairn_array_room(pprof->strings, pprof->string_count, pprof->string_capacity);
	pprof->strings[pprof->string_count++] = cairn_strings_add(&pprof->profile->strings, text);
	pprof->empty_strings += text.length == 0;
}

static void survey(struct pprof *pprof)
{
	struct cairn_cursor in = cairn_cursor(pprof->data);
	struct cairn_protobuf_field field;
	size_t begin = 0;
	for (; cairn_protobuf_next(&in, &field); begin = cairn_cursor_offset(&in)) {
		if (field.id >= top_fields)
			continue;
		struct span *span = &pprof->spans[field.id];
		if (span->count++ == 0)
			span->begin = begin;
		span->end = cairn_cursor_offset(&in);
		if (field.id == PPROF_STRING_TABLE && field.wire == CAIRN_WIRE_BYTES)
			add_string(pprof, field.bytes);
		else if (field.wire == CAIRN_WIRE_VARINT)
			pprof->numbers[field.id] = field.number;
		if (field.id == PPROF_TIME_NANOS && field.wire == CAIRN_WIRE_VARINT)
			pprof->times += field.number != 0;
	}
	if (in.failed)
		cairn_profile_warn(pprof->profile, "damaged or cut short after %zu bytes; what came before is shown", begin);
}

/* Whether UNIT is NAME in the singular or plural, in upper or lower case. */
static bool is_unit(const char *unit, const char *name)
{
	size_t length = strlen(name);
	return strncasecmp(unit, name, length) == 0 && (!unit[length] || (length > 1 && strcasecmp(unit + length, "s") == 0));
}

/* Replaces UNIT, in any of the names that pprof knows for it, with bytes or nanoseconds. Returns how many of these it is; 1 for units of
 * other things, which stay. */
static int64_t take_unit(struct cairn_profile *profile, uint32_t *unit)
{
	static const struct {
		const char *names[3];
		int64_t scale;
		const char *base;
	} units[] = {
		{{"b", "byte"}, 1, "bytes"},
		{{"kb", "kbyte", "kilobyte"}, 1LL << 10, "bytes"},
		{{"mb", "mbyte", "megabyte"}, 1LL << 20, "bytes"},
		{{"gb", "gbyte", "gigabyte"}, 1LL << 30, "bytes"},
		{{"tb", "tbyte", "terabyte"}, 1LL << 40, "bytes"},
		{{"pb", "pbyte", "petabyte"}, 1LL << 50, "bytes"},
		{{"ns", "nanosecond"}, 1, "nanoseconds"},
		{{"us", "\u03bcs", "microsecond"}, 1000, "nanoseconds"},
		{{"ms", "millisecond"}, CAIRN_MILLISECOND_NS, "nanoseconds"},
		{{"s", "sec", "second"}, CAIRN_SECOND_NS, "nanoseconds"},
		{{"hr", "hour"}, CAIRN_HOUR_NS, "nanoseconds"},
	};
	const char *text = cairn_profile_string(profile, *unit);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		for (size_t k = 0; k < 3 && units[i].names[k]; k++)
			if (is_unit(text, units[i].names[k])) {
				*unit = cairn_profile_text(profile, units[i].base);
				return units[i].scale;
			}
	return 1;
}

static struct cairn_value_type value_type(struct pprof *pprof, struct cairn_bytes message)
{
	uint64_t values[PPROF_TYPE_UNIT + 1] = {0};
	read_numbers(message, values, PPROF_TYPE_UNIT + 1);
	return (struct cairn_value_type){text_at(pprof, values[PPROF_TYPE_NAME]), text_at(pprof, values[PPROF_TYPE_UNIT])};
}

static void read_sample_type(struct pprof *pprof, struct cairn_bytes message)
{
	struct cairn_profile *profile = pprof->profile;
	struct cairn_value_type type = value_type(pprof, message);
	pprof->declared_values++;
	if (profile->value_count < CAIRN_VALUES_MAX) {
		pprof->value_scales[profile->value_count] = take_unit(profile, &type.unit);
		profile->value_types[profile->value_count++] = type;
	}
}

static void read_period_type(struct pprof *pprof, struct cairn_bytes message)
{
	pprof->profile->period_type = value_type(pprof, message);
	pprof->period_scale = take_unit(pprof->profile, &pprof->profile->period_type.unit);
}

static void read_mapping(struct pprof *pprof, struct cairn_bytes message)
{
	struct cairn_profile *profile = pprof->profile;
	uint64_t values[PPROF_MAPPING_HAS_INLINE_FRAMES + 1] = {0};
	read_numbers(message, values, PPROF_MAPPING_HAS_INLINE_FRAMES + 1);
	struct cairn_bytes path = cairn_strings_bytes(&profile->strings, text_at(pprof, values[PPROF_MAPPING_FILE]));
	bool deleted = cairn_path_take_deleted(&path);
	uint32_t module = cairn_profile_add_module(profile, cairn_strings_add(&profile->strings, path),
						   text_at(pprof, values[PPROF_MAPPING_BUILD_ID]));
	profile->modules[module].deleted |= deleted;
	struct cairn_mapping mapping = {
		.start = values[PPROF_MAPPING_START],
		.limit = values[PPROF_MAPPING_LIMIT],
		.offset = values[PPROF_MAPPING_OFFSET],
		.module = module,
		.has_functions = values[PPROF_MAPPING_HAS_FUNCTIONS],
		.has_filenames = values[PPROF_MAPPING_HAS_FILENAMES],
		.has_line_numbers = values[PPROF_MAPPING_HAS_LINE_NUMBERS],
		.has_inline_frames = values[PPROF_MAPPING_HAS_INLINE_FRAMES],
	};
	ids_add(pprof, &pprof->mappings, values[PPROF_MAPPING_ID], cairn_profile_add_mapping(profile, &mapping));
}

static void read_function(struct pprof *pprof, struct cairn_bytes message)
{
	uint64_t values[PPROF_FUNCTION_START_LINE + 1] = {0};
	read_numbers(message, values, PPROF_FUNCTION_START_LINE + 1);
	struct cairn_function function = {
		.name = text_at(pprof, values[PPROF_FUNCTION_NAME]),
		.system_name = text_at(pprof, values[PPROF_FUNCTION_SYSTEM_NAME]),
		.file = text_at(pprof, values[PPROF_FUNCTION_FILE]),
		.start_line = small(values[PPROF_FUNCTION_START_LINE]),
	};
	ids_add(pprof, &pprof->functions, values[PPROF_FUNCTION_ID], cairn_profile_add_function(pprof->profile, &function));
}

/* Adds a line of a location to the COUNT frames already read. Returns the new count. */
static size_t read_line(struct pprof *pprof, struct cairn_bytes message, size_t count)
{
	uint64_t values[PPROF_LINE_COLUMN + 1] = {0};
	read_numbers(message, values, PPROF_LINE_COLUMN + 1);
	uint32_t function = ids_get(&pprof->functions, values[PPROF_LINE_FUNCTION]);
	if (function == CAIRN_NONE) {
		pprof->bad_functions++;
		return count;
	}
	cairn_array_room(pprof->frames, count, pprof->frame_capacity);
	pprof->frames[count] = (struct cairn_frame){function, small(values[PPROF_LINE_LINE]), small(values[PPROF_LINE_COLUMN])};
	return count + 1;
}

static void read_location(struct pprof *pprof, struct cairn_bytes message)
{
	uint64_t values[PPROF_LOCATION_IS_FOLDED + 1] = {0};
	struct cairn_cursor in = cairn_cursor(message);
	struct cairn_protobuf_field field;
	size_t frames = 0;
	while (cairn_protobuf_next(&in, &field)) {
		if (field.id == PPROF_LOCATION_LINE && field.wire == CAIRN_WIRE_BYTES)
			frames = read_line(pprof, field.bytes, frames);
		else if (field.wire == CAIRN_WIRE_VARINT && field.id <= PPROF_LOCATION_IS_FOLDED)
			values[field.id] = field.number;
	}
	struct cairn_location location = {
		.address = values[PPROF_LOCATION_ADDRESS],
		.mapping = ids_get(&pprof->mappings, values[PPROF_LOCATION_MAPPING]),
		.is_folded = values[PPROF_LOCATION_IS_FOLDED],
	};
	uint32_t index = cairn_profile_new_location(pprof->profile, &location);
	if (frames)
		cairn_profile_set_frames(pprof->profile, index, pprof->frames, frames);
	ids_add(pprof, &pprof->locations, values[PPROF_LOCATION_ID], index);
}

/* Whether the bytes of FIELD may be repeated numbers, in either of the two forms. */
static bool is_number(const struct cairn_protobuf_field *field)
{
	return field->wire == CAIRN_WIRE_VARINT || field->wire == CAIRN_WIRE_BYTES;
}

static size_t read_stack(struct pprof *pprof, struct cairn_bytes ids, size_t depth)
{
	struct cairn_cursor in = cairn_cursor(ids);
	/* Each id takes at least one byte. */
	uint32_t *room = cairn_profile_stack_room(pprof->profile, depth + cairn_cursor_left(&in));
	while (cairn_cursor_left(&in) > 0) {
		uint32_t location = ids_get(&pprof->locations, cairn_cursor_uleb(&in));
		if (location == CAIRN_NONE)
			pprof->bad_locations++;
		else
			room[depth++] = location;
	}
	return depth;
}

static size_t read_values(struct pprof *pprof, struct cairn_bytes numbers, double *values, size_t count)
{
	struct cairn_cursor in = cairn_cursor(numbers);
	while (cairn_cursor_left(&in) > 0) {
		int64_t value = (int64_t)cairn_cursor_uleb(&in);
		pprof->inexact_values += value > exact_most || value < -exact_most;
		if (count < CAIRN_VALUES_MAX)
			values[count] = (double)value * (double)pprof->value_scales[count];
		count++;
	}
	return count;
}

/* Sizes become bytes, which filters take in any unit. Other numbers stay as they are, as filters take them; so does one that would become
 * too large. Labels nearly always have the unit of the one before. */
static void scale_label(struct pprof *pprof, struct cairn_label *label)
{
	int64_t number;
	if (label->unit != pprof->label_unit) {
		pprof->label_unit = pprof->label_base = label->unit;
		pprof->label_scale = take_unit(pprof->profile, &pprof->label_base);
		if (strcmp(cairn_profile_string(pprof->profile, pprof->label_base), "bytes") != 0) {
			pprof->label_base = label->unit;
			pprof->label_scale = 1;
		}
	}
	if (!__builtin_mul_overflow(label->number, pprof->label_scale, &number)) {
		label->number = number;
		label->unit = pprof->label_base;
	}
}

static struct cairn_label read_label(struct pprof *pprof, struct cairn_bytes message)
{
	uint64_t values[PPROF_LABEL_UNIT + 1] = {0};
	read_numbers(message, values, PPROF_LABEL_UNIT + 1);
	struct cairn_label label = {.key = text_at(pprof, values[PPROF_LABEL_KEY]),
				    .text = text_at(pprof, values[PPROF_LABEL_TEXT])};
	if (!values[PPROF_LABEL_TEXT]) {
		label.is_number = values[PPROF_LABEL_NUMBER] || values[PPROF_LABEL_UNIT];
		label.number = (int64_t)values[PPROF_LABEL_NUMBER];
		label.unit = text_at(pprof, values[PPROF_LABEL_UNIT]);
		scale_label(pprof, &label);
	}
	return label;
}

static void read_sample(struct pprof *pprof, struct cairn_bytes message)
{
	double values[CAIRN_VALUES_MAX];
	size_t depth = 0, value_count = 0, label_count = 0;
	struct cairn_cursor in = cairn_cursor(message);
	struct cairn_protobuf_field field;
	while (cairn_protobuf_next(&in, &field)) {
		if (field.id == PPROF_SAMPLE_LOCATION && is_number(&field)) {
			depth = read_stack(pprof, field.bytes, depth);
		} else if (field.id == PPROF_SAMPLE_VALUE && is_number(&field)) {
			value_count = read_values(pprof, field.bytes, values, value_count);
		} else if (field.id == PPROF_SAMPLE_LABEL && field.wire == CAIRN_WIRE_BYTES) {
			cairn_array_room(pprof->labels, label_count, pprof->label_capacity);
			pprof->labels[label_count++] = read_label(pprof, field.bytes);
		}
	}
	if (value_count != pprof->declared_values || in.failed) {
		pprof->bad_samples++;
		return;
	}
	uint32_t labels = cairn_profile_add_labels(pprof->profile, pprof->labels, label_count);
	size_t sample = cairn_profile_add_sample(pprof->profile, depth, labels, values);
	/* "pprof -diff_base" writes what it subtracts as samples of their own, with negative values. */
	if (cairn_profile_is_diff_base(pprof->profile, labels))
		for (uint32_t v = 0; v < pprof->profile->value_count; v++) {
			pprof->profile->values[sample * pprof->profile->value_count + v] = 0;
			cairn_profile_subtract(pprof->profile, sample, v, -values[v]);
		}
}

static void read_comments(struct pprof *pprof, struct cairn_bytes numbers)
{
	struct cairn_profile *profile = pprof->profile;
	for (struct cairn_cursor in = cairn_cursor(numbers); cairn_cursor_left(&in) > 0;) {
		cairn_array_room(profile->comments, profile->comment_count, profile->comment_capacity);
		profile->comments[profile->comment_count++] = text_at(pprof, cairn_cursor_uleb(&in));
	}
}

static enum cairn_profile_kind kind_of(const struct cairn_profile *profile)
{
	static const char *const heap_types[] = {"inuse_space", "inuse_objects", "alloc_space", "alloc_objects", "space"};
	for (size_t i = 0; i < sizeof heap_types / sizeof *heap_types; i++)
		if (cairn_profile_find_value(profile, heap_types[i]) != CAIRN_NONE)
			return CAIRN_PROFILE_HEAP;
	return cairn_profile_find_value(profile, "cpu") != CAIRN_NONE ? CAIRN_PROFILE_CPU : CAIRN_PROFILE_OTHER;
}

/* Reads everything outside the tables: numbers, and the strings that they refer to. */
static void read_head(struct pprof *pprof)
{
	struct cairn_profile *profile = pprof->profile;
	profile->drop_frames = text_at(pprof, pprof->numbers[PPROF_DROP_FRAMES]);
	profile->keep_frames = text_at(pprof, pprof->numbers[PPROF_KEEP_FRAMES]);
	profile->doc_url = text_at(pprof, pprof->numbers[PPROF_DOC_URL]);
	profile->facts.time_ns = (int64_t)pprof->numbers[PPROF_TIME_NANOS];
	profile->facts.duration_ns = (int64_t)pprof->numbers[PPROF_DURATION_NANOS];
	profile->period = (double)(int64_t)pprof->numbers[PPROF_PERIOD] * (double)pprof->period_scale;
	each(pprof, PPROF_COMMENT, CAIRN_WIRE_VARINT, read_comments);
	each(pprof, PPROF_COMMENT, CAIRN_WIRE_BYTES, read_comments);
	uint32_t shown = text_at(pprof, pprof->numbers[PPROF_DEFAULT_SAMPLE_TYPE]);
	profile->default_value = profile->value_count - 1;
	for (uint32_t i = 0; shown && i < profile->value_count; i++)
		if (profile->value_types[i].type == shown)
			profile->default_value = i;
	profile->kind = kind_of(profile);
	profile->format = "pprof";
}

static void warn_of(struct cairn_profile *profile, size_t count, const char *what)
{
	if (count)
		cairn_profile_warn(profile, "%zu %s", count, what);
}

static void say_what_is_wrong(struct pprof *pprof)
{
	struct cairn_profile *profile = pprof->profile;
	if (pprof->declared_values > CAIRN_VALUES_MAX)
		cairn_profile_warn(profile, "of %u sample types the first %d are kept", (unsigned)pprof->declared_values,
				   CAIRN_VALUES_MAX);
	warn_of(profile, pprof->bad_samples, "samples were damaged or had not one value for each sample type, and were left out");
	warn_of(profile, pprof->bad_locations, "frames name a location that is not in the file, and were left out");
	warn_of(profile, pprof->bad_functions, "lines name a function that is not in the file, and were left out");
	warn_of(profile, pprof->bad_strings, "names lie outside the string table and are shown empty");
	warn_of(profile, pprof->cut_strings, "references to long names stand for too much; only the first 64 bytes are shown");
	warn_of(profile, pprof->repeated_ids, "ids are used twice; the last use counts");
	warn_of(profile, pprof->inexact_values, "values are above 2^53 and lose their lowest bits");
}

/* Whether the file has room for its tables. An empty message takes two bytes and becomes a record of fifty, but one with an id and an
 * address takes ten. No process has a million mappings: Linux allows 65,530 by default. */
static bool check_tables(const struct pprof *pprof, const char *name, struct cairn_error *error)
{
	enum { record_most = 1 << 20, location_least = 8 };
	size_t mappings = pprof->spans[PPROF_MAPPING].count, locations = pprof->spans[PPROF_LOCATION].count;
	if (mappings > record_most)
		return cairn_fail(error, "%s: a pprof profile with %zu mappings, more than any process has", name, mappings);
	if (locations > record_most && locations > pprof->data.length / location_least)
		return cairn_fail(error, "%s: a pprof profile with %zu locations, most of which can have neither an address nor a function",
				  name, locations);
	return true;
}

static bool read_tables(struct pprof *pprof, const char *name, struct cairn_error *error)
{
	struct cairn_profile *profile = pprof->profile;
	survey(pprof);
	if (!check_tables(pprof, name, error))
		return false;
	if (pprof->times > 1)
		return cairn_fail(error, "%s: %zu pprof profiles one after the other; give them as files of their own", name,
				  pprof->times);
	each(pprof, PPROF_SAMPLE_TYPE, CAIRN_WIRE_BYTES, read_sample_type);
	if (profile->value_count == 0)
		return cairn_fail(error, "%s: a pprof profile without sample types", name);
	if (profile->value_types[profile->value_count - 1].type == 0)
		return cairn_fail(error, "%s: the sample types have no names: the string table is missing or cut off", name);
	each(pprof, PPROF_PERIOD_TYPE, CAIRN_WIRE_BYTES, read_period_type);
	ids_start(&pprof->mappings, pprof->spans[PPROF_MAPPING].count);
	ids_start(&pprof->functions, pprof->spans[PPROF_FUNCTION].count);
	ids_start(&pprof->locations, pprof->spans[PPROF_LOCATION].count);
	each(pprof, PPROF_MAPPING, CAIRN_WIRE_BYTES, read_mapping);
	/* Id 0 means "no mapping", whatever the file says. */
	pprof->mappings.dense[0] = CAIRN_NONE;
	each(pprof, PPROF_FUNCTION, CAIRN_WIRE_BYTES, read_function);
	each(pprof, PPROF_LOCATION, CAIRN_WIRE_BYTES, read_location);
	if (pprof->repeated_ids && pprof->empty_strings > 1)
		return cairn_fail(error, "%s: several pprof profiles one after the other; give them as files of their own", name);
	read_head(pprof);
	each(pprof, PPROF_SAMPLE, CAIRN_WIRE_BYTES, read_sample);
	if (profile->mapping_count)
		profile->facts.process = profile->modules[profile->mappings[0].module].path;
	say_what_is_wrong(pprof);
	cairn_profile_bound(profile);
	return true;
}

bool cairn_pprof_read(struct cairn_reader *reader, struct cairn_bytes data, struct cairn_error *error)
{
	/* Each reference takes at least two bytes, and names of common files are a few hundred bytes long. */
	enum { text_least = 64 << 20, text_for_a_byte = 64 };
	struct pprof pprof = {.profile = reader->profile, .data = data, .period_scale = 1, .label_scale = 1,
			      .text_left = text_least + text_for_a_byte * data.length};
	bool good = read_tables(&pprof, reader->name, error);
	ids_free(&pprof.mappings);
	ids_free(&pprof.functions);
	ids_free(&pprof.locations);
	free(pprof.strings);
	free(pprof.labels);
	free(pprof.frames);
	return good;
}

void cairn_pprof_origin(struct cairn_bytes data, int64_t *time_ns, struct cairn_bytes *program)
{
	uint64_t mapping[PPROF_MAPPING_FILE + 1] = {0}, string = 0;
	size_t mappings = 0;
	struct cairn_protobuf_field field;
	*time_ns = 0;
	*program = (struct cairn_bytes){"", 0};
	for (struct cairn_cursor in = cairn_cursor(data); cairn_protobuf_next(&in, &field);) {
		if (field.id == PPROF_TIME_NANOS && field.wire == CAIRN_WIRE_VARINT)
			*time_ns = (int64_t)field.number;
		else if (field.id == PPROF_MAPPING && field.wire == CAIRN_WIRE_BYTES && mappings++ == 0)
			read_numbers(field.bytes, mapping, PPROF_MAPPING_FILE + 1);
	}
	for (struct cairn_cursor in = cairn_cursor(data); mappings && cairn_protobuf_next(&in, &field);)
		if (field.id == PPROF_STRING_TABLE && field.wire == CAIRN_WIRE_BYTES && string++ == mapping[PPROF_MAPPING_FILE])
			*program = field.bytes;
	cairn_path_take_deleted(program);
}
