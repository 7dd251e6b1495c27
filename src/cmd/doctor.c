/* doctor.c - `cairn doctor`: diagnoses an empty profile and prints the fix.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/shared_options.h"
#include "live/doctor/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct options {
	struct cairn_target_options target;
	bool json;
};

static const struct cairn_option table[] = {
	{0, "json", NULL, "print one JSON object instead of lines", CAIRN_OPTION_FLAG, offsetof(struct options, json), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, table, 0},
	{"target", cairn_target_option_table, offsetof(struct options, target)},
	{0},
};

static const char *const level_colors[] = {"", "\033[32m", "\033[36m", "\033[33m", "\033[31m"};

static void write_text(const struct cairn_finding *findings, struct cairn_buffer *out)
{
	bool color = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	for (int i = 0; i < CAIRN_CHECKS; i++) {
		const struct cairn_finding *finding = &findings[i];
		if (finding->level == CAIRN_NOTHING)
			continue;
		cairn_buffer_format(out, "%s%-11s%s  %-16s  ", color ? level_colors[finding->level] : "", cairn_finding_word(finding->level),
				    color ? "\033[0m" : "", cairn_check_name(i));
		cairn_utf8_show(out, cairn_bytes_of(finding->text.text));
		if (finding->fix) {
			cairn_buffer_format(out, "\n%11s  %16s  -> ", "", "");
			cairn_utf8_show(out, cairn_bytes_of(finding->fix));
		}
		if (finding->advice) {
			cairn_buffer_format(out, "\n%11s  %16s  to do: ", "", "");
			cairn_utf8_show(out, cairn_bytes_of(finding->advice));
		}
		cairn_buffer_byte(out, '\n');
	}
}

static int examine(struct cairn_diagnosis *diagnosis, bool as_json)
{
	struct cairn_finding findings[CAIRN_CHECKS] = {0};
	bool good = cairn_doctor_check(diagnosis, findings);
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	if (as_json) {
		struct cairn_json json = cairn_json_answer(&out);
		cairn_doctor_write_json(diagnosis, findings, good, &json);
		cairn_json_end(&json);
	} else {
		write_text(findings, &out);
	}
	int code = cairn_say_text(NULL, cairn_buffer_bytes(&out), as_json);
	cairn_buffer_free(&out);
	return code != CAIRN_EXIT_DONE ? CAIRN_EXIT_USAGE : good ? CAIRN_EXIT_DONE : CAIRN_EXIT_FAILED;
}

static int run(const void *values, int count, char **operands)
{
	const struct options *options = values;
	struct cairn_error error;
	struct cairn_diagnosis diagnosis;
	if (count != 1)
		return cairn_say_usage("'cairn doctor' takes one process, program, library, dump or folder");
	int code = CAIRN_EXIT_USAGE;
	if (cairn_diagnosis_see(&diagnosis, operands[0], options->target.token, &error))
		code = examine(&diagnosis, options->json);
	else
		cairn_say_failure(&error);
	cairn_diagnosis_free(&diagnosis);
	return code;
}

const struct cairn_command cairn_command_doctor = {
	.name = "doctor",
	.summary = "diagnose an empty profile and print the fix",
	.arguments = "TARGET|BINARY|DUMP",
	.detail = "TARGET is a PID, with or without an agent, an agent's socket, or a URL. BINARY is a program or library.\n"
		  "Of a folder with dumps, the newest is checked.\n"
		  "Exits with 0 if everything is right, 1 if something is wrong, 2 if it could not look or on a usage error.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
