/* call.h - one request on its way through the agent, and the threads that work on those that take time.
 *
 * A request comes from the agent's own server or from cairn_answer; both make a call. Quick routes are answered on the
 * thread that brought the call; the others wait in a queue for one of two workers, so that a slow snapshot or drawing
 * never keeps a status waiting. A route that wants to look twice (a difference over N seconds) sets `due_ns` and is called
 * again then, with no thread held in between. A dump that a rule asks for may be the last this process writes: it goes first
 * and has a thread in reserve, which does nothing else, should the workers be busy. Strangers cannot lock the others out: clients over TCP
 * have at most half of the places, and calls that come through the local socket a thread of their own when the workers are busy.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_CALL_H
#define CAIRN_AGENT_HOST_CALL_H

#include "agent/jemalloc/snapshot.h"
#include "http/server.h"

struct cairn_agent;
struct cairn_route;

/* Who asked. */
enum cairn_call_origin {
	CAIRN_CALL_OWN,   /* a rule or the agent itself */
	CAIRN_CALL_LOCAL, /* the local socket, or the host by cairn_answer */
	CAIRN_CALL_REMOTE,
};

struct cairn_call {
	enum cairn_call_origin origin;
	struct cairn_agent *agent;
	const struct cairn_route *route;
	const struct cairn_request *request;
	struct cairn_response *response;
	struct cairn_quota *quota;     /* what its snapshots and answer are taken from; NULL for no limit */
	const char *busy;              /* set by a handler that found too much under way: the answer is a 503 with that reason */
	const atomic_bool *gone;       /* the client has left; NULL when it cannot */
	const atomic_bool *half_closed; /* it has left, or half of it; NULL when it cannot */
	struct cairn_bytes rest;       /* what the route's `*` stands for */
	int64_t arrived_ns;
	int64_t due_ns;                /* set by a handler that wants to be called again then; CAIRN_URGENT goes before all */
	struct cairn_snapshot *base;   /* of the first look; released with the call */
	void *held;                    /* whatever else a handler keeps between two looks, and */
	void (*release)(void *held);   /* what is done with it when the call ends, also early; NULL for nothing */
	void (*finish)(struct cairn_call *call);
	void *owner;                   /* for `finish` */
	struct cairn_call *next;
	bool used;
};

enum { CAIRN_WORKERS = 2, CAIRN_THREADS = CAIRN_WORKERS + 2, CAIRN_CALLS = 64, CAIRN_URGENT = -1 };
/* Of the calls, how many clients over TCP may have under way, and they and local ones together. */
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
	unsigned running; /* calls that the workers for all are at */
	void (*begin)(void);
	/* Those for all calls, then one for calls that are not remote, then one for urgent ones. */
	struct cairn_worker workers[CAIRN_THREADS];
	struct cairn_call calls[CAIRN_CALLS];
};

/* Prepares WORK. Its threads start when there is something to do; each calls BEGIN first. */
void cairn_work_open(struct cairn_work *work, void (*begin)(void));

/* Waits for the workers to end and fails what is still in the queue with 503. New calls are refused from now on. */
void cairn_work_stop(struct cairn_work *work);

/* Whether no call is under way. */
bool cairn_work_is_idle(struct cairn_work *work);

/* A free call, or NULL when too many are under way for that origin. */
struct cairn_call *cairn_call_new(struct cairn_work *work, enum cairn_call_origin origin);

/* Puts CALL in the queue. False, with CALL still the caller's, where no thread can be had to work on it, its client has left, or the queue
 * has stopped. */
bool cairn_call_enqueue(struct cairn_work *work, struct cairn_call *call);

/* The client of the call with that OWNER has left, as its `gone` says by now: ends the call if it waits in the queue; one that is
 * being worked on sees for itself. */
void cairn_work_abandon(struct cairn_work *work, const void *owner);

/* Takes the calls of ROUTE that wait in the queue out of it and ends them; one that is being worked on goes on. */
void cairn_work_withdraw(struct cairn_work *work, const struct cairn_route *route);

/* Lets go of what CALL holds between two looks; cairn_call_free does it too. */
void cairn_call_release(struct cairn_call *call);

void cairn_call_free(struct cairn_work *work, struct cairn_call *call);

#endif
