/* top.c - `cairn top`: who holds the memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/source.h"
#include "cmd/view.h"
#include "report/number.h"
#include "report/top.h"

#include <math.h>

enum { default_rows = 30 };

struct options {
	struct cairn_source_options source;
	struct cairn_view_options view;
	const char *rows;
	bool by_cum;
	bool bytes;
	bool json;
};

static const struct cairn_option table[] = {
	{'n', "rows", "N", "show N rows; 0 shows all (30 unless told)", CAIRN_OPTION_TEXT, offsetof(struct options, rows), 0},
	{0, "cum", NULL, "sort by what passes through, not by what is held", CAIRN_OPTION_FLAG, offsetof(struct options, by_cum), 0},
	{0, "bytes", NULL, "print plain integers", CAIRN_OPTION_FLAG, offsetof(struct options, bytes), 0},
	{0, "json", NULL, "one JSON object instead of a table", CAIRN_OPTION_FLAG, offsetof(struct options, json), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, table, 0},
	{"what is shown", cairn_view_option_table, offsetof(struct options, view)},
	{"sources", cairn_source_option_table, offsetof(struct options, source)},
	{0},
};

/* About how many samples the numbers rest on; 0 when the format does not say. */
static double sample_count(const struct cairn_profile *profile)
{
	double count = 0;
	for (size_t i = 0; profile->sampled && i < profile->sample_count; i++)
		count += profile->sampled[i];
	return count;
}

static const char *value_name(const struct cairn_view *view)
{
	return cairn_profile_string(view->profile, view->profile->value_types[view->value].type);
}

static void header_text(const struct cairn_view *view, const struct cairn_top *top, bool bytes, struct cairn_buffer *out)
{
	const struct cairn_profile *profile = view->profile;
	bool human = cairn_view_in_bytes(view) && !bytes;
	char text[32];
	cairn_buffer_text(out, profile->process ? cairn_profile_string(profile, profile->process) : "unknown process");
	if (profile->process_id)
		cairn_buffer_format(out, ", process %llu", (unsigned long long)profile->process_id);
	cairn_buffer_format(out, ", %s", profile->format);
	if (profile->period > 1 && profile->kind == CAIRN_PROFILE_HEAP)
		cairn_buffer_format(out, ", one sample per %s%s", cairn_text_human(profile->period, text), profile->mixed_periods ? " (several periods)" : "");
	if (sample_count(profile) > 0)
		cairn_buffer_format(out, ", about %.0f samples", sample_count(profile));
	cairn_buffer_format(out, "\n%s: %s in all", value_name(view), cairn_number_text(view->total, human, text));
	if (top->unnamed != 0)
		cairn_buffer_format(out, ", %s (%.1f%%) of it without a name", cairn_number_text(top->unnamed, human, text),
				    cairn_number_percent(top->unnamed, view->total));
	cairn_buffer_text(out, "\n\n");
}

static void write_json(const struct cairn_view *view, const struct cairn_top *top, const struct cairn_top_options *shape, struct cairn_buffer *out)
{
	const struct cairn_profile *profile = view->profile;
	struct cairn_json json = cairn_json(out);
	cairn_json_open(&json, NULL, '{');
	cairn_json_number(&json, "total", trunc(view->total));
	cairn_json_text(&json, "unit", cairn_strings_bytes(&profile->strings, profile->value_types[view->value].unit));
	cairn_json_text(&json, "type", cairn_bytes_of(value_name(view)));
	cairn_json_number(&json, "period", profile->period);
	cairn_json_text(&json, "process", cairn_strings_bytes(&profile->strings, profile->process));
	cairn_json_integer(&json, "pid", (int64_t)profile->process_id);
	cairn_json_text(&json, "format", cairn_bytes_of(profile->format));
	cairn_json_number(&json, "samples", trunc(sample_count(profile)));
	cairn_json_number(&json, "unnamed", trunc(top->unnamed));
	cairn_top_json(top, view, shape, &json);
	cairn_json_close(&json, '}');
	cairn_buffer_byte(out, '\n');
}

static bool row_limit(const struct options *options, uint64_t *limit, struct cairn_error *error)
{
	struct cairn_bytes rest = cairn_bytes_of(options->rows ? options->rows : "");
	*limit = options->json ? 0 : default_rows;
	return !options->rows || (cairn_text_decimal(&rest, limit) && rest.length == 0) ||
	       cairn_fail(error, "-n takes a whole number, not '%s'", options->rows);
}

static int run(const void *values, int operand_count, char **operands)
{
	const struct options *options = values;
	struct cairn_top_options shape = {.bytes = options->bytes};
	struct cairn_error error;
	struct cairn_profile profile;
	struct cairn_view view = {0};
	if (!row_limit(options, &shape.limit, &error)) {
		cairn_say_error(error.text);
		return CAIRN_EXIT_USAGE;
	}
	int code;
	if (!cairn_source_load(&profile, &options->source, operand_count, operands, &error) ||
	    !cairn_view_make(&view, &profile, &options->view, &error)) {
		code = cairn_say_error(error.text);
	} else {
		struct cairn_top top;
		struct cairn_buffer out = cairn_buffer(SIZE_MAX);
		cairn_top_make(&top, &view, options->by_cum);
		if (options->json) {
			write_json(&view, &top, &shape, &out);
		} else {
			header_text(&view, &top, options->bytes, &out);
			cairn_top_text(&top, &view, &shape, &out);
		}
		code = cairn_say_output(NULL, cairn_buffer_bytes(&out));
		cairn_buffer_free(&out);
		cairn_top_free(&top);
	}
	cairn_view_free(&view);
	cairn_profile_free(&profile);
	return code;
}

const struct cairn_command cairn_command_top = {
	.name = "top",
	.summary = "who holds the memory: a table of functions",
	.arguments = "SOURCE...",
	.detail = "SOURCE is a heap dump, a folder of them, or - for standard input. Of several dumps the newest is shown.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
