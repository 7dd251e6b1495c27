/* message.c - the filter.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/jemalloc/message.h"

#include "agent/unwind/object.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

typedef void message_function(void *context, const char *text);

static bool is_about_dump(const char *text)
{
	static const char *const starts[] = {
		"<jemalloc>: failed to open \"", "<jemalloc>: failed to write during heap profile flush", /* 5.3 */
		"<jemalloc>: creat(\"", "<jemalloc>: write() failed during heap profile flush",             /* before */
	};
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (strncmp(text, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/* Writes as jemalloc itself does: with one call, and errno unchanged. */
static void pass_on(void *context, const char *text)
{
	(void)context;
	int code = errno;
	if (!is_about_dump(text))
		(void)!write(STDERR_FILENO, text, strlen(text));
	errno = code;
}

void cairn_message_filter(const struct cairn_jemalloc *jemalloc)
{
	char name[64];
	snprintf(name, sizeof name, "%smalloc_message", jemalloc->prefix);
	cairn_loader_enter();
	message_function **place = (message_function **)dlsym(RTLD_DEFAULT, name);
	cairn_loader_leave();
	if (place && !*place)
		*place = pass_on;
}
