/* object_test.c - a child forked while the loader's list is visited can use the loader.
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

static void test_fork(void)
{
	pthread_t thread;
	int status = 0;
	pthread_atfork(cairn_loader_before_fork, cairn_loader_after_fork, cairn_loader_in_child);
	pthread_create(&thread, NULL, visit, NULL);
	while (!visiting)
		nanosleep(&(struct timespec){0, 100000}, NULL);
	pid_t child = fork();
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
	test_fork();
	return tap_done();
}
