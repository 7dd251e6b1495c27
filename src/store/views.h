/* views.h - views of the store that look like Coroot's tables, for people and queries that know those.
 *
 * Coroot keeps profiles in `profiling_stacks` and `profiling_samples`, and a list of them in `profiling_profiles`. The views with these
 * names have the same columns, and then ours: the numbers of the instance and the tenant. Only whole snapshots are included. A frame has
 * its function, file and line or, if it has no name yet, its module and offset.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_VIEWS_H
#define CAIRN_STORE_VIEWS_H

#include "base/buffer.h"

/* The version of the statements. Views of an earlier version are replaced. */
enum { cairn_views_version = 1 };

enum cairn_views_form {
	CAIRN_VIEWS_SQLITE,
	CAIRN_VIEWS_CLICKHOUSE,
	CAIRN_VIEWS_CLICKHOUSE_OLD, /* before version 22, without maps and without fractions of seconds */
};

enum { CAIRN_VIEWS = 3 };
extern const char *const cairn_view_names[CAIRN_VIEWS];

/* Appends the SELECT of view I. DATABASE is the database of its tables, which SQLite does not use. */
void cairn_view_write(size_t i, enum cairn_views_form form, const char *database, struct cairn_buffer *out);

#endif
