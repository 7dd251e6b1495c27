/* charge.h - what `cairn rss --group` prints.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_RSS_CHARGE_H
#define CAIRN_CMD_RSS_CHARGE_H

#include "base/buffer.h"
#include "live/charge.h"

void cairn_charge_text(const struct cairn_charge *charge, struct cairn_buffer *out);
void cairn_charge_json(const struct cairn_charge *charge, struct cairn_buffer *out);

#endif
