/* list_html.c - source lines as rows of a table; the instructions of a line are in a <details> below it.
 *
 * Instructions come from a view of the same profile by addresses. Only those with a value have a known line, and these are the ones that
 * people open a line for; the whole routine follows at its end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/list_html.h"

#include "base/xml.h"
#include "report/head.h"
#include "report/source_file.h"

#include <stdlib.h>

enum { margin = 5 }; /* lines shown before the first and after the last line with a value */

static const char style[] =
	":root{color-scheme:light dark;font:14px/1.45 system-ui,sans-serif}body{margin:1.5rem auto;max-width:76rem;padding:0 1rem}"
	"h1{font-size:1.3rem}h2{font-size:1rem;margin:2rem 0 .3rem;overflow-wrap:anywhere}.file{color:GrayText}"
	"table{border-collapse:collapse;width:100%;font:13px/1.5 ui-monospace,monospace}"
	"td,th{padding:0 .6rem;text-align:right;white-space:nowrap;vertical-align:top}"
	"td:last-child,th:last-child{text-align:left;white-space:pre-wrap;tab-size:4;overflow-wrap:anywhere;width:100%}"
	"tr.holds{background:color-mix(in srgb,orange 14%,Canvas)}td:nth-child(3){color:GrayText}"
	"summary{cursor:pointer}pre{margin:.2rem 0 .6rem 1rem;font-size:12px}";

static void add_text(struct cairn_buffer *out, const char *text)
{
	cairn_xml_text(out, cairn_bytes_of(text));
}

static void add_numbers(const struct cairn_view *view, const struct cairn_top_row *row, const char *tag, struct cairn_buffer *out)
{
	const double values[] = {row->flat, row->cum};
	for (size_t i = 0; i < 2; i++) {
		char text[32];
		cairn_buffer_format(out, "<%s>%s</%s>", tag,
				    values[i] == 0 ? "" : cairn_head_number(view, &(struct cairn_shape){0}, values[i], text), tag);
	}
}

/* The instructions of all routines that match, as readable text. */
struct assembly {
	struct cairn_view view; /* by address */
	struct cairn_disasm disasm;
	bool there;
};

static void open_assembly(struct assembly *assembly, const struct cairn_view *lines, const char *wanted,
			  const struct cairn_find_options *find)
{
	struct cairn_view_options options = lines->options;
	struct cairn_error error; /* ignored: the page is useful without instructions too */
	options.granularity = CAIRN_BY_ADDRESS;
	options.no_inlines = true;
	*assembly = (struct assembly){0};
	assembly->there = cairn_view_make(&assembly->view, lines->profile, &options, &error) &&
			  cairn_disasm_make(&assembly->disasm, &assembly->view, wanted, false, find, &error);
}

static void close_assembly(struct assembly *assembly)
{
	cairn_disasm_free(&assembly->disasm);
	cairn_view_free(&assembly->view);
}

struct lookup {
	const struct assembly *assembly;
	uint32_t line; /* 0 for every instruction of the routine */
	struct cairn_buffer *out;
};

static void add_instruction(void *context, const struct cairn_disasm_instruction *instruction)
{
	const struct lookup *lookup = context;
	const struct cairn_view *view = &lookup->assembly->view;
	char flat[32], cum[32];
	if (lookup->line && (instruction->row.entry == CAIRN_NONE || view->entries[instruction->row.entry].line != lookup->line))
		return;
	cairn_buffer_format(lookup->out, "%12s %12s %10llx  ",
			    instruction->row.flat == 0 ? ""
						       : cairn_head_number(view, &(struct cairn_shape){0}, instruction->row.flat, flat),
			    instruction->row.cum == 0 ? "" : cairn_head_number(view, &(struct cairn_shape){0}, instruction->row.cum, cum),
			    (unsigned long long)instruction->address);
	cairn_xml_text(lookup->out, instruction->text);
	cairn_buffer_byte(lookup->out, '\n');
}

/* Writes the instructions of routine NAME in FILE as text: those of LINE, or all if it is 0. */
static void add_instructions(struct assembly *assembly, const char *name, const char *file, uint32_t line, struct cairn_buffer *out)
{
	struct lookup lookup = {assembly, line, out};
	struct cairn_error error;
	for (size_t r = 0; assembly->there && r < assembly->disasm.routine_count; r++) {
		const struct cairn_disasm_routine *routine = &assembly->disasm.routines[r];
		uint32_t function = assembly->view.entries[routine->entry].function;
		const struct cairn_profile *profile = assembly->view.profile;
		if (function != CAIRN_NONE && strcmp(cairn_view_function(&assembly->view, function), name) == 0 &&
		    strcmp(cairn_profile_string(profile, profile->functions[function].file), file) == 0)
			cairn_disasm_each(&assembly->disasm, routine, add_instruction, &lookup, &error);
	}
}

static void add_details(struct cairn_buffer *out, struct cairn_bytes summary, struct cairn_bytes inside)
{
	if (inside.length == 0) {
		cairn_xml_text(out, summary);
		return;
	}
	cairn_buffer_text(out, "<details><summary>");
	cairn_xml_text(out, summary);
	cairn_buffer_text(out, "</summary><pre>");
	cairn_buffer_append(out, inside.data, inside.length);
	cairn_buffer_text(out, "</pre></details>");
}

static void add_line(const struct cairn_view *view, const struct cairn_list_routine *routine, const struct cairn_top_row *row,
		     uint32_t line, struct cairn_bytes text, struct assembly *assembly, struct cairn_buffer *out)
{
	struct cairn_buffer inside = cairn_buffer(SIZE_MAX);
	bool holds = row->flat != 0 || row->cum != 0;
	if (holds)
		add_instructions(assembly, routine->name, routine->file, line, &inside);
	cairn_buffer_text(out, holds ? "<tr class=holds>" : "<tr>");
	add_numbers(view, row, "td", out);
	cairn_buffer_format(out, "<td>%u</td><td>", line);
	add_details(out, text, cairn_buffer_bytes(&inside));
	cairn_buffer_text(out, "</td></tr>\n");
	cairn_buffer_free(&inside);
}

static void add_lines(const struct cairn_list *list, const struct cairn_view *view, const struct cairn_list_routine *routine,
		      const struct cairn_source_file *code, struct assembly *assembly, struct cairn_buffer *out)
{
	static const struct cairn_top_row nothing;
	const struct cairn_list_line *lines = list->lines + routine->first;
	uint32_t last = lines[routine->count - 1].line, at = lines[0].line > margin ? lines[0].line - margin : 1;
	for (size_t i = 0; i < routine->count; i++) {
		for (; code && at < lines[i].line && at <= code->count; at++)
			add_line(view, routine, &nothing, at, cairn_source_file_line(code, at), assembly, out);
		add_line(view, routine, &lines[i].row, lines[i].line,
			 code ? cairn_source_file_line(code, lines[i].line) : cairn_bytes_of("(the source is not here)"), assembly, out);
		at = lines[i].line + 1;
	}
	for (; code && at <= code->count && at - last <= margin; at++)
		add_line(view, routine, &nothing, at, cairn_source_file_line(code, at), assembly, out);
}

static void add_routine(const struct cairn_list *list, const struct cairn_view *view, const struct cairn_list_routine *routine,
			const struct cairn_source_search *search, struct assembly *assembly, struct cairn_buffer *out)
{
	struct cairn_source_file code;
	struct cairn_buffer whole = cairn_buffer(SIZE_MAX);
	bool found = *routine->file && cairn_source_file_open(&code, routine->file, search);
	cairn_buffer_text(out, "<h2>");
	add_text(out, routine->name);
	cairn_buffer_text(out, "</h2><div class=file>");
	add_text(out, *routine->file ? routine->file : "no source is known for it; its debug information is missing");
	cairn_buffer_text(out, "</div>\n<table><thead><tr><th>Self</th><th>Total</th><th>Line</th><th>Source</th></tr></thead>\n<tbody>");
	add_lines(list, view, routine, found ? &code : NULL, assembly, out);
	cairn_buffer_text(out, "</tbody><tfoot><tr>");
	add_numbers(view, &routine->row, "th", out);
	cairn_buffer_text(out, "<th></th><th></th></tr></tfoot></table>\n");
	add_instructions(assembly, routine->name, routine->file, 0, &whole);
	if (whole.length)
		add_details(out, cairn_bytes_of("All instructions"), cairn_buffer_bytes(&whole));
	cairn_buffer_free(&whole);
	if (found)
		cairn_source_file_close(&code);
}

void cairn_list_html(const struct cairn_list *list, struct cairn_view *view, const char *wanted, const struct cairn_source_search *search,
		     const struct cairn_find_options *find, struct cairn_buffer *out)
{
	struct assembly assembly;
	open_assembly(&assembly, view, wanted, find);
	cairn_buffer_format(
		out, "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\n<title>");
	add_text(out, wanted);
	cairn_buffer_format(out, "</title><style>%s</style>\n<h1>Source of ", style);
	add_text(out, wanted);
	cairn_buffer_text(out, "</h1>\n");
	for (size_t r = 0; r < list->routine_count; r++)
		add_routine(list, view, &list->routines[r], search, &assembly, out);
	cairn_buffer_text(out, "</html>\n");
	close_assembly(&assembly);
}
