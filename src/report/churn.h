/* churn.h - memory that is allocated and freed again, by call path: how much, how soon, and by which thread.
 *
 * Lifetimes are those of samples, and large objects are sampled more often: shares and medians are of bytes rather than of objects.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_CHURN_H
#define CAIRN_REPORT_CHURN_H

#include "base/json.h"
#include "report/shape.h"
#include "report/view.h"

/* Appends a table, largest first; the profile must have `freed`. */
void cairn_churn_text(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_buffer *out);

/* The same as members of the object that is open. */
void cairn_churn_json(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_json *json);

/* Appends the same for a page, as one JSON object: at most 60 rows, and fewer if names are so long that they would need more than
 * 512 KiB. Returns false, and appends nothing, if the profile does not know what was freed or nothing was. */
bool cairn_churn_page(struct cairn_view *view, struct cairn_buffer *out);

#endif
