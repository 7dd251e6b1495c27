/* cache.h - answers stored on disk between runs, one file for each module.
 *
 * The folder is $XDG_CACHE_HOME/cairn, else ~/.cache/cairn. It must belong to the user who runs this and be no link; what leads to it may be
 * links. A file is identified by the module's build-id, or by path, size, time and inode if it has none. Files appear complete, by rename,
 * so any number of runs may share the folder; if two store at once, the last one wins. A file that is damaged, of another version, or older
 * than a better debug file counts as missing. When the folder exceeds its limit, the least recently used files are removed; what has no
 * name of the cache is never touched. Nothing here is ever reported as an error: without a cache, the work is repeated.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_CACHE_H
#define CAIRN_SYMBOL_CACHE_H

#include "base/file.h"
#include "symbol/answers.h"

struct cairn_cache {
	const char *folder; /* in the arena given to open */
	uint64_t limit_bytes;
};

/* Finds the folder, which is created when something is stored. Returns false if there is no place for one. The limit is 512 MiB or
 * CAIRN_CACHE_LIMIT. */
bool cairn_cache_open(struct cairn_cache *cache, struct cairn_arena *arena);

/* Whether the folder can be used, or made. Fails with a message otherwise. */
bool cairn_cache_is_usable(const struct cairn_cache *cache, struct cairn_error *error);

/* What identifies a module to the cache. */
struct cairn_cache_key {
	const char *file;    /* name in the folder */
	const char *text;    /* all of it */
	const char *options; /* the places that the user named: they may lead to other debug files */
};
struct cairn_cache_key cairn_cache_key(struct cairn_arena *arena, const struct cairn_binary *binary,
				       const struct cairn_find_options *options);

/* The answers stored for BINARY under KEY that are still valid; all of them if BINARY is NULL. They borrow from FILE, which the caller
 * closes after use. */
bool cairn_cache_load(const struct cairn_cache *cache, const struct cairn_cache_key *key, const struct cairn_binary *binary,
		      struct cairn_file *file, struct cairn_answers *answers);

/* The answers stored for the build with BUILD_ID, if its file is gone, so that there are no better ones. */
bool cairn_cache_load_gone(const struct cairn_cache *cache, struct cairn_arena *arena, const char *build_id, struct cairn_file *file,
			   struct cairn_answers *answers);

/* Stores BLOCK under KEY and removes files beyond the limit. Fails with a message; leaves no incomplete file. */
bool cairn_cache_store(const struct cairn_cache *cache, const struct cairn_cache_key *key, struct cairn_bytes block,
		       struct cairn_error *error);

/* How much there is. */
struct cairn_cache_use {
	size_t files;
	uint64_t bytes;
};
/**/
struct cairn_cache_use cairn_cache_measure(const struct cairn_cache *cache);

/* Removes all of it and reports how much that was. Fails with a message about the folder, or the first file that could not be removed. */
bool cairn_cache_clear(const struct cairn_cache *cache, struct cairn_cache_use *removed, struct cairn_error *error);

#endif
