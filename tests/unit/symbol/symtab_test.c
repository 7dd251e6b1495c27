/* symtab_test.c - which symbol names an address.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symtab.h"

#include "assemble.h"
#include "tap.h"

static struct cairn_buffer names, symbols;
static uint16_t section = 1;

static void add(const char *name, unsigned type, unsigned binding, uint64_t address, uint64_t size)
{
	Elf64_Sym symbol = {.st_name = (uint32_t)names.length, .st_info = (unsigned char)ELF64_ST_INFO(binding, type),
		.st_shndx = section, .st_value = address,
		.st_size = size};
	put_text(&names, name);
	cairn_buffer_append(&symbols, &symbol, sizeof symbol);
}

static void test_mangled(void)
{
	static const struct {
		const char *symbol, *plain;
		bool is_mangled;
	} cases[] = {
		{"_ZL4stati", "stat", true},
		{"_ZL4stati.part.0", "stat", true},
		{"_ZL4stati", "state", false},
		{"_ZL4stati", "tat", false},
		{"_ZZ4mainEN1L1qEi", "q", true},
		{"_ZZ4mainENKUliE_clEi", "operator()", true},
		{"_ZL9operatorsv", "operators", true},
		{"_ZL4stati", "operators", false},
		{"_ZN12_GLOBAL__N_13FooC2ERKS0_", "Foo", true},
		{"_ZN12_GLOBAL__N_13FooD2Ev", "~Foo", true},
		{"_ZN2v13getEv", "get", true},
		{"_ZN2v113get_somethingEv", "get", false},
		{"_ZN2v113get_somethingEv", "get_something", true},
		{"_ZL13get_somethingv", "get", false},
		{"_ZL13get_somethingv", "get_something", true},
		{"_ZN1AILi7EE3getEv", "get", true},
		{"_ZL5sizedIlEiT_", "sized<long int>", true},
		{"_ZL3foov._omp_fn.0", "_ZL3foov._omp_fn.0", true},
		{"_RNvC1a4stat", "stat", true},
		{"_D1d4mainFZ6nestedMFNbNiZv", "nested", true},
		{"_D3std9algorithm9iteration__T3mapVAyaa1_61Z", "map", true},
		{"_D1d4mainFZ6nestedMFNbNiZv", "other", false},
		{"_Dmain", "D main", false},
		{"MAIN__", "simulate", true},
		{"main", "main", false},
		{"from_c", "from_c", false},
		{"", "stat", false},
		{"_Z", "", true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ok(cairn_symtab_is_mangled(cases[i].symbol, cases[i].plain) == cases[i].is_mangled, "'%s' is %sa mangled '%s'",
		   cases[i].symbol, cases[i].is_mangled ? "" : "not ", cases[i].plain);
}

int main(void)
{
	names = cairn_buffer(1000);
	symbols = cairn_buffer(10000);
	add("a.c", STT_FILE, STB_LOCAL, 0, 0);
	add("private", STT_FUNC, STB_LOCAL, 0x1000, 0x10);
	add("", STT_FILE, STB_LOCAL, 0, 0);
	add("nobody", STT_FUNC, STB_LOCAL, 0x1100, 0x10);
	add("label", STT_NOTYPE, STB_GLOBAL, 0x1200, 0);
	add("table", STT_OBJECT, STB_GLOBAL, 0x1300, 0x10);
	add("__alias", STT_FUNC, STB_GLOBAL, 0x1400, 0x10);
	add("alias", STT_FUNC, STB_GLOBAL, 0x1400, 0x10);
	add("weak", STT_FUNC, STB_WEAK, 0x1400, 0x10);
	add("wide", STT_FUNC, STB_GLOBAL, 0x1500, 0x100);
	add("narrow", STT_FUNC, STB_LOCAL, 0x1540, 0x10);
	add("endless", STT_FUNC, STB_GLOBAL, 0x1600, UINT64_MAX);
	section = 3;
	add("assembly", STT_FUNC, STB_GLOBAL, 0x2000, 0);
	add("inside", STT_NOTYPE, STB_LOCAL, 0x2010, 0);
	add("sized", STT_FUNC, STB_GLOBAL, 0x2020, 0x10);
	add("both", STT_FUNC, STB_GLOBAL, 0x2080, 0);
	add("__both", STT_NOTYPE, STB_GLOBAL, 0x2080, 0);
	struct cairn_buffer file;
	const struct elf_part parts[] = {
		{".symtab", cairn_buffer_bytes(&symbols), SHT_SYMTAB, 0, 2},
		{".strtab", cairn_buffer_bytes(&names), SHT_STRTAB, 0, 0},
		{".text", {"", 0}, SHT_NOBITS, SHF_EXECINSTR, 0},
		{".dynsym", cairn_buffer_bytes(&symbols), SHT_DYNSYM, 0, 2},
	};
	make_elf(&file, parts, 4);
	struct cairn_elf *elf = cairn_elf_open_bytes(cairn_buffer_bytes(&file), "made", NULL);
	elf->sections[3].address = 0x2000;
	elf->sections[3].size = 0x100;
	static const struct {
		uint64_t address;
		const char *name;
		const char *what;
	} cases[] = {
		{0xfff, "", "before"},
		{0x100f, "private", "the last byte"},
		{0x1010, "", "behind the last byte"},
		{0x1105, "nobody", "a private symbol of no file"},
		{0x1200, "label", "a label without size, at its very address"},
		{0x1201, "", "behind a label without size, in no code"},
		{0x1305, "", "data"},
		{0x1400, "alias", "of aliases the public one with fewer underscores"},
		{0x1530, "wide", "around a smaller one"},
		{0x1545, "narrow", "inside the smaller one"},
		{0x1560, "wide", "behind the smaller one"},
		{0x1605, "", "a size past the end of memory"},
		{0x2000, "assembly", "a function without size"},
		{0x2018, "assembly", "it reaches over a private label"},
		{0x2028, "sized", "and to the next function"},
		{0x2038, "", "behind that, which has a size, is nothing"},
		{0x20ff, "both", "to the end of the section"},
		{0x2100, "", "and not behind it"},
	};
	enum { count = sizeof cases / sizeof *cases };
	uint64_t addresses[count];
	struct cairn_symtab_match matches[count] = {{0}};
	for (size_t i = 0; i < count; i++)
		addresses[i] = cases[i].address;
	cairn_symtab_match(elf, ".symtab", addresses, count, matches);
	for (size_t i = 0; i < count; i++)
		is_text(matches[i].name ? matches[i].name : "", cases[i].name, "%s", cases[i].what);
	is_text(matches[1].file, "a.c", "a private symbol has its file");
	ok(!matches[3].file && !matches[7].file, "others have none");
	struct cairn_symtab_match none[count] = {{0}};
	cairn_symtab_match(elf, ".nothing", addresses, count, none);
	ok(!none[1].name, "a table that is not there names nothing");
	cairn_symtab_match(elf, ".dynsym", addresses, count, none);
	ok(none[12].name && !none[13].name, "in .dynsym, which does not have all functions, one without size names its own address only");
	cairn_elf_close(elf);
	cairn_buffer_free(&file);
	cairn_buffer_free(&names);
	cairn_buffer_free(&symbols);
	test_mangled();
	return tap_done();
}
