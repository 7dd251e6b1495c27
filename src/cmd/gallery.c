/* gallery.c - `cairn gallery`: draws every dump of a folder and the changes between them, as folded text and as pictures, and writes a
 * page that shows them all.
 *
 * The files have the names that GreptimeDB's gen_flamegraph.sh gives them, in the folder `flamegraphs` of the dumps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "base/url.h"
#include "base/xml.h"
#include "cmd/command.h"
#include "cmd/view.h"
#include "live/files.h"
#include "live/source.h"
#include "live/source_series.h"
#include "profile/combine.h"
#include "report/collapsed.h"
#include "report/flame_heading.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
	struct cairn_view_setup setup;
};

static const struct cairn_option_group groups[] = {
	{"confidence intervals", cairn_errors_option_table, 0},
	{"view", cairn_view_option_table, 0},
	CAIRN_SOURCES_GROUPS,
	{0},
};

static const struct cairn_option_refusal refusals[] = {
	CAIRN_SERIES_REFUSALS("'cairn gallery' compares each dump with the previous one; "
			      "--base, --normalize, --sum and --tree work with 'cairn flame'"),
	{0},
};

/* One dump of the gallery. */
struct picture {
	const char *path;
	const char *name; /* of the files made from it, without ending */
	int64_t time_ns;
	bool drawn;
	double total;
	bool in_bytes;
	const char *change; /* the name of the files that compare it with the one before; NULL for none */
};

struct gallery {
	const struct options *options;
	struct cairn_arena arena;
	const char *folder;
	struct picture *pictures;
	size_t count, failures;
	bool as_script; /* stands in for gen_flamegraph.sh and prints its messages */
};

static const char *name_of(struct cairn_arena *arena, const char *path)
{
	static const char *const endings[] = {".gprof", ".heap", ".prof", ".pb.gz", ".gz", ".zst", ".xz"};
	struct cairn_bytes name = cairn_bytes_of(cairn_base_name(path));
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (cairn_bytes_end_with(name, endings[i]) && name.length > strlen(endings[i]))
			name.length -= strlen(endings[i]);
	return cairn_arena_text(arena, name);
}

/* Names contain a time or a number, which determines the order. */
static int compare_files(const void *a, const void *b)
{
	return strverscmp(((const struct cairn_dump_file *)a)->path, ((const struct cairn_dump_file *)b)->path);
}

static void show_progress(const struct gallery *gallery, size_t done)
{
	enum { width = 30 };
	static const char bar[] = "##############################..............................";
	if (!isatty(STDERR_FILENO) || gallery->as_script || cairn_option_quiet)
		return;
	if (done == gallery->count)
		fprintf(stderr, "\r\033[K");
	else {
		fprintf(stderr, "\r\033[K[%.*s] %zu of %zu, ", width, bar + width - done * width / gallery->count, done, gallery->count);
		cairn_print(stderr, "%.60s", gallery->pictures[done].name);
	}
}

static void say_failure(struct gallery *gallery, const char *what, const struct cairn_error *error)
{
	struct cairn_error full = *error;
	if (strncmp(full.text, what, strlen(what)) != 0) /* the reader of a file names it */
		cairn_fail_within(&full, "%s: ", what);
	cairn_say_error(full.text);
	gallery->failures++;
}

static bool write_file(const struct gallery *gallery, const char *name, const char *ending,
		       const struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_arena arena = {0};
	bool good = cairn_file_write(cairn_arena_format(&arena, "%s/%s%s", gallery->folder, name, ending), cairn_buffer_bytes(out), error);
	cairn_arena_free(&arena);
	return good;
}

/* Writes NAME.collapse and NAME.svg. A profile with nothing to draw, such as an empty change, gets a picture that says so. */
static bool draw(struct gallery *gallery, const struct cairn_profile *profile, const char *name, struct picture *picture,
		 struct cairn_error *error)
{
	struct cairn_view view = {0};
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	struct cairn_view_options options = gallery->options->setup.view;
	options.fold_wrappers |= !gallery->as_script;
	bool good = cairn_view_make(&view, profile, &options, error);
	if (good) {
		cairn_collapsed_text(&view, gallery->as_script ? CAIRN_COLLAPSED_CUT : CAIRN_COLLAPSED_VALUE, &out);
		good = write_file(gallery, name, ".collapse", &out, error);
		out.length = 0;
		if (picture) {
			picture->total = view.total;
			picture->in_bytes = cairn_view_in_bytes(&view);
		}
	}
	if (good) {
		struct cairn_error reason;
		struct cairn_arena arena = {0};
		struct cairn_flame_svg_options svg = cairn_flame_svg_defaults(), plain = svg;
		svg.title = name;
		svg.fluid = true;
		svg.palette = cairn_flame_palette(&view);
		cairn_flame_describe(&svg, &view, &arena);
		if (!cairn_flame_svg_view(&view, &(struct cairn_tree_options){.order = CAIRN_TREE_BY_NAME}, &svg, &out, &reason))
			cairn_flame_svg_message(reason.text, &plain, &out);
		cairn_arena_free(&arena);
		good = write_file(gallery, name, ".svg", &out, error);
	}
	cairn_buffer_free(&out);
	cairn_view_free(&view);
	return good;
}

/* The script's lines about one dump, or about the change from BEFORE to it. */
static void tell(const struct gallery *gallery, const char *kind, const struct picture *before, const struct picture *picture,
		 const char *name)
{
	const char *from = before ? before->path : "", *versus = before ? " vs " : "";
	if (!gallery->as_script)
		return;
	cairn_print(stdout, "Generating %scollapse file for %s%s%s -> %s/%s.collapse\n", kind, from, versus, picture->path, gallery->folder,
		    name);
	cairn_print(stdout, "Generating %sflamegraph for %s%s%s -> %s/%s.svg\n", kind, from, versus, picture->path, gallery->folder, name);
}

static bool draw_change(struct gallery *gallery, const struct cairn_profile *before, const struct cairn_profile *after, const char *name,
			struct cairn_error *error)
{
	struct cairn_profile change;
	struct cairn_combine combine;
	cairn_profile_init(&change);
	cairn_combine_start(&combine, &change);
	bool good = cairn_combine_add(&combine, after, 1, error) && cairn_combine_add(&combine, before, -1, error);
	cairn_combine_finish(&combine);
	good = good && draw(gallery, &change, name, NULL, error);
	cairn_profile_free(&change);
	return good;
}

static void draw_all(struct gallery *gallery)
{
	struct cairn_profile profiles[2];
	struct picture *before = NULL;
	unsigned at = 0; /* where the next one goes; the one before is in the other place */
	for (size_t i = 0; i < gallery->count; i++) {
		struct picture *picture = &gallery->pictures[i];
		struct cairn_source_options source = gallery->options->setup.source;
		struct cairn_error error;
		source.sum = true; /* so that dumps of different runs can be compared */
		source.quiet = i > 0;
		show_progress(gallery, i);
		picture->drawn = cairn_source_read(&profiles[at], picture->path, &source, &error) &&
				 cairn_source_check_thread(&profiles[at], &source, &error);
		if (picture->drawn) {
			picture->time_ns = profiles[at].facts.time_ns;
			cairn_source_name(&profiles[at], &source);
			tell(gallery, "", NULL, picture, picture->name);
			picture->drawn = draw(gallery, &profiles[at], picture->name, picture, &error);
		}
		if (!picture->drawn) {
			say_failure(gallery, picture->path, &error);
			cairn_profile_free(&profiles[at]);
			continue;
		}
		if (before) {
			picture->change = cairn_arena_format(&gallery->arena, "%s_vs_%s_diff", before->name, picture->name);
			tell(gallery, "diff ", before, picture, picture->change);
			if (!draw_change(gallery, &profiles[!at], &profiles[at], picture->change, &error)) {
				say_failure(gallery, picture->change, &error);
				picture->change = NULL;
			}
			cairn_profile_free(&profiles[!at]);
		}
		before = picture;
		at = !at;
	}
	if (before)
		cairn_profile_free(&profiles[!at]);
	show_progress(gallery, gallery->count);
}

/* The page. */

static void add_link(struct cairn_buffer *out, const char *name, const char *ending)
{
	cairn_url_name(out, name);
	cairn_buffer_text(out, ending);
}

static void add_figure(struct cairn_buffer *out, const char *name, const char *caption)
{
	cairn_buffer_text(out, "<figure><figcaption>");
	cairn_buffer_text(out, caption);
	cairn_buffer_text(out, " <a href=\"");
	add_link(out, name, ".svg");
	cairn_buffer_text(out, "\">open</a> <a href=\"");
	add_link(out, name, ".collapse");
	cairn_buffer_text(out, "\">folded text</a></figcaption><a href=\"");
	add_link(out, name, ".svg");
	cairn_buffer_text(out, "\"><img loading=\"lazy\" src=\"");
	add_link(out, name, ".svg");
	cairn_buffer_text(out, "\" alt=\"Flame graph of ");
	cairn_xml_text(out, cairn_bytes_of(name));
	cairn_buffer_text(out, "\"></a></figure>\n");
}

static void add_picture(const struct picture *picture, const struct picture *before, double largest, struct cairn_buffer *out)
{
	char time[24] = "", total[24];
	if (picture->time_ns)
		cairn_text_utc(picture->time_ns, time);
	cairn_buffer_text(out, "<section><h2>");
	cairn_xml_text(out, cairn_bytes_of(picture->name));
	cairn_buffer_format(out, "</h2><p>%s <meter max=\"%.0f\" value=\"%.0f\"></meter> ", time, largest, picture->total);
	if (picture->in_bytes)
		cairn_buffer_text(out, cairn_text_human(picture->total, total));
	else
		cairn_buffer_format(out, "%.0f", picture->total);
	if (before && picture->in_bytes)
		cairn_buffer_format(out, ", %s%s since the previous dump", picture->total > before->total ? "+" : "",
				    cairn_text_human(picture->total - before->total, total));
	cairn_buffer_text(out, "</p>\n");
	add_figure(out, picture->name, "Whole heap:");
	if (picture->change)
		add_figure(out, picture->change, "Change since the previous dump:");
	cairn_buffer_text(out, "</section>\n");
}

static bool write_index(const struct gallery *gallery, struct cairn_error *error)
{
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	double largest = 1;
	const struct picture *before = NULL;
	for (size_t i = 0; i < gallery->count; i++)
		if (gallery->pictures[i].drawn && gallery->pictures[i].total > largest)
			largest = gallery->pictures[i].total;
	cairn_buffer_text(
		&out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Heap over time</title>"
		      "<meta name=\"viewport\" content=\"width=device-width\">\n<style>:root{color-scheme:light dark}"
		      "body{font:15px/1.4 system-ui,sans-serif;margin:1.5em auto;max-width:1220px;padding:0 1em}"
		      "h2{font-size:1.1em;margin:2em 0 0;overflow-wrap:anywhere}p{margin:.2em 0}figure{margin:.6em 0}img{max-width:100%}"
		      "meter{width:12em}</style></head>\n<body><h1>Heap over time</h1>\n");
	for (size_t i = 0; i < gallery->count; i++) {
		if (!gallery->pictures[i].drawn)
			continue;
		add_picture(&gallery->pictures[i], before, largest, &out);
		before = &gallery->pictures[i];
	}
	cairn_buffer_text(&out, "</body></html>\n");
	bool good = write_file(gallery, "index", ".html", &out, error);
	cairn_buffer_free(&out);
	return good;
}

static void take_files(struct gallery *gallery, struct cairn_dump_files *files)
{
	qsort(files->items, files->count, sizeof *files->items, compare_files);
	gallery->count = files->count;
	gallery->pictures = cairn_arena_zero(&gallery->arena, files->count, sizeof *gallery->pictures);
	for (size_t i = 0; i < files->count; i++)
		gallery->pictures[i] = (struct picture){.path = files->items[i].path,
							.name = name_of(&gallery->arena, files->items[i].path)};
}

/* Makes FOLDER/flamegraphs and everything in it from FILES. Returns the exit code. */
static int make(struct gallery *gallery, struct cairn_dump_files *files, const char *dir)
{
	struct cairn_error error;
	gallery->folder = cairn_arena_format(&gallery->arena, "%s/flamegraphs", dir);
	bool good = mkdir(gallery->folder, 0777) == 0 || errno == EEXIST || cairn_fail_errno(&error, "%s", gallery->folder);
	if (good && gallery->as_script)
		cairn_print(stdout, "Generating flamegraphs in %s\n", gallery->folder);
	if (good && files->count == 0) { /* of the script alone: the command's list has a file or is an error */
		cairn_print(stdout, "No .gprof files found in %s\n", dir);
		cairn_arena_free(&gallery->arena);
		return CAIRN_EXIT_DONE;
	}
	if (good) {
		take_files(gallery, files);
		draw_all(gallery);
		good = write_index(gallery, &error);
	}
	if (!good)
		cairn_say_failure(&error);
	else if (gallery->as_script)
		puts("Flamegraph generation complete.");
	else
		cairn_print(stdout, "%s/index.html\n", gallery->folder);
	cairn_arena_free(&gallery->arena);
	return good && !gallery->failures ? CAIRN_EXIT_DONE : CAIRN_EXIT_FAILED;
}

static int run(const void *values, int operand_count, char **operands)
{
	struct gallery gallery = {.options = values};
	struct cairn_dump_files files = {0};
	struct cairn_error error;
	const struct cairn_source_options *source = &gallery.options->setup.source;
	if (operand_count != 1)
		return cairn_say_not_one(operand_count, "FOLDER", "a folder of dumps");
	struct stat status;
	if (stat(operands[0], &status) == 0 && !S_ISDIR(status.st_mode)) {
		cairn_fail_usage(&error, "%s: not a folder of dumps", operands[0]);
		return cairn_say_failure(&error);
	}
	int code = cairn_source_check(source, &error) && cairn_files_list(&files, operand_count, operands, &error) &&
				   cairn_files_keep_service(&files, source->service, &error)
			   ? make(&gallery, &files, operands[0])
			   : cairn_say_failure(&error);
	cairn_files_free(&files);
	return code;
}

const struct cairn_command cairn_command_gallery = {
	.name = "gallery",
	.summary = "draw flame graphs of all dumps in a folder and of the changes between them",
	.arguments = "FOLDER",
	.detail = "For each dump NAME there are FOLDER/flamegraphs/NAME.collapse and NAME.svg, from the second on also "
		  "PREVIOUS_vs_NAME_diff.collapse\n"
		  "and .svg, and FOLDER/flamegraphs/index.html shows all of them in the order of time.",
	.groups = groups,
	.refusals = refusals,
	.options_size = sizeof(struct options),
	.run = run,
};

/* Lists the files of DIR that are called *.gprof, dumps or not: of one that is none, it is said. */
static void list_by_name(struct cairn_dump_files *files, const char *dir)
{
	const char *slash = dir[0] && dir[strlen(dir) - 1] == '/' ? "" : "/";
	DIR *entries = opendir(dir);
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		struct stat status;
		if (!cairn_bytes_end_with(cairn_bytes_of(entry->d_name), ".gprof"))
			continue;
		const char *path = cairn_arena_format(&files->arena, "%s%s%s", dir, slash, entry->d_name);
		if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
			continue;
		cairn_array_room(files->items, files->count, files->capacity);
		files->items[files->count++] = (struct cairn_dump_file){.path = path};
	}
	if (entries)
		closedir(entries);
}

/* GreptimeDB's script of that name: takes the program and the folder, and uses the files called *.gprof. Messages and exit codes are the
 * script's; it prints errors on standard output too. */
static int run_script(int argc, char **argv)
{
	struct stat status;
	if (argc != 3) {
		cairn_print(stdout, "Usage: %s <binary_path> <gprof_directory>\n", argv[0]);
		return CAIRN_EXIT_FAILED;
	}
	if (stat(argv[1], &status) != 0 || !S_ISREG(status.st_mode)) {
		cairn_print(stdout, "Error: Binary file not found at %s\n", argv[1]);
		return CAIRN_EXIT_FAILED;
	}
	if (stat(argv[2], &status) != 0 || !S_ISDIR(status.st_mode)) {
		cairn_print(stdout, "Error: gprof directory not found at %s\n", argv[2]);
		return CAIRN_EXIT_FAILED;
	}
	struct options options = {.setup.source.binary = {.items = {argv[1]}, .count = 1}};
	struct gallery gallery = {.options = &options, .as_script = true};
	struct cairn_dump_files files = {0};
	list_by_name(&files, argv[2]);
	int code = make(&gallery, &files, argv[2]);
	cairn_files_free(&files);
	return code;
}

const struct cairn_command cairn_command_gen_flamegraph = {.name = "gen_flamegraph.sh", .run_arguments = run_script};
