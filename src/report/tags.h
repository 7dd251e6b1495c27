/* tags.h - memory by label: by thread, by size and so on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_TAGS_H
#define CAIRN_REPORT_TAGS_H

#include "base/json.h"
#include "report/shape.h"
#include "report/view.h"

/* A table for each key, largest values first. SHAPE's node_count limits the rows of each. Returns false if no sample has a label. */
bool cairn_tags_text(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_buffer *out);
/* Adds the member "tags". */
bool cairn_tags_json(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_json *json);

#endif
