/* monitor.h - watches the memory of the agent's own process on the server's thread and requests a dump when a configured rule applies.
 *
 * A look is one read of /proc and some arithmetic; the slow part (the snapshot, the disk) is urgent work for another thread. The state of
 * the rules belongs to the server's thread; a dump in progress reports back through `state`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_WORK_MONITOR_H
#define CAIRN_AGENT_WORK_MONITOR_H

#include "base/buffer.h"
#include "dump/trigger.h"
#include "process/memory.h"

#include <pthread.h>
#include <stdatomic.h>

struct cairn_agent;

enum cairn_monitor_state { CAIRN_MONITOR_IDLE, CAIRN_MONITOR_DUMPING, CAIRN_MONITOR_DUMPED, CAIRN_MONITOR_FAILED };

/* A folder that the agent keeps within limits. */
struct cairn_monitor_folder {
	int64_t tidied_ns;  /* when that was done last, and */
	int64_t changed_ns; /* the folder's time of change then */
};

struct cairn_monitor {
	bool watching;  /* there are rules, dumps can be taken, and memory can be read */
	bool keeping;   /* the folder has limits */
	struct cairn_trigger_rules rules;
	struct cairn_memory memory;
	struct cairn_memory_reading reading; /* of the last look */
	struct cairn_trigger trigger;
	_Atomic enum cairn_monitor_state state;
	/* The dump in progress, written before `state` says so. */
	enum cairn_trigger_reason reason;
	struct cairn_memory_reading due; /* what made the dump due */
	char explained[96];
	int64_t tidy_ns;        /* when the folder is to be thinned next */
	atomic_bool tidying;
	atomic_bool busy;       /* the last time there was something to remove */
	atomic_bool high_dumping;
	uint64_t dumped_high;   /* live bytes at the last dump for gdump on Cairn's engine */
	struct cairn_monitor_folder folders[2]; /* the dump folder, and jemalloc's own where that is another; of the thread that thins */
	/* For the status. */
	atomic_uint dumps[CAIRN_TRIGGER_REASONS], failed, thinned;
	pthread_mutex_t mutex; /* for the rest */
	int64_t last_ns;       /* since 1970; 0 for never */
	char last_path[340], last_reason[96];
	struct cairn_error problem; /* of the last dump that failed, or why memory cannot be read */
};

/* Makes MONITOR one that does nothing yet. */
void cairn_monitor_clear(struct cairn_monitor *monitor);

/* Starts if the configuration has rules or limits. Otherwise nothing is held or done. */
void cairn_monitor_open(struct cairn_agent *agent);

/* Releases what open acquired. No dump may be in progress. */
void cairn_monitor_close(struct cairn_agent *agent);

/* Looks once. Returns the number of milliseconds until the next look. On the server's thread. */
int cairn_monitor_look(struct cairn_agent *agent);

#endif
