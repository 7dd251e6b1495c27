/* template.c - filling a pattern in.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/watch/template.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { longest_pattern = 100, longest_part = 60 };

bool cairn_template_check(const char *pattern, struct cairn_error *error)
{
	if (!pattern[0] || pattern[0] == '.' || strchr(pattern, '/'))
		return cairn_fail_usage(
			error, "--file-name is a name such as greptime-%%t.gprof, without a folder and not hidden, not '%s'", pattern);
	if (strlen(pattern) > longest_pattern)
		return cairn_fail_usage(error, "--file-name is longer than %d letters", longest_pattern);
	for (const char *percent = pattern; (percent = strchr(percent, '%')); percent += 2)
		if (!percent[1] || !strchr("tTnphr%", percent[1]))
			return cairn_fail_usage(
				error,
				"--file-name: behind a %% comes t or T (time), n (program), p (PID), h (host), r (reason) or %%, "
				"not '%.1s'",
				percent + 1);
	return true;
}

/* What LETTER stands for. */
static void fill(char letter, const struct cairn_template_facts *facts, char *out)
{
	struct tm date;
	switch (letter) {
	case 't':
		localtime_r(&facts->time, &date);
		strftime(out, longest_part, "%Y%m%d%H%M%S", &date);
		break;
	case 'T':
		gmtime_r(&facts->time, &date);
		strftime(out, longest_part, "%Y%m%dT%H%M%SZ", &date);
		break;
	case 'p':
		snprintf(out, longest_part, "%d", facts->pid);
		break;
	case 'n':
		snprintf(out, longest_part, "%s", facts->program);
		break;
	case 'h':
		snprintf(out, longest_part, "%s", facts->host);
		break;
	case 'r':
		snprintf(out, longest_part, "%s", facts->reason);
		break;
	default:
		snprintf(out, longest_part, "%%");
	}
}

void cairn_template_name(const char *pattern, const struct cairn_template_facts *facts, unsigned number, char out[CAIRN_TEMPLATE_NAME])
{
	size_t length = 0, room = CAIRN_TEMPLATE_NAME - 16; /* for the number */
	for (; *pattern && length < room; pattern++) {
		char part[longest_part] = {*pattern};
		if (*pattern == '%' && pattern[1])
			fill(*++pattern, facts, part);
		for (const char *c = part; *c && length < room; c++)
			out[length++] = isalnum((unsigned char)*c) || strchr("-_.+@%", *c) ? *c : '_';
	}
	out[length] = 0;
	if (number > 1) {
		char end[CAIRN_TEMPLATE_NAME];
		char *dot = strrchr(out, '.');
		size_t before = dot && dot > out ? (size_t)(dot - out) : length;
		snprintf(end, sizeof end, "%s", out + before);
		snprintf(out + before, CAIRN_TEMPLATE_NAME - before, "-%u%s", number, end);
	}
}
