/* fleet_leaks.c - how often the verdict over many instances is right: simulated fleets with known truth (simulate_fleet.h).
 *
 *	fleet-leaks [RUNS [INSTANCES [SEED [CELL]]]]
 * SPDX-License-Identifier: Apache-2.0 */
#include "simulate_fleet.h"

#include <sys/random.h>
#include <time.h>

/* Of the leaks that are WANTED, 95 of 100 are to be first, with the right release and rate; the others say how far it goes. */
static const struct {
	struct cell cell;
	bool wanted;
} cells[] = {
	{{"a leak of 36 MB/h", 36e6, 1, 0, tide_none, false}, true},
	{{"a leak of 2 MB/h", 2e6, 1, 0, tide_none, false}, true},
	{{"a leak of 0.5 MB/h", 5e5, 1, 0, tide_none, false}, false},
	{{"2 MB/h, load in a wave", 2e6, 1, 0, tide_wave, false}, true},
	{{"2 MB/h, load wanders", 2e6, 1, 0, tide_wander, false}, true},
	{{"2 MB/h, rolling", 2e6, 1, 0, tide_none, true}, true},
	{{"2 MB/h, since half", 2e6, 1, 0.5, tide_none, false}, false},
	{{"36 MB/h on one in ten", 36e6, 0.1, 0, tide_none, false}, false},
	{{"no leak", 0, 1, 0, tide_none, false}, true},
	{{"no leak, load in a wave", 0, 1, 0, tide_wave, false}, true},
	{{"no leak, load wanders", 0, 1, 0, tide_wander, false}, true},
	{{"no leak, rolling", 0, 1, 0, tide_none, true}, true},
};

int main(int argc, char **argv)
{
	static const double right_least = 95, alarms_most = 1; /* percent */
	int runs = argc > 1 ? atoi(argv[1]) : 20, fleets = 0, alarms = 0;
	size_t instances = argc > 2 ? (size_t)atoi(argv[2]) : 1000;
	uint64_t seed;
	if (argc > 3 && strcmp(argv[3], "-") != 0)
		seed = strtoull(argv[3], NULL, 10);
	else if (getrandom(&seed, 4, 0) != 4)
		seed = (uint64_t)time(NULL);
	printf("seed %llu, %d fleets a row, %zu instances, %d dumps each of %d paths, period 512 KiB\n%-24s %6s %6s %8s %6s %6s %7s %10s "
	       "%10s "
	       "%5s\n",
	       (unsigned long long)(seed & 0xffffffff), runs, instances, dumps, path_count, "situation", "found", "first", "release",
	       "rate", "right", "alarms", "said/true", "instances", "new");
	for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) {
		const struct cell *cell = &cells[c].cell;
		struct outcome outcome = {0};
		if (argc > 4 && !strstr(cell->name, argv[4]))
			continue;
		for (int r = 0; r < runs; r++)
			run_fleet(cell, instances, (seed & 0xffffffff) + (uint64_t)r, &outcome);
		fleets += runs;
		alarms += outcome.alarms;
		printf("%-24s %6d %6d %8d %6d %6d %7d %10.3f %10.3f %5d", cell->name, outcome.found, outcome.first, outcome.release,
		       outcome.rate, outcome.right, outcome.alarms, outcome.truth > 0 ? outcome.said / outcome.truth : 0,
		       outcome.found ? outcome.instances / outcome.found : 0, outcome.every);
		if (cells[c].wanted && cell->per_hour > 0)
			printf("  right, wanted %.0f %%: %s", right_least, outcome.right * 100 >= right_least * runs ? "met" : "NOT MET");
		printf("\n");
		fflush(stdout);
	}
	printf("false alarms: %d of %d fleets, %.2f %%; wanted below %.0f %%: %s\n", alarms, fleets, 100.0 * alarms / fleets, alarms_most,
	       alarms * 100 < alarms_most * fleets ? "met" : "NOT MET");
	return 0;
}
