/* history.h - memory over time up to the end of a process, as a part of the page of its dump.
 *
 * It is plain markup, which the page shows as it is: it changes with nothing that the reader does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PAGE_HISTORY_H
#define CAIRN_PAGE_HISTORY_H

#include "base/buffer.h"
#include "profile/profile.h"

/* Appends the chart of the last hour before the end; nothing for a profile that has no history. */
void cairn_page_history_write(const struct cairn_profile *profile, struct cairn_buffer *out);

#endif
