/* pprof_read_test.c - profile.proto as its writers and as no writer encodes it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"
#include "fixture.h"
#include "profile/pprof_fields.h"

#include <stdlib.h>

/* An encoder of its own, so that the writer's mistakes are not the reader's. */

static void varint(struct cairn_buffer *to, uint64_t value)
{
	do {
		cairn_buffer_byte(to, (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0)));
		value >>= 7;
	} while (value);
}

static void number(struct cairn_buffer *to, unsigned field, uint64_t value)
{
	varint(to, field << 3);
	varint(to, value);
}

static void bytes(struct cairn_buffer *to, unsigned field, const void *data, size_t length)
{
	varint(to, field << 3 | 2);
	varint(to, length);
	cairn_buffer_append(to, data, length);
}

/* A message of (field, value) pairs. */
static void message(struct cairn_buffer *to, unsigned field, const uint64_t *pairs, size_t count)
{
	struct cairn_buffer body = cairn_buffer(4096);
	for (size_t i = 0; i < count; i += 2)
		number(&body, (unsigned)pairs[i], pairs[i + 1]);
	bytes(to, field, body.data, body.length);
	cairn_buffer_free(&body);
}

#define message(to, field, ...)                                                                                                  \
	message((to), (field), (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

enum { objects = 1, count, space, byte_unit, program, build_id, name_a, name_b, file, thread, worker, comment, memory, last };
static const char *const texts[] = {
	"",       "inuse_objects", "count",   "inuse_space", "bytes", "/bin/service (deleted)", "abcd", "f", "_Zf",
	"file.c", "thread",        "worker1", "a remark",    "space"};

static void strings(struct cairn_buffer *to)
{
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		bytes(to, PPROF_STRING_TABLE, texts[i], strlen(texts[i]));
}

static void tables(struct cairn_buffer *to)
{
	message(to, PPROF_SAMPLE_TYPE, 1, objects, 2, count);
	message(to, PPROF_SAMPLE_TYPE, 1, space, 2, byte_unit);
	message(to, PPROF_MAPPING, 1, 1, 2, 0x400000, 3, 0x500000, 4, 0x1000, 5, program, 6, build_id, 7, 1);
	message(to, PPROF_FUNCTION, 1, 900, 2, name_a, 3, name_b, 4, file, 5, 12);
	message(to, PPROF_FUNCTION, 1, 2, 2, name_b, 3, name_b);
	struct cairn_buffer location = cairn_buffer(4096);
	number(&location, 1, 1);
	number(&location, 2, 1);
	number(&location, 3, 0x401000);
	message(&location, 4, 1, 900, 2, 15, 3, 7);
	message(&location, 4, 1, 2, 2, 30);
	number(&location, 5, 1);
	bytes(to, PPROF_LOCATION, location.data, location.length);
	cairn_buffer_free(&location);
	message(to, PPROF_LOCATION, 1, UINT64_MAX, 3, 0x77);
}

static void samples(struct cairn_buffer *to)
{
	struct cairn_buffer sample = cairn_buffer(4096);
	bytes(&sample, PPROF_SAMPLE_LOCATION, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01", 11);
	bytes(&sample, PPROF_SAMPLE_VALUE, "\x02\x80\x08", 3);
	message(&sample, PPROF_SAMPLE_LABEL, 1, byte_unit, 3, 512, 4, byte_unit);
	message(&sample, PPROF_SAMPLE_LABEL, 1, thread, 2, worker);
	bytes(to, PPROF_SAMPLE, sample.data, sample.length);
	cairn_buffer_free(&sample);
	/* Not packed, and less than nothing. */
	message(to, PPROF_SAMPLE, 1, 1, 1, 1, 2, (uint64_t)-1, 2, (uint64_t)-4096);
}

static void head(struct cairn_buffer *to)
{
	number(to, PPROF_TIME_NANOS, 1700000000000000000);
	number(to, PPROF_DURATION_NANOS, 5);
	message(to, PPROF_PERIOD_TYPE, 1, memory, 2, byte_unit);
	number(to, PPROF_PERIOD, 524288);
	number(to, PPROF_COMMENT, comment);
	number(to, PPROF_DEFAULT_SAMPLE_TYPE, objects);
}

static bool read_buffer(struct cairn_buffer *input)
{
	cairn_profile_free(&profile);
	cairn_profile_init(&profile);
	struct cairn_reader reader = {.profile = &profile, .name = "x.pb"};
	bool good = cairn_pprof_read(&reader, cairn_buffer_bytes(input), &error);
	input->length = 0;
	return good;
}

static const char *text(uint32_t id)
{
	return cairn_profile_string(&profile, id);
}

static void check_whole(const char *order)
{
	ok(profile.sample_count == 2 && profile.value_count == 2 && profile.warning_count == 0, "%s: two samples of two values",
	   order);
	ok(profile.values[0] == 2 && profile.values[1] == 1024 && profile.values[2] == -1 && profile.values[3] == -4096,
	   "%s: the values", order);
	ok(profile.stacks[0] == 1 && profile.stacks[1] == 0 && profile.stacks[2] == 0 && profile.samples[1].depth == 2,
	   "%s: the stacks", order);
	const struct cairn_location *location = &profile.locations[0];
	ok(location->address == 0x401000 && location->mapping == 0 && location->is_folded && location->frame_count == 2,
	   "%s: a location", order);
	ok(profile.locations[1].address == 0x77 && profile.locations[1].mapping == CAIRN_NONE, "%s: one without a mapping",
	   order);
	const struct cairn_frame *frame = &profile.frames[location->first_frame];
	const struct cairn_function *function = &profile.functions[frame->function];
	ok(frame->line == 15 && frame->column == 7 && frame[1].line == 30, "%s: lines, innermost first", order);
	ok(!strcmp(text(function->name), "f") && !strcmp(text(function->system_name), "_Zf") &&
		   !strcmp(text(function->file), "file.c") && function->start_line == 12,
	   "%s: a function", order);
	const struct cairn_module *module = &profile.modules[0];
	ok(!strcmp(text(module->path), "/bin/service") && module->deleted && !strcmp(text(module->build_id), "abcd"),
	   "%s: a module", order);
	ok(profile.mappings[0].has_functions && !profile.mappings[0].has_filenames && profile.mappings[0].offset == 0x1000,
	   "%s: a mapping", order);
	const struct cairn_label_set *set = &profile.label_sets[profile.samples[0].labels];
	const struct cairn_label *label = &profile.labels[set->first];
	ok(set->count == 2 && label->is_number && label->number == 512 && !strcmp(text(label->unit), "bytes") &&
		   !strcmp(text(label[1].text), "worker1"),
	   "%s: labels", order);
	ok(profile.default_value == 0 && profile.period == 524288 && profile.facts.time_ns == 1700000000000000000 &&
		   profile.facts.duration_ns == 5,
	   "%s: the head", order);
	ok(profile.kind == CAIRN_PROFILE_HEAP && !strcmp(text(profile.comments[0]), "a remark") &&
		   !strcmp(text(profile.facts.process), "/bin/service"),
	   "%s: the rest", order);
}

static void test_order(void)
{
	struct cairn_buffer input = cairn_buffer(1 << 16);
	strings(&input), head(&input), tables(&input), samples(&input);
	if (ok(read_buffer(&input), "strings first"))
		check_whole("strings first");
	samples(&input), tables(&input), head(&input);
	static const char unknown[] = "\x82\x7d\x03xyz\xa9\x7d"
				      "12345678\xad\x7d"
				      "1234";
	cairn_buffer_append(&input, unknown, sizeof unknown - 1);
	strings(&input);
	if (ok(read_buffer(&input), "strings last, and unknown fields"))
		check_whole("strings last");
	cairn_buffer_free(&input);
}

static void check_origin(struct cairn_buffer *input, int64_t time_ns, const char *path, const char *name)
{
	int64_t found_ns;
	struct cairn_bytes found;
	cairn_pprof_origin(cairn_buffer_bytes(input), &found_ns, &found);
	ok(found_ns == time_ns && cairn_bytes_equal(found, cairn_bytes_of(path)), "the origin alone: %s", name);
	input->length = 0;
}

static void test_origin(void)
{
	struct cairn_buffer input = cairn_buffer(1 << 16);
	strings(&input), head(&input), tables(&input), samples(&input);
	message(&input, PPROF_MAPPING, 1, 2, 2, 0x600000, 3, 0x700000, 5, file);
	check_origin(&input, 1700000000000000000, "/bin/service", "strings first, and a second mapping");
	samples(&input), tables(&input), head(&input), strings(&input);
	check_origin(&input, 1700000000000000000, "/bin/service", "strings last");
	samples(&input), strings(&input);
	check_origin(&input, 0, "", "neither time nor mapping");
	message(&input, PPROF_MAPPING, 1, 1, 5, UINT64_MAX);
	strings(&input);
	check_origin(&input, 0, "", "a name outside the string table");
	head(&input), tables(&input), strings(&input);
	input.length -= 3;
	check_origin(&input, 1700000000000000000, "/bin/service", "truncated");
	check_origin(&input, 0, "", "nothing");
	cairn_buffer_free(&input);
}

static void test_broken(void)
{
	struct cairn_buffer input = cairn_buffer(1 << 16);
	for (int i = 0; i < 2; i++)
		tables(&input), samples(&input), head(&input), strings(&input);
	ok(!read_buffer(&input), "two profiles in one file");
	like_text(error.text, "2 pprof profiles one after the other", "are told by their times");
	for (int i = 0; i < 2; i++)
		tables(&input), samples(&input), strings(&input);
	ok(!read_buffer(&input), "two without times");
	like_text(error.text, "one after the other", "by their ids and strings");
	tables(&input), samples(&input);
	ok(!read_buffer(&input), "no string table");
	like_text(error.text, "string table", "is said");
	ok(!read_buffer(&input), "an empty message");
	strings(&input), tables(&input), samples(&input);
	input.length -= 3;
	ok(read_buffer(&input), "a message cut short");
	ok(profile.sample_count == 1 && warned("cut short"), "gives what came before");
	strings(&input), tables(&input);
	message(&input, PPROF_SAMPLE, 1, 55, 2, 1, 2, 1);
	message(&input, PPROF_SAMPLE, 1, 1, 2, 1);
	message(&input, PPROF_SAMPLE, 1, 1, 2, (uint64_t)1 << 60, 2, 1);
	message(&input, PPROF_FUNCTION, 1, 3, 2, 999);
	message(&input, PPROF_LOCATION, 1, 1, 3, 5);
	ok(read_buffer(&input), "ids that lead nowhere");
	ok(profile.sample_count == 2 && profile.samples[0].depth == 0, "what can be kept is");
	ok(warned("1 samples") && warned("1 frames") && warned("1 names") && warned("1 ids") && warned("2^53"),
	   "and each thing is said");
	cairn_buffer_free(&input);
}

/* Millions of empty messages, which compress to nothing, are refused before anything is made of them. */
static void test_empty_tables(void)
{
	static const unsigned tables_of[] = {PPROF_MAPPING, PPROF_LOCATION};
	for (size_t i = 0; i < sizeof tables_of / sizeof *tables_of; i++) {
		struct cairn_buffer input = cairn_buffer(4 << 20);
		tables(&input), samples(&input), head(&input), strings(&input);
		for (int k = 0; k <= 1 << 20; k++)
			bytes(&input, tables_of[i], "", 0);
		ok(!read_buffer(&input) && profile.mapping_count + profile.location_count == 0, "a million empty records are refused");
		like_text(error.text, i == 0 ? "than any process has" : "neither an address nor a function", "with the reason");
		cairn_buffer_free(&input);
	}
}

/* Reads a profile of 3 inuse_space in UNIT, with a period of 2 and a label of 5 in it. */
static bool read_unit(const char *unit)
{
	enum { text_type = 1, text_unit, text_key };
	struct cairn_buffer input = cairn_buffer(1 << 16), sample = cairn_buffer(4096);
	const char *const all[] = {"", "inuse_space", unit, "size"};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		bytes(&input, PPROF_STRING_TABLE, all[i], strlen(all[i]));
	message(&input, PPROF_SAMPLE_TYPE, 1, text_type, 2, text_unit);
	message(&input, PPROF_PERIOD_TYPE, 1, text_type, 2, text_unit);
	number(&input, PPROF_PERIOD, 2);
	number(&sample, PPROF_SAMPLE_VALUE, 3);
	message(&sample, PPROF_SAMPLE_LABEL, 1, text_key, 3, 5, 4, text_unit);
	message(&sample, PPROF_SAMPLE_LABEL, 1, text_key, 3, INT64_MAX, 4, text_unit);
	bytes(&input, PPROF_SAMPLE, sample.data, sample.length);
	bool good = read_buffer(&input);
	cairn_buffer_free(&input);
	cairn_buffer_free(&sample);
	return good;
}

static void test_units(void)
{
	static const struct {
		const char *unit, *base;
		double scale;
	} cases[] = {
		{"bytes", "bytes", 1},
		{"B", "bytes", 1},
		{"kilobytes", "bytes", 1024},
		{"MB", "bytes", 1 << 20},
		{"gbyte", "bytes", 1 << 30},
		{"nanoseconds", "nanoseconds", 1},
		{"us", "nanoseconds", 1e3},
		{"\u03bcs", "nanoseconds", 1e3},
		{"milliseconds", "nanoseconds", 1e6},
		{"s", "nanoseconds", 1e9},
		{"hrs", "nanoseconds", 3.6e12},
		{"count", "count", 1},
		{"bs", "bs", 1},
		{"", "", 1},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (!ok(read_unit(cases[i].unit), "a profile in \"%s\"", cases[i].unit))
			continue;
		const struct cairn_label *labels = &profile.labels[profile.label_sets[profile.samples[0].labels].first];
		bool in_bytes = !strcmp(cases[i].base, "bytes");
		is_text(text(profile.value_types[0].unit), cases[i].base, "is in %s", cases[i].base);
		ok(profile.values[0] == 3 * cases[i].scale, "its values are scaled");
		ok(!strcmp(text(profile.period_type.unit), cases[i].base) && profile.period == 2 * cases[i].scale, "as is its period,");
		is_text(text(labels[0].unit), in_bytes ? "bytes" : cases[i].unit, "and labels that are sizes,");
		ok((double)labels[0].number == 5 * (in_bytes ? cases[i].scale : 1), "which other labels are not");
		ok(labels[1].number == INT64_MAX, "nor those that would become too large");
		is_text(text(labels[1].unit), in_bytes && cases[i].scale == 1 ? "bytes" : cases[i].unit, "which keep their unit");
	}
}

int main(void)
{
	test_order();
	test_origin();
	test_broken();
	test_empty_tables();
	test_units();
	cairn_profile_free(&profile);
	return tap_done();
}
