/* thread.c - starts threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/thread.h"

#include "base/pages.h"

#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { stack_size = 256 << 10, room_needed = 16 << 20 };

/* How much of a stack libc takes for itself: glibc puts the thread-local storage of all modules there, and a host may have much of it.
 * Its function is looked up once, before any fork, because in a child a thread that does not exist may hold the loader's lock. */
static size_t size_of_libc(const pthread_attr_t *attributes)
{
	static bool looked;
	static size_t (*minimum)(const pthread_attr_t *attributes);
	if (!looked) {
		void *found = dlsym(RTLD_DEFAULT, "__pthread_get_minstack");
		memcpy(&minimum, &found, sizeof minimum);
		looked = true;
	}
	return minimum ? minimum(attributes) : (size_t)sysconf(_SC_THREAD_STACK_MIN);
}

/* jemalloc maps an arena when a new thread first calls it, and 5.3 crashes if it cannot (RLIMIT_AS, overcommit). */
static bool has_room(void)
{
	void *room = cairn_pages_map(room_needed);
	if (room)
		munmap(room, room_needed); /* nothing is in it: in one piece */
	return room != NULL;
}

bool cairn_thread_start(pthread_t *thread, void *(*run)(void *context), void *context, const char *name)
{
	if (!has_room()) /* sets errno */
		return false;
	sigset_t all, before;
	pthread_attr_t attributes;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	pthread_attr_setstacksize(&attributes, (stack_size + size_of_libc(&attributes) + page - 1) / page * page);
	bool started = pthread_create(thread, &attributes, run, context) == 0;
	pthread_attr_destroy(&attributes);
	if (started)
		pthread_setname_np(*thread, name);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}
