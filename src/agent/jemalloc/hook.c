/* hook.c - the backtrace hook, the allocator's own code, and the counts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/jemalloc/hook.h"

#include "agent/unwind/object.h"
#include "base/path.h"
#include "process/clock.h"
#include "protocol/allocating.h"

#include <stdatomic.h>

typedef void backtrace_hook(void **pcs, unsigned *count, unsigned most);

enum { measured_each = 64 }; /* a power of two */

static struct {
	struct cairn_unwind_ranges allocator;
	atomic_uint depth;
	backtrace_hook *before; /* what jemalloc had */
	atomic_bool installed;
	void (*_Atomic notify)(void); /* called at each sample; NULL except in a forked child whose agent has not started */
	struct cairn_engine_tally tally;
} hook;

static void take_stack(const struct cairn_registers *registers, void **pcs, unsigned *count, unsigned most)
{
	unsigned depth = atomic_load_explicit(&hook.depth, memory_order_relaxed);
	if (most > depth)
		most = depth;
	enum cairn_unwind_end end = cairn_unwind(registers, &hook.allocator, pcs, most, count);
	/* If no function of jemalloc was known by name, nothing was left out, and the hook's own frame is removed. */
	if (*count > 1 && (uintptr_t)pcs[0] == registers->pc)
		memmove(pcs, pcs + 1, --*count * sizeof *pcs);
	if (end == CAIRN_UNWIND_TRUNCATED)
		pcs[*count - 1] = (char *)(uintptr_t)cairn_stack_is_truncated + 1;
	atomic_fetch_add_explicit(&hook.tally.ends[end], 1, memory_order_relaxed);
}

__attribute__((noinline))
static void take_stack_measured(const struct cairn_registers *registers, void **pcs, unsigned *count, unsigned most)
{
	int64_t start = cairn_clock_ns();
	take_stack(registers, pcs, count, most);
	atomic_fetch_add_explicit(&hook.tally.measured_ns, (uint64_t)(cairn_clock_ns() - start), memory_order_relaxed);
	atomic_fetch_add_explicit(&hook.tally.measured_frames, *count, memory_order_relaxed);
	atomic_fetch_add_explicit(&hook.tally.measured, 1, memory_order_relaxed);
}

static void backtrace(void **pcs, unsigned *count, unsigned most)
{
	struct cairn_registers registers;
	cairn_registers_here(&registers);
	uint64_t taken = 0;
	for (int i = 0; i < CAIRN_UNWIND_ENDS; i++)
		taken += atomic_load_explicit(&hook.tally.ends[i], memory_order_relaxed);
	if (taken % measured_each == 0)
		take_stack_measured(&registers, pcs, count, most);
	else
		take_stack(&registers, pcs, count, most);
	void (*notify)(void) = atomic_load_explicit(&hook.notify, memory_order_relaxed);
	if (notify)
		notify();
}

bool cairn_hook_notify(void (*notify)(void))
{
	atomic_store(&hook.notify, notify);
	return atomic_load(&hook.installed);
}

void cairn_hook_count(struct cairn_engine_counts *counts)
{
	cairn_engine_count(&hook.tally, counts);
	counts->installed = atomic_load(&hook.installed);
}

/* The search for the allocator's code. */
struct search {
	const struct cairn_jemalloc *jemalloc;
	struct cairn_unwind_ranges *found;
};

static void add_range(struct cairn_unwind_ranges *found, uintptr_t start, uintptr_t end)
{
	unsigned place = found->count;
	for (unsigned i = 0; i < found->count; i++)
		if (found->ranges[i].start == start)
			return;
	if (place == sizeof found->ranges / sizeof *found->ranges)
		return;
	for (found->count++; place > 0 && found->ranges[place - 1].start > start; place--)
		found->ranges[place] = found->ranges[place - 1];
	found->ranges[place] = (struct cairn_unwind_range){start, end};
}

/* A function extends as far as its unwind entry says. */
static void add_function(struct cairn_unwind_ranges *found, uintptr_t address)
{
	struct cairn_code code;
	struct cairn_fde fde;
	if (!cairn_code_find(address, &code) || !code.unwind_header)
		return;
	struct cairn_image image = cairn_code_image(&code);
	if (cairn_eh_frame_find(&image, code.unwind_header, address, &fde))
		add_range(found, (uintptr_t)fde.start, (uintptr_t)(fde.start + fde.length));
}

static bool is_entry(const char *name, const char *prefix)
{
	static const struct {
		const char *name;
		struct cairn_signature signature;
	} entries[] = {
#define ROW(name, group, ...) {#name, __VA_ARGS__},
		CAIRN_ALLOCATING(ROW)
	};
	/* The functions that malloc and realloc jump to at their end: these are on the stack instead. Compilers add suffixes to private
	 * functions. */
	static const char *const jumped_to[] = {"do_rallocx", "do_realloc_nonnull"};
	const char *inner = strstr(name, "je_");
	if (inner && strcmp(inner, "je_malloc_default") == 0)
		return true;
	for (size_t i = 0; i < sizeof jumped_to / sizeof *jumped_to; i++) {
		size_t part = strlen(jumped_to[i]);
		if (strncmp(name, jumped_to[i], part) == 0 && (name[part] == '\0' || name[part] == '.'))
			return true;
	}
	size_t length = strlen(prefix);
	if (strncmp(name, prefix, length) != 0)
		return false;
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		if (strcmp(name + length, entries[i].name) == 0)
			return entries[i].signature.call != CAIRN_CALL_RELEASES;
	return false;
}

static bool see_function(void *context, const struct cairn_object *object, const char *name, uintptr_t address)
{
	struct search *search = context;
	if (is_entry(name, search->jemalloc->prefix) && cairn_object_executes(object, address))
		add_function(search->found, address);
	return false;
}

/* If a library is jemalloc and nothing else, all its frames are left out. Elsewhere jemalloc was linked in, and only the functions that
 * programs call are known by name: a stack is left out up to the last of them. */
static bool see_object(void *context, const struct cairn_object *object)
{
	enum { frames_inside = 12 };
	struct search *search = context;
	uintptr_t inside = (uintptr_t)search->jemalloc->mallctl;
	struct cairn_code code;
	if (!cairn_object_executes(object, inside))
		return false;
	if (!object->program && strstr(cairn_base_name(object->path), "jemalloc") && cairn_code_find(inside, &code)) {
		add_range(search->found, code.start, code.end);
		return true;
	}
	search->found->gap = frames_inside;
	if (!cairn_object_local(object, "", see_function, search))
		cairn_object_exported(object, "", see_function, search);
	return true;
}

static int set_hook(const struct cairn_jemalloc *jemalloc, backtrace_hook *function, backtrace_hook **before)
{
	size_t size = sizeof *before;
	return jemalloc->mallctl("experimental.hooks.prof_backtrace", before, before ? &size : NULL, &function, sizeof function);
}

bool cairn_hook_install(const struct cairn_jemalloc *jemalloc, unsigned depth, struct cairn_error *why)
{
	atomic_store(&hook.depth, depth);
	if (atomic_load(&hook.installed))
		return true;
	if (!cairn_code_is_live())
		cairn_code_refresh();
	cairn_objects_visit(see_object, &(struct search){jemalloc, &hook.allocator});
	if (set_hook(jemalloc, backtrace, &hook.before) != 0)
		return cairn_fail(why, "jemalloc %s has no backtrace hook (5.3 has one), so it uses its own unwinder", jemalloc->version);
	atomic_store(&hook.installed, true);
	return true;
}

void cairn_hook_remove(const struct cairn_jemalloc *jemalloc)
{
	if (atomic_exchange(&hook.installed, false))
		set_hook(jemalloc, hook.before, NULL);
}
