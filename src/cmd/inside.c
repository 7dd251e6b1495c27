/* inside.c - `cairn inside`: has the allocators inside a process counted that begins under `cairn run`, whose connection is standard input.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "live/inside/agent.h"

#include <unistd.h>

static const struct cairn_option_group no_groups[] = {{0}};

static void say(const char *text)
{
	cairn_note("%s", text);
}

/* The exit code is enum cairn_agent_start. */
static int run(const void *values, int count, char **operands)
{
	int pid = count == 1 ? cairn_target_pid(operands[0]) : 0;
	(void)values;
	if (!pid)
		return cairn_say_not_one(count, "PID", "of the process that waits at the other end of standard input");
	return (int)cairn_agent_count_at_start(pid, STDIN_FILENO, say);
}

const struct cairn_command cairn_command_inside = {
	.name = "inside",
	.summary = "have the allocators inside a process counted that begins",
	.arguments = "PID",
	.groups = no_groups,
	.options_size = 1,
	.run = run,
};
