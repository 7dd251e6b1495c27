/* series_test.c - for which part of the time a process of a store was there, who still is, and the instants to look at.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/store_series.h"

#include "base/time.h"
#include "tap.h"

static const int64_t minute = 60 * (int64_t)CAIRN_SECOND_NS;
static struct cairn_store_point room[16][64];

/* A process with COUNT snapshots STEP minutes apart, from minute START on. */
static struct cairn_store_process process(size_t number, int start, size_t count, int step, const char *ended)
{
	for (size_t i = 0; i < count; i++)
		room[number][i] = (struct cairn_store_point){.time_ns = (1000 + start + (int64_t)i * step) * minute,
							     .ended = i + 1 == count ? ended : ""};
	return (struct cairn_store_process){.host = "", .points = room[number], .point_count = count};
}

static void test_shares(void)
{
	double shares[16];
	struct cairn_store_process items[16];
	struct cairn_store_processes processes = {.items = items};
	for (size_t i = 0; i < 6; i++)
		items[processes.count++] = process(i, (int)i * 10, 10, 1, "");
	is_near(cairn_fleet_shares(&processes, shares), 1, 1e-9, "one that is replaced every ten minutes, without a word, is there once");
	is_near(shares[0], 10. / 59, 1e-9, "the first until its next snapshot was due");
	is_near(shares[5], 9. / 59, 1e-9, "the last until the last snapshot");

	processes.count = 0;
	items[processes.count++] = process(0, 0, 61, 1, "");
	items[processes.count++] = process(1, 0, 31, 1, "exited with code 0");
	items[processes.count++] = process(2, 58, 1, 1, "");
	items[processes.count++] = process(3, 20, 1, 1, "");
	items[processes.count++] = process(4, 20, 1, 1, "killed by signal 9");
	items[processes.count++] = process(5, 0, 30, 2, "");
	is_near(cairn_fleet_shares(&processes, shares), 1 + 0.5 + (2 + 4. / 3 + 4. / 3) / 60 + 1, 1e-9, "several, for different times");
	is_near(shares[0], 1, 1e-9, "all the time");
	is_near(shares[1], 0.5, 1e-9, "until its end, which is known");
	is_near(shares[2], 2. / 60, 1e-9, "one snapshot, of one that may still be there");
	is_near(shares[3], 4. / 3 / 60, 1e-9, "one snapshot and no more: as long as the others take from one to the next");
	is_near(shares[4], 4. / 3 / 60, 1e-9, "which is so for one that has ended, too");
	is_near(shares[5], 1, 1e-9, "one whose next snapshot is not due yet");

	processes.count = 0;
	items[processes.count++] = process(0, 0, 3, 20, "");
	items[processes.count++] = process(1, 19, 3, 20, "");
	items[processes.count++] = process(2, 19, 3, 20, "");
	is_near(cairn_fleet_shares(&processes, shares), 3 - 2 * 19. / 59, 1e-9, "without a start, from the first snapshot on");
	items[0].start_ns = items[1].start_ns = 1;
	items[2].start_ns = 1010 * minute;
	is_near(cairn_fleet_shares(&processes, shares), 2 + 49. / 59, 1e-9, "snapshots at different times of instances that all run");
	is_near(shares[0], 1, 1e-9, "the first");
	is_near(shares[1], 1, 1e-9, "one whose first snapshot comes later");
	is_near(shares[2], 49. / 59, 1e-9, "one that started later");
	items[1].start_ns = 2000 * minute;
	is_near(cairn_fleet_shares(&processes, shares), 1 + 40. / 59 + 49. / 59, 1e-9, "a start after the first snapshot is not believed");

	processes.count = 0;
	for (size_t i = 0; i < 3; i++)
		items[processes.count++] = process(i, (int)i * 7, 1, 1, "");
	is_near(cairn_fleet_shares(&processes, shares), 3, 1e-9, "where each has one snapshot, all count");
	processes.count = 1;
	is_near(cairn_fleet_shares(&processes, shares), 1, 1e-9, "one snapshot");
	processes.count = 0;
	is_near(cairn_fleet_shares(&processes, shares), 0, 1e-9, "none");
}

static void test_gone(void)
{
	struct cairn_store_process often = process(0, 0, 10, 1, ""), ended = process(1, 0, 10, 1, "exited with code 0");
	struct cairn_store_process last = process(2, 600, 1, 1, "");
	int64_t end = 1009 * minute;
	ok(!cairn_fleet_is_gone(&often, end) && !cairn_fleet_is_gone(&often, end + 10 * minute), "silent for ten minutes: still there");
	ok(cairn_fleet_is_gone(&often, end + 11 * minute), "and then gone");
	ok(cairn_fleet_is_gone(&ended, end), "one that has ended is gone at once");
	last.first_ns = 1000 * minute;
	last.snapshots = 11; /* an hour apart, of which only the last one is here */
	ok(!cairn_fleet_is_gone(&last, 1600 * minute + 170 * minute), "one that sends every hour is there for three hours");
	ok(cairn_fleet_is_gone(&last, 1600 * minute + 190 * minute), "and then gone, too");
}

static void test_instants(void)
{
	struct cairn_fleet_instant instants[CAIRN_FLEET_INSTANTS];
	struct cairn_store_process items[3];
	struct cairn_store_processes processes = {.items = items, .count = 1};
	items[0] = process(0, 0, 1, 1, "");
	ok(cairn_fleet_instants(&processes, instants) == 1 && instants[0].time_ns == 1000 * minute, "one snapshot is one instant");
	items[0] = process(0, 0, 64, 3, "");
	size_t count = cairn_fleet_instants(&processes, instants), own = 0;
	for (size_t i = 0; i < count; i++)
		own += instants[i].instances == 1 && (instants[i].time_ns / minute - 1000) % 3 == 0 &&
		       (i == 0 || instants[i].time_ns > instants[i - 1].time_ns);
	is_int(count, CAIRN_FLEET_INSTANTS, "of one process with more snapshots than instants,");
	is_int(own, count, "each is another snapshot,");
	ok(instants[0].time_ns == 1000 * minute && instants[count - 1].time_ns == (1000 + 63 * 3) * minute, "from the first to the last");
	items[1] = process(1, 500, 1, 1, "");
	items[2] = process(2, -10, 1, 1, "");
	processes.count = 3;
	count = cairn_fleet_instants(&processes, instants);
	ok(count == CAIRN_FLEET_INSTANTS && instants[0].time_ns == 990 * minute && instants[count - 1].time_ns == 1500 * minute,
	   "of several, they reach from the first of all to the last of all");
	processes.items++;
	processes.count = 2;
	is_int(cairn_fleet_instants(&processes, instants), 2, "and there are two at least where there are two times");
	processes.count = 0;
	is_int(cairn_fleet_instants(&processes, instants), 0, "of no process there is none");
}

/* The limit at the last instant of six instances with 24 GiB each, of which GROUPS have it from a control group, on MACHINES machines. */
static struct cairn_fleet_instant limits(size_t groups, size_t machines)
{
	static const char *const hosts[] = {"one", "two", "three", "four", "five", "six"};
	struct cairn_fleet_instant instants[CAIRN_FLEET_INSTANTS];
	struct cairn_store_process items[6];
	struct cairn_store_processes processes = {.items = items};
	for (size_t i = 0; i < 6; i++) {
		items[processes.count++] = process(i, 0, 3, 1, "");
		items[i].host = hosts[i % machines];
		for (size_t k = 0; k < 3; k++) {
			room[i][k].limit = 24;
			room[i][k].limit_of_group = i < groups;
		}
	}
	return instants[cairn_fleet_instants(&processes, instants) - 1];
}

static void test_limits(void)
{
	struct cairn_fleet_instant at = limits(0, 1);
	ok(at.instances == 6 && at.limit == 24 && at.machines == 1, "the machine that all instances share is one machine");
	at = limits(0, 3);
	ok(at.limit == 72 && at.machines == 3, "three machines are three");
	at = limits(6, 1);
	ok(at.limit == 144 && at.machines == 0, "each control group has its own limit");
	at = limits(3, 2);
	ok(at.limit == 0 && at.machines == 0, "limits of groups and of machines have no sum");
}

int main(void)
{
	test_limits();
	test_instants();
	test_shares();
	test_gone();
	return tap_done();
}
