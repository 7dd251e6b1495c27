/* peek.h - each entry between its callers and its callees: the table of `tree` and, for chosen entries, of `peek`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_PEEK_H
#define CAIRN_REPORT_PEEK_H

#include "base/pattern.h"
#include "report/graph.h"
#include "report/table.h"

/* Writes the table, "rows", of all nodes or of those whose name matches PATTERN. Returns false if there is none. */
bool cairn_peek_write(struct cairn_report *report, const struct cairn_graph *graph, const struct cairn_pattern *pattern);

/* The same for the whole view. */
void cairn_tree_report(struct cairn_report *report);

#endif
