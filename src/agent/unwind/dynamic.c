/* dynamic.c - DT_* entries and the two hash tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/dynamic.h"

#include <elf.h>

bool cairn_dynamic_open(struct cairn_dynamic *out, const struct cairn_object *module)
{
	const ElfW(Dyn) *dynamic = NULL;
	*out = (struct cairn_dynamic){.bias = module->bias};
	for (size_t i = 0; i < module->headers_count; i++)
		if (module->headers[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(module->bias + module->headers[i].p_vaddr);
	size_t data_size = 0, plt_size = 0;
	uint64_t plt_kind = DT_RELA;
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		uintptr_t address = (uintptr_t)dynamic->d_un.d_ptr;
		if (address < module->bias) /* the vdso's table is not relocated, everybody else's is */
			address += module->bias;
		switch (dynamic->d_tag) {
		case DT_SYMTAB: out->symbols = (const ElfW(Sym) *)address; break;
		case DT_STRTAB: out->names = (const char *)address; break;
		case DT_GNU_HASH: out->gnu_hash = (const uint32_t *)address; break;
		case DT_HASH: out->sysv_hash = (const uint32_t *)address; break;
		case DT_RELA: out->data.entries = (const ElfW(Rela) *)address; break;
		case DT_RELASZ: data_size = dynamic->d_un.d_val; break;
		case DT_JMPREL: out->plt.entries = (const ElfW(Rela) *)address; break;
		case DT_PLTRELSZ: plt_size = dynamic->d_un.d_val; break;
		case DT_PLTREL: plt_kind = dynamic->d_un.d_val; break;
		default: break;
		}
	}
	out->data.count = out->data.entries ? data_size / sizeof *out->data.entries : 0;
	out->plt.count = out->plt.entries && plt_kind == DT_RELA ? plt_size / sizeof *out->plt.entries : 0;
	return out->symbols && out->names;
}

/* A definition of a function, not of another object. */
static uintptr_t value_of(const struct cairn_dynamic *dynamic, uint32_t index, const char *name)
{
	const ElfW(Sym) *symbol = &dynamic->symbols[index];
	unsigned type = symbol->st_info & 15, binding = symbol->st_info >> 4;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0 || (type != STT_FUNC && type != STT_NOTYPE) ||
	    (binding != STB_GLOBAL && binding != STB_WEAK) || strcmp(dynamic->names + symbol->st_name, name) != 0)
		return 0;
	return dynamic->bias + symbol->st_value;
}

static uintptr_t find_gnu(const struct cairn_dynamic *dynamic, const char *name)
{
	const uint32_t *table = dynamic->gnu_hash;
	uint32_t hash = 5381, bucket_count = table[0], first = table[1], bloom_words = table[2], bloom_shift = table[3];
	for (const char *at = name; *at; at++)
		hash = hash * 33 + (unsigned char)*at;
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(const void *)(table + 4);
	const uint32_t *buckets = (const uint32_t *)(const void *)(bloom + bloom_words), *chains = buckets + bucket_count;
	if (bucket_count == 0 || bloom_words == 0)
		return 0;
	enum { bits = sizeof(ElfW(Addr)) * 8 };
	ElfW(Addr) word = bloom[hash / bits % bloom_words];
	if (!(word >> hash % bits & word >> (hash >> bloom_shift) % bits & 1))
		return 0;
	uint32_t index = buckets[hash % bucket_count];
	if (index < first)
		return 0;
	for (;; index++) {
		uint32_t there = chains[index - first];
		uintptr_t value = (there | 1) == (hash | 1) ? value_of(dynamic, index, name) : 0;
		if (value || (there & 1))
			return value;
	}
}

static uintptr_t find_sysv(const struct cairn_dynamic *dynamic, const char *name)
{
	const uint32_t *table = dynamic->sysv_hash;
	uint32_t hash = 0, bucket_count = table[0], chain_count = table[1];
	for (const char *at = name; *at; at++) {
		hash = (hash << 4) + (unsigned char)*at;
		hash ^= hash >> 24 & 0xf0;
		hash &= 0x0fffffff;
	}
	if (bucket_count == 0)
		return 0;
	uint32_t steps = 0;
	for (uint32_t index = table[2 + hash % bucket_count]; index && index < chain_count && steps++ < chain_count;
	     index = table[2 + bucket_count + index]) {
		uintptr_t value = value_of(dynamic, index, name);
		if (value)
			return value;
	}
	return 0;
}

uintptr_t cairn_dynamic_find(const struct cairn_dynamic *dynamic, const char *name)
{
	return dynamic->gnu_hash ? find_gnu(dynamic, name) : dynamic->sysv_hash ? find_sysv(dynamic, name) : 0;
}
