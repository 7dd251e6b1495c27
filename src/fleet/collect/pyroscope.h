/* pyroscope.h - reads what Pyroscope's clients send.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECT_PYROSCOPE_H
#define CAIRN_FLEET_COLLECT_PYROSCOPE_H

#include "base/buffer.h"
#include "base/error.h"
#include "http/request.h"

/* Called with each profile and a query that describes its process: service, version, host, time and labels. Return false to stop. */
typedef bool cairn_pyroscope_visit(void *context, struct cairn_bytes query, struct cairn_bytes profile);

/* POST /ingest?name=APP{KEY=VALUE,...}&from=...&until=...&format=pprof: the body is the profile, or a form with the part `profile`. Fails
 * for other formats; stopping because VISIT returned false is not a failure. */
bool cairn_pyroscope_ingest(const struct cairn_request *request, cairn_pyroscope_visit *visit, void *context, struct cairn_error *error);

/* POST /push.v1.PusherService/Push: JSON or protobuf. Series whose __name__ is not about memory are skipped. */
bool cairn_pyroscope_push(struct cairn_bytes body, cairn_pyroscope_visit *visit, void *context, struct cairn_error *error);

#endif
