/* flame_label.h - the label of a frame, or of anything else that is narrow.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_FLAME_LABEL_H
#define CAIRN_REPORT_FLAME_LABEL_H

#include "base/buffer.h"

/* The part of NAME that fits in COUNT letters: all of it, its last parts after "..", its beginning, or nothing if that would be too short
 * to read. Appended to OUT as it is. */
void cairn_flame_label(struct cairn_bytes name, size_t count, struct cairn_buffer *out);

#endif
