/* ages-host.c - holds 20 MB that is old and 10 MB that is young, and says so.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *volatile held[20000];

__attribute__((noinline)) static void hold_old(unsigned i)
{
	held[i] = memset(malloc(2000), 1, 2000);
}

__attribute__((noinline)) static void hold_young(unsigned i)
{
	held[i] = memset(malloc(2000), 1, 2000);
}

int main(void)
{
	for (unsigned i = 0; i < 10000; i++)
		hold_old(i);
	sleep(4);
	for (unsigned i = 10000; i < 15000; i++)
		hold_young(i);
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
