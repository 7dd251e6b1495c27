/* context.h - the name that a service gives itself by OpenTelemetry's process context (OTEP 4719).
 *
 * The process has a mapping called OTEL_CTX, of a memfd or named by prctl, that begins with a header of 32 bytes: the signature "OTEL_CTX",
 * the version (4 bytes), the size of the payload (4), the time of publication (8; 0 while it is being changed) and the payload's address
 * (8). The payload is a protobuf message with the attributes of the resource, among them service.name. All of it is written by the
 * process: it is copied before it is looked at, by the kernel, which takes any address.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_CONTEXT_H
#define CAIRN_PROCESS_CONTEXT_H

#include "base/bytes.h"

enum { CAIRN_CONTEXT_NAME = 128 };

/* The service.name that process PID publishes, in NAME: cut, and with control characters replaced. False, and empty, where there is none or
 * it cannot be read. Allocates nothing. */
bool cairn_context_service(int pid, char name[CAIRN_CONTEXT_NAME]);

/* The same of the calling process, which is read again when it is five seconds old: for those who ask often. */
void cairn_context_own(char name[CAIRN_CONTEXT_NAME]);

/* The same of a payload: a Resource, or a ProcessContext that has one. */
bool cairn_context_parse(struct cairn_bytes payload, char name[CAIRN_CONTEXT_NAME]);

#endif
