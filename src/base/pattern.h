/* pattern.h - regular expressions in the syntax of Perl and pprof, with PCRE2.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_PATTERN_H
#define CAIRN_BASE_PATTERN_H

#include "base/bytes.h"
#include "base/error.h"

struct cairn_pattern;

/* Compiles TEXT, or fails with a message that shows the place. Free with cairn_pattern_free. */
struct cairn_pattern *cairn_pattern_compile(const char *text, struct cairn_error *error);

/* Whether PATTERN matches anywhere in TEXT. Bytes that are not UTF-8 are matched as bytes. A pattern that would take
 * exponential time gives up and does not match. One thread at a time. */
bool cairn_pattern_match(const struct cairn_pattern *pattern, struct cairn_bytes text);

/* The same for a pattern that is not the user's own. Sets *GAVE_UP if the text would have taken too long, which then does not match. */
bool cairn_pattern_match_foreign(const struct cairn_pattern *pattern, struct cairn_bytes text, bool *gave_up);

void cairn_pattern_free(struct cairn_pattern *pattern);

#endif
