/* head.h - what stands above every report: of which process, measured how, and how much in all.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_HEAD_H
#define CAIRN_REPORT_HEAD_H

#include "base/json.h"
#include "report/shape.h"
#include "report/view.h"

/* Two lines and an empty one. */
void cairn_head_text(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_buffer *out);
/* The same as members of the object that is open. */
void cairn_head_json(struct cairn_view *view, struct cairn_json *json);

/* VALUE of VIEW as the report writes it. Returns OUT, which holds at least 32 bytes. */
char *cairn_head_number(const struct cairn_view *view, const struct cairn_shape *shape, double value, char *out);

/* What the view counts, as the profile calls it: "inuse_space". */
const char *cairn_head_type(const struct cairn_view *view);

#endif
