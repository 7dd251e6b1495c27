/* debuginfod.c - calls libdebuginfod, loaded with dlopen.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/debuginfod.h"

#include "base/library.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* As in <elfutils/debuginfod.h>, which need not be installed. A length of 0 means that the build-id is a hexadecimal string. */
static struct {
	void *(*begin)(void);
	int (*find_debuginfo)(void *client, const unsigned char *build_id, int length, char **path);
	int (*find_executable)(void *client, const unsigned char *build_id, int length, char **path);
} library;
static void *client;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static bool start(void)
{
	client = library.begin();
	return client != NULL;
}

static struct cairn_library debuginfod = {
	.files = "libdebuginfod.so.1",
	.names = "debuginfod_begin debuginfod_find_debuginfo debuginfod_find_executable",
	.members = &library,
	.size = sizeof library,
	.start = start,
};

const char *cairn_debuginfod_fetch(struct cairn_arena *arena, const char *build_id, bool executable, struct cairn_error *error)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (!urls || !*urls) {
		cairn_fail(error, "DEBUGINFOD_URLS names no server");
		return NULL;
	}
	if (!cairn_library_is_there(&debuginfod)) {
		cairn_fail(error, "libdebuginfod.so.1 is not installed");
		return NULL;
	}
	char *path = NULL;
	pthread_mutex_lock(&one_at_a_time);
	int descriptor =
		(executable ? library.find_executable : library.find_debuginfo)(client, (const unsigned char *)build_id, 0, &path);
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
