/* waits.c - a service that must have one thread: it says how many it has whenever it has allocated, and at the end makes a user namespace,
 * which the kernel refuses a process with two. It forks a child and executes itself once, and both do the same.
 *
 * waits FOLDER [again]: after each step, it waits for a file of that name in FOLDER: "parent", "child" or "again".
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder;

static int count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;
	for (struct dirent *entry; tasks && (entry = readdir(tasks));)
		count += entry->d_name[0] != '.';
	closedir(tasks);
	return count;
}

__attribute__((noinline)) static void hold(const char *who, int megabytes)
{
	for (int i = 0; i < megabytes; i++)
		memset(malloc(1 << 20), 1, 1 << 20);
	printf("%s %d holds %d MiB with %d thread%s\n", who, getpid(), megabytes, count_threads(), count_threads() == 1 ? "" : "s");
	fflush(stdout);
}

static void wait_for(const char *name)
{
	char path[300];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	while (access(path, F_OK) != 0)
		usleep(20000);
}

static void finish(const char *who)
{
	printf("%s %s\n", who, unshare(CLONE_NEWUSER) == 0 ? "is alone" : "is not alone");
	fflush(stdout);
}

int main(int count, char **arguments)
{
	folder = arguments[1];
	if (count > 2) {
		hold("again", 20);
		wait_for("again");
		finish("again");
		return 0;
	}
	hold("parent", 30);
	pid_t child = fork();
	if (child == 0) {
		usleep(250000); /* a child is sampled from then on */
		hold("child", 20);
		wait_for("child");
		finish("child");
		return 0;
	}
	waitpid(child, NULL, 0);
	wait_for("parent");
	pid_t other = fork();
	if (other == 0)
		return execl("/proc/self/exe", arguments[0], folder, "again", (char *)NULL);
	waitpid(other, NULL, 0);
	finish("parent");
	return 0;
}
