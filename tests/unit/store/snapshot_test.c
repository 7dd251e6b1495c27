/* snapshot_test.c - a profile becomes rows and the rows become the same profile.
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

/* Adds the stacks and frames in ROWS to DICTIONARY. */
static void learn(struct cairn_dictionary *dictionary, const struct cairn_rows *rows)
{
	for (size_t i = 0; i < rows->tables[CAIRN_TABLE_STACKS].count; i++)
		cairn_dictionary_add_stack(dictionary, cairn_rows_at(rows, CAIRN_TABLE_STACKS, i));
	for (size_t i = 0; i < rows->tables[CAIRN_TABLE_FRAMES].count; i++)
		cairn_dictionary_add_frame(dictionary, cairn_rows_at(rows, CAIRN_TABLE_FRAMES, i));
}

static const struct cairn_row_sample *samples_of(const struct cairn_rows *rows)
{
	return rows->tables[CAIRN_TABLE_SAMPLES].items;
}

static uint64_t first_frame(const struct cairn_rows *rows)
{
	return ((const struct cairn_row_frame *)cairn_rows_at(rows, CAIRN_TABLE_FRAMES, 0))->frame;
}

/* One long name, many times at each address: a small profile, and limited rows, in which every name is whole. */
static void test_long_names(void)
{
	struct cairn_profile profile;
	struct cairn_error error;
	struct cairn_frame frames[100];
	struct cairn_rows rows = {0};
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
	size_t size = 0;
	for (size_t i = 0; i < rows.tables[CAIRN_TABLE_FRAMES].count; i++) {
		const struct cairn_row_frame *row = cairn_rows_at(&rows, CAIRN_TABLE_FRAMES, i);
		size += sizeof *row + row->names.length + 1 + row->module.length + row->build_id.length;
	}
	ok(size <= cairn_frames_size(&profile) && cairn_frames_size(&profile) < 3 * (CAIRN_STORE_NAMES + 200),
	   "their rows take %zu bytes, as was foreseen (%zu)", size, cairn_frames_size(&profile));
	struct cairn_bytes names = ((const struct cairn_row_frame *)rows.tables[CAIRN_TABLE_FRAMES].items)->names, line;
	size_t lines = 0, whole = 0;
	while (cairn_text_line(&names, &line, NULL)) {
		lines++;
		whole += line.length > 3000 && line.data[3000] == '\t';
	}
	is_int(lines, CAIRN_STORE_NAMES / 3035, "the innermost of them, as many as there is room for");
	is_int(whole, lines, "are whole");
	cairn_rows_free(&rows);
	cairn_profile_free(&profile);
}

/* Some writers give names and a module, but no addresses. */
static void test_no_addresses(void)
{
	struct cairn_profile profile;
	struct cairn_error error;
	struct cairn_rows rows = {0};
	cairn_profile_init(&profile);
	if (!cairn_profile_read(&profile, cairn_bytes_of(dump), "dump", &(struct cairn_read_options){0}, &error))
		ok(false, "%s", error.text);
	name_all(&profile);
	for (uint32_t i = 0; i < profile.location_count; i++)
		profile.locations[i].address = 0;
	cairn_frames_write(&profile, 1, &rows);
	struct cairn_dictionary dictionary = {0};
	learn(&dictionary, &rows);
	is_int(dictionary.place_count, 3, "three functions of one build, without addresses, are three frames");
	cairn_dictionary_free(&dictionary);
	cairn_rows_free(&rows);
	cairn_profile_free(&profile);
}

int main(void)
{
	struct cairn_profile profile, again;
	struct cairn_error error;
	struct cairn_snapshot_part part, other_part;
	struct cairn_numbered numbered = {0}, others = {0};
	struct cairn_rows rows = {0};
	cairn_profile_init(&profile);
	ok(cairn_profile_read(&profile, cairn_bytes_of(dump), "dump", &(struct cairn_read_options){0}, &error), "the dump is read");
	name_all(&profile);
	struct cairn_store_snapshot snapshot = {.profile = &profile, .service = cairn_bytes_of("api"), .version = cairn_bytes_of("1"),
						.host = cairn_bytes_of("one"), .labels = cairn_bytes_of("zone=a")};
	ok(cairn_snapshot_write(&snapshot, &numbered, &rows, &part), "it becomes rows");
	/* Python's hashlib gives this sum: the numbers by which rows are found cannot be computed backwards. */
	ok(cairn_store_id(1, cairn_bytes_of("acme")) == 6153969279088567789u, "the number of a tenant is the begin of a SHA-256 sum");

	struct cairn_dictionary dictionary = {0};
	is_int(rows.tables[CAIRN_TABLE_SAMPLES].count, 2, "a row for each stack");
	is_int(part.samples, 2, "and their number");
	const struct cairn_stored_sample samples[] = {samples_of(&rows)[0].sample, samples_of(&rows)[1].sample};
	learn(&dictionary, &rows);
	learn(&dictionary, &rows); /* a row that comes twice changes nothing */
	is_int(dictionary.list_count, 2, "two stacks");
	is_int(dictionary.place_count, 3, "of three frames");

	struct cairn_store_process process = {.service = "api",
					      .version = "1",
					      .host = "one",
					      .program = "/srv/api",
					      .pid = 42,
					      .start_ns = profile.facts.start_ns};
	struct cairn_store_point point = {.time_ns = profile.facts.time_ns, .period = profile.period, .unsampling = profile.unsampling,
					  .has_allocated = true, .resident = profile.facts.resident_bytes, .ended = ""};
	const struct cairn_row_snapshot *row = rows.tables[CAIRN_TABLE_SNAPSHOTS].items;
	point.unsampling = cairn_sampling_method(row->unsampling, &point.size_classes);
	ok(point.unsampling == profile.unsampling && point.size_classes, "the row says how it was sampled, and of which sizes objects are");
	ok(cairn_sampling_method(CAIRN_UNSAMPLE_NONE, &point.size_classes) == CAIRN_UNSAMPLE_NONE && !point.size_classes,
	   "older rows do not say sizes");
	ok(cairn_sampling_method(99, &point.size_classes) == CAIRN_UNSAMPLE_UNKNOWN, "what a later version may write is not known");
	point.size_classes = true;
	cairn_profile_init(&again);
	cairn_snapshot_read(&again, &dictionary, &process, &point, samples, 2);
	for (uint32_t i = 0; i < profile.value_count; i++)
		ok(fabs(cairn_profile_total(&again, i) - cairn_profile_total(&profile, i)) < 1e-6, "value %u has its total", i);
	is_int(again.facts.time_ns, profile.facts.time_ns, "its time");
	is_int(again.facts.process_id, 42, "its process");
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
	struct cairn_rows other = {0};
	snapshot.host = cairn_bytes_of("two");
	ok(cairn_snapshot_write(&snapshot, &others, &other, &other_part), "from another host");
	ok(part.cohort == other_part.cohort &&
		   part.cohort == cairn_store_cohort(cairn_store_tenant(snapshot.tenant), snapshot.service, snapshot.version),
	   "of the same cohort");
	is_int(other.tables[CAIRN_TABLE_FRAMES].count, rows.tables[CAIRN_TABLE_FRAMES].count, "it has as many frames,");
	ok(first_frame(&other) == first_frame(&rows), "the same ones");
	ok(samples_of(&other)->instance != samples_of(&rows)->instance, "the process is not");
	const uint64_t frame = first_frame(&rows);
	cairn_rows_free(&other);
	snapshot.tenant = cairn_bytes_of("someone else");
	ok(cairn_snapshot_write(&snapshot, &others, &other, &other_part), "of another tenant");
	ok(part.cohort != other_part.cohort, "of another cohort");
	ok(first_frame(&other) != frame, "even the frames are others");

	cairn_rows_free(&other);
	ok(cairn_snapshot_write(&snapshot, &others, &other, &other_part), "once more, beside what was written before");
	ok(other.tables[CAIRN_TABLE_FRAMES].count == 0 && other.tables[CAIRN_TABLE_STACKS].count == 0, "its frames and stacks are there");
	is_int(other.tables[CAIRN_TABLE_SAMPLES].count, 2, "its samples are not,");
	ok(samples_of(&other)->sample.stack != samples[0].stack && samples_of(&other)->sample.bytes == samples[0].bytes,
	   "with the numbers of their tenant");
	snapshot.tenant = cairn_bytes_of("");
	cairn_rows_free(&other);
	ok(cairn_snapshot_write(&snapshot, &numbered, &other, &other_part) && samples_of(&other)[1].sample.stack == samples[1].stack,
	   "and those of the first one are what they were");
	cairn_numbered_free(&numbered);
	cairn_numbered_free(&others);
	others = (struct cairn_numbered){0};

	profile.facts.time_ns = 0;
	ok(!cairn_snapshot_write(&snapshot, &others, &other, &other_part), "a profile without a time is refused");
	cairn_dictionary_free(&nothing);
	cairn_dictionary_free(&dictionary);
	cairn_rows_free(&rows);
	cairn_rows_free(&other);
	cairn_profile_free(&profile);
	test_long_names();
	test_no_addresses();
	return tap_done();
}
