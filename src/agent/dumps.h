/* dumps.h - dump files on the host's disk: complete under their name or not there, and never over an older one.
 *
 * The dump folder is `dumps` of the configuration, else the folder of jemalloc's prof_prefix. What is read back over HTTP is
 * named without any path and opened inside that folder only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_DUMPS_H
#define CAIRN_AGENT_DUMPS_H

#include "agent/agent.h"

/* The dump folder, as configured (it may be relative and may not exist). */
void cairn_dumps_folder(struct cairn_agent *agent, char *out, size_t size);

/* Writes SNAPSHOT as `<prof_prefix>.<pid>.<seq>.m<n>.heap`, jemalloc's own name for a dump on request, with the first
 * numbers that are free. PATH receives the name. */
bool cairn_dumps_write_numbered(struct cairn_agent *agent, const struct cairn_snapshot *snapshot, char *path, size_t size,
				struct cairn_error *error);

/* Writes SNAPSHOT to the dump folder as `<YYYY-mm-dd-HH-MM-SS>.<kind>.heap` (local time), with -2, -3, … behind the time when
 * that is taken. */
bool cairn_dumps_write_dated(struct cairn_agent *agent, const struct cairn_snapshot *snapshot, const char *kind, char *path,
			     size_t size, struct cairn_error *error);

/* Writes SNAPSHOT to PATH, which must not exist yet: errno is EEXIST then. */
bool cairn_dumps_write(struct cairn_agent *agent, const struct cairn_snapshot *snapshot, const char *path, struct cairn_error *error);

/* Calls SEE for each file of the dump folder. False when the folder cannot be read. */
bool cairn_dumps_list(struct cairn_agent *agent, void (*see)(void *context, const char *name), void *context, struct cairn_error *error);

/* Opens the file NAME of the dump folder; -1 with the reason. Close it by cairn_descriptor_close. */
int cairn_dumps_open(struct cairn_agent *agent, const char *name, struct cairn_error *error);

/* Whether NAME is a plain file name: no slash, not hidden. */
bool cairn_dumps_is_name(const char *name);

#endif
