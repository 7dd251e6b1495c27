/* list.c - collects the lines of functions, and shows them with their source.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/list.h"

#include "base/array.h"
#include "base/time.h"
#include "base/utf8.h"
#include "report/number.h"
#include "report/source_file.h"
#include "report/top.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { margin = 5 }; /* lines shown before the first and after the last line with a value */

static const char *file_name(const struct cairn_view *view, uint32_t entry)
{
	const struct cairn_profile *profile = view->profile;
	return cairn_profile_string(profile, profile->functions[view->entries[entry].function].file);
}

static int compare_routines(struct cairn_view *view, uint32_t left, uint32_t right)
{
	int order =
		strcmp(cairn_view_function(view, view->entries[left].function), cairn_view_function(view, view->entries[right].function));
	return order ? order : strcmp(file_name(view, left), file_name(view, right));
}

static int compare_lines(const void *a, const void *b, void *context)
{
	const struct cairn_list_line *left = a, *right = b;
	int order = compare_routines(context, left->row.entry, right->row.entry);
	return order ? order : left->line < right->line ? -1 : left->line > right->line;
}

/* Divides the sorted lines into routines, and adds up each of them. */
static void make_routines(struct cairn_list *list, struct cairn_view *view)
{
	uint32_t *groups = cairn_array_none(view->entry_count);
	list->routines = cairn_array_zero(list->line_count, sizeof *list->routines);
	for (size_t i = 0; i < list->line_count; i++) {
		uint32_t entry = list->lines[i].row.entry;
		if (i == 0 || compare_routines(view, list->lines[i - 1].row.entry, entry) != 0)
			list->routines[list->routine_count++] =
				(struct cairn_list_routine){.name = cairn_view_function(view, view->entries[entry].function),
							    .file = file_name(view, entry),
							    .first = i};
		struct cairn_list_routine *routine = &list->routines[list->routine_count - 1];
		routine->count++;
		groups[entry] = (uint32_t)(list->routine_count - 1);
	}
	struct cairn_top_row *rows = cairn_array_zero(list->routine_count, sizeof *rows);
	cairn_top_groups(view, groups, list->routine_count, rows);
	for (size_t r = 0; r < list->routine_count; r++)
		list->routines[r].row = rows[r];
	free(rows);
	free(groups);
}

bool cairn_list_make(struct cairn_list *list, struct cairn_view *view, const struct cairn_pattern *pattern)
{
	struct cairn_top top;
	cairn_top_make(&top, view, &(struct cairn_shape){0});
	*list = (struct cairn_list){.lines = cairn_array_zero(top.count, sizeof *list->lines)};
	for (size_t i = 0; i < top.count; i++) {
		const struct cairn_top_row *row = &top.rows[i];
		const struct cairn_entry *entry = &view->entries[row->entry];
		if (cairn_view_match(view, entry->function, pattern))
			list->lines[list->line_count++] = (struct cairn_list_line){*row, entry->line};
	}
	cairn_top_free(&top);
	qsort_r(list->lines, list->line_count, sizeof *list->lines, compare_lines, view);
	make_routines(list, view);
	return list->line_count > 0;
}

void cairn_list_free(struct cairn_list *list)
{
	free(list->lines);
	free(list->routines);
	*list = (struct cairn_list){0};
}

/* Whether the source was changed after the program with ROUTINE was built. */
static bool is_newer(const struct cairn_list *list, const struct cairn_view *view, const struct cairn_list_routine *routine,
		     const struct cairn_source_file *code)
{
	const struct cairn_profile *profile = view->profile;
	const struct cairn_entry *entry = &view->entries[list->lines[routine->first].row.entry];
	const struct cairn_module *module = cairn_profile_module(profile, &profile->locations[entry->location]);
	struct stat status;
	return module && module->path && stat(cairn_profile_string(profile, module->path), &status) == 0 &&
	       code->file.modified_ns > cairn_time_ns(&status.st_mtim);
}

struct line {
	const struct cairn_top_row *row;
	uint32_t number;
	struct cairn_bytes code;
	bool found;
};

static void columns(struct cairn_table *table, void *context, const void *item)
{
	const struct line *line = item;
	cairn_top_columns(context, line->row, NAN);
	cairn_table_count(table, "line", NULL, 0, line->number);
	if (table->json && line->found)
		cairn_json_text(table->json, "code", line->code);
	if (!table->json) {
		cairn_buffer_format(table->out, " %6u:%s", line->number, line->code.length ? " " : "");
		cairn_utf8_show_lines(table->out, line->code);
	}
}

static void write_line(struct cairn_report *report, const struct cairn_top_row *row, uint32_t line, const struct cairn_source_file *code)
{
	cairn_table_row(&report->table, columns, report,
			&(struct line){row, line, code ? cairn_source_file_line(code, line) : (struct cairn_bytes){"", 0}, code != NULL});
}

/* Writes the lines with a value and, in text and if CODE is there, those around and between them. */
static void write_lines(const struct cairn_list *list, struct cairn_report *report, const struct cairn_list_routine *routine,
			const struct cairn_source_file *code)
{
	static const struct cairn_top_row nothing;
	const struct cairn_list_line *lines = list->lines + routine->first;
	const bool around = code && !report->json;
	uint32_t last = around ? lines[routine->count - 1].line : 0, at = lines[0].line > margin ? lines[0].line - margin : 1;
	report->dots = !report->json;
	for (size_t i = 0; i < routine->count; i++) {
		for (; around && at < lines[i].line && at <= code->count; at++)
			write_line(report, &nothing, at, code);
		write_line(report, &lines[i].row, lines[i].line, code);
		at = lines[i].line + 1;
	}
	for (; around && at <= code->count && at - last <= margin; at++)
		write_line(report, &nothing, at, code);
	report->dots = false;
}

/* Writes the head of ROUTINE as text; CODE is NULL if it was not FOUND. */
static void write_head(struct cairn_report *report, const struct cairn_list_routine *routine, const struct cairn_source_file *code,
		       bool found, bool newer)
{
	struct cairn_buffer *out = report->out;
	cairn_buffer_text(out, "ROUTINE ======================== ");
	cairn_utf8_show(out, cairn_bytes_of(routine->name));
	cairn_buffer_text(out, " in ");
	cairn_utf8_show(out, cairn_bytes_of(*routine->file ? routine->file : "??"));
	cairn_buffer_byte(out, '\n');
	report->table.start = out->length;
	cairn_top_columns(report, &routine->row, NAN);
	cairn_buffer_format(out, " (Self, Total) %.2f%% of all\n", cairn_number_percent(routine->row.cum, report->view->whole));
	if (!*routine->file) {
		cairn_buffer_text(out, "no source is known: debug information is missing\n");
	} else if (!found) {
		cairn_buffer_format(out, "source %s; use --source-path FOLDER with a folder above it\n", code->withheld
				    ? "withheld: another user's program names it, and not everybody may read it" : "not found");
	} else if (newer) {
		cairn_utf8_show(out, cairn_bytes_of(code->path));
		cairn_buffer_text(out, " is newer than the program, so lines may have moved; use --source-path FOLDER with the source it was "
				       "built from\n");
	}
}

void cairn_list_write(const struct cairn_list *list, struct cairn_report *report, const struct cairn_source_search *search)
{
	struct cairn_json *json = report->json;
	cairn_table_open(&report->table, "routines", '[');
	for (size_t r = 0; r < list->routine_count; r++) {
		const struct cairn_list_routine *routine = &list->routines[r];
		struct cairn_source_file code;
		bool found = *routine->file && cairn_source_file_open(&code, routine->file, search);
		bool newer = found && is_newer(list, report->view, routine, &code);
		if (json) {
			cairn_json_open(json, NULL, '{');
			cairn_json_text(json, "name", cairn_bytes_of(routine->name));
			cairn_json_text(json, "file", cairn_bytes_of(routine->file));
			cairn_json_bool(json, "found", found);
			cairn_json_bool(json, "newer", newer);
			cairn_top_columns(report, &routine->row, NAN);
			cairn_json_open(json, "lines", '[');
		} else {
			cairn_buffer_text(report->out, r ? "\n" : "");
			write_head(report, routine, &code, found, newer);
		}
		write_lines(list, report, routine, found ? &code : NULL);
		cairn_table_close(&report->table, ']');
		cairn_table_close(&report->table, '}');
		if (found)
			cairn_source_file_close(&code);
	}
	cairn_table_close(&report->table, ']');
}
