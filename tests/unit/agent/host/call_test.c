/* call_test.c - the queue: work in the order it is due, what is urgent before all and however busy the workers are.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/call.h"

#include "agent/route/route.h"
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
	for (int i = 0; i < 2000 && atomic_load(counter) < value; i++)
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

static bool enqueue(const struct cairn_route *route, int64_t due_ns)
{
	struct cairn_call *call = cairn_call_new(&work);
	if (!call)
		return false;
	call->route = route;
	call->finish = finish;
	call->due_ns = due_ns;
	return cairn_call_enqueue(&work, call);
}

int main(void)
{
	static const struct cairn_route slow = {.handle = hold}, quick = {.handle = count_urgent}, twice = {.handle = come_again},
					far = {.handle = come_again},
					diagnosis = {.handle = hold_and_come_again};
	cairn_work_open(&work, NULL);
	ok(enqueue(&slow, 0) && enqueue(&slow, 0) && reaches(&started, CAIRN_WORKERS), "all workers are busy");
	ok(enqueue(&slow, 0), "more waits");
	ok(enqueue(&quick, CAIRN_URGENT) && reaches(&urgent, 1), "what is urgent does not wait for them");
	ok(enqueue(&quick, CAIRN_URGENT) && reaches(&urgent, 2), "nor does the next");
	pause_ms(20);
	is_int(atomic_load(&started), CAIRN_WORKERS, "and the thread in reserve takes nothing else");
	atomic_store(&go_on, true);
	ok(reaches(&finished, 5), "the others go on when they can");
	ok(enqueue(&twice, 0) && reaches(&later, 2) && reaches(&finished, 6), "a call may put itself off");
	ok(enqueue(&far, INT64_MAX) && enqueue(&slow, INT64_MAX) && enqueue(&far, INT64_MAX), "some that are due much later");
	cairn_work_withdraw(&work, &far);
	is_int(atomic_load(&finished), 8, "those of one route are withdrawn");
	ok(work.queue && work.queue->route == &slow && !work.queue->next, "and no others");
	cairn_work_withdraw(&work, &slow);
	struct cairn_call *late = cairn_call_new(&work), *background = cairn_call_new(&work);
	late->route = background->route = &diagnosis;
	late->finish = background->finish = finish;
	atomic_store(&go_on, false);
	ok(cairn_call_enqueue(&work, background) && reaches(&started, 4), "a call that will put itself off, after the stop");
	pthread_t stopper;
	pthread_create(&stopper, NULL, stop, NULL);
	while (cairn_call_new(&work))
		pause_ms(1);
	atomic_store(&go_on, true);
	pthread_join(stopper, NULL);
	is_int(atomic_load(&finished), 10, "it is ended instead");
	ok(!cairn_call_new(&work), "a stopped queue takes nothing");
	late->due_ns = CAIRN_URGENT;
	ok(!cairn_call_enqueue(&work, late) && !work.reserved, "nor what was made before, however urgent; no thread is started for it");
	return tap_done();
}
