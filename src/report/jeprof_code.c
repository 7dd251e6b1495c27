/* jeprof_code.c - source and machine code in jeprof's layout.
 *
 * jeprof takes the lines of a function from its disassembly. Here, they begin where the debug information says, and end at the closing
 * brace after the last line with a value: the first line that is indented no deeper than the function.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/jeprof.h"

#include "base/utf8.h"
#include "report/disasm.h"
#include "report/list.h"
#include "report/source_file.h"

#include <ctype.h>
#include <stdio.h>

enum { margin = 5 };

static char *number_or_dot(const struct cairn_jeprof *jeprof, double value, char *out)
{
	return value == 0 ? strcpy(out, ".") : cairn_jeprof_number(jeprof, value, out);
}

/* The indentation of a line; -1 if it is empty. */
static int indentation(struct cairn_bytes line)
{
	for (size_t i = 0; i < line.length; i++)
		if (!isspace((unsigned char)line.data[i]))
			return (int)i;
	return -1;
}

static uint32_t last_line(const struct cairn_source_file *code, uint32_t first, uint32_t last)
{
	int depth = indentation(cairn_source_file_line(code, first));
	for (uint32_t line = last > first ? last : first + 1; line <= code->count; line++) {
		int found = indentation(cairn_source_file_line(code, line));
		if (found >= 0 && found <= depth)
			return line > last ? line : last;
	}
	return last;
}

static void write_routine(const struct cairn_jeprof *jeprof, const struct cairn_list *list, const struct cairn_list_routine *routine,
			  const struct cairn_source_file *code, struct cairn_buffer *out)
{
	const struct cairn_view *view = &jeprof->view;
	const struct cairn_list_line *lines = list->lines + routine->first;
	uint32_t function = view->entries[lines[0].row.entry].function, start = view->profile->functions[function].start_line;
	uint32_t first = start && start <= lines[0].line ? start : lines[0].line;
	uint32_t last = last_line(code, first, lines[routine->count - 1].line);
	size_t next = 0;
	for (uint32_t at = first > margin ? first - margin : 1; at <= code->count && at <= last + margin; at++) {
		double flat = 0, cum = 0;
		char left[32], right[32];
		for (; next < routine->count && lines[next].line <= at; next++) {
			flat += lines[next].row.flat;
			cum += lines[next].row.cum;
		}
		if (at == first)
			cairn_buffer_text(out, "---\n");
		cairn_buffer_format(out, "%6s %6s %4u: ", number_or_dot(jeprof, flat, left), number_or_dot(jeprof, cum, right), at);
		struct cairn_bytes text = cairn_source_file_line(code, at);
		cairn_utf8_show_lines(out, text);
		cairn_buffer_byte(out, '\n');
		if (at == last)
			cairn_buffer_text(out, "---\n");
	}
}

bool cairn_jeprof_list(struct cairn_jeprof *jeprof, const char *wanted, struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_list list;
	struct cairn_pattern *pattern = cairn_pattern_compile(wanted, error);
	if (!pattern)
		return cairn_fail_within(error, "--list: ");
	bool any = cairn_list_make(&list, &jeprof->view, pattern);
	struct cairn_source_search search = cairn_source_search(jeprof->view.profile, NULL);
	for (size_t r = 0; r < list.routine_count; r++) {
		const struct cairn_list_routine *routine = &list.routines[r];
		uint32_t function = jeprof->view.entries[list.lines[routine->first].row.entry].function;
		struct cairn_source_file code;
		char flat[32], cum[32];
		cairn_buffer_text(out, "ROUTINE ====================== ");
		struct cairn_bytes name = cairn_jeprof_name(&jeprof->names, function);
		cairn_utf8_show(out, name);
		cairn_buffer_text(out, " in ");
		cairn_utf8_show(out, cairn_bytes_of(*routine->file ? routine->file : "??"));
		cairn_buffer_format(out, "\n%6s %6s Total %s (flat / cumulative)\n", cairn_jeprof_number(jeprof, routine->row.flat, flat),
				    cairn_jeprof_number(jeprof, routine->row.cum, cum), cairn_jeprof_unit(jeprof));
		if (*routine->file && cairn_source_file_open(&code, routine->file, &search)) {
			write_routine(jeprof, &list, routine, &code, out);
			cairn_source_file_close(&code);
			continue;
		}
		/* Without the source, only the numbers of lines with a value are shown. */
		for (size_t i = 0; i < routine->count; i++) {
			const struct cairn_list_line *line = &list.lines[routine->first + i];
			cairn_buffer_format(out, "%6s %6s %4u: \n", number_or_dot(jeprof, line->row.flat, flat),
					    number_or_dot(jeprof, line->row.cum, cum), line->line);
		}
	}
	cairn_list_free(&list);
	cairn_pattern_free(pattern);
	return any || cairn_fail(error, "--list '%s' matches no function that holds anything; --text lists them", wanted);
}

struct disassembly {
	struct cairn_jeprof *jeprof;
	struct cairn_buffer *out;
	const char *file; /* the file whose name was written last */
	struct cairn_source_file code;
	bool open;
};

/* Writes the source line above an instruction that has a value. */
static void write_source(struct disassembly *disassembly, uint32_t entry_id, double flat, double cum)
{
	const struct cairn_profile *profile = disassembly->jeprof->view.profile;
	const struct cairn_entry *entry = &disassembly->jeprof->view.entries[entry_id];
	const char *file = entry->function == CAIRN_NONE ? "" : cairn_profile_string(profile, profile->functions[entry->function].file);
	char left[32], right[32];
	if (!*file)
		return;
	if (!disassembly->file || strcmp(disassembly->file, file) != 0) {
		if (disassembly->open)
			cairn_source_file_close(&disassembly->code);
		disassembly->file = file;
		struct cairn_source_search search = cairn_source_search(profile, NULL);
		disassembly->open = cairn_source_file_open(&disassembly->code, file, &search);
		size_t length = strlen(file);
		cairn_buffer_format(disassembly->out, "-------------------- %s", length >= 58 ? "..." : "");
		cairn_utf8_show(disassembly->out, cairn_bytes_of(length >= 58 ? file + length - 55 : file));
		cairn_buffer_byte(disassembly->out, '\n');
	}
	if (!disassembly->open)
		return;
	struct cairn_bytes line = cairn_source_file_line(&disassembly->code, entry->line);
	while (line.length && isspace((unsigned char)line.data[0]))
		line = cairn_bytes_skip(line, 1);
	cairn_buffer_format(disassembly->out, "%6s %6s %5u: ", number_or_dot(disassembly->jeprof, flat, left),
			    number_or_dot(disassembly->jeprof, cum, right), entry->line);
	cairn_utf8_show_lines(disassembly->out, line);
	cairn_buffer_byte(disassembly->out, '\n');
}

static void write_instruction(void *context, const struct cairn_disasm_instruction *instruction)
{
	enum { narrowest = 6 };
	struct disassembly *disassembly = context;
	char left[32], right[32];
	if (instruction->row.entry != CAIRN_NONE)
		write_source(disassembly, instruction->row.entry, instruction->row.flat, instruction->row.cum);
	cairn_buffer_format(disassembly->out, "%6s %6s    %8llx: ", number_or_dot(disassembly->jeprof, instruction->row.flat, left),
			    number_or_dot(disassembly->jeprof, instruction->row.cum, right), (unsigned long long)instruction->address);
	cairn_buffer_format(disassembly->out, "%*s", instruction->text.length < narrowest ? narrowest - (int)instruction->text.length : 0,
			    "");
	cairn_utf8_show_lines(disassembly->out, instruction->text);
	cairn_buffer_byte(disassembly->out, '\n');
}

bool cairn_jeprof_disasm(struct cairn_jeprof *jeprof, const char *wanted, struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_disasm disasm;
	bool good =
		cairn_disasm_make(&disasm, &jeprof->view, wanted, false, &jeprof->find, error) || cairn_fail_within(error, "--disasm: ");
	double total = 0;
	for (size_t i = 0; i < jeprof->view.sample_count; i++)
		total += cairn_view_value(&jeprof->view, i);
	for (size_t r = 0; good && r < disasm.routine_count; r++) {
		const struct cairn_disasm_routine *routine = &disasm.routines[r];
		struct disassembly disassembly = {.jeprof = jeprof, .out = out};
		struct cairn_bytes name = cairn_jeprof_name(&jeprof->names, jeprof->view.entries[routine->entry].function);
		char flat[32], cum[32];
		cairn_buffer_text(out, "ROUTINE ====================== ");
		cairn_utf8_show(out, name);
		cairn_buffer_format(out, "\n%6s %6s %s (flat, cumulative) %.1f%% of total\n",
				    cairn_jeprof_number(jeprof, routine->row.flat, flat),
				    cairn_jeprof_number(jeprof, routine->row.cum, cum), cairn_jeprof_unit(jeprof),
				    total != 0 ? routine->row.cum * 100 / total : 0);
		good = cairn_disasm_each(&disasm, routine, write_instruction, &disassembly, error);
		if (disassembly.open)
			cairn_source_file_close(&disassembly.code);
	}
	cairn_disasm_free(&disasm);
	return good;
}
