/* agent.h - the agent's state, one for each process, in static memory.
 *
 * `config`, `environment` and the jemalloc that was found are written before any thread of the agent starts and only read afterwards; for
 * the rest, the comments say who may use it. After fork, the child clears all of it and starts anew.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_WORK_AGENT_H
#define CAIRN_AGENT_WORK_AGENT_H

#include "agent/engine/budget.h"
#include "agent/engine/profiler.h"
#include "agent/engine/snapshot.h"
#include "agent/work/call.h"
#include "agent/work/monitor.h"
#include "agent/work/page_child.h"
#include "agent/work/stage.h"
#include "base/quota.h"
#include "protocol/config.h"
#include "protocol/listen.h"

struct cairn_counters {
	atomic_uint requests;
	atomic_uint refused;      /* by Host, Origin or token */
	atomic_uint busy;         /* refused because too much was in progress */
	atomic_uint children;     /* started */
	atomic_uint children_bad; /* that failed or were stopped */
	atomic_uint dumps;        /* files written */
	atomic_uint restarts;     /* of the server, whose descriptors the host had closed */
};

struct cairn_agent {
	pthread_mutex_t life; /* held while the agent is started or stopped, because several threads of the host may request that at once */
	struct cairn_config config;
	struct cairn_profiler profiler;
	struct cairn_error unwinder_problem; /* why jemalloc's own unwinder stays */
	struct cairn_budget budget;
	struct cairn_snapshots snapshots;
	struct cairn_work work;
	struct cairn_listen listen;
	struct cairn_monitor monitor;
	struct cairn_page_child page;
	struct cairn_counters counters;
	/* `memory` of the configuration: the limit for requests, snapshots and answers. Clients over TCP have at most three quarters of
	 * it, so that a quarter always remains for the local socket and the host's own calls. Dumps requested by rules do not count. */
	struct {
		struct cairn_quota whole, remote, local;
	} memory;
	struct cairn_server *_Atomic server;
	pthread_t thread;
	_Atomic enum cairn_stage stage;
	atomic_bool stop;         /* its thread is to end */
	bool (*end)(struct cairn_error *error); /* ends the agent soon, on another thread */
	bool forked;              /* this is a child of the process that started it */
	int owner;                /* the process whose agent this is */
	const struct cairn_engine *beside; /* of an agent that stands beside its process; NULL for one inside */
	char runtime[128];        /* $XDG_RUNTIME_DIR at the start */
	char report[96];          /* $CAIRN_REPORT: the receiver of the last snapshot; see handover.h */
	int64_t started_ns;       /* since 1970 */
	int64_t chores_ns;        /* when the server's thread does its work of every second */
	int utc_offset;           /* seconds, for names with local time in them */
	char **environment;       /* for children; see environment.c */
	char tool[256];           /* the cairn command, "" when there is none */
	atomic_uint tikv_interval; /* seconds between TiKV's dumps; 0 for none */
	atomic_uint tikv_round;    /* counts their starts and ends: dumps of an earlier round are no longer written */
};

/* The agent of this process. */
extern struct cairn_agent cairn_agent;

#endif
