/* views.h - the store in the shape of Coroot's tables, for people and queries that know those.
 *
 * Coroot keeps profiles in `profiling_stacks` and `profiling_samples`, and which there are in `profiling_profiles`. The views of these
 * names have the same columns, then ours: the number of the instance and that of the tenant. A sample is of a whole snapshot: those
 * between are not in there. A frame has its function, file and line; one that has no name (yet) has its module and the offset.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_VIEWS_H
#define CAIRN_STORE_VIEWS_H

#include "base/buffer.h"

/* Of the statements below. A store with views of an earlier one gets those. */
enum { cairn_views_version = 1 };

enum cairn_views_form {
	CAIRN_VIEWS_SQLITE,
	CAIRN_VIEWS_CLICKHOUSE,
	CAIRN_VIEWS_CLICKHOUSE_OLD, /* before version 22, without maps and without fractions of seconds */
};

enum { CAIRN_VIEWS = 3 };
extern const char *const cairn_view_names[CAIRN_VIEWS];

/* Appends the SELECT that view I consists of; the tables are those of DATABASE, which SQLite has no name for. */
void cairn_view_write(size_t i, enum cairn_views_form form, const char *database, struct cairn_buffer *out);

#endif
