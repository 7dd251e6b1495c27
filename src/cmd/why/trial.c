/* trial.c - before and after, what it cost, and the line that makes it permanent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/why/trial.h"

#include "base/json.h"
#include "base/text.h"
#include "process/clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Where a variable of the environment is set: before its name, between that and its value, and behind it. */
static const struct {
	const char *key, *title, *before, *between, *behind;
} places[] = {
	{"unit", "systemd unit", "Environment=", "=", ""},
	{"dockerfile", "Dockerfile", "ENV ", "=", ""},
	{"pod", "pod", "env: [{name: ", ", value: \"", "\"}]"},
};

static const char *line_of(const struct cairn_trial *trial, size_t place, char line[256])
{
	snprintf(line, 256, "%s%s%s%s%s", places[place].before, trial->variable, places[place].between, trial->setting,
		 places[place].behind);
	return line;
}

static void write_row(struct cairn_buffer *out, const char *title, double before, double after, double settled)
{
	char sizes[3][24];
	cairn_buffer_format(out, "%-16s %12s %12s %12s\n", title, cairn_text_human(before, sizes[0]), cairn_text_human(after, sizes[1]),
			    cairn_text_human(settled, sizes[2]));
}

void cairn_trial_text(const struct cairn_trial *trial, struct cairn_buffer *out)
{
	char size[24], error[24], returned[24];
	double seconds = (double)trial->watched_ns / CAIRN_SECOND_NS;
	double fell = trial->before - trial->settled;
	if (trial->predicted.known) {
		cairn_buffer_format(out, "%s returned %s (predicted: %s ± %s", trial->made,
				    cairn_text_human(fmax(0, trial->before - trial->after), returned),
				    cairn_text_human(trial->predicted.bytes, size), cairn_text_human(1.96 * trial->predicted.error, error));
		if (trial->group_before > 0 && trial->predicted.bytes - trial->predicted.group > 2 * trial->predicted.error)
			cairn_buffer_format(out, ", and %s of what the control group is charged",
					    cairn_text_human(trial->predicted.group, size));
		cairn_buffer_byte(out, ')');
	} else if (trial->kind == CAIRN_TRIAL_TRIM || trial->kind == CAIRN_TRIAL_PURGE) {
		cairn_buffer_format(out, "%s returned %s", trial->made, cairn_text_human(fmax(0, trial->before - trial->after), returned));
	} else { /* a setting acts over time */
		cairn_buffer_format(out, "%s: resident memory %s by %s in %.0f s", trial->made, fell < 0 ? "rose" : "fell",
				    cairn_text_human(fabs(fell), size), seconds);
	}
	cairn_buffer_format(out, ".\n\n%-16s %12s %12s   after %.0f s\n", "", "before", "after", seconds);
	write_row(out, "resident", trial->before, trial->after, trial->settled);
	if (trial->group_before > 0)
		write_row(out, "control group", trial->group_before, trial->group_after, trial->group_settled);
	cairn_buffer_format(out,
			    "\nThreads that needed the allocator waited for %.1f ms at most. Since then: %" PRIu64 " page faults (%" PRIu64
			    " from disk).\n",
			    trial->stall_ms, trial->faults, trial->major_faults);
	if (trial->undone)
		cairn_buffer_text(out, "The setting is restored.\n");
	if (trial->ended)
		cairn_buffer_text(out, "The process has ended meanwhile.\n");
	if (trial->variable[0])
		cairn_buffer_text(out, "\nto make it permanent:\n");
	for (size_t i = 0; trial->variable[0] && i < sizeof places / sizeof *places; i++) {
		char line[256];
		cairn_buffer_format(out, "  %-12s  %s\n", places[i].title, line_of(trial, i, line));
	}
	if (trial->note[0])
		cairn_buffer_format(out, "note: %s\n", trial->note);
}

static void bytes_json(struct cairn_json *json, const char *key, double bytes)
{
	cairn_json_integer(json, key, (int64_t)bytes);
}

void cairn_trial_json(const struct cairn_trial *trial, int pid, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json_answer(out);
	cairn_json_integer(&json, "pid", pid);
	cairn_json_text(&json, "call", cairn_bytes_of(trial->made));
	bytes_json(&json, "before_bytes", trial->before);
	bytes_json(&json, "after_bytes", trial->after);
	bytes_json(&json, "returned_bytes", trial->before - trial->after);
	bytes_json(&json, "settled_bytes", trial->settled);
	if (trial->predicted.known) {
		bytes_json(&json, "predicted_bytes", trial->predicted.bytes);
		bytes_json(&json, "predicted_error_bytes", trial->predicted.error);
		bytes_json(&json, "predicted_group_bytes", trial->predicted.group);
	}
	if (trial->group_before > 0) {
		bytes_json(&json, "group_before_bytes", trial->group_before);
		bytes_json(&json, "group_after_bytes", trial->group_after);
		bytes_json(&json, "group_settled_bytes", trial->group_settled);
	}
	cairn_json_number(&json, "stall_ms", trial->stall_ms);
	cairn_json_integer(&json, "page_faults", (int64_t)trial->faults);
	cairn_json_integer(&json, "major_faults", (int64_t)trial->major_faults);
	cairn_json_number(&json, "watched_seconds", (double)trial->watched_ns / CAIRN_SECOND_NS);
	cairn_json_bool(&json, "restored", trial->undone);
	cairn_json_bool(&json, "ended", trial->ended);
	cairn_json_open(&json, "permanent", '{');
	for (size_t i = 0; trial->variable[0] && i < sizeof places / sizeof *places; i++) {
		char line[256];
		cairn_json_text(&json, places[i].key, cairn_bytes_of(line_of(trial, i, line)));
	}
	cairn_json_close(&json, '}');
	cairn_json_text(&json, "note", cairn_bytes_of(trial->note));
	cairn_json_end(&json);
}
