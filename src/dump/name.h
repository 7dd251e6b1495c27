/* name.h - the name of a dump file, read and written: <prefix>.<pid>.<sequence>.<kind><number>.heap, as jemalloc writes it, or a date.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_NAME_H
#define CAIRN_DUMP_NAME_H

#include "base/bytes.h"

#include <time.h>

struct cairn_dump_name {
	struct cairn_bytes prefix; /* with its folder; borrowed from the path */
	uint64_t process_id;
	uint64_t sequence; /* counts all dumps of the process */
	char kind;         /* f final, i interval, m manual, u high-water */
};

/* False when PATH is named otherwise. */
bool cairn_dump_name_parse(const char *path, struct cairn_dump_name *name);

/* What the dumps of KIND are written for: "interval", "gdump", "manual" or "final". */
const char *cairn_dump_name_occasion(char kind);

/* The date in a name such as 2026-11-15-04-10-02.auto.heap, as the writer's clock showed it: local time, for mktime. False when there is
 * none. */
bool cairn_dump_name_date(const char *path, struct tm *date);

/* Writes the name that jemalloc would give dump NUMBER of a process: PREFIX.PID.NUMBER.KIND.heap, PREFIX without its folder. False when it
 * does not fit into SIZE. */
bool cairn_dump_name_numbered(char *out, size_t size, const char *prefix, int process_id, unsigned number, char kind);

/* Writes a name with DATE in it: 2026-11-15-04-10-02.OCCASION.heap, or with -NUMBER behind the date from the second of the same second
 * on. */
void cairn_dump_name_dated(char *out, size_t size, const struct tm *date, unsigned number, const char *occasion);

#endif
