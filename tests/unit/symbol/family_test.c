/* family_test.c - the allocators in the system's libraries, and in this program, which has functions with such names.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/family.h"
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

#define FUNCTION(name)                                                                                                         \
	__attribute__((used, noinline)) void *name(void *object);                                                             \
	void *name(void *object)                                                                                              \
	{                                                                                                                      \
		__asm__ volatile("" : "+r"(object) : : "memory");                                                              \
		return object;                                                                                                 \
	}

/* A jemalloc of which the linker kept little. */
FUNCTION(vendor_je_malloc)
FUNCTION(vendor_je_realloc)
FUNCTION(vendor_je_sdallocx)
/* Its inner functions have another prefix, which nothing proves. */
FUNCTION(vendor_je_bootstrap_malloc)
FUNCTION(vendor_je_bootstrap_free)
/* Wrappers. */
FUNCTION(my_malloc)
FUNCTION(my_free)
FUNCTION(brand_mi_malloc_aligned)
FUNCTION(brand_mi_heap_calloc)
FUNCTION(brand_mi_free)
FUNCTION(mi_malloc_of_something_else)
/* As compilers mangle it today. */
FUNCTION(_RNvCs1234_7___rustc12___rust_alloc)
FUNCTION(_RNvCs1234_7___rustc14___rust_dealloc)
FUNCTION(_RNvCs1234_7___rustc14___rust_realloc)
FUNCTION(_RNvCs1234_7___rustc35___rust_no_alloc_shim_is_unstable_v2)
/* One that frees is missing. */
FUNCTION(rpmalloc)

static const struct cairn_family *find(const struct cairn_families *families, enum cairn_family_kind kind, const char *prefix)
{
	for (size_t i = 0; i < families->count; i++)
		if (families->items[i].kind == kind && strcmp(families->items[i].prefix, prefix) == 0)
			return &families->items[i];
	return NULL;
}

static const struct cairn_family_function *function(const struct cairn_family *family, const char *name)
{
	for (size_t i = 0; family && i < family->count; i++)
		if (strcmp(family->functions[i].name, name) == 0)
			return &family->functions[i];
	return NULL;
}

static void test_names(void)
{
	struct cairn_arena arena = {0};
	struct cairn_elf *elf = cairn_elf_open("/proc/self/exe", NULL);
	struct cairn_families families = cairn_families_find(&arena, elf, NULL);
	const struct cairn_family *jemalloc = find(&families, CAIRN_FAMILY_JEMALLOC, "vendor_je_");
	ok(jemalloc && jemalloc->count == 3, "a jemalloc with a prefix, by a function that only jemalloc has");
	const struct cairn_family_function *found = function(jemalloc, "vendor_je_realloc");
	ok(found && found->signature.call == CAIRN_CALL_MOVES && found->signature.object == 0 && found->signature.size == 1 && found->size > 0,
	   "what its realloc does");
	const struct cairn_family *mimalloc = find(&families, CAIRN_FAMILY_MIMALLOC, "brand_");
	ok(mimalloc && mimalloc->count == 3, "a mimalloc behind a prefix");
	found = function(mimalloc, "brand_mi_heap_calloc");
	ok(found && found->signature.count == 1 && found->signature.size == 2, "whose heap comes before the other arguments");
	const struct cairn_family *rust = find(&families, CAIRN_FAMILY_RUST, "");
	ok(rust && rust->count == 3, "Rust's functions by their mangled names");
	found = function(rust, "_RNvCs1234_7___rustc14___rust_realloc");
	ok(found && found->signature.size == 3, "the new size is the last argument of its realloc");
	is_int(families.count, 3, "nothing else: no wrapper, no inner function, nothing without a function that frees");
	is_int(cairn_families_find(&arena, elf, elf).count, 3, "a debug file with the same names adds nothing");
	cairn_elf_close(elf);
	cairn_arena_free(&arena);
}

static void test_library(const char *name, enum cairn_family_kind kind, const char *const *functions)
{
	static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"};
	struct cairn_arena arena = {0};
	struct cairn_elf *elf = NULL;
	for (size_t i = 0; i < sizeof folders / sizeof *folders && !elf; i++)
		elf = cairn_elf_open(cairn_arena_format(&arena, "%s/%s", folders[i], name), NULL);
	struct cairn_families families = {0};
	if (elf)
		families = cairn_families_find(&arena, elf, NULL);
	const struct cairn_family *family = find(&families, kind, "");
	ok(elf && family && families.count == 1, "%s is %s and nothing else", name, cairn_family_name(kind));
	for (; *functions; functions++)
		ok(function(family, *functions), "%s has %s", name, *functions);
	cairn_elf_close(elf);
	cairn_arena_free(&arena);
}

int main(void)
{
	test_names();
	test_library("libjemalloc.so.2", CAIRN_FAMILY_JEMALLOC, (const char *const[]){"malloc", "sdallocx", "xallocx", "_Znwm", NULL});
	test_library("libmimalloc.so.2.0", CAIRN_FAMILY_MIMALLOC, (const char *const[]){"mi_heap_malloc", NULL});
	test_library("libtcmalloc_minimal.so.4", CAIRN_FAMILY_TCMALLOC, (const char *const[]){"calloc", NULL});
	test_library("libc.so.6", CAIRN_FAMILY_MALLOC, (const char *const[]){"malloc", "free", NULL});
	return tap_done();
}
