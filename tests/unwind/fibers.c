/* fibers.c - allocations on ucontext fibers: on stacks from mmap and from malloc, resumed by several threads, unmapped when done.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { fibers_count = 16, stack_size = 64 << 10, rounds = 20 };

struct fiber {
	ucontext_t own, back;
	int done;
};

static __thread struct fiber *current;

__attribute__((noinline)) static void descend(int depth)
{
	void *volatile block = malloc(100 + (size_t)depth);
	if (depth > 0)
		descend(depth - 1);
	free(block);
}

static void run(void)
{
	for (int i = 0; i < 4; i++) {
		descend(i * 5);
		swapcontext(&current->own, &current->back);
	}
	current->done = 1;
	swapcontext(&current->own, &current->back);
}

static void *work(void *context)
{
	int from_malloc = context != NULL;
	for (int round = 0; round < rounds; round++) {
		static __thread struct fiber fibers[fibers_count];
		for (int i = 0; i < fibers_count; i++) {
			getcontext(&fibers[i].own);
			fibers[i].done = 0;
			fibers[i].own.uc_stack.ss_size = stack_size;
			fibers[i].own.uc_stack.ss_sp =
				from_malloc ? malloc(stack_size)
					    : mmap(NULL, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			makecontext(&fibers[i].own, run, 0);
		}
		for (int left = fibers_count; left > 0;) {
			for (int i = 0; i < fibers_count; i++) {
				if (fibers[i].done)
					continue;
				current = &fibers[i];
				swapcontext(&fibers[i].back, &fibers[i].own);
				left -= fibers[i].done;
			}
		}
		for (int i = 0; i < fibers_count; i++) {
			if (from_malloc)
				free(fibers[i].own.uc_stack.ss_sp);
			else
				munmap(fibers[i].own.uc_stack.ss_sp, stack_size);
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, i ? &threads : NULL);
	work(NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
