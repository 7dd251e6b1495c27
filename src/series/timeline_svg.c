/* timeline_svg.c - draws the timeline.
 *
 * Runs of the service are drawn separately, with a mark where one ends and the next begins. Everything from a profile is written as text;
 * there is no script.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/path.h"
#include "base/text.h"
#include "base/xml.h"
#include "report/flame_svg.h"
#include "report/head.h"
#include "series/hue.h"
#include "series/thin.h"
#include "series/timeline.h"
#include "series/words.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { width = 1200, left = 76, side = 14, plot_height = 340 };
enum { axis_height = 30, heading_height = 64, legend_row = 22 };
enum { legend_letters = 56, label_letters = 44 };
static const double letter_width = 7.2;

struct drawing {
	const struct cairn_timeline *timeline;
	const struct cairn_timeline_svg_options *options;
	struct cairn_buffer *out;
	size_t points;
	double top, bottom;   /* of the plot */
	double peak;          /* the value at its top */
	double seconds;       /* the time that its width covers */
	double *x;            /* of each point */
	uint32_t *columns;    /* of pixels, each point's */
	double *below, *edge; /* at each point, the sum of the layers below the current one, without and with it */
	double *values;       /* of the line that is drawn */
	double *most, *least; /* find_room: around each point */
	size_t *kept;         /* the points of a stretch that are drawn, and the queue of find_room */
	struct cairn_stretch *runs, *stretches;
	size_t run_count;
};

static const struct cairn_series_point *point_at(const struct drawing *drawing, size_t point)
{
	return &drawing->timeline->series->points[point];
}

static double x_of_time(const struct drawing *drawing, double seconds)
{
	return left + (width - left - side) * seconds / drawing->seconds;
}

static double x_of(const struct drawing *drawing, size_t point)
{
	return drawing->x[point];
}

static double y_of(const struct drawing *drawing, double value)
{
	return drawing->bottom - (drawing->bottom - drawing->top) * fmin(1, fmax(0, value / drawing->peak));
}

static char *number(const struct drawing *drawing, double value, char *out)
{
	return cairn_head_number(drawing->timeline->view, &(struct cairn_shape){0}, value, out);
}

static void put_point(const struct drawing *drawing, char command, double x, double y)
{
	cairn_buffer_format(drawing->out, "%c%.1f,%.1f", command, x, y);
}

/* Draws a line through VALUES at the points of STRETCH that the picture needs, BACKWARDS from its end or from its start, OFFSET to the
 * side. COMMAND is that of the first point. */
static void put_points(const struct drawing *drawing, struct cairn_stretch stretch, const double *values, char command, bool backwards,
		       double offset)
{
	size_t count = cairn_thin(drawing->columns, values, stretch.start, stretch.end, drawing->kept);
	for (size_t i = 0; i < count; i++) {
		size_t point = drawing->kept[backwards ? count - 1 - i : i];
		put_point(drawing, i ? 'L' : command, x_of(drawing, point) + offset, y_of(drawing, values[point]));
	}
}

/* Finds what is drawn in one piece: the points of one run, with GAPS only while VALUES are there. Returns how many pieces. */
static size_t find_stretches(const struct drawing *drawing, const double *values, bool gaps, struct cairn_stretch *stretches)
{
	size_t count = 0;
	for (size_t start = 0, end; start < drawing->points; start = end) {
		for (end = start + 1; end < drawing->points && point_at(drawing, end)->run == point_at(drawing, start)->run; end++)
			if (gaps && (values[end] > 0) != (values[start] > 0))
				break;
		if (!gaps || values[start] > 0)
			count = cairn_thin_stretch(stretches, count, (struct cairn_stretch){.start = start, .end = end}, drawing->columns,
						   values);
	}
	return count;
}

/* Axes. */

/* A step that divides RANGE into at most MOST steps: 1, 2 or 5 times a power of ten, or for bytes a power of two. */
static double find_step(double range, double most, bool in_bytes)
{
	static const double factors[] = {1, 2, 5, 10};
	double least = range / most;
	if (in_bytes)
		return exp2(ceil(log2(fmax(least, 1))));
	double power = pow(10, floor(log10(fmax(least, 1))));
	for (size_t i = 0;; i++)
		if (factors[i] * power >= least || i == 3)
			return factors[i] * power;
}

/* "64.0 MiB" as "64 MiB". */
static char *without_zero(char *text)
{
	char *zero = strstr(text, ".0 ");
	if (zero)
		memmove(zero, zero + 2, strlen(zero + 2) + 1);
	return text;
}

static void write_value_axis(const struct drawing *drawing)
{
	char text[32];
	double step = find_step(drawing->peak, 6, cairn_view_in_bytes(drawing->timeline->view));
	cairn_buffer_text(drawing->out, "<g class=\"grid\">");
	for (double value = 0; value < drawing->peak; value += step)
		cairn_buffer_format(drawing->out, "<path d=\"M%d,%.1fH%d\"/>", left, y_of(drawing, value), width - side);
	cairn_buffer_text(drawing->out, "</g>\n<g class=\"axis values\">");
	for (double value = 0; value < drawing->peak; value += step)
		cairn_buffer_format(drawing->out, "<text x=\"%d\" y=\"%.1f\">%s</text>", left - 8, y_of(drawing, value) + 4,
				    without_zero(number(drawing, value, text)));
	cairn_buffer_text(drawing->out, "</g>\n");
}

static void write_time(const struct drawing *drawing, int64_t seconds, int64_t step)
{
	time_t at = (time_t)seconds;
	struct tm parts;
	char text[40];
	gmtime_r(&at, &parts);
	if (step >= 86400)
		strftime(text, sizeof text, "%b %d", &parts);
	else if (drawing->seconds > 86400)
		strftime(text, sizeof text, "%b %d %H:%M", &parts);
	else if (step >= 60)
		strftime(text, sizeof text, "%H:%M", &parts);
	else
		strftime(text, sizeof text, "%H:%M:%S", &parts);
	cairn_buffer_text(drawing->out, text);
}

static void write_time_axis(const struct drawing *drawing)
{
	static const int64_t steps[] = {1,    2,    5,     10,    15,    30,    60,     120,    300,     600,    900,
					1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000};
	const size_t count = sizeof steps / sizeof *steps;
	double start = (double)point_at(drawing, 0)->origin.time_ns / 1e9;
	size_t s = 0;
	while (s + 1 < count && drawing->seconds / (double)steps[s] > 9)
		s++;
	int64_t step = steps[s] * (int64_t)fmax(1, ceil(drawing->seconds / (double)steps[s] / 9));
	cairn_buffer_format(drawing->out, "<path class=\"base\" d=\"M%d,%.1fH%d\"/>\n", left, drawing->bottom, width - side);
	cairn_buffer_text(drawing->out, "<g class=\"axis ticks\">");
	for (int64_t at = ((int64_t)ceil(start) + step - 1) / step * step; (double)at <= start + drawing->seconds; at += step) {
		double x = x_of_time(drawing, (double)at - start);
		if (x > width - 90)
			break;
		cairn_buffer_format(drawing->out, "<path d=\"M%.1f,%.1fv5\"/><text x=\"%.1f\" y=\"%.1f\">", x, drawing->bottom, x,
				    drawing->bottom + 20);
		write_time(drawing, at, step);
		cairn_buffer_text(drawing->out, "</text>");
	}
	cairn_buffer_format(drawing->out, "</g>\n<text class=\"axis zone\" x=\"%d\" y=\"%.1f\">UTC</text>\n", width - side,
			    drawing->bottom + 20);
}

/* Layers. */

static void take_layer(struct drawing *drawing, size_t layer)
{
	for (size_t i = 0; i < drawing->points; i++) {
		drawing->below[i] = layer ? drawing->edge[i] : 0;
		drawing->edge[i] = drawing->below[i] + fmax(0, drawing->timeline->layers[layer].values[i].value);
	}
}

/* The topmost layer has the first hue; all other call paths together are grey. */
static uint32_t color_of(const struct cairn_timeline *timeline, size_t layer)
{
	static const uint32_t others = 0xa9a59d;
	size_t from_top = timeline->layer_count - 1 - layer;
	return timeline->layers[layer].path == CAIRN_NONE ? others : cairn_hues[from_top % CAIRN_HUES];
}

/* A run of a single dump is drawn as a bar just wide enough to be seen. */
static void write_area(const struct drawing *drawing, struct cairn_stretch run)
{
	double widening = run.end - run.start == 1 ? 1.5 : 0;
	put_points(drawing, run, drawing->edge, 'M', false, -widening);
	if (widening > 0)
		put_points(drawing, run, drawing->edge, 'L', false, widening);
	put_points(drawing, run, drawing->below, 'L', true, widening);
	if (widening > 0)
		put_points(drawing, run, drawing->below, 'L', true, -widening);
	cairn_buffer_byte(drawing->out, 'Z');
}

/* Finds where in RUN a text of this width fits best into the layer. Returns the height there; X and Y are the middle of the text. */
static double find_room(const struct drawing *drawing, struct cairn_stretch run, double text_width, double *x, double *y)
{
	double best = 0, first = x_of(drawing, run.start), last = x_of(drawing, run.end - 1);
	if (last - first < text_width)
		return 0;
	cairn_thin_window(drawing->x, drawing->edge, -1, text_width / 2, run, drawing->kept, drawing->least);
	cairn_thin_window(drawing->x, drawing->below, 1, text_width / 2, run, drawing->kept, drawing->most);
	for (size_t i = run.start; i < run.end; i++) {
		double middle = x_of(drawing, i), ceiling = y_of(drawing, drawing->least[i]), ground = y_of(drawing, drawing->most[i]);
		if (middle - text_width / 2 < first || middle + text_width / 2 > last || ground - ceiling <= best)
			continue;
		best = ground - ceiling;
		*x = middle;
		*y = (ground + ceiling) / 2;
	}
	return best;
}

static void write_label(const struct drawing *drawing, size_t layer, struct cairn_buffer *labels)
{
	static const double room_needed = 17;
	struct cairn_buffer name = cairn_buffer(1 << 12);
	cairn_flame_label(drawing->timeline->layers[layer].name, label_letters, &name);
	double best = 0, x = 0, y = 0;
	for (size_t i = 0; i < drawing->run_count; i++) {
		double at_x = 0, at_y = 0;
		double room = find_room(drawing, drawing->runs[i], (double)name.length * letter_width + 10, &at_x, &at_y);
		if (room > best) {
			best = room;
			x = at_x;
			y = at_y;
		}
	}
	if (best >= room_needed) {
		cairn_buffer_format(labels, "<text x=\"%.1f\" y=\"%.1f\">", x, y + 4);
		cairn_xml_text(labels, cairn_buffer_bytes(&name));
		cairn_buffer_text(labels, "</text>");
	}
	cairn_buffer_free(&name);
}

static void write_layers(struct drawing *drawing)
{
	const struct cairn_timeline *timeline = drawing->timeline;
	struct cairn_buffer *out = drawing->out, labels = cairn_buffer(SIZE_MAX);
	char first[32], last[32], sure[32];
	cairn_buffer_text(out, "<g class=\"layers\">\n");
	for (size_t layer = 0; layer < timeline->layer_count; layer++) {
		const struct cairn_timeline_layer *at = &timeline->layers[layer];
		take_layer(drawing, layer);
		cairn_buffer_format(out, "<path fill=\"#%06x\" d=\"", (unsigned)color_of(timeline, layer));
		for (size_t i = 0; i < drawing->run_count; i++)
			write_area(drawing, drawing->runs[i]);
		cairn_buffer_text(out, "\"><title>");
		cairn_xml_text(out, at->name);
		cairn_buffer_format(out, ": %s at the start, %s at the end, ", number(drawing, at->values[0].value, first),
				    number(drawing, at->values[drawing->points - 1].value, last));
		cairn_words_trend(&at->trend, cairn_series_hours(timeline->series, drawing->points - 1), timeline->view,
				  &(struct cairn_shape){0}, out);
		if (at->trend.verdict != CAIRN_TOO_EARLY) /* what is not decided has no confidence */
			cairn_buffer_format(out, " (%s sure)", cairn_words_confidence(at->trend.confidence, sure, sizeof sure));
		cairn_buffer_text(out, "</title></path>\n");
		write_label(drawing, layer, &labels);
	}
	cairn_buffer_text(out, "</g>\n<g class=\"labels\">");
	cairn_buffer_append(out, labels.data, labels.length);
	cairn_buffer_text(out, "</g>\n");
	cairn_buffer_free(&labels);
}

/* Lines. */

typedef double value_at(const struct drawing *drawing, size_t point);

static double total_at(const struct drawing *drawing, size_t point)
{
	return drawing->timeline->totals[point].value;
}

static struct cairn_interval interval_at(const struct drawing *drawing, size_t point)
{
	return cairn_spread_interval(drawing->timeline->totals[point].value, drawing->timeline->totals[point].spread);
}

static double high_at(const struct drawing *drawing, size_t point)
{
	return interval_at(drawing, point).high;
}

/* Resident memory is in bytes, so it is not drawn beside a count of objects. */
static double resident_at(const struct drawing *drawing, size_t point)
{
	return cairn_view_in_bytes(drawing->timeline->view) ? point_at(drawing, point)->resident : 0;
}

/* What is live and what the allocator keeps besides, so that retention is the gap between two lines. */
static double kept_at(const struct drawing *drawing, size_t point)
{
	const struct cairn_series_point *at = point_at(drawing, point);
	return at->free > 0 && cairn_view_in_bytes(drawing->timeline->view) ? drawing->timeline->totals[point].value + at->free : 0;
}

static double limit_at(const struct drawing *drawing, size_t point)
{
	return cairn_view_in_bytes(drawing->timeline->view) ? cairn_timeline_limit(drawing->timeline, point, drawing->options->limit) : 0;
}

static double largest(const struct drawing *drawing, value_at *value)
{
	double most = 0;
	for (size_t i = 0; i < drawing->points; i++)
		most = fmax(most, value(drawing, i));
	return most;
}

static void take_values(const struct drawing *drawing, value_at *value)
{
	for (size_t i = 0; i < drawing->points; i++)
		drawing->values[i] = value(drawing, i);
}

/* Draws a line through the points that have a value, interrupted where a run ends. */
static void write_line(const struct drawing *drawing, const char *class, value_at *value)
{
	if (largest(drawing, value) <= 0)
		return;
	cairn_buffer_format(drawing->out, "<path class=\"%s\" d=\"", class);
	take_values(drawing, value);
	size_t count = find_stretches(drawing, drawing->values, true, drawing->stretches);
	for (size_t i = 0; i < count; i++)
		put_points(drawing, drawing->stretches[i], drawing->values, 'M', false, 0);
	cairn_buffer_text(drawing->out, "\"/>\n");
}

static void write_band(const struct drawing *drawing)
{
	cairn_buffer_text(drawing->out, "<path class=\"error\" d=\"");
	for (size_t i = 0; i < drawing->points; i++) {
		struct cairn_interval interval = interval_at(drawing, i);
		drawing->below[i] = interval.low;
		drawing->edge[i] = interval.high;
	}
	for (size_t i = 0; i < drawing->run_count; i++) {
		put_points(drawing, drawing->runs[i], drawing->edge, 'M', false, 0);
		put_points(drawing, drawing->runs[i], drawing->below, 'L', true, 0);
		cairn_buffer_byte(drawing->out, 'Z');
	}
	cairn_buffer_text(drawing->out, "\"/>\n");
}

static void write_limit(const struct drawing *drawing)
{
	char text[32];
	double limit = limit_at(drawing, drawing->points - 1);
	if (limit <= 0)
		return;
	bool above = limit > drawing->peak;
	bool of_machine = !(drawing->options->limit > 0) && !point_at(drawing, drawing->points - 1)->limit_of_group;
	if (!above)
		write_line(drawing, "limit", limit_at);
	cairn_buffer_format(drawing->out, "<text class=\"limit-label halo\" x=\"%d\" y=\"%.1f\">%s %s%s</text>\n", width - side - 4,
			    above ? drawing->top + 12 : y_of(drawing, limit) - 5, of_machine ? "memory of the machine" : "limit",
			    number(drawing, limit, text), above ? ", above this picture" : "");
}

/* A line for each column of pixels that has a restart, and a word for each that has room for it. */
static void write_restarts(const struct drawing *drawing)
{
	double last = -INFINITY, free_from = -INFINITY;
	for (size_t i = 1; i < drawing->points; i++) {
		double x = (x_of(drawing, i) + x_of(drawing, i - 1)) / 2;
		if (point_at(drawing, i)->run == point_at(drawing, i - 1)->run || x - last < 1)
			continue;
		last = x;
		cairn_buffer_format(drawing->out, "<path class=\"restart\" d=\"M%.1f,%.1fV%.1f\"/>", x, drawing->top, drawing->bottom);
		bool restart = point_at(drawing, i)->process != point_at(drawing, i - 1)->process;
		const char *label = restart ? "restart" : "sampling began";
		double half = (double)strlen(label) * letter_width / 2;
		if (x - half >= free_from) {
			free_from = x + half;
			cairn_buffer_format(drawing->out, "<text class=\"restart-label halo\" x=\"%.1f\" y=\"%.1f\">%s</text>", x,
					    drawing->top + 12, label);
		}
		cairn_buffer_byte(drawing->out, '\n');
	}
}

static void write_dumps(const struct drawing *drawing)
{
	cairn_buffer_text(drawing->out, "<path class=\"dumps\" d=\"");
	for (size_t i = 0; i < drawing->points; i++)
		if (i == 0 || drawing->columns[i] != drawing->columns[i - 1])
			cairn_buffer_format(drawing->out, "M%.1f,%.1fv3", x_of(drawing, i), drawing->bottom);
	cairn_buffer_text(drawing->out, "\"/>\n");
}

/* The surrounding file. */

/* One entry of the legend. */
struct key {
	struct cairn_bytes name;
	uint32_t color;
	const char *class; /* of a line; NULL for a layer */
	double value;
	struct cairn_spread spread;
};

static size_t legend_count(const struct drawing *drawing)
{
	return drawing->timeline->layer_count + 1 + (largest(drawing, resident_at) > 0) + (largest(drawing, kept_at) > 0);
}

static size_t legend_rows(const struct drawing *drawing)
{
	return (legend_count(drawing) + 1) / 2;
}

/* The layers from the top down, then the lines. */
static struct key find_key(const struct drawing *drawing, size_t place)
{
	const struct cairn_timeline *timeline = drawing->timeline;
	size_t last = drawing->points - 1, layer = timeline->layer_count - 1 - place;
	if (place < timeline->layer_count)
		return (struct key){timeline->layers[layer].name, color_of(timeline, layer), NULL,
				    timeline->layers[layer].values[last].value, timeline->layers[layer].values[last].spread};
	if (place == timeline->layer_count)
		return (struct key){cairn_bytes_of("All live memory, as sampled"), 0, "total", timeline->totals[last].value,
				    timeline->totals[last].spread};
	if (place > timeline->layer_count + (largest(drawing, resident_at) > 0))
		return (struct key){cairn_bytes_of("With free memory that the allocator keeps"), 0, "kept", kept_at(drawing, last), {0}};
	while (last > 0 && resident_at(drawing, last) <= 0) /* the dump of a process that has ended does not have it */
		last--;
	return (struct key){cairn_bytes_of("Resident memory of the process"), 0, "resident", resident_at(drawing, last), {0}};
}

static void write_key(const struct drawing *drawing, const struct key *key, double x, double y)
{
	char text[32], errors[CAIRN_INTERVAL_TEXT];
	const struct cairn_view *view = drawing->timeline->view;
	struct cairn_buffer *out = drawing->out, name = cairn_buffer(1 << 12);
	if (!key->class)
		cairn_buffer_format(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"13\" height=\"13\" rx=\"3\" fill=\"#%06x\"/>", x, y - 11,
				    (unsigned)key->color);
	else
		cairn_buffer_format(out, "<path class=\"%s\" d=\"M%.1f,%.1fh14\"/>", key->class, x, y - 4.5);
	cairn_flame_label(key->name, legend_letters, &name);
	cairn_buffer_format(out, "<text x=\"%.1f\" y=\"%.1f\">", x + 22, y);
	cairn_xml_text(out, cairn_buffer_bytes(&name));
	cairn_buffer_format(out, "<tspan class=\"amount\"> %s", number(drawing, key->value, text));
	if (view->options.errors && key->spread.variance > 0)
		cairn_buffer_format(out, " (%s)", cairn_head_interval(view, &(struct cairn_shape){0}, key->value, key->spread, errors));
	cairn_buffer_text(out, "</tspan></text>\n");
	cairn_buffer_free(&name);
}

static void write_legend(const struct drawing *drawing)
{
	size_t rows = legend_rows(drawing);
	cairn_buffer_text(drawing->out, "<g class=\"legend\">\n");
	for (size_t place = 0; place < legend_count(drawing); place++) {
		struct key key = find_key(drawing, place);
		double x = side + (double)(place / rows) * (width - side) / 2;
		double y = drawing->bottom + axis_height + 20 + (double)(place % rows) * legend_row;
		write_key(drawing, &key, x, y);
	}
	cairn_buffer_text(drawing->out, "</g>\n");
}

static void write_heading(const struct drawing *drawing)
{
	const struct cairn_series *series = drawing->timeline->series;
	const char *process = cairn_base_name(cairn_profile_string(&series->profile, series->profile.facts.process));
	char first[32], last[32];
	const char *program = *process ? process : "Memory over time";
	const char *title = drawing->options->title ? drawing->options->title : program;
	cairn_buffer_format(drawing->out, "<text class=\"title\" x=\"%d\" y=\"30\">", side);
	cairn_xml_text(drawing->out, cairn_bytes_of(title));
	cairn_buffer_format(drawing->out, "</text>\n<text class=\"subtitle\" x=\"%d\" y=\"51\">", side);
	cairn_xml_text(drawing->out, cairn_bytes_of(cairn_head_title(drawing->timeline->view)));
	cairn_buffer_format(drawing->out, " by call path over time: %zu dumps, %s at the start, %s at the end</text>\n", drawing->points,
			    number(drawing, total_at(drawing, 0), first), number(drawing, total_at(drawing, drawing->points - 1), last));
}

static const char style[] =
	"<style>\n:root{background:#fff;width:100%;height:auto}\n"
	"text{font:12px system-ui,-apple-system,Segoe UI,Roboto,Noto Sans,DejaVu Sans,sans-serif;fill:#22252a}\n"
	".title{font-size:20px;font-weight:650}.subtitle,.amount,.axis text,.zone{fill:#686d75}.subtitle{font-size:14px}\n"
	".grid path{stroke:#22252a;opacity:.1}.base,.ticks path,.dumps{stroke:#686d75;fill:none}.dumps{opacity:.5}"
	".ticks text{text-anchor:middle}.zone,.values text{text-anchor:end}\n"
	".layers path{stroke:#fff;stroke-width:.8;fill-opacity:.88}.labels text{text-anchor:middle;font-weight:600;fill:#15171a}\n"
	".total,.resident,.kept,.limit,.restart{fill:none;stroke:#22252a;stroke-width:1.6;stroke-linejoin:round}"
	".resident{stroke-dasharray:2 3;stroke-width:2}.kept{stroke-dasharray:6 3}\n"
	".limit{stroke:#c0322b;stroke-dasharray:9 5}.limit-label{text-anchor:end;fill:#c0322b;font-weight:600}"
	".restart{stroke:#686d75;stroke-width:1;stroke-dasharray:3 3}\n"
	".restart-label{text-anchor:middle;fill:#686d75}.error{fill:#22252a;opacity:.22}"
	".halo,.halo text{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}\n"
	"@media(prefers-color-scheme:dark){:root{background:#1c1f23}.sheet{fill:#1c1f23}text{fill:#e7e5e1}"
	".subtitle,.amount,.axis text,.zone,.restart-label{fill:#9ba0a7}\n"
	".grid path{stroke:#e7e5e1}.layers path{stroke:#1c1f23}.total,.resident,.kept{stroke:#e7e5e1}.error{fill:#e7e5e1}"
	".limit{stroke:#f0827a}.limit-label{fill:#f0827a}\n"
	".halo,.halo text{stroke:#1c1f23}.labels text{fill:#15171a}}\n</style>\n";

static void write_frame(const struct drawing *drawing)
{
	struct cairn_buffer *out = drawing->out;
	double height = drawing->bottom + axis_height + 14 + (double)(legend_rows(drawing) * legend_row);
	cairn_buffer_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	cairn_buffer_format(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\">\n", width, height, width,
			    height);
	cairn_buffer_text(out, style);
	cairn_buffer_text(out, "<rect class=\"sheet\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	write_heading(drawing);
}

static void open_drawing(struct drawing *drawing)
{
	double **arrays[] = {&drawing->x, &drawing->below, &drawing->edge, &drawing->values, &drawing->most, &drawing->least};
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		*arrays[i] = cairn_array_zero(drawing->points, sizeof(double));
	drawing->columns = cairn_array_zero(drawing->points, sizeof *drawing->columns);
	drawing->kept = cairn_array_zero(drawing->points, sizeof *drawing->kept);
	drawing->runs = cairn_array_zero(drawing->points, sizeof *drawing->runs);
	drawing->stretches = cairn_array_zero(drawing->points, sizeof *drawing->stretches);
	for (size_t i = 0; i < drawing->points; i++) {
		drawing->x[i] = x_of_time(drawing, cairn_series_hours(drawing->timeline->series, i) * 3600);
		drawing->columns[i] = (uint32_t)drawing->x[i];
	}
	take_values(drawing, total_at);
	drawing->run_count = find_stretches(drawing, drawing->values, false, drawing->runs);
}

static void close_drawing(struct drawing *drawing)
{
	double *arrays[] = {drawing->x, drawing->below, drawing->edge, drawing->values, drawing->most, drawing->least};
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
		free(arrays[i]);
	free(drawing->columns);
	free(drawing->kept);
	free(drawing->runs);
	free(drawing->stretches);
}

void cairn_timeline_svg(const struct cairn_timeline *timeline, const struct cairn_timeline_svg_options *options, struct cairn_buffer *out)
{
	size_t points = timeline->series->point_count;
	struct drawing drawing = {
		.timeline = timeline,
		.options = options,
		.out = out,
		.points = points,
		.top = heading_height,
		.seconds = fmax(cairn_series_hours(timeline->series, points - 1) * 3600, 1e-3),
	};
	open_drawing(&drawing);
	static const double limit_reach = 1.6; /* a limit above this multiple would squeeze everything else */
	drawing.bottom = drawing.top + plot_height;
	drawing.peak = fmax(fmax(largest(&drawing, total_at), largest(&drawing, resident_at)), fmax(largest(&drawing, kept_at), 1));
	bool has_errors = timeline->view->options.errors && timeline->series->knows_errors;
	if (has_errors)
		drawing.peak = fmax(drawing.peak, largest(&drawing, high_at));
	if (largest(&drawing, limit_at) <= limit_reach * drawing.peak)
		drawing.peak = fmax(drawing.peak, largest(&drawing, limit_at));
	drawing.peak *= 1.06;
	write_frame(&drawing);
	write_layers(&drawing);
	write_value_axis(&drawing);
	if (has_errors)
		write_band(&drawing);
	write_line(&drawing, "total", total_at);
	write_line(&drawing, "resident", resident_at);
	write_line(&drawing, "kept", kept_at);
	write_restarts(&drawing);
	write_limit(&drawing);
	write_dumps(&drawing);
	write_time_axis(&drawing);
	write_legend(&drawing);
	cairn_buffer_text(out, "</svg>\n");
	close_drawing(&drawing);
}
