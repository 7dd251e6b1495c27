/* busy.c - a program with a known split of its work: two busy threads, alpha and beta, spend three parts in `three` and one in
 * `one`; a third waits. With an argument it also profiles itself by SIGPROF and, told by SIGTERM, prints how many of those it got.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static volatile unsigned long sink;
static volatile sig_atomic_t ticks, foreign, stop;

__attribute__((noinline)) static void spin(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		sink = sink + i;
}

__attribute__((noinline)) static void three(void)
{
	spin(1500000);
	__asm__ volatile("");
}

__attribute__((noinline)) static void one(void)
{
	spin(500000);
	__asm__ volatile("");
}

static void *work(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (unsigned round = 1; !stop; round++) {
		three();
		one();
		if (round % 8 == 0)
			usleep(48000); /* so that the machine has time for others; seldom, since it takes some itself */
	}
	return NULL;
}

static void *wait_for_ever(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (;;)
		pause();
}

static void tick(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	if (info->si_code == SI_TIMER)
		foreign++;
	else
		ticks++;
}

static void end(int number)
{
	(void)number;
	stop = 1;
}

int main(int count, char **arguments)
{
	pthread_t threads[3];
	void *volatile block = malloc(100);
	free(block);
	(void)arguments;
	signal(SIGTERM, end);
	if (count > 1) {
		struct sigaction action = {.sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART};
		sigaction(SIGPROF, &action, NULL);
		setitimer(ITIMER_PROF, &(struct itimerval){{0, 20000}, {0, 20000}}, NULL);
	}
	pthread_create(&threads[0], NULL, work, "alpha");
	pthread_create(&threads[1], NULL, work, "beta");
	pthread_create(&threads[2], NULL, wait_for_ever, "idle");
	while (!stop) /* any thread may have been given the signal */
		usleep(10000);
	printf("%d own, %d foreign\n", (int)ticks, (int)foreign);
	return 0;
}
