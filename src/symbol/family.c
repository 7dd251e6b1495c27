/* family.c - which functions belong together.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/family.h"

#include "base/array.h"
#include "symbol/family_row.h"

#include <elf.h>
#include <stdlib.h>

/* In a hostile file every symbol may look like an allocator's. */
enum { name_most = 256, prefixes_most = 16, functions_most = 4096 };

static const enum cairn_family_kind kinds[] = {
	[CAIRN_GROUP_C] = CAIRN_FAMILY_MALLOC, [CAIRN_GROUP_JEMALLOC] = CAIRN_FAMILY_JEMALLOC, [CAIRN_GROUP_TCMALLOC] = CAIRN_FAMILY_TCMALLOC,
	[CAIRN_GROUP_MIMALLOC] = CAIRN_FAMILY_MIMALLOC, [CAIRN_GROUP_RPMALLOC] = CAIRN_FAMILY_RPMALLOC, [CAIRN_GROUP_SNMALLOC] = CAIRN_FAMILY_SNMALLOC,
	[CAIRN_GROUP_TBB] = CAIRN_FAMILY_TBB, [CAIRN_GROUP_DLMALLOC] = CAIRN_FAMILY_DLMALLOC, [CAIRN_GROUP_OPERATORS] = CAIRN_FAMILY_OPERATORS,
	[CAIRN_GROUP_RUST] = CAIRN_FAMILY_RUST,
};

struct found {
	const struct cairn_family_row *row;
	struct cairn_bytes prefix;
	struct cairn_elf_symbol symbol;
	bool exported;
};

struct search {
	struct cairn_bytes prefixes[prefixes_most]; /* of jemallocs; the first is "" */
	size_t prefix_count;
	bool bare_is_jemalloc; /* what has no prefix is jemalloc's, too */
	struct found *found;
	size_t count, capacity;
};

/* The first letters that the names of a group can have, so that few of a large file's symbols are compared with the table. */
static bool may_be_fixed(const char *name)
{
	switch (name[0]) {
	case '_': return name[1] == 'Z' && (name[2] == 'n' || name[2] == 'd') && name[3] && strchr("wal", name[3]);
	case 't': return strncmp(name, "tc_", 3) == 0;
	case 'T': return strncmp(name, "TCMallocInternal", 16) == 0;
	case 'r': return name[1] == 'p';
	case 's': return strncmp(name, "sn_", 3) == 0 || strncmp(name, "scalable_", 9) == 0;
	case 'd': return name[1] == 'l';
	default: return false;
	}
}

/* __rust_alloc, or as newer compilers mangle it: _RNvCs…_7___rustc12___rust_alloc. */
static const struct cairn_family_row *find_rust(const char *name, size_t length)
{
	const char *at = strstr(name, "__rust_");
	if (name[0] == '_' && name[1] == 'R') {
		at = strstr(name, "7___rustc");
		at = at ? strstr(at + 9, "__rust_") : NULL;
	} else if (at != name) {
		return NULL;
	}
	return at ? cairn_family_row(at, length - (size_t)(at - name), CAIRN_GROUP_RUST, CAIRN_GROUP_RUST) : NULL;
}

static bool ends_with(const char *name, size_t length, const char *end)
{
	size_t size = strlen(end);
	return length >= size && memcmp(name + length - size, end, size) == 0;
}

/* mi_ at the beginning, or behind somebody's prefix. Those that begin with _mi_ are mimalloc's inner ones. */
static const struct cairn_family_row *find_mimalloc(const char *name, size_t length, struct cairn_bytes *prefix)
{
	for (const char *at = name; (at = strstr(at, "mi_")) != NULL; at += 3) {
		if (at > name && (at[-1] != '_' || at == name + 1))
			continue;
		const struct cairn_family_row *row = cairn_family_row(at + 3, length - (size_t)(at + 3 - name), CAIRN_GROUP_MIMALLOC,
								      CAIRN_GROUP_MIMALLOC);
		if (row) {
			*prefix = (struct cairn_bytes){name, (size_t)(at - name)};
			return row;
		}
	}
	return NULL;
}

static const struct cairn_family_row *find_prefixed(const struct search *search, const char *name, size_t length, struct cairn_bytes *prefix)
{
	for (size_t i = 0; i < search->prefix_count; i++) {
		*prefix = search->prefixes[i];
		if (length <= prefix->length || memcmp(name, prefix->data, prefix->length) != 0)
			continue;
		enum cairn_family_group last = prefix->length || search->bare_is_jemalloc ? CAIRN_GROUP_JEMALLOC : CAIRN_GROUP_C;
		const struct cairn_family_row *row =
			cairn_family_row(name + prefix->length, length - prefix->length, CAIRN_GROUP_C, last);
		if (row)
			return row;
	}
	return NULL;
}

static const struct cairn_family_row *classify(const struct search *search, const char *name, size_t length, struct cairn_bytes *prefix)
{
	const struct cairn_family_row *row = NULL;
	*prefix = (struct cairn_bytes){name, 0};
	if (may_be_fixed(name))
		row = cairn_family_row(name, length, CAIRN_GROUP_TCMALLOC, CAIRN_GROUP_OPERATORS);
	if (row && row->group == CAIRN_GROUP_MIMALLOC) /* whose names in the table lack their beginning */
		row = NULL;
	if (!row && name[0] == '_')
		row = find_rust(name, length);
	if (!row)
		row = find_prefixed(search, name, length, prefix);
	return row ? row : find_mimalloc(name, length, prefix);
}

static bool is_function(const struct cairn_elf_symbol *symbol, size_t *length)
{
	*length = strnlen(symbol->name, name_most);
	return symbol->type == STT_FUNC && symbol->address && *length > 1 && *length < name_most;
}

static void add_prefix(struct search *search, struct cairn_bytes prefix)
{
	for (size_t i = 0; i < search->prefix_count; i++)
		if (cairn_bytes_equal(search->prefixes[i], prefix))
			return;
	if (search->prefix_count < prefixes_most)
		search->prefixes[search->prefix_count++] = prefix;
}

/* Names that only jemalloc has tell its prefix. */
static void learn_prefixes(struct search *search, const struct cairn_elf *elf, const char *table)
{
	static const char *const tells[] = {"mallocx", "rallocx", "sallocx", "dallocx", "mallctl"};
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, table);
	struct cairn_elf_symbol symbol;
	size_t length;
	while (cairn_elf_symbols_next(&symbols, &symbol)) {
		if (!is_function(&symbol, &length) || (symbol.name[length - 1] != 'x' && symbol.name[length - 1] != 'l'))
			continue;
		for (size_t i = 0; i < sizeof tells / sizeof *tells; i++) {
			if (!ends_with(symbol.name, length, tells[i]))
				continue;
			size_t before = length - strlen(tells[i]);
			before -= ends_with(symbol.name, length, "sdallocx");
			if (before == 0 && ends_with(symbol.name, length, "sdallocx"))
				continue; /* tcmalloc has that, too */
			search->bare_is_jemalloc |= before == 0;
			add_prefix(search, (struct cairn_bytes){symbol.name, before});
			break;
		}
	}
}

static void collect(struct search *search, const struct cairn_elf *elf, const char *table, bool exported)
{
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, table);
	struct cairn_elf_symbol symbol;
	size_t length;
	while (search->count < functions_most && cairn_elf_symbols_next(&symbols, &symbol)) {
		struct cairn_bytes prefix;
		if (!is_function(&symbol, &length))
			continue;
		const struct cairn_family_row *row = classify(search, symbol.name, length, &prefix);
		if (!row)
			continue;
		cairn_array_room(search->found, search->count, search->capacity);
		search->found[search->count++] = (struct found){row, prefix, symbol, exported};
	}
}

static bool has(const struct search *search, enum cairn_family_group group, const char *name, bool bare)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct found *found = &search->found[i];
		if (found->row->group == group && (!bare || !found->prefix.length) && (!name || strcmp(found->row->name, name) == 0))
			return true;
	}
	return false;
}

/* Of what has no prefix. */
static enum cairn_family_kind bare_kind(const struct search *search)
{
	return search->bare_is_jemalloc ? CAIRN_FAMILY_JEMALLOC :
	       has(search, CAIRN_GROUP_TCMALLOC, NULL, true) ? CAIRN_FAMILY_TCMALLOC :
	       has(search, CAIRN_GROUP_MIMALLOC, NULL, true) ? CAIRN_FAMILY_MIMALLOC : CAIRN_FAMILY_MALLOC;
}

/* The family that FOUND is in: malloc, operator new and an allocator's own names in one file lead to the same. */
static enum cairn_family_kind kind_of(const struct search *search, const struct found *found)
{
	bool owns_malloc = has(search, CAIRN_GROUP_C, "malloc", true) && has(search, CAIRN_GROUP_C, "free", true);
	enum cairn_family_kind bare = bare_kind(search);
	switch (found->row->group) {
	case CAIRN_GROUP_C: return found->prefix.length ? CAIRN_FAMILY_JEMALLOC : bare;
	case CAIRN_GROUP_OPERATORS: return owns_malloc || bare == CAIRN_FAMILY_TCMALLOC ? bare : CAIRN_FAMILY_OPERATORS;
	default: return kinds[found->row->group];
	}
}

static int by_family(const void *left, const void *right)
{
	const struct cairn_family *a = left, *b = right;
	return a->kind != b->kind ? (a->kind > b->kind) - (a->kind < b->kind) : strcmp(a->prefix, b->prefix);
}

static int by_address(const void *left, const void *right)
{
	const struct cairn_family_function *a = left, *b = right;
	size_t a_length = strlen(a->name), b_length = strlen(b->name);
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->exported != b->exported)
		return b->exported - a->exported;
	return a_length != b_length ? (a_length > b_length) - (a_length < b_length) : strcmp(a->name, b->name);
}

static struct cairn_family *family_at(struct cairn_arena *arena, struct cairn_families *families, enum cairn_family_kind kind,
				      struct cairn_bytes prefix)
{
	for (size_t i = 0; i < families->count; i++)
		if (families->items[i].kind == kind && cairn_bytes_equal(cairn_bytes_of(families->items[i].prefix), prefix))
			return &families->items[i];
	struct cairn_family *family = &families->items[families->count++];
	*family = (struct cairn_family){.kind = kind, .prefix = cairn_arena_text(arena, prefix)};
	return family;
}

/* A function with several names, or in several tables, is one; its shortest name, as calloc of tc_calloc, is the one that people know. */
static void sort_functions(struct cairn_family *family)
{
	size_t kept = 0;
	qsort(family->functions, family->count, sizeof *family->functions, by_address);
	for (size_t i = 0; i < family->count; i++) {
		struct cairn_family_function *last = kept ? &family->functions[kept - 1] : NULL;
		if (!last || last->address != family->functions[i].address)
			family->functions[kept++] = family->functions[i];
		else if (!last->size)
			last->size = family->functions[i].size;
	}
	family->count = kept;
}

/* Without a function that allocates and one that frees, names prove nothing. */
static bool is_whole(const struct cairn_family *family)
{
	bool allocates = false, releases = false;
	for (size_t i = 0; i < family->count; i++) {
		uint8_t call = family->functions[i].signature.call;
		allocates |= call != CAIRN_CALL_RELEASES && call != CAIRN_CALL_MEASURES;
		releases |= family->functions[i].signature.call == CAIRN_CALL_RELEASES;
	}
	return allocates && releases;
}

static void make_families(struct cairn_arena *arena, const struct search *search, struct cairn_families *families)
{
	for (size_t i = 0; i < search->count; i++) {
		const struct found *found = &search->found[i];
		const struct cairn_elf_symbol *symbol = &found->symbol;
		struct cairn_family *family = family_at(arena, families, kind_of(search, found), found->prefix);
		if (!family->functions)
			family->functions = cairn_arena_zero(arena, search->count - i, sizeof *family->functions);
		family->functions[family->count++] = (struct cairn_family_function){
			symbol->name, found->row->signature, symbol->address, symbol->size, found->exported};
	}
	size_t kept = 0;
	for (size_t i = 0; i < families->count; i++) {
		sort_functions(&families->items[i]);
		if (is_whole(&families->items[i]))
			families->items[kept++] = families->items[i];
	}
	families->count = kept;
	qsort(families->items, families->count, sizeof *families->items, by_family);
}

/* Whether TEXT follows FIRST: written apart, so that a file with this code does not seem to have mimalloc in it. */
static bool contains(struct cairn_bytes bytes, char first, const char *text)
{
	size_t length = strlen(text);
	const char *at = bytes.data;
	while (bytes.length && (at = memmem(at, bytes.length - (size_t)(at - bytes.data), text, length))) {
		if (at > bytes.data && at[-1] == first)
			return true;
		at += length;
	}
	return false;
}

static bool has_kind(const struct cairn_families *families, enum cairn_family_kind kind)
{
	for (size_t i = 0; i < families->count; i++)
		if (families->items[i].kind == kind)
			return true;
	return false;
}

/* malloc in a file with an allocator's messages is that allocator's. Without malloc the allocator has no names. */
static void add_hidden(struct cairn_arena *arena, struct cairn_families *families, enum cairn_family_kind kind)
{
	for (size_t i = 0; i < families->count; i++)
		if (families->items[i].kind == CAIRN_FAMILY_MALLOC) {
			families->items[i].kind = kind;
			return;
		}
	family_at(arena, families, kind, (struct cairn_bytes){"", 0});
}

/* Finds allocators by the messages that they would print. */
static void find_hidden(struct cairn_arena *arena, const struct cairn_elf *elf, struct cairn_families *families)
{
	struct cairn_bytes text = cairn_elf_named(elf, ".rodata");
	if (!has_kind(families, CAIRN_FAMILY_JEMALLOC) && contains(text, '<', "jemalloc>: Error in munmap(): "))
		add_hidden(arena, families, CAIRN_FAMILY_JEMALLOC);
	if (!has_kind(families, CAIRN_FAMILY_MIMALLOC) && contains(text, 'm', "imalloc: warning: ") && contains(text, 'm', "imalloc: error: "))
		add_hidden(arena, families, CAIRN_FAMILY_MIMALLOC);
	if (!has_kind(families, CAIRN_FAMILY_TCMALLOC) && contains(text, 't', "cmalloc: large alloc "))
		add_hidden(arena, families, CAIRN_FAMILY_TCMALLOC);
}

struct cairn_families cairn_families_find(struct cairn_arena *arena, const struct cairn_elf *elf, const struct cairn_elf *symbols)
{
	enum { hidden_most = 3 };
	struct search search = {.prefixes = {{"", 0}}, .prefix_count = 1};
	learn_prefixes(&search, elf, ".dynsym");
	learn_prefixes(&search, elf, ".symtab");
	collect(&search, elf, ".dynsym", true);
	collect(&search, elf, ".symtab", false);
	if (symbols) {
		learn_prefixes(&search, symbols, ".symtab");
		collect(&search, symbols, ".symtab", false);
	}
	struct cairn_families families = {.items = cairn_arena_zero(arena, search.count + hidden_most, sizeof *families.items)};
	make_families(arena, &search, &families);
	find_hidden(arena, elf, &families);
	free(search.found);
	return families;
}

const char *cairn_family_name(enum cairn_family_kind kind)
{
	static const char *const names[CAIRN_FAMILY_KINDS] = {
		[CAIRN_FAMILY_MALLOC] = "malloc", [CAIRN_FAMILY_JEMALLOC] = "jemalloc", [CAIRN_FAMILY_TCMALLOC] = "tcmalloc",
		[CAIRN_FAMILY_MIMALLOC] = "mimalloc", [CAIRN_FAMILY_RPMALLOC] = "rpmalloc", [CAIRN_FAMILY_SNMALLOC] = "snmalloc",
		[CAIRN_FAMILY_TBB] = "TBB malloc", [CAIRN_FAMILY_DLMALLOC] = "dlmalloc", [CAIRN_FAMILY_OPERATORS] = "operator new",
		[CAIRN_FAMILY_RUST] = "Rust's global allocator",
	};
	return names[kind];
}

static bool is_nothrow(const char *name)
{
	return strstr(name, "othrow");
}

/* _Znwm, tc_newarray, TCMallocInternalNew, mi_heap_alloc_new. */
bool cairn_family_throws(const struct cairn_family_function *function)
{
	const char *name = function->name;
	bool is_operator = strncmp(name, "_Zn", 3) == 0 || strstr(name, "_new") || strncmp(name, "TCMallocInternalNew", 19) == 0;
	return is_operator && function->signature.call == CAIRN_CALL_ALLOCATES && !is_nothrow(name);
}

bool cairn_family_is_twin(const struct cairn_family_function *twin, const struct cairn_family_function *function)
{
	return is_nothrow(twin->name) && memcmp(&twin->signature, &function->signature, sizeof twin->signature) == 0 &&
	       !strstr(twin->name, "lign") == !strstr(function->name, "lign");
}

bool cairn_family_has_name(enum cairn_family_kind kind, const char *prefix, const char *name)
{
	size_t length = strlen(prefix);
	switch (kind) {
	case CAIRN_FAMILY_JEMALLOC: /* what others do not call begins with je_, or PREFIXje_ */
		return (length && strncmp(name, prefix, length) == 0) || strncmp(name, "je_", 3) == 0;
	case CAIRN_FAMILY_MIMALLOC: return strncmp(name, "mi_", 3) == 0 || strncmp(name, "_mi_", 4) == 0;
	case CAIRN_FAMILY_TCMALLOC:
		return strncmp(name, "tc_", 3) == 0 || strncmp(name, "TCMalloc", 8) == 0 || strstr(name, "8tcmalloc") ||
		       strstr(name, "15MallocExtension") || strstr(name, "17tcmalloc_internal");
	case CAIRN_FAMILY_RPMALLOC: return strncmp(name, "rp", 2) == 0 || strncmp(name, "_rp", 3) == 0;
	case CAIRN_FAMILY_SNMALLOC: return strncmp(name, "sn_", 3) == 0 || strstr(name, "8snmalloc");
	case CAIRN_FAMILY_TBB: return strncmp(name, "scalable_", 9) == 0 || strstr(name, "3rml8internal");
	case CAIRN_FAMILY_DLMALLOC: return strncmp(name, "dl", 2) == 0;
	default: return false;
	}
}
