/* beside.c - `cairn beside`: the process that `cairn attach` and `cairn run` leave beside a program that can have no agent inside.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "live/core/companion.h"
#include "live/target.h"

#include <unistd.h>

struct options {
	bool filtered;
};

#define AT(member) offsetof(struct options, member)
static const struct cairn_option table[] = {
	{0, "filtered", NULL, "although the process filters its system calls (seccomp)", CAIRN_OPTION_FLAG, AT(filtered), 0},
	{0},
};
static const struct cairn_option_group groups[] = {{NULL, table, 0}, {0}};

/* What went wrong is said on standard output, which whoever has started it reads, and nothing else. */
static int run(const void *values, int count, char **operands)
{
	const struct options *options = values;
	struct cairn_error error;
	int pid = count == 1 ? cairn_target_pid(operands[0]) : 0;
	if (!pid)
		return cairn_say_not_one(count, "PID", "of the program to stay beside; settings come on standard input");
	if (cairn_companion_stay(pid, options->filtered, &error))
		return CAIRN_EXIT_DONE;
	cairn_print(stdout, "%s\n", error.text);
	return CAIRN_EXIT_FAILED;
}

const struct cairn_command cairn_command_beside = {
	.name = "beside",
	.summary = "stay beside a program that can have no agent inside",
	.arguments = "PID",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
