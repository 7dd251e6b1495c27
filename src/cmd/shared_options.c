/* shared_options.c - the tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/shared_options.h"

#define AT(member) offsetof(struct cairn_source_options, member)

const struct cairn_option cairn_combine_option_table[] = {
	{0, "base", "FILE", "subtract this profile; can be repeated", CAIRN_OPTION_LIST, AT(base), 0},
	{0, "normalize", NULL, "scale the base to the profile's total before subtracting it", CAIRN_OPTION_FLAG, AT(normalize), 0},
	{0, "sum", NULL, "add up several profiles instead of showing the newest", CAIRN_OPTION_FLAG, AT(sum), 0},
	{0, "tree", NULL, "with a PID: add up the process and its descendants", CAIRN_OPTION_FLAG, AT(tree), 0},
	{0},
};

const struct cairn_option cairn_source_option_table[] = {
	{0, "thread", "NAME|ID", "keep this thread only, by name or jemalloc's number", CAIRN_OPTION_TEXT, AT(thread), 0},
	{0, "older", "TIME", "keep only what has been live for TIME or longer, such as 10m (Cairn's engine)", CAIRN_OPTION_TEXT, AT(older),
	 0},
	{0, "younger", "TIME", "keep only what was allocated within TIME before the dump", CAIRN_OPTION_TEXT, AT(younger), 0},
	{0, "service", "NAME", "of several dumps, use only those of this service or program", CAIRN_OPTION_TEXT, AT(service), 0},
	{0, "binary", "FILE", "use this program or library, which has moved since", CAIRN_OPTION_LIST, AT(binary), 0},
	{0, "symbols", "FOLDER", "also search this folder for debug files: .debug, .dwo, .dwp", CAIRN_OPTION_LIST, AT(symbols), 0},
	{0, "sysroot", "FOLDER", "root folder with the files of the profiled machine", CAIRN_OPTION_TEXT, AT(sysroot), 0},
	{0, "debuginfod", NULL, "fetch debug files from the servers in DEBUGINFOD_URLS", CAIRN_OPTION_FLAG, AT(debuginfod), 0},
	{0, "no-cache", NULL, "do not use the symbol cache", CAIRN_OPTION_FLAG, AT(no_cache), 0},
	{0, "no-symbols", NULL, "do not symbolize addresses", CAIRN_OPTION_FLAG, AT(no_symbols), 0},
	{0, "only-modules", "FILE", "open only the modules in this memory map; for untrusted profiles", CAIRN_OPTION_TEXT, AT(only_modules),
	 0},
	{0, "memory", "SIZE", "memory limit for symbolizing (default: a quarter of what the control group or machine has left)",
	 CAIRN_OPTION_SIZE, AT(memory), 0},
	{0, "token", "TOKEN", "token for an agent reached by URL (default: $CAIRN_TOKEN)", CAIRN_OPTION_TEXT, AT(token), 0},
	{0},
};

const struct cairn_option cairn_shown_option_table[] = {
	{0, "peak", NULL, "show what was live at the highest point instead of what is live now (Cairn's engine)", CAIRN_OPTION_FLAG,
	 AT(shows[CAIRN_SHOWN_PEAK]), 0},
	{0, "slack", NULL, "show what live objects can hold beyond what was requested (Cairn's engine)", CAIRN_OPTION_FLAG, AT(shows[CAIRN_SHOWN_SLACK]), 0},
	{0, "fragmentation", NULL, "show the free memory that live objects keep from being returned (Cairn's engine; of a PID)",
	 CAIRN_OPTION_FLAG, AT(shows[CAIRN_SHOWN_FRAGMENTATION]), 0},
	{0, "mappings", "KIND", "show what the service mapped itself, not its heap: anonymous, shared, file, reserved, brk or all",
	 CAIRN_OPTION_TEXT, AT(mappings), 0, (const char *const[]){"anonymous", "shared", "file", "reserved", "brk", "all", NULL}},
	{0},
};

#undef AT
const struct cairn_option cairn_target_option_table[] = {
	{0, "token", "TOKEN", "token for an agent reached over TCP (default: $CAIRN_TOKEN)", CAIRN_OPTION_TEXT,
	 offsetof(struct cairn_target_options, token), 0},
	{0},
};

#define AT(member) offsetof(struct cairn_fleet_options, member)

const struct cairn_option cairn_fleet_option_table[] = {
	{0, "store", "STORE", "the store: PATH, sqlite:PATH or clickhouse://HOST:PORT/DATABASE (default: $CAIRN_STORE)", CAIRN_OPTION_TEXT,
	 AT(store), 0},
	{0, "service", "NAME", "only processes of this service", CAIRN_OPTION_TEXT, AT(service), 0},
	{0, "version", "VERSION", "only this release; A..B compares two (diff)", CAIRN_OPTION_TEXT, AT(version), 0},
	{0, "instance", "HOST[:PID]", "only this process, or those of this host", CAIRN_OPTION_TEXT, AT(instance), 0},
	{0, "label", "KEY=VALUE", "only processes with this label; can be repeated", CAIRN_OPTION_LIST, AT(labels), 0},
	{0, "from", "TIME", "begin here: -6h, 2026-11-18T19:00 or seconds since 1970 (default: an hour ago; leaks, timeline: a day)",
	 CAIRN_OPTION_TEXT, AT(from), 0},
	{0, "to", "TIME", "end here (default: now)", CAIRN_OPTION_TEXT, AT(to), 0},
	{0, "per-instance", NULL, "show the mean of the instances instead of their sum", CAIRN_OPTION_FLAG, AT(per_instance), 0},
	{0, "tenant", "NAME", "ask as this tenant", CAIRN_OPTION_TEXT, AT(tenant), 0},
	{0},
};
