/* growth-host.c - what growth.py measures, and measures with.
 *
 *   growth-host peak COMMAND...   runs it, passes SIGTERM on, and ends with its code; the last line is its peak memory in kB. Whoever starts a
 *                                 command from a larger process sees the peak of that process
 *   growth-host sampled COUNT     as many processes that have allocated 10 MB; "ready" once they have
 *   growth-host load FOLDER COUNT loads as many libraries, FOLDER/N.so, and calls a function of each
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;
static pid_t child;

static void pass_on(int signal)
{
	kill(child, signal);
}

static int measure_peak(char **command)
{
	int status;
	struct rusage used;
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(command[0], command);
		_exit(127);
	}
	signal(SIGTERM, pass_on);
	while (wait4(child, &status, 0, &used) != child)
		;
	printf("\n%ld\n", used.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int start_sampled(int count)
{
	int done[2];
	char byte;
	if (pipe(done) != 0)
		return 1;
	for (int i = 0; i < count; i++) {
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (int k = 0; k < 1000; k++)
				kept = malloc(10000);
			close(done[0]);
			(void)!write(done[1], "", 1);
			pause();
		}
	}
	for (int i = 0; i < count; i++)
		if (read(done[0], &byte, 1) != 1)
			return 1;
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}

static int load(const char *folder, int count)
{
	for (int i = 0; i < count; i++) {
		char path[4096];
		snprintf(path, sizeof path, "%s/%d.so", folder, i);
		void *library = dlopen(path, RTLD_NOW);
		void *(*function)(void) = library ? (void *(*)(void))dlsym(library, "allocate") : NULL;
		if (!function || !(kept = function()))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	if (strcmp(mode, "peak") == 0)
		return measure_peak(argv + 2);
	if (strcmp(mode, "sampled") == 0)
		return start_sampled(atoi(argv[2]));
	return strcmp(mode, "load") == 0 && argc > 3 ? load(argv[2], atoi(argv[3])) : 2;
}
