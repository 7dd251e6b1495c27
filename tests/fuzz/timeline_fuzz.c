/* timeline_fuzz.c - dumps cut apart at zero bytes, put together as a series: the picture is always XML, and no verdict or layer is off the
 * scale.
 *
 * The first byte of each dump says when it was taken and of which process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/read.h"
#include "series/leaks.h"
#include "series/timeline.h"
#include "wellformed.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { most_dumps = 40 };

static void add_dumps(struct cairn_series *series, struct cairn_bytes rest)
{
	struct cairn_error error;
	for (size_t i = 0; rest.length > 0 && i < most_dumps; i++) {
		const char *end = memchr(rest.data, '\0', rest.length);
		struct cairn_bytes text = {rest.data, end ? (size_t)(end - rest.data) : rest.length};
		rest = cairn_bytes_skip(rest, text.length + 1);
		if (text.length == 0)
			continue;
		struct cairn_profile profile;
		unsigned char first = (unsigned char)text.data[0];
		cairn_profile_init(&profile);
		if (cairn_profile_read(&profile, cairn_bytes_skip(text, 1), "fuzz", NULL, &error)) {
			profile.facts.time_ns = (int64_t)1790000000000000000 + (int64_t)(first >> 2) * 100000000000;
			profile.facts.process_id = first & 3;
			profile.facts.resident_bytes = first * 1e6;
			profile.facts.limit_bytes = first & 1 ? 1e9 : 0;
			(void)cairn_series_add(series, &profile, "fuzz", &error);
		}
		cairn_profile_free(&profile);
	}
}

static void look(struct cairn_series *series, bool errors)
{
	struct cairn_error error;
	struct cairn_view view = {0};
	struct cairn_timeline timeline;
	struct cairn_leaks leaks;
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	if (cairn_view_make(&view, &series->profile, &(struct cairn_view_options){.errors = errors}, &error)) {
		cairn_timeline_make(&timeline, series, &view, NULL, 3);
		must(timeline.layer_count <= 4);
		cairn_timeline_svg(&timeline, &(struct cairn_timeline_svg_options){0}, &out);
		must(xml_wellformed(cairn_buffer_bytes(&out)));
		cairn_leaks_rank(&leaks, series, &view);
		for (size_t i = 0; i < leaks.count; i++)
			must(leaks.rows[i].trend.confidence >= 0 && leaks.rows[i].trend.confidence <= 1);
		cairn_leaks_free(&leaks);
		cairn_timeline_free(&timeline);
	}
	cairn_buffer_free(&out);
	cairn_view_free(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_series series;
	size_t duplicates;
	if (size < 2)
		return 0;
	cairn_series_start(&series);
	add_dumps(&series, (struct cairn_bytes){(const char *)data + 1, size - 1});
	cairn_series_finish(&series, &duplicates);
	if (series.point_count >= 2)
		look(&series, data[0] & 1);
	cairn_series_free(&series);
	return 0;
}
