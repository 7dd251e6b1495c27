/* name.h - what the name of a dump file tells: <prefix>.<pid>.<sequence>.<kind><number>.heap, as jemalloc writes it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_NAME_H
#define CAIRN_DUMP_NAME_H

#include "base/bytes.h"

struct cairn_dump_name {
	struct cairn_bytes prefix; /* with its folder; borrowed from the path */
	uint64_t process_id;
	uint64_t sequence; /* counts all dumps of the process */
	char kind;         /* f final, i interval, m manual, u high-water */
};

/* False when PATH is named otherwise. */
bool cairn_dump_name_parse(const char *path, struct cairn_dump_name *name);

#endif
