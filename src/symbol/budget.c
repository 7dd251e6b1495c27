/* budget.c - the memory limit, and the folders for data that exceeds it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/budget.h"

#include "base/room.h"
#include "process/memory.h"
#include "symbol/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* Memory for everything but decompressed sections: tables of abbreviations, the names found so far, the stacks of threads. */
static const uint64_t working_bytes = (uint64_t)32 << 20;
/* The lower limit of the default: with less, the work would go to disk even for small programs. */
static const uint64_t default_floor = (uint64_t)48 << 20;

static uint64_t default_budget(void)
{
	struct cairn_memory memory;
	if (!cairn_memory_open(&memory, "", getpid(), NULL))
		return default_floor;
	uint64_t quarter = cairn_memory_left(&memory) / 4;
	cairn_memory_close(&memory);
	return quarter > default_floor ? quarter : default_floor;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t asked;
static bool applied;

void cairn_symbol_budget(uint64_t bytes)
{
	pthread_mutex_lock(&lock);
	applied &= asked == bytes;
	asked = bytes;
	pthread_mutex_unlock(&lock);
}

static void apply(void)
{
	struct cairn_arena arena = {0};
	struct cairn_cache cache;
	const char *folders[CAIRN_ROOM_FOLDERS], *temporary = getenv("TMPDIR");
	size_t count = 0;
	if (cairn_cache_open(&cache, &arena))
		folders[count++] = cache.folder;
	if (temporary)
		folders[count++] = temporary;
	folders[count++] = "/var/tmp";
	folders[count++] = "/tmp";
	uint64_t budget = asked ? asked : default_budget();
	cairn_room_set(budget > working_bytes ? budget - working_bytes : 0, folders, count);
	cairn_arena_free(&arena);
}

void cairn_symbol_budget_apply(void)
{
	pthread_mutex_lock(&lock);
	if (!applied)
		apply();
	applied = true;
	pthread_mutex_unlock(&lock);
}
