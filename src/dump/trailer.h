/* trailer.h - parses what Cairn's agent writes after a dump (doc/trailer.md). All results borrow from the text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_TRAILER_H
#define CAIRN_DUMP_TRAILER_H

#include "base/bytes.h"

struct cairn_trailer {
	struct cairn_bytes text; /* from its first line to its last */
	bool complete;           /* the last line is there */
	struct cairn_bytes version, host, executable, command, service, jemalloc, prefix;
	int pid;
	int64_t time_ns, start_ns, active_since_ns, reset_ns; /* since 1970; 0 when not given */
	int64_t uptime_ns;                                    /* since the machine's start; 0 when not given */
	uint64_t period;
};

/* Finds and reads the trailer of DUMP. Returns false if there is none. Everything borrows from DUMP. */
bool cairn_trailer_read(struct cairn_bytes dump, struct cairn_trailer *trailer);

/* Splits one line of a trailer, `# cairn KEY VALUE`. Returns false for any other line. */
bool cairn_trailer_line(struct cairn_bytes line, struct cairn_bytes *key, struct cairn_bytes *value);

/* The value of any line, by its KEY: "stats.allocated", "opt.prof_accum", "smaps.rss". Empty if it is not there. */
struct cairn_bytes cairn_trailer_value(const struct cairn_trailer *trailer, const char *key);
/* The same as a number; 0 if it is missing or not a number. */
uint64_t cairn_trailer_number(const struct cairn_trailer *trailer, const char *key);

/* The value of the next line with KEY. Start with *POSITION = 0; returns false after the last. */
bool cairn_trailer_next(const struct cairn_trailer *trailer, size_t *position, const char *key, struct cairn_bytes *value);

/* One executable range of one module. */
struct cairn_trailer_module {
	uint64_t start, end, offset;
	struct cairn_bytes build_id; /* in hexadecimal digits; empty for none */
	struct cairn_bytes path;
};

/* Iterates over the modules. Start with *POSITION = 0; returns false after the last. */
bool cairn_trailer_next_module(const struct cairn_trailer *trailer, size_t *position, struct cairn_trailer_module *module);
/* The same for modules that were unloaded before the dump was made. */
bool cairn_trailer_next_unloaded(const struct cairn_trailer *trailer, size_t *position, struct cairn_trailer_module *module);

#endif
