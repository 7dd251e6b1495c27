/* compare.h - what `cairn why --compare` prints.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_WHY_COMPARE_H
#define CAIRN_CMD_WHY_COMPARE_H

#include "live/why/compare.h"

void cairn_compare_text(const struct cairn_compare *compare, struct cairn_buffer *out);
void cairn_compare_json(const struct cairn_compare *compare, struct cairn_buffer *out);

#endif
