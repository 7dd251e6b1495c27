/* template.h - names of dump files, made from a pattern such as greptime-%t.gprof.
 *
 *   %t  local time, 20261115041002      %T  the same in UTC, 20261115T041002Z
 *   %n  the program   %p  its PID   %h  the host   %r  the reason: start, grow, …   %%  a percent sign
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_WATCH_TEMPLATE_H
#define CAIRN_LIVE_WATCH_TEMPLATE_H

#include "base/error.h"

#include <time.h>

enum { CAIRN_TEMPLATE_NAME = 200 }; /* size of a name; a number may be added later */

struct cairn_template_facts {
	time_t time;
	const char *program, *host, *reason;
	int pid;
};

/* Whether PATTERN makes valid file names: only the letters above after percent signs, no folder, not hidden, not too long. */
bool cairn_template_check(const char *pattern, struct cairn_error *error);

/* The name for FACTS; characters that do not belong in a file name become _. If NUMBER is above 1, it is put before the last dot, for a
 * name that is taken: greptime-20261115041002-2.gprof. */
void cairn_template_name(const char *pattern, const struct cairn_template_facts *facts, unsigned number, char out[CAIRN_TEMPLATE_NAME]);

#endif
