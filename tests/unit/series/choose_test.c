/* choose_test.c - which dumps of a folder are one service.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/choose.h"
#include "tap.h"

enum { most = 16 };

/* "prefix program pid time [start]" for each dump, with "-" for what is not known; returns which were chosen as a row of x and dots. */
static const char *choose(const char *const *lines, struct cairn_choice *choice)
{
	static char row[most + 1], words[most][2][32];
	struct cairn_candidate dumps[most] = {0};
	size_t count = 0;
	for (; lines[count]; count++) {
		int process, time, start = 0;
		sscanf(lines[count], "%31s %31s %d %d %d", words[count][0], words[count][1], &process, &time, &start);
		dumps[count] = (struct cairn_candidate){
			.prefix = cairn_bytes_of(words[count][0][0] == '-' ? "" : words[count][0]),
			.program = cairn_bytes_of(words[count][1][0] == '-' ? "" : words[count][1]),
			.origin = {(uint64_t)process, start, time},
		};
	}
	*choice = cairn_series_choose(dumps, count);
	for (size_t i = 0; i < count; i++)
		row[i] = dumps[i].chosen ? 'x' : '.';
	row[count] = '\0';
	return row;
}

#define DUMPS(...) ((const char *const[]){__VA_ARGS__, NULL})

int main(void)
{
	struct cairn_choice choice;
	is_text(choose(DUMPS("a /bin/a 1 1", "a /bin/a 1 3", "a /bin/a 1 2"), &choice), "xxx", "one process, in any order");
	is_int(choice.count, 3, "all of them");
	is_text(choose(DUMPS("a /bin/a 1 1", "b /bin/b 2 2", "b /bin/b 2 3"), &choice), ".xx", "the service with the most dumps");
	is_int(choice.other_services, 1, "the other is counted");
	is_int(choice.service == 1 || choice.service == 2, 1, "and the service can be named by one of its own");
	is_text(choose(DUMPS("jeprof /bin/a 1 1", "jeprof /bin/b 2 2", "jeprof /bin/b 2 3"), &choice), ".xx", "one prefix, two programs");
	is_text(choose(DUMPS("node /bin/a 1 1", "- /bin/a 1 2", "node /bin/a 1 3"), &choice), "xxx",
		"a file named otherwise is known by its program");
	is_text(choose(DUMPS("a /v1/a 1 1", "a /v2/a 2 2", "a /v2/a 2 3"), &choice), "xxx", "a new build elsewhere is the same service");
	is_text(choose(DUMPS("a /bin/a 1 1", "a /bin/a 1 2", "a /bin/a 2 3", "a /bin/a 2 4"), &choice), "xxxx", "a restart");
	is_int(choice.other_processes, 0, "nobody is left out");
	is_text(choose(DUMPS("a - 1 1", "a - 2 2", "a - 1 3", "a - 2 4", "a - 1 5"), &choice), "x.x.x",
		"of two at the same time, the one with the most");
	is_int(choice.other_processes, 2, "the other's dumps are counted");
	is_text(choose(DUMPS("a - 1 1", "a - 2 2", "a - 1 3", "a - 3 4", "a - 3 5", "a - 1 3"), &choice), "x.xxxx",
		"one at the same time and one after it");
	is_text(choose(DUMPS("a - 1 10 5", "a - 1 20 6", "a - 1 15 4"), &choice), "xxx", "a start that two clocks tell differently");
	is_int(cairn_origin_same((struct cairn_origin){1, 5, 10}, (struct cairn_origin){1, 6, 20}), 1, "is of one process");
	is_int(cairn_origin_same((struct cairn_origin){1, 5, 10}, (struct cairn_origin){1, 15, 20}), 0,
	       "the same number after a restart is of another");
	is_int(cairn_origin_same((struct cairn_origin){1, 15, 20}, (struct cairn_origin){1, 5, 10}), 0, "in either order");
	struct cairn_origin first = {1, 5, 10, .life = {1, 0xabcd, 100}}, other = {1, 6, 20, .life = {1, 0xabcd, 200}};
	is_int(cairn_origin_same(first, other), 0, "two containers have a process 1 each, whose lives differ");
	other.life = first.life;
	is_int(cairn_origin_same(first, other), 1, "one life is one process");
	other.start_ns = 15;
	is_int(cairn_origin_same(first, other), 1, "whatever the clock said of its start");
	other.life.ticks = 0;
	is_int(cairn_origin_same(first, other), 0, "if a life is not known, the start decides");
	other = first;
	other.time_ns = 20;
	is_int(cairn_origin_continues(first, other), 1, "it goes on");
	other.since_ns = 8;
	is_int(cairn_origin_continues(first, other), 1, "if sampling began before both");
	other.since_ns = 12;
	is_int(cairn_origin_continues(first, other), 0, "but not if samples were discarded in between");
	is_int(cairn_origin_continues(other, first), 0, "in either order");
	/* Two containers at the same time, and a dump whose life is not known, which can be of either by its PID and time. */
	struct cairn_candidate mixed[] = {
		{.prefix = cairn_bytes_of("a"), .origin = {1, 5, 12, .life = {1, 0xabcd, 100}}},
		{.prefix = cairn_bytes_of("a"), .origin = {1, 5, 11, .life = {1, 0xabcd, 200}}},
		{.prefix = cairn_bytes_of("a"), .origin = {1, 0, 12}},
		{.prefix = cairn_bytes_of("a"), .origin = {1, 5, 13, .life = {1, 0xabcd, 200}}},
		{.prefix = cairn_bytes_of("a"), .origin = {2, 0, 20}},
	};
	choice = cairn_series_choose(mixed, 5);
	is_int(choice.count, 4, "lives that are known, and one that is not");
	ok(!mixed[0].chosen && mixed[1].chosen && mixed[2].chosen && mixed[3].chosen && mixed[4].chosen, "which joins one of them");
	is_text(choose(DUMPS("- - 0 1", "- - 0 2", "- - 0 2"), &choice), "xxx", "nothing known, one service");
	is_text(choose(DUMPS("- /bin/a 1 1", "- /bin/a 0 9", "- /bin/a 1 2"), &choice), "x.x",
		"one that lost its end has no place among those that did not");
	is_int(choice.unknown, 1, "and is counted");
	return tap_done();
}
