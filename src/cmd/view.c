/* view.c - the options of views; runs the commands that show them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/view.h"

#include "base/pattern.h"
#include "cmd/command.h"
#include "cmd/suffix.h"
#include "report/head.h"
#include "report/label.h"

#include <stdlib.h>
#include <unistd.h>

#define AT(member) offsetof(struct cairn_view_setup, member)

const struct cairn_option cairn_view_option_table[] = {
	{0, "objects", NULL, "count objects instead of bytes", CAIRN_OPTION_FLAG, AT(view.objects), 0},
	{0, "alloc", NULL, "count all allocations, freed or not (jemalloc's profiler needs prof_accum:true)", CAIRN_OPTION_FLAG,
	 AT(view.alloc), 0},
	{0, "inuse-space", NULL, "live bytes", CAIRN_OPTION_CHOICE, AT(view.metric), CAIRN_INUSE_SPACE},
	{0, "inuse-objects", NULL, "live objects", CAIRN_OPTION_CHOICE, AT(view.metric), CAIRN_INUSE_OBJECTS},
	{0, "alloc-space", NULL, "allocated bytes, freed or not", CAIRN_OPTION_CHOICE, AT(view.metric), CAIRN_ALLOC_SPACE},
	{0, "alloc-objects", NULL, "allocated objects, freed or not", CAIRN_OPTION_CHOICE, AT(view.metric), CAIRN_ALLOC_OBJECTS},
	{0, "value", "TYPE", "show this value of the profile, such as alloc_space or cpu", CAIRN_OPTION_TEXT, AT(view.value), 0},
	{0, "functions", NULL, "one row for each function (default)", CAIRN_OPTION_CHOICE, AT(view.granularity), CAIRN_BY_FUNCTION},
	{0, "files", NULL, "one row for each source file", CAIRN_OPTION_CHOICE, AT(view.granularity), CAIRN_BY_FILE},
	{0, "lines", NULL, "one row for each source line", CAIRN_OPTION_CHOICE, AT(view.granularity), CAIRN_BY_LINE},
	{0, "addresses", NULL, "one row for each address", CAIRN_OPTION_CHOICE, AT(view.granularity), CAIRN_BY_ADDRESS},
	{0, "no-inlines", NULL, "leave out inlined functions", CAIRN_OPTION_FLAG, AT(view.no_inlines), 0},
	{0, "noinlines", NULL, NULL, CAIRN_OPTION_FLAG, AT(view.no_inlines), 0},
	{0, "full-names", NULL, "show names with template and call arguments", CAIRN_OPTION_FLAG, AT(view.full_names), 0},
	{0, "all-frames", NULL, "keep the allocator's own frames", CAIRN_OPTION_FLAG, AT(view.all_frames), 0},
	{0, "fold-wrappers", NULL,
	 "attribute memory allocated by strdup, containers, zmalloc and the like to their callers (default in tables and pages)",
	 CAIRN_OPTION_FLAG, AT(view.fold_wrappers), 0},
	{0, "wrappers", "PATTERNS", "fold functions with these names, not *malloc*, *_alloc*, *strdup* and the like", CAIRN_OPTION_TEXT,
	 AT(view.wrappers), 0},
	{0, "no-fold", NULL, "show wrappers as functions of their own", CAIRN_OPTION_FLAG, AT(view.keep_wrappers), 0},
	{0, "keep-wrappers", NULL, NULL, CAIRN_OPTION_FLAG, AT(view.keep_wrappers), 0},
	{0, "drop-negative", NULL, "with --base: leave out stacks that shrank", CAIRN_OPTION_FLAG, AT(view.drop_negative), 0},
	{0, "relative-percentages", NULL, "print percentages of the filtered total, not of the whole profile", CAIRN_OPTION_FLAG,
	 AT(view.relative_percentages), 0},
	{0},
};

const struct cairn_option cairn_errors_option_table[] = {
	{0, "errors", NULL, "show 95 % confidence intervals", CAIRN_OPTION_FLAG, AT(view.errors), 0},
	{0},
};

const struct cairn_option cairn_filter_option_table[] = {
	{0, "focus", "REGEX", "keep stacks with a match in a function, file or module", CAIRN_OPTION_TEXT, AT(view.filter.focus), 0},
	{0, "ignore", "REGEX", "drop stacks with a match", CAIRN_OPTION_TEXT, AT(view.filter.ignore), 0},
	{0, "tagfocus", "TAG", "keep samples with this label: [key=]REGEX or [key=]low:high, such as thread=worker or bytes=4K:",
	 CAIRN_OPTION_TEXT, AT(view.filter.tag_focus), 0},
	{0, "tagignore", "TAG", "drop samples with this label", CAIRN_OPTION_TEXT, AT(view.filter.tag_ignore), 0},
	{0},
};

const struct cairn_option cairn_frame_option_table[] = {
	{0, "hide", "REGEX", "remove matching frames from their stacks", CAIRN_OPTION_TEXT, AT(view.filter.hide), 0},
	{0, "show", "REGEX", "keep only matching frames in their stacks", CAIRN_OPTION_TEXT, AT(view.filter.show), 0},
	{0, "show-from", "REGEX", "keep stacks with a match, without the callers of the outermost match",
	 CAIRN_OPTION_TEXT, AT(view.filter.show_from), 0},
	{0, "exclude", "REGEX", "like --hide, but matches function names only and applies before --focus",
	 CAIRN_OPTION_TEXT, AT(view.filter.exclude), 0},
	{0, "retain", "REGEX", "like --show, but matches function names only and applies before --focus",
	 CAIRN_OPTION_TEXT, AT(view.filter.retain), 0},
	{0},
};

const struct cairn_option cairn_report_option_table[] = {
	{'n', "nodecount", "N", "show N rows; 0 shows all", CAIRN_OPTION_COUNT, AT(shape.node_count), 0},
	{0, "rows", "N", NULL, CAIRN_OPTION_COUNT, AT(shape.node_count), 0},
	{0, "nodefraction", "F", "leave out rows below this fraction of the total", CAIRN_OPTION_NUMBER, AT(shape.node_fraction), 0},
	{0, "edgefraction", "F", "leave out calls below this fraction of the total", CAIRN_OPTION_NUMBER, AT(shape.edge_fraction), 0},
	{0, "bytes", NULL, "print plain integers", CAIRN_OPTION_FLAG, AT(shape.bytes), 0},
	{0, "json", NULL, "print one JSON object instead of text; see doc/formats.md", CAIRN_OPTION_FLAG, AT(json), 0},
	{0},
};

const struct cairn_option cairn_order_option_table[] = {
	{0, "cum", NULL, "sort by cumulative size (Total)", CAIRN_OPTION_FLAG, AT(shape.by_cum), 0},
	{0},
};

const struct cairn_option cairn_output_option_table[] = {
	{'o', "output", "FILE", "write to FILE instead of standard output", CAIRN_OPTION_TEXT, AT(output), 0},
	{0},
};

const struct cairn_option_group cairn_report_groups[] = {
	{NULL, cairn_report_option_table, 0},
	{NULL, cairn_order_option_table, 0},
	CAIRN_VIEW_GROUPS,
	{"output", cairn_output_option_table, 0},
	{0},
};

static const uint64_t count_not_given = UINT64_MAX;
static const double fraction_not_given = -1;

void cairn_view_set_not_given(struct cairn_view_setup *setup)
{
	setup->shape.node_count = count_not_given;
	setup->shape.node_fraction = setup->shape.edge_fraction = fraction_not_given;
}

struct cairn_shape cairn_view_shape(const struct cairn_view_setup *setup, uint64_t node_count, double node_fraction, double edge_fraction)
{
	struct cairn_shape shape = setup->shape;
	if (shape.node_count == count_not_given)
		shape.node_count = setup->json ? 0 : node_count;
	if (shape.node_fraction < 0)
		shape.node_fraction = setup->json ? 0 : node_fraction;
	if (shape.edge_fraction < 0)
		shape.edge_fraction = setup->json ? 0 : edge_fraction;
	return shape;
}

/* Tables may show only some rows; other formats contain everything. */
static void note_unnamed(const struct cairn_command *command, const struct cairn_view_setup *setup, const struct cairn_view *view,
			 const struct cairn_buffer *out)
{
	struct cairn_symbolize_scope scope = {view->samples, view->sample_count, view->value};
	struct cairn_bytes text = cairn_buffer_bytes(out);
	if (setup->source.unnamed)
		cairn_source_note_unnamed(view->profile, setup->source.unnamed, &scope, command->view->bare ? NULL : &text);
}

bool cairn_view_show(const struct cairn_command *command, void *options, const struct cairn_profile *profile, struct cairn_buffer *out,
		     struct cairn_error *error)
{
	struct cairn_view_setup *setup = options;
	struct cairn_view view = {0};
	if (command->view->prepare)
		command->view->prepare(options);
	setup->view.fold_wrappers |= command->view->folds;
	struct cairn_shape shape = cairn_view_shape(setup, command->view->rows, command->view->node_fraction, command->view->edge_fraction);
	struct cairn_json json;
	bool good = cairn_view_make(&view, profile, &setup->view, error);
	if (good) {
		struct cairn_report report = cairn_report(&view, &shape, out, setup->json ? &json : NULL);
		if (setup->json) {
			json = cairn_json_answer(out);
			cairn_head_json(&view, &json);
		} else if (!command->view->bare && !(setup->output && cairn_bytes_end_with(cairn_bytes_of(setup->output), ".html"))) {
			cairn_head_text(&view, &shape, out);
		}
		if (command->view->write)
			command->view->write(&report);
		else
			good = command->view->show(options, &report, error);
		if (setup->json)
			cairn_json_end(&json);
	}
	if (good)
		note_unnamed(command, setup, &view, out);
	cairn_view_free(&view);
	return good;
}

static bool refuse_errors(const struct cairn_command *command, const struct cairn_view_setup *setup, struct cairn_error *error)
{
	const char *format = command->view->without_errors;
	return !format || !setup->view.errors ||
	       cairn_fail_usage(error, "--errors: %s cannot contain them; 'cairn traces --errors' shows them stack by stack", format);
}

/* Takes the operands that are not sources. */
static bool take_operands(const struct cairn_command *command, struct cairn_view_setup *setup, int *count, char ***operands,
			  struct cairn_error *error)
{
	if (command->view->takes_pattern) {
		if (*count < 2)
			return cairn_fail_usage(error, "missing REGEX or SOURCE: cairn %s REGEX SOURCE", command->name);
		setup->pattern = *(*operands)++;
		--*count;
	}
	if (command->view->compares) {
		if (*count != 2)
			return cairn_fail_usage(error, "this takes two dumps: cairn %s BEFORE AFTER", command->name);
		if (setup->source.base.count == CAIRN_OPTION_LIST_MAX)
			return cairn_fail_usage(error, "too many bases");
		setup->source.base.items[setup->source.base.count++] = *(*operands)++;
		--*count;
	}
	return true;
}

static bool check_label(const char *option, const char *text, struct cairn_error *error)
{
	struct cairn_label_filter *filter = text ? cairn_label_filter_compile(text, error) : NULL;
	if (text && !filter)
		return cairn_fail_within(error, "%s: ", option);
	cairn_label_filter_free(filter);
	return true;
}

bool cairn_view_check_filters(const struct cairn_view_setup *setup, struct cairn_error *error)
{
	const struct cairn_filter_options *filter = &setup->view.filter;
	const struct {
		const char *option, *text;
	} patterns[] = {
		{"--focus: ", filter->focus}, {"--ignore: ", filter->ignore}, {"--hide: ", filter->hide}, {"--show: ", filter->show},
		{"--show-from: ", filter->show_from}, {"--exclude: ", filter->exclude}, {"--retain: ", filter->retain},
		{"", setup->pattern},
	};
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		struct cairn_pattern *pattern = patterns[i].text ? cairn_pattern_compile(patterns[i].text, error) : NULL;
		if (patterns[i].text && !pattern)
			return cairn_fail_within(error, "%s", patterns[i].option);
		if (pattern)
			cairn_pattern_free(pattern);
	}
	return check_label("--tagfocus", filter->tag_focus, error) && check_label("--tagignore", filter->tag_ignore, error);
}

static bool has_label_filter(const struct cairn_filter_options *filter)
{
	return filter->tag_focus || filter->tag_ignore;
}

bool cairn_view_split_labels(struct cairn_source_options *source, const struct cairn_filter_options *filter)
{
	bool split = has_label_filter(filter);
	source->split_threads |= split;
	source->split_ages |= split;
	return split;
}

bool cairn_view_is_whole(const struct cairn_view_setup *setup)
{
	return cairn_source_is_whole(&setup->source) && !has_label_filter(&setup->view.filter);
}

/* Refuses a name that promises another format than the one that is written. Reports can be written as JSON. */
static bool check_ending(const struct cairn_command *command, struct cairn_view_setup *setup, struct cairn_error *error)
{
	if (!command->view->bare && cairn_bytes_end_with(cairn_bytes_of(setup->output ? setup->output : ""), ".json")) {
		setup->json = true;
		return true;
	}
	bool any = command->view->bare && !command->view->suffixes;
	return any || cairn_suffix_check(command->name, setup->output, command->view->suffixes, error);
}

static bool check(const struct cairn_command *command, void *options, struct cairn_error *error)
{
	struct cairn_view_setup *setup = options;
	if (command->view->picture && !setup->output && isatty(STDOUT_FILENO))
		return cairn_fail_usage(error, "'cairn %s' does not write to a terminal; name a file with -o", command->name);
	return check_ending(command, setup, error) && cairn_view_check_filters(setup, error) &&
	       (!command->view->check || command->view->check(options, error));
}

bool cairn_view_takes_binary(const struct cairn_view_setup *setup, struct cairn_error *error)
{
	return setup->output || !isatty(STDOUT_FILENO) ||
	       cairn_fail_usage(error, "that would write binary data to the terminal; name a file with -o");
}

int cairn_view_run(const struct cairn_command *command, void *options, int operand_count, char **operands)
{
	struct cairn_view_setup *setup = options;
	struct cairn_error error;
	struct cairn_profile profile;
	if (!refuse_errors(command, setup, &error) || !take_operands(command, setup, &operand_count, &operands, &error))
		return cairn_say_failure(&error);
	if (command->view->prepare)
		command->view->prepare(options);
	if (!check(command, options, &error))
		return cairn_say_failure(&error);
	setup->shape.colour = !setup->output && isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	cairn_view_split_labels(&setup->source, &setup->view.filter);
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	struct cairn_symbolize_report unnamed = {0};
	setup->source.unnamed = setup->source.quiet ? NULL : &unnamed;
	int code = cairn_source_load(&profile, &setup->source, operand_count, operands, &error) &&
				   cairn_view_show(command, options, &profile, &out, &error)
			   ? (command->view->fits ? cairn_say_text(setup->output, cairn_buffer_bytes(&out), setup->json)
						  : cairn_say_output(setup->output, cairn_buffer_bytes(&out)))
			   : cairn_say_failure(&error);
	cairn_buffer_free(&out);
	cairn_symbolize_report_free(&unnamed);
	cairn_profile_free(&profile);
	return code;
}
