/* name.c - how long naming a dump takes: name FILE [--no-cache] [--frames].
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "profile/read.h"
#include "symbol/symbolize.h"

#include <stdio.h>
#include <time.h>

static double now_ms(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

static void print_frames(const struct cairn_profile *profile)
{
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		printf("0x%llx", (unsigned long long)location->address);
		for (uint32_t f = 0; f < location->frame_count; f++) {
			const struct cairn_frame *frame = &profile->frames[location->first_frame + f];
			const struct cairn_function *function = &profile->functions[frame->function];
			printf(" | %s %s:%u", cairn_profile_string(profile, function->name), cairn_profile_string(profile, function->file),
			       frame->line);
		}
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	struct cairn_file file;
	struct cairn_error error;
	struct cairn_profile profile;
	struct cairn_symbolize_options options = {0};
	bool frames = false;
	for (int i = 2; i < argc; i++) {
		options.no_cache |= strcmp(argv[i], "--no-cache") == 0;
		frames |= strcmp(argv[i], "--frames") == 0;
	}
	cairn_profile_init(&profile);
	if (argc < 2 || !cairn_file_read(&file, argv[1], &error) ||
	    !cairn_profile_read(&profile, file.bytes, argv[1], &(struct cairn_read_options){0}, &error)) {
		fprintf(stderr, "%s\n", argc < 2 ? "name FILE [--no-cache] [--frames]" : error.text);
		return 1;
	}
	struct cairn_symbolize_report report;
	double start = now_ms();
	cairn_symbolize(&profile, &options, &report);
	double named = now_ms();
	cairn_symbolize_weigh(&profile, NULL, &report);
	double weighed = now_ms();
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	cairn_symbolize_explain(&profile, &report, 0, &out);
	if (frames)
		print_frames(&profile);
	fprintf(stderr, "%.*s", (int)out.length, out.data ? out.data : "");
	fprintf(stderr, "%zu locations, %zu unnamed, %zu from the cache; naming %.2f ms, weighing %.2f ms\n", report.locations,
		report.unnamed, report.from_cache, named - start, weighed - named);
	cairn_buffer_free(&out);
	cairn_symbolize_report_free(&report);
	cairn_profile_free(&profile);
	cairn_file_close(&file);
	return 0;
}
