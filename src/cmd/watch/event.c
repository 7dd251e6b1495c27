/* event.c - writing lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/watch/event.h"

#include "base/utf8.h"
#include "process/clock.h"

#include <errno.h>
#include <unistd.h>

struct cairn_json cairn_watch_event(struct cairn_buffer *out, const char *event, const char *name, int pid, const char *program)
{
	struct cairn_json json = cairn_json_answer(out);
	cairn_json_text(&json, "event", cairn_bytes_of(event));
	cairn_json_number(&json, "time", (double)(cairn_clock_wall_ns() / CAIRN_MILLISECOND_NS) / 1000);
	cairn_json_text(&json, "target", cairn_bytes_of(name));
	if (pid)
		cairn_json_integer(&json, "pid", pid);
	cairn_json_text(&json, "program", cairn_bytes_of(program));
	return json;
}

void cairn_watch_event_text(struct cairn_buffer *out, time_t time, int pid, const char *program)
{
	struct tm date;
	char text[32];
	localtime_r(&time, &date);
	strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &date);
	cairn_buffer_format(out, "%s  %s", text, program);
	if (pid)
		cairn_buffer_format(out, " %d", pid);
}

void cairn_watch_say(struct cairn_buffer *line)
{
	struct cairn_buffer shown = cairn_buffer(SIZE_MAX);
	cairn_utf8_show(&shown, cairn_buffer_bytes(line));
	cairn_buffer_byte(&shown, '\n');
	if (write(STDOUT_FILENO, shown.data, shown.length) < 0)
		errno = 0; /* a reader that went away is no reason to stop dumping */
	cairn_buffer_free(&shown);
	cairn_buffer_free(line);
}
