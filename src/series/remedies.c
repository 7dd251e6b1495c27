/* remedies.c - remedies in words, with the setting for each allocator.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/remedies.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>

/* How a remedy is applied for good, by allocator; of jemalloc, the value of the variable that it reads. */
static const struct {
	enum cairn_walk_kind allocator;
	enum cairn_remedy_kind remedy;
	const char *what, *how;
} settings[] = {
	{CAIRN_WALK_GLIBC, CAIRN_REMEDY_RETURN, "have the program call malloc_trim(0) after each burst", "malloc_trim(0)"},
	{CAIRN_WALK_GLIBC, CAIRN_REMEDY_ARENAS, "use fewer arenas; threads then wait for each other more often", "MALLOC_ARENA_MAX=2"},
	{CAIRN_WALK_GLIBC, CAIRN_REMEDY_THRESHOLD,
	 "keep large objects in mappings of their own, which are returned when they are freed: glibc has raised the limit for that",
	 "MALLOC_MMAP_THRESHOLD_=131072"},
	{CAIRN_WALK_GLIBC, CAIRN_REMEDY_CACHES, "make the caches of threads smaller", "GLIBC_TUNABLES=glibc.malloc.tcache_count=0"},
	{CAIRN_WALK_JEMALLOC, CAIRN_REMEDY_RETURN, "have jemalloc return free memory within a second, from a thread of its own",
	 "background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0"},
	{CAIRN_WALK_JEMALLOC, CAIRN_REMEDY_CACHES, "make the caches of threads smaller", "lg_tcache_max:12"},
	{CAIRN_WALK_MIMALLOC, CAIRN_REMEDY_RETURN, "have threads call mi_collect(true) after a burst: each returns its own memory",
	 "mi_collect(true)"},
	{CAIRN_WALK_TCMALLOC, CAIRN_REMEDY_RETURN,
	 "have tcmalloc return free memory faster, or call MallocExtension_ReleaseFreeMemory after a burst", "TCMALLOC_RELEASE_RATE=10"},
	{CAIRN_WALK_TCMALLOC, CAIRN_REMEDY_CACHES, "make the caches of threads smaller", "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=4194304"},
};

static struct cairn_cause_advice *new_advice(struct cairn_causes *causes)
{
	if (causes->advice_count == CAIRN_CAUSE_ADVICE)
		return NULL;
	struct cairn_cause_advice *advice = &causes->advice[causes->advice_count++];
	*advice = (struct cairn_cause_advice){.what = ""};
	return advice;
}

/* "returns 438.7 MiB ± 1.2 MiB; the control group's charge falls by 2.0 MiB at once, the rest when it runs out of memory" */
static void say_effect(struct cairn_cause_advice *advice, const struct cairn_remedy *remedy)
{
	char process[24], group[24], error[24];
	size_t length = strlen(advice->what);
	cairn_text_human(remedy->process, process);
	cairn_text_human(remedy->group, group);
	cairn_text_human(1.96 * remedy->error, error);
	int more = snprintf(advice->what + length, sizeof advice->what - length, remedy->at_most ? ": returns at most %s" : ": returns %s",
			    process);
	length += more > 0 ? (size_t)more : 0;
	if (remedy->error >= 1 && !remedy->at_most && length < sizeof advice->what) {
		more = snprintf(advice->what + length, sizeof advice->what - length, " ± %s", error);
		length += more > 0 ? (size_t)more : 0;
	}
	if (remedy->group < 0.9 * remedy->process && length < sizeof advice->what)
		snprintf(advice->what + length, sizeof advice->what - length,
			 "; the charge of the control group falls by %s at once, and by the rest when the group needs memory: it is in "
			 "huge pages",
			 group);
}

static void advise_remedy(struct cairn_causes *causes, const struct cairn_remedy *remedy)
{
	const char *what = "turn transparent huge pages off for the program", *how = "prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)";
	for (size_t i = 0; remedy->heap && i < sizeof settings / sizeof *settings; i++)
		if (settings[i].allocator == remedy->heap->kind && settings[i].remedy == remedy->kind) {
			what = settings[i].what;
			how = settings[i].how;
		}
	struct cairn_cause_advice *advice = new_advice(causes);
	if (!advice)
		return;
	snprintf(advice->what, sizeof advice->what, "%s", what);
	if (remedy->heap && remedy->heap->kind == CAIRN_WALK_JEMALLOC)
		snprintf(advice->how, sizeof advice->how, "%s=%s", cairn_walk_variable(remedy->heap), how);
	else
		snprintf(advice->how, sizeof advice->how, "%s", how);
	advice->process = remedy->process;
	advice->group = remedy->group;
	advice->error = remedy->error;
	advice->at_most = remedy->at_most;
	say_effect(advice, remedy);
}

/* Advice without a remedy that could be predicted. */
static void advise_cause(struct cairn_causes *causes, const struct cairn_cause_facts *facts)
{
	static const double worth_saying = 0.1;
	char command[64];
	const char *what = NULL, *how = "";
	snprintf(command, sizeof command, facts->pid ? "cairn leaks %d" : "cairn leaks FOLDER", facts->pid);
	switch (causes->cause) {
	case CAIRN_CAUSE_GROWTH:
		what = "find out why these objects are not freed";
		how = command;
		break;
	case CAIRN_CAUSE_CACHE:
		what = "limit the cache, if its level is too high";
		how = command;
		break;
	case CAIRN_CAUSE_LIVE:
	case CAIRN_CAUSE_UNREAD:
		snprintf(command, sizeof command, facts->pid ? "cairn top %d" : "cairn top FOLDER", facts->pid);
		what = facts->sampled ? "see who holds them" : "attach Cairn, to see who allocates them";
		if (!facts->sampled)
			snprintf(command, sizeof command, "cairn attach %d", facts->pid);
		how = command;
		break;
	case CAIRN_CAUSE_BEFORE:
		what = "start the service under Cairn, to see who allocates them";
		how = "cairn run -- ./service";
		break;
	case CAIRN_CAUSE_THREADS: what = "use fewer threads, or end idle ones: what is kept for a thread goes with it"; break;
	case CAIRN_CAUSE_MAPPINGS:
		snprintf(command, sizeof command,
			 facts->pid ? "cairn top --mappings anonymous %d" : "cairn top --mappings anonymous FOLDER", facts->pid);
		what = "see who maps it";
		how = command;
		break;
	case CAIRN_CAUSE_VARIABLES:
		what = "see which variables are large";
		how = "nm --size-sort --print-size PROGRAM | tail";
		break;
	case CAIRN_CAUSE_FILES: what = "map less of files, or give what is no longer needed back with madvise(MADV_DONTNEED)"; break;
	case CAIRN_CAUSE_TMPFS: what = "remove files from /dev/shm and other tmpfs, or limit their size (mount option size=)"; break;
	case CAIRN_CAUSE_PAGE_CACHE:
		what = "nothing: the kernel drops page cache before a limit is exceeded; compare anonymous memory with the limit";
		break;
	default: break;
	}
	struct cairn_cause_advice *advice = what ? new_advice(causes) : NULL;
	if (advice) {
		snprintf(advice->what, sizeof advice->what, "%s", what);
		snprintf(advice->how, sizeof advice->how, "%s", how);
	}
	/* Of pins without a stack, which are in caches, nobody can be told. */
	if (facts->pin_count && facts->pins[0].stack[0] && facts->pins[0].bytes >= worth_saying * causes->pinned &&
	    causes->pinned >= worth_saying * causes->resident && (advice = new_advice(causes))) {
		char size[24];
		snprintf(advice->what, sizeof advice->what,
			 "allocate what %.200s allocates apart from short-lived objects (earlier, or from a pool): it keeps %s of free "
			 "memory",
			 facts->pins[0].name, cairn_text_human(facts->pins[0].bytes, size));
	}
	if (!facts->sampled && facts->pid && causes->pinned >= worth_saying * causes->resident && (advice = new_advice(causes))) {
		snprintf(advice->what, sizeof advice->what, "attach Cairn, to see which objects keep the free memory");
		snprintf(advice->how, sizeof advice->how, "cairn attach %d", facts->pid);
	}
}

void cairn_remedies_advise(struct cairn_causes *causes, const struct cairn_cause_facts *facts)
{
	static const double worth_saying = 0.02;
	struct cairn_remedy remedies[CAIRN_REMEDIES];
	size_t count = cairn_remedies_find(remedies, facts->walk, facts->huge, facts->drift);
	double error = 0;
	bool retention =
		causes->cause == CAIRN_CAUSE_RETENTION || causes->cause == CAIRN_CAUSE_THREADS || causes->cause == CAIRN_CAUSE_HUGE_PAGES;
	for (size_t i = 0; i < count; i++)
		if (remedies[i].kind == CAIRN_REMEDY_RETURN)
			error = hypot(error, remedies[i].error);
	causes->returnable_error = error;
	if (!retention)
		advise_cause(causes, facts);
	for (size_t i = 0; i < count; i++)
		if (remedies[i].process >= worth_saying * causes->resident)
			advise_remedy(causes, &remedies[i]);
	if (retention)
		advise_cause(causes, facts);
}
