/* object_test.c - a child forked while the loader's list is visited can use the loader, and nobody waits for ever.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/object.h"
#include "tap.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { limit_seconds = 20 };

static atomic_int visiting;

static bool dawdle(void *context, const struct cairn_object *object)
{
	(void)context, (void)object;
	visiting = 1;
	nanosleep(&(struct timespec){0, 20000000}, NULL);
	return true;
}

static void *visit(void *context)
{
	cairn_objects_visit(dawdle, NULL);
	return context;
}

static int see_one(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)info, (void)size, (void)context;
	return 1;
}

/* Fork handlers of the host, which run while the agent's say that a fork is under way: registered before them, the first runs after the
 * agent's first, and the second before its second. */
static int visits_before, visits_after;

static void visit_before(void)
{
	visits_before = (cairn_loader_visit(see_one, NULL) == 1) + cairn_loader_try_visit(see_one, NULL);
}

static void visit_after(void)
{
	visits_after = (cairn_loader_visit(see_one, NULL) == 1) + cairn_loader_try_visit(see_one, NULL);
}

static void test_handlers(void)
{
	int status = -1;
	visits_before = visits_after = 0;
	pid_t child = tap_fork();
	if (child == 0)
		syscall(SYS_exit_group, cairn_loader_try_visit(see_one, NULL) ? 0 : 1);
	waitpid(child, &status, 0);
	is_int(status, 0, "after a fork the child visits");
	is_int(visits_before, 2, "a handler before the fork visits without waiting for its own fork");
	is_int(visits_after, 2, "and so does one after it");
}

/* A thread that stays in its fork as long as it is wanted to. */
static atomic_int fork_is_on, fork_may_end;

static void *stay_in_fork(void *context)
{
	cairn_loader_before_fork();
	fork_is_on = 1;
	while (!fork_may_end)
		nanosleep(&(struct timespec){0, 100000}, NULL);
	cairn_loader_after_fork();
	return context;
}

static void test_other_thread(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, stay_in_fork, NULL);
	while (!fork_is_on)
		nanosleep(&(struct timespec){0, 100000}, NULL);
	ok(!cairn_loader_try_visit(see_one, NULL), "while another thread forks, a thread that must not wait visits nothing");
	is_int(cairn_loader_visit(see_one, NULL), 1, "and one that may wait does so only for a time");
	fork_may_end = 1;
	pthread_join(thread, NULL);
	ok(cairn_loader_try_visit(see_one, NULL), "after that fork it visits");
}

static void test_fork(void)
{
	pthread_t thread;
	int status = 0;
	pthread_atfork(visit_before, visit_after, NULL);
	pthread_atfork(cairn_loader_before_fork, cairn_loader_after_fork, cairn_loader_in_child);
	pthread_create(&thread, NULL, visit, NULL);
	while (!visiting)
		nanosleep(&(struct timespec){0, 100000}, NULL);
	pid_t child = tap_fork();
	if (child == 0) {
		alarm(limit_seconds);
		dl_iterate_phdr(see_one, NULL);
		bool good = cairn_loader_visit(see_one, NULL) == 1 && dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
		syscall(SYS_exit_group, good ? 0 : 1); /* a sanitizer would miss the parent's thread at _exit */
	}
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child forked during a visit uses the loader");
	pthread_join(thread, NULL);
	is_int(cairn_loader_visit(see_one, NULL), 1, "and so does the parent afterwards");
}

int main(void)
{
	alarm(600); /* for a wait that does not end */
	test_fork();
	test_handlers();
	test_other_thread();
	return tap_done();
}
