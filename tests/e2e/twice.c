/* twice.c - a preloaded service that forks; in the child, one thread has its first sample, which starts the child's agent, and while that
 * thread is at it another calls cairn_start. Prints how many threads of that name the child has then: one agent has one.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_bool in_child, starting;
static int (*create)(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *argument);

/* The agent starts its thread by this. In the child it takes long enough for the other to come. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *argument)
{
	if (!create)
		*(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
	if (atomic_load(&in_child)) {
		atomic_store(&starting, true);
		usleep(300000);
	}
	return create(thread, attributes, routine, argument);
}

static void *allocate(void *context)
{
	static void *volatile kept;
	while (!atomic_load(&starting))
		free((kept = malloc(100000)));
	return context;
}

static int count_agents(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;
	for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
		char path[300], name[32] = "";
		snprintf(path, sizeof path, "/proc/self/task/%.200s/comm", entry->d_name);
		FILE *file = fopen(path, "r");
		count += file && fgets(name, sizeof name, file) && strcmp(name, "cairn\n") == 0;
		if (file)
			fclose(file);
	}
	return count;
}

static int run_child(void)
{
	bool (*start)(const void *options, char *error, size_t size);
	char error[256] = "";
	pthread_t thread;
	*(void **)&start = dlsym(RTLD_DEFAULT, "cairn_start");
	atomic_store(&in_child, true); /* the thread may start the agent at once */
	if (!start || create(&thread, NULL, allocate, NULL) != 0)
		return 1;
	while (!atomic_load(&starting))
		usleep(100);
	if (!start(NULL, error, sizeof error))
		printf("cairn_start fails: %s\n", error);
	usleep(500000); /* for a second agent to come up */
	printf("%d\n", count_agents());
	return 0;
}

int main(void)
{
	pthread_t thread;
	int status = 0;
	if (pthread_create(&thread, NULL, allocate, NULL) != 0) /* finds the real one */
		return 1;
	atomic_store(&starting, true);
	pthread_join(thread, NULL);
	atomic_store(&starting, false);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		status = run_child();
		fflush(stdout);
		_exit(status);
	}
	waitpid(child, &status, 0);
	return status != 0;
}
