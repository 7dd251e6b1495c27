/* compare.c - a row for each setting.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/why/compare.h"

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>

static const struct {
	const char *key, *title;
	bool is_size;
	const char *unit;
} measures[] = {
	[CAIRN_COMPARE_PEAK] = {"peak_bytes", "peak", true, ""},
	[CAIRN_COMPARE_SETTLED] = {"settled_bytes", "settled", true, ""},
	[CAIRN_COMPARE_CPU] = {"cpu_seconds", "CPU time", false, " s"},
	[CAIRN_COMPARE_FAULTS] = {"page_faults", "page faults", false, ""},
	[CAIRN_COMPARE_TIME] = {"seconds", "duration", false, " s"},
};
static_assert(sizeof measures / sizeof *measures == CAIRN_COMPARE_MEASURES, "every measure has a column");

static void write_value(struct cairn_buffer *out, int measure, struct cairn_compare_value value)
{
	char mean[24], error[24], both[64];
	if (measures[measure].is_size) {
		cairn_text_human(value.mean, mean);
		cairn_text_human(value.error, error);
	} else {
		bool whole = measure == CAIRN_COMPARE_FAULTS;
		snprintf(mean, sizeof mean, whole ? "%.0f" : "%.2f", value.mean);
		snprintf(error, sizeof error, whole ? "%.0f" : "%.2f", value.error);
	}
	snprintf(both, sizeof both, "%s%s%s%s", mean, value.error > 0 ? " ± " : "", value.error > 0 ? error : "", measures[measure].unit);
	int wide = value.error > 0 ? 1 : 0; /* the sign has two bytes */
	cairn_buffer_format(out, "  %*s", 24 + wide, both);
}

void cairn_compare_text(const struct cairn_compare *compare, struct cairn_buffer *out)
{
	cairn_buffer_format(out, "%-24s", "");
	for (int i = 0; i < CAIRN_COMPARE_MEASURES; i++)
		cairn_buffer_format(out, "  %24s", measures[i].title);
	cairn_buffer_byte(out, '\n');
	for (size_t i = 0; i < compare->count; i++) {
		const struct cairn_compare_row *row = &compare->rows[i];
		char name[64];
		snprintf(name, sizeof name, "%.60s", row->name);
		struct cairn_buffer shown = cairn_buffer(1024);
		cairn_utf8_show(&shown, cairn_bytes_of(name));
		cairn_buffer_byte(&shown, 0);
		cairn_buffer_format(out, "%-24s", shown.failed ? "" : shown.data);
		cairn_buffer_free(&shown);
		for (int k = 0; k < CAIRN_COMPARE_MEASURES; k++)
			write_value(out, k, row->values[k]);
		if (row->failures)
			cairn_buffer_format(out, "  failed in %u of %u rounds", row->failures, row->rounds);
		cairn_buffer_byte(out, '\n');
	}
	if (compare->count && compare->rows[0].rounds > 1)
		cairn_buffer_format(out, "\n± is a 95 %% confidence interval of the mean of %u rounds.\n", compare->rows[0].rounds);
}

void cairn_compare_json(const struct cairn_compare *compare, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json_answer(out);
	cairn_json_open(&json, "settings", '[');
	for (size_t i = 0; i < compare->count; i++) {
		const struct cairn_compare_row *row = &compare->rows[i];
		cairn_json_open(&json, NULL, '{');
		cairn_json_text(&json, "setting", cairn_bytes_of(row->name));
		cairn_json_integer(&json, "rounds", row->rounds);
		cairn_json_integer(&json, "failures", row->failures);
		for (int k = 0; k < CAIRN_COMPARE_MEASURES; k++) {
			char key[40];
			snprintf(key, sizeof key, "%s_error", measures[k].key);
			cairn_json_number(&json, measures[k].key, row->values[k].mean);
			cairn_json_number(&json, key, row->values[k].error);
		}
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	cairn_json_end(&json);
}
