/* call.h - one request on its way through the agent, and the threads for slow requests.
 *
 * A request comes from the agent's own server or from cairn_answer; both make a call. Quick routes are answered on the thread that
 * brought the call; the others wait in a queue for one of two workers, so that a slow snapshot or drawing never delays a status. A route
 * that needs two looks (a difference over N seconds) sets `due_ns` and is called again at that time, without occupying a thread in
 * between. A dump requested by a rule may be the last that this process writes: it goes first and has a reserved thread in case the
 * workers are busy. Remote clients cannot lock out the others: clients over TCP have at most half of the places, and calls through the
 * local socket have a separate thread when the workers are busy.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_WORK_CALL_H
#define CAIRN_AGENT_WORK_CALL_H

#include "agent/engine/snapshot.h"
#include "http/server.h"

struct cairn_agent;
struct cairn_call;

typedef void cairn_call_handle(struct cairn_call *call);

/* The origin of a call. */
enum cairn_call_origin {
	CAIRN_CALL_OWN,   /* a rule or the agent itself */
	CAIRN_CALL_LOCAL, /* the local socket, or the host by cairn_answer */
	CAIRN_CALL_REMOTE,
};

struct cairn_call {
	enum cairn_call_origin origin;
	struct cairn_agent *agent;
	cairn_call_handle *handle;     /* the route's */
	const struct cairn_request *request;
	struct cairn_response *response;
	struct cairn_quota *quota;     /* the quota for its snapshots and answer; NULL for no limit */
	const char *busy;              /* set by a handler that found too much in progress: the answer is a 503 with that reason */
	const atomic_bool *gone;       /* the client has left; NULL when it cannot */
	const atomic_bool *half_closed; /* it has left, or half of it; NULL when it cannot */
	struct cairn_bytes rest;       /* the part of the path for the route's `*` */
	int64_t arrived_ns;
	int64_t due_ns;                /* set by a handler that wants to be called again at that time; CAIRN_URGENT goes before all */
	struct cairn_snapshot *base;   /* of the first look; released with the call */
	void *held;                    /* other data that a handler keeps between two looks, and */
	void (*release)(void *held);   /* the function that frees it when the call ends, even early; NULL for none */
	void (*finish)(struct cairn_call *call);
	void *owner;                   /* for `finish` */
	struct cairn_call *next;
	bool used;
};

enum { CAIRN_WORKERS = 2, CAIRN_THREADS = CAIRN_WORKERS + 2, CAIRN_CALLS = 64, CAIRN_URGENT = -1 };
/* The number of calls that clients over TCP may have in progress, and they and local ones together. */
enum { CAIRN_CALLS_REMOTE = 32, CAIRN_CALLS_ASKED = 60 };

struct cairn_work;

/* A thread of the queue. */
struct cairn_worker {
	struct cairn_work *work;
	bool started;
	pthread_t thread;
};

struct cairn_work {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct cairn_call *queue; /* by due_ns, earliest first */
	bool stop;
	unsigned running; /* calls that the general workers are processing */
	void (*begin)(void);
	/* The general workers, then one for calls that are not remote, then one for urgent ones. */
	struct cairn_worker workers[CAIRN_THREADS];
	struct cairn_call calls[CAIRN_CALLS];
};

/* Prepares WORK. Its threads start when there is work; each calls BEGIN first. */
void cairn_work_open(struct cairn_work *work, void (*begin)(void));

/* Waits for the workers to end and answers what is still in the queue with 503. Refuses new calls from now on. */
void cairn_work_stop(struct cairn_work *work);

/* Whether no call is in progress. */
bool cairn_work_is_idle(struct cairn_work *work);

/* A free call, or NULL if there are too many for that origin. */
struct cairn_call *cairn_call_new(struct cairn_work *work, enum cairn_call_origin origin);

/* Puts CALL in the queue. Returns false, with CALL still the caller's, if no thread can be started for it, its client has left, or the
 * queue has stopped. */
bool cairn_call_enqueue(struct cairn_work *work, struct cairn_call *call);

/* The client of the call with that OWNER has left, as its `gone` shows: ends the call if it waits in the queue; a call in progress
 * notices by itself. */
void cairn_work_abandon(struct cairn_work *work, const void *owner);

/* Removes the calls for HANDLE that wait in the queue and ends them; a call in progress continues. */
void cairn_work_withdraw(struct cairn_work *work, cairn_call_handle *handle);

/* Releases what CALL holds between two looks; cairn_call_free does so too. */
void cairn_call_release(struct cairn_call *call);

void cairn_call_free(struct cairn_work *work, struct cairn_call *call);

#endif
