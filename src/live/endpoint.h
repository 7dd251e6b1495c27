/* endpoint.h - heap profiles from services without an agent, through their own endpoints.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_ENDPOINT_H
#define CAIRN_LIVE_ENDPOINT_H

#include "live/target.h"

/* Requests a heap profile from the URL of TARGET in the ways of GreptimeDB, TiKV, Databend, userver and RisingWave until one succeeds. A
 * note says where it came from. If the server has such an endpoint and refuses, fails with its answer. The caller frees BODY. */
bool cairn_endpoint_snapshot(const struct cairn_target *target, struct cairn_buffer *body, struct cairn_error *error);

#endif
