/* endpoint.h - heap profiles from services that have endpoints of their own for them and no agent.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_ENDPOINT_H
#define CAIRN_CMD_ENDPOINT_H

#include "cmd/target.h"

/* Asks the URL of TARGET for a heap profile as GreptimeDB, TiKV, Databend, userver and RisingWave give one, until it answers with one. A
 * note says where it came from. Fails with what the server says where it has such an endpoint and refuses. BODY is the caller's to free. */
bool cairn_endpoint_snapshot(const struct cairn_target *target, struct cairn_buffer *body, struct cairn_error *error);

#endif
