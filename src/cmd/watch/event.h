/* event.h - the lines that `cairn watch` prints, as text or as JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_WATCH_EVENT_H
#define CAIRN_CMD_WATCH_EVENT_H

#include "base/json.h"

#include <time.h>

/* Starts the JSON object of an EVENT of the process PID (0 if it is elsewhere), which the user named NAME. */
struct cairn_json cairn_watch_event(struct cairn_buffer *out, const char *event, const char *name, int pid, const char *program);

/* "2026-11-16 03:16:01  redis-server 4242", at TIME. */
void cairn_watch_event_text(struct cairn_buffer *out, time_t time, int pid, const char *program);

/* Writes LINE to standard output, all at once and as a terminal may have it (cairn_utf8_show), and frees it. Any thread. */
void cairn_watch_say(struct cairn_buffer *line);

#endif
