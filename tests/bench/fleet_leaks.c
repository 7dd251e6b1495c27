/* fleet_leaks.c - how often the verdict over many instances is right: simulated fleets with known truth (simulate_fleet.h).
 *
 *	fleet-leaks [RUNS [INSTANCES [SEED [CELL]]]]
 * SPDX-License-Identifier: Apache-2.0 */
#include "simulate_fleet.h"

#include <sys/random.h>
#include <time.h>

static const struct cell cells[] = {
	{"a leak of 36 MB/h", 36e6, 1, 0, false, false},
	{"a leak of 2 MB/h", 2e6, 1, 0, false, false},
	{"a leak of 0.5 MB/h", 5e5, 1, 0, false, false},
	{"2 MB/h, common tide", 2e6, 1, 0, true, false},
	{"2 MB/h, rolling", 2e6, 1, 0, false, true},
	{"2 MB/h, since half", 2e6, 1, 0.5, false, false},
	{"36 MB/h on one in ten", 36e6, 0.1, 0, false, false},
	{"no leak", 0, 1, 0, false, false},
	{"no leak, common tide", 0, 1, 0, true, false},
	{"no leak, rolling", 0, 1, 0, false, true},
};

int main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 20;
	size_t instances = argc > 2 ? (size_t)atoi(argv[2]) : 1000;
	uint64_t seed;
	if (argc > 3 && strcmp(argv[3], "-") != 0)
		seed = strtoull(argv[3], NULL, 10);
	else if (getrandom(&seed, 4, 0) != 4)
		seed = (uint64_t)time(NULL);
	printf("seed %llu, %d fleets a cell, %zu instances, %d dumps each of %d paths, period 512 KiB\n%-24s %6s %6s %8s %6s %7s %10s %10s "
	       "%7s\n",
	       (unsigned long long)(seed & 0xffffffff), runs, instances, dumps, path_count, "situation", "found", "first", "release",
	       "rate", "alarms", "said/true", "instances", "new");
	for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) {
		struct outcome outcome = {0};
		if (argc > 4 && !strstr(cells[c].name, argv[4]))
			continue;
		for (int r = 0; r < runs; r++)
			run_fleet(&cells[c], instances, (seed & 0xffffffff) + (uint64_t)r, &outcome);
		printf("%-24s %6d %6d %8d %6d %7d %10.3f %10.3f %7d\n", cells[c].name, outcome.found, outcome.first, outcome.release,
		       outcome.rate, outcome.alarms, outcome.truth > 0 ? outcome.said / outcome.truth : 0,
		       outcome.found ? outcome.instances / outcome.found : 0, outcome.every);
		fflush(stdout);
	}
	return 0;
}
