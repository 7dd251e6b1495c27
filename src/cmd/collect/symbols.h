/* symbols.h - uploads of programs and debug files.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_COLLECT_SYMBOLS_H
#define CAIRN_CMD_COLLECT_SYMBOLS_H

#include "http/request.h"

/* Whether REQUEST is about an upload: its path is /v1/symbols/SHA256. */
bool cairn_symbols_is(const struct cairn_request *request);

/* A thread: answers queued requests about uploads, until `stop`. CONTEXT is the collector. */
void *cairn_symbols_run(void *context);

#endif
