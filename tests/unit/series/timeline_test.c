/* timeline_test.c - layers, their names, and a picture that is what it should be whatever the names are.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/timeline.h"

#include "base/utf8.h"
#include "profile/read.h"
#include "tap.h"

#include <stdlib.h>

struct film {
	struct cairn_series series;
	struct cairn_view view;
	struct cairn_timeline timeline;
	struct cairn_buffer out;
};

/* DUMPS are folded text, the process of each is in PROCESSES, a letter for each. */
static void make(struct film *film, const char *const *texts, const char *processes, size_t layers)
{
	struct cairn_error error;
	size_t duplicates;
	cairn_series_start(&film->series);
	for (size_t i = 0; texts[i]; i++) {
		struct cairn_profile profile;
		cairn_profile_init(&profile);
		cairn_profile_read(&profile, cairn_bytes_of(texts[i]), "dump", NULL, &error);
		profile.facts.time_ns = (int64_t)(i + 1) * 60000000000;
		profile.facts.process_id = (uint64_t)processes[i];
		profile.facts.resident_bytes = i ? 1000 + 10 * (double)i : 0;
		cairn_series_add(&film->series, &profile, "dump", &error);
		cairn_profile_free(&profile);
	}
	cairn_series_finish(&film->series, &duplicates);
	cairn_view_make(&film->view, &film->series.profile, &(struct cairn_view_options){0}, &error);
	cairn_timeline_make(&film->timeline, &film->series, &film->view, NULL, layers);
	film->out = cairn_buffer(SIZE_MAX);
	cairn_timeline_svg(&film->timeline, &(struct cairn_timeline_svg_options){0}, &film->out);
	cairn_buffer_byte(&film->out, '\0');
}

static void release(struct film *film)
{
	cairn_timeline_free(&film->timeline);
	cairn_view_free(&film->view);
	cairn_series_free(&film->series);
	cairn_buffer_free(&film->out);
}

/* "name 1 2 3|name …", from the bottom. */
static const char *layers(const struct cairn_timeline *timeline)
{
	static char text[1024];
	size_t at = 0;
	for (size_t l = 0; l < timeline->layer_count; l++) {
		const struct cairn_timeline_layer *layer = &timeline->layers[l];
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s", l ? "|" : "", (int)layer->name.length, layer->name.data);
		for (size_t i = 0; i < timeline->series->point_count; i++)
			at += (size_t)snprintf(text + at, sizeof text - at, " %.0f", layer->values[i].value);
	}
	return text;
}

static size_t count(const char *text, const char *part)
{
	size_t found = 0;
	for (; (text = strstr(text, part)); text++)
		found++;
	return found;
}

#define DUMPS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_layers(void)
{
	struct film film;
	make(&film, DUMPS("m;grow 1\nm;stay 5\nm;a 1\nm;b 2\n", "m;grow 9\nm;stay 5\nm;a 1\n", "m;grow 20\nm;stay 5\nm;b 1\n"), "111", 2);
	is_text(layers(&film.timeline), "2 other call paths 3 1 1|stay 5 5 5|grow 1 9 20", "the others below, what grew most above");
	is_near(film.timeline.totals[2].value, 26, 1e-9, "they add up to the total");
	release(&film);
	make(&film, DUMPS("m;grow 1\nm;stay 5\nm;a 1\n", "m;grow 9\nm;stay 5\n"), "11", 2);
	is_text(layers(&film.timeline), "a 1 0|stay 5 5|grow 1 9", "one path alone is no rest");
	release(&film);
	make(&film, DUMPS("m;x;f;alloc 1\nm;y;f;alloc 2\nm;g;alloc 3\n", "m;x;f;alloc 9\nm;y;f;alloc 2\nm;g;alloc 3\n"), "11", 8);
	is_text(layers(&film.timeline), "alloc ← … ← y 2 2|alloc ← g 3 3|alloc ← … ← x 1 9", "callers tell layers of one function apart");
	release(&film);
}

static void test_picture(void)
{
	struct film film;
	make(&film, DUMPS("m;a 10\n", "m;a 20\n", "m;a 5\n", "m;a 9\n"), "1122", 8);
	is_int(count(film.out.data, "restart</text>"), 1, "a restart is marked");
	const char *path = strstr(strstr(film.out.data, "class=\"layers\""), "<path");
	char area[4096];
	snprintf(area, sizeof area, "%.*s", (int)(strchr(path, '>') - path), path);
	is_int(count(area, "M"), 2, "each run is an area of its own");
	is_int(count(film.out.data, "class=\"resident\""), 0, "objects have no weight to draw beside");
	release(&film);
	make(&film, DUMPS("m;<script>alert(1)</script> 5\nm;\"&'\xff 9\n", "m;<script>alert(1)</script> 7\n"), "11", 8);
	is_int(count(film.out.data, "<script"), 0, "names are text");
	is_int(count(film.out.data, "http"), 1, "and nothing is fetched: the one address is the name space");
	ok(cairn_utf8_valid((struct cairn_bytes){film.out.data, film.out.length - 1}), "in UTF-8");
	release(&film);
	make(&film, DUMPS("m;a 0\n", "m;a 0\n"), "12", 8);
	ok(count(film.out.data, "nan") == 0 && count(film.out.data, "inf\"") == 0, "nothing at all can be drawn");
	release(&film);
}

/* The size of the picture of so many dumps: a saw with one high tooth, and a restart before the last hundred dumps. */
static size_t draw_many(struct film *film, size_t dumps)
{
	char **texts = calloc(dumps + 1, sizeof *texts), *processes = malloc(dumps);
	for (size_t i = 0; i < dumps; i++) {
		char text[64];
		snprintf(text, sizeof text, "m;a %zu\nm;b 5\n", i == dumps / 3 ? 900 : 100 + i % 7);
		texts[i] = strdup(text);
		processes[i] = i + 100 < dumps ? '1' : '2';
	}
	make(film, (const char *const *)texts, processes, 8);
	for (size_t i = 0; i < dumps; i++)
		free(texts[i]);
	free(texts);
	free(processes);
	return film->out.length;
}

static void test_many(void)
{
	struct film film;
	size_t few = draw_many(&film, 6000);
	release(&film);
	size_t many = draw_many(&film, 24000);
	ok(many < few + few / 20, "the picture has a size, however many dumps there are");
	ok(many < 300000, "and it is small");
	is_int(count(film.out.data, "restart</text>"), 1, "it shows the restart");
	is_int(count(film.out.data, "24000 dumps, 105 at the start, 108 at the end"), 1, "and counts all dumps");
	/* The highest value is at 1 / 1.06 of the height; only the one dump has it. */
	const char *total = strstr(film.out.data, "class=\"total\"");
	static char line[1 << 17];
	char top[16];
	snprintf(line, sizeof line, "%.*s", (int)(strchr(total, '>') - total), total);
	snprintf(top, sizeof top, ",%.1fL", 64 + 340 * (1 - 1 / 1.06));
	is_int(count(line, top), 1, "and the peak of a single dump");
	release(&film);
}

int main(void)
{
	test_layers();
	test_picture();
	test_many();
	return tap_done();
}
