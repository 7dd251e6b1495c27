/* thread.h - threads of the agent inside the host: small stacks, all signals blocked.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_THREAD_H
#define CAIRN_AGENT_HOST_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts RUN(CONTEXT) as a joinable thread called NAME, with all signals blocked from its first instruction on. Returns false if no
 * thread can be started, or if there is no address space for it and for what jemalloc maps at its first call. */
bool cairn_thread_start(pthread_t *thread, void *(*run)(void *context), void *context, const char *name);

#endif
