/* names.c - frames without names, and names for them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/names.h"

#include "store/engine.h"
#include "store/handle.h"

bool cairn_store_unnamed(struct cairn_store *store, uint64_t *after, size_t most,
			 void (*visit)(void *context, const struct cairn_unnamed_frame *frame), void *context, size_t *count,
			 struct cairn_error *error)
{
	static const struct cairn_column columns[] = {
		CAIRN_COLUMN(struct cairn_unnamed_frame, id), CAIRN_COLUMN(struct cairn_unnamed_frame, build_id),
		CAIRN_COLUMN(struct cairn_unnamed_frame, module), CAIRN_COLUMN(struct cairn_unnamed_frame, offset), {0}};
	struct cairn_buffer statement = cairn_buffer(1000);
	struct cairn_selection selection;
	struct cairn_unnamed_frame frame;
	/* Rows of earlier versions may have texts of any length, and a page has many rows. */
	cairn_buffer_format(&statement,
			    "SELECT frame, substr(build_id, 1, %d), substr(module, 1, %d), place FROM frames "
			    "WHERE frame > %llu AND names = '' AND build_id <> '' ORDER BY frame LIMIT %zu%c",
			    CAIRN_STORE_BUILD_ID + 1, CAIRN_STORE_PATH, (unsigned long long)*after, most, 0);
	cairn_selection_begin(&selection, store, statement.data, columns, &frame, error);
	cairn_buffer_free(&statement);
	for (*count = 0; cairn_selection_next(&selection); ++*count) {
		*after = frame.id;
		visit(context, &frame);
	}
	return cairn_selection_end(&selection);
}

bool cairn_store_put_names(struct cairn_store *store, struct cairn_bytes tenant, const struct cairn_profile *profile, size_t *named,
			   struct cairn_error *error)
{
	struct cairn_rows rows = {0};
	*named = cairn_frames_write(profile, cairn_store_tenant(tenant), &rows);
	bool good = *named == 0 || cairn_store_insert(store, &rows, error);
	cairn_rows_free(&rows);
	return good;
}

static void add_named(void *context, const void *row)
{
	*cairn_map_at(context, ((const struct cairn_row_frame *)row)->frame) = 0;
}

bool cairn_store_named(struct cairn_store *store, const uint64_t *ids, size_t count, struct cairn_map *named, struct cairn_error *error)
{
	static const struct cairn_column columns[] = {CAIRN_COLUMN(struct cairn_row_frame, frame), {0}};
	struct cairn_row_frame row;
	return cairn_store_each(store, CAIRN_TABLE_FRAMES, columns, &row, "names <> '' AND ", ids, count, add_named, named, error);
}
