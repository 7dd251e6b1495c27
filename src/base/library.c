/* library.c - dlopen and dlsym.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { not_tried, missing, there };

/* Stores the next of the names in *REST in NAME. Returns false after the last. */
static bool next_name(const char **rest, char name[64])
{
	*rest += strspn(*rest, " ");
	size_t length = strcspn(*rest, " ");
	assert(length < 64);
	snprintf(name, 64, "%.*s", (int)length, *rest);
	*rest += length;
	return length > 0;
}

static bool load(const struct cairn_library *library)
{
	char name[64];
	void *handle = NULL, *address;
	for (const char *rest = library->files; !handle && next_name(&rest, name);)
		handle = dlopen(name, RTLD_NOW | (library->is_global ? RTLD_GLOBAL : RTLD_LOCAL));
	size_t count = 0;
	for (const char *rest = library->names; handle && next_name(&rest, name); count++) {
		address = dlsym(handle, name);
		if (!address)
			return false;
		assert((count + 1) * sizeof address <= library->size);
		memcpy((char *)library->members + count * sizeof address, &address, sizeof address);
	}
	assert(!handle || count * sizeof address == library->size);
	return handle && (!library->start || library->start());
}

bool cairn_library_is_there(struct cairn_library *library)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	if (library->state == not_tried)
		library->state = load(library) ? there : missing;
	pthread_mutex_unlock(&lock);
	return library->state == there;
}
