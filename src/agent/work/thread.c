/* thread.c - starts threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/work/thread.h"

#include "base/pages.h"
#include "base/peek.h"
#include "process/proc.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
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

/* Those of the agent that run, and how: what a thread is to run is handed over in a place, since its creator does not wait for it. */
enum { places = 8, look_ms = 1000, look_soon_ms = 50 };
static atomic_uint running;
static struct start {
	atomic_flag taken;
	void *(*run)(void *context);
	void *context;
} starts[places];

static void *run_thread(void *place)
{
	struct start *start = place;
	void *(*run)(void *context) = start->run, *context = start->context;
	atomic_flag_clear(&start->taken);
	atomic_fetch_add(&running, 1);
	void *result = run(context);
	atomic_fetch_sub(&running, 1);
	return result;
}

/* A free place with RUN(CONTEXT) in it, or NULL if too many threads are being started. */
static struct start *take_place(void *(*run)(void *context), void *context)
{
	for (int i = 0; i < places; i++)
		if (!atomic_flag_test_and_set(&starts[i].taken)) {
			starts[i].run = run;
			starts[i].context = context;
			return &starts[i];
		}
	errno = EAGAIN;
	return NULL;
}

void cairn_threads_in_child(void)
{
	atomic_store(&running, 0);
	for (int i = 0; i < places; i++)
		atomic_flag_clear(&starts[i].taken);
}

int cairn_thread_look_for_host(void)
{
	char room[1024];
	struct cairn_proc_stat first; /* thread, which stays in the list of threads until the process ends */
	if (!cairn_proc_stat_parse(cairn_peek("/proc/self/stat", room, sizeof room), &first) || first.state != 'Z')
		return look_ms;
	if (first.threads > atomic_load(&running) + 1)
		return look_soon_ms;
	if (WIFSIGNALED((int)first.exit_status)) /* it was ended alone, as by seccomp's strict mode */
		kill(getpid(), WTERMSIG((int)first.exit_status));
	sigset_t none;
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL); /* what is called at the end may start processes */
	exit(0);
}

bool cairn_thread_start(pthread_t *thread, void *(*run)(void *context), void *context, const char *name)
{
	if (!has_room()) /* sets errno */
		return false;
	sigset_t all, before;
	pthread_attr_t attributes;
	struct start *place = take_place(run, context);
	if (!place)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	pthread_attr_setstacksize(&attributes, (stack_size + size_of_libc(&attributes) + page - 1) / page * page);
	bool started = pthread_create(thread, &attributes, run_thread, place) == 0;
	pthread_attr_destroy(&attributes);
	if (!started)
		atomic_flag_clear(&place->taken);
	if (started)
		pthread_setname_np(*thread, name);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

locale_t cairn_locale_use_plain(void)
{
	return uselocale(newlocale(LC_ALL_MASK, "C", NULL));
}
