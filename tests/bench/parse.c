/* parse.c - how fast a dump is read: parse FILE prints megabytes a second and peak memory as a share of the input.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "profile/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
	return *(const double *)a > *(const double *)b ? 1 : -1;
}

int main(int argc, char **argv)
{
	enum { runs = 5 };
	double seconds[runs];
	size_t samples = 0, length = 0;
	for (int i = 0; i < runs; i++) {
		struct cairn_error error;
		struct cairn_file file;
		struct cairn_profile profile;
		double start = now();
		cairn_profile_init(&profile);
		if (argc < 2 || !cairn_file_read(&file, argv[1], &error) ||
		    !cairn_profile_read(&profile, file.bytes, argv[1], NULL, &error)) {
			fprintf(stderr, "%s\n", argc < 2 ? "usage: parse FILE" : error.text);
			return 1;
		}
		seconds[i] = now() - start;
		samples = profile.sample_count;
		length = file.bytes.length;
		cairn_profile_free(&profile);
		cairn_file_close(&file);
	}
	qsort(seconds, runs, sizeof *seconds, compare);
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%.0f MB, %zu stacks: %.3f s, %.0f MB/s, peak memory %.2f of the input\n", (double)length / 1e6, samples, seconds[runs / 2],
	       (double)length / 1e6 / seconds[runs / 2], (double)usage.ru_maxrss * 1024 / (double)length);
	return 0;
}
