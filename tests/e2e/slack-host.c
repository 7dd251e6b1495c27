/* slack-host.c - holds objects of several sizes and knows how much more each can hold: prints `site NAME BYTES` for each call site, then
 * `ready`.
 * SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITE(name, size, count)                                                                                                \
	__attribute__((noinline, noclone)) static void *name(void)                                                             \
	{                                                                                                                      \
		void *object = malloc(size);                                                                                   \
		__asm__ volatile("" ::"r"(object) : "memory");                                                                 \
		return object;                                                                                                 \
	}                                                                                                                      \
	static void hold_##name(void)                                                                                          \
	{                                                                                                                      \
		long long slack = 0;                                                                                           \
		for (int i = 0; i < (count); i++)                                                                              \
			slack += (long long)malloc_usable_size(name()) - (size);                                               \
		printf("site %s %lld\n", #name, slack);                                                                        \
	}
SITE(hold_tight, 4096, 6000)
SITE(hold_loose, 2600, 10000)
SITE(hold_odd, 33, 400000)

int main(void)
{
	hold_hold_tight();
	hold_hold_loose();
	hold_hold_odd();
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
