/* hold-musl.c - holds 20,000 objects, and waits.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *kept[20000];

__attribute__((noinline)) static void inner_hold(size_t i)
{
	kept[i] = malloc(1000 + i % 1000);
	memset(kept[i], 1, 1000);
	if (i % 4 == 3) {
		free(kept[i / 2]);
		kept[i / 2] = NULL;
	}
}

int main(void)
{
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		inner_hold(i);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
