/* object_test.c - a child forked while the loader's list is visited can use the loader, and nobody waits for ever; a file that is changed
 * while its symbols are read harms nobody.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/object.h"
#include "tap.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
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

/* The symbols of a copy of this program, at which somebody does something while they are read. */
struct symbols {
	int file;
	void (*at_first)(int file);
	int seen;
	uintptr_t last;
};

static bool see_symbol(void *context, const struct cairn_object *object, const char *name, uintptr_t address)
{
	struct symbols *symbols = context;
	(void)object, (void)name;
	symbols->last = address;
	if (symbols->seen++ == 0 && symbols->at_first)
		symbols->at_first(symbols->file);
	return false;
}

static bool take_program(void *context, const struct cairn_object *object)
{
	*(struct cairn_object *)context = *object;
	return true;
}

static void cut(int file)
{
	ok(ftruncate(file, 100) == 0, "the file is cut short");
}

static void write_again(int file)
{
	char byte = 0;
	ok(pread(file, &byte, 1, 0) == 1 && pwrite(file, &byte, 1, 0) == 1, "the file is written to");
}

/* Reads the functions whose names end in SUFFIX in a copy of this program without its last CUT_OFF bytes. */
static struct symbols read_symbols(const char *suffix, void (*at_first)(int file), size_t cut_off)
{
	static char bytes[1 << 16];
	char path[] = "/tmp/object_test.XXXXXX";
	struct cairn_object object = {0};
	struct symbols symbols = {mkstemp(path), at_first, 0, 0};
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	for (ssize_t length; (length = read(self, bytes, sizeof bytes)) > 0;)
		if (write(symbols.file, bytes, (size_t)length) != length)
			ok(false, "copied");
	if (ftruncate(symbols.file, lseek(symbols.file, 0, SEEK_END) - (off_t)cut_off) != 0)
		ok(false, "cut");
	futimens(symbols.file, (struct timespec[]){{1, 0}, {1, 0}}); /* two changes within a tick of the kernel's clock have one time */
	close(self);
	cairn_objects_visit(take_program, &object);
	object.path = path;
	cairn_object_local(&object, suffix, see_symbol, &symbols);
	close(symbols.file);
	unlink(path);
	return symbols;
}

static void test_file(void)
{
	struct symbols one = read_symbols("test_other_thread", NULL, 0), all = read_symbols("", NULL, 0);
	is_int(one.seen, 1, "a function that is not exported is found in the file");
	ok(one.last == (uintptr_t)test_other_thread, "at its address");
	is_int(read_symbols("test_other_thing", NULL, 0).seen, 0, "a name that is not there is not found");
	ok(all.seen > 20, "every name ends in nothing: %d functions", all.seen);
	is_int(read_symbols("", NULL, 4096).seen, 0, "without the end of its sections the file has no names");
	int beside = read_symbols("", cut, 0).seen;
	ok(beside >= 1 && beside < all.seen, "a file that is cut short meanwhile ends the search, after %d", beside);
	beside = read_symbols("", write_again, 0).seen;
	ok(beside >= 1 && beside < all.seen, "and so does one that is written to, after %d", beside);
}

int main(void)
{
	alarm(600); /* for a wait that does not end */
	test_fork();
	test_handlers();
	test_other_thread();
	test_file();
	return tap_done();
}
