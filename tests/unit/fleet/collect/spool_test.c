/* spool_test.c - the order in which a spool gives its files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/spool.h"

#include "base/file.h"
#include "tap.h"

#include <stdlib.h>

/* The bodies of the files of SPOOL, in their order. */
static const char *order(const struct cairn_spool *spool)
{
	static char out[100];
	struct cairn_arena arena = {0};
	const char *names[16];
	size_t count = cairn_spool_list(spool, &arena, names, 16);
	out[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		struct cairn_file file;
		struct cairn_bytes query, tenant, body;
		if (!cairn_file_map(&file, cairn_arena_format(&arena, "%s/%s", spool->path, names[i]), NULL))
			continue;
		if (cairn_spool_parse(file.bytes, &query, &tenant, &body))
			snprintf(out + strlen(out), sizeof out - strlen(out), "%.*s ", (int)body.length, body.data);
		cairn_file_close(&file);
	}
	cairn_arena_free(&arena);
	return out;
}

int main(void)
{
	static const char *const files[][2] = {{"a", "a1"}, {"a", "a2"}, {"a", "a3"}, {"a", "a4"}, {"b", "b1"}, {"c", "c1"}, {"b", "b2"}};
	char folder[] = "/tmp/cairn-spool.XXXXXX", command[100];
	struct cairn_spool spool;
	struct cairn_error error;
	if (!mkdtemp(folder) || !ok(cairn_spool_open(&spool, folder, 1 << 20, &error), "a spool"))
		return 1;
	is_text(order(&spool), "", "has no files at first");
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		ok(cairn_spool_write(&spool, cairn_bytes_of("service=x"), cairn_bytes_of(files[i][0]), cairn_bytes_of(files[i][1]), &error),
		   "%s is written", files[i][1]);
	is_text(order(&spool), "a1 b1 c1 a2 b2 a3 a4 ", "tenants take turns, and each has its own in the order of arrival");
	cairn_spool_close(&spool);
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command) == 0 ? tap_done() : 1;
}
