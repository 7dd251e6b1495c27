/* hooks.c - the fast paths.
 *
 * On malloc a subtraction and a branch, on free a look into the filter and a branch. The slow halves are functions of their own, so that
 * the fast ones need no stack.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/hooks.h"

#include "agent/sampler/mapping.h"
#include "agent/sampler/sample.h"

/* A fast path: it must end in a jump (dlopen and dlsym look at who called them), and a sanitizer must not put anything into it. Each has
 * cache lines of its own: where its two branches lie in one depends on nothing else, which is a cycle or two of each call. */
#if defined(__clang__)
#define JUMPS /* clang makes jumps of such calls from -O1 on */
#else
#define JUMPS __attribute__((optimize("optimize-sibling-calls")))
#endif
#define FAST CAIRN_SAMPLER_CODE JUMPS __attribute__((aligned(64), no_sanitize("address", "thread", "undefined"), no_instrument_function))
#define SLOW CAIRN_SAMPLER_CODE
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

bool (*cairn_hook_loaded)(void);

/* True when the sample is due. */
__attribute__((always_inline)) static inline bool count_down(size_t size)
{
	return UNLIKELY(cairn_sample_count_down(size));
}

typedef void *allocate_function(size_t size, uintptr_t second, uintptr_t third);
typedef void *aligned_function(size_t alignment, size_t size);
typedef uintptr_t release_function(void *object, uintptr_t second, uintptr_t third);
typedef void *move_function(void *object, size_t size, uintptr_t third);

/* Functions that take a size first: malloc, valloc, mallocx and operator new that does not throw. */
SLOW static void *allocate_slowly(size_t size, uintptr_t second, uintptr_t third, allocate_function *real)
{
	void *object = real(size, second, third);
	cairn_sample_spent(object, size, (uintptr_t)real);
	return object;
}

#define ALLOCATE(name)                                                                                                         \
	static allocate_function *real_##name;                                                                                 \
	FAST static void *hook_##name(size_t size, uintptr_t second, uintptr_t third)                                          \
	{                                                                                                                      \
		if (count_down(size))                                                                                          \
			return allocate_slowly(size, second, third, real_##name);                                              \
		return real_##name(size, second, third);                                                                       \
	}

/* Those that throw where they fail. Nothing of ours may be below them then, since the countdown has no meaning until the sample is taken. So
 * their TWIN is called if there is one: it takes one argument more, which it does not look at, and returns NULL instead; then the sample is
 * given up. */
SLOW static void *throw_slowly(size_t size, uintptr_t second, allocate_function *real, allocate_function *twin, bool is_aligned)
{
	static const char nothrow;
	if (!twin)
		return allocate_slowly(size, second, 0, real);
	void *object = twin(size, is_aligned ? second : (uintptr_t)&nothrow, (uintptr_t)&nothrow);
	if (!object) {
		cairn_sample_skip();
		return real(size, second, 0);
	}
	cairn_sample_spent(object, size, (uintptr_t)real);
	return object;
}

#define THROW(name, twin, is_aligned)                                                                                          \
	static allocate_function *real_##name;                                                                                 \
	FAST static void *hook_##name(size_t size, uintptr_t second, uintptr_t third)                                          \
	{                                                                                                                      \
		if (count_down(size))                                                                                          \
			return throw_slowly(size, second, real_##name, real_##twin, is_aligned);                               \
		return real_##name(size, second, third);                                                                       \
	}

/* Functions that take an alignment and a size. */
SLOW static void *align_slowly(size_t alignment, size_t size, aligned_function *real)
{
	void *object = real(alignment, size);
	cairn_sample_spent(object, size, (uintptr_t)real);
	return object;
}

#define ALIGN(name)                                                                                                            \
	static aligned_function *real_##name;                                                                                  \
	FAST static void *hook_##name(size_t alignment, size_t size)                                                           \
	{                                                                                                                      \
		if (count_down(size))                                                                                          \
			return align_slowly(alignment, size, real_##name);                                                     \
		return real_##name(alignment, size);                                                                           \
	}

/* Functions that free what their first argument points to. The sample goes first: once the object is free another thread may have its
 * address. */
SLOW static uintptr_t release_slowly(void *object, uintptr_t second, uintptr_t third, release_function *real)
{
	cairn_sample_freed(object);
	return real(object, second, third);
}

#define RELEASE(name)                                                                                                          \
	static release_function *real_##name;                                                                                  \
	FAST static uintptr_t hook_##name(void *object, uintptr_t second, uintptr_t third)                                     \
	{                                                                                                                      \
		if (UNLIKELY(cairn_filter_has((uintptr_t)object)))                                                             \
			return release_slowly(object, second, third, real_##name);                                             \
		return real_##name(object, second, third);                                                                     \
	}

/* realloc and rallocx: a free and an allocation, if it succeeds. */
SLOW static void *move_slowly(void *object, size_t size, uintptr_t third, move_function *real, bool due)
{
	uint32_t held = cairn_sample_hold(object);
	void *moved = real(object, size, third);
	cairn_sample_release(object, held, moved || size == 0);
	if (due)
		cairn_sample_spent(moved, size, (uintptr_t)real);
	return moved;
}

#define MOVE(name)                                                                                                             \
	static move_function *real_##name;                                                                                     \
	FAST static void *hook_##name(void *object, size_t size, uintptr_t third)                                              \
	{                                                                                                                      \
		bool due = count_down(size);                                                                                   \
		if (due || UNLIKELY(cairn_filter_has((uintptr_t)object)))                                                      \
			return move_slowly(object, size, third, real_##name, due);                                             \
		return real_##name(object, size, third);                                                                       \
	}

ALLOCATE(malloc)
ALLOCATE(valloc)
ALLOCATE(pvalloc)
ALLOCATE(mallocx)
ALLOCATE(_ZnwmRKSt9nothrow_t)
ALLOCATE(_ZnamRKSt9nothrow_t)
ALLOCATE(_ZnwmSt11align_val_tRKSt9nothrow_t)
ALLOCATE(_ZnamSt11align_val_tRKSt9nothrow_t)
THROW(_Znwm, _ZnwmRKSt9nothrow_t, false)
THROW(_Znam, _ZnamRKSt9nothrow_t, false)
THROW(_ZnwmSt11align_val_t, _ZnwmSt11align_val_tRKSt9nothrow_t, true)
THROW(_ZnamSt11align_val_t, _ZnamSt11align_val_tRKSt9nothrow_t, true)
ALIGN(aligned_alloc)
ALIGN(memalign)
RELEASE(free)
RELEASE(cfree)
RELEASE(free_sized)
RELEASE(free_aligned_sized)
RELEASE(dallocx)
RELEASE(sdallocx)
RELEASE(_ZdlPv)
RELEASE(_ZdaPv)
RELEASE(_ZdlPvm)
RELEASE(_ZdaPvm)
RELEASE(_ZdlPvRKSt9nothrow_t)
RELEASE(_ZdaPvRKSt9nothrow_t)
RELEASE(_ZdlPvSt11align_val_t)
RELEASE(_ZdaPvSt11align_val_t)
RELEASE(_ZdlPvmSt11align_val_t)
RELEASE(_ZdaPvmSt11align_val_t)
RELEASE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
RELEASE(_ZdaPvSt11align_val_tRKSt9nothrow_t)
MOVE(realloc)
MOVE(rallocx)

static void *(*real_calloc)(size_t count, size_t size);

SLOW static void *clear_slowly(size_t count, size_t size)
{
	void *object = real_calloc(count, size);
	cairn_sample_spent(object, count * size, (uintptr_t)real_calloc);
	return object;
}

/* Where the product does not fit, the real one refuses, and what was counted hardly matters: it is a sample too early at most. */
FAST static void *hook_calloc(size_t count, size_t size)
{
	if (count_down(count * size))
		return clear_slowly(count, size);
	return real_calloc(count, size);
}

static int (*real_posix_memalign)(void **object, size_t alignment, size_t size);

SLOW static int place_slowly(void **object, size_t alignment, size_t size)
{
	int code = real_posix_memalign(object, alignment, size);
	cairn_sample_spent(code == 0 ? *object : NULL, size, (uintptr_t)real_posix_memalign);
	return code;
}

FAST static int hook_posix_memalign(void **object, size_t alignment, size_t size)
{
	if (count_down(size))
		return place_slowly(object, alignment, size);
	return real_posix_memalign(object, alignment, size);
}

static void *(*real_reallocarray)(void *object, size_t count, size_t size);

SLOW static void *move_array_slowly(void *object, size_t count, size_t size, bool due)
{
	uint32_t held = cairn_sample_hold(object);
	void *moved = real_reallocarray(object, count, size);
	cairn_sample_release(object, held, moved || count == 0 || size == 0);
	if (due)
		cairn_sample_spent(moved, count * size, (uintptr_t)real_reallocarray);
	return moved;
}

FAST static void *hook_reallocarray(void *object, size_t count, size_t size)
{
	bool due = count_down(count * size);
	if (due || UNLIKELY(cairn_filter_has((uintptr_t)object)))
		return move_array_slowly(object, count, size, due);
	return real_reallocarray(object, count, size);
}

static size_t (*real_xallocx)(void *object, size_t size, size_t extra, int flags);

/* It grows or shrinks where it is, or not at all. */
SLOW static size_t resize_slowly(void *object, size_t size, size_t extra, int flags, bool due)
{
	uint32_t held = cairn_sample_hold(object);
	size_t got = real_xallocx(object, size, extra, flags);
	cairn_sample_release(object, held, got >= size);
	if (due)
		cairn_sample_spent(got >= size ? object : NULL, size, (uintptr_t)real_xallocx);
	return got;
}

FAST static size_t hook_xallocx(void *object, size_t size, size_t extra, int flags)
{
	bool due = count_down(size);
	if (due || UNLIKELY(cairn_filter_has((uintptr_t)object)))
		return resize_slowly(object, size, extra, flags, due);
	return real_xallocx(object, size, extra, flags);
}

/* The loader's functions depend on who calls them (RPATH, RTLD_NEXT), so that they are always jumped to. What a thread loads may be asked
 * for by another; and another may have walked the relocations while this one was still loading. */
static atomic_bool loaded;
static void *(*real_dlopen)(const char *path, int flags);
static void *(*real_dlsym)(void *handle, const char *name);

FAST static void *hook_dlopen(const char *path, int flags)
{
	atomic_store_explicit(&loaded, true, memory_order_relaxed);
	cairn_local()->has_loaded = true;
	return real_dlopen(path, flags);
}

SLOW static void notice_loaded(void)
{
	cairn_local()->has_loaded = false;
	atomic_store(&loaded, false);
	if (cairn_hook_loaded && !cairn_hook_loaded())
		atomic_store_explicit(&loaded, true, memory_order_relaxed);
}

FAST static void *hook_dlsym(void *handle, const char *name)
{
	if (UNLIKELY(atomic_load_explicit(&loaded, memory_order_relaxed) || cairn_local()->has_loaded))
		notice_loaded();
	return real_dlsym(handle, name);
}

#define ENTRY(name) {#name, (cairn_hook_function *)hook_##name, (cairn_hook_function **)&real_##name, false, false}

const struct cairn_hook_entry cairn_hook_entries[] = {
	ENTRY(malloc),
	ENTRY(free),
	ENTRY(calloc),
	ENTRY(realloc),
	{"reallocarray", (cairn_hook_function *)hook_reallocarray, (cairn_hook_function **)&real_reallocarray, .unless_libc = true},
	ENTRY(posix_memalign),
	ENTRY(aligned_alloc),
	ENTRY(memalign),
	ENTRY(valloc),
	ENTRY(pvalloc),
	ENTRY(cfree),
	ENTRY(free_sized),
	ENTRY(free_aligned_sized),
	ENTRY(mallocx),
	ENTRY(rallocx),
	ENTRY(xallocx),
	ENTRY(dallocx),
	ENTRY(sdallocx),
	ENTRY(_Znwm),
	ENTRY(_Znam),
	ENTRY(_ZnwmRKSt9nothrow_t),
	ENTRY(_ZnamRKSt9nothrow_t),
	ENTRY(_ZnwmSt11align_val_t),
	ENTRY(_ZnamSt11align_val_t),
	ENTRY(_ZnwmSt11align_val_tRKSt9nothrow_t),
	ENTRY(_ZnamSt11align_val_tRKSt9nothrow_t),
	ENTRY(_ZdlPv),
	ENTRY(_ZdaPv),
	ENTRY(_ZdlPvm),
	ENTRY(_ZdaPvm),
	ENTRY(_ZdlPvRKSt9nothrow_t),
	ENTRY(_ZdaPvRKSt9nothrow_t),
	ENTRY(_ZdlPvSt11align_val_t),
	ENTRY(_ZdaPvSt11align_val_t),
	ENTRY(_ZdlPvmSt11align_val_t),
	ENTRY(_ZdaPvmSt11align_val_t),
	ENTRY(_ZdlPvSt11align_val_tRKSt9nothrow_t),
	ENTRY(_ZdaPvSt11align_val_tRKSt9nothrow_t),
	{"dlopen", (cairn_hook_function *)hook_dlopen, (cairn_hook_function **)&real_dlopen, .of_loader = true},
	{"mmap", (cairn_hook_function *)cairn_mapping_mmap, (cairn_hook_function **)&cairn_mapping_real.mmap, .of_mappings = true},
	{"mmap64", (cairn_hook_function *)cairn_mapping_mmap, (cairn_hook_function **)&cairn_mapping_real.mmap64, .of_mappings = true},
	{"munmap", (cairn_hook_function *)cairn_mapping_munmap, (cairn_hook_function **)&cairn_mapping_real.munmap, .of_mappings = true},
	{"mremap", (cairn_hook_function *)cairn_mapping_mremap, (cairn_hook_function **)&cairn_mapping_real.mremap, .of_mappings = true},
	{"brk", (cairn_hook_function *)cairn_mapping_brk, (cairn_hook_function **)&cairn_mapping_real.brk, .of_mappings = true},
	{"sbrk", (cairn_hook_function *)cairn_mapping_sbrk, (cairn_hook_function **)&cairn_mapping_real.sbrk, .of_mappings = true},
	{"dlsym", (cairn_hook_function *)hook_dlsym, (cairn_hook_function **)&real_dlsym, .of_loader = true},
};
const size_t cairn_hook_entry_count = sizeof cairn_hook_entries / sizeof *cairn_hook_entries;
static_assert(sizeof cairn_hook_entries / sizeof *cairn_hook_entries <= CAIRN_HOOK_ENTRIES_MOST, "patch.c has room for all of them");
