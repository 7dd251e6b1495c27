/* allocator.c - lists of names, and the prefixes they come with.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/allocator.h"

#include "base/path.h"
#include "protocol/allocating.h"
#include "symbol/library_file.h"
#include "symbol/runtime.h"
#include "symbol/shorten.h"
#include "symbol/wrapper.h"

#include <stdlib.h>

enum { most_prefixes = 16 };

/* Functions that allocate or free memory. With or without any of the prefixes below, they are entries. Sorted. */
static const char *const entries[] = {
#define NAME(name, ...) #name,
	CAIRN_ALLOCATING(NAME)
};

/* Entries that never have a prefix. Sorted. */
static const char *const fixed_entries[] = {
	"DoSampledAllocation", "__builtin_delete", "__builtin_new", "__builtin_vec_delete", "__builtin_vec_new", "__rdl_alloc",
	"__rdl_alloc_zeroed", "__rdl_dealloc", "__rdl_realloc", "__rg_alloc", "__rg_alloc_zeroed", "__rg_dealloc", "__rg_realloc",
	"__rust_alloc", "__rust_alloc_zeroed", "__rust_dealloc", "__rust_realloc", "cairn_heap_allocated", "do_malloc",
	"do_malloc_or_cpp_alloc", "do_malloc_pages", "do_memalign", "malloc_zone_calloc", "malloc_zone_malloc", "malloc_zone_memalign",
	"malloc_zone_realloc", "malloc_zone_valloc", "mi_calloc", "mi_malloc", "mi_malloc_aligned", "mi_new", "mi_new_aligned",
	"mi_realloc", "mi_zalloc", "tc_calloc", "tc_delete", "tc_deletearray", "tc_free", "tc_malloc", "tc_memalign", "tc_new",
	"tc_new_nothrow", "tc_newarray", "tc_newarray_nothrow", "tc_posix_memalign", "tc_pvalloc", "tc_realloc", "tc_valloc",
};

/* Functions inside jemalloc and glibc that can appear below an entry, and those that map memory: who calls them is what counts. Sorted. */
static const char *const inner[] = {
	"_int_malloc", "_int_memalign", "_int_realloc", "arena_bin_malloc_hard", "arena_cache_bin_fill_small", "arena_choose_hard",
	"arena_malloc", "arena_malloc_hard", "arena_malloc_small", "arena_palloc", "arena_ralloc", "arena_ralloc_no_move",
	"arena_slab_alloc", "arena_tcache_fill_small", "brk", "do_arena_malloc", "do_rallocx", "do_realloc_nonnull",
	"do_realloc_nonnull_zero", "fallbackNewImpl", "fallback_impl", "ialloc", "iallocztm", "iallocztm_explicit_slab", "imalloc",
	"imalloc_body", "imalloc_fastpath", "imalloc_init_check", "imalloc_no_sample", "imalloc_nosample", "imalloc_sample",
	"inallocx", "ipallocztm", "iralloct", "irallocx_prof", "irallocx_prof_sample", "ixallocx_helper", "ixallocx_prof",
	"ixallocx_prof_sample", "large_malloc", "large_palloc", "large_ralloc", "large_ralloc_no_move", "malloc_default", "mmap",
	"mmap64", "mremap", "newImpl",
	"prof_alloc_prep", "prof_alloc_prep_impl", "prof_backtrace", "prof_backtrace_impl", "prof_gctx_create", "prof_lookup",
	"prof_malloc_sample_object", "prof_realloc", "prof_sample_malloc", "prof_tctx_create", "prof_tctx_new", "prof_unwind_init",
	"sbrk", "sysmalloc", "tcache_alloc_large", "tcache_alloc_large_hard", "tcache_alloc_small", "tcache_alloc_small_hard",
	"tcache_malloc", "te_event_trigger", "te_malloc",
};

/* Functions shared between jemalloc's source files are named by its private prefix (je_ or _rjem_je_) followed by one of these. Sorted. */
static const char *const internal[] = {
	"arena_", "background_thread", "base_", "bin_", "bitmap_", "cache_bin", "ckh_", "counter_", "ctl_", "decay_", "div_",
	"ecache_", "edata_", "ehooks_", "emap_", "eset_", "exp_grow_", "extent_", "fxp_", "hook_", "hpa_", "hpdata_", "huge_",
	"inspect_", "jemalloc_", "large_", "log_", "malloc_", "mutex_", "nstime_", "pa_", "pac_", "pages_", "peak_", "prof_",
	"psset_", "rtree_", "safety_check", "san_", "sc_", "sec_", "stats_", "sz_", "tcache_", "te_", "thread_event", "ticker_",
	"tsd_", "witness_",
};

/* jemalloc prefixes in common use, and libc's own prefixes. */
static const char *const known_prefixes[] = {"je_", "_rjem_", "_rjem_je_", "je", "_", "__libc_", "__", "__GI___libc_"};

struct prefixes {
	struct cairn_bytes items[most_prefixes];
	size_t count;
};

static int compare_name(const void *key, const void *item)
{
	const struct cairn_bytes *name = key;
	const char *text = *(const char *const *)item;
	int order = strncmp(name->data, text, name->length);
	return order ? order : -(text[name->length] != '\0');
}

static bool is_listed(struct cairn_bytes name, const char *const *list, size_t count)
{
	return bsearch(&name, list, count, sizeof *list, compare_name) != NULL;
}
#define IS_LISTED(name, list) is_listed(name, list, sizeof(list) / sizeof *(list))

/* The name of a C function without clone suffixes, parameters, and the return type of jemalloc's C++ helpers. Empty for names that have a
 * scope. */
static struct cairn_bytes plain_name(const char *name)
{
	if (strncmp(name, "void* ", 6) == 0)
		name += 6;
	size_t length = strcspn(name, ":.(<[ ");
	return (struct cairn_bytes){name, name[length] == ':' ? 0 : length};
}

static void add_prefix(struct prefixes *prefixes, struct cairn_bytes prefix)
{
	for (size_t i = 0; i < prefixes->count; i++)
		if (cairn_bytes_equal(prefixes->items[i], prefix))
			return;
	if (prefixes->count < most_prefixes)
		prefixes->items[prefixes->count++] = prefix;
}

/* jemalloc names its internal functions PREFIXje_NAME, so such a name reveals PREFIX. */
static void learn_prefix(struct prefixes *prefixes, const char *name)
{
	static const char *const tells[] = {"je_prof_backtrace", "je_prof_tctx_create", "je_prof_alloc_prep", "je_malloc_default",
					    "je_tcache_alloc_small_hard", "je_arena_malloc_hard", "je_large_malloc"};
	struct cairn_bytes plain = plain_name(name);
	for (size_t i = 0; i < sizeof tells / sizeof *tells; i++) {
		size_t length = strlen(tells[i]);
		if (plain.length < length || memcmp(plain.data + plain.length - length, tells[i], length) != 0)
			continue;
		add_prefix(prefixes, (struct cairn_bytes){plain.data, plain.length - length});
		add_prefix(prefixes, (struct cairn_bytes){plain.data, plain.length - length + 3});
	}
}

/* Whether NAME, which follows a private prefix, is a name from one of jemalloc's source files. */
static bool is_internal(struct cairn_bytes name)
{
	for (size_t i = 0; i < sizeof internal / sizeof *internal; i++)
		if (cairn_bytes_start_with(name, internal[i]))
			return true;
	return false;
}

static bool is_private_prefix(struct cairn_bytes prefix)
{
	return prefix.length >= 3 && memcmp(prefix.data + prefix.length - 3, "je_", 3) == 0;
}

static enum cairn_allocator_kind plain_kind(const struct prefixes *prefixes, struct cairn_bytes name)
{
	if (IS_LISTED(name, entries) || IS_LISTED(name, fixed_entries))
		return CAIRN_ALLOCATOR_ENTRY;
	if (IS_LISTED(name, inner))
		return CAIRN_ALLOCATOR_INNER;
	for (size_t i = 0; i < prefixes->count; i++) {
		struct cairn_bytes prefix = prefixes->items[i];
		if (name.length <= prefix.length || memcmp(name.data, prefix.data, prefix.length) != 0)
			continue;
		struct cairn_bytes rest = cairn_bytes_skip(name, prefix.length);
		if (IS_LISTED(rest, entries))
			return CAIRN_ALLOCATOR_ENTRY;
		if (IS_LISTED(rest, inner) || (is_private_prefix(prefix) && is_internal(rest)))
			return CAIRN_ALLOCATOR_INNER;
	}
	return CAIRN_ALLOCATOR_NOT;
}

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool ends_with(const char *text, size_t length, const char *suffix)
{
	size_t tail = strlen(suffix);
	return length >= tail && memcmp(text + length - tail, suffix, tail) == 0;
}

/* Rust: the methods of the global allocator's trait, and the layers of std between it and the containers. */
static enum cairn_allocator_kind rust_kind(const char *name)
{
	static const char *const methods[] = {"GlobalAlloc>::alloc", "GlobalAlloc>::alloc_zeroed", "GlobalAlloc>::realloc",
					      "GlobalAlloc>::dealloc"};
	static const char *const wrappers[] = {
		"alloc::alloc::", "alloc::raw_vec::", "<alloc::alloc::Global as ", "<alloc::raw_vec::",
		"<alloc::alloc::Global>::", "alloc::boxed::box_new", "hashbrown::raw::alloc::inner::"};
	for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
		if (starts_with(name, wrappers[i]))
			return CAIRN_ALLOCATOR_INNER;
	if (starts_with(name, "__rustc"))
		return strstr(name, "::__rust_") || strstr(name, "::__rdl_") || strstr(name, "::__rg_") ? CAIRN_ALLOCATOR_ENTRY
													: CAIRN_ALLOCATOR_NOT;
	size_t length = name[0] == '<' ? strlen(name) : 0;
	for (size_t i = 0; length && i < sizeof methods / sizeof *methods; i++)
		if (ends_with(name, length, methods[i]))
			return CAIRN_ALLOCATOR_ENTRY;
	return CAIRN_ALLOCATOR_NOT;
}

/* Whether NAME, a method of a template, ends in one that only passes the request on. */
static bool hands_out_memory(const char *name)
{
	static const char *const makers[] = {">::allocate", ">::_M_allocate", ">::_M_allocate_node", ">::_M_get_node",
					     ">::_M_allocate_map"};
	for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
		const char *at = strstr(name, makers[i]);
		if (at && strchr("(<", at[strlen(makers[i])]))
			return true;
	}
	return false;
}

/* C++: global operators, tcmalloc's namespace, and the thin layers of the standard allocator. */
static enum cairn_allocator_kind cpp_kind(const char *name)
{
	static const char *const layers[] = {"std::allocator<",
					     "std::__new_allocator<",
					     "__gnu_cxx::new_allocator<",
					     "std::allocator_traits<",
					     "std::_Vector_base<",
					     "std::_Deque_base<",
					     "std::_Rb_tree<",
					     "std::__detail::_Hashtable_alloc<"};
	if (starts_with(name, "operator new") || starts_with(name, "operator delete"))
		return CAIRN_ALLOCATOR_ENTRY;
	if (starts_with(name, "tcmalloc::") || starts_with(name, "(anonymous namespace)::do_malloc"))
		return CAIRN_ALLOCATOR_ENTRY;
	for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
		if (starts_with(name, layers[i]))
			return hands_out_memory(name) ? CAIRN_ALLOCATOR_INNER : CAIRN_ALLOCATOR_NOT;
	return CAIRN_ALLOCATOR_NOT;
}

static enum cairn_allocator_kind name_kind(const struct prefixes *prefixes, const char *name)
{
	switch (name[0]) {
	case 'o':
	case 's':
	case 't':
	case '(':
	case '_':
	case '<':
	case 'h':
	case 'a': {
		enum cairn_allocator_kind cpp = cpp_kind(name), rust = rust_kind(name);
		if (cpp || rust)
			return cpp > rust ? cpp : rust;
	}
	}
	struct cairn_bytes plain = plain_name(name);
	return plain.length ? plain_kind(prefixes, plain) : CAIRN_ALLOCATOR_NOT;
}

bool cairn_allocator_is_common(const char *name)
{
	return IS_LISTED(cairn_bytes_of(name), entries);
}

bool cairn_allocator_is_module(const char *path)
{
	static const char *const names[] = {"libjemalloc", "libtcmalloc", "libmimalloc", "libcairn"};
	const char *base = cairn_base_name(path);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (starts_with(base, names[i]) && strchr("._-2", base[strlen(names[i])]))
			return true;
	return false;
}

/* Marks the functions that are the outermost at some address: the symbol table names those in full. */
static bool *list_outermost(struct cairn_arena *arena, const struct cairn_profile *profile)
{
	bool *outermost = cairn_arena_zero(arena, profile->function_count + 1, sizeof *outermost);
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		if (location->frame_count)
			outermost[profile->frames[location->first_frame + location->frame_count - 1].function] = true;
	}
	return outermost;
}

/* What the source files of functions say, where their names do not: only inlined ones have names without a scope in line tables. The file
 * of a frame is that of its line, so the function around code that lost its inlined names may seem to lie in a library: it is outermost. */
static void learn_files(struct cairn_allocator *allocator)
{
	const struct cairn_profile *profile = allocator->profile;
	const bool *outermost = list_outermost(&allocator->arena, profile);
	allocator->files = cairn_arena_zero(&allocator->arena, profile->function_count + 1, 1);
	for (size_t i = 0; i < profile->function_count; i++) {
		const struct cairn_function *function = &profile->functions[i];
		const char *name = cairn_profile_string(profile, function->name);
		if (function->file && ((cairn_wrapper_is_bare(name) && !outermost[i]) || cairn_wrapper_is_closure(name)))
			allocator->files[i] = (uint8_t)cairn_library_file(cairn_profile_string(profile, function->file));
	}
}

void cairn_allocator_learn(struct cairn_allocator *allocator, const struct cairn_profile *profile)
{
	*allocator = (struct cairn_allocator){.profile = profile};
	struct prefixes prefixes = {0};
	for (size_t i = 0; i < sizeof known_prefixes / sizeof *known_prefixes; i++)
		add_prefix(&prefixes, cairn_bytes_of(known_prefixes[i]));
	for (size_t i = 0; i < profile->function_count; i++)
		learn_prefix(&prefixes, cairn_profile_string(profile, profile->functions[i].name));
	allocator->functions = cairn_arena_zero(&allocator->arena, profile->function_count + 1, 1);
	learn_files(allocator);
	for (size_t i = 0; i < profile->function_count; i++) {
		allocator->functions[i] = (uint8_t)name_kind(&prefixes, cairn_profile_string(profile, profile->functions[i].name));
		if (allocator->functions[i] == CAIRN_ALLOCATOR_NOT && allocator->files[i] == CAIRN_FILE_ALLOCATOR)
			allocator->functions[i] = CAIRN_ALLOCATOR_INNER;
	}
	allocator->modules = cairn_arena_zero(&allocator->arena, profile->module_count + 1, 1);
	for (size_t i = 0; i < profile->module_count; i++)
		allocator->modules[i] = cairn_allocator_is_module(cairn_profile_string(profile, profile->modules[i].path))
						? CAIRN_ALLOCATOR_INNER
						: CAIRN_ALLOCATOR_NOT;
}

/* Generated code, which is in no file, is the program's or its runtime's. Without a function of the program nothing is changed. */
static void learn_runtime(struct cairn_allocator *allocator)
{
	static const uint8_t kinds[] = {
		[CAIRN_CODE_OTHER] = CAIRN_ALLOCATOR_NOT,
		[CAIRN_CODE_PROGRAM] = CAIRN_ALLOCATOR_PROGRAM,
		[CAIRN_CODE_RUNTIME] = CAIRN_ALLOCATOR_RUNTIME,
	};
	const struct cairn_profile *profile = allocator->profile;
	bool found = false;
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		const struct cairn_module *module = cairn_profile_module(profile, location);
		if (!module || module->path)
			continue;
		for (uint32_t frame = 0; frame < location->frame_count; frame++) {
			uint32_t function = profile->frames[location->first_frame + frame].function;
			const char *name = cairn_profile_string(profile, profile->functions[function].name);
			if (allocator->functions[function] == CAIRN_ALLOCATOR_NOT)
				allocator->functions[function] = kinds[cairn_runtime_code(name)];
			found |= allocator->functions[function] == CAIRN_ALLOCATOR_PROGRAM;
		}
	}
	for (size_t i = 0; found && i < profile->module_count; i++)
		if (allocator->modules[i] == CAIRN_ALLOCATOR_NOT && profile->modules[i].path &&
		    cairn_runtime_is_module(cairn_profile_string(profile, profile->modules[i].path)))
			allocator->modules[i] = CAIRN_ALLOCATOR_RUNTIME;
}

/* The kind of FUNCTION, whose short name is NAME, in a view that folds wrappers. */
static enum cairn_allocator_kind folded_kind(const struct cairn_profile *profile, const struct cairn_function *function, const char *name,
					     enum cairn_library_file file, const char *patterns)
{
	const char *path = function->file ? cairn_profile_string(profile, function->file) : NULL;
	bool is_rust = path && cairn_library_is_rust(path);
	if (file == CAIRN_FILE_OTHER && !(path && cairn_library_is_c(path))) /* whose namespace may be called like a crate */
		file = cairn_wrapper_crate(name);
	if (file == CAIRN_FILE_LIBRARY || file == CAIRN_FILE_ALLOCATOR || cairn_wrapper_is(name, patterns) ||
	    (is_rust && cairn_wrapper_is_bare(name) && cairn_wrapper_is_derived(name)))
		return CAIRN_ALLOCATOR_WRAPPER;
	if (file == CAIRN_FILE_TASKS)
		return CAIRN_ALLOCATOR_RUNTIME;
	bool is_foreign = file == CAIRN_FILE_FOREIGN || (path && cairn_library_file(path) == CAIRN_FILE_FOREIGN);
	return is_foreign || (!is_rust && cairn_wrapper_is_root(name)) ? CAIRN_ALLOCATOR_NOT : CAIRN_ALLOCATOR_PROGRAM;
}

static bool is_anonymous(const struct cairn_allocator *allocator, uint32_t id)
{
	const struct cairn_function *function = &allocator->profile->functions[id];
	const char *name = cairn_profile_string(allocator->profile, function->name);
	bool is_rust = function->file && cairn_library_is_rust(cairn_profile_string(allocator->profile, function->file));
	return cairn_wrapper_is_anonymous(name, is_rust);
}

/* Among the functions that are inlined into each other at LOCATION, a closure belongs to the program's function around it: the one that its
 * name says, or the nearest if it has no name. */
static void learn_closures(struct cairn_allocator *allocator, const struct cairn_location *location, const bool *anonymous)
{
	const struct cairn_profile *profile = allocator->profile;
	const char *around = NULL;
	for (uint32_t i = location->frame_count; i-- > 0;) {
		uint32_t frame = location->first_frame + i, function = profile->frames[frame].function;
		const char *name = cairn_profile_string(profile, profile->functions[function].name);
		if (allocator->functions[function] != CAIRN_ALLOCATOR_PROGRAM)
			continue;
		allocator->frames[frame] = around && anonymous[function] && cairn_wrapper_is_part(name, around);
		if (!allocator->frames[frame])
			around = name;
	}
}

void cairn_allocator_fold(struct cairn_allocator *allocator, const char *patterns)
{
	const struct cairn_profile *profile = allocator->profile;
	bool *anonymous = cairn_arena_zero(&allocator->arena, profile->function_count + 1, sizeof *anonymous);
	learn_runtime(allocator);
	for (size_t i = 0; i < profile->function_count; i++) {
		const struct cairn_function *function = &profile->functions[i];
		const char *name = cairn_profile_string(profile, function->name);
		if (function->system_name && function->system_name != function->name)
			name = cairn_name_shorten(&allocator->arena, name);
		if (allocator->functions[i] == CAIRN_ALLOCATOR_NOT)
			allocator->functions[i] =
				(uint8_t)folded_kind(profile, function, name, (enum cairn_library_file)allocator->files[i], patterns);
		anonymous[i] = is_anonymous(allocator, (uint32_t)i);
	}
	allocator->frames = cairn_arena_zero(&allocator->arena, profile->frame_count + 1, 1);
	for (size_t i = 0; i < profile->location_count; i++)
		learn_closures(allocator, &profile->locations[i], anonymous);
	for (size_t i = 0; i < profile->module_count; i++)
		if (allocator->modules[i] == CAIRN_ALLOCATOR_NOT && profile->modules[i].path &&
		    cairn_wrapper_is_module(cairn_profile_string(profile, profile->modules[i].path)))
			allocator->modules[i] = CAIRN_ALLOCATOR_WRAPPER;
}

void cairn_allocator_free(struct cairn_allocator *allocator)
{
	cairn_arena_free(&allocator->arena);
	*allocator = (struct cairn_allocator){0};
}

enum cairn_allocator_kind cairn_allocator_frame(const struct cairn_allocator *allocator, uint32_t location, uint32_t frame)
{
	const struct cairn_profile *profile = allocator->profile;
	uint32_t mapping = profile->locations[location].mapping;
	uint8_t by_module = mapping == CAIRN_NONE ? CAIRN_ALLOCATOR_NOT : allocator->modules[profile->mappings[mapping].module];
	uint8_t by_name = frame == CAIRN_NONE ? CAIRN_ALLOCATOR_NOT : allocator->functions[profile->frames[frame].function];
	if (frame != CAIRN_NONE && allocator->frames && allocator->frames[frame])
		by_name = CAIRN_ALLOCATOR_WRAPPER;
	/* The function that a thread or process begins with is also in libc. */
	if (by_module == CAIRN_ALLOCATOR_WRAPPER && frame != CAIRN_NONE && by_name == CAIRN_ALLOCATOR_NOT)
		return CAIRN_ALLOCATOR_NOT;
	return by_name > by_module ? by_name : by_module;
}

enum cairn_allocator_cut cairn_allocator_step(struct cairn_allocator_walk *walk, enum cairn_allocator_kind kind)
{
	bool only_runtime = walk->runtime == walk->kept;
	if (kind == CAIRN_ALLOCATOR_ENTRY || (kind >= CAIRN_ALLOCATOR_WRAPPER && walk->kept == 0)) {
		*walk = (struct cairn_allocator_walk){0};
		return CAIRN_CUT_THROUGH;
	}
	if (kind == CAIRN_ALLOCATOR_PROGRAM && only_runtime && walk->kept > 0) {
		*walk = (struct cairn_allocator_walk){.kept = 1};
		return CAIRN_CUT_BELOW;
	}
	walk->runtime += kind >= CAIRN_ALLOCATOR_RUNTIME && only_runtime;
	walk->kept++;
	return CAIRN_CUT_NOTHING;
}

/* Where a function occurs: among the frames cut off at the leaf of a stack, or above them. */
enum { seen_below = 1, seen_above = 2 };

/* The number of frames to cut from SAMPLE's stack, counted from the leaf. */
static size_t count_cut(const struct cairn_allocator *allocator, const struct cairn_sample *sample)
{
	const struct cairn_profile *profile = allocator->profile;
	struct cairn_allocator_walk walk = {0};
	size_t at = 0, cut = 0;
	for (uint32_t d = 0; d < sample->depth; d++) {
		uint32_t id = profile->stacks[sample->stack + d];
		const struct cairn_location *location = &profile->locations[id];
		for (uint32_t i = 0; i < location->frame_count || i == 0; i++) {
			uint32_t frame = location->frame_count ? location->first_frame + i : CAIRN_NONE;
			cairn_allocator_step(&walk, cairn_allocator_frame(allocator, id, frame));
			cut = ++at - walk.kept;
		}
	}
	return cut;
}

static void see_stack(const struct cairn_allocator *allocator, const struct cairn_sample *sample, uint8_t *seen)
{
	const struct cairn_profile *profile = allocator->profile;
	size_t cut = count_cut(allocator, sample), at = 0;
	for (uint32_t d = 0; d < sample->depth; d++) {
		const struct cairn_location *location = &profile->locations[profile->stacks[sample->stack + d]];
		for (uint32_t i = 0; i < location->frame_count; i++)
			seen[profile->frames[location->first_frame + i].function] |= at + i < cut ? seen_below : seen_above;
		at += location->frame_count ? location->frame_count : 1;
	}
}

/* NAME as pprof compares it: up to the first parenthesis that is not part of a reserved name. */
static struct cairn_bytes pprof_name(const char *name)
{
	static const char *const reserved[] = {"(anonymous namespace)", "operator()"};
	size_t length = 0;
	for (;;) {
		if (starts_with(name + length, reserved[0]))
			length += strlen(reserved[0]);
		else if (starts_with(name + length, reserved[1]))
			length += strlen(reserved[1]);
		else if (name[length] && name[length] != '(')
			length++;
		else
			return (struct cairn_bytes){name, length};
	}
}

static void put_escaped(struct cairn_buffer *out, struct cairn_bytes text)
{
	for (size_t i = 0; i < text.length; i++) {
		if (strchr("\\.+*?()|[]{}^$", text.data[i]) && text.data[i])
			cairn_buffer_byte(out, '\\');
		cairn_buffer_byte(out, text.data[i]);
	}
}

static void put_list(struct cairn_buffer *out, const char *const *list, size_t count, const char *behind)
{
	for (size_t i = 0; i < count; i++)
		cairn_buffer_format(out, "%s%s%s", i ? "|" : "(", list[i], behind);
	cairn_buffer_byte(out, ')');
}
#define PUT_LIST(out, list, behind) put_list(out, list, sizeof(list) / sizeof *(list), behind)

void cairn_allocator_regex(struct cairn_allocator *allocator, struct cairn_buffer *out)
{
	const struct cairn_profile *profile = allocator->profile;
	static const char *const private_prefixes[] = {"je_", "_rjem_je_"};
	PUT_LIST(out, known_prefixes, "");
	cairn_buffer_text(out, "?(");
	PUT_LIST(out, entries, "");
	cairn_buffer_byte(out, '|');
	PUT_LIST(out, inner, "(\\.[a-z0-9.]+)?");
	cairn_buffer_text(out, ")|");
	PUT_LIST(out, private_prefixes, "");
	PUT_LIST(out, internal, ".*");
	cairn_buffer_byte(out, '|');
	PUT_LIST(out, fixed_entries, "");
	cairn_buffer_text(out, "|operator (new|delete)(\\[\\])?|lib(jemalloc|tcmalloc|mimalloc|cairn)[^+]*\\+0x[0-9a-f]+");
	uint8_t *seen = cairn_arena_zero(&allocator->arena, profile->function_count + 1, 1);
	for (size_t i = 0; i < profile->sample_count; i++)
		see_stack(allocator, &profile->samples[i], seen);
	for (size_t i = 0; i < profile->function_count; i++) {
		const char *name = cairn_profile_string(profile, profile->functions[i].name);
		if (seen[i] != seen_below || allocator->functions[i] == CAIRN_ALLOCATOR_NOT)
			continue;
		cairn_buffer_byte(out, '|');
		put_escaped(out, pprof_name(name));
	}
}
