/* function_test.c - functions and inlined calls of a unit assembled by hand, and their names from near and far.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/function.h"

#include "assemble.h"
#include "tap.h"

enum { UNIT = 1, NAMESPACE, DECLARATION, ABSTRACT, FUNCTION, CLONE, INLINED, BLOCK, CLASS, FAR, KIND, C_UNIT, NAMED };

static struct cairn_buffer abbrev, info;
static struct cairn_dwarf dwarf;
static struct cairn_names names;
static struct cairn_arena arena;

static void setup(void)
{
	abbrev = cairn_buffer(4096);
	info = cairn_buffer(4096);
	put_abbrev(&abbrev, UNIT, DW_TAG_compile_unit, true, pairs(DW_AT_low_pc, DW_FORM_addr));
	put_abbrev(&abbrev, NAMESPACE, DW_TAG_namespace, true, pairs(DW_AT_name, DW_FORM_string));
	put_abbrev(&abbrev, DECLARATION, DW_TAG_subprogram, false,
		pairs(DW_AT_name, DW_FORM_string, DW_AT_linkage_name, DW_FORM_string, DW_AT_decl_line, DW_FORM_data1));
	put_abbrev(&abbrev, ABSTRACT, DW_TAG_subprogram, false, pairs(DW_AT_specification, DW_FORM_ref4, DW_AT_decl_line, DW_FORM_data1));
	put_abbrev(&abbrev, FUNCTION, DW_TAG_subprogram, true,
		pairs(DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, DW_AT_sibling, DW_FORM_ref4));
	put_abbrev(&abbrev, CLONE, DW_TAG_subprogram, false,
		pairs(DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4));
	put_abbrev(&abbrev, INLINED, DW_TAG_inlined_subroutine, true,
		   pairs(DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, DW_AT_call_file,
			 DW_FORM_data1, DW_AT_call_line, DW_FORM_data1, DW_AT_call_column, DW_FORM_data1));
	put_abbrev(&abbrev, BLOCK, DW_TAG_lexical_block, true, pairs(0x02, DW_FORM_data1));
	put_abbrev(&abbrev, CLASS, DW_TAG_class_type, true, pairs(DW_AT_sibling, DW_FORM_ref4));
	put_abbrev(&abbrev, FAR, DW_TAG_subprogram, false,
		pairs(DW_AT_abstract_origin, DW_FORM_ref_addr, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4));
	put_abbrev(&abbrev, KIND, DW_TAG_subprogram, false,
		   pairs(DW_AT_linkage_name, DW_FORM_string, DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
			 DW_FORM_data4));
	put_abbrev(&abbrev, C_UNIT, DW_TAG_compile_unit, true, pairs(DW_AT_low_pc, DW_FORM_addr, DW_AT_language, DW_FORM_data1));
	put_abbrev(&abbrev, NAMED, DW_TAG_subprogram, false, pairs(DW_AT_name, DW_FORM_string));
	put(&abbrev, 0, 1);
}

static void finish(void)
{
	make_dwarf(&dwarf);
	dwarf.sections[CAIRN_DWARF_ABBREV] = cairn_buffer_bytes(&abbrev);
	dwarf.sections[CAIRN_DWARF_INFO] = cairn_buffer_bytes(&info);
	dwarf.units = cairn_units_new(&dwarf);
}

static void teardown(void)
{
	cairn_units_free(dwarf.units);
	cairn_names_free(&names);
	cairn_arena_free(&arena);
	cairn_buffer_free(&abbrev);
	cairn_buffer_free(&info);
}

static size_t put_declaration(const char *name, const char *linkage, unsigned line)
{
	size_t at = info.length;
	put_bytes(&info, DECLARATION);
	put_text(&info, name);
	put_text(&info, linkage);
	put(&info, line, 1);
	return at;
}

static size_t put_function(const char *name, uint64_t low, uint64_t length)
{
	put_bytes(&info, FUNCTION);
	put_text(&info, name);
	put(&info, low, 8);
	put(&info, length, 4);
	put(&info, 0, 4);
	return info.length - 4;
}

static void put_inlined(size_t origin, uint64_t low, uint64_t length, unsigned line)
{
	put_bytes(&info, INLINED);
	put(&info, origin, 4);
	put(&info, low, 8);
	put(&info, length, 4);
	put_bytes(&info, 1, (char)line, 3);
}

/* The names from the innermost call out, with the line each is called from. */
static const char *spell(const struct cairn_inline_call *call)
{
	static char text[500];
	size_t used = 0;
	text[0] = '\0';
	for (; call && used < sizeof text - 60; call = call->caller)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s@%u", used ? " " : "",
					 call->name.text ? call->name.text : "?", call->line);
	return text;
}

static void match(const uint64_t *addresses, size_t count, const struct cairn_inline_call **calls)
{
	struct cairn_unit unit;
	uint64_t next;
	if (!cairn_unit_read(&unit, &dwarf, 0, &next) || !cairn_unit_read_root(&unit, &names.abbrevs))
		return;
	const struct cairn_inline_call **found = cairn_functions_match(&unit, &names, &arena, addresses, count);
	if (found)
		memcpy(calls, found, count * sizeof *calls);
}

static void put_kind(const char *linkage, size_t origin, uint64_t low, uint64_t length)
{
	put_bytes(&info, KIND);
	put_text(&info, linkage);
	put(&info, origin, 4);
	put(&info, low, 8);
	put(&info, length, 4);
}

/* A function of C has one name, inlined or not, although the library's own calls go to another symbol of it. Zig claims to be C. */
static void test_c(void)
{
	setup();
	size_t start = begin_unit(&info, 4);
	put_bytes(&info, C_UNIT);
	put(&info, 0, 8);
	put_bytes(&info, 0x0c);
	size_t plain = info.length - start;
	put_bytes(&info, NAMED);
	put_text(&info, "f");
	size_t qualified = put_declaration("append", "list.ArrayList(u8).append", 3) - start;
	put_kind("__GI_f", plain, 0x1000, 0x10);
	put_function("caller", 0x2000, 0x10);
	put_inlined(plain, 0x2004, 4, 5);
	put_bytes(&info, 0, 0);
	put_bytes(&info, CLONE);
	put(&info, qualified, 4);
	put(&info, 0x3000, 8);
	put(&info, 0x10, 4);
	put_declaration("other", "f.other_than", 3);
	put_bytes(&info, 0);
	end_unit(&info, start);
	finish();
	const struct cairn_inline_call *calls[3] = {0};
	match((const uint64_t[]){0x1004, 0x2005, 0x3004}, 3, calls);
	is_text(spell(calls[0]), "f@0", "out of line, under the plain name");
	is_text(spell(calls[1]), "f@5 caller@0", "and inlined");
	is_text(spell(calls[2]), "list.ArrayList(u8).append@0", "a linkage name that only adds scopes is taken");
	teardown();
}

/* namespace n { inner; outer { block { inlined inner { inlined inner } } } local in a class of skipped } next */
static void test_tree(void)
{
	setup();
	size_t start = begin_unit(&info, 4);
	put_bytes(&info, UNIT);
	put(&info, 0, 8);
	put_bytes(&info, NAMESPACE);
	put_text(&info, "n");
	size_t inner = put_declaration("inner", "_ZN1n5innerEv", 9);
	size_t abstract = info.length;
	put_bytes(&info, ABSTRACT);
	put(&info, inner, 4);
	put_bytes(&info, 19);
	size_t outer = put_function("outer", 0x1000, 0x100);
	put_bytes(&info, BLOCK, 0);
	put_inlined(abstract, 0x1010, 0x20, 42);
	put_inlined(inner, 0x1018, 4, 43);
	put_bytes(&info, 0, 0, 0); /* ends of the calls and of the block */
	put_inlined(abstract, 0x1080, 1, 44);
	put_bytes(&info, 0, 0); /* ends of the call and of outer */
	patch(&info, outer, info.length, 4);
	size_t skipped = put_function("skipped", 0x5000, 8);
	put_bytes(&info, CLASS);
	size_t class = info.length;
	put(&info, 0, 4);
	size_t local = put_function("local", 0x6000, 8);
	put_bytes(&info, 0, 0);
	patch(&info, local, info.length - 1, 4);
	patch(&info, class, info.length, 4);
	put_bytes(&info, 0);
	patch(&info, skipped, info.length, 4);
	put_bytes(&info, CLONE);
	put(&info, abstract, 4);
	put(&info, 0x2000, 8);
	put(&info, 0x10, 4);
	put_bytes(&info, 0, 0); /* ends of the namespace and of the unit */
	end_unit(&info, start);
	finish();
	static const uint64_t addresses[] = {0xfff, 0x1000, 0x1010, 0x1018, 0x101c, 0x1080, 0x1100, 0x2005, 0x6004};
	static const char *const wanted[] = {"", "outer@0", "_ZN1n5innerEv@42 outer@0", "_ZN1n5innerEv@43 _ZN1n5innerEv@42 outer@0",
		"_ZN1n5innerEv@42 outer@0", "_ZN1n5innerEv@44 outer@0", "", "_ZN1n5innerEv@0", "local@0"};
	const struct cairn_inline_call *calls[9] = {NULL};
	match(addresses, 9, calls);
	for (size_t i = 0; i < 9; i++)
		is_text(spell(calls[i]), wanted[i], "0x%llx", (unsigned long long)addresses[i]);
	const struct cairn_inline_call *alone[1] = {NULL};
	match((const uint64_t[]){0x1080}, 1, alone);
	is_text(spell(alone[0]), wanted[5], "a call behind others of its function, asked for alone");
	ok(calls[2]->name.mangled && !calls[1]->name.mangled, "which names are mangled");
	is_int(calls[2]->name.line, 19, "the line of the nearest declaration");
	is_int(calls[2]->column, 3, "the column of the call");
	teardown();
}

static void test_far_and_circular(void)
{
	setup();
	size_t start = begin_unit(&info, 4);
	put_bytes(&info, UNIT);
	put(&info, 0, 8);
	put_bytes(&info, FAR);
	size_t far = info.length;
	put(&info, 0, 4);
	put(&info, 0x1000, 8);
	put(&info, 0x10, 4);
	size_t circle = info.length;
	put_bytes(&info, CLONE);
	put(&info, circle, 4);
	put(&info, 0x2000, 8);
	put(&info, 0x10, 4);
	put_bytes(&info, FAR);
	put(&info, 0x7fffffff, 4);
	put(&info, 0x3000, 8);
	put(&info, 0x10, 4);
	put_bytes(&info, 0);
	end_unit(&info, start);
	start = begin_unit(&info, 4);
	put_bytes(&info, UNIT);
	put(&info, 0, 8);
	patch(&info, far, put_declaration("there", "_Z5therev", 5), 4);
	put_bytes(&info, 0);
	end_unit(&info, start);
	finish();
	const struct cairn_inline_call *calls[3] = {NULL};
	match((const uint64_t[]){0x1001, 0x2001, 0x3001}, 3, calls);
	is_text(spell(calls[0]), "_Z5therev@0", "a name in another unit");
	is_text(spell(calls[1]), "?@0", "a reference to itself ends");
	is_text(spell(calls[2]), "?@0", "a reference to nowhere too");
	teardown();
}

/* The base object constructor of a class, whose name is its own and whose place is that of all kinds. */
static void test_constructor(void)
{
	setup();
	size_t start = begin_unit(&info, 4);
	put_bytes(&info, UNIT);
	put(&info, 0, 8);
	size_t all = put_declaration("Shape", "_ZN5ShapeC4Ev", 33);
	put_bytes(&info, KIND);
	put_text(&info, "_ZN5ShapeC2Ev");
	put(&info, all, 4);
	put(&info, 0x1000, 8);
	put(&info, 0x100, 4);
	put_bytes(&info, 0);
	end_unit(&info, start);
	finish();
	const struct cairn_inline_call *call = NULL;
	match((const uint64_t[]){0x1000}, 1, &call);
	is_text(spell(call), "_ZN5ShapeC2Ev@0", "a constructor has the name of its kind");
	is_int(call ? call->name.line : 0, 33, "and the line where all are declared");
	teardown();
}

/* Two functions with the same code, which the linker made one, and one behind them: who is asked for besides makes no difference. */
static void test_folded(void)
{
	setup();
	size_t start = begin_unit(&info, 4);
	put_bytes(&info, UNIT);
	put(&info, 0, 8);
	size_t inner = put_declaration("inner", "_Z5innerv", 9);
	for (int i = 0; i < 2; i++) {
		size_t sibling = put_function(i ? "second" : "first", 0x1000, 0x100);
		put_inlined(inner, 0x1010, 0x20, 40 + i);
		put_bytes(&info, 0, 0);
		patch(&info, sibling, info.length, 4);
	}
	size_t sibling = put_function("behind", 0x2000, 0x100);
	put_bytes(&info, 0);
	patch(&info, sibling, info.length, 4);
	put_bytes(&info, 0);
	end_unit(&info, start);
	finish();
	const struct cairn_inline_call *calls[3] = {NULL};
	match((const uint64_t[]){0x1010}, 1, calls);
	is_text(spell(calls[0]), "_Z5innerv@40 first@0", "of folded functions the first");
	match((const uint64_t[]){0x1000, 0x1010, 0x2000}, 3, calls);
	is_text(spell(calls[0]), "first@0", "also when the walk goes on for another");
	is_text(spell(calls[1]), "_Z5innerv@40 first@0", "with what is inlined there");
	is_text(spell(calls[2]), "behind@0", "which is found");
	ok(calls[0] && calls[0]->start == 0x1000, "a function knows where it starts");
	teardown();
}

static void test_deep(void)
{
	setup();
	size_t start = begin_unit(&info, 4);
	put_bytes(&info, UNIT);
	put(&info, 0, 8);
	size_t function = put_function("deep", 0x1000, 0x100);
	for (int i = 0; i < 1500; i++)
		put_bytes(&info, BLOCK, 0);
	patch(&info, function, 0, 4);
	end_unit(&info, start);
	finish();
	const struct cairn_inline_call *calls[1] = {NULL};
	match((const uint64_t[]){0x1001}, 1, calls);
	is_text(spell(calls[0]), "deep@0", "nesting without end stops, and what was found stays");
	teardown();
}

int main(void)
{
	test_tree();
	test_c();
	test_far_and_circular();
	test_constructor();
	test_folded();
	test_deep();
	return tap_done();
}
