/* trial.c - asks the agent, and measures resident memory and the group's charge before and after.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/why/trial.h"

#include "base/json_read.h"
#include "base/peek.h"
#include "base/text.h"
#include "live/group.h"
#include "process/clock.h"
#include "process/proc.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/* A call that may take longer than this is refused: threads that allocate wait for it. Memory is given back at some GB a second. */
static const double stall_most_ms = 500, bytes_per_ms = 4e6;

/* A decay time up to this makes jemalloc return nearly all at once. */
enum { short_decay_ms = 1000 };

/* The agent restores a setting by itself so long after the end of the trial, if the command does not ask for it. */
static const int64_t grace_ns = 5 * CAIRN_SECOND_NS;

static const struct {
	const char *name, *call; /* of the option; of the agent */
	enum { no_value, a_number, a_size, a_time, never } value;
} kinds[] = {
	[CAIRN_TRIAL_TRIM] = {"trim", "trim", no_value},
	[CAIRN_TRIAL_PURGE] = {"purge", "purge", no_value},
	[CAIRN_TRIAL_ARENAS] = {"arenas", "arenas", a_number},
	[CAIRN_TRIAL_THRESHOLD] = {"mmap-threshold", "mmap-threshold", a_size},
	[CAIRN_TRIAL_DECAY] = {"decay", "decay", a_time},
	[CAIRN_TRIAL_HUGE] = {"thp", "thp", never},
};
static_assert(sizeof kinds / sizeof *kinds == CAIRN_TRIAL_KINDS, "every trial has a name");

bool cairn_trial_parse(struct cairn_trial *trial, const char *text, struct cairn_error *error)
{
	*trial = (struct cairn_trial){0};
	const char *value = strchr(text, '=');
	size_t length = value ? (size_t)(value++ - text) : strlen(text);
	for (int i = 0; i < CAIRN_TRIAL_KINDS; i++) {
		uint64_t number = 0;
		int64_t time = 0;
		struct cairn_bytes rest = cairn_bytes_of(value ? value : "");
		if (strlen(kinds[i].name) != length || strncmp(kinds[i].name, text, length) != 0)
			continue;
		trial->kind = (enum cairn_trial_kind)i;
		switch (kinds[i].value) {
		case no_value: return !value || cairn_fail(error, "--try %s takes no value", kinds[i].name);
		case never:
			trial->value = 1;
			return (value && strcmp(value, "never") == 0) || cairn_fail(error, "--try %s takes the value never", kinds[i].name);
		case a_number:
			if (!cairn_text_decimal(&rest, &number) || rest.length || number == 0 || number > 4096)
				return cairn_fail(error, "--try %s=N needs a number from 1 to 4096", kinds[i].name);
			trial->value = (int64_t)number;
			return true;
		case a_size:
			if (!value || !cairn_text_size(value, &number) || number < 1024 || number > 32 << 20)
				return cairn_fail(error, "--try %s=SIZE needs a size from 1K to 32M", kinds[i].name);
			trial->value = (int64_t)number;
			return true;
		case a_time:
			if (!value || !cairn_text_duration(value, &time) || time < 0 || time > 3600 * CAIRN_SECOND_NS)
				return cairn_fail(error, "--try %s=TIME needs a time such as 1s, at most 1h", kinds[i].name);
			trial->value = time / CAIRN_MILLISECOND_NS;
			return true;
		}
	}
	return cairn_fail(error, "--try %.100s: choose trim, purge, arenas=N, mmap-threshold=SIZE, decay=TIME or thp=never", text);
}

/* The heap with the most memory; NULL if none could be read. */
static const struct cairn_walk_heap *main_heap(const struct cairn_walk *walk)
{
	const struct cairn_walk_heap *heap = NULL;
	for (size_t i = 0; i < walk->heap_count; i++)
		if (walk->heaps[i].is_read && (!heap || walk->heaps[i].sum.resident > heap->sum.resident))
			heap = &walk->heaps[i];
	return heap;
}

/* Also one that could not be read: its functions can be called all the same. NULL if there is none. */
static const struct cairn_walk_heap *heap_of(const struct cairn_walk *walk, enum cairn_walk_kind kind)
{
	for (size_t i = 0; i < walk->heap_count; i++)
		if (walk->heaps[i].kind == kind)
			return &walk->heaps[i];
	return NULL;
}

/* Whether it makes sense in a process with the allocators of WALK. */
static bool is_for(const struct cairn_trial *trial, const struct cairn_walk *walk, struct cairn_error *error)
{
	const struct cairn_walk_heap *heap = main_heap(walk);
	const char *name = heap ? cairn_walk_name(heap->kind) : "one that could not be read just now";
	switch (trial->kind) {
	case CAIRN_TRIAL_TRIM:
	case CAIRN_TRIAL_ARENAS:
	case CAIRN_TRIAL_THRESHOLD:
		return heap_of(walk, CAIRN_WALK_GLIBC) ||
		       cairn_fail(error, "--try %s is for glibc's malloc, and the process uses %s%s", kinds[trial->kind].name, name,
				  heap && heap->kind != CAIRN_WALK_MUSL ? ": --try purge" : ", which returns nothing on request");
	case CAIRN_TRIAL_DECAY:
		return heap_of(walk, CAIRN_WALK_JEMALLOC) ||
		       cairn_fail(error, "--try decay is for jemalloc, and the process uses %s", name);
	case CAIRN_TRIAL_PURGE:
		return heap_of(walk, CAIRN_WALK_JEMALLOC) || heap_of(walk, CAIRN_WALK_MIMALLOC) || heap_of(walk, CAIRN_WALK_TCMALLOC) ||
		       cairn_fail(error, "--try purge is for jemalloc, mimalloc and tcmalloc, and the process uses %s%s", name,
				  heap && heap->kind == CAIRN_WALK_GLIBC ? ": --try trim" : "");
	default: return true;
	}
}

/* What the allocator of KIND is expected to return, or with OTHERS all but that one, to a thread of the agent. */
static struct cairn_trial_prediction returnable(const struct cairn_walk *walk, enum cairn_walk_kind kind, bool others)
{
	struct cairn_trial_prediction sum = {.known = true};
	for (size_t i = 0; i < walk->heap_count; i++) {
		const struct cairn_walk_heap *heap = &walk->heaps[i];
		if ((heap->kind == kind) == others)
			continue;
		sum.known = sum.known && heap->is_read;
		sum.bytes += (double)(heap->sum.returnable - heap->of_first_thread);
		sum.group += (double)(heap->sum.returnable_group - heap->of_first_thread_group);
	}
	return sum;
}

/* What may be returned in one go. */
static double returned_at_once(const struct cairn_trial *trial, const struct cairn_walk *walk)
{
	bool decays = trial->kind == CAIRN_TRIAL_DECAY && trial->value <= short_decay_ms;
	return decays ? returnable(walk, CAIRN_WALK_JEMALLOC, false).bytes : trial->predicted.bytes;
}

/* The reason why nobody should try it without a second thought. */
static bool is_safe(const struct cairn_trial *trial, const struct cairn_walk *walk, struct cairn_error *error)
{
	double stall_ms = returned_at_once(trial, walk) / bytes_per_ms;
	switch (trial->kind) {
	case CAIRN_TRIAL_ARENAS:
		return cairn_fail(error,
				  "this cannot be undone: glibc keeps the limit until the process ends, and threads that start later share "
				  "arenas and may wait for each other (--yes tries it)");
	case CAIRN_TRIAL_THRESHOLD:
		return cairn_fail(
			error, "this cannot be undone: glibc does not adapt the threshold again until the process ends, and every object "
			       "above it costs two system calls (--yes tries it)");
	case CAIRN_TRIAL_TRIM:
	case CAIRN_TRIAL_PURGE:
	case CAIRN_TRIAL_DECAY:
		return stall_ms < stall_most_ms ||
		       cairn_fail(error, "threads that allocate may wait for some %.1f seconds (--yes tries it)", stall_ms / 1000);
	default: return true;
	}
}

static void predict(struct cairn_trial *trial, const struct cairn_why *why)
{
	if (trial->kind == CAIRN_TRIAL_TRIM || trial->kind == CAIRN_TRIAL_PURGE)
		trial->predicted = returnable(&why->walk, CAIRN_WALK_GLIBC, trial->kind == CAIRN_TRIAL_PURGE);
	else if (trial->kind == CAIRN_TRIAL_DECAY && trial->value == 0)
		trial->predicted = returnable(&why->walk, CAIRN_WALK_JEMALLOC, false);
	trial->predicted.error = why->causes.returnable_error;
}

static bool resident_of(int pid, double *bytes)
{
	char path[CAIRN_PROC_PATH];
	uint64_t resident = 0;
	bool good = cairn_proc_kilobytes(cairn_proc_path(path, pid, "smaps_rollup"), "Rss:", &resident);
	struct cairn_proc_statm statm;
	if (!good) {
		good = cairn_proc_statm_read(pid, &statm);
		resident = statm.resident;
	}
	*bytes = (double)resident;
	return good && resident > 0;
}

static double charge_of(int pid)
{
	struct cairn_cause_group group;
	cairn_group_of(&group, pid);
	return (double)group.usage;
}

static bool ask(const struct cairn_target *target, const struct cairn_trial *trial, int64_t watch_ns, struct cairn_buffer *answer,
		struct cairn_error *error)
{
	char path[128];
	int64_t after_ms = watch_ns < INT64_MAX - grace_ns ? (watch_ns + grace_ns) / CAIRN_MILLISECOND_NS : INT64_MAX;
	snprintf(path, sizeof path, "/cairn/remedy?call=%s&value=%" PRId64 "&restore_after_ms=%" PRId64, kinds[trial->kind].call,
		 trial->value, after_ms);
	return cairn_target_ask(target, "POST", path, answer, error);
}

static bool ask_to_restore(const struct cairn_target *target)
{
	struct cairn_buffer answer = cairn_buffer(1 << 20);
	bool done = cairn_target_ask(target, "POST", "/cairn/remedy?call=restore", &answer, NULL);
	cairn_buffer_free(&answer);
	return done;
}

/* What makes it permanent. */
static void settle(struct cairn_trial *trial, const struct cairn_walk *walk)
{
	const struct cairn_walk_heap *heap = main_heap(walk), *jemalloc = heap_of(walk, CAIRN_WALK_JEMALLOC);
	enum cairn_walk_kind kind = heap ? heap->kind : CAIRN_WALK_GLIBC;
	const char *variable = jemalloc ? cairn_walk_variable(jemalloc) : "";
	char more[24];
#define PERMANENT(name, ...) \
	(snprintf(trial->variable, sizeof trial->variable, "%s", name), snprintf(trial->setting, sizeof trial->setting, __VA_ARGS__))
	switch (trial->kind) {
	case CAIRN_TRIAL_TRIM:
		PERMANENT("MALLOC_TRIM_THRESHOLD_", "131072");
		snprintf(
			trial->note, sizeof trial->note,
			"the variable makes glibc return the end of its heap by itself; what lies between live objects returns only if the "
			"program calls malloc_trim(0), as after each burst");
		break;
	case CAIRN_TRIAL_PURGE:
		if (kind == CAIRN_WALK_JEMALLOC)
			PERMANENT(variable, "background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0");
		else if (kind == CAIRN_WALK_TCMALLOC)
			PERMANENT("TCMALLOC_RELEASE_RATE", "10");
		else
			PERMANENT("MIMALLOC_PURGE_DELAY", "0");
		if (kind == CAIRN_WALK_MIMALLOC)
			snprintf(trial->note, sizeof trial->note,
				 "each thread of mimalloc's returns its own memory only: the agent's call returns what no thread owns. If "
				 "the "
				 "program's first thread calls mi_collect(true), it returns %s more",
				 cairn_text_human((double)heap->of_first_thread, more));
		break;
	case CAIRN_TRIAL_ARENAS:
		PERMANENT("MALLOC_ARENA_MAX", "%" PRId64, trial->value);
		snprintf(trial->note, sizeof trial->note,
			 "in a running process it concerns threads that start later; what old arenas hold stays");
		break;
	case CAIRN_TRIAL_THRESHOLD:
		PERMANENT("MALLOC_MMAP_THRESHOLD_", "%" PRId64, trial->value);
		snprintf(trial->note, sizeof trial->note, "it concerns objects that are allocated from now on");
		break;
	case CAIRN_TRIAL_DECAY:
		PERMANENT(variable, "dirty_decay_ms:%" PRId64 ",muzzy_decay_ms:%" PRId64, trial->value, trial->value);
		break;
	default:
		snprintf(trial->note, sizeof trial->note,
			 "it concerns memory that is touched from now on; there is no variable for it: the program calls "
			 "prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) first");
		break;
	}
#undef PERMANENT
}

static void watch(struct cairn_trial *trial, int pid, int64_t watch_ns, const volatile sig_atomic_t *stop)
{
	int64_t start = cairn_clock_ns();
	for (int64_t left; (left = watch_ns - (cairn_clock_ns() - start)) > 0 && !trial->ended && !*stop;) {
		int64_t step = left < CAIRN_SECOND_NS / 4 ? left : CAIRN_SECOND_NS / 4;
		nanosleep(&(struct timespec){.tv_sec = 0, .tv_nsec = step}, NULL);
		trial->ended = !resident_of(pid, &trial->settled);
	}
	trial->watched_ns = cairn_clock_ns() - start;
}

bool cairn_trial_run(struct cairn_trial *trial, const struct cairn_why *why, const struct cairn_target *target, int64_t watch_ns,
		     bool insists, const volatile sig_atomic_t *stop, struct cairn_error *error)
{
	struct cairn_buffer answer = cairn_buffer(1 << 20);
	struct cairn_proc_stat stat, later;
	int pid = cairn_target_process(target);
	if (pid <= 0)
		return cairn_fail(error, "--try needs a process on this machine");
	predict(trial, why);
	if (!is_for(trial, &why->walk, error) || (!insists && !is_safe(trial, &why->walk, error)))
		return false;
	trial->group_before = charge_of(pid);
	cairn_proc_stat_read(pid, &stat);
	if (!resident_of(pid, &trial->before))
		return cairn_fail(error, "process %d has ended", pid);
	bool good = ask(target, trial, watch_ns, &answer, error);
	struct cairn_json_value json = cairn_json_value(cairn_buffer_bytes(&answer));
	if (good) {
		trial->ended = !resident_of(pid, &trial->after);
		trial->settled = trial->after;
		trial->group_after = charge_of(pid);
		trial->stall_ms = cairn_json_double(cairn_json_find(json, "took_ns")) / 1e6;
		cairn_json_copy(cairn_json_find(json, "made"), trial->made, sizeof trial->made);
		watch(trial, pid, watch_ns, stop);
		trial->group_settled = charge_of(pid);
		if (cairn_proc_stat_read(pid, &later)) {
			trial->faults = later.faults - stat.faults;
			trial->major_faults = later.major_faults - stat.major_faults;
		}
		if (cairn_json_double(cairn_json_find(json, "restores")) > 0 && !trial->ended)
			trial->undone = ask_to_restore(target);
		settle(trial, &why->walk);
	}
	cairn_buffer_free(&answer);
	return good;
}
