/* proc_list_test.c - all processes and threads that there are, and none that there are not.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/proc_list.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { threads_count = 300 }; /* more than one call of the kernel lists */

static pthread_barrier_t all_there, may_end;
static int tids[threads_count];

static void *wait_in_list(void *tid)
{
	*(int *)tid = (int)syscall(SYS_gettid);
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&may_end);
	return NULL;
}

static bool has(struct cairn_proc_list *list, int wanted)
{
	bool found = false;
	for (int id; (id = cairn_proc_list_next(list));)
		found |= id == wanted;
	return found;
}

static void test_threads(void)
{
	struct cairn_proc_list list;
	pthread_t threads[threads_count];
	pthread_barrier_init(&all_there, NULL, threads_count + 1);
	pthread_barrier_init(&may_end, NULL, threads_count + 1);
	for (int i = 0; i < threads_count; i++)
		if (pthread_create(&threads[i], NULL, wait_in_list, &tids[i]) != 0)
			abort();
	pthread_barrier_wait(&all_there);
	ok(cairn_proc_list_threads(&list, getpid()), "our threads, by PID");
	int count = 0;
	while (cairn_proc_list_next(&list))
		count++;
	ok(count > threads_count, "are all there"); /* a sanitizer may have one more */
	int seen = 0;
	cairn_proc_list_threads(&list, 0);
	for (int tid; (tid = cairn_proc_list_next(&list));)
		for (int i = 0; i < threads_count; i++)
			seen += tids[i] == tid;
	is_int(seen, threads_count, "each once with its ID, also without our PID");
	pthread_barrier_wait(&may_end);
	for (int i = 0; i < threads_count; i++)
		pthread_join(threads[i], NULL);
}

static void test_processes(void)
{
	struct cairn_proc_list list;
	pid_t child = tap_fork();
	if (child == 0)
		for (;;)
			pause();
	ok(cairn_proc_list_processes(&list) && has(&list, getpid()), "we are in the list of processes");
	ok(cairn_proc_list_processes(&list) && has(&list, child), "so is a child");
	ok(cairn_proc_list_threads(&list, child) && cairn_proc_list_next(&list) == child, "its first thread has its number");
	ok(!has(&list, getpid()), "and ours are not its own");
	is_int(cairn_proc_list_next(&list), 0, "behind the end is nothing");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ok(cairn_proc_list_processes(&list) && !has(&list, child), "one that has ended is not in it");
	ok(!cairn_proc_list_threads(&list, child) && cairn_proc_list_next(&list) == 0, "and has no threads");
}

static int lowest_free(void)
{
	int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(descriptor);
	return descriptor;
}

static void test_close(void)
{
	struct cairn_proc_list list;
	int before = lowest_free();
	cairn_proc_list_processes(&list);
	ok(lowest_free() != before, "a list has a descriptor");
	cairn_proc_list_next(&list);
	cairn_proc_list_close(&list);
	int reused = open("/dev/null", O_RDONLY | O_CLOEXEC);
	cairn_proc_list_close(&list);
	ok(reused == before && fcntl(reused, F_GETFD) >= 0, "closed again, it leaves alone who has its number now");
	close(reused);
	is_int(cairn_proc_list_next(&list), 0, "a closed list has nothing more");
	cairn_proc_list_processes(&list);
	has(&list, 0);
	is_int(lowest_free(), before, "lists that were closed, or read to their end, have none");
}

int main(void)
{
	test_threads();
	test_processes();
	test_close();
	return tap_done();
}
