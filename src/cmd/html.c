/* html.c - `cairn html`: the profile as an interactive page in one file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "cmd/command.h"
#include "cmd/view.h"
#include "live/files.h"
#include "live/judged.h"
#include "live/rss/account.h"
#include "live/source_series.h"
#include "page/series.h"
#include "report/churn.h"
#include "series/leaks.h"

#include <sys/stat.h>

/* What a dump knows beyond its stacks, in the page's own terms. */
struct beside {
	struct cairn_buffer churn, bill;
	struct cairn_judged judged, mapped;
	struct cairn_judgement judgement;
	struct cairn_page_series page;
	struct cairn_arena arena;
};

struct options {
	struct cairn_view_setup setup;
	const char *title;
	uint64_t node_most;
	const struct cairn_page_series *series; /* not options: what several dumps show, */
	const struct cairn_page_film *course;   /* and how they follow each other */
};

enum { least_dumps = 3,
       layer_most = 6 };

#define AT(member) offsetof(struct options, member)

static const struct cairn_option table[] = {
	{0, "title", "TEXT", "the heading (default: the process)", CAIRN_OPTION_TEXT, AT(title), 0},
	{0, "nodes", "N", "keep the N largest nodes of the call tree in the file (default: 500000)", CAIRN_OPTION_COUNT, AT(node_most), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, cairn_output_option_table, 0},
	{"page", table, 0},
	CAIRN_VIEW_GROUPS,
	{0},
};

static void prepare(void *values)
{
	struct options *options = values;
	struct cairn_source_options *source = &options->setup.source;
	source->split_threads = source->split_sizes = true;
	source->columns_compare = true;
	source->with_freed = cairn_view_is_whole(&options->setup);
	source->every_kind = cairn_source_is_plain(source);
	/* Objects grow older from one dump to the next, which is no change. */
	source->split_ages = source->base.count == 0;
	options->setup.view.fold_wrappers = true;
}

static void add_bill(struct beside *beside, const struct cairn_profile *profile)
{
	struct cairn_account *account = cairn_array_zero(1, sizeof *account);
	struct cairn_error error;
	if (profile->facts.trailer && cairn_account_profile(account, profile, &error)) {
		cairn_account_settle(account);
		cairn_account_json(account, &beside->bill);
	}
	cairn_account_free(account);
}

static bool show(const void *values, struct cairn_report *report, struct cairn_error *error)
{
	(void)error;
	const struct options *options = values;
	struct cairn_page_options page = {.title = options->title, .node_most = (size_t)options->node_most, .series = options->series,
					 .course = options->course};
	struct beside beside = {.churn = cairn_buffer(SIZE_MAX), .bill = cairn_buffer(SIZE_MAX)};
	if (cairn_source_is_whole(&options->setup.source))
		add_bill(&beside, report->view->profile);
	if (cairn_view_is_whole(&options->setup)) {
		cairn_churn_page(report->view, &beside.churn);
		if (!page.series && cairn_judged_make(&beside.judged, report->view->profile, &options->setup.view)) {
			const struct cairn_judged *heap = &beside.judged;
			cairn_judged_conclude(&beside.judgement, &beside.mapped, &heap->series, &heap->leaks, &heap->view,
					      &(struct cairn_judge_context){0}, (struct cairn_bytes){"", 0});
			cairn_page_describe(&beside.page, &beside.judgement, &beside.arena);
			page.series = &beside.page;
		}
	}
	page.churn = cairn_buffer_bytes(&beside.churn);
	page.bill = cairn_buffer_bytes(&beside.bill);
	cairn_page_write(report->view, &page, report->out);
	cairn_judged_free(&beside.judged);
	cairn_judged_free(&beside.mapped);
	cairn_arena_free(&beside.arena);
	cairn_buffer_free(&beside.churn);
	cairn_buffer_free(&beside.bill);
	return true;
}

/* Several dumps: the page shows the newest; the others show what keeps growing. */

/* All dumps of a series are in memory at once; a page is not worth more than this. */
static const int64_t series_most_bytes = (int64_t)2 << 30;

static bool fits_memory(const struct cairn_dump_files *files)
{
	int64_t bytes = 0;
	struct stat status;
	for (size_t i = 0; i < files->count; i++)
		bytes += stat(files->items[i].path, &status) == 0 ? status.st_size : 0;
	if (bytes > series_most_bytes)
		cairn_say_note("the dumps are too large to also look for growth; use 'cairn leaks'");
	return bytes <= series_most_bytes;
}

static bool is_series(struct options *options, int count, char **operands)
{
	struct cairn_dump_files files = {0};
	struct cairn_error error;
	struct cairn_source_options *source = &options->setup.source;
	source->listed_before = !source->sum && source->base.count == 0 && cairn_files_list(&files, count, operands, &error);
	bool several = source->listed_before && cairn_files_keep_service(&files, source->service, &error) &&
		       files.count >= least_dumps && fits_memory(&files);
	cairn_files_free(&files);
	return several;
}

static int run(const void *values, int count, char **operands)
{
	struct options options = *(const struct options *)values;
	struct cairn_page_series page;
	struct cairn_series series = {0};
	struct cairn_leaks leaks = {0};
	struct cairn_judged mapped = {0};
	struct cairn_judgement judgement;
	struct cairn_buffer newest = cairn_buffer(SIZE_MAX);
	struct cairn_view view = {0};
	struct cairn_timeline timeline = {0};
	struct cairn_page_film film;
	struct cairn_arena arena = {0};
	struct cairn_error error;
	bool several = is_series(&options, count, operands);
	/* What grows has the names that it has on the page, and is chosen by the same labels; the ages of the newest dump count, too. */
	options.setup.view.fold_wrappers = true;
	options.setup.source.with_freed = cairn_view_is_whole(&options.setup);
	cairn_view_split_labels(&options.setup.source, &options.setup.view.filter);
	struct cairn_source_options source = options.setup.source;
	source.quiet = true; /* what has no names is said of the page's own profile */
	/* If the dumps do not form a series, the page shows the newest of them. */
	if (several && cairn_source_series(&series, &source, &options.setup.view, least_dumps, 1, count, operands, &error) &&
	    cairn_view_make(&view, &series.profile, &options.setup.view, &error)) {
		cairn_leaks_rank(&leaks, &series, &view);
		if (!cairn_files_text(series.points[series.point_count - 1].path, &newest, &error))
			newest.length = 0;
		cairn_judged_conclude(&judgement, &mapped, &series, &leaks, &view, &(struct cairn_judge_context){0},
				      cairn_buffer_bytes(&newest));
		cairn_page_describe(&page, &judgement, &arena);
		options.series = &page;
		cairn_timeline_make(&timeline, &series, &view, &leaks, layer_most);
		cairn_page_film_make(&film, &timeline, 0, &arena);
		film.from = film.to = film.point_count - 1;
		options.course = &film;
	}
	int code = cairn_view_run(&cairn_command_html, &options, count, operands);
	if (options.course)
		cairn_timeline_free(&timeline);
	cairn_judged_free(&mapped);
	cairn_buffer_free(&newest);
	cairn_leaks_free(&leaks);
	cairn_view_free(&view);
	if (several)
		cairn_series_free(&series);
	cairn_arena_free(&arena);
	return code;
}

const struct cairn_command cairn_command_html = {
	.name = "html",
	.summary = "write an interactive HTML page: flame graph, table, callers, threads",
	.arguments = "SOURCE...",
	.detail = "The file is self-contained: it needs no network and no server. With --base, shows what changed: growth in red, "
		  "shrinkage in\n"
		  "blue. For several dumps, shows the newest and what keeps growing across all of them.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
	.view = &(const struct cairn_view_command){.bare = true,
						   .picture = true,
						   .suffixes = (const char *const[]){".html", ".htm", NULL},
						   .prepare = prepare,
						   .show = show},
};
