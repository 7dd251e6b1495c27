/* remedy.c - does to the process's allocator what `cairn why --try` asks for: one call or setting, and says how long that took.
 *
 * The allocator is called on a worker of the agent, which holds nothing while it waits. A thread of the host that needs the same lock waits
 * for as long as the call takes at the most. SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/answer.h"
#include "base/text.h"
#include "process/clock.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

struct trial {
	struct cairn_call *call;
	int64_t value;     /* as it was asked for */
	int64_t previous;  /* of a setting that can be restored */
	bool has_previous;
	char made[80];     /* the call that was made */
	const char *problem; /* why it was not */
};

/* The function NAME of the program or a library, or NULL: dlsym gives objects, which C does not convert to functions. */
static void (*function(const char *name))(void)
{
	void *found = dlsym(RTLD_DEFAULT, name);
	void (*result)(void);
	memcpy(&result, &found, sizeof result);
	return result;
}

static void trim(struct trial *trial)
{
	int (*malloc_trim_here)(size_t) = (int (*)(size_t))function("malloc_trim");
	if (!malloc_trim_here) {
		trial->problem = "the C library has no malloc_trim";
		return;
	}
	malloc_trim_here(0);
	snprintf(trial->made, sizeof trial->made, "malloc_trim(0)");
}

static void purge(struct trial *trial)
{
	const struct cairn_jemalloc *jemalloc = &trial->call->agent->profiler.jemalloc;
	void (*release)(void) = function("MallocExtension_ReleaseFreeMemory");
	void (*collect)(bool) = (void (*)(bool))function("mi_collect");
	void *(*allocate)(size_t) = (void *(*)(size_t))function("mi_malloc");
	void (*free_again)(void *) = (void (*)(void *))function("mi_free");
	if (jemalloc->mallctl && jemalloc->mallctl("arena.4096.purge", NULL, NULL, NULL, 0) == 0) {
		snprintf(trial->made, sizeof trial->made, "%smallctl(\"arena.4096.purge\")", jemalloc->prefix);
	} else if (collect && allocate && free_again) {
		free_again(allocate(64)); /* a thread without a heap collects nothing */
		collect(true);
		snprintf(trial->made, sizeof trial->made, "mi_collect(true)");
	} else if (release) {
		release();
		snprintf(trial->made, sizeof trial->made, "MallocExtension_ReleaseFreeMemory()");
	} else {
		trial->problem = "the process has no jemalloc, mimalloc or tcmalloc that it shows to others (for glibc: --try trim)";
	}
}

static void decay(struct trial *trial)
{
	static const char *const kinds[] = {"dirty", "muzzy"};
	const struct cairn_jemalloc *jemalloc = &trial->call->agent->profiler.jemalloc;
	unsigned arenas = 0;
	size_t size = sizeof arenas;
	ssize_t value = (ssize_t)trial->value, previous = 0;
	char name[64];
	if (!jemalloc->mallctl || jemalloc->mallctl("arenas.narenas", &arenas, &size, NULL, 0) != 0) {
		trial->problem = "only jemalloc has a decay time";
		return;
	}
	size = sizeof previous;
	trial->has_previous = jemalloc->mallctl("arenas.dirty_decay_ms", &previous, &size, NULL, 0) == 0;
	trial->previous = previous;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		snprintf(name, sizeof name, "arenas.%s_decay_ms", kinds[k]);
		jemalloc->mallctl(name, NULL, NULL, &value, sizeof value);
		for (unsigned i = 0; i < arenas; i++) { /* those that were not made yet refuse it */
			snprintf(name, sizeof name, "arena.%u.%s_decay_ms", i, kinds[k]);
			jemalloc->mallctl(name, NULL, NULL, &value, sizeof value);
		}
	}
	snprintf(trial->made, sizeof trial->made, "dirty_decay_ms:%lld,muzzy_decay_ms:%lld", (long long)value, (long long)value);
}

static void set_glibc(struct trial *trial, int parameter, const char *name)
{
	int (*set)(int, int) = (int (*)(int, int))function("mallopt");
	if (!set || trial->value < 0 || trial->value > INT32_MAX || set(parameter, (int)trial->value) != 1)
		trial->problem = set ? "mallopt refuses that value" : "the C library has no mallopt";
	else
		snprintf(trial->made, sizeof trial->made, "mallopt(%s, %lld)", name, (long long)trial->value);
}

static void set_huge_pages(struct trial *trial)
{
	trial->previous = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
	trial->has_previous = trial->previous >= 0;
	if (prctl(PR_SET_THP_DISABLE, trial->value != 0, 0, 0, 0) != 0)
		trial->problem = "the kernel refuses PR_SET_THP_DISABLE";
	else
		snprintf(trial->made, sizeof trial->made, "prctl(PR_SET_THP_DISABLE, %d)", trial->value != 0);
}

void cairn_control_remedy(struct cairn_call *call)
{
	enum { arena_max = -8, mmap_threshold = -3 }; /* M_ARENA_MAX and M_MMAP_THRESHOLD of glibc */
	struct trial trial = {.call = call};
	char kind[24] = "", value[24] = "0";
	cairn_query_get(call->request->query, "call", kind, sizeof kind);
	cairn_query_get(call->request->query, "value", value, sizeof value);
	trial.value = strtoll(value, NULL, 10);
	int64_t start = cairn_clock_ns();
	if (strcmp(kind, "trim") == 0)
		trim(&trial);
	else if (strcmp(kind, "purge") == 0)
		purge(&trial);
	else if (strcmp(kind, "decay") == 0)
		decay(&trial);
	else if (strcmp(kind, "arenas") == 0)
		set_glibc(&trial, arena_max, "M_ARENA_MAX");
	else if (strcmp(kind, "mmap-threshold") == 0)
		set_glibc(&trial, mmap_threshold, "M_MMAP_THRESHOLD");
	else if (strcmp(kind, "thp") == 0)
		set_huge_pages(&trial);
	else
		trial.problem = "call is one of trim, purge, decay, arenas, mmap-threshold and thp";
	int64_t took = cairn_clock_ns() - start;
	if (trial.problem) {
		cairn_answer_error(call, 501, trial.problem, NULL);
		return;
	}
	cairn_response_start(call->response, 200, CAIRN_JSON);
	struct cairn_json json = cairn_json_answer(&call->response->body);
	cairn_json_text(&json, "made", cairn_bytes_of(trial.made));
	cairn_json_integer(&json, "took_ns", took);
	if (trial.has_previous)
		cairn_json_integer(&json, "previous", trial.previous);
	cairn_json_end(&json);
}
