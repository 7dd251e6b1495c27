/* conformance_test.c - legacy profiles against what pprof itself reads from them.
 *
 * Each X with an X.string beside it in ../shared/conformance/pprof (or in the folder CAIRN_CONFORMANCE names) is read, and
 * must have the same period, mappings, and multiset of (values, addresses with their mappings, labels). pprof truncates each
 * value to an integer, and calls the values of a heap without totals just objects and space.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/text.h"
#include "profile/read.h"
#include "tap.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>

struct lines {
	char **items;
	size_t count, capacity;
};

static void add_line(struct lines *lines, struct cairn_buffer *line)
{
	cairn_buffer_byte(line, 0);
	cairn_array_room(lines->items, lines->count, lines->capacity);
	lines->items[lines->count++] = strdup(line->data);
	line->length = 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_lines(struct lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->items[i]);
	free(lines->items);
	*lines = (struct lines){0};
}

static bool same_lines(struct lines *got, struct lines *want)
{
	if (got->count)
		qsort(got->items, got->count, sizeof *got->items, by_text);
	if (want->count)
		qsort(want->items, want->count, sizeof *want->items, by_text);
	size_t shown = 0;
	for (size_t i = 0, j = 0; (i < got->count || j < want->count) && shown < 6;) {
		int order = i == got->count ? 1 : j == want->count ? -1 : strcmp(got->items[i], want->items[j]);
		if (order < 0)
			printf("# only ours:   %.300s\n", got->items[i]);
		if (order > 0)
			printf("# only pprof's: %.300s\n", want->items[j]);
		shown += order != 0;
		i += order <= 0;
		j += order >= 0;
	}
	return shown == 0 && got->count == want->count;
}

/* Everything that is compared, one line a thing. */
struct picture {
	struct lines period, types, samples, mappings;
};

static void free_picture(struct picture *picture)
{
	free_lines(&picture->period);
	free_lines(&picture->types);
	free_lines(&picture->samples);
	free_lines(&picture->mappings);
}

static const char *plain_type(const char *type, bool has_totals)
{
	return !has_totals && strncmp(type, "inuse_", 6) == 0 ? type + 6 : type;
}

static void picture_of_profile(const struct cairn_profile *profile, struct picture *picture)
{
	struct cairn_buffer line = cairn_buffer(1 << 20);
	cairn_buffer_format(&line, "%s %s %.0f", cairn_profile_string(profile, profile->period_type.type),
			    cairn_profile_string(profile, profile->period_type.unit), profile->period);
	add_line(&picture->period, &line);
	bool has_totals = cairn_profile_find_value(profile, "alloc_space") != CAIRN_NONE;
	for (uint32_t i = 0; i < profile->value_count; i++)
		cairn_buffer_format(&line, " %s/%s",
				    plain_type(cairn_profile_string(profile, profile->value_types[i].type), has_totals),
				    cairn_profile_string(profile, profile->value_types[i].unit));
	add_line(&picture->types, &line);
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct cairn_sample *sample = &profile->samples[i];
		for (uint32_t value = 0; value < profile->value_count; value++)
			cairn_buffer_format(&line, " %.0f", trunc(cairn_profile_values(profile, i)[value]));
		cairn_buffer_text(&line, ":");
		for (uint32_t frame = 0; frame < sample->depth; frame++) {
			const struct cairn_location *location = &profile->locations[profile->stacks[sample->stack + frame]];
			cairn_buffer_format(&line, " 0x%" PRIx64 "@0x%" PRIx64, location->address,
					    location->mapping == CAIRN_NONE ? 0 : profile->mappings[location->mapping].start);
		}
		const struct cairn_label_set *labels = &profile->label_sets[sample->labels];
		for (uint32_t label = 0; label < labels->count; label++)
			cairn_buffer_format(&line, " %s:[%" PRId64 "]",
					    cairn_profile_string(profile, profile->labels[labels->first + label].key),
					    profile->labels[labels->first + label].number);
		add_line(&picture->samples, &line);
	}
	for (size_t i = 0; i < profile->mapping_count; i++) {
		const struct cairn_mapping *mapping = &profile->mappings[i];
		cairn_buffer_format(&line, "0x%" PRIx64 "/0x%" PRIx64 "/0x%" PRIx64 " %s", mapping->start, mapping->limit,
				    mapping->offset, cairn_profile_string(profile, profile->modules[mapping->module].path));
		add_line(&picture->mappings, &line);
	}
	cairn_buffer_free(&line);
}

enum section { HEAD, SAMPLES, LOCATIONS, MAPPINGS };

struct golden {
	struct lines stacks;       /* "values: ids labels" */
	uint64_t address[1 << 12]; /* by location id */
	unsigned mapping[1 << 12]; /* the same */
	uint64_t start[1 << 8];    /* by mapping id */
};

static void read_golden_mapping(struct golden *golden, const char *text, struct picture *picture)
{
	unsigned id;
	uint64_t start, limit, offset;
	char path[1000] = "";
	if (sscanf(text, "%u: %" SCNx64 "/%" SCNx64 "/%" SCNx64 " %999s", &id, &start, &limit, &offset, path) < 4)
		return;
	golden->start[id] = start;
	/* Where a dump has no map pprof makes one that covers everything. */
	if (limit == UINT64_MAX && !*path)
		return;
	struct cairn_buffer line = cairn_buffer(2000);
	cairn_buffer_format(&line, "0x%" PRIx64 "/0x%" PRIx64 "/0x%" PRIx64 " %s", start, limit, offset, path);
	add_line(&picture->mappings, &line);
	cairn_buffer_free(&line);
}

static void read_golden_line(struct golden *golden, enum section *section, const char *text, struct picture *picture)
{
	struct cairn_buffer line = cairn_buffer(1 << 20);
	static char period_type[200];
	unsigned id, mapping = 0;
	uint64_t address;
	if (sscanf(text, "PeriodType: %199[^\n]", period_type) == 1) {
	} else if (strncmp(text, "Period: ", 8) == 0) {
		cairn_buffer_format(&line, "%s %s", period_type, text + 8);
		add_line(&picture->period, &line);
	} else if (strcmp(text, "Samples:") == 0) {
		*section = SAMPLES;
	} else if (strcmp(text, "Locations") == 0) {
		*section = LOCATIONS;
	} else if (strcmp(text, "Mappings") == 0) {
		*section = MAPPINGS;
	} else if (*section == SAMPLES && picture->types.count == 0) {
		for (char word[100]; sscanf(text, " %99s", word) == 1; text = strstr(text, word) + strlen(word)) {
			word[strcspn(word, "[")] = 0; /* the default is marked by [dflt] */
			cairn_buffer_format(&line, " %s", word);
		}
		add_line(&picture->types, &line);
	} else if (*section == SAMPLES) {
		bool label = strchr(text, '[') != NULL;
		if (label) {
			struct lines *stacks = &golden->stacks;
			cairn_buffer_text(&line, stacks->items[--stacks->count]);
			free(stacks->items[stacks->count]);
		}
		cairn_buffer_text(&line, text);
		add_line(&golden->stacks, &line);
	} else if (*section == LOCATIONS && sscanf(text, " %u: %" SCNx64 " M=%u", &id, &address, &mapping) >= 2 && id < 1 << 12) {
		golden->address[id] = address;
		golden->mapping[id] = mapping;
	} else if (*section == MAPPINGS) {
		read_golden_mapping(golden, text, picture);
	}
	cairn_buffer_free(&line);
}

/* Ids become addresses once the locations are known. */
static void finish_golden(struct golden *golden, struct picture *picture)
{
	struct cairn_buffer line = cairn_buffer(1 << 20);
	for (size_t i = 0; i < golden->stacks.count; i++) {
		bool values = true;
		for (char *word = strtok(golden->stacks.items[i], " "); word; word = strtok(NULL, " ")) {
			if (values || strchr(word, '[')) {
				values = values && !strchr(word, ':');
				cairn_buffer_format(&line, " %s", word);
			} else {
				unsigned id = (unsigned)atoi(word);
				cairn_buffer_format(&line, " 0x%" PRIx64 "@0x%" PRIx64, golden->address[id],
						    golden->start[golden->mapping[id]]);
			}
		}
		add_line(&picture->samples, &line);
	}
	cairn_buffer_free(&line);
	free_lines(&golden->stacks);
}

static bool picture_of_golden(const char *path, struct picture *picture)
{
	struct cairn_file file;
	struct cairn_error error;
	if (!cairn_file_read(&file, path, &error))
		return false;
	static struct golden golden;
	golden = (struct golden){0};
	enum section section = HEAD;
	struct cairn_bytes rest = file.bytes, line;
	while (cairn_text_line(&rest, &line, NULL)) {
		char *text = strndup(line.data, line.length);
		read_golden_line(&golden, &section, text, picture);
		free(text);
	}
	finish_golden(&golden, picture);
	cairn_file_close(&file);
	return true;
}

static void compare(const char *folder, const char *name)
{
	char path[1000], golden_path[1100];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	snprintf(golden_path, sizeof golden_path, "%s.string", path);
	struct cairn_file file;
	struct cairn_error error = {0};
	struct cairn_profile profile;
	struct picture got = {0}, want = {0};
	cairn_profile_init(&profile);
	if (!cairn_file_read(&file, path, &error) || !picture_of_golden(golden_path, &want)) {
		ok(false, "%s: can be read (%s)", name, error.text);
	} else if (strstr(name, "contention") || strstr(name, "thread") || strstr(name, "java")) {
		tap_skip(name, "a kind of profile that Cairn does not read");
	} else if (ok(cairn_profile_read(&profile, file.bytes, name, NULL, &error), "%s: is read%s", name, error.text)) {
		picture_of_profile(&profile, &got);
		ok(same_lines(&got.period, &want.period), "%s: period", name);
		ok(same_lines(&got.types, &want.types), "%s: value types", name);
		ok(same_lines(&got.samples, &want.samples), "%s: %zu samples", name, want.samples.count);
		ok(same_lines(&got.mappings, &want.mappings), "%s: %zu mappings", name, want.mappings.count);
	}
	free_picture(&got);
	free_picture(&want);
	cairn_profile_free(&profile);
	cairn_file_close(&file);
}

int main(void)
{
	const char *folder = getenv("CAIRN_CONFORMANCE");
	if (!folder)
		folder = "../shared/conformance/pprof";
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort);
	if (count < 0)
		tap_skip("pprof's own test data", "../shared/conformance is not there");
	for (int i = 0; i < count; i++) {
		char *ending = strstr(entries[i]->d_name, ".string");
		if (ending && strcmp(ending, ".string") == 0) {
			*ending = 0;
			compare(folder, entries[i]->d_name);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return tap_done();
}
