/* remedy_test.c - a trial restores each setting as it was, whoever ends it, and nothing is tried in another process's place.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/route.h"
#include "agent/work/agent.h"
#include "base/condition.h"
#include "base/pages.h"
#include "tap.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>

/* A jemalloc whose second arena was not made yet. */
enum { arenas = 4, kinds = 2, missing = 1 };
static ssize_t defaults[kinds], decays[arenas][kinds];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static int mallctl(const char *name, void *old, size_t *old_size, void *set, size_t set_size)
{
	int arena = -1;
	char kind[8] = "";
	ssize_t *decay = NULL;
	if (strcmp(name, "arenas.narenas") == 0) {
		*(unsigned *)old = arenas;
		return 0;
	}
	if (sscanf(name, "arenas.%7[a-z]_decay_ms", kind) == 1)
		decay = &defaults[strcmp(kind, "muzzy") == 0];
	else if (sscanf(name, "arena.%d.%7[a-z]_decay_ms", &arena, kind) == 2 && arena < arenas && arena != missing)
		decay = &decays[arena][strcmp(kind, "muzzy") == 0];
	if (!decay || (old && *old_size != sizeof *decay) || (set && set_size != sizeof *decay))
		return ENOENT;
	pthread_mutex_lock(&mutex);
	if (old)
		*(ssize_t *)old = *decay;
	if (set)
		*decay = *(ssize_t *)set;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	return 0;
}

/* Allocators inside the program: names that its dynamic symbols do not have. */
static unsigned collected, prefixed, in_parts, released, objects;
void mi_collect(bool force);
void *mi_malloc(size_t size);
void mi_free(void *object);
void arrow_mi_collect(bool force);
void *arrow_mi_malloc(size_t size);
void arrow_mi_free(void *object);
void heap_mi_collect(bool force);
void rust_mi_thread_init(void);
void rust_mi_theap_collect(void *theap, bool force);
void *rust__mi_theap_default_safe(void);
void MallocExtension_ReleaseFreeMemory(void);

void mi_collect(bool force)
{
	collected += force && objects == 1; /* the thread has a heap by now */
}

void *mi_malloc(size_t size)
{
	objects++;
	return size ? &objects : NULL;
}

void mi_free(void *object)
{
	objects += object != &objects;
}

void arrow_mi_collect(bool force)
{
	prefixed += force;
}

void *arrow_mi_malloc(size_t size)
{
	return size ? &prefixed : NULL;
}

void arrow_mi_free(void *object)
{
	prefixed += object != &prefixed;
}

/* No allocator: nothing else has its prefix. */
void heap_mi_collect(bool force)
{
	collected += 100 + force;
}

/* Version 3 without what the program does not call. */
void rust_mi_thread_init(void)
{
	in_parts++;
}

void *rust__mi_theap_default_safe(void)
{
	return in_parts == 1 ? &in_parts : NULL;
}

void rust_mi_theap_collect(void *theap, bool force)
{
	in_parts += force && theap == &in_parts;
}

void MallocExtension_ReleaseFreeMemory(void)
{
	released++;
}

static void begin(void)
{
	defaults[0] = 10000;
	defaults[1] = 0;
	for (int i = 0; i < arenas; i++)
		for (int k = 0; k < kinds; k++)
			decays[i][k] = i == missing ? 77 : i == 2 ? -1 : 100 * i + k;
}

static bool is_as_before(void)
{
	bool good = defaults[0] == 10000 && defaults[1] == 0;
	for (int i = 0; i < arenas; i++)
		for (int k = 0; k < kinds; k++)
			good = good && decays[i][k] == (i == missing ? 77 : i == 2 ? -1 : 100 * i + k);
	return good;
}

static bool is_set(ssize_t value)
{
	bool good = defaults[0] == value && defaults[1] == value;
	for (int i = 0; i < arenas; i++)
		for (int k = 0; k < kinds; k++)
			good = good && decays[i][k] == (i == missing ? 77 : value);
	return good;
}

/* The status of the answer, which is in TEXT. */
static int ask(const char *query, char text[500])
{
	struct cairn_request request = {.query = cairn_bytes_of(query)};
	struct cairn_response response = {.body = cairn_pages(4096)};
	struct cairn_call call = {.agent = &cairn_agent, .request = &request, .response = &response};
	cairn_control_remedy(&call);
	int status = response.status;
	snprintf(text, 500, "%.*s", (int)response.body.length, response.body.data);
	cairn_response_free(&response);
	return status;
}

static void test_decay(void)
{
	char text[500];
	begin();
	is_int(ask("call=decay&value=0&restore_after_ms=3600000", text), 200, "a decay time is set");
	ok(is_set(0) && strstr(text, "\"restores\":true"), "in all arenas that there are, and will be restored: %s", text);
	is_int(ask("call=restore", text), 200, "it is restored");
	ok(is_as_before(), "in each arena and for each kind to what it was");
	is_int(ask("call=restore", text), 200, "again");
	ok(is_as_before(), "changes nothing");
	ask("call=decay&value=5&restore_after_ms=3600000", text);
	ask("call=decay&value=6&restore_after_ms=3600000", text);
	ok(is_set(6), "a second trial");
	ask("call=restore", text);
	ok(is_as_before(), "does not take the first one's setting for the service's");
}

static void test_purge(void)
{
	char text[500];
	objects = 0;
	is_int(ask("call=purge", text), 200, "allocators that only .symtab names are purged: %s", text);
	is_int(collected, 1, "mimalloc, after the thread has a heap");
	is_int(prefixed, 1, "another with a prefix");
	is_int(in_parts, 2, "one of which the linker has left out mi_collect, by what that consists of");
	is_int(released, 1, "and tcmalloc, in the same program");
	ok(strstr(text, "mi_collect(true)") && strstr(text, "arrow_mi_collect(true)") &&
		   strstr(text, "rust_mi_theap_collect(true)") &&
		   strstr(text, "MallocExtension_ReleaseFreeMemory()"),
	   "which is said");
}

static void test_deadline(void)
{
	char text[500];
	begin();
	ask("call=decay&value=7&restore_after_ms=1", text);
	pthread_mutex_lock(&mutex);
	while (!is_as_before())
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	ok(true, "a setting whose command is gone is restored when its time is up");
	ask("call=decay&value=7&restore_after_ms=3600000", text);
	ok(is_set(7), "another");
	cairn_work_stop(&cairn_agent.work);
	ok(is_as_before(), "is restored when the agent ends");
	is_int(ask("call=decay&value=8", text), 501, "an agent that ends tries nothing");
	ok(is_as_before(), "and changes nothing");
	cairn_work_open(&cairn_agent.work, NULL);
}

static void test_huge_pages(void)
{
	char text[500];
	int before = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
	is_int(ask("call=thp&value=1&restore_after_ms=3600000", text), 200, "huge pages are switched off");
	is_int(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), 1, "in the kernel");
	ask("call=restore", text);
	is_int(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), before, "and allowed again");
}

static void test_refusals(void)
{
	static const char *const all[] = {"trim", "purge", "decay", "arenas", "mmap-threshold", "thp"};
	static const struct cairn_engine engine;
	char text[500], query[64];
	begin();
	is_int(ask("call=magic", text), 501, "an unknown call");
	cairn_agent.beside = &engine;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		snprintf(query, sizeof query, "call=%s&value=1", all[i]);
		ok(ask(query, text) == 501 && strstr(text, "is a process beside it"), "%s in a companion is refused", all[i]);
	}
	cairn_agent.beside = NULL;
	ok(is_as_before() && prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0, "and nothing has changed");
}

int main(void)
{
	cairn_work_open(&cairn_agent.work, NULL);
	cairn_agent.profiler.jemalloc.mallctl = mallctl;
	test_decay();
	test_purge();
	test_deadline();
	test_huge_pages();
	test_refusals();
	cairn_work_stop(&cairn_agent.work);
	return tap_done();
}
