/* clickhouse.h - rows in the wire format of ClickHouse, RowBinary, for the test of clickhouse.c.
 *
 * Numbers are little-endian, texts and lists begin with their length as LEB128.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_CLICKHOUSE_H
#define CAIRN_STORE_CLICKHOUSE_H

#include "base/cursor.h"
#include "store/rows.h"

/* Appends ROW. */
void cairn_clickhouse_put(struct cairn_buffer *out, const struct cairn_column *columns, const void *row);

/* Takes a row off IN, from which its texts are borrowed. Returns false if it is cut short. */
bool cairn_clickhouse_take(struct cairn_cursor *in, const struct cairn_column *columns, void *row);

#endif
