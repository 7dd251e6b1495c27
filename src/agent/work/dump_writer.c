/* dump_writer.c - where dumps go and what they are called.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/work/dump_writer.h"

#include "agent/jemalloc/profiler.h"
#include "base/date.h"
#include "base/path.h"
#include "base/time.h"
#include "dump/name.h"
#include "process/clock.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

enum { tries_maximum = 100000 };

/* jemalloc's own where its profiler is in use: it stays. */
static const char *prefix_of(struct cairn_agent *agent)
{
	const struct cairn_jemalloc *jemalloc = &agent->profiler.jemalloc;
	const char *prefix;
	if (!cairn_profiler_is_jemalloc(&agent->profiler))
		return agent->config.prefix;
	return jemalloc->mallctl && cairn_jemalloc_get_text(jemalloc, "opt.prof_prefix", &prefix) == 0 ? prefix : "";
}

void cairn_dumps_limit(struct cairn_agent *agent, const struct cairn_folder_limits *limits, struct cairn_folder *folder)
{
	folder->limits = *limits;
	if (!cairn_config_limits_all(&agent->config))
		cairn_life_of(agent->owner, &folder->limits.owner);
}

static void set_configured_limits(struct cairn_agent *agent, struct cairn_folder *folder)
{
	struct cairn_folder_limits limits;
	cairn_config_limits(&agent->config, &limits);
	cairn_dumps_limit(agent, &limits, folder);
}

void cairn_dumps_folder(struct cairn_agent *agent, struct cairn_folder *folder)
{
	*folder = (struct cairn_folder){0};
	set_configured_limits(agent, folder);
	folder->mode = (unsigned)agent->config.mode;
	if (agent->config.dumps[0])
		snprintf(folder->path, sizeof folder->path, "%s", agent->config.dumps);
	else
		cairn_folder_of(prefix_of(agent), folder->path, sizeof folder->path);
}

bool cairn_dumps_names_intervals(struct cairn_agent *agent)
{
	return !cairn_profiler_is_jemalloc(&agent->profiler) && agent->config.origins[CAIRN_KEY_PREFIX] != CAIRN_CONFIG_DEFAULT;
}

bool cairn_dumps_prefix_folder(struct cairn_agent *agent, struct cairn_folder *folder)
{
	bool writes = (agent->config.rules.interval && cairn_dumps_names_intervals(agent)) ||
		      cairn_profiler_gdump_is_active(&agent->profiler) || cairn_profiler_jemalloc_interval(&agent->profiler) > 0;
	*folder = (struct cairn_folder){.must_exist = true};
	set_configured_limits(agent, folder);
	if (!cairn_config_has_limit(&agent->config)) /* `dumps` is another folder: this one is not Cairn's own */
		cairn_life_of(agent->owner, &folder->limits.owner);
	return writes && agent->config.dumps[0] && cairn_folder_of(prefix_of(agent), folder->path, sizeof folder->path) &&
	       strcmp(folder->path, agent->config.dumps) != 0;
}

/* Writes SNAPSHOT under NAME in FOLDER; PATH receives both. errno is EEXIST when the name is taken. */
static bool write_dump(struct cairn_agent *agent, const struct cairn_folder *folder, const struct cairn_snapshot *snapshot,
		       const char *name, const struct cairn_folder_facts *facts,
		       char *path, size_t size, struct cairn_error *error)
{
	if (!folder->path[0]) {
		errno = ENAMETOOLONG;
		return cairn_fail(error, "the folder of prof_prefix has a path of more than %zu bytes; name another with `dumps`",
				  sizeof folder->path - 1);
	}
	snprintf(path, size, "%s/%s", folder->path, name);
	if (!cairn_folder_write(folder, name, snapshot->text, facts, error))
		return false;
	atomic_fetch_add(&agent->counters.dumps, 1);
	return true;
}

struct numbering {
	struct cairn_bytes prefix;
	int process_id;
	unsigned next;
};

static void see_number(void *context, const char *file)
{
	struct numbering *numbering = context;
	struct cairn_dump_name name;
	if (cairn_dump_name_parse(file, &name) && name.process_id == (uint64_t)numbering->process_id &&
	    cairn_bytes_equal(name.prefix, numbering->prefix) && name.sequence >= numbering->next &&
	    name.sequence < UINT_MAX - tries_maximum)
		numbering->next = (unsigned)name.sequence + 1;
}

/* One more than the highest number that a dump of this process has in FOLDER. The number of a dump that thinning has removed is not given
 * again: the dump with the highest number is the latest. */
static unsigned next_number(const struct cairn_folder *folder, const char *prefix, int process_id)
{
	struct cairn_error ignored;
	struct numbering numbering = {.prefix = cairn_bytes_of(prefix + cairn_path_folder(prefix)), .process_id = process_id};
	cairn_folder_visit(folder, see_number, &numbering, &ignored);
	return numbering.next;
}

bool cairn_dumps_write_numbered(struct cairn_agent *agent, const struct cairn_snapshot *snapshot, char kind, char *path, size_t size,
				struct cairn_error *error)
{
	struct cairn_folder folder;
	char prefix_folder[sizeof folder.path], name[256];
	const char *prefix = prefix_of(agent);
	if (!prefix[0])
		return cairn_fail(error,
				  "the prefix is empty, so dumps have no name; set prof_prefix in MALLOC_CONF, or prefix in CAIRN_CONF");
	cairn_dumps_folder(agent, &folder);
	cairn_folder_of(prefix, prefix_folder, sizeof prefix_folder);
	if (strcmp(folder.path, prefix_folder) != 0) {
		struct cairn_folder_limits unlimited = {.free_bytes = agent->config.keep.free_bytes, .owner = folder.limits.owner};
		if (!cairn_folder_set(&folder, prefix_folder, &unlimited, error))
			return false;
	}
	const struct cairn_folder_facts facts = {.reason = kind == 'i' ? "interval" : "manual"};
	folder.must_exist = true; /* as for jemalloc itself */
	folder.mode = (unsigned)agent->config.mode;
	unsigned first = next_number(&folder, prefix, agent->owner);
	for (unsigned number = first; number < first + tries_maximum; number++) {
		if (!cairn_dump_name_numbered(name, sizeof name, prefix, agent->owner, number, kind))
			return cairn_fail(error, "prof_prefix is too long for a file name");
		if (write_dump(agent, &folder, snapshot, name, &facts, path, size, error))
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

bool cairn_dumps_write_dated(struct cairn_agent *agent, const struct cairn_snapshot *snapshot, const char *kind,
			     const struct cairn_folder_facts *facts, char *path, size_t size, struct cairn_error *error)
{
	struct cairn_folder folder;
	struct tm date = cairn_date(cairn_clock_wall_ns() / CAIRN_SECOND_NS + agent->utc_offset);
	cairn_dumps_folder(agent, &folder);
	for (unsigned number = 1; number < tries_maximum; number++) {
		char name[96];
		cairn_dump_name_dated(name, sizeof name, &date, number, kind);
		if (write_dump(agent, &folder, snapshot, name, facts, path, size, error))
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

bool cairn_dumps_write_counted(struct cairn_agent *agent, const struct cairn_snapshot *snapshot, struct cairn_error *error)
{
	struct cairn_folder folder;
	char path[340], name[16];
	cairn_dumps_folder(agent, &folder);
	for (unsigned number = 1; number <= 999999; number++) {
		cairn_dump_name_counted(name, sizeof name, number);
		if (write_dump(agent, &folder, snapshot, name, &(struct cairn_folder_facts){.reason = CAIRN_DUMPS_COUNTED_REASON}, path,
			       sizeof path, error))
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}
