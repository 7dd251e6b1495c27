/* fragmentation-host.c - a host that keeps one in 25 small objects, so that its slabs are nearly empty, and many others, whose slabs are
 * full.
 * Prints "site NAME BYTES": what is free in the slabs of each, by arithmetic, and waits to be killed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { sparse = 1 << 20, sparse_size = 64, one_in = 25, dense = 100000, dense_size = 320 };

int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);

static char *sparse_objects[sparse], *dense_objects[dense];

__attribute__((noinline)) static void hold_sparse(void)
{
	for (int i = 0; i < sparse; i++)
		memset(sparse_objects[i] = malloc(sparse_size), 1, sparse_size);
}

__attribute__((noinline)) static void hold_dense(void)
{
	for (int i = 0; i < dense; i++)
		memset(dense_objects[i] = malloc(dense_size), 1, dense_size);
}

int main(void)
{
	hold_sparse();
	hold_dense();
	for (int i = 0; i < sparse; i++)
		if (i % one_in != 0)
			free(sparse_objects[i]);
	mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
	printf("site hold_sparse %d\nsite hold_dense 0\nready\n", (sparse - sparse / one_in) * sparse_size);
	fflush(stdout);
	for (unsigned seed = 1;;) { /* objects come and go while they are looked at */
		void *volatile object = malloc(1 + rand_r(&seed) % 5000);
		usleep(rand_r(&seed) % 64 == 0);
		free(object);
	}
}
