/* name.h - parses and writes the names of dump files: <prefix>.<pid>.<sequence>.<kind><number>.heap, as jemalloc writes it, or a date.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_NAME_H
#define CAIRN_DUMP_NAME_H

#include "base/bytes.h"

#include <time.h>

struct cairn_dump_name {
	struct cairn_bytes prefix; /* including its folder; borrowed from the path */
	uint64_t process_id;
	uint64_t sequence; /* counts all dumps of the process */
	char kind;         /* f final, i interval, m manual, u high-water */
};

/* Returns false if PATH has another form. */
bool cairn_dump_name_parse(const char *path, struct cairn_dump_name *name);

/* Why dumps of KIND are written: "interval", "gdump", "manual" or "final". */
const char *cairn_dump_name_occasion(char kind);

/* Reads the date from a name such as 2026-11-15-04-10-02.auto.heap. It is local time of the writer, for mktime. Returns false if there is
 * none. */
bool cairn_dump_name_date(const char *path, struct tm *date);

/* Writes the name that jemalloc would give dump NUMBER of a process: PREFIX.PID.NUMBER.KIND.heap, PREFIX without its folder. Returns false
 * if it does not fit into SIZE. */
bool cairn_dump_name_numbered(char *out, size_t size, const char *prefix, int process_id, unsigned number, char kind);

/* Writes a name with DATE: 2026-11-15-04-10-02.OCCASION.heap; from the second dump within one second on, with -NUMBER after the date. */
void cairn_dump_name_dated(char *out, size_t size, const struct tm *date, unsigned number, const char *occasion);

/* Writes TiKV's name for dump NUMBER, of at most six digits: 000001.heap; and whether NAME is such a name. */
void cairn_dump_name_counted(char *out, size_t size, unsigned number);
bool cairn_dump_name_is_counted(const char *name);

/* Whether NAME is that of the highest moment of `cairn run`. */
bool cairn_dump_name_is_peak(const char *name);

/* The service in NAME, which `cairn watch` gave to a dump of process PROCESS_ID: what stands before the PID. Borrows. */
struct cairn_bytes cairn_dump_name_service(const char *name, int process_id);

#endif
