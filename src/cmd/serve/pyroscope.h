/* pyroscope.h - Pyroscope's query interface, so that Grafana's data source and flame graph panel can show a store.
 *
 * Of querier.v1.QuerierService: ProfileTypes, LabelNames, LabelValues, Series, SelectSeries, SelectMergeStacktraces and Diff, by Connect,
 * as protobuf or JSON. In-use values are averaged over time and summed over instances. Allocations are those in the time asked for: from
 * the last snapshot before it, or the start of a process that started within, to the last snapshot in it. What a question may be about and
 * what an answer may have is limited (doc/fleet.md), and work on it ends when its client leaves.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SERVE_PYROSCOPE_H
#define CAIRN_CMD_SERVE_PYROSCOPE_H

#include "http/server.h"

enum { CAIRN_PYROSCOPE_BODY = 64 << 10 };

/* Whether the request is for this interface. */
bool cairn_pyroscope_is(const struct cairn_request *request);

/* Whether its content is of a type that a page of another site cannot send. */
bool cairn_pyroscope_is_safe(const struct cairn_request *request);

/* Answers it from the store NAME as TENANT, which may be NULL. Any thread; one question at a time is asked. */
void cairn_pyroscope_answer(const char *name, const char *tenant, struct cairn_exchange *exchange);

/* Refuses it because of WHY, for now. */
void cairn_pyroscope_refuse(struct cairn_response *response, const char *why);

#endif
