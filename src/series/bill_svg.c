/* bill_svg.c - draws the bill.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/bill_svg.h"

#include "base/text.h"
#include "base/xml.h"
#include "series/hue.h"

#include <stdio.h>

enum { width = 1000, side = 20, label_room = 230, value_room = 150, percent_room = 56 };
enum { bar_top = 66, bar_height = 30, steps_top = 122, step_height = 24 };

/* Memory in use, memory that the allocator keeps beyond that, memory of others, and unexplained memory each have a hue. Lines of the same
 * hue differ in lightness. */
static uint32_t color_of(enum cairn_bill_line line)
{
	enum { tints = 8, stride = 3 }; /* without a common factor, so that neighbours differ and all eight are used */
	bool alone = line == CAIRN_BILL_LIVE || line == CAIRN_BILL_REST;
	enum cairn_hue hue = line == CAIRN_BILL_LIVE ? CAIRN_HUE_GREEN : line == CAIRN_BILL_REST ? CAIRN_HUE_RED
			     : cairn_bill_is_allocator(line) ? CAIRN_HUE_AMBER : CAIRN_HUE_BLUE;
	double tint = alone ? 0 : 0.08 * (line * stride % tints);
	uint32_t base = cairn_hues[hue], color = 0;
	for (int shift = 16; shift >= 0; shift -= 8) {
		uint32_t part = base >> shift & 0xff;
		color |= (part + (uint32_t)((0xff - part) * tint)) << shift;
	}
	return color;
}

static void add_text(struct cairn_buffer *out, double x, double y, const char *attributes, const char *text)
{
	cairn_buffer_format(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
	cairn_xml_text(out, cairn_bytes_of(text));
	cairn_buffer_text(out, "</text>\n");
}

static double share_of(const struct cairn_bill *bill, enum cairn_bill_line line)
{
	return bill->total ? (double)bill->lines[line] / (double)bill->total : 0;
}

static void add_bar(struct cairn_buffer *out, const struct cairn_bill *bill, enum cairn_bill_line line, double x, double y, double room,
		    double height)
{
	char size[24];
	cairn_buffer_format(out,
			    "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"#%06x\" data-line=\"%s\" "
			    "data-bytes=\"%llu\"><title>%s: %s, %.1f%%</title></rect>\n",
			    x, y, room, height, (unsigned)color_of(line), cairn_bill_key(line), (unsigned long long)bill->lines[line],
			    cairn_bill_name(line), cairn_text_human((double)bill->lines[line], size), 100 * share_of(bill, line));
}

/* Draws the total as one bar; the widths of the parts add up to its width. */
static void add_whole(struct cairn_buffer *out, const struct cairn_bill *bill)
{
	double before = 0;
	for (int i = 0; i < CAIRN_BILL_LINES; i++) {
		double share = share_of(bill, (enum cairn_bill_line)i);
		if (bill->lines[i])
			add_bar(out, bill, (enum cairn_bill_line)i, side + before * (width - 2 * side), bar_top, share * (width - 2 * side),
				bar_height);
		before += share;
	}
}

/* Draws one row for each line, each beginning where the one above it ends. */
static double add_steps(struct cairn_buffer *out, const struct cairn_bill *bill)
{
	const double left = side + label_room, room = width - 2 * side - label_room - value_room;
	double before = 0, y = steps_top;
	for (int i = 0; i < CAIRN_BILL_LINES; i++) {
		char size[24], percent[24];
		double share = share_of(bill, (enum cairn_bill_line)i), drawn = share * room < 1 ? 1 : share * room;
		if (bill->lines[i] == 0 && i != CAIRN_BILL_REST)
			continue;
		cairn_buffer_format(out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", left, left + room,
				    y + step_height, y + step_height);
		add_text(out, left - 10, y + 16, " text-anchor=\"end\"", cairn_bill_name((enum cairn_bill_line)i));
		if (bill->lines[i])
			add_bar(out, bill, (enum cairn_bill_line)i, left + before * room, y + 4, drawn, step_height - 8);
		snprintf(percent, sizeof percent, "%.1f%%", 100 * share);
		add_text(out, width - side - percent_room, y + 16, " text-anchor=\"end\" class=\"number\"",
			 cairn_text_human((double)bill->lines[i], size));
		add_text(out, width - side, y + 16, " text-anchor=\"end\" class=\"number\"", percent);
		before += share;
		y += step_height;
	}
	return y;
}

void cairn_bill_svg(const struct cairn_bill *bill, const struct cairn_bill_picture *picture, struct cairn_buffer *out)
{
	unsigned rows = 0;
	for (int i = 0; i < CAIRN_BILL_LINES; i++)
		rows += bill->lines[i] || i == CAIRN_BILL_REST;
	unsigned height = steps_top + rows * step_height + (picture->note[0] ? 44 : 20);
	cairn_buffer_format(out,
			    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" height=\"%u\" role=\"img\">\n",
			    width, height, width, height);
	cairn_buffer_text(out,
			  "<style>:root{width:100%;height:auto}svg{font:13px system-ui,-apple-system,Segoe UI,Roboto,Noto Sans,DejaVu "
			  "Sans,sans-serif;background:#fff;fill:#22252a}"
			  ".head{font-size:20px;font-weight:650}.less{fill:#686d75}.number{font-variant-numeric:tabular-nums}"
			  ".grid{stroke:#22252a;opacity:.1}rect{stroke:#fff;stroke-width:.5}"
			  "@media(prefers-color-scheme:dark){svg{background:#1c1f23;fill:#e7e5e1}.less{fill:#9ba0a7}.grid{stroke:#e7e5e1}"
			  "rect{stroke:#1c1f23}}</style>\n");
	add_text(out, side, 30, " class=\"head\"", picture->title);
	add_text(out, side, 52, " class=\"less\"", picture->subtitle);
	add_whole(out, bill);
	double end = add_steps(out, bill);
	if (picture->note[0])
		add_text(out, side, end + 26, " class=\"less\"", picture->note);
	cairn_buffer_text(out, "</svg>\n");
}

void cairn_bill_html(const struct cairn_bill *bill, const struct cairn_bill_picture *picture, struct cairn_buffer *out)
{
	cairn_buffer_text(
		out,
		"<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\"><title>");
	cairn_xml_text(out, cairn_bytes_of(picture->title));
	cairn_buffer_text(
		out, "</title>\n<style>body{margin:1em auto;max-width:1040px}svg{max-width:100%;min-width:720px;height:auto}</style>\n");
	cairn_bill_svg(bill, picture, out);
	cairn_buffer_text(out, "</html>\n");
}
