/* pattern.c - PCRE2 behind four lines of interface.
 * SPDX-License-Identifier: Apache-2.0 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/pattern.h"

#include <pcre2.h>
#include <stdlib.h>

enum { match_limit = 200000 };

struct cairn_pattern {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *context;
};

struct cairn_pattern *cairn_pattern_compile(const char *text, struct cairn_error *error)
{
	int code;
	PCRE2_SIZE offset;
	pcre2_code *compiled =
		pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &code, &offset, NULL);
	if (!compiled) {
		char reason[160];
		pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof reason);
		cairn_fail_usage(error, "the regular expression '%s' is wrong at character %zu: %s", text, (size_t)offset + 1, reason);
		return NULL;
	}
	struct cairn_pattern *pattern = malloc(sizeof *pattern);
	if (!pattern)
		cairn_out_of_memory(sizeof *pattern);
	pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);
	pattern->code = compiled;
	pattern->match = pcre2_match_data_create(1, NULL);
	pattern->context = pcre2_match_context_create(NULL);
	if (!pattern->match || !pattern->context)
		cairn_out_of_memory(0);
	pcre2_set_match_limit(pattern->context, match_limit);
	return pattern;
}

bool cairn_pattern_match(const struct cairn_pattern *pattern, struct cairn_bytes text)
{
	return pcre2_match(pattern->code, (PCRE2_SPTR)text.data, text.length, 0, 0, pattern->match, pattern->context) >= 0;
}

bool cairn_pattern_match_foreign(const struct cairn_pattern *pattern, struct cairn_bytes text, bool *gave_up)
{
	int code = pcre2_match(pattern->code, (PCRE2_SPTR)text.data, text.length, 0, 0, pattern->match, pattern->context);
	*gave_up |= code < 0 && code != PCRE2_ERROR_NOMATCH;
	return code >= 0;
}

void cairn_pattern_free(struct cairn_pattern *pattern)
{
	if (!pattern)
		return;
	pcre2_code_free(pattern->code);
	pcre2_match_data_free(pattern->match);
	pcre2_match_context_free(pattern->context);
	free(pattern);
}
