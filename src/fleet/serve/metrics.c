/* metrics.c - the figures of the page as metrics for Prometheus.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/lock.h"
#include "base/utf8.h"
#include "dump/end.h"
#include "fleet/serve/answer.h"
#include "process/clock.h"

#include <assert.h>
#include <math.h>

/* Writes the value of a label: escapes quotes, backslashes and line ends, and replaces invalid UTF-8. */
static void put_value(struct cairn_buffer *out, const char *text)
{
	struct cairn_buffer shown = cairn_buffer(1 << 14);
	cairn_utf8_show(&shown, cairn_bytes_of(text));
	for (size_t i = 0; i < shown.length; i++) {
		char byte = shown.data[i];
		if (byte == '"' || byte == '\\')
			cairn_buffer_byte(out, '\\');
		cairn_buffer_byte(out, byte == '\n' ? ' ' : byte);
	}
	cairn_buffer_free(&shown);
}

static void put_row(struct cairn_buffer *out, const char *metric, const struct cairn_serve_process *process, double value)
{
	cairn_buffer_format(out, "%s{kind=\"%s\",process=\"%s\",program=\"", metric, process->sum ? "service" : "process", process->key);
	put_value(out, process->program);
	cairn_buffer_text(out, "\",host=\"");
	put_value(out, process->host);
	cairn_buffer_format(out, "\"} %.17g\n", value);
}

/* The figures of one process; NAN for none. */

static double live_of(const struct cairn_serve_process *process)
{
	return process->point_count ? process->points[process->point_count - 1].total : NAN;
}

static double resident_of(const struct cairn_serve_process *process)
{
	double resident = cairn_answer_resident(process);
	return resident > 0 ? resident : NAN;
}

static double limit_of(const struct cairn_serve_process *process)
{
	return process->limit > 0 ? process->limit : NAN;
}

static double growth_of(const struct cairn_serve_process *process)
{
	return process->verdict.kind == CAIRN_VERDICT_NOTHING || process->verdict.kind == CAIRN_VERDICT_EARLY ? NAN
													      : process->verdict.per_hour;
}

static double seconds_left(const struct cairn_serve_process *process)
{
	bool ended = process->state == CAIRN_SERVE_ENDED;
	return process->verdict.limit_ns && !ended ? fmax(0, (double)(process->verdict.limit_ns - cairn_clock_wall_ns()) / 1e9) : NAN;
}

static double killed_of(const struct cairn_serve_process *process)
{
	bool killed = process->state == CAIRN_SERVE_ENDED && cairn_end_was_kill(cairn_end_parse(cairn_bytes_of(process->why)));
	return process->sum ? NAN : killed;
}

static double ended_of(const struct cairn_serve_process *process)
{
	return process->sum ? NAN : process->state == CAIRN_SERVE_ENDED;
}

static double age_of(const struct cairn_serve_process *process)
{
	int64_t last = process->point_count ? process->points[process->point_count - 1].id : 0;
	return last ? fmax(0, (double)(cairn_clock_wall_ns() / CAIRN_MILLISECOND_NS - last) / 1000) : NAN;
}

void cairn_answer_metrics(const struct cairn_serve *serve, struct cairn_buffer *out)
{
	assert(cairn_lock_is_held(&serve->lock));
	static const struct {
		const char *name, *help;
		double (*value)(const struct cairn_serve_process *process);
	} metrics[] = {
		{"cairn_serve_live_bytes", "Live bytes, as the last dump estimates them.", live_of},
		{"cairn_serve_resident_bytes", "Resident memory.", resident_of},
		{"cairn_serve_limit_bytes", "The memory limit of the control group, or the memory of the machine.", limit_of},
		{"cairn_serve_growth_bytes_per_hour", "By how much memory grows where a verdict says so; else 0.", growth_of},
		{"cairn_serve_limit_seconds", "Seconds until the limit is reached, where memory grows.", seconds_left},
		{"cairn_serve_snapshot_age_seconds", "Seconds since the last dump.", age_of},
		{"cairn_serve_ended", "Whether the process has ended.", ended_of},
		{"cairn_serve_killed", "Whether the process was killed, by the OOM killer or a signal.", killed_of},
	};
	for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
		cairn_buffer_format(out, "# HELP %s %s\n# TYPE %s gauge\n", metrics[i].name, metrics[i].help, metrics[i].name);
		for (size_t k = 0; k < serve->process_count; k++) {
			double value = metrics[i].value(serve->processes[k]);
			if (!isnan(value))
				put_row(out, metrics[i].name, serve->processes[k], value);
		}
	}
}
