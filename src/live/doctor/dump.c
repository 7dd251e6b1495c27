/* dump.c - checks whether a dump can be trusted, and what it omits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "live/doctor/doctor.h"
#include "live/restart.h"
#include "report/closure.h"
#include "report/head.h"
#include "series/bill.h"
#include "series/series.h"
#include "symbol/find.h"
#include "symbol/symbolize.h"

enum { few_samples = 100, warning_most = 500 };

static double sum_samples(const struct cairn_profile *profile)
{
	double sum = 0;
	for (size_t i = 0; profile->sampled && i < profile->sample_count; i++)
		sum += profile->sampled[i];
	return sum;
}

bool cairn_check_has_samples(const struct cairn_profile *profile)
{
	uint32_t allocated = cairn_profile_find_value(profile, "alloc_space");
	if (!profile->sampled)
		return profile->sample_count > 0;
	return sum_samples(profile) > 0 || (allocated != CAIRN_NONE && cairn_profile_total(profile, allocated) > 0);
}

bool cairn_check_maps_itself(struct cairn_diagnosis *diagnosis, const struct cairn_profile *profile, struct cairn_finding *finding)
{
	char size[24];
	struct cairn_own_memory own = cairn_own_memory_of(profile);
	if (!(own.mapped > profile->period) || cairn_own_memory_unseen(&own, profile->period) > 0)
		return false;
	cairn_finding_say(finding, CAIRN_NOTE, "there are no samples: the program mapped its memory itself, %s, past the allocator",
			  cairn_text_human(own.mapped, size));
	finding->fix = cairn_arena_format(&diagnosis->arena, "cairn top --mappings anonymous %s",
					  cairn_shell_word(&diagnosis->arena, diagnosis->name));
	return true;
}

/* A profile of a small part of the process's memory leaves the question what the rest is. */
static void point_to_why(struct cairn_diagnosis *diagnosis, const struct cairn_profile *profile, struct cairn_finding *finding)
{
	char resident[24];
	struct cairn_arena *arena = &diagnosis->arena;
	struct cairn_error text = finding->text;
	cairn_finding_say(finding, finding->level, "%s; that is less than half of the %s resident", text.text,
			  cairn_text_human(profile->facts.resident_bytes, resident));
	finding->advice = cairn_arena_format(arena, "%s%scairn why %s says what the rest is", finding->advice ? finding->advice : "",
					     finding->advice ? "; " : "", cairn_shell_word(arena, diagnosis->name));
}

void cairn_check_profile_coverage(struct cairn_diagnosis *diagnosis, const struct cairn_profile *profile,
				  const struct cairn_trailer *trailer, struct cairn_finding *finding)
{
	struct cairn_bill_facts facts = {0};
	if (trailer)
		cairn_bill_facts_read(&facts, trailer, NULL);
	cairn_bill_facts_profile(&facts, profile, trailer);
	struct cairn_coverage coverage = {.sampled = facts.profile_bytes, .resident = profile->facts.resident_bytes};
	double samples = sum_samples(profile), there = facts.has_allocator ? (double)cairn_bill_live(&facts) : 0;
	bool little = cairn_coverage_is_little(&coverage);
	bool maps = cairn_own_memory_of(profile).mapped > facts.profile_bytes; /* then samples of the heap show little, however many */
	char seen[24], live[24];
	cairn_text_human(facts.profile_bytes, seen);
	cairn_text_human(there, live);
	if (facts.profile_bytes + 3 * facts.profile_error < 0.8 * there) {
		cairn_finding_say(
			finding, CAIRN_WRONG,
			"%.0f samples show %s of %s that are live: the rest was allocated before sampling began, or while it was "
			"off, or samples were discarded",
			samples, seen, live);
		if (cairn_diagnosis_is_own_engine(diagnosis))
			cairn_finding_run(finding, diagnosis);
		else
			finding->advice = "prof:true without prof_active:false when it is started, so that nothing is missed";
	} else if (samples > 0 && samples < few_samples) {
		cairn_finding_say(finding, CAIRN_NOTE, "%.0f %s few: expect errors of 10 %% and more (%s)", samples,
				  samples < 1.5 ? "sample is" : "samples are", seen);
		if (profile->period > CAIRN_PERIOD_FINE && !maps)
			cairn_finding_period(finding, diagnosis, CAIRN_PERIOD_FINE);
	} else if (there > 0) {
		cairn_finding_say(finding, little ? CAIRN_NOTE : CAIRN_RIGHT, "%.0f samples show %s of %s that are live", samples, seen,
				  live);
	} else {
		cairn_finding_say(finding, little ? CAIRN_NOTE : CAIRN_RIGHT, "%.0f samples show %s", samples, seen);
	}
	if (little)
		point_to_why(diagnosis, profile, finding);
}

/* What the engine did not see of the process's memory, as its trailer has it. */
static struct cairn_bytes engine_warning(const struct cairn_diagnosis *diagnosis)
{
	return diagnosis->has_trailer ? cairn_trailer_value(&diagnosis->trailer, "warning") : (struct cairn_bytes){"", 0};
}

void cairn_check_dump_allocator(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	struct cairn_bytes warning = engine_warning(diagnosis);
	if (warning.length)
		cairn_finding_say(finding, CAIRN_WRONG, "%.*s", (int)(warning.length < warning_most ? warning.length : warning_most),
				  warning.data);
}

void cairn_check_dump_samples(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	char human[24];
	const struct cairn_profile *profile = &diagnosis->profile;
	struct cairn_own_memory own = cairn_own_memory_of(profile);
	double unseen = cairn_own_memory_unseen(&own, profile->period);
	if (!cairn_check_has_samples(profile) && engine_warning(diagnosis).length) {
		cairn_finding_say(finding, CAIRN_WRONG, "there are no samples: the engine does not see the allocator of the program");
	} else if (!cairn_check_has_samples(profile) && cairn_check_maps_itself(diagnosis, profile, finding)) {
		return;
	} else if (!cairn_check_has_samples(profile) && unseen > 0) {
		cairn_finding_say(finding, CAIRN_WRONG,
				  "there are no samples, but the process has grown by %s: something else than the profiled allocator holds "
				  "that",
				  cairn_text_human(unseen, human));
	} else if (!cairn_check_has_samples(profile)) {
		cairn_finding_say(finding, CAIRN_WRONG,
				  "there are no samples: sampling was off, or less was allocated than the period of %s",
				  cairn_text_human(profile->period, human));
		finding->advice = !diagnosis->has_trailer ? "MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:16 when it is started"
				  : profile->period > CAIRN_PERIOD_FINE
					  ? "'cairn activate PID' turns sampling on, 'cairn reset --period 64K PID' shortens the period"
					  : "'cairn activate PID' turns sampling on";
	} else if (profile->kind == CAIRN_PROFILE_HEAP) {
		cairn_check_profile_coverage(diagnosis, profile, NULL, finding);
	} else {
		cairn_finding_say(finding, CAIRN_RIGHT, "%zu stacks", profile->sample_count);
	}
}

void cairn_check_dump_period(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	enum { coarse = 16 << 20 };
	char human[24];
	double period = diagnosis->profile.period;
	if (diagnosis->profile.kind != CAIRN_PROFILE_HEAP || !(period > 0))
		return;
	cairn_text_human(period, human);
	if (period >= coarse) {
		cairn_finding_say(finding, CAIRN_WRONG, "a sample every %s: most smaller allocations are missed", human);
		cairn_finding_period(finding, diagnosis, CAIRN_PERIOD_USUAL);
	} else {
		cairn_finding_say(finding, CAIRN_RIGHT, period > 1 ? "a sample every %s" : "every allocation was recorded", human);
	}
}

void cairn_check_dump_maps(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const struct cairn_profile *profile = &diagnosis->profile;
	size_t bare = 0;
	for (size_t i = 0; i < profile->location_count; i++)
		bare += profile->locations[i].mapping == CAIRN_NONE && profile->locations[i].frame_count == 0;
	if (profile->location_count == 0) {
		cairn_finding_say(finding, CAIRN_UNKNOWN, "there are no addresses to look up%s",
				  profile->mapping_count ? "" : ", and no memory map");
		return;
	}
	if (bare == 0) {
		cairn_finding_say(finding, CAIRN_RIGHT, "every address belongs to a file or has a name");
		return;
	}
	cairn_finding_say(
		finding, profile->mapping_count ? CAIRN_NOTE : CAIRN_WRONG,
		profile->mapping_count
			? "%zu of %zu addresses belong to no file of the memory map: generated code, or a library that was unloaded"
			: "no memory map (MAPPED_LIBRARIES), so %zu of %zu addresses cannot be named: the dump was cut short, or the "
			  "process could not read /proc/self/maps",
		bare, profile->location_count);
}

void cairn_check_dump_trailer(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	if (diagnosis->profile.kind != CAIRN_PROFILE_HEAP)
		return;
	if (!diagnosis->has_trailer) {
		cairn_finding_say(
			finding, CAIRN_NOTE,
			"no Cairn trailer: its time, its build and the process's memory are unknown");
		finding->advice = "cairn dump TARGET, or the agent's own dumps";
	} else if (!diagnosis->trailer.complete) {
		cairn_finding_say(finding, CAIRN_WRONG, "the dump is cut short: its last line is missing");
	} else {
		struct cairn_bytes host = diagnosis->trailer.host, version = diagnosis->trailer.jemalloc;
		cairn_finding_say(finding, CAIRN_RIGHT, "whole, of process %d on %.*s%s%s%.*s", diagnosis->trailer.pid, (int)host.length,
				  host.data, cairn_diagnosis_is_own_engine(diagnosis) ? ", by Cairn's engine" : "",
				  version.length ? ", jemalloc " : "", (int)version.length, version.data);
	}
}

void cairn_check_dump_coverage(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	if (diagnosis->has_trailer && diagnosis->profile.sample_count && cairn_trailer_number(&diagnosis->trailer, "stats.allocated"))
		cairn_check_profile_coverage(diagnosis, &diagnosis->profile, &diagnosis->trailer, finding);
}

void cairn_check_dump_start(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const struct cairn_trailer *trailer = &diagnosis->trailer;
	if (!diagnosis->has_trailer)
		return;
	double late = trailer->active_since_ns && trailer->start_ns ? (double)(trailer->active_since_ns - trailer->start_ns) / 1e9 : 0;
	/* jemalloc's own profiler may be there beside Cairn's engine, and off. */
	if (!cairn_diagnosis_is_own_engine(diagnosis) &&
	    cairn_bytes_equal(cairn_trailer_value(trailer, "prof.active"), cairn_bytes_of("false")))
		cairn_finding_say(finding, CAIRN_NOTE,
				  "sampling was off when the dump was written: it shows only memory sampled before that");
	else if (trailer->reset_ns)
		cairn_finding_say(finding, CAIRN_NOTE,
				  "samples were discarded %.0f seconds before the dump: it does not show earlier allocations",
				  (double)(trailer->time_ns - trailer->reset_ns) / 1e9);
	else if (late > 10)
		cairn_finding_say(finding, CAIRN_NOTE,
				  "sampling began %.0f seconds after the process started, as far as the agent knows; earlier allocations "
				  "may be missing",
				  late);
}

void cairn_check_dump_totals(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	uint32_t space = cairn_profile_find_value(&diagnosis->profile, "alloc_space");
	if (diagnosis->profile.sample_count && diagnosis->profile.kind == CAIRN_PROFILE_HEAP && space != CAIRN_NONE &&
	    !(cairn_profile_total(&diagnosis->profile, space) > 0)) {
		cairn_finding_say(finding, CAIRN_NOTE, "freed memory (alloc_space) is not recorded");
		finding->advice = "prof_accum:true records it, but uses more and more memory";
	}
}

void cairn_check_dump_names(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	struct cairn_find_options options = {0};
	struct cairn_finder finder = {.options = &options};
	const struct cairn_profile *profile = &diagnosis->profile;
	size_t missing = 0, files = 0, identified = 0, fitting = 0;
	for (size_t i = 0; i < profile->module_count; i++) {
		struct cairn_binary binary;
		const char *path = cairn_profile_string(profile, profile->modules[i].path);
		if (!cairn_module_has_file(path))
			continue;
		files++;
		cairn_find_binary(&finder, profile, &profile->modules[i], &binary);
		identified += binary.path && profile->modules[i].build_id;
		fitting += binary.path && binary.fits;
		if (binary.path)
			continue;
		if (missing++ == 0)
			cairn_finding_say(finding, CAIRN_WRONG, "%.200s: %.250s", path, binary.reason);
	}
	if (missing > 0) {
		finding->advice = "--binary FILE for a file that has moved, --sysroot FOLDER for the files of another machine, --symbols "
				  "FOLDER for debug files";
	} else if (files > 0 && identified == files) {
		cairn_finding_say(finding, CAIRN_RIGHT, "all of its %zu files are here, in the same build", files);
	} else if (files > 0 && identified + fitting == files) {
		cairn_finding_say(finding, CAIRN_RIGHT,
				  "all of its %zu files are here; it has no build-ids for %zu of them, whose code is as long as what "
				  "was mapped",
				  files, files - identified);
	} else if (files > 0) {
		cairn_finding_say(finding, CAIRN_NOTE,
				  "all of its %zu files are here, but %zu of them may be of another build", files,
				  files - identified - fitting);
	}
	cairn_finder_free(&finder);
}

void cairn_check_dump_debug(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	static const double worth_saying = 0.01;
	struct cairn_symbolize_report report;
	struct cairn_buffer text = cairn_buffer(1 << 16);
	cairn_symbolize(&diagnosis->profile, &(struct cairn_symbolize_options){0}, &report);
	cairn_closures_name(&diagnosis->profile);
	cairn_symbolize_weigh(&diagnosis->profile, NULL, &report);
	cairn_symbolize_explain(&diagnosis->profile, &report, worth_saying, &text);
	struct cairn_bytes lines = cairn_text_trim(cairn_buffer_bytes(&text)), line;
	struct cairn_buffer joined = cairn_buffer(1 << 16);
	while (lines.length > 0 && cairn_text_line(&lines, &line, NULL))
		cairn_buffer_format(&joined, "%s%.*s", joined.length ? "; " : "", (int)line.length, line.data);
	if (joined.length > 0) {
		cairn_finding_say(finding, CAIRN_NOTE, "%.*s", (int)joined.length, joined.data);
		finding->fix = "install the debug packages of these files, name a folder with --symbols FOLDER, or --debuginfod";
	}
	cairn_buffer_free(&joined);
	cairn_buffer_free(&text);
	cairn_symbolize_report_free(&report);
}
