/* steady.c - a service that keeps its command line: writes its number to the file FIRST ARGUMENT names, holds 8 MiB in small pieces under
 * hold_steadily, and goes on allocating and freeing until it is killed. The MiB that a SECOND ARGUMENT says are allocated before and stay.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *volatile kept[1 << 13];

__attribute__((noinline)) void hold_steadily(int i)
{
	free(kept[i]);
	kept[i] = memset(malloc(1000), 1, 1000);
}

int main(int count, char **arguments)
{
	FILE *file = count > 1 ? fopen(arguments[1], "w") : NULL;
	for (int i = 0; i < (count > 2 ? atoi(arguments[2]) : 0); i++)
		kept[0] = memset(malloc(1 << 20), 1, 1 << 20);
	kept[0] = NULL;
	for (int i = 0; i < 1 << 13; i++)
		hold_steadily(i);
	if (file) {
		fprintf(file, "%d\n", getpid());
		fclose(file);
	}
	for (unsigned i = 0;; i++) {
		hold_steadily((int)(i % (1 << 13)));
		if (i % 1000 == 0)
			usleep(10000);
	}
}
