/* pyroscope.h - Pyroscope's query interface, so that Grafana's data source and flame graph panel can show a store.
 *
 * Implements ProfileTypes, LabelNames, LabelValues, Series, SelectSeries, SelectMergeStacktraces and Diff of querier.v1.QuerierService,
 * with Connect, as protobuf or JSON. In-use values are averaged over time and added up over instances. Allocations are those within the
 * query's time: from the last snapshot before it, or the start of a process that started in it, to the last snapshot in it. The size of
 * queries and answers is limited (doc/fleet.md), and work on a query stops when its client disconnects.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_PYROSCOPE_H
#define CAIRN_FLEET_SERVE_PYROSCOPE_H

#include "http/server.h"

enum { CAIRN_PYROSCOPE_BODY = 64 << 10 };

/* Whether the request is for this interface. */
bool cairn_pyroscope_is(const struct cairn_request *request);

/* Whether its content type is one that a page of another site cannot send. */
bool cairn_pyroscope_is_safe(const struct cairn_request *request);

/* Answers it from the store NAME for TENANT, which may be NULL. Any thread may call it; queries are answered one at a time. */
void cairn_pyroscope_answer(const char *name, const char *tenant, struct cairn_exchange *exchange);

/* Refuses it because of WHY, for now. */
void cairn_pyroscope_refuse(struct cairn_response *response, const char *why);

#endif
