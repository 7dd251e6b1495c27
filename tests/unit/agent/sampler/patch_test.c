/* patch_test.c - libraries that are loaded while relocations are pointed at the hooks: how much is looked at, and that none is missed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/patch.h"

#include "agent/sampler/hooks.h"
#include "agent/sampler/sample.h"
#include "agent/unwind/object.h"
#include "loadable.h"
#include "tap.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { copies = 300, rounds = 40, threads = 4 };

static char folder[] = "/tmp/cairn-patch-XXXXXX", original[512];
static void *handles[copies];

/* The path of copy NUMBER, which is made. */
static char *copy_path(int number)
{
	static _Thread_local char path[64];
	char command[1024];
	snprintf(path, sizeof path, "%s/%d.so", folder, number);
	snprintf(command, sizeof command, "cp '%s' '%s'", original, path);
	if (access(path, F_OK) != 0 && system(command) != 0)
		abort();
	return path;
}

static void *find(void *handle, const char *name)
{
	return handle ? dlsym(handle, name) : NULL;
}

/* Whether the calls of the library, through the relocation that was bound when it was loaded and the one that is not bound yet, lead to
 * the hooks. */
static bool is_hooked(void *handle)
{
	void *(*(*get_malloc)(void))(size_t) = (void *(*(*)(void))(size_t))(uintptr_t)find(handle, "loadable_malloc");
	void *(*allocate)(size_t) = (void *(*)(size_t))(uintptr_t)find(handle, "loadable_calloc");
	if (!get_malloc || !allocate)
		return false;
	cairn_local()->countdown = 1 << 20;
	free(allocate(1000));
	return (uintptr_t)get_malloc() == (uintptr_t)cairn_hook_entries[0].hook && cairn_local()->countdown <= (1 << 20) - 1000;
}

struct work {
	uint64_t relocations, objects;
};

static struct work work_now(void)
{
	struct work work;
	cairn_patch_work(&work.relocations, &work.objects);
	return work;
}

static struct work work_since(struct work before)
{
	struct work now = work_now();
	return (struct work){now.relocations - before.relocations, now.objects - before.objects};
}

static void test_many(void)
{
	struct work before = {0}, first = {0}, last = {0};
	int hooked = 0, done = 0;
	for (int i = 0; i < copies; i++) {
		if (i == 1 || i == copies - 100)
			before = work_now();
		handles[i] = dlopen(copy_path(i), RTLD_LAZY);
		done += cairn_patch_try(NULL);
		hooked += is_hooked(handles[i]);
		if (i == 100)
			first = work_since(before);
	}
	last = work_since(before);
	ok(done == copies && hooked == copies, "all of %d libraries are changed as they are loaded: %d", copies, hooked);
	ok(first.relocations > 0 && last.relocations == first.relocations, "the last hundred take the work of the first: %llu and %llu relocations",
	   (unsigned long long)last.relocations, (unsigned long long)first.relocations);
	ok(last.objects == 100, "and no other object is looked at: %llu", (unsigned long long)last.objects);
	before = work_now();
	struct cairn_patch_counts counts;
	cairn_patch_apply(true, &counts);
	ok(work_since(before).relocations < 100000 && counts.objects > copies && counts.slots >= 3 * copies,
	   "all of them are counted: %u relocations of %u objects, %u pending", counts.slots, counts.objects, counts.pending);
	before = work_now();
	dlopen(copy_path(0), RTLD_LAZY);
	cairn_patch_try(NULL);
	ok(work_since(before).relocations == 0, "nothing is looked at where a library was there already");
	dlclose(handles[0]);
}

/* Libraries that are loaded beside one of 50,000 relocations. */
static void test_beside_large(void)
{
	enum { large = 50000, some = 20, first = 2000 };
	char path[sizeof original + 8];
	void *small[some];
	snprintf(path, sizeof path, "%.*s-many.so", (int)(strlen(original) - strlen(".so")), original);
	struct work before = work_now(), work;
	void *handle = dlopen(path, RTLD_LAZY);
	ok(cairn_patch_try(NULL) && is_hooked(handle), "a library of many relocations is changed");
	work = work_since(before);
	ok(work.relocations >= large && work.relocations < large + 200, "each is looked at once: %llu",
	   (unsigned long long)work.relocations);
	before = work_now();
	for (int i = 0; i < some; i++) {
		small[i] = dlopen(copy_path(first + i), RTLD_LAZY);
		cairn_patch_try(NULL);
	}
	for (int i = 0; i < some; i++) {
		ok(is_hooked(small[i]), "library %d beside it is changed", i + 1);
		dlclose(small[i]);
	}
	work = work_since(before);
	ok(work.relocations < some * 200 && work.objects == some,
	   "and those of the large one are not looked at again: %llu relocations of %llu objects",
	   (unsigned long long)work.relocations, (unsigned long long)work.objects);
	dlclose(handle);
}

/* Another library at the same place: the last one, one in the middle, and two for one. */
static void test_replaced(void)
{
	int hooked = 0, same = 0;
	struct work before = work_now();
	for (int i = 0; i < rounds; i++) {
		int place = i % 4 < 2 ? copies - 1 : copies / 2;
		uintptr_t address = (uintptr_t)find(handles[place], "loadable_malloc");
		dlclose(handles[place]);
		handles[place] = dlopen(copy_path(copies + i), RTLD_LAZY);
		same += (uintptr_t)find(handles[place], "loadable_malloc") == address;
		cairn_patch_try(NULL);
		hooked += is_hooked(handles[place]);
	}
	ok(hooked == rounds && same > 0, "%d of %d libraries in the place of another are changed (%d at the same address)", hooked, rounds, same);
	struct work work = work_since(before);
	ok(work.relocations < rounds * 200, "only their relocations are looked at: %llu", (unsigned long long)work.relocations);
	dlclose(handles[1]);
	dlclose(handles[2]);
	handles[1] = dlopen(copy_path(1000), RTLD_LAZY);
	handles[2] = dlopen(copy_path(1001), RTLD_LAZY);
	void *other = dlopen(copy_path(1002), RTLD_LAZY);
	dlclose(other);
	cairn_patch_try(NULL);
	ok(is_hooked(handles[1]) && is_hooked(handles[2]), "two in the place of two, after a third came and went");
}

static void test_namespace(void)
{
	void *apart = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
	void *handle = dlopen(copy_path(2000), RTLD_LAZY);
	struct work before = work_now();
	cairn_patch_try(NULL);
	ok(is_hooked(handle), "a library that is loaded after another namespace is changed");
	dlclose(handle);
	if (apart)
		dlclose(apart);
	handle = dlopen(copy_path(2001), RTLD_LAZY);
	cairn_patch_try(NULL);
	ok(is_hooked(handle), "and after that is gone");
	ok(work_since(before).relocations < 1000, "for the work of two");
}

/* The loader calls this while it relocates the library. */
static struct work in_between;
static bool was_done;

static void try_meanwhile(void)
{
	struct work before = work_now();
	was_done = cairn_patch_try(NULL);
	in_between = work_since(before);
}

static void test_incomplete(void)
{
	void (**function)(void) = LOADABLE_PAGE;
	*function = try_meanwhile;
	void *handle = dlopen(copy_path(3000), RTLD_LAZY);
	*function = NULL;
	ok(in_between.relocations > 0 && !was_done, "a library that is being loaded is not done");
	ok(cairn_patch_try(NULL) && is_hooked(handle), "and is changed when it is");
}

static void *load_and_unload(void *argument)
{
	int first = *(int *)argument, bad = 0;
	for (int i = 0; i < rounds; i++) {
		void *handle = dlopen(copy_path(first + i), RTLD_LAZY);
		cairn_patch_try(NULL);
		if (i % 3)
			dlclose(handle);
		bad += !handle;
	}
	return bad ? argument : NULL;
}

static void test_threads(void)
{
	pthread_t ids[threads];
	int firsts[threads], bad = 0, hooked = 0, all = 0;
	for (int i = 0; i < threads; i++) {
		firsts[i] = 4000 + i * rounds;
		for (int j = 0; j < rounds; j++)
			copy_path(firsts[i] + j);
	}
	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, load_and_unload, &firsts[i]);
	for (int i = 0; i < threads; i++) {
		void *result;
		pthread_join(ids[i], &result);
		bad += result != NULL;
	}
	cairn_patch_apply(true, NULL); /* where a thread found another at it */
	for (int i = 0; i < threads; i++)
		for (int j = 0; j < rounds; j += 3, all++)
			hooked += is_hooked(dlopen(copy_path(firsts[i] + j), RTLD_LAZY | RTLD_NOLOAD));
	ok(bad == 0 && hooked == all, "threads that load and unload at once: %d of %d libraries are changed", hooked, all);
}

static void test_fork(void)
{
	pid_t child = fork();
	if (child == 0) {
		cairn_patch_in_child();
		void *handle = dlopen(copy_path(5000), RTLD_LAZY);
		struct work before = work_now();
		bool good = cairn_patch_try(NULL) && is_hooked(handle) && work_since(before).relocations < 1000;
		_exit(!good);
	}
	int status = -1;
	waitpid(child, &status, 0);
	ok(status == 0, "a forked child goes on with what is known");
}

static void test_restore(void)
{
	struct cairn_patch_counts counts;
	ok(cairn_patch_apply(false, &counts) && counts.slots == 0 && !is_hooked(handles[5]), "all are put back");
	ok(cairn_patch_apply(true, &counts) && is_hooked(handles[5]) && is_hooked(handles[1]), "and changed again");
	cairn_patch_apply(false, NULL);
}

int main(void)
{
	struct cairn_error error;
	ssize_t length = readlink("/proc/self/exe", original, sizeof original - 20);
	while (length > 0 && original[length - 1] != '/')
		length--;
	memcpy(original + length, "loadable.so", sizeof "loadable.so");
	mmap(LOADABLE_PAGE, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	ok(mkdtemp(folder) && cairn_patch_prepare(&error) && cairn_patch_apply(true, NULL), "the allocator is found");
	test_many();
	test_beside_large();
	test_replaced();
	test_namespace();
	test_incomplete();
	test_threads();
	test_fork();
	test_restore();
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command) == 0 ? tap_done() : 1;
}
