/* contained.c - a service for a root of its own: holds 32 MiB in small pieces under HOLDER and says "ready". With a folder as argument it
 * changes its root to that, once something was written to its input.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef HOLDER
#define HOLDER hold_inside
#endif

void *volatile kept[1 << 15];

__attribute__((noinline)) void HOLDER(void)
{
	for (int i = 0; i < 1 << 15; i++)
		kept[i] = memset(malloc(1000), 1, 1000);
	__asm__ volatile("");
}

int main(int count, char **arguments)
{
	char byte;
	HOLDER();
	puts("ready");
	fflush(stdout);
	if (count > 1) {
		if (read(0, &byte, 1) != 1 || chroot(arguments[1]) != 0 || chdir("/") != 0)
			return 1;
		puts("moved");
		fflush(stdout);
	}
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
