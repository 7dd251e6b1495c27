/* remedy.c - does to the process's allocator what `cairn why --try` asks for: one call or setting, and says how long that took.
 *
 * The allocator is called on a worker of the agent, which holds nothing while it waits. A thread of the host that needs the same lock waits
 * for as long as the call takes at the most.
 *
 * What was there before a setting is kept by a call of the agent's own that waits in its queue (work/call.h) until the trial is over. The
 * setting is restored when that call ends, however it does: the command asks for it, its time is up because the command is gone, another
 * trial begins, or the agent ends. SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/answer.h"
#include "agent/unwind/object.h"
#include "base/pages.h"
#include "base/text.h"
#include "process/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum { functions_most = 3, found_most = 8, decay_kinds = 2, arenas_most = 4096 };

struct trial {
	struct cairn_call *call;
	int64_t value; /* as it was asked for */
	bool restores;
	char made[160];      /* the calls that were made */
	const char *problem; /* why none was */
};

/* An allocator has several functions with one prefix, in one module: "je_" of je_mallctl. */
struct found {
	uintptr_t functions[functions_most];
	char prefix[32];
};

/* FUNCTIONS of all modules, which are collected while the loader holds its lock, and called only afterwards. */
struct search {
	const char *const *functions; /* functions_most of them; NULL after the last */
	bool has_prefix, local;
	struct found found[found_most];
	size_t count;
	struct found candidate;
	size_t place; /* in its functions */
};

static bool see_function(void *context, const struct cairn_object *module, const char *name, uintptr_t address)
{
	struct search *search = context;
	struct found *candidate = &search->candidate;
	size_t length = strlen(name) - strlen(search->functions[search->place]);
	if (search->place == 0) {
		if (length >= sizeof candidate->prefix || (length && !search->has_prefix))
			return false;
		*candidate = (struct found){0};
		memcpy(candidate->prefix, name, length);
	}
	if (strlen(candidate->prefix) != length || memcmp(candidate->prefix, name, length) != 0 || !cairn_object_executes(module, address))
		return false;
	candidate->functions[search->place] = address;
	if (search->place > 0)
		return true;
	for (search->place = 1; search->place < functions_most && search->functions[search->place]; search->place++)
		if (!(search->local ? cairn_object_local : cairn_object_exported)(module, search->functions[search->place], see_function,
										  search))
			break;
	bool is_whole = search->place == functions_most || !search->functions[search->place];
	bool is_known = search->count && search->found[search->count - 1].functions[0] == address; /* by another name */
	search->place = 0;
	if (is_whole && !is_known)
		search->found[search->count++] = *candidate;
	return search->count == found_most;
}

/* In the file of a module only where its dynamic symbols have none: an allocator that is linked into a program. */
static bool search_module(void *context, const struct cairn_object *module)
{
	struct search *search = context;
	size_t before = search->count;
	search->local = false;
	bool is_full = cairn_object_exported(module, search->functions[0], see_function, search);
	search->local = true;
	return is_full || (search->count == before && cairn_object_local(module, search->functions[0], see_function, search));
}

static void find(struct search *search, const char *const functions[functions_most], bool has_prefix)
{
	*search = (struct search){.functions = functions, .has_prefix = has_prefix};
	cairn_objects_visit(search_module, search);
}

__attribute__((format(printf, 2, 3))) static void note_made(struct trial *trial, const char *format, ...)
{
	size_t length = strlen(trial->made);
	va_list arguments;
	if (length && length < sizeof trial->made)
		length += (size_t)snprintf(trial->made + length, sizeof trial->made - length, " and ");
	va_start(arguments, format);
	if (length < sizeof trial->made)
		vsnprintf(trial->made + length, sizeof trial->made - length, format, arguments);
	va_end(arguments);
}

/* glibc's: other libraries have a mallopt that does nothing. */
static bool find_glibc(struct trial *trial, struct found *found)
{
	static const char *const functions[functions_most] = {"malloc_trim", "mallopt"};
	struct search search;
	find(&search, functions, false);
	if (search.count == 0)
		trial->problem = "the C library has no malloc_trim and mallopt";
	else
		*found = search.found[0];
	return search.count > 0;
}

static void trim(struct trial *trial)
{
	struct found glibc;
	if (!find_glibc(trial, &glibc))
		return;
	((int (*)(size_t))glibc.functions[0])(0);
	note_made(trial, "malloc_trim(0)");
}

/* The jemallocs of the process: first that which the agent works with, which the service may have handed over. */
static void find_jemallocs(struct trial *trial, struct search *search)
{
	static const char *const functions[functions_most] = {"mallctl", "malloc_stats_print"};
	const struct cairn_jemalloc *jemalloc = &trial->call->agent->profiler.jemalloc;
	struct found first = {.functions = {(uintptr_t)jemalloc->mallctl}};
	find(search, functions, true);
	if (!jemalloc->mallctl)
		return;
	memcpy(first.prefix, jemalloc->prefix, sizeof first.prefix);
	for (size_t i = 0; i < search->count; i++)
		if (search->found[i].functions[0] == first.functions[0]) {
			search->found[i] = search->found[0];
			search->found[0] = first;
			return;
		}
	search->found[search->count < found_most ? search->count++ : found_most - 1] = search->found[0];
	search->found[0] = first;
}

/* A thread without a heap collects nothing. */
static void collect_mimalloc(const uintptr_t functions[functions_most])
{
	void *object = ((void *(*)(size_t))functions[1])(64);
	((void (*)(void *))functions[2])(object);
	((void (*)(bool))functions[0])(true);
}

/* What mi_collect consists of in version 3: it is missing from programs whose linker leaves out what they do not call. */
static void collect_theap(const uintptr_t functions[functions_most])
{
	((void (*)(void))functions[1])();
	((void (*)(void *, bool))functions[0])(((void *(*)(void))functions[2])(), true);
}

static void collect_mimallocs(struct trial *trial)
{
	static const char *const whole[functions_most] = {"mi_collect", "mi_malloc", "mi_free"};
	static const char *const parts[functions_most] = {"mi_theap_collect", "mi_thread_init", "_mi_theap_default_safe"};
	struct search all, rest;
	find(&all, whole, true);
	for (size_t i = 0; i < all.count; i++) {
		collect_mimalloc(all.found[i].functions);
		note_made(trial, "%s%s(true)", all.found[i].prefix, whole[0]);
	}
	find(&rest, parts, true);
	for (size_t i = 0; i < rest.count; i++) {
		bool is_done = false;
		for (size_t k = 0; k < all.count && !is_done; k++)
			is_done = strcmp(rest.found[i].prefix, all.found[k].prefix) == 0;
		if (is_done)
			continue;
		collect_theap(rest.found[i].functions);
		note_made(trial, "%s%s(true)", rest.found[i].prefix, parts[0]);
	}
}

static void purge(struct trial *trial)
{
	static const char *const tcmalloc[functions_most] = {"MallocExtension_ReleaseFreeMemory"};
	struct search search;
	find_jemallocs(trial, &search);
	for (size_t i = 0; i < search.count; i++)
		if (((cairn_mallctl *)search.found[i].functions[0])("arena.4096.purge", NULL, NULL, NULL, 0) == 0)
			note_made(trial, "%smallctl(\"arena.4096.purge\")", search.found[i].prefix);
	collect_mimallocs(trial);
	find(&search, tcmalloc, false);
	for (size_t i = 0; i < search.count; i++) {
		((void (*)(void))search.found[i].functions[0])();
		note_made(trial, "MallocExtension_ReleaseFreeMemory()");
	}
	if (!trial->made[0])
		trial->problem = "no symbol table names a function of jemalloc, mimalloc or tcmalloc that returns memory: the program is "
				 "stripped, or was linked without it (for glibc: --try trim)";
}

/* Settings. */

static const char *const decay_names[decay_kinds] = {"dirty", "muzzy"};
static const ssize_t no_decay = -2; /* -1 is a setting: never */

/* What was there before. */
struct saved {
	cairn_mallctl *mallctl; /* NULL: it is about huge pages */
	int huge_pages;
	unsigned arenas;
	ssize_t defaults[decay_kinds]; /* of arenas that are made later */
	ssize_t decays[][decay_kinds]; /* of each arena */
};

static size_t saved_size(unsigned arenas)
{
	const struct saved *saved = NULL;
	return sizeof *saved + arenas * sizeof *saved->decays;
}

/* The name of jemalloc's setting for ARENA; -1 for arenas that are made later. */
static const char *decay_name(char name[64], int arena, int kind)
{
	if (arena < 0)
		snprintf(name, 64, "arenas.%s_decay_ms", decay_names[kind]);
	else
		snprintf(name, 64, "arena.%d.%s_decay_ms", arena, decay_names[kind]);
	return name;
}

static ssize_t *decay_of(struct saved *saved, int arena, int kind)
{
	return arena < 0 ? &saved->defaults[kind] : &saved->decays[arena][kind];
}

static void save_decays(struct saved *saved)
{
	char name[64];
	for (int arena = -1; arena < (int)saved->arenas; arena++) /* those that were not made yet have none */
		for (int kind = 0; kind < decay_kinds; kind++) {
			ssize_t *decay = decay_of(saved, arena, kind);
			size_t size = sizeof *decay;
			if (saved->mallctl(decay_name(name, arena, kind), decay, &size, NULL, 0) != 0)
				*decay = no_decay;
		}
}

/* Sets all that were saved: to VALUE, or if that is NULL to what they were. */
static void set_decays(struct saved *saved, const ssize_t *value)
{
	char name[64];
	for (int arena = -1; arena < (int)saved->arenas; arena++)
		for (int kind = 0; kind < decay_kinds; kind++) {
			ssize_t decay = *decay_of(saved, arena, kind);
			if (decay != no_decay)
				saved->mallctl(decay_name(name, arena, kind), NULL, NULL, value ? (void *)(uintptr_t)value : &decay,
					       sizeof decay);
		}
}

static void restore(void *held)
{
	struct saved *saved = held;
	if (saved->mallctl)
		set_decays(saved, NULL);
	else
		prctl(PR_SET_THP_DISABLE, saved->huge_pages, 0, 0, 0);
	cairn_pages_unmap(saved, saved_size(saved->arenas));
}

/* The time of a trial is up. What it holds is released as it ends. */
static void end_trial(struct cairn_call *call)
{
	call->arrived_ns = cairn_clock_ns();
}

static void finish_trial(struct cairn_call *call)
{
	cairn_call_free(&call->agent->work, call);
}

/* Restores SAVED when the trial is over. Returns false, with SAVED freed and nothing changed, if nobody could see to that. */
static bool restore_later(struct trial *trial, struct saved *saved)
{
	enum { default_ms = 60000, longest_ms = 24 * 3600 * 1000 };
	struct cairn_agent *agent = trial->call->agent;
	char text[24] = "";
	cairn_query_get(trial->call->request->query, "restore_after_ms", text, sizeof text);
	int64_t after_ms = text[0] ? strtoll(text, NULL, 10) : default_ms;
	after_ms = after_ms < 0 || after_ms > longest_ms ? longest_ms : after_ms;
	struct cairn_call *timer = cairn_call_new(&agent->work, CAIRN_CALL_OWN);
	if (timer) {
		timer->agent = agent;
		timer->handle = end_trial;
		timer->finish = finish_trial;
		timer->due_ns = cairn_clock_ns() + after_ms * CAIRN_MILLISECOND_NS;
		timer->held = saved;
		timer->release = restore;
		trial->restores = cairn_call_enqueue(&agent->work, timer);
		if (!trial->restores)
			cairn_call_free(&agent->work, timer);
	} else {
		restore(saved);
	}
	if (!trial->restores)
		trial->problem = "too much is under way in the agent, and nothing would restore the setting";
	return trial->restores;
}

static struct saved *new_saved(struct trial *trial, unsigned arenas)
{
	struct saved *saved = cairn_pages_map(saved_size(arenas));
	if (saved)
		saved->arenas = arenas;
	else
		trial->problem = "there is no memory to keep the setting in";
	return saved;
}

static void decay(struct trial *trial)
{
	struct search search;
	unsigned arenas = 0;
	size_t size = sizeof arenas;
	ssize_t value = (ssize_t)trial->value;
	find_jemallocs(trial, &search);
	cairn_mallctl *mallctl = search.count ? (cairn_mallctl *)search.found[0].functions[0] : NULL;
	if (!mallctl || mallctl("arenas.narenas", &arenas, &size, NULL, 0) != 0) {
		trial->problem = "no symbol table names jemalloc's mallctl, by which a decay time is set";
		return;
	}
	struct saved *saved = new_saved(trial, arenas < arenas_most ? arenas : arenas_most);
	if (!saved)
		return;
	saved->mallctl = mallctl;
	save_decays(saved);
	if (!restore_later(trial, saved))
		return;
	set_decays(saved, &value);
	note_made(trial, "dirty_decay_ms:%lld,muzzy_decay_ms:%lld", (long long)value, (long long)value);
}

static void set_huge_pages(struct trial *trial)
{
	int before = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
	struct saved *saved = before >= 0 ? new_saved(trial, 0) : NULL;
	if (saved)
		saved->huge_pages = before;
	if (before >= 0 && (!saved || !restore_later(trial, saved)))
		return;
	if (before < 0 || prctl(PR_SET_THP_DISABLE, trial->value != 0, 0, 0, 0) != 0)
		trial->problem = "the kernel refuses PR_SET_THP_DISABLE";
	else
		note_made(trial, "prctl(PR_SET_THP_DISABLE, %d)", trial->value != 0);
}

static void set_glibc(struct trial *trial, int parameter, const char *name)
{
	struct found glibc;
	if (!find_glibc(trial, &glibc))
		return;
	if (trial->value < 0 || trial->value > INT32_MAX ||
	    ((int (*)(int, int))glibc.functions[1])(parameter, (int)trial->value) != 1)
		trial->problem = "mallopt refuses that value";
	else
		note_made(trial, "mallopt(%s, %lld)", name, (long long)trial->value);
}

static void set_arenas(struct trial *trial)
{
	set_glibc(trial, -8, "M_ARENA_MAX");
}

static void set_threshold(struct trial *trial)
{
	set_glibc(trial, -3, "M_MMAP_THRESHOLD");
}

/* What a trial has changed was restored before this is called. */
static void nothing_more(struct trial *trial)
{
	note_made(trial, "restored");
}

static const struct {
	const char *name;
	void (*call)(struct trial *trial);
	bool restores; /* what an earlier trial has set */
} remedies[] = {
	{"trim", trim, false},
	{"purge", purge, false},
	{"decay", decay, true},
	{"arenas", set_arenas, false},
	{"mmap-threshold", set_threshold, false},
	{"thp", set_huge_pages, true},
	{"restore", nothing_more, true},
};

void cairn_control_remedy(struct cairn_call *call)
{
	struct trial trial = {.call = call, .problem = "call is one of trim, purge, decay, arenas, mmap-threshold, thp and restore"};
	char kind[24] = "", value[24] = "0";
	cairn_query_get(call->request->query, "call", kind, sizeof kind);
	cairn_query_get(call->request->query, "value", value, sizeof value);
	trial.value = strtoll(value, NULL, 10);
	int64_t start = cairn_clock_ns();
	for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++) {
		if (strcmp(kind, remedies[i].name) != 0)
			continue;
		trial.problem = NULL;
		if (call->agent->beside) {
			trial.problem =
				"the program is static or on musl: its agent is a process beside it, which cannot call the program's "
				"allocator. Start the program with the setting instead, or let it call malloc_trim(0) itself";
			break;
		}
		if (remedies[i].restores)
			cairn_work_withdraw(&call->agent->work, end_trial);
		start = cairn_clock_ns();
		remedies[i].call(&trial);
	}
	int64_t took = cairn_clock_ns() - start;
	if (trial.problem) {
		cairn_answer_error(call, 501, trial.problem, NULL);
		return;
	}
	cairn_response_start(call->response, 200, CAIRN_JSON);
	struct cairn_json json = cairn_json_answer(&call->response->body);
	cairn_json_text(&json, "made", cairn_bytes_of(trial.made));
	cairn_json_integer(&json, "took_ns", took);
	cairn_json_bool(&json, "restores", trial.restores);
	cairn_json_end(&json);
}
