/* symbolize_test.c - this program names its own functions, and says what it cannot name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symbolize.h"

#include "base/file.h"
#include "profile/maps.h"
#include "symbol/ticker.h"
#include "tap.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static char scratch[] = "/tmp/cairn-symbolize-test.XXXXXX";

__attribute__((noinline)) static int function_to_name(int value)
{
	__asm__ volatile("" : "+r"(value));
	return value + 1;
}

enum { ours, again, named, pseudo, homeless, location_count };

/* A profile whose locations are: our function twice (two addresses of it), one that has a name already, one in [vdso], one
 * nowhere. Each has a sample of its own, worth 100; the first has one more with [vdso] below it. */
static void make(struct cairn_profile *profile)
{
	struct cairn_file maps;
	cairn_profile_init(profile);
	profile->facts.time_ns = INT64_MAX;
	cairn_profile_add_value_type(profile, "inuse_space", "bytes");
	cairn_file_read(&maps, "/proc/self/maps", NULL);
	cairn_maps_read(profile, maps.bytes);
	cairn_file_close(&maps);
	uint64_t address = (uint64_t)(uintptr_t)function_to_name;
	cairn_profile_add_location(profile, address, CAIRN_NONE, false);
	cairn_profile_add_location(profile, address + 1, CAIRN_NONE, true);
	cairn_profile_add_location(profile, address + 2, CAIRN_NONE, true);
	cairn_maps_attach(profile);
	uint32_t name = cairn_profile_text(profile, "_Z7alreadyv");
	cairn_profile_set_frames(
		profile, named,
		&(struct cairn_frame){cairn_profile_add_function(profile, &(struct cairn_function){name, name, 0, 0}), 5, 0}, 1);
	uint32_t module = cairn_profile_add_module(profile, cairn_profile_text(profile, "[vdso]"), 0);
	uint32_t mapping = cairn_profile_add_mapping(profile, &(struct cairn_mapping){.start = 4096, .limit = 8192, .module = module});
	cairn_profile_add_location(profile, 5000, mapping, true);
	cairn_profile_add_location(profile, 0xdead, CAIRN_NONE, true);
	for (uint32_t i = 0; i < location_count; i++) {
		cairn_profile_stack_room(profile, 1)[0] = i;
		cairn_profile_add_sample(profile, 1, 0, &(double){100});
	}
	uint32_t *stack = cairn_profile_stack_room(profile, 2);
	stack[0] = ours;
	stack[1] = pseudo;
	cairn_profile_add_sample(profile, 2, 0, &(double){100});
}

static const char *name_of(const struct cairn_profile *profile, uint32_t location)
{
	const struct cairn_location *at = &profile->locations[location];
	return at->frame_count ? cairn_profile_string(profile, profile->functions[profile->frames[at->first_frame].function].name) : NULL;
}

static void check(bool no_cache, size_t from_cache, const char *when)
{
	struct cairn_profile profile;
	struct cairn_symbolize_report report;
	make(&profile);
	cairn_symbolize(&profile, &(struct cairn_symbolize_options){.no_cache = no_cache}, &report);
	is_text(name_of(&profile, ours), "function_to_name", "%s: our own function", when);
	is_text(name_of(&profile, again), "function_to_name", "%s: at another address too", when);
	const struct cairn_frame *frame = &profile.frames[profile.locations[ours].first_frame];
	like_text(cairn_profile_string(&profile, profile.functions[frame->function].file), "symbolize_test.c", "%s: its file", when);
	ok(frame->line > 15 && frame->line < 25, "%s: its line", when);
	is_text(name_of(&profile, named), "already()", "%s: what has a name keeps it, demangled", when);
	ok(!name_of(&profile, pseudo) && !name_of(&profile, homeless), "%s: what has no file has no name", when);
	is_int(report.locations, 4, "%s: so many needed a name", when);
	is_int(report.unnamed, 2, "%s: so many have none", when);
	is_int(report.from_cache, from_cache, "%s: so many were in the cache", when);
	cairn_symbolize_weigh(&profile, NULL, &report);
	is_text(cairn_profile_string(&profile, profile.modules[report.modules[0].module].path), "[vdso]",
		"%s: the heaviest without a name comes first", when);
	is_near(report.modules[0].unnamed_weight, 200, 0.001, "%s: the weight is of all samples that pass there", when);
	struct cairn_buffer out = cairn_buffer(10000);
	cairn_symbolize_explain(&profile, &report, 0.2, &out);
	cairn_buffer_byte(&out, '\0');
	is_text(out.data, "[vdso]: it has no file: 1 of 1 frames without a name, in 33.3 % of bytes\n", "%s: what matters is explained", when);
	cairn_buffer_free(&out);
	cairn_symbolize_report_free(&report);
	cairn_profile_free(&profile);
}

static void test_empty(void)
{
	struct cairn_profile profile;
	struct cairn_symbolize_report report;
	cairn_profile_init(&profile);
	cairn_symbolize(&profile, &(struct cairn_symbolize_options){0}, &report);
	cairn_symbolize_weigh(&profile, NULL, &report);
	is_int(report.locations + report.module_count, 0, "an empty profile needs nothing");
	cairn_symbolize_report_free(&report);
	cairn_profile_free(&profile);
}

struct seen {
	atomic_int calls;
	size_t done, total;
	char what[64];
};

static void progress(void *context, size_t done, size_t total, const char *what)
{
	struct seen *seen = context;
	seen->calls++;
	seen->done = done;
	seen->total = total;
	snprintf(seen->what, sizeof seen->what, "%s", what);
}

static void test_ticker(void)
{
	struct seen seen = {0};
	struct cairn_ticker ticker;
	cairn_ticker_start(&ticker, 10, progress, &seen);
	cairn_ticker_say(&ticker, "quick");
	cairn_ticker_stop(&ticker);
	is_int(seen.calls, 0, "quick work tells nothing");
	cairn_ticker_start(&ticker, 10, progress, &seen);
	cairn_ticker_say(&ticker, "/bin/slow");
	cairn_ticker_add(&ticker, 4);
	for (int i = 0; i < 100 && !seen.calls; i++)
		usleep(50000);
	ok(seen.calls > 0, "slow work tells how far it is");
	cairn_ticker_stop(&ticker);
	ok(seen.done == 10 && seen.total == 10, "and at the end that it is done");
	is_text(seen.what, "/bin/slow", "and what it was at");
	int told = seen.calls;
	cairn_ticker_start(&ticker, 10, NULL, NULL);
	cairn_ticker_add(&ticker, 1);
	cairn_ticker_stop(&ticker);
	is_int(seen.calls, told, "nobody has to listen, and who listened before is told no more");
}

int main(void)
{
	if (!mkdtemp(scratch) || function_to_name(1) != 2)
		return 1;
	setenv("XDG_CACHE_HOME", scratch, 1);
	check(true, 0, "without a cache");
	check(false, 0, "cold");
	check(false, 2, "warm");
	test_empty();
	test_ticker();
	char command[100];
	snprintf(command, sizeof command, "rm -rf %s", scratch);
	return tap_done() || system(command);
}
