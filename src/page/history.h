/* history.h - memory over time until the end of a process, as a part of the page of its last dump.
 *
 * It is static markup: nothing that the reader does changes it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PAGE_HISTORY_H
#define CAIRN_PAGE_HISTORY_H

#include "base/buffer.h"
#include "profile/profile.h"

/* Appends the chart of the last hour before the end; nothing for a profile without a history. */
void cairn_page_history_write(const struct cairn_profile *profile, struct cairn_buffer *out);

#endif
