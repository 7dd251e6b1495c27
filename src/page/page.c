/* page.c - fills in the page.
 * SPDX-License-Identifier: Apache-2.0 */
#include "page/page.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/path.h"
#include "base/xml.h"
#include "page/ages.h"
#include "page/data.h"
#include "page/history.h"
#include "profile/kind.h"
#include "report/head.h"

#include <libdeflate.h>
#include <math.h>
#include <stdlib.h>

extern const char cairn_page_text[];

struct page {
	struct cairn_view *view;
	const struct cairn_page_options *options;
	struct cairn_page_data data;
	struct cairn_buffer *out;
};

/* Compresses BYTES in zlib's format, which browsers decompress themselves, and writes them as base64. */
static void write_block(struct cairn_bytes bytes, struct cairn_buffer *out)
{
	enum { level = 10 };
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(level);
	struct cairn_buffer packed = cairn_buffer(SIZE_MAX);
	if (!compressor)
		cairn_out_of_memory(sizeof(void *));
	size_t room = libdeflate_zlib_compress_bound(compressor, bytes.length);
	char *to = cairn_buffer_room(&packed, room);
	packed.length = libdeflate_zlib_compress(compressor, bytes.data, bytes.length, to, room);
	cairn_base64_append(out, cairn_buffer_bytes(&packed), false);
	cairn_buffer_free(&packed);
	libdeflate_free_compressor(compressor);
}

static void write_columns(const struct page *page, struct cairn_json *json)
{
	const struct cairn_profile *profile = page->view->profile;
	cairn_json_open(json, "columns", '[');
	for (size_t c = 0; c < page->data.column_count; c++) {
		const struct cairn_value_type *type = &profile->value_types[page->data.columns[c]];
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "type", cairn_strings_bytes(&profile->strings, type->type));
		cairn_json_text(json, "unit", cairn_strings_bytes(&profile->strings, type->unit));
		cairn_json_text(json, "title", cairn_bytes_of(cairn_head_value_title(profile, page->data.columns[c])));
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
}

static bool has_column(const struct page *page, const char *type)
{
	bool found = false;
	for (size_t c = 0; type && c < page->data.column_count; c++)
		found |= cairn_profile_find_value(page->view->profile, type) == page->data.columns[c];
	return found;
}

/* The buttons that choose between the columns. */
static void write_kinds(const struct page *page, struct cairn_json *json)
{
	cairn_json_open(json, "kinds", '[');
	for (size_t i = 0; i < sizeof cairn_shown_views / sizeof *cairn_shown_views; i++) {
		const struct cairn_shown_view *view = &cairn_shown_views[i];
		if (!has_column(page, view->space) && !has_column(page, view->objects))
			continue;
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "kind", (struct cairn_bytes){view->space, strcspn(view->space, "_")});
		cairn_json_text(json, "label", cairn_bytes_of(view->label));
		cairn_json_text(json, "hint", cairn_bytes_of(view->hint));
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
}

static void write_threads(const struct cairn_page_data *data, struct cairn_json *json)
{
	cairn_json_open(json, "threads", '[');
	for (size_t t = 0; t < data->thread_count; t++) {
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "name", data->threads[t].name);
		cairn_json_text(json, "id", data->threads[t].id);
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
}

static void write_filters(const struct cairn_filter_options *filter, struct cairn_json *json)
{
	const struct {
		const char *name, *text;
	} all[] = {
		{"focus", filter->focus}, {"ignore", filter->ignore}, {"hide", filter->hide}, {"show", filter->show},
		{"show from", filter->show_from}, {"exclude", filter->exclude}, {"retain", filter->retain},
		{"tagfocus", filter->tag_focus}, {"tagignore", filter->tag_ignore},
	};
	cairn_json_open(json, "filters", '[');
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].text) {
			struct cairn_buffer text = cairn_buffer(1 << 16);
			cairn_buffer_format(&text, "%s %s", all[i].name, all[i].text);
			cairn_json_text(json, NULL, cairn_buffer_bytes(&text));
			cairn_buffer_free(&text);
		}
	cairn_json_close(json, ']');
}

static void write_series(const struct cairn_page_series *series, struct cairn_json *json)
{
	cairn_json_open(json, "series", '{');
	cairn_json_text(json, "summary", cairn_bytes_of(series->summary));
	cairn_json_number(json, "observed", series->observed_seconds);
	cairn_json_number(json, "seconds", series->seconds);
	cairn_json_integer(json, "dumps", (int64_t)series->count);
	cairn_json_open(json, "growth", '[');
	for (size_t i = 0; i < series->growth_count; i++) {
		const struct cairn_page_growth *growth = &series->growth[i];
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "name", growth->name);
		cairn_json_text(json, "caller", growth->caller);
		cairn_json_number(json, "per_hour", growth->per_hour);
		cairn_json_number(json, "share", growth->share);
		cairn_json_text(json, "words", cairn_bytes_of(growth->words));
		cairn_json_text(json, "sure", cairn_bytes_of(growth->sure));
		cairn_json_number(json, "now", trunc(growth->now));
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
	cairn_json_close(json, '}');
}

static void write_film(const char *name, const struct cairn_page_film *film, struct cairn_json *json)
{
	static const struct {
		const char *name;
		size_t offset;
	} columns[] = {
		{"seconds", offsetof(struct cairn_page_point, seconds)},
		{"totals", offsetof(struct cairn_page_point, total)},
		{"resident", offsetof(struct cairn_page_point, resident)},
		{"limit", offsetof(struct cairn_page_point, limit)},
		{"low", offsetof(struct cairn_page_point, low)},
		{"high", offsetof(struct cairn_page_point, high)},
	};
	const size_t count = sizeof columns / sizeof *columns - (film->has_errors ? 0 : 2);
	cairn_json_open(json, name, '{');
	cairn_json_number(json, "start", (double)film->start_ns / 1e6);
	for (size_t c = 0; c < count; c++) {
		cairn_json_open(json, columns[c].name, '[');
		for (size_t i = 0; i < film->point_count; i++) {
			double value = *(const double *)(const void *)((const char *)&film->points[i] + columns[c].offset);
			cairn_json_number(json, NULL, c ? trunc(value) : value);
		}
		cairn_json_close(json, ']');
	}
	cairn_json_integer(json, "from", (int64_t)film->from);
	cairn_json_integer(json, "to", (int64_t)film->to);
	cairn_json_open(json, "runs", '[');
	for (size_t i = 0; i < film->point_count; i++)
		cairn_json_integer(json, NULL, film->points[i].run);
	cairn_json_close(json, ']');
	cairn_json_open(json, "stretches", '[');
	for (size_t i = 0; i < film->point_count; i++)
		cairn_json_integer(json, NULL, film->points[i].stretch);
	cairn_json_close(json, ']');
	cairn_json_text(json, "limit_of", cairn_bytes_of(film->limit_of));
	cairn_json_open(json, "layers", '[');
	for (size_t l = 0; l < film->layer_count; l++) {
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "name", film->layers[l].name);
		cairn_json_text(json, "leaf", film->layers[l].leaf);
		cairn_json_text(json, "verdict", cairn_bytes_of(film->layers[l].verdict));
		cairn_json_open(json, "values", '[');
		for (size_t i = 0; i < film->point_count; i++)
			cairn_json_number(json, NULL, trunc(film->layers[l].values[i]));
		cairn_json_close(json, ']');
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
	cairn_json_close(json, '}');
}

static void write_members(const struct page *page, struct cairn_json *json)
{
	const struct cairn_profile *profile = page->view->profile;
	cairn_json_open(json, NULL, '{');
	cairn_json_text(json, "version", cairn_bytes_of(CAIRN_VERSION));
	cairn_json_text(json, "title", cairn_bytes_of(page->options->title ? page->options->title : ""));
	cairn_head_json(page->view, json);
	cairn_json_bool(json, "mixed_periods", profile->mixed_periods);
	cairn_json_number(json, "time", trunc((double)profile->facts.time_ns / 1e6));
	write_columns(page, json);
	write_kinds(page, json);
	cairn_json_bool(json, "change", page->data.is_change);
	cairn_json_bool(json, "base", profile->base != NULL);
	cairn_json_bool(json, "errors", page->data.has_errors);
	cairn_json_bool(json, "cut", page->data.is_cut);
	cairn_json_number(json, "folded", trunc(page->data.folded));
	write_threads(&page->data, json);
	cairn_json_open(json, "ages", '[');
	for (unsigned age = 0; age < CAIRN_AGES; age++)
		cairn_json_text(json, NULL, cairn_bytes_of(cairn_age_name(age)));
	cairn_json_close(json, ']');
	cairn_json_bool(json, "aged", profile->facts.has_ages && !cairn_shown_views[profile->shown].by_path);
	if (page->options->churn.length)
		cairn_json_raw(json, "churn", page->options->churn);
	if (page->options->bill.length)
		cairn_json_raw(json, "bill", page->options->bill);
	cairn_json_open(json, "warnings", '[');
	for (size_t i = 0; i < profile->warning_count; i++)
		cairn_json_text(json, NULL, cairn_strings_bytes(&profile->strings, profile->warnings[i]));
	cairn_json_close(json, ']');
	write_filters(&page->view->options.filter, json);
	if (page->options->series)
		write_series(page->options->series, json);
	if (page->options->film)
		write_film("film", page->options->film, json);
	if (page->options->course)
		write_film("course", page->options->course, json);
	cairn_page_history_write(profile, json);
	if (page->options->state)
		cairn_json_text(json, "state", cairn_bytes_of(page->options->state));
	cairn_json_close(json, '}');
}

/* Writes JSON that cannot end its element: "<" occurs only in its strings, where it can be escaped. */
static void write_facts(const struct page *page, struct cairn_buffer *out)
{
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	struct cairn_json json = cairn_json(&text);
	write_members(page, &json);
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] == '<')
			cairn_buffer_text(out, "\\u003c");
		else
			cairn_buffer_byte(out, text.data[i]);
	cairn_buffer_free(&text);
}

static void write_title(const struct page *page, struct cairn_buffer *out)
{
	const struct cairn_profile *profile = page->view->profile;
	const char *process = cairn_base_name(cairn_profile_string(profile, profile->facts.process));
	char number[32];
	const char *title = page->options->title ? page->options->title : process;
	if (*title) {
		cairn_xml_text(out, cairn_bytes_of(title));
		cairn_buffer_text(out, ": ");
	}
	cairn_buffer_text(out, profile->base ? "change of " : "");
	cairn_xml_text(out, cairn_bytes_of(cairn_head_title(page->view)));
	if (page->options->film)
		cairn_buffer_format(out, " over time, %zu dumps", page->options->film->point_count);
	else
		cairn_buffer_format(out, ", %s", cairn_head_number(page->view, &(struct cairn_shape){0}, page->view->shown, number));
}

/* Writes what replaces the marker at the start of TEXT, an @ and a name, and returns the marker's length; 0 if there is no marker. */
static size_t fill_marker(const struct page *page, struct cairn_bytes text)
{
	struct cairn_buffer *out = page->out;
	if (cairn_bytes_start_with(text, "@TITLE@"))
		write_title(page, out);
	else if (cairn_bytes_start_with(text, "@FACTS@"))
		write_facts(page, out);
	else if (cairn_bytes_start_with(text, "@TREE@"))
		write_block(cairn_buffer_bytes(&page->data.tree), out);
	else if (cairn_bytes_start_with(text, "@SPLIT@"))
		write_block(cairn_buffer_bytes(&page->data.split), out);
	else if (cairn_bytes_start_with(text, "@FILM@"))
		write_block(cairn_buffer_bytes(&page->data.film), out);
	else if (cairn_bytes_start_with(text, "@AGES@"))
		cairn_page_ages_write(page->view->profile, out);
	else
		return 0;
	const char *end = memchr(text.data + 1, '@', text.length - 1);
	return (size_t)(end - text.data) + 1;
}

void cairn_page_write(struct cairn_view *view, const struct cairn_page_options *options, struct cairn_buffer *out)
{
	struct page page = {.view = view, .options = options, .out = out};
	const struct cairn_page_film *film = options->film;
	cairn_page_data_make(&page.data, view, options->node_most ? options->node_most : CAIRN_PAGE_NODES, film ? &film->cells : NULL);
	struct cairn_bytes rest = cairn_bytes_of(cairn_page_text);
	while (rest.length > 0) {
		const char *at = memchr(rest.data, '@', rest.length);
		size_t plain = at ? (size_t)(at - rest.data) : rest.length;
		cairn_buffer_append(out, rest.data, plain);
		rest = cairn_bytes_skip(rest, plain);
		size_t marker = rest.length > 0 ? fill_marker(&page, rest) : 0;
		if (rest.length > 0 && marker == 0)
			cairn_buffer_byte(out, '@');
		rest = cairn_bytes_skip(rest, marker ? marker : 1);
	}
	cairn_page_data_free(&page.data);
}

static void append_sized(struct cairn_buffer *out, struct cairn_buffer *block)
{
	cairn_buffer_uleb(out, block->length);
	cairn_buffer_append(out, block->data, block->length);
}

void cairn_page_write_blocks(struct cairn_view *view, const struct cairn_page_options *options, struct cairn_buffer *out)
{
	struct page page = {.view = view, .options = options, .out = out};
	cairn_page_data_make(&page.data, view, options->node_most ? options->node_most : CAIRN_PAGE_NODES, NULL);
	struct cairn_buffer facts = cairn_buffer(SIZE_MAX);
	struct cairn_json json = cairn_json(&facts);
	write_members(&page, &json);
	append_sized(out, &facts);
	append_sized(out, &page.data.tree);
	append_sized(out, &page.data.split);
	cairn_buffer_free(&facts);
	cairn_page_data_free(&page.data);
}
