/* agent.h - the agent's state: one for the process, in static memory.
 *
 * `config`, `environment` and the found jemalloc are written before any thread of the agent starts and only read after;
 * the rest says for itself who may touch it. After fork the child wipes all of it and starts anew.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_AGENT_H
#define CAIRN_AGENT_HOST_AGENT_H

#include "agent/host/call.h"
#include "agent/host/config.h"
#include "agent/host/listen.h"
#include "agent/host/monitor.h"
#include "agent/jemalloc/budget.h"
#include "agent/jemalloc/profiler.h"
#include "agent/jemalloc/snapshot.h"
#include "base/quota.h"

struct cairn_counters {
	atomic_uint requests;
	atomic_uint refused;      /* by Host, Origin or token */
	atomic_uint busy;         /* turned away because too much was under way */
	atomic_uint children;     /* started */
	atomic_uint children_bad; /* that failed or were stopped */
	atomic_uint dumps;        /* files written */
	atomic_uint restarts;     /* of the server, whose descriptors the host had closed */
};

struct cairn_agent {
	pthread_mutex_t life; /* held while the agent is started or stopped: any threads of the host may ask for both at once */
	struct cairn_config config;
	struct cairn_profiler profiler;
	struct cairn_error unwinder_problem; /* why jemalloc's own unwinder stays */
	struct cairn_budget budget;
	struct cairn_snapshots snapshots;
	struct cairn_work work;
	struct cairn_listen listen;
	struct cairn_monitor monitor;
	struct cairn_counters counters;
	/* `memory` of the configuration: what requests, snapshots and answers may hold. Clients over TCP have three quarters of it at
	 * most, so that a quarter is always left to the local socket and the host's own calls. Dumps that rules ask for take none. */
	struct {
		struct cairn_quota whole, remote, local;
	} memory;
	struct cairn_server *_Atomic server;
	pthread_t thread;
	atomic_bool started;
	atomic_bool stop;
	bool forked;              /* this is a child of the process that started it */
	int owner;                /* the process whose agent this is */
	char runtime[128];        /* $XDG_RUNTIME_DIR at the start */
	char report[96];          /* $CAIRN_REPORT: who wants the last snapshot; see handover.h */
	int64_t started_ns;       /* since 1970 */
	int64_t chores_ns;        /* when the server's thread does what it does every second */
	int utc_offset;           /* seconds, for names with local time in them */
	char **environment;       /* for children; see environment.c */
	char tool[256];           /* the cairn command, "" when there is none */
	atomic_uint tikv_interval; /* seconds between TiKV's dumps; 0 for none */
	atomic_uint tikv_round;    /* counts their beginnings and ends: those of an earlier round write no more */
};

/* The agent of this process. */
extern struct cairn_agent cairn_agent;

#endif
