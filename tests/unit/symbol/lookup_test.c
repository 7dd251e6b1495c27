/* lookup_test.c - looking up this program's own functions, which know their own lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/lookup.h"

#include "tap.h"

#include <link.h>
#include <stdlib.h>
#include <unistd.h>

/* Each sets the place it is at; the address is taken inside. */
static int outer_line, inner_line;

__attribute__((noinline)) static uintptr_t here(void)
{
	return (uintptr_t)__builtin_return_address(0) - 1;
}

__attribute__((always_inline)) static inline uintptr_t inner(void)
{
	inner_line = __LINE__ + 1;
	uintptr_t place = here();
	__asm__ volatile("" : "+r"(place));
	return place;
}

__attribute__((noinline)) static uintptr_t outer(void)
{
	outer_line = __LINE__ + 1;
	uintptr_t place = inner();
	__asm__ volatile("" : "+r"(place));
	return place;
}

static int find_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uintptr_t *)bias = info->dlpi_addr;
	return 1;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	return slash ? slash + 1 : path;
}

static void check_inlined(const struct cairn_symbol *symbol)
{
	is_int(symbol->source, CAIRN_SYMBOL_DWARF, "DWARF knows the function");
	if (!ok(symbol->count == 2, "one frame is inlined into another"))
		return;
	is_text(symbol->frames[0].function, "inner", "the innermost comes first");
	is_int(symbol->frames[0].line, inner_line, "with its line");
	is_text(base_name(symbol->frames[0].file), "lookup_test.c", "and file");
	ok(symbol->frames[0].inlined && !symbol->frames[1].inlined, "which of them is inlined");
	is_text(symbol->frames[1].function, "outer", "then what it is inlined into");
	is_int(symbol->frames[1].line, outer_line, "with the line of the call");
	ok(symbol->frames[1].function_line > 0 && (int)symbol->frames[1].function_line < outer_line,
	   "a function knows where it is declared");
}

static void test_lookup(const char *threads)
{
	setenv("CAIRN_THREADS", threads, 1);
	struct cairn_error error;
	struct cairn_elf *elf = cairn_elf_open("/proc/self/exe", &error);
	uintptr_t bias = 0;
	dl_iterate_phdr(find_bias, &bias);
	struct cairn_symbols *symbols = cairn_symbols_open(&(struct cairn_symbols_files){.binary = elf});
	uint64_t address = outer() - bias;
	const uint64_t addresses[] = {UINT64_MAX, address, 0, address, (uintptr_t)&find_bias - bias, address + 1};
	struct cairn_symbol results[6];
	memset(results, 0x55, sizeof results);
	cairn_symbols_lookup(symbols, addresses, 6, results);
	check_inlined(&results[1]);
	ok(results[3].frames == results[1].frames, "the same address has the same frames");
	ok(results[0].count == 0 && results[2].count == 0 && results[0].source == CAIRN_SYMBOL_NONE, "nothing is known of nowhere");
	is_text(results[4].count ? results[4].frames[0].function : NULL, "find_bias", "another function of the batch");
	struct cairn_symbol again;
	cairn_symbols_lookup(symbols, &address, 1, &again);
	check_inlined(&again);
	cairn_symbols_lookup(symbols, NULL, 0, NULL);
	size_t warnings;
	cairn_symbols_warnings(symbols, &warnings);
	is_int(warnings, 0, "nothing was damaged");
	cairn_symbols_close(symbols);
	cairn_elf_close(elf);
}

/* Copies this program to PATH, which is to be changed. */
static bool copy_self(const char *path)
{
	struct cairn_file file;
	bool good = cairn_file_map(&file, "/proc/self/exe", NULL) && cairn_file_write(path, file.bytes, NULL);
	cairn_file_close(&file);
	return good;
}

static void test_changed(void)
{
	static const char *const changes[] = {"cut short", "emptied", "written to", "replaced"};
	char path[] = "/tmp/cairn-lookup.XXXXXX";
	uintptr_t bias = 0;
	dl_iterate_phdr(find_bias, &bias);
	uint64_t address = (uintptr_t)&find_bias - bias;
	close(mkstemp(path));
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		struct cairn_symbol result;
		struct cairn_elf *elf = copy_self(path) ? cairn_elf_open(path, NULL) : NULL;
		struct cairn_symbols *symbols = cairn_symbols_open(&(struct cairn_symbols_files){.binary = elf});
		ok(elf && !cairn_symbols_changed(symbols), "as it was opened");
		FILE *file = i < 2 ? NULL : fopen(path, i == 2 ? "r+" : "r");
		ok(i < 2 ? truncate(path, i == 0 ? 8192 : 0) == 0 : i == 2 ? fputs("X", file) >= 0 : copy_self(path), "%s", changes[i]);
		if (file)
			fclose(file);
		cairn_symbols_lookup(symbols, &address, 1, &result);
		const char *changed = cairn_symbols_changed(symbols);
		ok(i < 3 ? changed && strcmp(changed, path) == 0 : !changed, "which is %s", i < 3 ? "known" : "no change of what is mapped");
		if (i == 3)
			is_text(result.count ? result.frames[0].function : NULL, "find_bias", "and has its names");
		cairn_symbols_close(symbols);
		cairn_elf_close(elf);
	}
	unlink(path);
}

int main(void)
{
	test_lookup("1");
	test_lookup("4");
	test_changed();
	return tap_done();
}
