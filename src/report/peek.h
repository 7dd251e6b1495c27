/* peek.h - each entry between its callers and its callees: the table of `tree` and, for chosen entries, of `peek`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_PEEK_H
#define CAIRN_REPORT_PEEK_H

#include "base/json.h"
#include "base/pattern.h"
#include "report/graph.h"

/* The table as text, of all nodes or of those whose name matches PATTERN. Returns false if there is none. */
bool cairn_peek_text(const struct cairn_graph *graph, const struct cairn_view *view, const struct cairn_pattern *pattern,
		     const struct cairn_shape *shape, struct cairn_buffer *out);
/* Adds the member "rows". Returns false if it is empty. */
bool cairn_peek_json(const struct cairn_graph *graph, const struct cairn_view *view, const struct cairn_pattern *pattern,
		     struct cairn_json *json);

#endif
