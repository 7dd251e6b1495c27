/* traces.h - every stack with its value and its labels, largest first.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_TRACES_H
#define CAIRN_REPORT_TRACES_H

#include "base/json.h"
#include "report/shape.h"
#include "report/view.h"

/* Stacks are leaf first. SHAPE's node_count limits the number of stacks. */
void cairn_traces_text(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_buffer *out);
/* Adds the member "traces". */
void cairn_traces_json(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_json *json);

#endif
