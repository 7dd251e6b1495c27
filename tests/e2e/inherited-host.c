/* inherited-host.c - allocates 50 MB and forks a child, which frees half of them and allocates 30 MB of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { inherited = 50000, own = 30000 };
static char *kept[inherited + own];

__attribute__((noinline)) static void load(int i)
{
	kept[i] = memset(malloc(1000), 1, 1000);
}

__attribute__((noinline)) static void work(int i)
{
	kept[i] = memset(malloc(1000), 1, 1000);
}

int main(void)
{
	for (int i = 0; i < inherited; i++)
		load(i);
	if (fork() == 0) {
		usleep(300000); /* a child that was just forked is not sampled yet */
		for (int i = 0; i < inherited; i += 2)
			free(kept[i]);
		for (int i = inherited; i < inherited + own; i++)
			work(i);
		printf("%d\n", (int)getpid());
		fflush(stdout);
		pause();
	}
	wait(NULL);
	return 0;
}
