/* pool.h - the same work on many items, on as many threads as the machine has.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_POOL_H
#define CAIRN_BASE_POOL_H

#include <stddef.h>

/* How many threads work is spread over: the processors this process might use when it was first asked, or CAIRN_THREADS when that
 * is set. */
unsigned cairn_pool_width(void);

/* Calls WORK(context, item, worker) once for each item from 0 to COUNT - 1, on up to cairn_pool_width() threads including
 * this one, and returns when all are done. Items are begun in order, so that one may wait for what an earlier one makes.
 * WORKER is below cairn_pool_width(): an index for per-thread arenas. Where threads cannot be had the caller does all the
 * work. */
void cairn_pool_run(size_t count, void (*work)(void *context, size_t item, unsigned worker), void *context);

/* The same on at most MOST threads, the caller's included: for loops of which the caller knows how much there is to do. */
void cairn_pool_run_few(size_t count, size_t most, void (*work)(void *context, size_t item, unsigned worker), void *context);

#endif
