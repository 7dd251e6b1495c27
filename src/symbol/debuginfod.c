/* debuginfod.c - calls libdebuginfod, loaded with dlopen.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* As in <elfutils/debuginfod.h>, which need not be installed. A length of 0 means that the build-id is a hexadecimal string. */
struct client_library {
	void *(*begin)(void);
	void (*end)(void *client);
	int (*find_debuginfo)(void *client, const unsigned char *build_id, int length, char **path);
	int (*find_executable)(void *client, const unsigned char *build_id, int length, char **path);
	void *client;
};

static struct client_library library;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void load(void)
{
	void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return;
	*(void **)&library.begin = dlsym(handle, "debuginfod_begin");
	*(void **)&library.end = dlsym(handle, "debuginfod_end");
	*(void **)&library.find_debuginfo = dlsym(handle, "debuginfod_find_debuginfo");
	*(void **)&library.find_executable = dlsym(handle, "debuginfod_find_executable");
	if (library.begin && library.find_debuginfo && library.find_executable)
		library.client = library.begin();
}

const char *cairn_debuginfod_fetch(struct cairn_arena *arena, const char *build_id, bool executable, struct cairn_error *error)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (!urls || !*urls) {
		cairn_fail(error, "DEBUGINFOD_URLS names no server");
		return NULL;
	}
	pthread_once(&loaded, load);
	if (!library.client) {
		cairn_fail(error, "libdebuginfod.so.1 is not installed");
		return NULL;
	}
	char *path = NULL;
	pthread_mutex_lock(&one_at_a_time);
	int descriptor =
		(executable ? library.find_executable : library.find_debuginfo)(library.client, (const unsigned char *)build_id, 0, &path);
	pthread_mutex_unlock(&one_at_a_time);
	if (descriptor < 0) {
		cairn_fail(error, "debuginfod: %s", cairn_errno_text(-descriptor));
		return NULL;
	}
	close(descriptor);
	const char *result = path ? cairn_arena_text(arena, cairn_bytes_of(path)) : NULL;
	free(path);
	return result;
}
