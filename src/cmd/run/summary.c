/* summary.c - writes the profiles of a run and prints its summary.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/run/summary.h"

#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "base/time.h"
#include "base/unpack.h"
#include "cmd/command.h"
#include "cmd/suffix.h"
#include "live/source.h"
#include "profile/combine.h"
#include "profile/pprof_write.h"
#include "report/top.h"
#include "symbol/allocator.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { path_size = 4096, functions_shown = 3 };

/* Memory is read from time to time, and the live bytes are an estimate: within this factor the end counts as the peak. */
static const double about_same = 1.1;

static const char gzip_suffix[] = ".gz";

/* The peak gets its own file if it held this many times what the end does. */
static const double much_higher = 1.25;

/* The sum of the shots of MOMENT, with names. */
static bool load(const struct cairn_moment *moment, struct cairn_profile *sum, struct cairn_error *error)
{
	struct cairn_source_options options = {.sum = true, .quiet = true};
	struct cairn_combine combine;
	bool any = false;
	cairn_profile_init(sum);
	cairn_combine_start(&combine, sum);
	for (size_t i = 0; i < moment->count; i++) {
		const struct cairn_shot *shot = &moment->shots[i];
		struct cairn_profile part;
		char path[64], process[96];
		snprintf(path, sizeof path, "/proc/self/fd/%d", shot->descriptor);
		snprintf(process, sizeof process, "%s %d", shot->program, shot->pid);
		bool good = cairn_source_read(&part, path, &options, error);
		if (good && moment->count > 1)
			cairn_profile_label_all(&part, "process", process);
		any |= good && cairn_combine_add(&combine, &part, 1, error) && part.sample_count > 0;
		cairn_profile_free(&part);
	}
	cairn_combine_finish(&combine);
	if (any)
		cairn_source_name(sum, &options);
	return any;
}

static bool is_gzip(const char *path)
{
	return cairn_bytes_end_with(cairn_bytes_of(path), gzip_suffix);
}

/* PATH with TAG before its extension: run.heap becomes run.peak.heap, run.pb.gz becomes run.peak.pb.gz. */
static void tag_path(const char *path, const char *tag, char *out, size_t size)
{
	size_t folder = cairn_path_folder(path), length = strlen(path) - (is_gzip(path) ? sizeof gzip_suffix - 1 : 0);
	const char *dot = length > folder ? memrchr(path + folder, '.', length - folder) : NULL;
	if (dot)
		length = (size_t)(dot - path);
	snprintf(out, size, "%.*s%s%s", (int)length, path, tag, path + length);
}

/* The names of a profile, both of path_size. */
struct names {
	char usual[path_size]; /* the one given, or one with the program and its PID */
	char spare[path_size]; /* where it is written if it cannot be there */
};

static void choose_names(const struct cairn_summary_options *options, const struct cairn_supervision *run, bool several, const char *tag,
			 struct names *names)
{
	const char *folder = getenv("TMPDIR"), *ending = several ? "pb.gz" : "heap";
	snprintf(names->usual, path_size, "%.3800s.%d%s.%s", options->prefix, run->pid, tag, ending);
	snprintf(names->spare, path_size, "%.400s/%.3000s", folder && folder[0] ? folder : "/tmp", cairn_base_name(names->usual));
	if (options->output)
		tag_path(options->output, tag, names->usual, path_size);
}

static void make_pprof(const struct cairn_profile *sum, struct cairn_buffer *out)
{
	struct cairn_buffer allocator = cairn_buffer(SIZE_MAX);
	struct cairn_allocator known;
	cairn_allocator_learn(&known, sum);
	cairn_allocator_regex(&known, &allocator);
	cairn_buffer_byte(&allocator, '\0');
	cairn_allocator_free(&known);
	cairn_pprof_write(sum, &(struct cairn_pprof_options){.names = CAIRN_PPROF_NAMES_ALL, .sizes = true, .drop_frames = allocator.data},
			  out);
	cairn_buffer_free(&allocator);
}

static bool write_bytes(const char *path, struct cairn_bytes plain, bool pack, struct cairn_error *error)
{
	size_t length;
	if (!pack)
		return cairn_file_write(path, plain, error);
	char *packed = cairn_pack_gzip(plain, &length);
	if (!packed)
		cairn_out_of_memory(plain.length);
	bool good = cairn_file_write(path, (struct cairn_bytes){packed, length}, error);
	free(packed);
	return good;
}

static bool write_dump(const struct cairn_shot *shot, const char *path, struct cairn_error *error)
{
	struct cairn_file file;
	char link[64];
	snprintf(link, sizeof link, "/proc/self/fd/%d", shot->descriptor);
	if (!cairn_file_read(&file, link, error))
		return false;
	bool good = write_bytes(path, file.bytes, is_gzip(path), error);
	cairn_file_close(&file);
	return good;
}

/* In the format that PATH asks for by its suffix. Only pprof's tells several processes apart. */
static bool write_profile(const struct cairn_moment *moment, const struct cairn_profile *sum, const char *path, struct cairn_error *error)
{
	if (moment->count == 1 && !cairn_suffix_is_one(path, cairn_pprof_suffixes))
		return write_dump(&moment->shots[0], path, error);
	struct cairn_buffer plain = cairn_buffer(SIZE_MAX);
	make_pprof(sum, &plain);
	bool good = write_bytes(path, cairn_buffer_bytes(&plain), !cairn_pprof_is_plain(path), error);
	cairn_buffer_free(&plain);
	return good;
}

/* The live bytes of SUM as "31.2 MiB", and the functions that hold them as "a 12.0 MiB (38 %), b 8.1 MiB (26 %), …". */
static double describe(const struct cairn_profile *sum, char *live, struct cairn_buffer *held)
{
	struct cairn_view view = {0};
	struct cairn_error error;
	struct cairn_top top;
	struct cairn_shape shape = {.node_count = functions_shown};
	char number[32];
	if (!cairn_view_make(&view, sum, &(struct cairn_view_options){.fold_wrappers = true}, &error))
		return 0;
	cairn_top_make(&top, &view, &shape);
	cairn_text_human(view.total, live);
	for (size_t i = 0; i < top.shown && top.rows[i].flat > 0; i++)
		cairn_buffer_format(held, "%s%s %s (%.0f %%)", i == 0 ? "" : ", ",
				    cairn_strings_text(&view.names, view.entries[top.rows[i].entry].name),
				    cairn_text_human(top.rows[i].flat, number), view.whole > 0 ? 100 * top.rows[i].flat / view.whole : 0);
	double total = view.total;
	cairn_top_free(&top);
	cairn_view_free(&view);
	return total;
}

static void say_ending(const struct cairn_supervision *run, const char *name)
{
	char resident[24], ending[64], left[64] = "";
	cairn_text_human((double)run->usage.ru_maxrss * 1024, resident);
	if (WIFSIGNALED(run->status))
		snprintf(ending, sizeof ending, "was killed by signal %d (%s)", WTERMSIG(run->status), strsignal(WTERMSIG(run->status)));
	else
		snprintf(ending, sizeof ending, "exited with code %d", WEXITSTATUS(run->status));
	if (run->left > 0)
		snprintf(left, sizeof left, "; %zu descendant process%s still run%s", run->left, run->left == 1 ? "" : "es",
			 run->left == 1 ? "s" : "");
	cairn_note("%s (process %d) %s after %.1f s, peak RSS %s%s%s", name, run->pid, ending, run->seconds, resident,
		   run->had_children ? " in its largest process" : "", left);
}

static void format_time(int64_t time_ns, char *out, size_t size)
{
	time_t seconds = (time_t)(time_ns / CAIRN_SECOND_NS);
	struct tm date;
	localtime_r(&seconds, &date);
	strftime(out, size, "%H:%M:%S", &date);
}

/* PATH as seen from here. */
static const char *shorten(const char *path)
{
	char here[path_size];
	size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
	return length > 1 && strncmp(path, here, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

/* What was written of one moment. */
struct written {
	bool sampled; /* there is something to write */
	bool good;    /* it is in PATH */
	char path[path_size];
	char live[24];
	double total; /* the same in bytes */
	struct cairn_buffer held;
	struct cairn_buffer warning; /* what of its memory the profile does not show */
};

/* Writes the profile to the first of NAMES that can be written, and its path to PATH. */
static bool write_somewhere(const struct cairn_moment *moment, const struct cairn_profile *sum, const struct names *names, char *path)
{
	struct cairn_error error, again;
	snprintf(path, path_size, "%s", names->usual);
	if (write_profile(moment, sum, path, &error))
		return true;
	snprintf(path, path_size, "%s", names->spare);
	if (write_profile(moment, sum, path, &again)) {
		cairn_note("%s; the profile is %s instead", error.text, path);
		return true;
	}
	cairn_say_error(error.text);
	cairn_say_error(again.text);
	return false;
}

/* Writes nothing if fewer than LEAST bytes are live. */
static void write_moment(const struct cairn_supervision *run, const struct cairn_summary_options *options,
			 const struct cairn_moment *moment, const char *tag, double least, struct written *written)
{
	struct cairn_profile sum;
	struct cairn_error error = {0};
	struct names names;
	*written = (struct written){.held = cairn_buffer(1 << 16), .warning = cairn_buffer(1 << 16)};
	if (moment->count == 0)
		return;
	bool sampled = load(moment, &sum, &error);
	if (sum.warning_count)
		cairn_buffer_text(&written->warning, cairn_profile_string(&sum, sum.warnings[0]));
	if (sampled) {
		choose_names(options, run, moment->count > 1, tag, &names);
		written->sampled = true;
		written->total = describe(&sum, written->live, &written->held);
		written->good = written->total >= least && write_somewhere(moment, &sum, &names, written->path);
	}
	cairn_buffer_byte(&written->held, 0);
	cairn_buffer_byte(&written->warning, 0);
	cairn_profile_free(&sum);
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "es";
}

void cairn_summary_write(const struct cairn_supervision *run, const struct cairn_summary_options *options)
{
	const struct cairn_moment *end = &run->end, *highest = &run->highest;
	struct written now, peak = {0};
	char memory[24], clock[16];
	bool at_end = end->count > 0;
	if (!options->quiet)
		say_ending(run, options->name);
	if (!run->takes_profiles)
		return;
	write_moment(run, options, at_end ? end : highest, "", 0, &now);
	/* Its memory was read before the profile was taken, and may have grown meanwhile: the profile tells whether there was more. */
	if (at_end && highest->count > 0)
		write_moment(run, options, highest, ".peak", fmax(now.total * much_higher, 1), &peak);
	double most = peak.good ? fmax((double)highest->sum, peak.total) : (double)highest->sum;
	if (!now.sampled && !options->quiet) {
		cairn_note("no profile: %s", options->unseen   ? options->unseen
					     : options->waited ? "nothing was sampled; 'cairn activate' or --active starts sampling"
							       : "no process had an agent, or none allocated enough to be sampled");
	} else if (!options->quiet) {
		const struct cairn_moment *shown = at_end ? end : highest;
		format_time(shown->time_ns, clock, sizeof clock);
		cairn_note("live at %s: %s in %zu process%s", at_end ? "the end" : clock, now.live, shown->count, plural(shown->count));
		if (now.total > 0)
			cairn_note("held by: %s", now.held.data);
		format_time(highest->time_ns, clock, sizeof clock);
		if (highest->count > 0 && (!at_end || peak.good || highest->memory > end->memory))
			cairn_note("peak of private memory: %s in %zu process%s at %s%s%s", cairn_text_human(most, memory),
				   highest->processes, plural(highest->processes), clock, peak.good ? "; its profile is " : "",
				   peak.good ? shorten(peak.path) : "");
		else if (at_end && (double)run->most <= about_same * fmax((double)end->memory, now.total))
			cairn_note("peak of private memory: at the end");
		else
			cairn_note("peak of private memory: %s", cairn_text_human((double)run->most, memory));
		if (now.good)
			cairn_note("profile: %s; 'cairn top %s' shows it", shorten(now.path), shorten(now.path));
	}
	if (!options->quiet && !options->unseen && now.warning.length > 1)
		cairn_note("%s: %s", options->name, now.warning.data);
	cairn_buffer_free(&now.held);
	cairn_buffer_free(&now.warning);
	cairn_buffer_free(&peak.held);
	cairn_buffer_free(&peak.warning);
}
