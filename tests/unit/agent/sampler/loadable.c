/* loadable.c - a library for patch_test.c: one relocation of the allocator that is bound when it is loaded, some by the first call. While
 * the loader relocates it, it calls the function whose address is in the page at LOADABLE_PAGE, if there is such a page.
 * SPDX-License-Identifier: Apache-2.0 */
#include "loadable.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Nothing here is relocated when the loader calls this, which it does when it comes to `loadable_chosen` below. */
static void (*choose(void))(void)
{
	void (*function)(void) = *LOADABLE_PAGE;
	if (function)
		function();
	return (void (*)(void))(uintptr_t)LOADABLE_PAGE;
}

void loadable_chosen(void) __attribute__((ifunc("choose")));
void (*loadable_pointer)(void) = loadable_chosen;

#ifdef LOADABLE_MANY
char *(*loadable_table[])(const char *text) = {[0 ... LOADABLE_MANY - 1] = loadable_copy};
#endif

void *(*loadable_malloc(void))(size_t size)
{
	return malloc;
}

void *loadable_calloc(size_t size)
{
	return calloc(1, size);
}

char *loadable_copy(const char *text)
{
	char *copy = strdup(text);
	free(copy);
	return realloc(NULL, 100);
}
