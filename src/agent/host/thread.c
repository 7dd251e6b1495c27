/* thread.c - starting threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/thread.h"

#include "base/pages.h"

#include <signal.h>
#include <stddef.h>

enum { stack_size = 256 << 10, room_needed = 16 << 20 };

/* jemalloc maps an arena when a new thread first calls it, and 5.3 ends in a fault where it cannot (RLIMIT_AS, overcommit). */
static bool has_room(void)
{
	void *room = cairn_pages_map(room_needed);
	cairn_pages_unmap(room, room_needed);
	return room != NULL;
}

bool cairn_thread_start(pthread_t *thread, void *(*run)(void *context), void *context, const char *name)
{
	if (!has_room()) /* with errno */
		return false;
	sigset_t all, before;
	pthread_attr_t attributes;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, stack_size);
	bool started = pthread_create(thread, &attributes, run, context) == 0;
	if (!started) /* thread-local storage of the host may need more than our stack */
		started = pthread_create(thread, NULL, run, context) == 0;
	pthread_attr_destroy(&attributes);
	if (started)
		pthread_setname_np(*thread, name);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}
