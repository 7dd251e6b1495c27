/* thread.h - threads of the agent inside the host: small stacks, all signals blocked.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_THREAD_H
#define CAIRN_AGENT_HOST_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts RUN(CONTEXT) as a joinable thread called NAME, with every signal blocked from its first instruction on. False
 * where no thread can be had, or no address space for it and for what jemalloc maps when it first calls. */
bool cairn_thread_start(pthread_t *thread, void *(*run)(void *context), void *context, const char *name);

#endif
