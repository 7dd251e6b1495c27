/* flame.c - `cairn flame`: the profile as a flame graph; and flamegraph.pl, by that name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptor.h"
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/flame/script.h"
#include "cmd/view.h"
#include "profile/read.h"
#include "report/flame_heading.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct options {
	struct cairn_view_setup setup;
	struct cairn_flame_svg_options svg; /* what is zero or NULL was not given */
	const char *color;
	const char *least;
	const char *widths;
	const char *attributes;
	const char *encoding; /* understood; pictures are always UTF-8 */
	uint64_t total;
	bool by_module;
	bool reverse;
	bool flamechart;
	bool keep_palette;
	bool as_script; /* stands in for flamegraph.pl */
};

#define AT(member) offsetof(struct options, member)

static const struct cairn_option table[] = {
	{0, "inverted", NULL, "draw an icicle graph, with the root at the top", CAIRN_OPTION_FLAG, AT(svg.inverted), 0},
	{0, "icicle", NULL, NULL, CAIRN_OPTION_FLAG, AT(svg.inverted), 0},
	{0, "reverse", NULL, "merge stacks from their leaves, where memory is allocated", CAIRN_OPTION_FLAG, AT(reverse), 0},
	{0, "widths", "WHAT", "with --base: widths show the change (default) or the size after", CAIRN_OPTION_TEXT, AT(widths), 0,
	 (const char *const[]){"change", "after", NULL}},
	{0, "color", "PALETTE", "mem, hot, module, diff, io, java, js, perl, red, green, blue, ...", CAIRN_OPTION_TEXT, AT(color), 0,
	 cairn_palette_names},
	{0, "colors", "PALETTE", NULL, CAIRN_OPTION_TEXT, AT(color), 0},
	{0, "colors-by-module", NULL, "use one colour for each program, library or namespace", CAIRN_OPTION_FLAG, AT(by_module), 0},
	{0, "title", "TEXT", "the heading", CAIRN_OPTION_TEXT, AT(svg.title), 0},
	{0, "subtitle", "TEXT", "a line below it", CAIRN_OPTION_TEXT, AT(svg.subtitle), 0},
	{0, "width", "PIXELS", "width of the picture (default: the browser window)", CAIRN_OPTION_POSITIVE, AT(svg.width), 0},
	{0, "height", "PIXELS", "height of each frame (default: 16)", CAIRN_OPTION_POSITIVE, AT(svg.row_height), 0},
	{0, "min-width", "PIXELS|N%", "leave out narrower frames (default: 0.1)", CAIRN_OPTION_TEXT, AT(least), 0},
	{0, "minwidth", "PIXELS|N%", NULL, CAIRN_OPTION_TEXT, AT(least), 0},
	{0, "count-name", "TEXT", "what is counted, such as bytes", CAIRN_OPTION_TEXT, AT(svg.count_name), 0},
	{0, "countname", "TEXT", NULL, CAIRN_OPTION_TEXT, AT(svg.count_name), 0},
	{0, "name-type", "TEXT", "what the names are", CAIRN_OPTION_TEXT, AT(svg.name_type), 0},
	{0, "nametype", "TEXT", NULL, CAIRN_OPTION_TEXT, AT(svg.name_type), 0},
	{0, "font-type", "FONT", "font family", CAIRN_OPTION_TEXT, AT(svg.font), 0},
	{0, "fonttype", "FONT", NULL, CAIRN_OPTION_TEXT, AT(svg.font), 0},
	{0, "font-size", "PIXELS", "font size (default: 12)", CAIRN_OPTION_POSITIVE, AT(svg.font_size), 0},
	{0, "fontsize", "PIXELS", NULL, CAIRN_OPTION_POSITIVE, AT(svg.font_size), 0},
	{0, "font-width", "PART", "mean width of a character, as a fraction of the font size", CAIRN_OPTION_POSITIVE, AT(svg.letter_width),
	 0},
	{0, "fontwidth", "PART", NULL, CAIRN_OPTION_POSITIVE, AT(svg.letter_width), 0},
	{0, "background", "COLOR", "yellow, blue, green, grey or #rrggbb", CAIRN_OPTION_TEXT, AT(svg.background), 0},
	{0, "bgcolors", "COLOR", NULL, CAIRN_OPTION_TEXT, AT(svg.background), 0},
	{0, "hash", NULL, "give similar names similar colours", CAIRN_OPTION_CHOICE, AT(svg.spread), CAIRN_SPREAD_PREFIX},
	{0, "random", NULL, "choose colours at random", CAIRN_OPTION_CHOICE, AT(svg.spread), CAIRN_SPREAD_RANDOM},
	{0, "cp", NULL, "keep each name's colour in the file palette.map", CAIRN_OPTION_FLAG, AT(keep_palette), 0},
	{0, "flamechart", NULL, "draw a flame chart: keep the order, merge only neighbours", CAIRN_OPTION_FLAG, AT(flamechart), 0},
	{0, "negate", NULL, "draw growth in blue and shrinkage in red", CAIRN_OPTION_FLAG, AT(svg.negate), 0},
	{0, "notes", "TEXT", "a comment in the file", CAIRN_OPTION_TEXT, AT(svg.notes), 0},
	{0, "nameattr", "FILE", "read titles and links for functions from FILE", CAIRN_OPTION_TEXT, AT(attributes), 0},
	{0, "total", "N", "the value of the full width", CAIRN_OPTION_COUNT, AT(total), 0},
	{0, "factor", "N", "multiply numbers by N", CAIRN_OPTION_POSITIVE, AT(svg.factor), 0},
	{0, "encoding", "NAME", NULL, CAIRN_OPTION_TEXT, AT(encoding), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, cairn_output_option_table, 0},
	{"picture", table, 0},
	CAIRN_VIEW_GROUPS,
	{0},
};

static const struct cairn_option_refusal refusals[] = {CAIRN_UNFOLDED_REFUSALS, {0}};

static void prepare(void *values)
{
	struct options *options = values;
	options->setup.source.reads_standard_input = true;
	options->setup.source.columns_compare = true;
}

/* Gives VALUE its default unless it was given, which takes a number greater than 0. */
static void set_default(double *value, double usual)
{
	if (*value == 0)
		*value = usual;
}

static void fill_defaults(struct cairn_flame_svg_options *svg, const struct options *options, const struct cairn_view *view,
			  struct cairn_arena *arena)
{
	struct cairn_flame_svg_options defaults = cairn_flame_svg_defaults();
	set_default(&svg->font_size, defaults.font_size);
	set_default(&svg->letter_width, options->as_script ? 0.59 : defaults.letter_width);
	svg->fluid = svg->width == 0 && !options->as_script;
	svg->plain = options->as_script;
	set_default(&svg->width, defaults.width);
	set_default(&svg->row_height, defaults.row_height);
	set_default(&svg->factor, defaults.factor);
	svg->least_width = defaults.least_width;
	svg->total = options->total > INT64_MAX ? INT64_MAX : (int64_t)options->total;
	if (options->as_script && !svg->count_name)
		svg->count_name = "samples";
	if (options->as_script && !svg->font)
		svg->font = "Verdana";
	if (options->as_script && !svg->name_type)
		svg->name_type = "Function:";
	if (!svg->title && options->flamechart)
		svg->title = "Flame Chart";
	if (!options->as_script)
		cairn_flame_describe(svg, view, arena);
}

static bool parse_least(const char *text, struct cairn_flame_svg_options *svg, struct cairn_error *error)
{
	char *end;
	double number = strtod(text, &end);
	bool percent = *end == '%';
	if (end == text || end[percent] || !(number >= 0))
		return cairn_fail_usage(error, "--min-width takes pixels or a percentage, not '%s'", text);
	svg->least_width = percent ? 0 : number;
	svg->least_part = percent ? number / 100 : 0;
	return true;
}

/* What viewers can draw, by far. */
static bool refuse_sizes(const struct cairn_flame_svg_options *svg, struct cairn_error *error)
{
	const struct {
		const char *option;
		double value, least, most;
	} sizes[] = {
		{"width", svg->width, 1, 1e6},
		{"height", svg->row_height, 1, 1e4},
		{"font-size", svg->font_size, 0.1, 1e4},
		{"font-width", svg->letter_width, 0.01, 100},
	};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (sizes[i].value < sizes[i].least || sizes[i].value > sizes[i].most)
			return cairn_fail_usage(error, "--%s takes a number from %.15g to %.15g, not %.15g", sizes[i].option,
						sizes[i].least, sizes[i].most, sizes[i].value);
	return true;
}

static bool choose_colors(struct cairn_flame_svg_options *svg, const struct options *options, const struct cairn_view *view,
			  struct cairn_error *error)
{
	if (svg->spread == CAIRN_SPREAD_RANDOM)
		srand48((long)getpid());
	if (options->by_module) {
		svg->palette = CAIRN_PALETTE_MODULE;
		return true;
	}
	svg->palette = cairn_flame_palette(view);
	return !options->color || cairn_palette_find(options->color, &svg->palette, error);
}

/* Two columns are drawn as flamegraph.pl draws them: by the present value, coloured by each frame's own change. */
static void choose_sizes(struct cairn_tree_options *tree, const struct options *options, const struct cairn_view *view)
{
	bool columns = view->profile->base && options->setup.source.base.count == 0;
	if (!options->widths)
		tree->sizes = columns ? CAIRN_SIZE_NOW : CAIRN_SIZE_VALUE;
	else if (strcmp(options->widths, "after") == 0)
		tree->sizes = CAIRN_SIZE_AFTER;
}

static bool check(const void *values, struct cairn_error *error)
{
	const struct options *options = values;
	struct cairn_flame_svg_options svg = options->svg, defaults = cairn_flame_svg_defaults();
	set_default(&svg.font_size, defaults.font_size);
	set_default(&svg.letter_width, defaults.letter_width);
	set_default(&svg.width, defaults.width);
	set_default(&svg.row_height, defaults.row_height);
	return refuse_sizes(&svg, error) && (!options->least || parse_least(options->least, &svg, error)) &&
	       (!options->color || cairn_palette_find(options->color, &svg.palette, error));
}

static const char palette_file[] = "palette.map";

static bool draw(struct cairn_view *view, const struct cairn_tree_options *tree, struct cairn_flame_svg_options *svg,
		 struct cairn_buffer *out, bool keep_palette, struct cairn_error *error)
{
	if (!keep_palette)
		return cairn_flame_svg_view(view, tree, svg, out, error);
	struct cairn_palette_map map = {0};
	struct cairn_file file = {0};
	bool good = access(palette_file, F_OK) != 0 || cairn_file_read(&file, palette_file, error);
	if (good) {
		cairn_palette_map_read(&map, file.bytes);
		cairn_file_close(&file);
		svg->palette_map = &map;
		good = cairn_flame_svg_view(view, tree, svg, out, error);
	}
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	cairn_palette_map_write(&map, &text);
	good = good && cairn_file_write(palette_file, cairn_buffer_bytes(&text), error);
	cairn_buffer_free(&text);
	cairn_palette_map_free(&map);
	return good;
}

static bool show(const void *values, struct cairn_report *report, struct cairn_error *error)
{
	const struct options *options = values;
	struct cairn_flame_svg_options svg = options->svg;
	struct cairn_tree_options tree = {.reversed = options->reverse,
					  .order = options->flamechart ? CAIRN_TREE_BY_TIME : CAIRN_TREE_BY_NAME};
	struct cairn_arena arena = {0};
	struct cairn_flame_attributes *attributes = NULL;
	struct cairn_file file = {0};
	fill_defaults(&svg, options, report->view, &arena);
	bool good = refuse_sizes(&svg, error) && (!options->least || parse_least(options->least, &svg, error)) &&
		    choose_colors(&svg, options, report->view, error);
	choose_sizes(&tree, options, report->view);
	svg.self_change = tree.sizes == CAIRN_SIZE_NOW;
	if (good && options->attributes) {
		good = cairn_file_read(&file, options->attributes, error);
		attributes = good ? cairn_flame_attributes_read(file.bytes, error) : NULL;
		good = good && (attributes || cairn_fail_within(error, "%s: ", options->attributes));
		svg.attributes = attributes;
	}
	good = good && draw(report->view, &tree, &svg, report->out, options->keep_palette, error);
	cairn_flame_attributes_free(attributes);
	if (file.bytes.data)
		cairn_file_close(&file);
	cairn_arena_free(&arena);
	return good;
}

const struct cairn_command cairn_command_flame = {
	.name = "flame",
	.summary = "draw a flame graph as one self-contained SVG file",
	.arguments = "[SOURCE...]",
	.detail = "Without a SOURCE, reads standard input: folded text or any other profile. With --base, shows what changed: growth in "
		  "red,\n"
		  "shrinkage in blue. Accepts all options of flamegraph.pl.",
	.groups = groups,
	.refusals = refusals,
	.options_size = sizeof(struct options),
	.view = &(const struct cairn_view_command){.bare = true,
						   .picture = true,
						   .suffixes = (const char *const[]){".svg", NULL},
						   .prepare = prepare,
						   .check = check,
						   .show = show},
};

/* flamegraph.pl. */

static const struct cairn_option_group script_groups[] = {{NULL, table, 0}, {0}};

static const struct cairn_command script = {
	.name = "flamegraph.pl",
	.summary = "draw a flame graph of folded text, on standard output",
	.arguments = "[FILE...]",
	.groups = script_groups,
	.options_size = sizeof(struct options),
	.view = &(const struct cairn_view_command){.bare = true, .prepare = prepare, .show = show},
};

/* There is no picture: reports why, and prints a picture that says so, for programs that expect one. */
static int script_error(const struct cairn_error *error)
{
	struct cairn_flame_svg_options svg = cairn_flame_svg_defaults();
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	cairn_say_error(error->text);
	cairn_flame_svg_message("ERROR: No valid input provided to flamegraph.pl.", &svg, &out);
	cairn_say_output(NULL, cairn_buffer_bytes(&out));
	cairn_buffer_free(&out);
	return CAIRN_EXIT_USAGE;
}

/* Perl takes long options with one dash too. */
static char **with_two_dashes(int argc, char **argv, struct cairn_arena *arena)
{
	char **words = cairn_arena_zero(arena, (size_t)argc + 1, sizeof *words);
	for (int i = 0; i < argc; i++) {
		bool one = argv[i][0] == '-' && argv[i][1] && argv[i][1] != '-' && argv[i][2];
		words[i] = one ? cairn_arena_format(arena, "-%s", argv[i]) : argv[i];
	}
	return words;
}

/* All of FILES, or of standard input, one after the other. */
static bool read_text(int count, char **files, struct cairn_buffer *text, struct cairn_error *error)
{
	for (int i = 0; i < (count ? count : 1); i++) {
		struct cairn_file file = {0};
		if (!cairn_file_read(&file, count && strcmp(files[i], "-") != 0 ? files[i] : "/dev/stdin", error))
			return false;
		cairn_buffer_append(text, file.bytes.data, file.bytes.length);
		cairn_file_close(&file);
	}
	return true;
}

/* The lines that count, as a file without a name. Input without any may still be a profile of another format. */
static int open_lines(const struct options *options, int count, char **files, struct cairn_error *error)
{
	struct cairn_buffer text = cairn_buffer(SIZE_MAX), lines = cairn_buffer(SIZE_MAX);
	size_t kept = 0;
	int file = -1;
	if (read_text(count, files, &text, error)) {
		size_t ignored = cairn_script_lines(cairn_buffer_bytes(&text), options->color && strcmp(options->color, "chain") == 0,
						    &lines, &kept);
		if (kept && ignored)
			fprintf(stderr, "Ignored %zu lines with invalid format\n", ignored);
		struct cairn_bytes taken = cairn_buffer_bytes(kept ? &lines : &text);
		bool nothing = !kept && cairn_profile_sniff(cairn_buffer_bytes(&text)) == CAIRN_FORMAT_FOLDED;
		file = nothing ? -1 : memfd_create("lines", MFD_CLOEXEC);
		if (nothing)
			cairn_fail(error, "no line ends in a space and a number");
		else if (file < 0)
			cairn_fail(error, "cannot make room for the input: %s", strerror(errno));
		else if (!cairn_descriptor_write_all(file, &taken)) {
			cairn_fail(error, "cannot keep the input: %s", strerror(errno));
			close(file);
			file = -1;
		}
	}
	cairn_buffer_free(&text);
	cairn_buffer_free(&lines);
	return file;
}

static bool draw_script(struct options *options, int count, char **files, struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_profile profile;
	int file = open_lines(options, count, files, error);
	if (file < 0)
		return false;
	char path[40], *name = path;
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	prepare(options);
	options->setup.source.no_symbols = true;
	bool good = cairn_source_load(&profile, &options->setup.source, 1, &name, error) &&
		    cairn_view_show(&script, options, &profile, out, error);
	cairn_profile_free(&profile);
	close(file);
	if (!good && strncmp(error->text, path, strlen(path)) == 0) { /* it is about the input, not about the copy */
		struct cairn_error about = *error;
		bool standard = count == 0 || (count == 1 && strcmp(files[0], "-") == 0);
		const char *input = standard ? "standard input" : count == 1 ? files[0] : "the files together";
		cairn_fail(error, "%s%s", input, about.text + strlen(path));
	}
	return good;
}

static int run_script(int argc, char **argv)
{
	struct cairn_arena arena = {0};
	struct cairn_error error;
	struct options options = {.as_script = true};
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	int count = argc - 1, code;
	char **words = with_two_dashes(count, argv + 1, &arena);
	bool help;
	if (!cairn_options_parse(&script, &options, &count, words, &help, &error) || help) {
		if (!help)
			cairn_say_error(error.text);
		cairn_options_help(&script, &out);
		cairn_file_write("/dev/stderr", cairn_buffer_bytes(&out), &error);
		code = CAIRN_EXIT_FAILED;
	} else if (draw_script(&options, count, words, &out, &error)) {
		code = cairn_say_output(NULL, cairn_buffer_bytes(&out));
	} else {
		code = script_error(&error);
	}
	cairn_buffer_free(&out);
	cairn_arena_free(&arena);
	return code;
}

const struct cairn_command cairn_command_flamegraph = {.name = "flamegraph.pl", .run_arguments = run_script};
