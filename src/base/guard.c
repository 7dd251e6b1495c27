/* guard.c - the list of guarded mappings, and the handler of SIGBUS that looks into it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/guard.h"

#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct cairn_guard {
	char *data;
	size_t size;   /* of the file as it was */
	size_t mapped; /* whole pages, one byte beyond SIZE at least */
	atomic_bool cut;
	struct cairn_guard *next, **link;
};

static struct cairn_guard *guards;
static uintptr_t page_size;
static struct sigaction before;
static pthread_once_t installed = PTHREAD_ONCE_INIT;

/* The handler takes the lock, too. It may: whoever holds it reads no guarded page meanwhile, so no thread waits for itself. */
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void take_lock(void)
{
	while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		sched_yield();
}

static void give_lock(void)
{
	atomic_flag_clear_explicit(&lock, memory_order_release);
}

/* Puts zeroes in place of the page with ADDRESS and all that follow it in its mapping. False if it is in none. */
static bool fill(uintptr_t address)
{
	bool filled = false;
	take_lock();
	for (struct cairn_guard *guard = guards; guard && !filled; guard = guard->next) {
		uintptr_t start = (uintptr_t)guard->data, page = address / page_size * page_size, end = start + guard->mapped;
		if (address < start || address >= end)
			continue;
		filled = mmap((void *)page, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
		if (address - start < guard->size)
			atomic_store(&guard->cut, true);
		break;
	}
	give_lock();
	return filled;
}

static void handle(int number, siginfo_t *info, void *context)
{
	(void)context;
	int code = errno;
	bool is_fault = info->si_code == BUS_ADRERR || info->si_code == BUS_OBJERR;
	if (!is_fault || !fill((uintptr_t)info->si_addr)) {
		sigaction(number, &before, NULL); /* a fault is raised again on return */
		if (!is_fault)
			raise(number);
	}
	errno = code;
}

static void install(void)
{
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, &before);
}

/* Puts zeroes in place of the holes of the file: they are the same to read, but would take memory page by page as they are read, and in a
 * file of a few kilobytes they may be as long as somebody likes. Small ones stay, so that a mapping has a few thousand parts at most. */
static void leave_out_holes(const struct cairn_guard *guard, int descriptor)
{
	enum { least = 1 << 20, parts_most = 4096 };
	size_t worth = guard->size / parts_most > least ? guard->size / parts_most : least;
	off_t end = (off_t)guard->size, data;
	off_t hole = guard->size > worth ? lseek(descriptor, 0, SEEK_HOLE) : end;
	for (; hole >= 0 && hole < end; hole = lseek(descriptor, data, SEEK_HOLE)) {
		data = lseek(descriptor, hole, SEEK_DATA);
		data = data < 0 || data > end ? (off_t)guard->mapped : data;
		uintptr_t first = ((uintptr_t)hole + page_size - 1) / page_size * page_size, last = (uintptr_t)data / page_size * page_size;
		if (last > first && last - first >= worth)
			mmap(guard->data + first, last - first, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	}
}

struct cairn_guard *cairn_guard_map(int descriptor, size_t size)
{
	pthread_once(&installed, install);
	struct cairn_guard *guard = malloc(sizeof *guard);
	if (!guard)
		cairn_out_of_memory(sizeof *guard);
	*guard = (struct cairn_guard){.size = size, .mapped = (size / page_size + 1) * page_size};
	guard->data = size <= PTRDIFF_MAX - page_size ? mmap(NULL, guard->mapped, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
	if (guard->data == MAP_FAILED) {
		int code = size <= PTRDIFF_MAX - page_size ? errno : EFBIG;
		free(guard);
		errno = code;
		return NULL;
	}
	leave_out_holes(guard, descriptor);
	take_lock();
	guard->link = &guards;
	guard->next = guards;
	if (guards)
		guards->link = &guard->next;
	guards = guard;
	give_lock();
	return guard;
}

void cairn_guard_unmap(struct cairn_guard *guard)
{
	take_lock();
	*guard->link = guard->next;
	if (guard->next)
		guard->next->link = guard->link;
	give_lock();
	munmap(guard->data, guard->mapped);
	free(guard);
}

struct cairn_bytes cairn_guard_bytes(const struct cairn_guard *guard)
{
	return (struct cairn_bytes){guard->data, guard->size};
}

bool cairn_guard_is_cut(const struct cairn_guard *guard)
{
	return atomic_load(&guard->cut);
}
