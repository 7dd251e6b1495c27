/* forks.c - a pre-forking server for tests of the agent: what a child costs, and what it may still do.
 *
 * forks count N MILLISECONDS: forks N children one after another, each of which sleeps and ends; prints what one cost.
 * forks tree CHILDREN MEBIBYTES: keeps that much itself, forks CHILDREN that keep as much each, and one that stays idle; prints
 *   their PIDs. All end when standard input does.
 * forks unshare: a forked child makes a user namespace, which only a process of one thread may; prints what came of it.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *kept[1 << 12];

__attribute__((noinline)) static void keep(size_t mebibytes)
{
	for (size_t i = 0; i < mebibytes * 16 && i < sizeof kept / sizeof *kept; i++)
		kept[i] = memset(malloc(65536), 1, 65536);
}

static double seconds_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_seconds(int who)
{
	struct rusage usage;
	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int threads_now(void)
{
	int count = 0;
	DIR *tasks = opendir("/proc/self/task");
	for (struct dirent *entry; tasks && (entry = readdir(tasks));)
		count += entry->d_name[0] != '.';
	if (tasks)
		closedir(tasks);
	return count;
}

/* Kibibytes of pages that are this process's alone. */
static long own_memory(void)
{
	char line[200];
	long sum = 0, part;
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "Private_Dirty: %ld", &part) == 1)
			sum += part;
	if (file)
		fclose(file);
	return sum;
}

static int count_cost(int count, int milliseconds)
{
	int ends[2];
	struct {
		long memory;
		int threads;
	} told = {0, 0};
	double began = seconds_now(), own = cpu_seconds(RUSAGE_SELF), children = cpu_seconds(RUSAGE_CHILDREN);
	if (pipe(ends) != 0)
		return 1;
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			usleep((useconds_t)milliseconds * 1000);
			if (i == count - 1) {
				told.threads = threads_now();
				told.memory = own_memory();
				(void)!write(ends[1], &told, sizeof told);
			}
			_exit(0);
		}
		if (milliseconds == 0)
			waitpid(pid, NULL, 0);
	}
	while (wait(NULL) > 0)
		;
	(void)!read(ends[0], &told, sizeof told);
	double cpu = cpu_seconds(RUSAGE_SELF) - own + cpu_seconds(RUSAGE_CHILDREN) - children;
	printf("%d forks, %.0f a second; CPU time of one: %.3f ms; the last had %d threads and %ld KiB of its own\n", count,
	       count / (seconds_now() - began), cpu / count * 1000, told.threads, told.memory);
	return 0;
}

static int keep_tree(int children, int mebibytes)
{
	char byte;
	usleep(1000000); /* the agent of this process is up by then */
	keep((size_t)mebibytes);
	for (int i = 0; i <= children; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			for (int again = 0; again < 20 && i < children; again++) {
				usleep(50000);
				keep((size_t)mebibytes / 20 + 1);
			}
			while (read(STDIN_FILENO, &byte, 1) > 0)
				;
			_exit(0);
		}
		printf("%s %d\n", i < children ? "child" : "idle", pid);
	}
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}

static int make_namespace(void)
{
	int status;
	usleep(300000);
	pid_t pid = fork();
	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
	waitpid(pid, &status, 0);
	printf("%s\n", status == 0 ? "unshared" : strerror(WEXITSTATUS(status)));
	return status != 0;
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "";
	if (strcmp(what, "count") == 0 && count == 4) {
		keep(16);
		return count_cost(atoi(arguments[2]), atoi(arguments[3]));
	}
	if (strcmp(what, "tree") == 0 && count == 4)
		return keep_tree(atoi(arguments[2]), atoi(arguments[3]));
	if (strcmp(what, "unshare") == 0)
		return make_namespace();
	fprintf(stderr, "forks count|tree|unshare\n");
	return 2;
}
