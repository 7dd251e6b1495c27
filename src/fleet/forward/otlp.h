/* otlp.h - a pprof profile as an OTLP request, the profiles signal of OpenTelemetry.
 *
 * The schema is opentelemetry-proto 1.11, package opentelemetry.proto.profiles.v1development, which is in alpha. Its tables begin with an
 * empty row where pprof's numbers begin with 1, so that the numbers are the same in both.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_FORWARD_OTLP_H
#define CAIRN_FLEET_FORWARD_OTLP_H

#include "base/buffer.h"
#include "fleet/forward/label.h"

/* Appends an ExportProfilesServiceRequest with one profile for each value of PPROF, which cairn_pprof_write has written. RESOURCE and,
 * unless it is 0, PID describe the process. Allocations are those since SINCE_NS; if that is 0, there are none. */
void cairn_otlp_write(struct cairn_bytes pprof, const struct cairn_forward_labels *resource, uint64_t pid, int64_t since_ns,
		      struct cairn_buffer *out);

#endif
