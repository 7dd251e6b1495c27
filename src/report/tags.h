/* tags.h - memory by label: by thread, by size and so on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_TAGS_H
#define CAIRN_REPORT_TAGS_H

#include "report/table.h"

/* Writes a table for each key, largest values first, as "tags". The shape's node_count limits the rows of each. Returns false if no sample
 * has a label. */
bool cairn_tags_write(struct cairn_report *report);

#endif
