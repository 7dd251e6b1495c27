/* elf_fuzz.c - any bytes as an ELF file, and as a module of which some addresses are asked.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/jemalloc.h"
#include "symbol/lookup.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_everything(const struct cairn_elf *elf)
{
	const char *name;
	uint32_t crc;
	uint64_t number;
	char build_id[129];
	cairn_elf_debuglink(elf, &name, &crc);
	cairn_elf_altlink(elf, &name, build_id);
	cairn_elf_debugdata(elf);
	cairn_elf_address_of(elf, 0x1000, &number);
	cairn_elf_offset_of(elf, 0x1000, &number);
	struct cairn_elf_jemalloc jemalloc;
	cairn_elf_jemalloc(elf, &jemalloc);
	if (cairn_elf_jemalloc_symbol(elf, &jemalloc, "malloc_conf", &number))
		cairn_elf_pointed_text(elf, number);
	cairn_elf_pointed_text(elf, 0x1000);
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, ".dynsym");
	struct cairn_elf_symbol symbol;
	size_t letters = 0;
	while (cairn_elf_symbols_next(&symbols, &symbol) && letters < 100000)
		letters += strlen(symbol.name) + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addresses[] = {0x1136, 0x1040, 0x1000, 0, 0x400118, 0x1136, UINT64_MAX, 0x400130, 0x400140,
		0x10000, 0x100c8, 0x80480d0, 0x100000d0, 0x10000170, 0x1000120, 0x10000121};
	enum { count = sizeof addresses / sizeof *addresses };
	setenv("CAIRN_THREADS", "1", 1);
	struct cairn_elf *elf = cairn_elf_open_bytes((struct cairn_bytes){(const char *)data, size}, "input", NULL);
	if (!elf)
		return 0;
	if (elf->type == ET_REL && !cairn_elf_relocate(elf, NULL)) {
		cairn_elf_close(elf);
		return 0;
	}
	read_everything(elf);
	struct cairn_symbols *symbols = cairn_symbols_open(&(struct cairn_symbols_files){.binary = elf, .debug = elf});
	struct cairn_symbol results[count];
	cairn_symbols_lookup(symbols, addresses, count, results);
	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < results[i].count; k++)
			if (results[i].frames[k].inlined != (k + 1 < results[i].count))
				__builtin_trap();
	cairn_symbols_close(symbols);
	cairn_elf_close(elf);
	return 0;
}
