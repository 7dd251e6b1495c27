/* stage_test.c - what each event does at each stage, and that of several threads one does it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/work/stage.h"
#include "tap.h"

#include <assert.h>
#include <pthread.h>

enum { rounds = 200, threads_count = 4 };

/* For each event the stages that it leads to: from off, preparing, waiting, armed, starting, running. - is nowhere. */
static const struct {
	enum cairn_stage_event event;
	const char *name, *to;
} expected[] = {
	{CAIRN_STAGE_PREPARE, "prepare", "P-----"}, {CAIRN_STAGE_WAIT, "wait", "-W--W-"},     {CAIRN_STAGE_ARM, "arm", "--A---"},
	{CAIRN_STAGE_START, "start", "-S----"},     {CAIRN_STAGE_WAKE, "wake", "--SS--"},     {CAIRN_STAGE_RUN, "run", "----R-"},
	{CAIRN_STAGE_GIVE_UP, "give up", "-O--O-"}, {CAIRN_STAGE_STOP, "stop", "--OO-O"},     {CAIRN_STAGE_FORK, "fork", "OOWAWW"},
};
static const char letters[] = "OPWASR";

static void test_table(void)
{
	static_assert(sizeof expected / sizeof *expected == CAIRN_STAGE_EVENTS && sizeof letters == CAIRN_STAGES + 1, "all of them");
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		char got[CAIRN_STAGES + 1] = "";
		bool before_is_right = true;
		for (int from = 0; from < CAIRN_STAGES; from++) {
			_Atomic enum cairn_stage stage = (enum cairn_stage)from;
			enum cairn_stage before = CAIRN_STAGES;
			bool moved = cairn_stage_move(&stage, expected[i].event, &before);
			got[from] = moved ? letters[stage] : '-';
			before_is_right = before_is_right && before == (enum cairn_stage)from && (moved || stage == before);
		}
		is_text(got, expected[i].to, "%s", expected[i].name);
		ok(before_is_right, "%s says what was before, and changes nothing where it leads nowhere", expected[i].name);
	}
}

static struct {
	_Atomic enum cairn_stage stage;
	atomic_uint winners;
	pthread_barrier_t barrier;
} race;

static void *wake(void *context)
{
	(void)context;
	for (int i = 0; i < rounds; i++) {
		pthread_barrier_wait(&race.barrier);
		atomic_fetch_add(&race.winners, cairn_stage_move(&race.stage, CAIRN_STAGE_WAKE, NULL));
		if (pthread_barrier_wait(&race.barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			atomic_store(&race.stage, i % 2 ? CAIRN_STAGE_WAITING : CAIRN_STAGE_ARMED);
	}
	return NULL;
}

static void test_race(void)
{
	pthread_t threads[threads_count];
	pthread_barrier_init(&race.barrier, NULL, threads_count);
	atomic_store(&race.stage, CAIRN_STAGE_WAITING);
	for (int i = 0; i < threads_count; i++)
		pthread_create(&threads[i], NULL, wake, NULL);
	for (int i = 0; i < threads_count; i++)
		pthread_join(threads[i], NULL);
	is_int((long long)race.winners, rounds, "of several threads that wake it, one does");
}

int main(void)
{
	test_table();
	test_race();
	return tap_done();
}
