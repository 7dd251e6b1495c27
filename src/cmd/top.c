/* top.c - `cairn top`: who holds the memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "cmd/command.h"
#include "cmd/top/screen.h"
#include "cmd/view.h"
#include "process/clock.h"
#include "report/tags.h"
#include "report/top.h"

#include <limits.h>
#include <stdlib.h>

struct options {
	struct cairn_view_setup setup;
	bool live;
};

enum { live_ms = 2000,
       live_cost = 20 }; /* a snapshot costs the service at most one part in this many of its time */

static const struct cairn_option live_table[] = {
	{0, "live", NULL, "refresh the table every two seconds, on the whole terminal; Space refreshes now, q quits", CAIRN_OPTION_FLAG,
	 offsetof(struct options, live), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, cairn_report_option_table, 0},
	{NULL, live_table, 0},
	{NULL, cairn_order_option_table, 0},
	CAIRN_VIEW_GROUPS,
	{"output", cairn_output_option_table, 0},
	{0},
};

static const struct cairn_option_refusal refusals[] = {{"edgefraction", NULL}, {0}};

static bool show(const void *options, struct cairn_report *report, struct cairn_error *error)
{
	(void)error;
	cairn_top_write(report);
	if (((const struct cairn_view_setup *)options)->source.tree) {
		if (!report->json)
			cairn_buffer_byte(report->out, '\n');
		cairn_tags_write(report);
	}
	return true;
}

/* Reads the sources anew and writes their table. */
static bool refresh(struct cairn_view_setup *setup, int count, char **operands, struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_profile profile;
	struct cairn_view_setup once = *setup;
	out->length = 0;
	bool good = cairn_source_load(&profile, &once.source, count, operands, error) &&
		    cairn_view_show(&cairn_command_top, &once, &profile, out, error);
	cairn_profile_free(&profile);
	return good;
}

static int show_live(struct cairn_view_setup *setup, int count, char **operands)
{
	struct cairn_error error;
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	if (setup->json || setup->output)
		return cairn_say_usage("--live shows the table on the terminal; it takes no --json and no --output");
	if (!cairn_view_check_filters(setup, &error) || !cairn_screen_open(&error))
		return cairn_say_failure(&error);
	cairn_option_quiet = true; /* notes would be written over the table */
	setup->shape.colour = !getenv("NO_COLOR");
	setup->source.quiet = true;
	cairn_view_split_labels(&setup->source, &setup->view.filter);
	bool good = true;
	for (enum cairn_screen_event event = CAIRN_SCREEN_WAITED; good && event != CAIRN_SCREEN_KEY_QUIT;) {
		int64_t start = cairn_clock_ns();
		good = event == CAIRN_SCREEN_RESIZED || refresh(setup, count, operands, &out, &error);
		int64_t rest_ms = live_cost * (cairn_clock_ns() - start) / CAIRN_MILLISECOND_NS;
		if (!good)
			break;
		cairn_screen_show(cairn_buffer_bytes(&out));
		event = cairn_screen_wait(rest_ms > live_ms ? (int)(rest_ms > INT_MAX ? INT_MAX : rest_ms) : live_ms);
	}
	cairn_screen_close();
	cairn_buffer_free(&out);
	return good ? CAIRN_EXIT_DONE : cairn_say_failure(&error);
}

static int run(const void *given, int count, char **operands)
{
	struct options options = *(const struct options *)given;
	return options.live ? show_live(&options.setup, count, operands)
			    : cairn_view_run(&cairn_command_top, &options.setup, count, operands);
}

const struct cairn_command cairn_command_top = {
	.name = "top",
	.summary = "show which functions hold the memory",
	.arguments = "SOURCE...",
	.detail = "Shows 30 rows by default.",
	.groups = groups,
	.refusals = refusals,
	.options_size = sizeof(struct options),
	.run = run,
	.view = &(const struct cairn_view_command){.fits = true, .folds = true, .rows = 30, .show = show},
};
