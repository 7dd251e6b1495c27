/* thread.h - threads of the agent inside the host: small stacks, all signals blocked.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_WORK_THREAD_H
#define CAIRN_AGENT_WORK_THREAD_H

#include <locale.h>
#include <pthread.h>
#include <stdbool.h>

/* Starts RUN(CONTEXT) as a joinable thread called NAME, with all signals blocked from its first instruction on. Returns false if no
 * thread can be started, or if there is no address space for it and for what jemalloc maps at its first call. */
bool cairn_thread_start(pthread_t *thread, void *(*run)(void *context), void *context, const char *name);

/* Numbers are read and written with a decimal point, whatever locale the host has chosen. libc has this locale ready, so nothing is
 * allocated. Returns the thread's own locale, to restore it. */
locale_t cairn_locale_use_plain(void);

/* Ends the process as libc does with its last thread, if no thread of the host is left: ours count there, and block signals. To be called
 * now and then by a thread that was started above. Returns the number of milliseconds until it should look again. */
int cairn_thread_look_for_host(void);

/* In a forked child, which has none of them. */
void cairn_threads_in_child(void);

#endif
