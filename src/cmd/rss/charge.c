/* charge.c - the charge of a control group as a table, and as JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/rss/charge.h"

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

#include <math.h>

enum { items_shown = 5, items_json = 100 };

static void write_items(const struct cairn_charge *charge, enum cairn_charge_line line, struct cairn_buffer *out)
{
	const struct cairn_charge_items *items = &charge->items[line];
	uint64_t rest = charge->lines[line], shown = 0;
	char size[24];
	for (size_t i = 0; i < items->count && i < items_shown && items->items[i].bytes >= charge->total / 200; i++, shown++) {
		cairn_buffer_format(out, "%12s            ", cairn_text_human((double)items->items[i].bytes, size));
		cairn_utf8_show(out, cairn_bytes_of(items->items[i].name));
		if (items->items[i].pid)
			cairn_buffer_format(out, " (%d)", items->items[i].pid);
		cairn_buffer_byte(out, '\n');
		rest -= items->items[i].bytes;
	}
	if (shown && rest >= charge->total / 200)
		cairn_buffer_format(out, "%12s            %s\n", cairn_text_human((double)rest, size),
				    line == CAIRN_CHARGE_CACHE ? "other files, also those that nobody has open" : "others");
}

void cairn_charge_text(const struct cairn_charge *charge, struct cairn_buffer *out)
{
	char size[24];
	cairn_utf8_show(out, cairn_bytes_of(charge->group));
	cairn_buffer_format(out, ", %zu process%s\n%s charged", charge->processes, charge->processes == 1 ? "" : "es",
			    cairn_text_human((double)charge->total, size));
	if (charge->limit)
		cairn_buffer_format(out, ", of a %s limit", cairn_text_human((double)charge->limit, size));
	cairn_buffer_text(out, "\n\n");
	for (int i = 0; i < CAIRN_CHARGE_LINES; i++) {
		if (charge->lines[i] == 0)
			continue;
		cairn_buffer_format(out, "%12s  %5.1f%%  %s\n", cairn_text_human((double)charge->lines[i], size),
				    100 * (double)charge->lines[i] / fmax(1, (double)charge->total),
				    cairn_charge_title((enum cairn_charge_line)i));
		write_items(charge, (enum cairn_charge_line)i, out);
	}
	if (charge->removed_groups)
		cairn_buffer_format(out, "\nnote: %llu groups inside it were removed and are still charged for something\n",
				    (unsigned long long)charge->removed_groups);
	if (charge->lines[CAIRN_CHARGE_CACHE] && !charge->knows_files)
		cairn_buffer_text(out, "\nnote: the kernel does not say what is cached of a file (Linux 6.5 does)\n");
}

void cairn_charge_json(const struct cairn_charge *charge, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json_answer(out);
	cairn_json_text(&json, "group", cairn_bytes_of(charge->group));
	cairn_json_integer(&json, "cgroup", charge->version_one ? 1 : 2);
	cairn_json_integer(&json, "processes", (int64_t)charge->processes);
	cairn_json_integer(&json, "total_bytes", (int64_t)charge->total);
	cairn_json_integer(&json, "limit_bytes", (int64_t)charge->limit);
	cairn_json_integer(&json, "removed_groups", (int64_t)charge->removed_groups);
	cairn_json_open(&json, "lines", '[');
	for (int i = 0; i < CAIRN_CHARGE_LINES; i++) {
		const struct cairn_charge_items *items = &charge->items[i];
		cairn_json_open(&json, NULL, '{');
		cairn_json_text(&json, "name", cairn_bytes_of(cairn_charge_name((enum cairn_charge_line)i)));
		cairn_json_integer(&json, "bytes", (int64_t)charge->lines[i]);
		cairn_json_open(&json, "items", '[');
		for (size_t k = 0; k < items->count && k < items_json; k++) {
			cairn_json_open(&json, NULL, '{');
			cairn_json_text(&json, "name", cairn_bytes_of(items->items[k].name));
			if (items->items[k].pid)
				cairn_json_integer(&json, "pid", items->items[k].pid);
			cairn_json_integer(&json, "bytes", (int64_t)items->items[k].bytes);
			cairn_json_close(&json, '}');
		}
		cairn_json_close(&json, ']');
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	cairn_json_end(&json);
}
