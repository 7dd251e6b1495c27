/* store.c - `cairn store`: makes the tables of a store.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include "cmd/command.h"

#include <stdio.h>
#include <string.h>

struct options {
	const char *cluster;
	const char *keep_days; /* a number, 0 included; NULL where it was not given */
};

static const struct cairn_option table[] = {
	{0, "cluster", "NAME", "ClickHouse: replicate and distribute the tables over this cluster", CAIRN_OPTION_TEXT,
	 offsetof(struct options, cluster), 0},
	{0, "keep-days", "N", "remove what is older than N days, 0 for never (default: unchanged; never for a new store)",
	 CAIRN_OPTION_TEXT, offsetof(struct options, keep_days), 0},
	{0},
};

static const struct cairn_option_group groups[] = {{NULL, table, 0}, {0}};

static int run(const void *values, int operand_count, char **operands)
{
	const struct options *options = values;
	struct cairn_error error;
	uint64_t keep_days;
	if (operand_count != 2 || strcmp(operands[0], "init") != 0) {
		cairn_fail_usage(&error, "usage: cairn store init STORE; a store is called sqlite:PATH or clickhouse://HOST:PORT/DATABASE");
		return cairn_say_failure(&error);
	}
	static const struct cairn_option days = {.name = "keep-days", .kind = CAIRN_OPTION_COUNT};
	if (options->keep_days && !cairn_option_set(&days, &keep_days, options->keep_days, &error))
		return cairn_say_failure(&error);
	struct cairn_arena arena = {0};
	const char *name = cairn_store_name(operands[1], &arena, &error);
	struct cairn_store *store = name ? cairn_store_create(name, &error) : NULL;
	cairn_arena_free(&arena);
	bool good = store && cairn_store_init(store, options->cluster, options->keep_days ? &keep_days : NULL, &error) &&
		    cairn_store_check(store, &error);
	cairn_store_close(store);
	if (!good)
		return cairn_say_failure(&error);
	if (!cairn_option_quiet)
		cairn_print(stdout, "%s is ready; 'cairn collect --store %s' fills it\n", operands[1], operands[1]);
	return CAIRN_EXIT_DONE;
}

const struct cairn_command cairn_command_store = {
	.name = "store",
	.summary = "make the tables of a store",
	.arguments = "init STORE",
	.detail = "STORE is sqlite:PATH, or clickhouse://[USER:PASSWORD@]HOST:PORT/DATABASE; user and password can also come from "
		  "CAIRN_STORE_USER and CAIRN_STORE_PASSWORD.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
