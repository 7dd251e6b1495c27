/* snapshot_test.c - a profile becomes rows and the rows become the same profile; rows that are cut short or lie.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/snapshot.h"

#include "base/text.h"
#include "profile/read.h"
#include "tap.h"

#include <math.h>

static const char dump[] =
	"heap_v2/524288\n"
	"  t*: 3: 12288 [0: 0]\n"
	"@ 0x401001 0x402001\n  t*: 2: 8192 [5: 20480]\n"
	"@ 0x403001 0x402001\n  t*: 1: 4096 [1: 4096]\n"
	"\nMAPPED_LIBRARIES:\n"
	"00400000-00500000 r-xp 00000000 00:00 1 /srv/api\n"
	"# cairn trailer 1\n# cairn time 1790000000.000000000\n# cairn pid 42\n# cairn start 1789999000.000000000\n"
	"# cairn smaps.rss 1000000\n# cairn limit 2000000\n# cairn module 00400000-00500000 0 abcdef /srv/api\n# cairn end\n";

static void name_all(struct cairn_profile *profile)
{
	for (uint32_t i = 0; i < profile->location_count; i++) {
		char name[32];
		snprintf(name, sizeof name, "function\t%u", i); /* the tab is no part of what separates names */
		struct cairn_function function = {
			.name = cairn_profile_text(profile, name), .file = cairn_profile_text(profile, "a.c"), .start_line = 7};
		function.system_name = function.name;
		struct cairn_frame frame = {cairn_profile_add_function(profile, &function), 10 + i, 0};
		cairn_profile_set_frames(profile, i, &frame, 1);
	}
}

/* ROWS of TABLE without the last COUNT columns, which are numbers, as the store gives them back. */
static struct cairn_buffer without_last(const struct cairn_buffer *rows, const struct cairn_table *table, size_t count)
{
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	struct cairn_cursor cursor = cairn_cursor(cairn_buffer_bytes(rows));
	while (cairn_cursor_left(&cursor)) {
		const char *from = (const char *)cursor.at;
		cairn_row_skip(&cursor, table);
		cairn_buffer_append(&out, from, (size_t)((const char *)cursor.at - from) - count * 8);
	}
	return out;
}

/* The samples in ROWS, as the store would give them back. */
static size_t take_samples(const struct cairn_buffer *rows, struct cairn_stored_sample *samples, size_t most)
{
	struct cairn_cursor cursor = cairn_cursor(cairn_buffer_bytes(rows));
	size_t count = 0;
	while (count < most && cairn_cursor_left(&cursor)) {
		cairn_row_take_number(&cursor);
		cairn_row_take_number(&cursor);
		samples[count++] = cairn_stored_sample_take(&cursor);
	}
	return count;
}

/* Has TAKE read all of ROWS. Returns whether the last row is whole. */
static bool take_all(struct cairn_dictionary *dictionary, void (*take)(struct cairn_dictionary *dictionary, struct cairn_cursor *rows),
		     struct cairn_bytes rows)
{
	struct cairn_cursor cursor = cairn_cursor(rows);
	while (cairn_cursor_left(&cursor))
		take(dictionary, &cursor);
	return !cursor.failed;
}

/* One long name, many times at each address: a small profile, and limited rows, in which every name is whole. */
static void test_long_names(void)
{
	struct cairn_profile profile;
	struct cairn_error error;
	struct cairn_frame frames[100];
	struct cairn_buffer rows = cairn_buffer(SIZE_MAX);
	char name[3001] = "";
	memset(name, 'n', sizeof name - 1);
	cairn_profile_init(&profile);
	if (!cairn_profile_read(&profile, cairn_bytes_of(dump), "dump", &(struct cairn_read_options){0}, &error))
		ok(false, "%s", error.text);
	struct cairn_function function = {.name = cairn_profile_text(&profile, name), .file = cairn_profile_text(&profile, "a.c")};
	function.system_name = function.name;
	for (size_t i = 0; i < 100; i++)
		frames[i] = (struct cairn_frame){cairn_profile_add_function(&profile, &function), (uint32_t)i, 0};
	for (uint32_t i = 0; i < profile.location_count; i++)
		cairn_profile_set_frames(&profile, i, frames, 100);
	is_int(cairn_frames_write(&profile, 1, &rows), 3, "three addresses of one hundred functions each");
	ok(rows.length <= cairn_frames_size(&profile) && cairn_frames_size(&profile) < 3 * (CAIRN_STORE_NAMES + 200),
	   "their rows take %zu bytes, as was foreseen (%zu)", rows.length, cairn_frames_size(&profile));
	struct cairn_cursor cursor = cairn_cursor(cairn_buffer_bytes(&rows));
	cairn_row_take_number(&cursor);
	cairn_row_take_text(&cursor);
	cairn_row_take_text(&cursor);
	cairn_row_take_number(&cursor);
	struct cairn_bytes names = cairn_row_take_text(&cursor), line;
	size_t lines = 0, whole = 0;
	while (cairn_text_line(&names, &line, NULL)) {
		lines++;
		whole += line.length > 3000 && line.data[3000] == '\t';
	}
	is_int(lines, CAIRN_STORE_NAMES / 3035, "the innermost of them, as many as there is room for");
	is_int(whole, lines, "are whole");
	cairn_buffer_free(&rows);
	cairn_profile_free(&profile);
}

/* Some writers give names and a module, but no addresses. */
static void test_no_addresses(void)
{
	struct cairn_profile profile;
	struct cairn_error error;
	struct cairn_buffer rows = cairn_buffer(SIZE_MAX);
	cairn_profile_init(&profile);
	if (!cairn_profile_read(&profile, cairn_bytes_of(dump), "dump", &(struct cairn_read_options){0}, &error))
		ok(false, "%s", error.text);
	name_all(&profile);
	for (uint32_t i = 0; i < profile.location_count; i++)
		profile.locations[i].address = 0;
	cairn_frames_write(&profile, 1, &rows);
	struct cairn_dictionary dictionary = {0};
	struct cairn_buffer frames = without_last(&rows, &cairn_tables[CAIRN_TABLE_FRAMES], 2);
	take_all(&dictionary, cairn_dictionary_take_frame, cairn_buffer_bytes(&frames));
	is_int(dictionary.place_count, 3, "three functions of one build, without addresses, are three frames");
	cairn_dictionary_free(&dictionary);
	cairn_buffer_free(&frames);
	cairn_buffer_free(&rows);
	cairn_profile_free(&profile);
}

int main(void)
{
	struct cairn_profile profile, again;
	struct cairn_error error;
	struct cairn_snapshot_part part, other_part;
	struct cairn_numbered numbered = {0}, others = {0};
	struct cairn_buffer rows[CAIRN_TABLES];
	for (size_t i = 0; i < CAIRN_TABLES; i++)
		rows[i] = cairn_buffer(SIZE_MAX);
	cairn_profile_init(&profile);
	ok(cairn_profile_read(&profile, cairn_bytes_of(dump), "dump", &(struct cairn_read_options){0}, &error), "the dump is read");
	name_all(&profile);
	struct cairn_store_snapshot snapshot = {.profile = &profile, .service = cairn_bytes_of("api"), .version = cairn_bytes_of("1"),
						.host = cairn_bytes_of("one"), .labels = cairn_bytes_of("zone=a")};
	ok(cairn_snapshot_write(&snapshot, &numbered, rows, &part), "it becomes rows");
	/* Python's hashlib gives this sum: the numbers by which rows are found cannot be computed backwards. */
	ok(cairn_store_id(1, cairn_bytes_of("acme")) == 6153969279088567789u, "the number of a tenant is the begin of a SHA-256 sum");

	struct cairn_stored_sample samples[8];
	struct cairn_dictionary dictionary = {0};
	is_int(take_samples(&rows[CAIRN_TABLE_SAMPLES], samples, 8), 2, "a row for each stack");
	is_int(part.samples, 2, "and their number");
	struct cairn_buffer stacks = without_last(&rows[CAIRN_TABLE_STACKS], &cairn_tables[CAIRN_TABLE_STACKS], 1);
	struct cairn_buffer frames = without_last(&rows[CAIRN_TABLE_FRAMES], &cairn_tables[CAIRN_TABLE_FRAMES], 2);
	ok(take_all(&dictionary, cairn_dictionary_take_stack, cairn_buffer_bytes(&stacks)), "rows of stacks are taken,");
	ok(take_all(&dictionary, cairn_dictionary_take_frame, cairn_buffer_bytes(&frames)), "and rows of frames");
	is_int(dictionary.list_count, 2, "two stacks");
	is_int(dictionary.place_count, 3, "of three frames");

	struct cairn_store_process process = {.service = "api",
					      .version = "1",
					      .host = "one",
					      .program = "/srv/api",
					      .pid = 42,
					      .start_ns = profile.start_ns};
	struct cairn_store_point point = {.time_ns = profile.time_ns, .period = profile.period, .unsampling = profile.unsampling,
					  .has_allocated = true, .resident = profile.resident_bytes, .ended = ""};
	struct cairn_cursor columns = cairn_cursor(cairn_buffer_bytes(&rows[CAIRN_TABLE_SNAPSHOTS]));
	cairn_cursor_skip(&columns, 7 * 8); /* up to how it was sampled */
	point.unsampling = cairn_sampling_method(cairn_row_take_number(&columns), &point.size_classes);
	ok(point.unsampling == profile.unsampling && point.size_classes, "the row says how it was sampled, and of which sizes objects are");
	ok(cairn_sampling_method(CAIRN_UNSAMPLE_NONE, &point.size_classes) == CAIRN_UNSAMPLE_NONE && !point.size_classes,
	   "older rows do not say sizes");
	ok(cairn_sampling_method(99, &point.size_classes) == CAIRN_UNSAMPLE_UNKNOWN, "what a later version may write is not known");
	point.size_classes = true;
	cairn_profile_init(&again);
	cairn_snapshot_read(&again, &dictionary, &process, &point, samples, 2);
	for (uint32_t i = 0; i < profile.value_count; i++)
		ok(fabs(cairn_profile_total(&again, i) - cairn_profile_total(&profile, i)) < 1e-6, "value %u has its total", i);
	is_int(again.time_ns, profile.time_ns, "its time");
	is_int(again.process_id, 42, "its process");
	is_text(cairn_profile_string(&again, again.functions[again.frames[again.locations[again.stacks[0]].first_frame].function].name),
		"function 0", "its names");
	is_int(again.frames[again.locations[again.stacks[0]].first_frame].line, 10, "and lines");
	is_int(cairn_profile_file_offset(&again, &again.locations[again.stacks[0]]), 0x1000, "its places");
	is_int(cairn_profile_knows_errors(&again, again.default_value), 1, "and how far off it may be");
	ok(again.size_classes == profile.size_classes, "by the same rule");
	cairn_profile_free(&again);

	/* A store that has lost the stacks still has the totals. */
	struct cairn_dictionary nothing = {0};
	cairn_profile_init(&again);
	cairn_snapshot_read(&again, &nothing, &process, &point, samples, 2);
	ok(fabs(cairn_profile_total(&again, again.default_value) - cairn_profile_total(&profile, profile.default_value)) < 1e-6,
	   "without its stacks, the total stays");
	cairn_profile_free(&again);

	/* The same profile from elsewhere: the same frames, another process. Of another tenant: nothing the same. */
	struct cairn_buffer other[CAIRN_TABLES];
	for (size_t i = 0; i < CAIRN_TABLES; i++)
		other[i] = cairn_buffer(SIZE_MAX);
	snapshot.host = cairn_bytes_of("two");
	ok(cairn_snapshot_write(&snapshot, &others, other, &other_part), "from another host");
	ok(part.cohort == other_part.cohort &&
		   part.cohort == cairn_store_cohort(cairn_store_tenant(snapshot.tenant), snapshot.service, snapshot.version),
	   "of the same cohort");
	ok(cairn_bytes_equal(cairn_buffer_bytes(&rows[CAIRN_TABLE_FRAMES]), cairn_buffer_bytes(&other[CAIRN_TABLE_FRAMES])),
	   "the frames are the same");
	ok(!cairn_bytes_equal(cairn_buffer_bytes(&rows[CAIRN_TABLE_PROCESSES]), cairn_buffer_bytes(&other[CAIRN_TABLE_PROCESSES])),
	   "the process is not");
	for (size_t i = 0; i < CAIRN_TABLES; i++)
		other[i].length = 0;
	snapshot.tenant = cairn_bytes_of("someone else");
	ok(cairn_snapshot_write(&snapshot, &others, other, &other_part), "of another tenant");
	ok(part.cohort != other_part.cohort, "of another cohort");
	ok(!cairn_bytes_equal(cairn_buffer_bytes(&rows[CAIRN_TABLE_FRAMES]), cairn_buffer_bytes(&other[CAIRN_TABLE_FRAMES])),
	   "even the frames are others");

	for (size_t i = 0; i < CAIRN_TABLES; i++)
		other[i].length = 0;
	ok(cairn_snapshot_write(&snapshot, &others, other, &other_part), "once more, beside what was written before");
	ok(other[CAIRN_TABLE_FRAMES].length == 0 && other[CAIRN_TABLE_STACKS].length == 0, "its frames and stacks are there");
	struct cairn_stored_sample again_samples[8];
	is_int(take_samples(&other[CAIRN_TABLE_SAMPLES], again_samples, 8), 2, "its samples are not,");
	ok(again_samples[0].stack != samples[0].stack && again_samples[0].bytes == samples[0].bytes, "with the numbers of their tenant");
	snapshot.tenant = cairn_bytes_of("");
	for (size_t i = 0; i < CAIRN_TABLES; i++)
		other[i].length = 0;
	ok(cairn_snapshot_write(&snapshot, &numbered, other, &other_part) &&
		   take_samples(&other[CAIRN_TABLE_SAMPLES], again_samples, 8) == 2 && again_samples[1].stack == samples[1].stack,
	   "and those of the first one are what they were");
	cairn_numbered_free(&numbered);
	cairn_numbered_free(&others);
	others = (struct cairn_numbered){0};

	/* Rows cut at every byte. */
	size_t whole = 0;
	for (size_t length = 0; length < frames.length; length++)
		whole += take_all(&nothing, cairn_dictionary_take_frame, (struct cairn_bytes){frames.data, length});
	is_int(whole, 3, "cut after no row, one and two, frames are whole, and nowhere else");
	whole = 0;
	for (size_t length = 0; length < stacks.length; length++)
		whole += take_all(&nothing, cairn_dictionary_take_stack, (struct cairn_bytes){stacks.data, length});
	is_int(whole, 2, "nor are stacks");
	ok(nothing.place_count <= 3 && nothing.list_count <= 2, "rows that are cut short give no more than whole ones");
	size_t items;
	struct cairn_cursor lying = cairn_cursor((struct cairn_bytes){"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 9});
	cairn_row_take_list(&lying, &items);
	ok(lying.failed && items == 0, "a list that claims to be endless");

	profile.time_ns = 0;
	ok(!cairn_snapshot_write(&snapshot, &others, other, &other_part), "a profile without a time is refused");
	cairn_buffer_free(&stacks);
	cairn_buffer_free(&frames);
	cairn_dictionary_free(&nothing);
	cairn_dictionary_free(&dictionary);
	for (size_t i = 0; i < CAIRN_TABLES; i++) {
		cairn_buffer_free(&rows[i]);
		cairn_buffer_free(&other[i]);
	}
	cairn_profile_free(&profile);
	test_long_names();
	test_no_addresses();
	return tap_done();
}
