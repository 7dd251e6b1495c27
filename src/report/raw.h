/* raw.h - everything in a profile as plain text, for debugging and tests. doc/formats.md describes it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_RAW_H
#define CAIRN_REPORT_RAW_H

#include "base/buffer.h"
#include "profile/profile.h"

void cairn_raw_text(const struct cairn_profile *profile, struct cairn_buffer *out);

#endif
