/* ledger_left.c - writing the last moment of the process before.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/ledger_left.h"

#include "agent/sampler/sampler.h"
#include "agent/work/dump_writer.h"
#include "base/date.h"
#include "base/pages.h"
#include "base/time.h"
#include "dump/ledger_dump.h"
#include "dump/name.h"
#include "process/clock.h"

#include <errno.h>

enum { names_tried = 100 };

/* The dump folder where one is configured, else the folder of the ledger itself. If it is not Cairn's own, it has no limits; the number of
 * last moments that are kept holds everywhere. */
static bool choose_folder(struct cairn_agent *agent, struct cairn_folder *folder, struct cairn_error *error)
{
	char path[sizeof folder->path];
	struct cairn_folder_limits limits = {.free_bytes = agent->config.keep.free_bytes};
	if (cairn_config_limits_all(&agent->config))
		cairn_config_limits(&agent->config, &limits);
	if (agent->config.dumps[0])
		return cairn_folder_set(folder, agent->config.dumps, &limits, error);
	return (cairn_folder_of(agent->config.ledger, path, sizeof path) ||
		cairn_fail_errno(error, "the path of the ledger is too long")) &&
	       cairn_folder_set(folder, path, &limits, error);
}

static bool save(void *context, const struct cairn_ledger *ledger, struct cairn_error *error)
{
	struct cairn_agent *agent = context;
	struct cairn_folder folder;
	struct cairn_buffer dump = cairn_pages(CAIRN_LEDGER_DUMP_MOST);
	const struct cairn_ledger_end end = {.how = "how is not known; its ledger was found at the next start"};
	const struct cairn_folder_facts facts = {.reason = CAIRN_DUMP_LAST ": found in the ledger at the next start"};
	bool good = choose_folder(agent, &folder, error) && cairn_ledger_write_dump(ledger, &end, &dump, error);
	folder.mode = (unsigned)agent->config.mode;
	struct tm date = cairn_date(cairn_clock_wall_ns() / CAIRN_SECOND_NS + agent->utc_offset);
	errno = EEXIST;
	bool written = false;
	for (unsigned number = 1; good && !written && errno == EEXIST && number < names_tried; number++) {
		char name[96];
		cairn_dump_name_dated(name, sizeof name, &date, number, "last");
		written = cairn_folder_write(&folder, name, cairn_buffer_bytes(&dump), &facts, error);
	}
	if (written)
		cairn_folder_thin(&folder, NULL, &(struct cairn_error){{0}}); /* a service may crash again and again */
	cairn_buffer_free(&dump);
	return written;
}

void cairn_ledger_left_configure(struct cairn_agent *agent)
{
	static struct cairn_record_file file;
	if (!agent->config.ledger[0])
		return;
	file = (struct cairn_record_file){agent->config.ledger, save, agent};
	cairn_sampler_keep_in(&file);
}
