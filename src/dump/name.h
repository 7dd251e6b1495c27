/* name.h - what the name of a dump file tells: <prefix>.<pid>.<sequence>.<kind><number>.heap, as jemalloc writes it, or a date.
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

#endif
