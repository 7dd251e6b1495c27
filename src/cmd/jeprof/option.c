/* option.c - jeprof's options: their table, and which of them go together.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/jeprof/jeprof.h"

#include "cmd/command.h"
#include "cmd/jeprof/perl_option.h"

#include <unistd.h>

#define AT(member) offsetof(struct cairn_jeprof_options, member)
#define FLAG(name, member, help) {0, name, NULL, help, CAIRN_OPTION_FLAG, AT(member), 0}

static const struct cairn_option output_table[] = {
	FLAG("text", text, "print a table of functions (default if not on a terminal)"),
	FLAG("callgrind", callgrind, "print callgrind's format"),
	{0, "list", "REGEX", "print the source of matching functions with allocated memory", CAIRN_OPTION_TEXT, AT(list), 0},
	{0, "disasm", "REGEX", "print the machine code of matching functions with allocated memory", CAIRN_OPTION_TEXT, AT(disasm), 0},
	FLAG("symbols", symbols, "symbolize a memory map and addresses from standard input"),
	FLAG("raw", raw, "print the profile with its symbols, readable without the program"),
	FLAG("collapsed", collapsed, "print folded stacks for flame graphs"),
	FLAG("dot", dot, "print the call graph for Graphviz"),
	FLAG("svg", svg, "draw the call graph as SVG"),
	FLAG("pdf", pdf, "draw the call graph as PDF"),
	FLAG("ps", ps, "draw the call graph as PostScript"),
	FLAG("gif", gif, "draw the call graph as GIF"),
	FLAG("web", web, "show the call graph in a browser"),
	FLAG("gv", gv, "show the call graph in gv"),
	FLAG("evince", evince, "show the call graph in evince"),
	FLAG("interactive", interactive, "start a shell on the profile (default on a terminal)"),
	{0},
};

static const struct cairn_option view_table[] = {
	FLAG("cum", cum, "sort by cumulative size"),
	FLAG("functions", functions, "one row for each function (default)"),
	FLAG("lines", lines, "one row for each source line"),
	FLAG("files", files, "one row for each source file"),
	FLAG("addresses", addresses, "one row for each address"),
	FLAG("inuse_space", inuse_space, "live bytes (default)"),
	FLAG("inuse_objects", inuse_objects, "live objects"),
	FLAG("alloc_space", alloc_space, "allocated bytes, freed or not"),
	FLAG("alloc_objects", alloc_objects, "allocated objects, freed or not"),
	FLAG("show_bytes", show_bytes, "print bytes instead of megabytes"),
	{0, "base", "FILE", "subtract this profile", CAIRN_OPTION_TEXT, AT(base), 0},
	FLAG("drop_negative", drop_negative, "with --base: leave out stacks that shrank"),
	{0, "focus", "REGEX", "keep stacks with a match in an address, function or file:line", CAIRN_OPTION_TEXT, AT(focus), 0},
	{0, "ignore", "REGEX", "drop stacks with a match", CAIRN_OPTION_TEXT, AT(ignore), 0},
	{0, "retain", "REGEX", "keep only frames whose function matches", CAIRN_OPTION_TEXT, AT(retain), 0},
	{0, "exclude", "REGEX", "remove frames whose function matches", CAIRN_OPTION_TEXT, AT(exclude), 0},
	{0, "thread", "N", "keep thread N, by jemalloc's number or its name; * shows each thread separately", CAIRN_OPTION_TEXT, AT(thread),
	 0},
	{0, "nodecount", "N", "call graph: draw at most N nodes (default: 80)", CAIRN_OPTION_COUNT, AT(node_count), 0},
	{0, "nodefraction", "F", "call graph: leave out smaller nodes, as a fraction (default: .005)", CAIRN_OPTION_NUMBER,
	 AT(node_fraction), 0},
	{0, "edgefraction", "F", "call graph: leave out smaller edges, as a fraction (default: .001)", CAIRN_OPTION_NUMBER,
	 AT(edge_fraction), 0},
	{0, "maxdegree", "N", "call graph: draw at most N edges into and out of a node (default: 8)", CAIRN_OPTION_COUNT, AT(max_degree),
	 0},
	FLAG("heapcheck", heapcheck, "accepted and ignored"),
	{0, "scale", "N", "accepted and ignored", CAIRN_OPTION_COUNT, AT(scale), 0},
	{0},
};

static const struct cairn_option source_table[] = {
	{0, "seconds", "N", "profile for N seconds with /pprof/profile (default: 30)", CAIRN_OPTION_COUNT, AT(seconds), 0},
	{0, "add_lib", "FILE", "also look for symbols in this library", CAIRN_OPTION_TEXT, AT(add_lib), 0},
	{0, "lib_prefix", "DIRS", "folders to search for libraries and debug files, separated by commas",
	 CAIRN_OPTION_TEXT, AT(lib_prefix), 0},
	{0, "memory", "SIZE", "memory limit for symbolizing (default: a quarter of what the control group or machine has left)",
	 CAIRN_OPTION_SIZE, AT(memory), 0},
	{0, "tools", "PATHS", "accepted and ignored; only --disasm runs another program", CAIRN_OPTION_TEXT, AT(tools), 0},
	FLAG("debug-syms-by-id", debug_syms_by_id, "accepted and ignored; debug files are always searched by build-id"),
	FLAG("help", help, "print this help"),
	FLAG("version", version, "print the version"),
	FLAG("test", test, "do nothing and exit with status 0"),
	FLAG("debug", debug, "accepted and ignored"),
	{0, "test_stride", "N", "accepted and ignored", CAIRN_OPTION_COUNT, AT(test_stride), 0},
	FLAG("total_delay", total_delay, NULL),
	FLAG("contentions", contentions, NULL),
	FLAG("mean_delay", mean_delay, NULL),
	{0},
};

const struct cairn_option_group cairn_jeprof_groups[] = {
	{"output", output_table, 0},
	{"view", view_table, 0},
	{"sources and other options", source_table, 0},
	{0},
};

static bool choose_mode(struct cairn_jeprof_options *options, struct cairn_error *error)
{
	const struct {
		bool asked;
		enum cairn_jeprof_mode mode;
		const char *picture;
	} modes[] = {
		{options->text, CAIRN_JEPROF_TEXT, NULL},
		{options->callgrind, CAIRN_JEPROF_CALLGRIND, NULL},
		{options->list, CAIRN_JEPROF_LIST, NULL},
		{options->disasm, CAIRN_JEPROF_DISASM, NULL},
		{options->symbols, CAIRN_JEPROF_SYMBOLS, NULL},
		{options->raw, CAIRN_JEPROF_RAW, NULL},
		{options->collapsed, CAIRN_JEPROF_COLLAPSED, NULL},
		{options->interactive, CAIRN_JEPROF_INTERACTIVE, NULL},
		{options->dot, CAIRN_JEPROF_PICTURE, "dot"},
		{options->svg, CAIRN_JEPROF_PICTURE, "svg"},
		{options->pdf, CAIRN_JEPROF_PICTURE, "pdf"},
		{options->ps, CAIRN_JEPROF_PICTURE, "ps"},
		{options->gif, CAIRN_JEPROF_PICTURE, "gif"},
		{options->web, CAIRN_JEPROF_PICTURE, "web"},
		{options->gv, CAIRN_JEPROF_PICTURE, "gv"},
		{options->evince, CAIRN_JEPROF_PICTURE, "evince"},
	};
	int asked = 0;
	options->mode = isatty(STDOUT_FILENO) ? CAIRN_JEPROF_INTERACTIVE : CAIRN_JEPROF_TEXT;
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		if (!modes[i].asked)
			continue;
		asked++;
		options->mode = modes[i].mode;
		options->picture = modes[i].picture;
	}
	return asked <= 1 || cairn_fail(error, "choose one kind of output, not %d", asked);
}

bool cairn_jeprof_parse(struct cairn_jeprof_options *options, int argc, char **argv, struct cairn_error *error)
{
	*options = (struct cairn_jeprof_options){
		.seconds = 30, .node_count = 80, .node_fraction = .005, .edge_fraction = .001, .max_degree = 8};
	int operand_count = argc - 1;
	if (!cairn_perl_options_parse(&cairn_command_jeprof, options, &operand_count, argv + 1, error))
		return false;
	if (options->help || options->version || options->test)
		return true;
	if (!choose_mode(options, error))
		return false;
	if (options->inuse_space + options->inuse_objects + options->alloc_space + options->alloc_objects > 1)
		return cairn_fail(error, "choose one of --inuse_space, --inuse_objects, --alloc_space and --alloc_objects");
	if (options->functions + options->lines + options->addresses + options->files > 1)
		return cairn_fail(error, "choose one of --functions, --lines, --files and --addresses");
	options->profiles = (struct cairn_jeprof_profiles){argv + 1, (size_t)operand_count};
	return true;
}

struct cairn_view_options cairn_jeprof_view_options(const struct cairn_jeprof_options *options)
{
	bool by_line = options->lines || options->mode == CAIRN_JEPROF_LIST;
	bool by_address = options->addresses || options->mode == CAIRN_JEPROF_DISASM;
	return (struct cairn_view_options){
		.granularity = by_line ? CAIRN_BY_LINE : by_address ? CAIRN_BY_ADDRESS : options->files ? CAIRN_BY_FILE : CAIRN_BY_FUNCTION,
		.metric = options->inuse_space ? CAIRN_INUSE_SPACE : options->inuse_objects ? CAIRN_INUSE_OBJECTS
			  : options->alloc_space ? CAIRN_ALLOC_SPACE : options->alloc_objects ? CAIRN_ALLOC_OBJECTS : CAIRN_METRIC_DEFAULT,
		.no_inlines = options->mode == CAIRN_JEPROF_LIST || options->mode == CAIRN_JEPROF_DISASM,
		.full_names = options->mode == CAIRN_JEPROF_COLLAPSED,
		.drop_negative = options->drop_negative,
		.filter = {.focus = options->focus, .ignore = options->ignore, .retain = options->retain, .exclude = options->exclude},
	};
}
