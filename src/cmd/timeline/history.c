/* history.c - finds the dump, and shows its history as a page, a picture, numbers or a table.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/timeline/history.h"

#include "base/json.h"
#include "base/time.h"
#include "base/xml.h"
#include "live/files.h"
#include "live/target.h"
#include "series/history.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>

static void write_json(const struct cairn_history *history, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json_answer(out);
	const struct cairn_profile *profile = history->profile;
	cairn_json_text(&json, "process", cairn_strings_bytes(&profile->strings, profile->facts.process));
	cairn_json_integer(&json, "pid", (int64_t)profile->facts.process_id);
	if (profile->facts.ended)
		cairn_json_text(&json, "ended", cairn_strings_bytes(&profile->strings, profile->facts.ended));
	cairn_json_open(&json, "history", '[');
	for (size_t i = 0; i < history->count; i++) {
		const struct cairn_history_row *row = &history->rows[i];
		cairn_json_open(&json, NULL, '{');
		cairn_json_number(&json, "time", (double)(row->time_ns / CAIRN_MILLISECOND_NS) / 1000);
		if (row->resident)
			cairn_json_integer(&json, "resident", (int64_t)row->resident);
		if (row->usage)
			cairn_json_integer(&json, "group_usage", (int64_t)row->usage);
		cairn_json_integer(&json, "limit", (int64_t)row->limit);
		cairn_json_integer(&json, "live", (int64_t)row->live);
		cairn_json_integer(&json, "allocated", (int64_t)row->allocated);
		cairn_json_number(&json, "allocated_per_second", round(cairn_history_rate(history, i ? i - 1 : 0, i)));
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	cairn_json_end(&json);
}

/* The picture with a page around it; its first line is for files of their own. */
static void write_page(const struct cairn_history *history, const char *title, struct cairn_buffer *out)
{
	struct cairn_buffer svg = cairn_buffer(SIZE_MAX);
	cairn_history_svg(history, title, &svg);
	struct cairn_bytes picture = cairn_buffer_bytes(&svg);
	const char *line = memchr(picture.data, '\n', picture.length);
	picture = cairn_bytes_skip(picture, line ? (size_t)(line - picture.data) + 1 : 0);
	cairn_buffer_text(out, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
			       "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
	cairn_xml_text(out, cairn_bytes_of(title ? title : cairn_profile_string(history->profile, history->profile->facts.process)));
	cairn_buffer_text(out, "</title>\n<body style=\"margin:0\">\n");
	cairn_buffer_append(out, picture.data, picture.length);
	cairn_buffer_text(out, "</body></html>\n");
	cairn_buffer_free(&svg);
}

static void write_history(const struct cairn_history_ask *ask, const struct cairn_profile *profile, struct cairn_buffer *out)
{
	struct cairn_history history = cairn_history_make(profile, ask->last_ns);
	if (ask->format == CAIRN_HISTORY_JSON)
		write_json(&history, out);
	else if (ask->format == CAIRN_HISTORY_SVG)
		cairn_history_svg(&history, ask->title, out);
	else if (ask->format == CAIRN_HISTORY_TEXT)
		cairn_history_text(&history, ask->title, out);
	else
		write_page(&history, ask->title, out);
	free(history.rows);
}

/* Whether LIST is one file, which can be read again if it has no history. */
static bool is_one_file(const struct cairn_dump_files *list)
{
	return list->count == 1 && !cairn_target_is(list->items[0].path) && strcmp(list->items[0].path, "-") != 0;
}

bool cairn_timeline_history(const struct cairn_history_ask *ask, const struct cairn_source_options *options, int count, char **names,
			    bool *found, struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_dump_files list = {0};
	struct cairn_profile profile;
	*found = false;
	if (count == 1 && cairn_store_is(names[0]))
		return true;
	cairn_profile_init(&profile);
	bool good = cairn_source_check(options, error) && cairn_files_list(&list, count, names, error) &&
		    cairn_files_keep_service(&list, options->service, error);
	if (good && (ask->required || is_one_file(&list))) {
		cairn_profile_free(&profile);
		const char *path = cairn_files_newest(&list, false)->path;
		good = cairn_source_read(&profile, path, options, error) && cairn_source_check_thread(&profile, options, error);
		*found = good && profile.history_count > 0;
		if (good && !*found && ask->required)
			good = cairn_fail(error, "%s has no history: the dump of the last moment of a process has one, and so has a ledger "
					  "(engine:cairn)", path);
	}
	if (*found)
		write_history(ask, &profile, out);
	cairn_profile_free(&profile);
	cairn_files_free(&list);
	return good;
}
