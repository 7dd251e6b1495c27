/* line_test.c - line number programs of every version, assembled by hand.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/line.h"

#include "assemble.h"
#include "tap.h"

enum { line_base = -5, line_range = 14, opcode_base = 13 };

/* The special opcode that moves on by so much. */
static void put_special(struct cairn_buffer *out, int line, unsigned address)
{
	put(out, (uint64_t)(line - line_base + (int)(line_range * address) + opcode_base), 1);
}

static void put_set_address(struct cairn_buffer *out, uint64_t address)
{
	put_bytes(out, 0, 9, 2);
	put(out, address, 8);
}

static size_t begin_lines(struct cairn_buffer *out, unsigned version, size_t *header)
{
	size_t start = out->length;
	put(out, 0, 4);
	put(out, version, 2);
	if (version >= 5)
		put_bytes(out, 8, 0);
	*header = out->length;
	put(out, 0, 4);
	put_bytes(out, 1);
	if (version >= 4)
		put_bytes(out, 1);
	put_bytes(out, 1, line_base, line_range, opcode_base, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1);
	if (version >= 5) {
		put_bytes(out, 1, 1, DW_FORM_string, 2);
		put_text(out, "/build");
		put_text(out, "include");
		put_bytes(out, 3, 1, DW_FORM_string, 2, DW_FORM_udata, 5, DW_FORM_data16, 3);
		for (int i = 0; i < 3; i++) {
			put_text(out, (const char *[]){"main.c", "main.c", "inline.h"}[i]);
			put(out, i == 2, 1);
			put(out, 0, 16);
		}
	} else {
		put_text(out, "include");
		put_bytes(out, 0);
		put_text(out, "main.c");
		put_bytes(out, 0, 0, 0);
		put_text(out, "inline.h");
		put_bytes(out, 1, 0, 0, 0);
	}
	patch(out, *header, out->length - *header - 4, 4);
	return start;
}

/* Rows 0x1000 main.c:10, 0x1004 main.c:12, 0x1008 inline.h:3, up to 0x1010; and a sequence of removed code. */
static void put_program(struct cairn_buffer *out)
{
	put_set_address(out, 0);
	put_special(out, 5, 0);
	put_bytes(out, 2); /* advance_pc */
	put_uleb(out, 0x4000);
	put_bytes(out, 0, 1, 1); /* end_sequence */
	put_set_address(out, 0x1000);
	put_bytes(out, 3, 8, 5, 7); /* advance_line, set_column */
	put_special(out, 1, 0);
	put_special(out, 2, 4);
	put_bytes(out, 4, 2, 3); /* set_file, advance_line */
	put_sleb(out, -9);
	put_bytes(out, 9, 4, 0, 1); /* fixed_advance_pc, copy */
	put_bytes(out, 10, 12, 3, 8); /* prologue_end, set_isa, const_add_pc up to 0x1019 */
	put_bytes(out, 0, 1, 1);
}

static const uint64_t addresses[] = {0x10, 0xfff, 0x1000, 0x1003, 0x1004, 0x1008, 0x1018, 0x1019, 0x2000};
enum { count = sizeof addresses / sizeof *addresses };

static void check_rows(const struct cairn_dwarf *dwarf, const char *what)
{
	struct cairn_unit unit = {
		.dwarf = (struct cairn_dwarf *)(uintptr_t)dwarf, .encoding = {4, 8, 4}, .has_lines = true, .directory = "/build"};
	struct cairn_lines lines;
	struct cairn_line_row rows[count] = {0};
	struct cairn_arena arena = {0};
	static const unsigned wanted[] = {0, 0, 10, 10, 12, 3, 3, 0, 0};
	if (ok(cairn_lines_open(&lines, &unit), "%s: the header", what)) {
		cairn_lines_match(&lines, addresses, NULL, count, rows);
		for (size_t i = 0; i < count; i++)
			is_int(rows[i].line, wanted[i], "%s: line of 0x%llx", what, (unsigned long long)addresses[i]);
		is_int(rows[2].column, 7, "%s: column", what);
		is_text(cairn_lines_path(&lines, rows[2].file, &arena), "/build/main.c", "%s: path", what);
		is_text(cairn_lines_path(&lines, rows[5].file, &arena), "/build/include/inline.h", "%s: path in a relative directory",
			what);
		ok(!cairn_lines_path(&lines, 77, &arena), "%s: no such file", what);
	}
	cairn_arena_free(&arena);
	cairn_lines_close(&lines);
}

static void test_versions(void)
{
	for (unsigned version = 2; version <= 5; version++) {
		struct cairn_buffer out = cairn_buffer(4096);
		struct cairn_dwarf dwarf;
		char what[20];
		size_t header, start = begin_lines(&out, version, &header);
		put_program(&out);
		patch(&out, start, out.length - start - 4, 4);
		make_dwarf(&dwarf);
		dwarf.sections[CAIRN_DWARF_LINE] = cairn_buffer_bytes(&out);
		snprintf(what, sizeof what, "version %u", version);
		check_rows(&dwarf, what);
		cairn_buffer_free(&out);
	}
}

/* Opens what OUT has from START on, of version 4. */
static void open_lines(struct cairn_lines *lines, struct cairn_buffer *out, size_t start)
{
	static struct cairn_dwarf dwarf;
	static struct cairn_unit unit = {.dwarf = &dwarf, .encoding = {4, 8, 4}, .has_lines = true};
	patch(out, start, out->length - start - 4, 4);
	make_dwarf(&dwarf);
	dwarf.sections[CAIRN_DWARF_LINE] = cairn_buffer_bytes(out);
	cairn_lines_open(lines, &unit);
}

static void test_same_address(void)
{
	struct cairn_buffer out = cairn_buffer(4096);
	size_t header, start = begin_lines(&out, 4, &header);
	put_set_address(&out, 0x1000);
	put_special(&out, 1, 0);
	put_special(&out, 3, 0);
	put_special(&out, 1, 2);
	put_bytes(&out, 2, 2, 0, 1, 1);
	put_set_address(&out, 0x1001); /* a second sequence claims what the first has */
	put_special(&out, 8, 0);
	put_bytes(&out, 2, 9, 0, 1, 1);
	struct cairn_lines lines;
	struct cairn_line_row rows[3] = {0};
	open_lines(&lines, &out, start);
	cairn_lines_match(&lines, (const uint64_t[]){0x1000, 0x1001, 0x1005}, NULL, 3, rows);
	is_int(rows[0].line, 5, "of two rows at one address the last counts");
	is_int(rows[1].line, 5, "of two sequences the first");
	is_int(rows[2].line, 9, "what only the second has is its own");
	cairn_lines_close(&lines);
	cairn_buffer_free(&out);
}

/* Three functions with the same code, which the linker made one at 0x1000: declared at lines 10, 50 and 90. */
static void test_folded(void)
{
	struct cairn_buffer out = cairn_buffer(4096);
	size_t header, start = begin_lines(&out, 4, &header);
	static const uint8_t order[] = {50, 10, 90};
	for (size_t i = 0; i < sizeof order; i++) {
		put_set_address(&out, 0x1000);
		put_bytes(&out, 3);
		put_sleb(&out, order[i]); /* advance_line, from 1 */
		put_special(&out, 0, 0);
		put_special(&out, 1, 4);
		put_bytes(&out, 2, 4, 0, 1, 1);
	}
	static const struct {
		struct cairn_line_function function;
		unsigned wanted;
	} cases[] = {{{0x1000, 10}, 12}, {{0x1000, 50}, 52}, {{0x1000, 90}, 92}, {{0x1000, 80}, 92},
		     {{0x1000, 200}, 52}, {{0x1000, 0}, 52}, {{0xf00, 10}, 52}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cairn_lines lines;
		struct cairn_line_row row = {0};
		open_lines(&lines, &out, start);
		cairn_lines_match(&lines, (const uint64_t[]){0x1006}, &cases[i].function, 1, &row);
		is_int(row.line, cases[i].wanted, "of folded functions, the line of the one at 0x%llx declared at line %u",
			(unsigned long long)cases[i].function.start, cases[i].function.line);
		cairn_lines_close(&lines);
	}
	cairn_buffer_free(&out);
}

static void test_damage(void)
{
	struct cairn_buffer out = cairn_buffer(4096);
	size_t header, start = begin_lines(&out, 5, &header), opened = 0;
	put_program(&out);
	patch(&out, start, out.length - start - 4, 4);
	struct cairn_dwarf dwarf;
	make_dwarf(&dwarf);
	struct cairn_unit unit = {.dwarf = &dwarf, .encoding = {5, 8, 4}, .has_lines = true};
	for (size_t length = 0; length < out.length; length++) {
		dwarf.sections[CAIRN_DWARF_LINE] = (struct cairn_bytes){out.data, length};
		struct cairn_lines lines;
		struct cairn_line_row rows[count] = {0};
		if (cairn_lines_open(&lines, &unit)) {
			cairn_lines_match(&lines, addresses, NULL, count, rows);
			opened++;
		}
		cairn_lines_close(&lines);
	}
	ok(opened > 10 && opened < out.length / 2, "programs cut short are run as far as they go, headers are not");
	out.data[header + 4 + 4] = 0; /* line_range, by which is divided */
	dwarf.sections[CAIRN_DWARF_LINE] = cairn_buffer_bytes(&out);
	struct cairn_lines lines;
	ok(!cairn_lines_open(&lines, &unit), "a line range of 0 is refused");
	cairn_lines_close(&lines);
	cairn_buffer_free(&out);
}

int main(void)
{
	test_versions();
	test_same_address();
	test_folded();
	test_damage();
	return tap_done();
}
