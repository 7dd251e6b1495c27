/* report.c - reports and pictures of the process as it is now, by the cairn command: whatever its snapshot knows, for a service that asks
 * through cairn_answer and for anybody else.
 *
 * GET /cairn/report/NAME runs `cairn NAME` on a new snapshot. The query selects a part of it by the names of the command's options, which
 * are checked here: nothing else of a request reaches a command line.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/answer.h"
#include "dump/shown.h"

#include <assert.h>
#include <stdio.h>

enum kind { report, picture };

/* The commands that make sense of one snapshot. */
static const struct view {
	const char *name;
	enum kind kind;     /* a report is JSON, or text with ?format=text */
	bool takes_options; /* it can show a part of the snapshot, or another value */
	const char *type;   /* of a picture */
} views[] = {
	{"top", report, true, NULL}, {"tree", report, true, NULL}, {"traces", report, true, NULL}, {"tags", report, true, NULL},
	{"churn", report, false, NULL}, {"leaks", report, false, NULL}, {"rss", report, false, NULL},
	{"collapsed", picture, true, CAIRN_TEXT}, {"flame", picture, true, CAIRN_SVG}, {"html", picture, true, CAIRN_HTML},
};

enum { option_size = 40, options_most = 8 };

struct asked {
	char options[options_most][option_size];
	size_t count;
};

/* Options with a value: letters, digits and points, so that it stays one. */
static bool take_value(struct cairn_call *call, struct asked *asked, const char *name)
{
	char value[16];
	if (!cairn_query_get(call->request->query, name, value, sizeof value))
		return true;
	size_t length = strspn(value, "0123456789.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
	if (length == 0 || value[length])
		return false;
	snprintf(asked->options[asked->count++], option_size, "--%s=%s", name, value);
	return true;
}

/* Options without one: true or false. */
static bool take_flag(struct cairn_call *call, struct asked *asked, const char *name)
{
	char value[16];
	if (!cairn_query_get(call->request->query, name, value, sizeof value) || strcmp(value, "false") == 0)
		return true;
	if (value[0] && strcmp(value, "true") != 0)
		return false;
	snprintf(asked->options[asked->count++], option_size, "--%s", name);
	return true;
}

/* Reads the query. Returns the name of the first option that is wrong; NULL if all are right. */
static const char *read_query(struct cairn_call *call, const struct view *view, struct asked *asked)
{
	static const char *const values[] = {"older", "younger", "mappings"};
	static_assert(sizeof values / sizeof *values + CAIRN_SHOWN_COUNT - 2 < options_most, "there is room for all");
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		if (!take_value(call, asked, values[i]))
			return values[i];
	for (size_t i = CAIRN_SHOWN_LIVE + 1; i < CAIRN_SHOWN_COUNT; i++)
		if (i != CAIRN_SHOWN_MAPPED && !take_flag(call, asked, cairn_shown_views[i].option))
			return cairn_shown_views[i].option;
	return asked->count && !view->takes_options ? asked->options[0] : NULL;
}

static const struct view *find_view(struct cairn_bytes name)
{
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		if (cairn_bytes_equal(name, cairn_bytes_of(views[i].name)))
			return &views[i];
	return NULL;
}

/* Runs the command on a new snapshot. */
static void answer_view(struct cairn_call *call, const struct view *view, const struct asked *asked, bool text)
{
	const char *arguments[options_most + 4] = {view->name};
	size_t count = 1;
	struct cairn_error error = {0};
	enum cairn_profiler_state state;
	if (!cairn_answer_can_profile(call, &state, &error)) {
		cairn_answer_error(call, state == CAIRN_PROFILER_NOT_ENABLED ? 409 : 501, error.text, NULL);
		return;
	}
	struct cairn_snapshot *snapshot = cairn_answer_take(call, &error);
	if (!snapshot) {
		cairn_answer_error(call, 500, error.text, NULL);
		return;
	}
	if (view->kind == report && !text)
		arguments[count++] = "--json";
	for (size_t i = 0; i < asked->count; i++)
		arguments[count++] = asked->options[i];
	arguments[count++] = "-";
	int status = cairn_answer_render(call, arguments, snapshot->descriptor, -1,
					 view->kind == picture ? view->type : text ? CAIRN_TEXT : CAIRN_JSON, &error);
	cairn_snapshot_release(snapshot);
	if (status != 200)
		cairn_answer_error(call, error.usage && asked->count ? 400 : status, error.text, NULL);
}

void cairn_report(struct cairn_call *call)
{
	struct asked asked = {0};
	char format[16] = "json", text[120];
	const struct view *view = find_view(call->rest);
	if (!view) {
		cairn_answer_error(call, 404, "no such report; there are top, tree, traces, tags, churn, leaks, rss, collapsed, flame and "
					      "html", NULL);
		return;
	}
	cairn_query_get(call->request->query, "format", format, sizeof format);
	const char *wrong = read_query(call, view, &asked);
	if (wrong) {
		snprintf(text, sizeof text, "this report does not take %s with that value, or not at all", wrong);
		cairn_answer_error(call, 400, text, NULL);
		return;
	}
	answer_view(call, view, &asked, strcmp(format, "text") == 0);
}
