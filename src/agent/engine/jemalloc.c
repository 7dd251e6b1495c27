/* jemalloc.c - finds and calls jemalloc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/engine/jemalloc.h"

#include "agent/unwind/object.h"
#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int get(const struct cairn_jemalloc *jemalloc, const char *name, void *value, size_t size)
{
	size_t length = size;
	int code = jemalloc->mallctl(name, value, &length, NULL, 0);
	if (code == 0 && length != size)
		code = EINVAL;
	if (code)
		memset(value, 0, size);
	return code;
}

int cairn_jemalloc_get_bool(const struct cairn_jemalloc *jemalloc, const char *name, bool *value)
{
	return get(jemalloc, name, value, sizeof *value);
}

int cairn_jemalloc_get_size(const struct cairn_jemalloc *jemalloc, const char *name, size_t *value)
{
	return get(jemalloc, name, value, sizeof *value);
}

int cairn_jemalloc_get_text(const struct cairn_jemalloc *jemalloc, const char *name, const char **value)
{
	int code = get(jemalloc, name, value, sizeof *value);
	if (!*value)
		*value = "";
	return code;
}

int cairn_jemalloc_set_bool(const struct cairn_jemalloc *jemalloc, const char *name, bool value)
{
	return jemalloc->mallctl(name, NULL, NULL, &value, sizeof value);
}

void cairn_jemalloc_refresh(const struct cairn_jemalloc *jemalloc)
{
	uint64_t epoch = 1;
	size_t size = sizeof epoch;
	jemalloc->mallctl("epoch", &epoch, &size, &epoch, sizeof epoch);
}

bool cairn_jemalloc_is_live(struct cairn_jemalloc *jemalloc)
{
	/* An idle jemalloc has allocated far less than this for itself and two threads. */
	enum { own_allocations = 256 << 10 };
	if (jemalloc->is_malloc || jemalloc->handed_over)
		return true;
	size_t allocated, before = jemalloc->seen_allocated;
	cairn_jemalloc_refresh(jemalloc);
	if (cairn_jemalloc_get_size(jemalloc, "stats.allocated", &allocated) != 0)
		return true; /* without statistics it cannot say; then it counts as in use because it is there */
	jemalloc->seen_allocated = allocated;
	return allocated > own_allocations || (before && allocated != before);
}

/* Sums over the COUNT classes that jemalloc calls KIND ("bin", "lextent"). 4096 is its name for all arenas together. */
static uint64_t total_of(const struct cairn_jemalloc *jemalloc, const char *kind, const char *count_name)
{
	unsigned count = 0;
	size_t length = sizeof count;
	uint64_t total = 0;
	if (jemalloc->mallctl(count_name, &count, &length, NULL, 0) != 0)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		char name[64];
		uint64_t requests = 0;
		size_t size;
		length = sizeof requests;
		snprintf(name, sizeof name, "stats.arenas.4096.%ss.%u.nrequests", kind, i);
		if (jemalloc->mallctl(name, &requests, &length, NULL, 0) != 0)
			return 0;
		if (requests == 0)
			continue;
		snprintf(name, sizeof name, "arenas.%s.%u.size", kind, i);
		if (cairn_jemalloc_get_size(jemalloc, name, &size) == 0)
			total += requests * size;
	}
	return total;
}

uint64_t cairn_jemalloc_total(const struct cairn_jemalloc *jemalloc)
{
	cairn_jemalloc_refresh(jemalloc);
	return total_of(jemalloc, "bin", "arenas.nbins") + total_of(jemalloc, "lextent", "arenas.nlextents");
}

void cairn_jemalloc_variable(const struct cairn_jemalloc *jemalloc, char *out, size_t size)
{
	snprintf(out, size, "%sMALLOC_CONF", jemalloc->prefix);
	for (char *c = out; *c; c++)
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 'a' + 'A');
}

static bool has_version(struct cairn_jemalloc *jemalloc)
{
	const char *version;
	if (cairn_jemalloc_get_text(jemalloc, "version", &version) != 0 || version[0] < '0' || version[0] > '9')
		return false;
	snprintf(jemalloc->version, sizeof jemalloc->version, "%s", version);
	return true;
}

/* Allocates a little and checks whether JEMALLOC noticed. */
static bool serves_malloc(const struct cairn_jemalloc *jemalloc)
{
	uint64_t before, after;
	bool counted = get(jemalloc, "thread.allocated", &before, sizeof before) == 0;
	char *volatile probe = malloc(1000);
	bool serves = false;
	if (probe && counted) {
		serves = get(jemalloc, "thread.allocated", &after, sizeof after) == 0 && after > before;
	} else if (probe) { /* built without statistics */
		unsigned arena;
		size_t size = sizeof arena;
		void *pointer = probe;
		serves = jemalloc->mallctl("arenas.lookup", &arena, &size, &pointer, sizeof pointer) == 0;
	}
	free(probe);
	return serves;
}

enum { candidates_maximum = 8 };

/* Candidates are collected while the loader holds its lock, and called only afterwards: a jemalloc that waits for that lock in another
 * thread, as its unwinder may, would otherwise wait for ever. */
struct search {
	struct cairn_jemalloc candidates[candidates_maximum];
	size_t count;
	bool local;
};

static bool see_stats_print(void *context, const struct cairn_object *module, const char *name, uintptr_t address)
{
	struct cairn_jemalloc *candidate = context;
	size_t length = strlen(name) - strlen("malloc_stats_print");
	if (length != strlen(candidate->prefix) || memcmp(name, candidate->prefix, length) != 0 ||
	    !cairn_object_executes(module, address))
		return false;
	candidate->stats_print = (cairn_stats_print *)address;
	return true;
}

static bool see_mallctl(void *context, const struct cairn_object *module, const char *name, uintptr_t address)
{
	struct search *search = context;
	struct cairn_jemalloc *candidate = &search->candidates[search->count];
	size_t length = strlen(name) - strlen("mallctl");
	if (length >= sizeof candidate->prefix || !cairn_object_executes(module, address))
		return false;
	*candidate = (struct cairn_jemalloc){.mallctl = (cairn_mallctl *)address, .exported = !search->local};
	memcpy(candidate->prefix, name, length);
	ssize_t size = module->program ? readlink(module->path, candidate->module, sizeof candidate->module - 1) : -1;
	if (size < 0)
		snprintf(candidate->module, sizeof candidate->module, "%s", module->path);
	if ((search->local ? cairn_object_local : cairn_object_exported)(module, "malloc_stats_print", see_stats_print, candidate))
		search->count++;
	return search->count == candidates_maximum;
}

/* The agent's own library is read by nobody: a short program would spend a good part of its time on the names in it. */
static bool is_agent(const struct cairn_object *module)
{
	return !module->program && cairn_object_executes(module, (uintptr_t)cairn_jemalloc_find) &&
	       strncmp(cairn_base_name(module->path), "libcairn.so", strlen("libcairn.so")) == 0;
}

static bool search_module(void *context, const struct cairn_object *module)
{
	struct search *search = context;
	if (is_agent(module))
		return false;
	return (search->local ? cairn_object_local : cairn_object_exported)(module, "mallctl", see_mallctl, search);
}

/* The jemalloc in use: the one that malloc() calls, else the first with a prefix. IDLE describes any other. */
static struct cairn_jemalloc *choose(struct search *search, struct cairn_jemalloc *idle)
{
	struct cairn_jemalloc *prefixed = NULL;
	for (size_t i = 0; i < search->count; i++) {
		struct cairn_jemalloc *candidate = &search->candidates[i];
		if (!has_version(candidate))
			continue;
		candidate->is_malloc = serves_malloc(candidate);
		if (candidate->is_malloc)
			return candidate;
		if (candidate->prefix[0] && !prefixed)
			prefixed = candidate;
		*idle = *candidate;
	}
	return prefixed;
}

bool cairn_jemalloc_find(struct cairn_jemalloc *jemalloc, struct cairn_error *error)
{
	struct search search = {0};
	struct cairn_jemalloc idle = {0}, *chosen = NULL;
	for (int local = 0; local <= 1 && !chosen; local++) {
		search.count = 0;
		search.local = local;
		cairn_objects_visit(search_module, &search);
		chosen = choose(&search, &idle);
	}
	if (chosen) {
		*jemalloc = *chosen;
		return true;
	}
	*jemalloc = idle;
	jemalloc->mallctl = NULL;
	if (idle.version[0])
		return cairn_fail(error, "jemalloc %s in %s is not the allocator in use", idle.version, idle.module);
	return cairn_fail(error, "no jemalloc in this process");
}

bool cairn_jemalloc_take(struct cairn_jemalloc *jemalloc, cairn_mallctl *mallctl, cairn_stats_print *stats_print,
			 struct cairn_error *error)
{
	*jemalloc = (struct cairn_jemalloc){.mallctl = mallctl, .stats_print = stats_print, .handed_over = true};
	if (has_version(jemalloc)) {
		jemalloc->is_malloc = serves_malloc(jemalloc);
		return true;
	}
	*jemalloc = (struct cairn_jemalloc){0};
	return cairn_fail(error, "the given mallctl does not behave like jemalloc's");
}
