/* names.c - frames without names, and names for them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/names.h"

#include "store/engine.h"
#include "store/handle.h"

bool cairn_store_unnamed(struct cairn_store *store, uint64_t *after, size_t most,
			 void (*visit)(void *context, const struct cairn_unnamed_frame *frame), void *context, size_t *count,
			 struct cairn_error *error)
{
	struct cairn_buffer statement = cairn_buffer(1000);
	struct cairn_selection selection;
	/* Rows of earlier versions may have texts of any length, and a page has many rows. */
	cairn_buffer_format(&statement,
			    "SELECT frame, substr(build_id, 1, %d), substr(module, 1, %d), place FROM frames "
			    "WHERE frame > %llu AND names = '' AND build_id <> '' ORDER BY frame LIMIT %zu%c",
			    CAIRN_STORE_BUILD_ID + 1, CAIRN_STORE_PATH, (unsigned long long)*after, most, 0);
	cairn_selection_begin(&selection, store, statement.data, "nttn", error);
	cairn_buffer_free(&statement);
	*count = 0;
	while (cairn_selection_next(&selection)) {
		struct cairn_unnamed_frame frame = {.id = cairn_row_take_number(&selection.row)};
		frame.build_id = cairn_row_take_text(&selection.row);
		frame.module = cairn_row_take_text(&selection.row);
		frame.offset = cairn_row_take_number(&selection.row);
		if (selection.row.failed)
			break;
		*after = frame.id;
		(*count)++;
		visit(context, &frame);
	}
	return cairn_selection_end(&selection, error);
}

bool cairn_store_put_names(struct cairn_store *store, struct cairn_bytes tenant, const struct cairn_profile *profile, size_t *named,
			   struct cairn_error *error)
{
	struct cairn_buffer rows = cairn_buffer(SIZE_MAX);
	*named = cairn_frames_write(profile, cairn_store_tenant(tenant), &rows);
	bool good = *named == 0 ||
		    store->engine->insert_into(store->connection, &cairn_tables[CAIRN_TABLE_FRAMES], cairn_buffer_bytes(&rows), error);
	cairn_buffer_free(&rows);
	return good;
}

bool cairn_store_named(struct cairn_store *store, const uint64_t *ids, size_t count, struct cairn_map *named, struct cairn_error *error)
{
	enum { at_once = 10000 };
	bool good = true;
	for (size_t from = 0; good && from < count; from += at_once) {
		struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
		struct cairn_selection selection;
		cairn_buffer_text(&statement, "SELECT frame FROM frames WHERE names <> '' AND frame IN (");
		for (size_t i = from; i < count && i < from + at_once; i++)
			cairn_buffer_format(&statement, "%s%llu", i > from ? "," : "", (unsigned long long)ids[i]);
		cairn_buffer_format(&statement, ")%c", 0);
		cairn_selection_begin(&selection, store, statement.data, "n", error);
		while (cairn_selection_next(&selection)) {
			uint64_t frame = cairn_row_take_number(&selection.row);
			if (!selection.row.failed)
				*cairn_map_at(named, frame) = 0;
		}
		good = cairn_selection_end(&selection, error);
		cairn_buffer_free(&statement);
	}
	return good;
}
