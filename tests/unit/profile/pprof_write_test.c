/* pprof_write_test.c - what strict readers of profile.proto demand, seen through our own reader.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "profile/pprof_write.h"
#include "profile/read.h"
#include "tap.h"

#include <stdlib.h>

static struct cairn_profile before, after;
static struct cairn_error error;
static struct cairn_buffer out;

static const char dump[] = "heap profile: 4: 40 [ 4: 40] @ heap_v2/4096\n"
			   " 3: 1000 [ 3: 1000] @ 0x7f0000000011 0x401011\n"
			   " 1: 100 [ 1: 100] @ 0x7f0000000021 0x401011 0x5\n"
			   "MAPPED_LIBRARIES:\n"
			   "7f0000000000-7f0000001000 r-xp 00002000 08:01 5 /lib/lib\xff.so.6\n"
			   "00400000-00500000 r-xp 00001000 08:01 9 /bin/service\n"
			   "7f0000009000-7f000000a000 r-xp 00002000 08:01 6 /lib/unused.so\n";

static bool read_again(void)
{
	cairn_profile_free(&after);
	cairn_profile_init(&after);
	return cairn_profile_read(&after, cairn_buffer_bytes(&out), "again", NULL, &error);
}

static bool rewrite(struct cairn_pprof_options options)
{
	out.length = 0;
	return cairn_pprof_write(&before, &options, &out) && read_again();
}

static void read_before(const char *text)
{
	cairn_profile_free(&before);
	cairn_profile_init(&before);
	if (!cairn_profile_read(&before, cairn_bytes_of(text), "before", NULL, &error))
		printf("# %s\n", error.text);
}

static const char *path_of(size_t mapping)
{
	return cairn_profile_string(&after, after.modules[after.mappings[mapping].module].path);
}

static const char *name_of(uint32_t location, uint32_t frame)
{
	const struct cairn_location *at = &after.locations[location];
	return frame < at->frame_count
		       ? cairn_profile_string(&after, after.functions[after.frames[at->first_frame + frame].function].name)
		       : NULL;
}

static void name_location(uint32_t location, const char *name)
{
	uint32_t text = cairn_profile_text(&before, name);
	uint32_t function = cairn_profile_add_function(&before, &(struct cairn_function){text, text, 0, 0});
	cairn_profile_set_frames(&before, location, &(struct cairn_frame){.function = function, .line = 5}, 1);
}

static void test_addresses(void)
{
	read_before(dump);
	ok(rewrite((struct cairn_pprof_options){.names = CAIRN_PPROF_NAMES_NONE}), "addresses only");
	ok(after.sample_count == 2 && after.mapping_count == 3 && after.location_count == 4 && after.function_count == 0,
	   "nothing is named");
	is_text(path_of(0), "/bin/service", "the program's mapping is first");
	is_text(path_of(1), "/lib/lib\\xff.so.6", "bytes that are no UTF-8 are escaped");
	ok(after.locations[0].address == 0x7f0000000010 && after.locations[0].mapping == 1,
	   "one before the return address, in its mapping");
	ok(!after.mappings[0].has_functions && !after.mappings[1].has_functions, "and nothing claims to be");
	is_text(cairn_profile_string(&after, after.value_types[after.default_value].type), "inuse_space", "the default value");
	is_near(after.period, 4096, 0, "the period");
	is_text(cairn_profile_string(&after, after.period_type.type), "space", "of space");
	const struct cairn_label *label = &after.labels[after.label_sets[after.samples[0].labels].first];
	ok(label->is_number && label->number == 333 && label->unit, "the size label has its unit");
}

static void test_names(void)
{
	read_before(dump);
	name_location(0, "f");
	ok(rewrite((struct cairn_pprof_options){.names = CAIRN_PPROF_NAMES_KNOWN}), "the names there are");
	is_text(name_of(0, 0), "f", "a name");
	ok(!after.mappings[1].has_functions && !name_of(1, 0), "one location without: its mapping is not done");
	ok(rewrite((struct cairn_pprof_options){.names = CAIRN_PPROF_NAMES_ALL}), "names for all");
	is_text(name_of(1, 0), "service+0x2010", "module and offset");
	is_text(name_of(3, 0), "0x5", "or the address as in the dump");
	before.mappings[before.locations[1].mapping].link_bias = 0x400000;
	ok(rewrite((struct cairn_pprof_options){.names = CAIRN_PPROF_NAMES_ALL}), "a file that is not linked at 0");
	is_text(name_of(1, 0), "service+0x402010", "has addresses as addr2line takes them");
	ok(after.mappings[0].has_functions && after.mappings[1].has_functions && !after.mappings[2].has_functions,
	   "mappings with locations are done");
	ok(after.mappings[1].has_line_numbers && !after.mappings[0].has_line_numbers, "lines are claimed where there are");
	before.locations[0].address = 0;
	ok(rewrite((struct cairn_pprof_options){.names = CAIRN_PPROF_NAMES_NONE}), "a location of a module, without an address");
	is_text(name_of(0, 0), "f", "keeps its name in any case");
	read_before("main;f 5\nmain 7\n");
	ok(rewrite((struct cairn_pprof_options){.names = CAIRN_PPROF_NAMES_NONE}), "text without addresses");
	is_text(name_of(0, 0), "f", "as well");
}

static void test_rounding(void)
{
	struct cairn_buffer text = cairn_buffer(1 << 20);
	for (int i = 0; i < 1000; i++)
		cairn_buffer_format(&text, "main;f%d %s\n", i, i % 3 ? "0.4" : "7");
	cairn_buffer_byte(&text, 0);
	read_before(text.data);
	ok(rewrite((struct cairn_pprof_options){0}), "fractions");
	is_near(cairn_profile_total(&after, 0), cairn_profile_total(&before, 0), 0.5, "their sum is the rounded sum");
	size_t wrong = 0;
	for (size_t i = 0; i < 1000; i++)
		wrong += i % 3 ? after.values[i] < 0 || after.values[i] > 1 : after.values[i] != 7;
	is_int(wrong, 0, "each is within one, and integers are exact");
	cairn_buffer_free(&text);
}

static void test_budget(void)
{
	struct cairn_buffer text = cairn_buffer(1 << 20);
	for (int i = 0; i < 5000; i++)
		cairn_buffer_format(&text, "main;group%d;function_number_%d %d\n", i % 10, i, i + 1);
	cairn_buffer_byte(&text, 0);
	read_before(text.data);
	ok(rewrite((struct cairn_pprof_options){.samples_most = 100}), "at most 100 samples");
	is_int(after.sample_count, 100, "are 100");
	is_near(cairn_profile_total(&after, 0), cairn_profile_total(&before, 0), 0, "with the same sum");
	is_near(after.values[0], 4902, 0, "the largest stay themselves");
	is_text(name_of(after.stacks[after.samples[99].stack], 0), "other", "the rest is one stack");
	ok(after.location_count == 99 + 10 + 1 + 1, "what they used is gone");
	ok(rewrite((struct cairn_pprof_options){.bytes_most = 20000}), "at most 20,000 bytes");
	ok(out.length <= 20000 && out.length > 10000, "which are used well (%zu)", out.length);
	is_near(cairn_profile_total(&after, 0), cairn_profile_total(&before, 0), 0, "with the same sum");
	out.length = 0;
	ok(!cairn_pprof_write(&before, &(struct cairn_pprof_options){.bytes_most = 10}, &out) && out.length == 0,
	   "10 bytes are too few, and nothing is written");
	cairn_buffer_free(&text);
}

static void test_labels(void)
{
	read_before("main 1\n");
	uint32_t key = cairn_profile_text(&before, "size");
	struct cairn_label labels[] = {{.text = key}, {.key = key, .is_number = true}, {.key = key, .is_number = true, .number = -7}};
	before.samples[0].labels = cairn_profile_add_labels(&before, labels, 3);
	ok(rewrite((struct cairn_pprof_options){0}), "labels");
	const struct cairn_label_set *set = &after.label_sets[after.samples[0].labels];
	const struct cairn_label *label = &after.labels[set->first];
	is_int(set->count, 2, "one without a key is not written");
	ok(label[0].is_number && label[0].number == 0, "a number that is 0 is");
	ok(label[1].is_number && label[1].number == -7 && !label[1].unit, "no unit is made up where none is needed");
}

static void test_period(void)
{
	read_before("main 1\n");
	before.period_type.type = cairn_profile_text(&before, "space");
	before.period_type.unit = 0;
	ok(rewrite((struct cairn_pprof_options){0}), "a period whose unit nobody knows");
	is_text(cairn_profile_string(&after, after.period_type.type), "space", "keeps its type");
}

static void test_empty(void)
{
	read_before("heap profile: 0: 0 [0: 0] @ heap_v2/4096\n");
	ok(rewrite((struct cairn_pprof_options){.drop_frames = "malloc|operator new(\\[\\])?"}),
	   "a profile without samples is a profile");
	is_int(after.value_count, 2, "with its value types");
	is_text(cairn_profile_string(&after, after.drop_frames), "malloc|operator new(\\[\\])?", "and the frames to drop");
}

int main(void)
{
	out = cairn_buffer(1 << 24);
	cairn_profile_init(&before);
	cairn_profile_init(&after);
	test_addresses();
	test_names();
	test_rounding();
	test_budget();
	test_labels();
	test_period();
	test_empty();
	cairn_profile_free(&before);
	cairn_profile_free(&after);
	cairn_buffer_free(&out);
	return tap_done();
}
