/* pool.h - the same work on many items, on as many threads as the machine has.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_POOL_H
#define CAIRN_BASE_POOL_H

#include <stddef.h>

/* The number of threads for parallel work: the processors available to this process at the first call, or CAIRN_THREADS. */
unsigned cairn_pool_width(void);

/* Calls WORK(context, item, worker) once for each item from 0 to COUNT - 1, on up to cairn_pool_width() threads including this one, and
 * returns when all are done. Items are begun in order, so an item may wait for the result of an earlier one. WORKER is below
 * cairn_pool_width(): an index for per-thread arenas. If no threads can be started, the caller does all the work. */
void cairn_pool_run(size_t count, void (*work)(void *context, size_t item, unsigned worker), void *context);

/* The same on at most MOST threads, including the caller's: for loops whose caller knows the amount of work. */
void cairn_pool_run_few(size_t count, size_t most, void (*work)(void *context, size_t item, unsigned worker), void *context);

#endif
