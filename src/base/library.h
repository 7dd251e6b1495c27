/* library.h - loads a shared library when it is first needed, so that commands that do without it start faster, and run where it is not
 * installed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_LIBRARY_H
#define CAIRN_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct cairn_library {
	const char *files;   /* names of the library, separated by blanks, of which the first that is installed is loaded */
	const char *names;   /* of its functions and variables, in the same way */
	void *members;       /* a struct of as many pointers, in that order, that receives their addresses */
	size_t size;         /* of that struct */
	bool (*start)(void); /* called once, when all are there, unless NULL; false if the library cannot be used */
	bool is_global;      /* its symbols are visible to libraries that it loads */
	int state;           /* of the loader */
};

/* Whether LIBRARY can be used. Loads it at the first call. Any thread may call it. */
bool cairn_library_is_there(struct cairn_library *library);

#endif
