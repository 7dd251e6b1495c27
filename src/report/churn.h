/* churn.h - memory that is allocated and freed again, by call path: how much, how soon, and by which thread.
 *
 * Lifetimes are those of samples, and large objects are sampled more often: shares and medians are of bytes rather than of objects.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_CHURN_H
#define CAIRN_REPORT_CHURN_H

#include "report/table.h"

/* Writes the table, largest first, and in JSON the "seconds" that it covers; the profile must have `freed`. */
void cairn_churn_write(struct cairn_report *report);

/* Appends the same for a page, as one JSON object with its columns: at most 60 rows, and fewer if names are so long that they would need more than
 * 512 KiB. Returns false, and appends nothing, if the profile does not know what was freed or nothing was. */
bool cairn_churn_page(struct cairn_view *view, struct cairn_buffer *out);

#endif
