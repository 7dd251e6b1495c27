/* dump_writer.h - names of the dumps that the agent writes: RisingWave's by date, jemalloc's and TiKV's by number.
 *
 * The dump folder is `dumps` of the configuration, else the folder of jemalloc's prof_prefix. folder.h writes all of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_WORK_DUMP_WRITER_H
#define CAIRN_AGENT_WORK_DUMP_WRITER_H

#include "agent/work/agent.h"
#include "dump/folder.h"

/* Gives FOLDER these LIMITS: for all dumps there if it is Cairn's own (cairn_config_limits_all), else for those of this process. */
void cairn_dumps_limit(struct cairn_agent *agent, const struct cairn_folder_limits *limits, struct cairn_folder *folder);

/* The dump folder, as configured (it may be relative and may not exist), with the limits of the configuration. */
void cairn_dumps_folder(struct cairn_agent *agent, struct cairn_folder *folder);

/* Whether dumps of the rule `interval` have jemalloc's names and go where the prefix says: with Cairn's engine, if a prefix was given. */
bool cairn_dumps_names_intervals(struct cairn_agent *agent);

/* The folder of the prefix, if it is another: gdump's dumps and those of lg_prof_interval go there, written by jemalloc itself or in its
 * place. With the same limits, but for dumps of this process alone unless a limit was given. Returns false if none are written there, or
 * if it is the same folder. */
bool cairn_dumps_prefix_folder(struct cairn_agent *agent, struct cairn_folder *folder);

/* Writes SNAPSHOT as `<prof_prefix>.<pid>.<seq>.m<n>.heap`, jemalloc's own name for a dump on request, with the next numbers. PATH receives
 * the name. */
bool cairn_dumps_write_numbered(struct cairn_agent *agent, const struct cairn_snapshot *snapshot, char kind, char *path, size_t size,
				struct cairn_error *error);

/* Writes SNAPSHOT to the dump folder as `<YYYY-mm-dd-HH-MM-SS>.<kind>.heap` (local time), with -2, -3, … after the time if that is taken.
 * FACTS are added to it. */
bool cairn_dumps_write_dated(struct cairn_agent *agent, const struct cairn_snapshot *snapshot, const char *kind,
			     const struct cairn_folder_facts *facts, char *path, size_t size, struct cairn_error *error);

/* Writes SNAPSHOT to the dump folder as `<six digits>.heap`, as TiKV does, with the first number that is free. The reason in its
 * trailer is that of dumps by the clock. */
#define CAIRN_DUMPS_COUNTED_REASON "time"
bool cairn_dumps_write_counted(struct cairn_agent *agent, const struct cairn_snapshot *snapshot, struct cairn_error *error);

#endif
