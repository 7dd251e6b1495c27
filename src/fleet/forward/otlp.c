/* otlp.c - translates the tables of pprof to those of OTLP.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/forward/otlp.h"

#include "base/array.h"
#include "base/protobuf.h"
#include "profile/kind.h"
#include "profile/pprof_fields.h"

#include <stdlib.h>
#include <string.h>

enum {
	REQUEST_RESOURCES = 1,
	REQUEST_DICTIONARY = 2,
	RESOURCES_RESOURCE = 1,
	RESOURCES_SCOPES = 2,
	RESOURCE_ATTRIBUTES = 1,
	SCOPES_SCOPE = 1,
	SCOPES_PROFILES = 2,
	SCOPE_NAME = 1,
	SCOPE_VERSION = 2,
	KEY_VALUE_KEY = 1,
	KEY_VALUE_VALUE = 2,
	ANY_TEXT = 1,
	ANY_INTEGER = 3,
};
enum {
	DICTIONARY_MAPPINGS = 1,
	DICTIONARY_LOCATIONS = 2,
	DICTIONARY_FUNCTIONS = 3,
	DICTIONARY_LINKS = 4,
	DICTIONARY_STRINGS = 5,
	DICTIONARY_ATTRIBUTES = 6,
	DICTIONARY_STACKS = 7,
};
enum {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME = 3,
	PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	SAMPLE_STACK = 1,
	SAMPLE_VALUES = 4,
	STACK_LOCATIONS = 1,
	MAPPING_START = 1,
	MAPPING_LIMIT = 2,
	MAPPING_OFFSET = 3,
	MAPPING_FILE = 4,
	MAPPING_ATTRIBUTES = 5,
	LOCATION_MAPPING = 1,
	LOCATION_ADDRESS = 2,
	LOCATION_LINES = 3,
	FUNCTION_NAME = 1,
	FUNCTION_SYSTEM_NAME = 2,
	FUNCTION_FILE = 3,
	FUNCTION_START_LINE = 4,
	ATTRIBUTE_KEY = 1,
	ATTRIBUTE_VALUE = 2,
};

static const char build_id_key[] = "process.executable.build_id.gnu";

struct translation {
	struct cairn_buffer dictionary, profiles;
	struct cairn_buffer message, inner; /* under construction */
	struct cairn_bytes types[CAIRN_VALUES_MAX]; /* ValueType, which is the same message in both formats */
	bool allocated[CAIRN_VALUES_MAX];
	size_t type_count;
	struct cairn_bytes period_type;
	uint64_t period, time_ns;
	struct cairn_bytes *strings; /* pprof's string table */
	size_t string_count, string_capacity;
	uint64_t attributes; /* rows so far */
};

/* Every table begins with an empty row, which stands for "none". */
static void begin_tables(struct translation *to)
{
	static const char zeroes[16];
	for (unsigned table = DICTIONARY_MAPPINGS; table <= DICTIONARY_STACKS; table++) {
		if (table == DICTIONARY_STRINGS)
			continue; /* pprof's string table begins with an empty string, too */
		if (table == DICTIONARY_LINKS) {
			cairn_protobuf_bytes(&to->message, 1, (struct cairn_bytes){zeroes, 16});
			cairn_protobuf_bytes(&to->message, 2, (struct cairn_bytes){zeroes, 8});
		}
		cairn_protobuf_message(&to->dictionary, table, &to->message);
	}
	to->attributes = 1;
}

/* Reads what the samples need: types, strings and the like. */
static void read_head(struct translation *to, struct cairn_bytes pprof)
{
	struct cairn_cursor in = cairn_cursor(pprof);
	struct cairn_protobuf_field field;
	while (cairn_protobuf_next(&in, &field))
		switch (field.id) {
		case PPROF_SAMPLE_TYPE:
			if (to->type_count < CAIRN_VALUES_MAX)
				to->types[to->type_count++] = field.bytes;
			break;
		case PPROF_STRING_TABLE:
			cairn_array_room(to->strings, to->string_count, to->string_capacity);
			to->strings[to->string_count++] = field.bytes;
			cairn_protobuf_bytes(&to->dictionary, DICTIONARY_STRINGS, field.bytes);
			break;
		case PPROF_TIME_NANOS: to->time_ns = field.number; break;
		case PPROF_PERIOD_TYPE: to->period_type = field.bytes; break;
		case PPROF_PERIOD: to->period = field.number; break;
		default: break;
		}
	for (size_t i = 0; i < to->type_count; i++) {
		struct cairn_cursor type = cairn_cursor(to->types[i]);
		while (cairn_protobuf_next(&type, &field))
			if (field.id == PPROF_TYPE_NAME && field.number < to->string_count)
				to->allocated[i] = cairn_value_is_allocated(cairn_value_kind(to->strings[field.number]));
	}
}

/* Adds an attribute for the build-id that is string NUMBER, and returns its row. */
static uint64_t add_build_id(struct translation *to, uint64_t number)
{
	struct cairn_bytes text = number < to->string_count ? to->strings[number] : (struct cairn_bytes){"", 0};
	struct cairn_buffer row = cairn_buffer(SIZE_MAX);
	cairn_protobuf_number(&row, ATTRIBUTE_KEY, to->string_count); /* the key is the string after pprof's */
	cairn_protobuf_bytes(&to->inner, ANY_TEXT, text);
	cairn_protobuf_message(&row, ATTRIBUTE_VALUE, &to->inner);
	cairn_protobuf_message(&to->dictionary, DICTIONARY_ATTRIBUTES, &row);
	cairn_buffer_free(&row);
	return to->attributes++;
}

static void add_mapping(struct translation *to, struct cairn_bytes mapping)
{
	struct cairn_cursor in = cairn_cursor(mapping);
	struct cairn_protobuf_field field;
	while (cairn_protobuf_next(&in, &field))
		switch (field.id) {
		case PPROF_MAPPING_START: cairn_protobuf_number(&to->message, MAPPING_START, field.number); break;
		case PPROF_MAPPING_LIMIT: cairn_protobuf_number(&to->message, MAPPING_LIMIT, field.number); break;
		case PPROF_MAPPING_OFFSET: cairn_protobuf_number(&to->message, MAPPING_OFFSET, field.number); break;
		case PPROF_MAPPING_FILE: cairn_protobuf_number(&to->message, MAPPING_FILE, field.number); break;
		case PPROF_MAPPING_BUILD_ID: {
			uint64_t row = add_build_id(to, field.number);
			cairn_buffer_uleb(&to->inner, row);
			cairn_protobuf_message(&to->message, MAPPING_ATTRIBUTES, &to->inner);
			break;
		}
		default: break;
		}
	cairn_protobuf_message(&to->dictionary, DICTIONARY_MAPPINGS, &to->message);
}

/* The message Line has the same fields in both formats. */
static void add_location(struct translation *to, struct cairn_bytes location)
{
	struct cairn_cursor in = cairn_cursor(location);
	struct cairn_protobuf_field field;
	while (cairn_protobuf_next(&in, &field))
		switch (field.id) {
		case PPROF_LOCATION_MAPPING: cairn_protobuf_number(&to->message, LOCATION_MAPPING, field.number); break;
		case PPROF_LOCATION_ADDRESS: cairn_protobuf_number(&to->message, LOCATION_ADDRESS, field.number); break;
		case PPROF_LOCATION_LINE: cairn_protobuf_bytes(&to->message, LOCATION_LINES, field.bytes); break;
		default: break;
		}
	cairn_protobuf_message(&to->dictionary, DICTIONARY_LOCATIONS, &to->message);
}

static void add_function(struct translation *to, struct cairn_bytes function)
{
	struct cairn_cursor in = cairn_cursor(function);
	struct cairn_protobuf_field field;
	while (cairn_protobuf_next(&in, &field))
		switch (field.id) {
		case PPROF_FUNCTION_NAME: cairn_protobuf_number(&to->message, FUNCTION_NAME, field.number); break;
		case PPROF_FUNCTION_SYSTEM_NAME: cairn_protobuf_number(&to->message, FUNCTION_SYSTEM_NAME, field.number); break;
		case PPROF_FUNCTION_FILE: cairn_protobuf_number(&to->message, FUNCTION_FILE, field.number); break;
		case PPROF_FUNCTION_START_LINE: cairn_protobuf_number(&to->message, FUNCTION_START_LINE, field.number); break;
		default: break;
		}
	cairn_protobuf_message(&to->dictionary, DICTIONARY_FUNCTIONS, &to->message);
}

/* Adds the rows of all tables; only the order within a table matters. Each sample adds a stack: the writer of the pprof profile has merged
 * samples with the same stack. */
static void add_tables(struct translation *to, struct cairn_bytes pprof)
{
	struct cairn_cursor in = cairn_cursor(pprof);
	struct cairn_protobuf_field field, part;
	while (cairn_protobuf_next(&in, &field))
		switch (field.id) {
		case PPROF_MAPPING: add_mapping(to, field.bytes); break;
		case PPROF_LOCATION: add_location(to, field.bytes); break;
		case PPROF_FUNCTION: add_function(to, field.bytes); break;
		case PPROF_SAMPLE: {
			struct cairn_cursor sample = cairn_cursor(field.bytes);
			while (cairn_protobuf_next(&sample, &part))
				if (part.id == PPROF_SAMPLE_LOCATION)
					cairn_protobuf_bytes(&to->message, STACK_LOCATIONS, part.bytes);
			cairn_protobuf_message(&to->dictionary, DICTIONARY_STACKS, &to->message);
			break;
		}
		default: break;
		}
	cairn_protobuf_bytes(&to->dictionary, DICTIONARY_STRINGS, cairn_bytes_of(build_id_key));
}

/* The value of SAMPLE in column COLUMN. */
static uint64_t value_of(struct cairn_bytes sample, size_t column)
{
	struct cairn_cursor in = cairn_cursor(sample);
	struct cairn_protobuf_field part;
	while (cairn_protobuf_next(&in, &part)) {
		struct cairn_cursor values = cairn_cursor(part.bytes);
		if (part.id != PPROF_SAMPLE_VALUE)
			continue;
		for (size_t i = 0; i < column; i++)
			cairn_cursor_uleb(&values);
		return cairn_cursor_uleb(&values);
	}
	return 0;
}

/* Adds the profile of one value, with the samples for which it is not 0. */
static void add_profile(struct translation *to, struct cairn_bytes pprof, size_t column, int64_t since_ns)
{
	struct cairn_buffer profile = cairn_buffer(SIZE_MAX);
	struct cairn_cursor in = cairn_cursor(pprof);
	struct cairn_protobuf_field field;
	uint64_t stack = 0, value;
	bool spans = to->allocated[column] && since_ns > 0 && (uint64_t)since_ns < to->time_ns;
	cairn_protobuf_bytes(&profile, PROFILE_TYPE, to->types[column]);
	while (cairn_protobuf_next(&in, &field)) {
		if (field.id != PPROF_SAMPLE)
			continue;
		stack++;
		value = value_of(field.bytes, column);
		if (value == 0)
			continue;
		cairn_protobuf_number(&to->message, SAMPLE_STACK, stack);
		cairn_buffer_uleb(&to->inner, value);
		cairn_protobuf_message(&to->message, SAMPLE_VALUES, &to->inner);
		cairn_protobuf_message(&profile, PROFILE_SAMPLES, &to->message);
	}
	cairn_protobuf_fixed(&profile, PROFILE_TIME, spans ? (uint64_t)since_ns : to->time_ns);
	cairn_protobuf_number(&profile, PROFILE_DURATION, spans ? to->time_ns - (uint64_t)since_ns : 0);
	cairn_protobuf_bytes(&profile, PROFILE_PERIOD_TYPE, to->period_type);
	cairn_protobuf_number(&profile, PROFILE_PERIOD, to->period);
	cairn_protobuf_message(&to->profiles, SCOPES_PROFILES, &profile);
	cairn_buffer_free(&profile);
}

static void add_attribute(struct translation *to, const char *key, const char *text, uint64_t number, struct cairn_buffer *resource)
{
	cairn_protobuf_bytes(&to->message, KEY_VALUE_KEY, cairn_bytes_of(key));
	if (text)
		cairn_protobuf_bytes(&to->inner, ANY_TEXT, cairn_bytes_of(text));
	else
		cairn_protobuf_number(&to->inner, ANY_INTEGER, number);
	cairn_protobuf_message(&to->message, KEY_VALUE_VALUE, &to->inner);
	cairn_protobuf_message(resource, RESOURCE_ATTRIBUTES, &to->message);
}

void cairn_otlp_write(struct cairn_bytes pprof, const struct cairn_forward_labels *resource, uint64_t pid, int64_t since_ns,
		      struct cairn_buffer *out)
{
	struct cairn_buffer attributes = cairn_buffer(SIZE_MAX), scopes = cairn_buffer(SIZE_MAX), resources = cairn_buffer(SIZE_MAX);
	struct translation to = {.dictionary = cairn_buffer(SIZE_MAX), .profiles = cairn_buffer(SIZE_MAX),
				 .message = cairn_buffer(SIZE_MAX), .inner = cairn_buffer(SIZE_MAX)};
	begin_tables(&to);
	read_head(&to, pprof);
	add_tables(&to, pprof);
	cairn_protobuf_bytes(&to.message, SCOPE_NAME, cairn_bytes_of("cairn"));
	cairn_protobuf_bytes(&to.message, SCOPE_VERSION, cairn_bytes_of(CAIRN_VERSION));
	cairn_protobuf_message(&scopes, SCOPES_SCOPE, &to.message);
	/* Receivers show the first profile by default: live bytes, which are last in pprof. */
	for (size_t column = to.type_count; column-- > 0;)
		add_profile(&to, pprof, column, since_ns);
	cairn_buffer_append(&scopes, to.profiles.data, to.profiles.length);
	for (size_t i = 0; i < resource->count; i++)
		add_attribute(&to, resource->items[i].name, resource->items[i].value, 0, &attributes);
	if (pid)
		add_attribute(&to, "process.pid", NULL, pid, &attributes);
	cairn_protobuf_message(&resources, RESOURCES_RESOURCE, &attributes);
	cairn_protobuf_message(&resources, RESOURCES_SCOPES, &scopes);
	cairn_protobuf_message(out, REQUEST_RESOURCES, &resources);
	cairn_protobuf_message(out, REQUEST_DICTIONARY, &to.dictionary);
	struct cairn_buffer *buffers[] = {&attributes, &scopes, &resources, &to.dictionary, &to.profiles, &to.message, &to.inner};
	for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
		cairn_buffer_free(buffers[i]);
	free(to.strings);
}
