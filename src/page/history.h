/* history.h - memory over time until the end of a process, for the chart in the page of its last dump.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PAGE_HISTORY_H
#define CAIRN_PAGE_HISTORY_H

#include "base/json.h"
#include "profile/profile.h"

/* Writes the last hour before the end as the member "history": the time of the first row, and columns of seconds since then, live and
 * resident memory, what the control group is charged, the limit, and bytes allocated per second. Writes nothing for a profile without a
 * history. */
void cairn_page_history_write(const struct cairn_profile *profile, struct cairn_json *json);

#endif
