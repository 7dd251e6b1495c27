/* bill.c - asks a store for the breakdown of the resident memory of processes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/handle.h"

#include <stdio.h>

bool cairn_store_bills(struct cairn_store *store, const struct cairn_store_processes *processes,
		       void (*visit)(void *context, size_t process, const char *line, double bytes), void *context,
		       struct cairn_error *error)
{
	enum { at_once = 200 };
	struct cairn_map places = {0};
	bool good = true;
	for (size_t i = 0; i < processes->count; i++)
		*cairn_map_at(&places, processes->items[i].instance) = (uint32_t)i;
	for (size_t from = 0; good && from < processes->count; from += at_once) {
		struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
		const struct cairn_column *columns = cairn_tables[CAIRN_TABLE_BILLS].columns;
		struct cairn_selection selection;
		struct cairn_row_bill row;
		cairn_columns_select(columns, &statement);
		cairn_buffer_format(&statement, " FROM bills%s WHERE ", store->engine->latest);
		for (size_t i = from; i < processes->count && i < from + at_once; i++) {
			const struct cairn_store_process *process = &processes->items[i];
			cairn_buffer_format(&statement, "%s(instance = %llu AND time_ns = %lld)", i > from ? " OR " : "",
					    (unsigned long long)process->instance,
					    (long long)cairn_store_last(process)->time_ns);
		}
		cairn_buffer_byte(&statement, 0);
		cairn_selection_begin(&selection, store, statement.data, columns, &row, error);
		while (cairn_selection_next(&selection)) {
			char line[64];
			uint32_t place = cairn_map_get(&places, row.instance);
			snprintf(line, sizeof line, "%.*s", (int)(row.line.length < sizeof line ? row.line.length : sizeof line - 1),
				 row.line.data);
			if (place != CAIRN_NONE)
				visit(context, place, line, row.bytes);
		}
		good = cairn_selection_end(&selection);
		cairn_buffer_free(&statement);
	}
	cairn_map_free(&places);
	return good;
}
