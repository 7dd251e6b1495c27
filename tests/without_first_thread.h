/* without_first_thread.h - a process whose first thread has ended while others go on, as some services are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_WITHOUT_FIRST_THREAD_H
#define CAIRN_TESTS_WITHOUT_FIRST_THREAD_H

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void *check_later(void *context)
{
	bool (*const *check)(void) = context;
	usleep(100000); /* the first thread is gone by then */
	_exit(!(*check)());
}

/* Whether CHECK holds in such a process. */
static bool holds_without_first_thread(bool (*check)(void))
{
	static bool (*shared)(void); /* outlives the first thread's stack */
	shared = check;
	pid_t child = fork();
	if (child == 0) {
		pthread_t thread;
		pthread_create(&thread, NULL, check_later, &shared);
		pthread_exit(NULL);
	}
	int status = -1;
	return waitpid(child, &status, 0) == child && status == 0;
}

#endif
