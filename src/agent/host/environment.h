/* environment.h - the environment of child processes: a copy made once, before the host can change it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_ENVIRONMENT_H
#define CAIRN_AGENT_HOST_ENVIRONMENT_H

#include <stddef.h>

/* A copy of ENVIRON without variables that would load the agent or change the allocator of a child. NULL if there is no memory. It lives
 * as long as the process, and in forked children too. */
char **cairn_environment_copy(char *const *environment);

/* The path of the cairn command: CONFIGURED if that is set, else beside this library, else on PATH; "" if it is not found. */
void cairn_environment_find_tool(const char *configured, const char *search, char *out, size_t size);

#endif
