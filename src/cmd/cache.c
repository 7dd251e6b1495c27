/* cache.c - `cairn cache`: shows the symbol cache on disk, and clears it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/text.h"
#include "cmd/command.h"
#include "symbol/cache.h"

struct options {
	bool clear;
	bool json;
};

static const struct cairn_option table[] = {
	{0, "clear", NULL, "delete all cached names", CAIRN_OPTION_FLAG, offsetof(struct options, clear), 0},
	{0, "json", NULL, "print JSON", CAIRN_OPTION_FLAG, offsetof(struct options, json), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, table, 0},
	{0},
};

static void describe(const struct cairn_cache *cache, const struct cairn_cache_use *use, bool cleared, struct cairn_buffer *out)
{
	char bytes[24], limit[24];
	cairn_text_human((double)use->bytes, bytes);
	cairn_text_human((double)cache->limit_bytes, limit);
	if (cleared)
		cairn_buffer_format(out, "removed %zu files with %s from %s\n", use->files, bytes, cache->folder);
	else
		cairn_buffer_format(out, "folder  %s\nfiles   %zu\nbytes   %s\nlimit   %s\n", cache->folder, use->files, bytes, limit);
}

static void describe_json(const struct cairn_cache *cache, const struct cairn_cache_use *use, bool cleared, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json_answer(out);
	cairn_json_text(&json, "folder", cairn_bytes_of(cache->folder));
	cairn_json_integer(&json, cleared ? "removed_files" : "files", (int64_t)use->files);
	cairn_json_integer(&json, cleared ? "removed_bytes" : "bytes", (int64_t)use->bytes);
	cairn_json_integer(&json, "limit", (int64_t)cache->limit_bytes);
	cairn_json_end(&json);
}

static int run(const void *values, int operand_count, char **operands)
{
	const struct options *options = values;
	struct cairn_arena arena = {0};
	struct cairn_buffer out = cairn_buffer(1 << 16);
	struct cairn_cache cache;
	struct cairn_cache_use use;
	struct cairn_error error;
	int code = CAIRN_EXIT_DONE;
	if (operand_count > 0) {
		cairn_fail_usage(&error, "'cairn cache' takes no operands, but got '%s'", operands[0]);
		return cairn_say_failure(&error);
	}
	if (!cairn_cache_open(&cache, &arena)) {
		code = cairn_say_error("there is no cache: neither XDG_CACHE_HOME nor HOME names a folder");
	} else if (!cairn_cache_is_usable(&cache, &error) || (options->clear && !cairn_cache_clear(&cache, &use, &error))) {
		code = cairn_say_failure(&error);
	} else {
		if (!options->clear)
			use = cairn_cache_measure(&cache);
		(options->json ? describe_json : describe)(&cache, &use, options->clear, &out);
		code = cairn_say_output(NULL, cairn_buffer_bytes(&out));
	}
	cairn_buffer_free(&out);
	cairn_arena_free(&arena);
	return code;
}

const struct cairn_command cairn_command_cache = {
	.name = "cache",
	.summary = "show or clear the cache of symbol names",
	.arguments = "",
	.detail =
		"Cairn caches symbol names by build-id in $XDG_CACHE_HOME/cairn, or in ~/.cache/cairn. It removes the least recently used\n"
		"files when the cache exceeds CAIRN_CACHE_LIMIT (default: 512 MiB).",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
