/* table.c - the columns of reports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/table.h"

#include "report/number.h"

#include <math.h>
#include <string.h>

struct cairn_report cairn_report(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_buffer *out, struct cairn_json *json)
{
	return (struct cairn_report){cairn_table(out, json, shape->bytes), view, *shape, out, json, false};
}

static void write_value(struct cairn_report *report, const char *key, const char *title, int width, double value,
			struct cairn_spread spread, bool is_signed)
{
	struct cairn_table *table = &report->table;
	char number[33], errors[CAIRN_INTERVAL_TEXT];
	bool plus = is_signed && value > 0, wanted = !table->head && !table->listed, dot = report->dots && value == 0;
	number[0] = '+';
	if (dot)
		strcpy(number, ".");
	else
		cairn_head_number(report->view, &report->shape, value, number + plus);
	cairn_table_number(table, key, title, width, round(value), number);
	if (!wanted && table->head && title)
		cairn_buffer_text(table->out, cairn_head_interval_title(report->view));
	else if (wanted && table->json && key)
		cairn_head_interval_json(report->view, table->json, key, value, spread);
	else if (wanted && !table->json && title && dot)
		cairn_buffer_format(table->out, "%*s", report->view->options.errors ? CAIRN_INTERVAL_WIDTH + 1 : 0, "");
	else if (wanted && !table->json && title)
		cairn_buffer_text(table->out, cairn_head_interval_column(report->view, &report->shape, value, spread, errors));
}

void cairn_report_value(struct cairn_report *report, const char *key, const char *title, int width, double value, struct cairn_spread spread)
{
	write_value(report, key, title, width, value, spread, false);
}

void cairn_report_change(struct cairn_report *report, const char *key, const char *title, int width, double value, struct cairn_spread spread)
{
	write_value(report, key, title, width, value, spread, true);
}

void cairn_report_percent(struct cairn_report *report, const char *title, double part, double whole)
{
	cairn_table_share(&report->table, NULL, title, 7, 2, cairn_number_percent(part, whole) / 100);
}

void cairn_report_name(struct cairn_report *report, uint32_t entry)
{
	bool wanted = !report->table.head && !report->table.listed;
	cairn_table_text(&report->table, "name", "Name", 0, wanted ? cairn_view_name(report->view, entry) : (struct cairn_bytes){"", 0});
}

const char *cairn_report_all(const struct cairn_report *report)
{
	return report->shape.node_fraction > 0 ? "-n 0 --nodefraction 0 shows all" : "-n 0 shows all";
}

size_t cairn_report_shown(const struct cairn_report *report, size_t count)
{
	return report->shape.node_count && report->shape.node_count < count ? (size_t)report->shape.node_count : count;
}
