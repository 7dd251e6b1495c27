/* pprof_write.c - encodes profile.proto.
 *
 * Samples are written first. Whatever they refer to gets its number on first use, and the tables follow in the order of these numbers, the
 * string table last. If the result exceeds a size limit, everything is written again with more samples merged.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/pprof_write.h"

#include "base/array.h"
#include "base/utf8.h"
#include "base/whole.h"
#include "profile/pprof_fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { varint_most = 10 };

/* Which information the locations of a mapping have. */
struct named {
	size_t locations, with_names;
	bool files, lines, inlines;
};

struct label_bytes {
	uint32_t offset, length; /* in label_data */
	bool encoded, has_size;
};

/* One attempt. The buffers grow without limit; the size is checked when the attempt is complete. */
struct writer {
	const struct cairn_profile *profile;
	const struct cairn_pprof_options *options;
	struct cairn_arena arena;
	struct cairn_buffer out;
	struct cairn_buffer message;    /* the message being built */
	struct cairn_buffer line;       /* a message inside it */
	struct cairn_buffer functions;  /* encoded as they are first used */
	struct cairn_buffer strings;    /* the same */
	struct cairn_buffer label_data; /* each label set in use, encoded once */
	struct label_bytes *label_bytes;
	struct cairn_buffer sample_labels; /* labels of one sample, with its size */
	uint32_t size_word;                /* "bytes", both the key and the unit of a size; CAIRN_NONE if no sizes are written */
	struct {
		uint32_t objects, bytes;
	} size_columns[2];

	/* By our index; 0 means that it has no number yet. */
	uint32_t *string_numbers, *function_numbers, *location_numbers, *mapping_numbers;
	uint32_t string_count, function_count, location_count, mapping_count;
	size_t folded; /* number of samples merged into one */
	uint32_t *locations; /* our indices in the order of their numbers; CAIRN_NONE is the location of the merged samples */
	struct named *named; /* by mapping */
	double residual[CAIRN_VALUES_MAX];
};

/* Wire format. */

static size_t varint_size(uint64_t value)
{
	return (size_t)(64 - __builtin_clzll(value | 1) + 6) / 7;
}

static char *put_varint(char *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (char)(value | 0x80);
	*at++ = (char)value;
	return at;
}

/* Tables. */

/* Bytes that are not valid UTF-8 become \xNN: paths and symbols may contain any bytes, but readers reject them. */
static void append_valid(struct cairn_buffer *to, struct cairn_bytes text)
{
	while (text.length > 0) {
		size_t length = cairn_utf8_length(text);
		if (length)
			cairn_buffer_append(to, text.data, length);
		else
			cairn_buffer_format(to, "\\x%02x", (unsigned char)text.data[0]);
		text = cairn_bytes_skip(text, length ? length : 1);
	}
}

static uint32_t add_string(struct writer *writer, struct cairn_bytes text)
{
	if (cairn_utf8_valid(text)) {
		cairn_protobuf_bytes(&writer->strings, PPROF_STRING_TABLE, text);
	} else {
		struct cairn_buffer valid = cairn_buffer(SIZE_MAX);
		append_valid(&valid, text);
		cairn_protobuf_message(&writer->strings, PPROF_STRING_TABLE, &valid);
		cairn_buffer_free(&valid);
	}
	return writer->string_count++;
}

static uint32_t string_number(struct writer *writer, uint32_t id)
{
	if (id && !writer->string_numbers[id])
		writer->string_numbers[id] = add_string(writer, cairn_strings_bytes(&writer->profile->strings, id));
	return id ? writer->string_numbers[id] : 0;
}

static uint32_t function_number(struct writer *writer, uint32_t index)
{
	if (writer->function_numbers[index])
		return writer->function_numbers[index];
	const struct cairn_function *function = &writer->profile->functions[index];
	struct cairn_buffer *to = &writer->line;
	cairn_protobuf_number(to, PPROF_FUNCTION_ID, ++writer->function_count);
	cairn_protobuf_number(to, PPROF_FUNCTION_NAME, string_number(writer, function->name));
	cairn_protobuf_number(to, PPROF_FUNCTION_SYSTEM_NAME, string_number(writer, function->system_name));
	cairn_protobuf_number(to, PPROF_FUNCTION_FILE, string_number(writer, function->file));
	cairn_protobuf_number(to, PPROF_FUNCTION_START_LINE, function->start_line);
	cairn_protobuf_message(&writer->functions, PPROF_FUNCTION, to);
	return writer->function_numbers[index] = writer->function_count;
}

/* Adds a function that is not in the profile, with a made-up name. */
static uint32_t new_function(struct writer *writer, const char *name)
{
	struct cairn_buffer *to = &writer->line;
	uint32_t string = add_string(writer, cairn_bytes_of(name));
	cairn_protobuf_number(to, PPROF_FUNCTION_ID, ++writer->function_count);
	cairn_protobuf_number(to, PPROF_FUNCTION_NAME, string);
	cairn_protobuf_number(to, PPROF_FUNCTION_SYSTEM_NAME, string);
	cairn_protobuf_message(&writer->functions, PPROF_FUNCTION, to);
	return writer->function_count;
}

/* Samples. */

static uint32_t location_number(struct writer *writer, uint32_t location)
{
	if (!writer->location_numbers[location]) {
		writer->locations[writer->location_count++] = location;
		writer->location_numbers[location] = writer->location_count;
	}
	return writer->location_numbers[location];
}

static void encode_label(struct writer *writer, const struct cairn_label *label, struct cairn_buffer *out)
{
	struct cairn_buffer *to = &writer->line;
	if (!label->key)
		return; /* strict readers reject the whole file otherwise */
	/* A number 0 without a unit would be read as no label at all. */
	uint32_t unit = label->is_number && label->number == 0 && !label->unit ? label->key : label->unit;
	cairn_protobuf_number(to, PPROF_LABEL_KEY, string_number(writer, label->key));
	cairn_protobuf_number(to, PPROF_LABEL_TEXT, string_number(writer, label->text));
	cairn_protobuf_number(to, PPROF_LABEL_NUMBER, (uint64_t)label->number);
	cairn_protobuf_number(to, PPROF_LABEL_UNIT, string_number(writer, unit));
	cairn_protobuf_message(out, PPROF_SAMPLE_LABEL, to);
}

static struct cairn_bytes labels_of(struct writer *writer, uint32_t set)
{
	struct label_bytes *bytes = &writer->label_bytes[set];
	if (set == 0)
		return (struct cairn_bytes){0};
	if (!bytes->encoded) {
		const struct cairn_label_set *labels = &writer->profile->label_sets[set];
		bytes->offset = (uint32_t)writer->label_data.length;
		for (uint32_t i = 0; i < labels->count; i++) {
			const struct cairn_label *label = &writer->profile->labels[labels->first + i];
			encode_label(writer, label, &writer->label_data);
			bytes->has_size |= label->key == writer->size_word;
		}
		bytes->length = (uint32_t)writer->label_data.length - bytes->offset;
		bytes->encoded = true;
	}
	return bytes->length ? (struct cairn_bytes){writer->label_data.data + bytes->offset, bytes->length} : (struct cairn_bytes){0};
}

/* jemalloc's size class nearest to SIZE: four classes for each doubling. The mean size of the same objects differs from dump to dump;
 * without rounding, readers would take equal stacks for different ones. */
static int64_t nearest_class(double size)
{
	double step = 16;
	while (8 * step < size)
		step *= 2;
	return size <= 12 ? 8 : (int64_t)(floor(size / step + 0.5) * step);
}

/* The mean size of a sample's live objects or, if there are none, of all its objects. 0 if unknown. */
static int64_t size_of(const struct writer *writer, const double *values)
{
	for (int i = 0; i < 2; i++) {
		uint32_t objects = writer->size_columns[i].objects, bytes = writer->size_columns[i].bytes;
		double size = objects != CAIRN_NONE && bytes != CAIRN_NONE && values[objects] > 0 ? values[bytes] / values[objects] : 0;
		if (size >= 1 && size < 0x1p62)
			return writer->profile->unsampling == CAIRN_UNSAMPLE_NONE ? (int64_t)size : nearest_class(size);
	}
	return 0;
}

static void prepare_sizes(struct writer *writer)
{
	const struct cairn_profile *profile = writer->profile;
	bool wanted = writer->options->sizes && profile->kind == CAIRN_PROFILE_HEAP && !profile->base;
	writer->size_word = wanted ? cairn_strings_find(&profile->strings, cairn_bytes_of("bytes")) : CAIRN_NONE;
	writer->size_columns[0].objects = cairn_profile_find_value(profile, "inuse_objects");
	writer->size_columns[0].bytes = cairn_profile_find_value(profile, "inuse_space");
	writer->size_columns[1].objects = cairn_profile_find_value(profile, "alloc_objects");
	writer->size_columns[1].bytes = cairn_profile_find_value(profile, "alloc_space");
}

/* The labels of SAMPLE, encoded. */
static struct cairn_bytes all_labels(struct writer *writer, const struct cairn_sample *sample, const double *values)
{
	struct cairn_bytes labels = labels_of(writer, sample->labels);
	bool wants_size = writer->size_word != CAIRN_NONE && !(sample->labels && writer->label_bytes[sample->labels].has_size);
	int64_t size = wants_size ? size_of(writer, values) : 0;
	if (size == 0)
		return labels;
	writer->sample_labels.length = 0;
	cairn_buffer_append(&writer->sample_labels, labels.data, labels.length);
	struct cairn_label label = {.key = writer->size_word, .unit = writer->size_word, .is_number = true, .number = size};
	encode_label(writer, &label, &writer->sample_labels);
	return cairn_buffer_bytes(&writer->sample_labels);
}

/* STACK holds location numbers. Encoded by hand, because this is the only loop over all frames of a profile. */
static void write_sample(struct writer *writer, const uint32_t *stack, size_t depth, const double *values,
			 struct cairn_bytes labels)
{
	uint32_t width = writer->profile->value_count;
	int64_t numbers[CAIRN_VALUES_MAX];
	size_t stack_size = 0, values_size = 0;
	for (size_t i = 0; i < depth; i++)
		stack_size += varint_size(stack[i]);
	for (uint32_t i = 0; i < width; i++) {
		numbers[i] = cairn_whole_carry(values[i], &writer->residual[i]);
		values_size += varint_size((uint64_t)numbers[i]);
	}
	size_t size = 1 + varint_size(values_size) + values_size + labels.length;
	if (depth)
		size += 1 + varint_size(stack_size) + stack_size;

	char *room = cairn_buffer_room(&writer->out, 1 + varint_most + size), *at = room;
	*at++ = PPROF_SAMPLE << 3 | CAIRN_WIRE_BYTES;
	at = put_varint(at, size);
	if (depth) {
		*at++ = PPROF_SAMPLE_LOCATION << 3 | CAIRN_WIRE_BYTES;
		at = put_varint(at, stack_size);
		for (size_t i = 0; i < depth; i++)
			at = put_varint(at, stack[i]);
	}
	*at++ = PPROF_SAMPLE_VALUE << 3 | CAIRN_WIRE_BYTES;
	at = put_varint(at, values_size);
	for (uint32_t i = 0; i < width; i++)
		at = put_varint(at, (uint64_t)numbers[i]);
	if (labels.length)
		memcpy(at, labels.data, labels.length);
	writer->out.length += (size_t)(at - room) + labels.length;
}

/* Writes the samples marked in KEEP (all if it is NULL), and the sum of the others as one sample. */
static void write_samples(struct writer *writer, const bool *keep)
{
	const struct cairn_profile *profile = writer->profile;
	double rest[CAIRN_VALUES_MAX] = {0};
	uint32_t *stack = NULL;
	size_t capacity = 0;
	size_t folded = 0;
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct cairn_sample *sample = &profile->samples[i];
		const double *values = cairn_profile_values(profile, i);
		if (keep && !keep[i]) {
			folded++;
			for (uint32_t type = 0; type < profile->value_count; type++)
				rest[type] += values[type];
			continue;
		}
		stack = cairn_array_reserve(stack, &capacity, sample->depth, sizeof *stack);
		for (uint32_t frame = 0; frame < sample->depth; frame++)
			stack[frame] = location_number(writer, profile->stacks[sample->stack + frame]);
		write_sample(writer, stack, sample->depth, values, all_labels(writer, sample, values));
	}
	free(stack);
	writer->folded = folded;
	if (folded > 0) {
		writer->locations[writer->location_count++] = CAIRN_NONE;
		write_sample(writer, &writer->location_count, 1, rest, (struct cairn_bytes){0});
	}
}

/* Mappings and locations. */

static void look_at_names(struct writer *writer)
{
	const struct cairn_profile *profile = writer->profile;
	for (uint32_t i = 0; i < writer->location_count; i++) {
		if (writer->locations[i] == CAIRN_NONE || profile->locations[writer->locations[i]].mapping == CAIRN_NONE)
			continue;
		const struct cairn_location *location = &profile->locations[writer->locations[i]];
		struct named *named = &writer->named[location->mapping];
		named->locations++;
		named->with_names += location->frame_count > 0;
		named->inlines |= location->frame_count > 1;
		for (uint32_t frame = 0; frame < location->frame_count; frame++) {
			const struct cairn_frame *at = &profile->frames[location->first_frame + frame];
			named->files |= profile->functions[at->function].file != 0;
			named->lines |= at->line != 0;
		}
	}
}

static bool may_be_program(struct cairn_bytes path)
{
	return path.length > 0 && path.data[0] != '[' && !cairn_bytes_contain(path, ".so") &&
	       !cairn_bytes_start_with(path, "//anon") && !cairn_bytes_start_with(path, "/anon_hugepage") &&
	       !cairn_bytes_start_with(path, "/memfd:");
}

/* Readers take the first mapping for the main program. */
static size_t main_mapping(const struct cairn_profile *profile)
{
	for (size_t i = 0; i < profile->mapping_count; i++)
		if (profile->facts.process && profile->modules[profile->mappings[i].module].path == profile->facts.process)
			return i;
	for (size_t i = 0; i < profile->mapping_count; i++)
		if (may_be_program(cairn_strings_bytes(&profile->strings, profile->modules[profile->mappings[i].module].path)))
			return i;
	return 0;
}

static void write_mapping(struct writer *writer, size_t index)
{
	const struct cairn_mapping *mapping = &writer->profile->mappings[index];
	const struct cairn_module *module = &writer->profile->modules[mapping->module];
	const struct named *named = &writer->named[index];
	struct cairn_buffer *to = &writer->message;
	/* All or nothing: if has_functions is set, readers look up nothing more in this mapping. */
	bool with_names = writer->options->names != CAIRN_PPROF_NAMES_NONE;
	bool complete = with_names && named->locations > 0 &&
			(writer->options->names == CAIRN_PPROF_NAMES_ALL || named->with_names == named->locations);
	cairn_protobuf_number(to, PPROF_MAPPING_ID, ++writer->mapping_count);
	cairn_protobuf_number(to, PPROF_MAPPING_START, mapping->start);
	cairn_protobuf_number(to, PPROF_MAPPING_LIMIT, mapping->limit);
	cairn_protobuf_number(to, PPROF_MAPPING_OFFSET, mapping->offset);
	cairn_protobuf_number(to, PPROF_MAPPING_FILE, string_number(writer, module->path));
	cairn_protobuf_number(to, PPROF_MAPPING_BUILD_ID, string_number(writer, module->build_id));
	cairn_protobuf_number(to, PPROF_MAPPING_HAS_FUNCTIONS, complete || (with_names && mapping->has_functions));
	cairn_protobuf_number(to, PPROF_MAPPING_HAS_FILENAMES, (complete && named->files) || (with_names && mapping->has_filenames));
	cairn_protobuf_number(to, PPROF_MAPPING_HAS_LINE_NUMBERS, (complete && named->lines) || (with_names && mapping->has_line_numbers));
	cairn_protobuf_number(to, PPROF_MAPPING_HAS_INLINE_FRAMES,
			      (complete && named->inlines) || (with_names && mapping->has_inline_frames));
	cairn_protobuf_message(&writer->out, PPROF_MAPPING, to);
	writer->mapping_numbers[index] = writer->mapping_count;
}

static void write_mappings(struct writer *writer)
{
	if (writer->profile->mapping_count == 0)
		return;
	size_t first = main_mapping(writer->profile);
	write_mapping(writer, first);
	for (size_t i = 0; i < writer->profile->mapping_count; i++)
		if (i != first && (writer->named[i].locations > 0 || !writer->options->bytes_most))
			write_mapping(writer, i);
}

static uint32_t made_up_function(struct writer *writer, const struct cairn_location *location)
{
	if (!location)
		return new_function(writer, "other");
	struct cairn_buffer name = cairn_buffer(SIZE_MAX);
	cairn_profile_place(writer->profile, location, &name);
	cairn_buffer_byte(&name, 0);
	uint32_t number = new_function(writer, name.data);
	cairn_buffer_free(&name);
	return number;
}

static void add_line(struct writer *writer, uint32_t function, uint32_t line, uint32_t column)
{
	cairn_protobuf_number(&writer->line, PPROF_LINE_FUNCTION, function);
	cairn_protobuf_number(&writer->line, PPROF_LINE_LINE, line);
	cairn_protobuf_number(&writer->line, PPROF_LINE_COLUMN, column);
	cairn_protobuf_message(&writer->message, PPROF_LOCATION_LINE, &writer->line);
}

static void write_location(struct writer *writer, uint32_t number, const struct cairn_location *location)
{
	const struct cairn_profile *profile = writer->profile;
	struct cairn_buffer *to = &writer->message;
	enum cairn_pprof_names names = writer->options->names;
	cairn_protobuf_number(to, PPROF_LOCATION_ID, number);
	if (location) {
		cairn_protobuf_number(to, PPROF_LOCATION_MAPPING,
				      location->mapping == CAIRN_NONE ? 0 : writer->mapping_numbers[location->mapping]);
		cairn_protobuf_number(to, PPROF_LOCATION_ADDRESS, location->address);
		/* Locations without an address always keep their names, because they have nothing else. */
		bool has_address = location->address != 0;
		for (uint32_t i = 0; i < location->frame_count && (names != CAIRN_PPROF_NAMES_NONE || !has_address); i++) {
			const struct cairn_frame *frame = &profile->frames[location->first_frame + i];
			add_line(writer, function_number(writer, frame->function), frame->line, frame->column);
		}
		cairn_protobuf_number(to, PPROF_LOCATION_IS_FOLDED, location->is_folded);
	}
	if (!location || (location->frame_count == 0 && names == CAIRN_PPROF_NAMES_ALL))
		add_line(writer, made_up_function(writer, location), 0, 0);
	cairn_protobuf_message(&writer->out, PPROF_LOCATION, to);
}

/* The whole profile. */

static void write_value_type(struct writer *writer, unsigned field, struct cairn_value_type type)
{
	cairn_protobuf_number(&writer->message, PPROF_TYPE_NAME, string_number(writer, type.type));
	cairn_protobuf_number(&writer->message, PPROF_TYPE_UNIT, string_number(writer, type.unit));
	cairn_protobuf_message(&writer->out, field, &writer->message);
}

static void write_head(struct writer *writer)
{
	const struct cairn_profile *profile = writer->profile;
	struct cairn_buffer *to = &writer->out;
	if (profile->drop_frames)
		cairn_protobuf_number(to, PPROF_DROP_FRAMES, string_number(writer, profile->drop_frames));
	else if (writer->options->drop_frames)
		cairn_protobuf_number(to, PPROF_DROP_FRAMES, add_string(writer, cairn_bytes_of(writer->options->drop_frames)));
	cairn_protobuf_number(to, PPROF_KEEP_FRAMES, string_number(writer, profile->keep_frames));
	cairn_protobuf_number(to, PPROF_TIME_NANOS, (uint64_t)profile->facts.time_ns);
	cairn_protobuf_number(to, PPROF_DURATION_NANOS, (uint64_t)profile->facts.duration_ns);
	if (profile->period_type.type || profile->period_type.unit)
		write_value_type(writer, PPROF_PERIOD_TYPE, profile->period_type);
	cairn_protobuf_number(to, PPROF_PERIOD, fabs(profile->period) < 0x1p63 ? (uint64_t)llround(profile->period) : 0);
	for (size_t i = 0; i < profile->comment_count; i++) {
		cairn_buffer_uleb(to, PPROF_COMMENT << 3 | CAIRN_WIRE_VARINT);
		cairn_buffer_uleb(to, string_number(writer, profile->comments[i]));
	}
	if (writer->folded > 0) {
		char text[80];
		snprintf(text, sizeof text, "%zu stacks are merged into \"other\"", writer->folded);
		cairn_buffer_uleb(to, PPROF_COMMENT << 3 | CAIRN_WIRE_VARINT);
		cairn_buffer_uleb(to, add_string(writer, cairn_bytes_of(text)));
	}
	if (profile->value_count)
		cairn_protobuf_number(to, PPROF_DEFAULT_SAMPLE_TYPE,
				      string_number(writer, profile->value_types[profile->default_value].type));
	cairn_protobuf_number(to, PPROF_DOC_URL, string_number(writer, profile->doc_url));
}

static void write_all(struct writer *writer, const bool *keep)
{
	const struct cairn_profile *profile = writer->profile;
	add_string(writer, (struct cairn_bytes){"", 0});
	for (uint32_t i = 0; i < profile->value_count; i++)
		write_value_type(writer, PPROF_SAMPLE_TYPE, profile->value_types[i]);
	write_samples(writer, keep);
	look_at_names(writer);
	write_mappings(writer);
	for (uint32_t i = 0; i < writer->location_count; i++)
		write_location(writer, i + 1,
			       writer->locations[i] == CAIRN_NONE ? NULL : &profile->locations[writer->locations[i]]);
	cairn_buffer_append(&writer->out, writer->functions.data, writer->functions.length);
	write_head(writer);
	cairn_buffer_append(&writer->out, writer->strings.data, writer->strings.length);
}

/* Makes one attempt, into the empty buffer ENCODED. */
static void attempt(const struct cairn_profile *profile, const struct cairn_pprof_options *options, const bool *keep,
		    struct cairn_buffer *encoded)
{
	struct writer writer = {.profile = profile, .options = options, .out = *encoded};
	struct cairn_arena *arena = &writer.arena;
	struct cairn_buffer *const parts[] = {&writer.message, &writer.line, &writer.functions, &writer.strings,
					      &writer.label_data, &writer.sample_labels};
	const size_t part_count = sizeof parts / sizeof *parts;
	for (size_t i = 0; i < part_count; i++)
		*parts[i] = cairn_buffer(SIZE_MAX);
	writer.string_numbers = cairn_arena_zero(arena, profile->strings.count + 1, sizeof *writer.string_numbers);
	writer.function_numbers = cairn_arena_zero(arena, profile->function_count, sizeof *writer.function_numbers);
	writer.location_numbers = cairn_arena_zero(arena, profile->location_count, sizeof *writer.location_numbers);
	writer.mapping_numbers = cairn_arena_zero(arena, profile->mapping_count, sizeof *writer.mapping_numbers);
	writer.locations = cairn_arena_zero(arena, profile->location_count + 1, sizeof *writer.locations);
	writer.named = cairn_arena_zero(arena, profile->mapping_count, sizeof *writer.named);
	writer.label_bytes = cairn_arena_zero(arena, profile->label_set_count, sizeof *writer.label_bytes);
	prepare_sizes(&writer);
	write_all(&writer, keep);
	*encoded = writer.out;
	for (size_t i = 0; i < part_count; i++)
		cairn_buffer_free(parts[i]);
	cairn_arena_free(arena);
}

struct ranked {
	double weight;
	size_t sample;
};

static int by_weight(const void *a, const void *b)
{
	const struct ranked *left = a, *right = b;
	if (left->weight != right->weight)
		return left->weight > right->weight ? -1 : 1;
	return left->sample < right->sample ? -1 : 1;
}

static struct ranked *rank(const struct cairn_profile *profile)
{
	struct ranked *ranked = cairn_array_new(profile->sample_count, sizeof *ranked);
	for (size_t i = 0; i < profile->sample_count; i++)
		ranked[i] = (struct ranked){fabs(cairn_profile_values(profile, i)[profile->default_value]), i};
	qsort(ranked, profile->sample_count, sizeof *ranked, by_weight);
	return ranked;
}

/* Tries with fewer and fewer separate samples, COUNT at first, until the size limit is met. */
static bool write_largest(const struct cairn_profile *profile, const struct cairn_pprof_options *options, size_t count,
			  struct cairn_buffer *encoded)
{
	struct ranked *ranked = rank(profile);
	bool *keep = cairn_array_new(profile->sample_count, sizeof *keep);
	bool fits;
	for (;;) {
		memset(keep, 0, profile->sample_count);
		for (size_t i = 0; i < count; i++)
			keep[ranked[i].sample] = true;
		encoded->length = 0;
		attempt(profile, options, keep, encoded);
		fits = !options->bytes_most || encoded->length <= options->bytes_most;
		if (fits || count == 0)
			break;
		/* Slightly fewer than in proportion, because the parts that do not shrink now weigh more. */
		size_t next = (size_t)((double)count * 0.95 * (double)options->bytes_most / (double)encoded->length);
		count = next < count ? next : count - 1;
	}
	free(keep);
	free(ranked);
	return fits;
}

bool cairn_pprof_write(const struct cairn_profile *profile, const struct cairn_pprof_options *options, struct cairn_buffer *out)
{
	struct cairn_buffer encoded = cairn_buffer(SIZE_MAX);
	bool many = options->samples_most && profile->sample_count > options->samples_most, good = true;
	if (!many)
		attempt(profile, options, NULL, &encoded);
	if (many || (options->bytes_most && encoded.length > options->bytes_most))
		good = write_largest(profile, options, many ? options->samples_most - 1 : profile->sample_count, &encoded);
	if (good)
		cairn_buffer_append(out, encoded.data, encoded.length);
	cairn_buffer_free(&encoded);
	return good && !out->failed;
}
