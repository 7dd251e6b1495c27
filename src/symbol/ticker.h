/* ticker.h - reports the progress of long work at a steady pace, without slowing it down.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_TICKER_H
#define CAIRN_SYMBOL_TICKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct cairn_ticker {
	void (*progress)(void *context, size_t done, size_t total, const char *what); /* NULL for no reports */
	void *context;
	size_t done, total;
	const char *what; /* borrowed; outlives the ticker */
	bool stopping;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

/* Calls PROGRESS from a separate thread: first after half a second, then ten times a second. */
void cairn_ticker_start(struct cairn_ticker *ticker, size_t total, void (*progress)(void *, size_t, size_t, const char *), void *context);
/* Any thread may call these: WHAT is now being worked on, and DONE more items are finished. */
void cairn_ticker_say(struct cairn_ticker *ticker, const char *what);
void cairn_ticker_add(struct cairn_ticker *ticker, size_t done);
/* Ends the thread. If PROGRESS was called at all, it is called one last time with everything done. */
void cairn_ticker_stop(struct cairn_ticker *ticker);

#endif
