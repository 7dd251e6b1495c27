/* dumps.c - `cairn dumps`: lists and thins the dump folder of a service, on disk or through its agent, and fetches dumps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptor.h"
#include "base/text.h"
#include "base/time.h"
#include "base/url.h"
#include "cmd/command.h"
#include "cmd/shared_options.h"
#include "dump/folder.h"
#include "live/target.h"
#include "symbol/live.h"

#include <time.h>

struct options {
	struct cairn_target_options target;
	bool json, thin;
	const char *fetch, *remove, *output;
	const char *count, *bytes, *age;
};

static const struct cairn_option table[] = {
	{0, "json", NULL, "print JSON", CAIRN_OPTION_FLAG, offsetof(struct options, json), 0},
	{0, "fetch", "NAME", "fetch this dump", CAIRN_OPTION_TEXT, offsetof(struct options, fetch), 0},
	{'o', "output", "FILE", "with --fetch: write to FILE (default: standard output)", CAIRN_OPTION_TEXT,
	 offsetof(struct options, output), 0},
	{0, "remove", "NAME", "remove this dump", CAIRN_OPTION_TEXT, offsetof(struct options, remove), 0},
	{0, "thin", NULL, "remove dumps until the limits are met, then list the rest", CAIRN_OPTION_FLAG, offsetof(struct options, thin),
	 0},
	{0},
};

static const struct cairn_option limit_table[] = {
	{0, "keep-count", "N", "keep at most N dumps", CAIRN_OPTION_TEXT, offsetof(struct options, count), 0},
	{0, "keep-bytes", "SIZE", "keep at most this much in total, such as 1G", CAIRN_OPTION_TEXT, offsetof(struct options, bytes), 0},
	{0, "keep-age", "TIME", "remove dumps older than this, such as 12h or 7d", CAIRN_OPTION_TEXT, offsetof(struct options, age), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, table, 0},
	{"limits for --thin", limit_table, 0},
	{"target", cairn_target_option_table, offsetof(struct options, target)},
	{0},
};

static bool read_dump(const struct cairn_folder *folder, const char *name, struct cairn_buffer *out, struct cairn_error *error)
{
	int descriptor = cairn_folder_open_file(folder, name, error);
	if (descriptor < 0)
		return false;
	bool good = cairn_buffer_read(out, descriptor) || cairn_fail_errno(error, "cannot read %s", name);
	cairn_descriptor_close(descriptor);
	return good;
}

/* A process in a container has another PID there than here: dumps that it wrote, or that somebody took of it, name the one that it has
 * there. */
static void find_contained(struct cairn_listing *listing)
{
	bool runs = false;
	for (size_t i = 0; i < listing->count; i++) {
		struct cairn_dump *dump = &listing->dumps[i];
		if (dump->marks & CAIRN_DUMP_ALIVE || !dump->process.pid)
			continue;
		if (dump->marks & CAIRN_DUMP_FIRST)
			runs = cairn_live_runs(&dump->process);
		if (runs)
			dump->marks = (dump->marks | CAIRN_DUMP_ALIVE) & ~(unsigned)CAIRN_DUMP_OOM;
	}
}

/* Answers for a folder on this machine, in OUT. */
static bool do_here(const char *path, const struct options *options, const struct cairn_folder_limits *limits, struct cairn_buffer *out,
		    struct cairn_error *error)
{
	struct cairn_folder folder;
	struct cairn_listing listing = {0};
	if (!cairn_folder_set(&folder, path, limits, error))
		return false;
	if (options->fetch)
		return read_dump(&folder, options->fetch, out, error);
	if (options->remove && !cairn_folder_remove(&folder, options->remove, error))
		return false;
	if (options->thin && !cairn_folder_thin(&folder, NULL, error))
		return false;
	bool good = cairn_folder_list(&folder, &listing, error);
	find_contained(&listing);
	time_t now = time(NULL);
	struct tm local;
	if (good && options->json)
		cairn_listing_json(&listing, path, out);
	else if (good)
		cairn_listing_text(&listing, path, localtime_r(&now, &local) ? (int)local.tm_gmtoff : 0, out);
	cairn_listing_free(&listing);
	return good;
}

/* The same through an agent. */
static bool do_there(const char *name, const struct options *options, struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_target target;
	struct cairn_buffer path = cairn_buffer(SIZE_MAX);
	const char *file = options->fetch ? options->fetch : options->remove;
	cairn_buffer_text(&path, file ? "/cairn/dumps/" : "/cairn/dumps");
	if (file)
		cairn_url_name(&path, file);
	cairn_buffer_format(&path, "?format=%s", options->json ? "json" : "text");
	const char *const limits[][2] = {{"keep_count", options->count}, {"keep_bytes", options->bytes}, {"keep_age", options->age}};
	for (size_t i = 0; options->thin && i < sizeof limits / sizeof *limits; i++)
		if (limits[i][1])
			cairn_buffer_format(&path, "&%s=%s", limits[i][0], limits[i][1]);
	cairn_buffer_byte(&path, 0);
	const char *method = options->remove ? "DELETE" : options->thin ? "POST" : "GET";
	bool good =
		cairn_target_find_or_start(&target, name, options->target.token, error) && cairn_target_ask(&target, method, path.data, out, error);
	cairn_buffer_free(&path);
	return good;
}

static bool read_limits(const struct options *options, struct cairn_folder_limits *limits, struct cairn_error *error)
{
	int64_t age = 0;
	*limits = (struct cairn_folder_limits){0};
	if (options->count && !cairn_text_size(options->count, &limits->count))
		return cairn_fail_usage(error, "--keep-count takes a number, not '%.40s'", options->count);
	if (options->bytes && !cairn_text_size(options->bytes, &limits->bytes))
		return cairn_fail_usage(error, "--keep-bytes takes a size such as 1G, not '%.40s'", options->bytes);
	if (options->age && !cairn_text_duration(options->age, &age))
		return cairn_fail_usage(error, "--keep-age takes a time such as 12h or 7d, not '%.40s'", options->age);
	limits->age_seconds = (uint64_t)age / CAIRN_SECOND_NS;
	return true;
}

/* Whether the options make sense together. */
static bool check(const struct options *options, int count, struct cairn_error *error)
{
	bool limited = options->count || options->bytes || options->age;
	if (count > 1)
		return cairn_fail_usage(error, "'cairn dumps' takes at most one FOLDER or TARGET");
	if ((options->fetch != NULL) + (options->remove != NULL) + options->thin > 1)
		return cairn_fail_usage(error, "--fetch, --remove and --thin exclude each other");
	if (options->output && !options->fetch)
		return cairn_fail_usage(error, "--output needs --fetch");
	return !limited || options->thin || cairn_fail_usage(error, "--keep-count, --keep-bytes and --keep-age need --thin");
}

static int run(const void *values, int count, char **operands)
{
	const struct options *options = values;
	struct cairn_folder_limits limits;
	struct cairn_error error;
	if (!check(options, count, &error) || !read_limits(options, &limits, &error))
		return cairn_say_failure(&error);
	const char *name = count > 0 ? operands[0] : ".";
	bool there = cairn_target_is(name);
	struct cairn_buffer out = cairn_buffer(there ? 0 : SIZE_MAX);
	bool good = there ? do_there(name, options, &out, &error) : do_here(name, options, &limits, &out, &error);
	int code = !good	    ? cairn_say_failure(&error)
		   : options->fetch ? cairn_say_output(options->output, cairn_buffer_bytes(&out))
				    : cairn_say_lines(cairn_buffer_bytes(&out));
	cairn_buffer_free(&out);
	return code;
}

const struct cairn_command cairn_command_dumps = {
	.name = "dumps",
	.summary = "list the dumps in a folder or of an agent, process by process",
	.arguments = "[FOLDER|TARGET]",
	.detail = "FOLDER is a folder of dumps (default: the current folder). TARGET is a PID, a socket or a URL: lists that agent's dump "
		  "folder.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
