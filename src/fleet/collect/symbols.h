/* symbols.h - uploads of programs and debug files.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECT_SYMBOLS_H
#define CAIRN_FLEET_COLLECT_SYMBOLS_H

#include "base/error.h"
#include "http/request.h"

/* Whether REQUEST is about an upload: its path is /v1/symbols/SHA256. */
bool cairn_symbols_is(const struct cairn_request *request);

/* `send` of the outbox of uploads: answers a request. */
bool cairn_symbols_send(void *context, void *item, struct cairn_error *error);

#endif
