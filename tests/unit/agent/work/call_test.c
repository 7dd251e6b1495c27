/* call_test.c - the queue: work in the order it is due, what is urgent before all and however busy the workers are.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/work/call.h"

#include "process/clock.h"
#include "tap.h"

#include <stdatomic.h>
#include <unistd.h>

static struct cairn_work work;
static atomic_int started, urgent, later, finished;
static atomic_bool go_on;

static void pause_ms(unsigned milliseconds)
{
	usleep(milliseconds * 1000);
}

static bool reaches(atomic_int *counter, int value)
{
	for (int i = 0; i < 60000 && atomic_load(counter) < value; i++)
		pause_ms(1);
	return atomic_load(counter) >= value;
}

static void hold(struct cairn_call *call)
{
	(void)call;
	atomic_fetch_add(&started, 1);
	while (!atomic_load(&go_on))
		pause_ms(1);
}

static void count_urgent(struct cairn_call *call)
{
	(void)call;
	atomic_fetch_add(&urgent, 1);
}

/* Wants to be called again once. */
static void come_again(struct cairn_call *call)
{
	if (atomic_fetch_add(&later, 1) == 0)
		call->due_ns = cairn_clock_ns() + 20000000;
}

/* Waits, and then wants to be called again. */
static void hold_and_come_again(struct cairn_call *call)
{
	hold(call);
	call->due_ns = cairn_clock_ns() + 1;
}

static void *stop(void *unused)
{
	cairn_work_stop(&work);
	return unused;
}

static void finish(struct cairn_call *call)
{
	cairn_call_free(&work, call);
	atomic_fetch_add(&finished, 1);
}

static bool enqueue_for(const void *owner, const atomic_bool *gone, enum cairn_call_origin origin, cairn_call_handle *handle,
			int64_t due_ns)
{
	struct cairn_call *call = cairn_call_new(&work, origin);
	if (!call)
		return false;
	call->owner = (void *)(uintptr_t)owner;
	call->gone = gone;
	call->handle = handle;
	call->finish = finish;
	call->due_ns = due_ns;
	if (cairn_call_enqueue(&work, call))
		return true;
	cairn_call_free(&work, call);
	return false;
}

static bool enqueue(cairn_call_handle *handle, int64_t due_ns)
{
	return enqueue_for(NULL, NULL, CAIRN_CALL_REMOTE, handle, due_ns);
}

static unsigned fill(enum cairn_call_origin origin)
{
	unsigned count = 0;
	while (cairn_call_new(&work, origin))
		count++;
	return count;
}

/* However many calls strangers make, others have places. */
static void test_places(void)
{
	cairn_work_open(&work, NULL);
	is_int(fill(CAIRN_CALL_REMOTE), CAIRN_CALLS_REMOTE, "strangers have their share of the places");
	is_int(fill(CAIRN_CALL_LOCAL), CAIRN_CALLS_ASKED - CAIRN_CALLS_REMOTE, "local clients have places of their own");
	is_int(fill(CAIRN_CALL_OWN), CAIRN_CALLS - CAIRN_CALLS_ASKED, "and so have rules");
}

/* A call whose client leaves while it waits ends at once. */
static void test_abandon(void)
{
	static char client, other;
	atomic_bool gone = false;
	cairn_work_open(&work, NULL);
	int before = atomic_load(&finished), began = atomic_load(&started);
	atomic_store(&go_on, false);
	ok(enqueue_for(&client, &gone, CAIRN_CALL_REMOTE, count_urgent, INT64_MAX) && enqueue_for(&other, NULL, CAIRN_CALL_REMOTE, count_urgent, INT64_MAX),
	   "two wait");
	atomic_store(&gone, true);
	cairn_work_abandon(&work, &client);
	is_int(atomic_load(&finished), before + 1, "one ends when its client leaves");
	ok(work.queue && work.queue->owner == &other && !work.queue->next, "the other waits on");
	ok(!enqueue_for(&client, &gone, CAIRN_CALL_REMOTE, count_urgent, 0), "nothing more is done for who has left");
	atomic_store(&gone, false);
	ok(enqueue_for(&client, &gone, CAIRN_CALL_REMOTE, hold_and_come_again, 0) && reaches(&started, began + 1), "one is being worked on");
	atomic_store(&gone, true);
	cairn_work_abandon(&work, &client);
	is_int(atomic_load(&finished), before + 1, "which goes on when its client leaves");
	atomic_store(&go_on, true);
	ok(reaches(&finished, before + 2), "until it would wait again");
	cairn_work_stop(&work);
}

/* Strangers keep both workers busy; a local client does not wait for them. */
static void test_local_worker(void)
{
	cairn_work_open(&work, NULL);
	atomic_store(&go_on, false);
	int began = atomic_load(&started), answered = atomic_load(&urgent), before = atomic_load(&finished);
	ok(enqueue(hold, 0) && enqueue(hold, 0) && reaches(&started, began + 2) && enqueue(hold, 0), "strangers keep the workers busy");
	ok(enqueue_for(NULL, NULL, CAIRN_CALL_LOCAL, count_urgent, 0) && reaches(&urgent, answered + 1), "a local client is answered");
	is_int(atomic_load(&started), began + 2, "by a thread that takes nothing of theirs");
	atomic_store(&go_on, true);
	ok(reaches(&finished, before + 4), "all are answered in the end");
	cairn_work_stop(&work);
}

int main(void)
{
	cairn_work_open(&work, NULL);
	ok(enqueue(hold, 0) && enqueue(hold, 0) && reaches(&started, CAIRN_WORKERS), "all workers are busy");
	ok(enqueue(hold, 0), "more waits");
	ok(enqueue(count_urgent, CAIRN_URGENT) && reaches(&urgent, 1), "what is urgent does not wait for them");
	ok(enqueue(count_urgent, CAIRN_URGENT) && reaches(&urgent, 2), "nor does the next");
	pause_ms(20);
	is_int(atomic_load(&started), CAIRN_WORKERS, "and the thread in reserve takes nothing else");
	atomic_store(&go_on, true);
	ok(reaches(&finished, 5), "the others go on when they can");
	ok(enqueue(come_again, 0) && reaches(&later, 2) && reaches(&finished, 6), "a call may put itself off");
	ok(enqueue(come_again, INT64_MAX) && enqueue(hold, INT64_MAX) && enqueue(come_again, INT64_MAX), "some that are due much later");
	cairn_work_withdraw(&work, come_again);
	is_int(atomic_load(&finished), 8, "those for one handler are withdrawn");
	ok(work.queue && work.queue->handle == hold && !work.queue->next, "and no others");
	cairn_work_withdraw(&work, hold);
	struct cairn_call *late = cairn_call_new(&work, CAIRN_CALL_REMOTE), *background = cairn_call_new(&work, CAIRN_CALL_REMOTE);
	late->handle = background->handle = hold_and_come_again;
	late->finish = background->finish = finish;
	atomic_store(&go_on, false);
	ok(cairn_call_enqueue(&work, background) && reaches(&started, 4), "a call that will put itself off, after the stop");
	pthread_t stopper;
	pthread_create(&stopper, NULL, stop, NULL);
	while (cairn_call_new(&work, CAIRN_CALL_REMOTE))
		pause_ms(1);
	atomic_store(&go_on, true);
	pthread_join(stopper, NULL);
	is_int(atomic_load(&finished), 10, "it is ended instead");
	ok(!cairn_call_new(&work, CAIRN_CALL_REMOTE), "a stopped queue takes nothing");
	late->due_ns = CAIRN_URGENT;
	ok(!cairn_call_enqueue(&work, late) && !work.workers[CAIRN_THREADS - 1].started,
	   "nor what was made before, however urgent; no thread is started for it");
	test_places();
	test_abandon();
	test_local_worker();
	return tap_done();
}
