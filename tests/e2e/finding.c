/* finding.c - a program that holds memory in two functions, one of them known to its symbol tables only by name.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

void *held[64];

__attribute__((noinline)) static void hold_in_static(int i)
{
	held[i] = malloc(10000);
	((volatile char *)held[i])[0] = 1;
}

__attribute__((noinline)) void hold_in_exported(int i)
{
	held[i] = malloc(20000);
	((volatile char *)held[i])[0] = 1;
}

int main(void)
{
	for (int i = 0; i < 32; i++)
		hold_in_static(i);
	for (int i = 32; i < 64; i++)
		hold_in_exported(i);
	if (getenv("FINDING_WAITS"))
		pause();
	return 0;
}
