/* tags.h - what the labels of samples tell: how much is of which thread, of which size.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_TAGS_H
#define CAIRN_REPORT_TAGS_H

#include "base/json.h"
#include "report/shape.h"
#include "report/view.h"

/* A table for each key, the values with the most first. SHAPE's node_count bounds the rows of each. False when no sample has a
 * label. */
bool cairn_tags_text(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_buffer *out);
/* Adds the member "tags". */
bool cairn_tags_json(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_json *json);

#endif
