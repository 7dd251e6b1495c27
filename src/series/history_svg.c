/* history_svg.c - draws a history: memory above, the allocation rate below.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/history.h"

#include "base/path.h"
#include "base/text.h"
#include "base/time.h"
#include "base/xml.h"

#include <math.h>

enum { width = 1200, left = 76, side = 14, heading = 64, plot = 340, gap = 44, strip = 68, foot = 58 };

struct drawing {
	const struct cairn_history *history;
	struct cairn_buffer *out;
	double most, most_rate; /* the values at the top of the plot and of the strip below it */
};

static double x_of_seconds(const struct drawing *drawing, double before)
{
	return width - side - (width - left - side) * before / fmax(cairn_history_before_end(drawing->history, 0), 1e-3);
}

static double x_of(const struct drawing *drawing, size_t number)
{
	return x_of_seconds(drawing, cairn_history_before_end(drawing->history, number));
}

static double y_of(const struct drawing *drawing, double bytes)
{
	return heading + plot - plot * fmin(1, bytes / drawing->most);
}

typedef double value_of(const struct cairn_history_row *row);

static double resident(const struct cairn_history_row *row)
{
	return (double)row->resident;
}

static double usage(const struct cairn_history_row *row)
{
	return (double)row->usage;
}

static double limit(const struct cairn_history_row *row)
{
	return (double)row->limit;
}

static double live(const struct cairn_history_row *row)
{
	return (double)row->live;
}

static double most_of(const struct cairn_history *history, value_of *value)
{
	double most = 0;
	for (size_t i = 0; i < history->count; i++)
		most = fmax(most, value(&history->rows[i]));
	return most;
}

/* Draws a line through all rows; if CLOSED, an area down to 0. */
static void write_line(const struct drawing *drawing, const char *class, value_of *value, bool closed)
{
	const struct cairn_history *history = drawing->history;
	if (most_of(history, value) <= 0)
		return;
	cairn_buffer_format(drawing->out, "<path class=\"%s\" d=\"", class);
	char command = 'M';
	for (size_t i = 0; i < history->count; i++) {
		if (!closed && value(&history->rows[i]) <= 0) /* unknown */
			continue;
		cairn_buffer_format(drawing->out, "%c%.1f,%.1f", command, x_of(drawing, i), y_of(drawing, value(&history->rows[i])));
		command = 'L';
	}
	if (closed)
		cairn_buffer_format(drawing->out, "V%dH%.1fZ", heading + plot, x_of(drawing, 0));
	cairn_buffer_text(drawing->out, "\"/>\n");
}

static void write_rates(const struct drawing *drawing)
{
	const struct cairn_history *history = drawing->history;
	double ground = heading + plot + gap + strip;
	char text[24];
	cairn_buffer_format(drawing->out, "<path class=\"rate\" d=\"M%.1f,%.1f", x_of(drawing, 0), ground);
	for (size_t i = 1; i < history->count; i++)
		cairn_buffer_format(drawing->out, "V%.1fH%.1f",
				    ground - strip * cairn_history_rate(history, i - 1, i) / drawing->most_rate, x_of(drawing, i));
	cairn_buffer_format(drawing->out, "V%.1fZ\"/>\n<path class=\"base\" d=\"M%d,%.1fH%d\"/>\n", ground, left, ground, width - side);
	cairn_buffer_format(drawing->out, "<text class=\"strip\" x=\"%d\" y=\"%.1f\">allocated per second, at most %s</text>\n", left,
			    ground - strip - 8, cairn_text_human(drawing->most_rate, text));
}

static void write_value_axis(const struct drawing *drawing)
{
	char text[24];
	double step = exp2(ceil(log2(fmax(drawing->most / 6, 1))));
	for (double value = 0; value < drawing->most; value += step)
		cairn_buffer_format(drawing->out,
				    "<path class=\"grid\" d=\"M%d,%.1fH%d\"/><text class=\"value\" x=\"%d\" y=\"%.1f\">%s</text>\n", left,
				    y_of(drawing, value), width - side, left - 8, y_of(drawing, value) + 4, cairn_text_human(value, text));
}

/* Times are counted back from the end. */
static void write_time_axis(const struct drawing *drawing)
{
	static const double steps[] = {1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
	const size_t count = sizeof steps / sizeof *steps;
	double whole = cairn_history_before_end(drawing->history, 0), step = steps[0],
	       ground = heading + plot + gap + strip;
	char text[24];
	for (size_t s = 0; s < count && whole / step > 9; s++)
		step = steps[s];
	step *= fmax(1, ceil(whole / step / 9));
	for (double before = step; before <= whole; before += step)
		cairn_buffer_format(drawing->out, "<text class=\"time\" x=\"%.1f\" y=\"%.1f\">-%s</text>\n", x_of_seconds(drawing, before),
				    ground + 20, cairn_text_span((int64_t)(before * CAIRN_SECOND_NS), text));
	cairn_buffer_format(drawing->out, "<text class=\"end\" x=\"%d\" y=\"%.1f\">%s</text>\n", width - side, ground + 40,
			    cairn_history_end(drawing->history, text));
}

static void write_limit(const struct drawing *drawing)
{
	const struct cairn_history_row *last = &drawing->history->rows[drawing->history->count - 1];
	bool of_group = most_of(drawing->history, usage) > 0;
	char text[24];
	bool above = (double)last->limit > drawing->most;
	if (!last->limit)
		return;
	if (!above)
		write_line(drawing, "limit", limit, false);
	cairn_buffer_format(drawing->out, "<text class=\"limit-label\" x=\"%d\" y=\"%.1f\">%s %s%s</text>\n", width - side - 4,
			    above ? heading - 13.0 : y_of(drawing, (double)last->limit) - 5, of_group ? "limit" : "memory of the machine",
			    cairn_text_human((double)last->limit, text), above ? ", above this picture" : "");
}

static void write_legend(const struct drawing *drawing)
{
	static const struct {
		const char *class, *name;
		value_of *value;
	} keys[] = {
		{"live", "Live memory, as sampled", live},
		{"resident", "Resident memory of the process", resident},
		{"usage", "Charged to the control group", usage},
	};
	const struct cairn_history *history = drawing->history;
	double x = left, y = heading + plot + gap + strip + 40;
	char text[24];
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (most_of(history, keys[i].value) <= 0)
			continue;
		const struct cairn_history_row *row = &history->rows[history->count - 1];
		row -= history->count > 1 && keys[i].value(row) <= 0;
		cairn_buffer_format(drawing->out,
				    "<path class=\"%s\" d=\"M%.1f,%.1fh14v0h-14Z\"/><text x=\"%.1f\" y=\"%.1f\">%s %s</text>\n",
				    keys[i].class, x, y - 4, x + 20, y, keys[i].name, cairn_text_human(keys[i].value(row), text));
		x += 300;
	}
}

static void write_heading(const struct drawing *drawing, const char *title)
{
	const struct cairn_profile *profile = drawing->history->profile;
	char span[24];
	const char *process = cairn_base_name(cairn_profile_string(profile, profile->facts.process));
	cairn_buffer_format(drawing->out, "<text class=\"title\" x=\"%d\" y=\"30\">", side);
	cairn_xml_text(drawing->out, cairn_bytes_of(title ? title : *process ? process : "Memory over time"));
	cairn_buffer_format(drawing->out, "</text>\n<text class=\"subtitle\" x=\"%d\" y=\"51\">the last %s", side,
			    cairn_text_span((int64_t)(cairn_history_before_end(drawing->history, 0) * CAIRN_SECOND_NS), span));
	if (profile->facts.ended) {
		cairn_buffer_text(drawing->out, ": ");
		cairn_xml_text(drawing->out, cairn_strings_bytes(&profile->strings, profile->facts.ended));
	}
	cairn_buffer_text(drawing->out, "</text>\n");
}

static const char style[] =
	"<style>\n:root{background:#fff;width:100%;height:auto}\n"
	"text{font:12px system-ui,-apple-system,Segoe UI,Roboto,Noto Sans,DejaVu Sans,sans-serif;fill:#22252a}\n"
	".title{font-size:20px;font-weight:650}.subtitle{font-size:14px}.subtitle,.value,.time,.end,.strip{fill:#686d75}\n"
	".grid{stroke:#22252a;opacity:.1}.base{stroke:#686d75}.value,.end,.limit-label{text-anchor:end}.time{text-anchor:middle}\n"
	".live{fill:#4e9a6b;fill-opacity:.55;stroke:#2f7a4c;stroke-width:1.6}.resident,.usage,.limit{fill:none;stroke:#22252a;stroke-width:"
	"2}\n"
	".usage{stroke:#3b6fb6;stroke-dasharray:5 3}.limit{stroke:#c0322b;stroke-dasharray:9 5}.limit-label{fill:#c0322b;font-weight:600}\n"
	".rate{fill:#d29a2f}\n"
	"@media(prefers-color-scheme:dark){:root{background:#1c1f23}.sheet{fill:#1c1f23}text{fill:#e7e5e1}"
	".subtitle,.value,.time,.end,.strip{fill:#9ba0a7}.grid,.resident{stroke:#e7e5e1}\n"
	".limit{stroke:#f0827a}.limit-label{fill:#f0827a}}\n</style>\n";

void cairn_history_svg(const struct cairn_history *history, const char *title, struct cairn_buffer *out)
{
	static const double limit_reach = 1.6; /* a limit above this multiple would squeeze everything else */
	struct drawing drawing = {.history = history, .out = out, .most_rate = 1};
	drawing.most = fmax(fmax(most_of(history, live), most_of(history, resident)), fmax(most_of(history, usage), 1));
	if (most_of(history, limit) <= limit_reach * drawing.most)
		drawing.most = fmax(drawing.most, most_of(history, limit));
	drawing.most *= 1.06;
	for (size_t i = 1; i < history->count; i++)
		drawing.most_rate = fmax(drawing.most_rate, cairn_history_rate(history, i - 1, i));
	int height = heading + plot + gap + strip + foot;
	cairn_buffer_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	cairn_buffer_format(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n", width,
			    height, width, height);
	cairn_buffer_text(out, style);
	cairn_buffer_text(out, "<rect class=\"sheet\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	write_heading(&drawing, title);
	write_line(&drawing, "live", live, true);
	write_line(&drawing, "resident", resident, false);
	write_line(&drawing, "usage", usage, false);
	write_value_axis(&drawing);
	write_limit(&drawing);
	write_rates(&drawing);
	write_time_axis(&drawing);
	write_legend(&drawing);
	cairn_buffer_text(out, "</svg>\n");
}
