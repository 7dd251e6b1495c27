/* malloc_conf.c - reading jemalloc's options.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/malloc_conf.h"

#include "base/buffer.h"
#include "base/text.h"

#include <stdlib.h>

/* Those of profiling, whose values are checked; a name that ends in an equals sign is not true or false. */
static const char *const profiling[] = {
	"prof", "prof_accum", "prof_active", "prof_bt_max=", "prof_final", "prof_gdump", "prof_leak", "prof_leak_error",
	"prof_log", "prof_pid_namespace", "prof_prefix=", "prof_recent_alloc_max=", "prof_stats", "prof_sys_thread_name",
	"prof_thread_active_init", "prof_time_resolution=", "prof_unbias", "lg_prof_sample=", "lg_prof_interval=",
};

static const char *const others[] = {
	"abort", "abort_conf", "background_thread", "bin_shards", "cache_oblivious", "confirm_conf",
	"debug_double_free_max_scan", "dirty_decay_ms", "disable_large_size_classes", "dss", "hpa", "junk", "lg_chunk",
	"lg_dirty_mult", "lg_extent_max_active_fit", "lg_tcache_max", "max_background_threads", "metadata_thp",
	"mutex_max_spin", "muzzy_decay_ms", "narenas", "oversize_threshold", "percpu_arena", "purge", "quarantine", "redzone",
	"retain", "slab_sizes", "stats_interval", "stats_interval_opts", "stats_print", "stats_print_opts", "tcache",
	"tcache_max", "tcache_ncached_max", "thp", "trust_madvise", "utrace", "xmalloc", "zero", "zero_realloc",
};

static bool same_key(const char *known, const char *key)
{
	size_t length = strcspn(known, "=");
	return strlen(key) == length && memcmp(known, key, length) == 0;
}

/* The option of profiling that KEY is, or nearly is. */
static const char *find_profiling(const char *key, unsigned distance)
{
	for (size_t i = 0; i < sizeof profiling / sizeof *profiling; i++) {
		char name[40] = "";
		memcpy(name, profiling[i], strcspn(profiling[i], "="));
		if (same_key(profiling[i], key) || (distance && cairn_text_distance(name, key) <= distance))
			return profiling[i];
	}
	return NULL;
}

static bool is_other(const char *key)
{
	static const char *const families[] = {"hpa_", "experimental_", "san_", "lg_san_", "tcache_", "lg_tcache_"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(others[i], key) == 0)
			return true;
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (strncmp(key, families[i], strlen(families[i])) == 0)
			return true;
	return false;
}

static void complain(struct cairn_malloc_conf *conf, const char *problem)
{
	if (!conf->problem)
		conf->problem = problem;
}

/* Adds "key:value" to what the text should have been. */
static void put_right(struct cairn_buffer *right, const char *key, const char *value)
{
	cairn_buffer_format(right, "%s%.*s:%s", right->length ? "," : "", (int)strcspn(key, "="), key, value);
}

/* What TEXT, which is neither true nor false, was meant to be. Options are set to switch them on, unless the text looks like a no. */
static const char *meant_truth(const char *text)
{
	static const char *const no[] = {"0", "n", "no", "none", "never", "off", "disable", "disabled"};
	text += strspn(text, " ");
	size_t length = strcspn(text, " ");
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		if (strlen(no[i]) == length && strncasecmp(text, no[i], length) == 0)
			return "false";
	return text[0] == 'f' || text[0] == 'F' ? "false" : "true";
}

/* One pair as jemalloc takes it; what it should have been goes to RIGHT. */
static void add_pair(struct cairn_malloc_conf *conf, const char *key, char *value, struct cairn_buffer *right)
{
	const char *known = find_profiling(key, 0),
		   *meant = known ? known : find_profiling(strncmp(key, "opt.", 4) == 0 ? key + 4 : key, 2);
	bool truth = meant && !strchr(meant, '=');
	const char *right_value = truth && strcmp(value, "true") != 0 && strcmp(value, "false") != 0 ? meant_truth(value) : value;
	if (!known && is_other(key))
		meant = key;
	put_right(right, meant ? meant : key, right_value);
	if (!known && !is_other(key))
		complain(conf, cairn_arena_format(conf->arena, "jemalloc has no option '%s'%s", key,
						  meant ? "" : " that Cairn knows of; jemalloc ignores unknown options"));
	else if (known && right_value != value)
		complain(conf, cairn_arena_format(conf->arena, "'%s' takes true or false, not '%s', and keeps its default", key, value));
	else if (conf->count < CAIRN_MALLOC_CONF_PAIRS) {
		conf->pairs[conf->count].key = key;
		conf->pairs[conf->count++].value = value;
	}
	/* A space instead of a comma: further pairs follow it. */
	char *rest = right_value != value ? strchr(value, ' ') : NULL;
	size_t end = rest ? strcspn(rest, ":=") : 0;
	if (!rest || !rest[end])
		return;
	rest[end] = 0;
	struct cairn_malloc_conf unread = {.arena = conf->arena};
	add_pair(&unread, rest + strspn(rest, " "), rest + end + 1, right);
}

/* Takes quotation marks out of TEXT. */
static void remove_marks(char *text)
{
	char *to = text;
	for (; *text; text++)
		if (*text != '"' && *text != '\'')
			*to++ = *text;
	*to = 0;
}

/* What separates the key from its value: a colon, or what people take for one. */
static char separator(const char *pair)
{
	return pair[strcspn(pair, ":=")];
}

void cairn_malloc_conf_add(struct cairn_malloc_conf *conf, const char *text)
{
	struct cairn_buffer right = cairn_buffer(4096);
	const char *before = conf->problem;
	bool broken = false; /* jemalloc reads no further */
	for (const char *at = text; *at;) {
		size_t length = strcspn(at, ",;");
		char *pair = cairn_arena_text(conf->arena, cairn_text_trim((struct cairn_bytes){at, length}));
		char mark = separator(pair), *value = mark ? strchr(pair, mark) : pair + strlen(pair);
		bool spaced = at[0] == ' ' || (length && at[length - 1] == ' ');
		if (strpbrk(pair, "\"'")) {
			complain(conf, "the value contains quotation marks, which jemalloc does not understand: remove them where the "
				       "process is started");
			broken = broken || pair[0] == '"' || pair[0] == '\'';
			remove_marks(pair);
		}
		if (mark != ':' || at[length] == ';' || spaced) {
			complain(conf, cairn_arena_format(conf->arena,
							  "'%s' is malformed: write key:value pairs separated by commas, without "
							  "spaces; jemalloc stops reading there",
							  pair));
			broken = true;
		}
		if (mark)
			*value++ = 0;
		struct cairn_malloc_conf unread = {.arena = conf->arena};
		if (pair[0])
			add_pair(broken ? &unread : conf, pair, value, &right);
		at += length + (at[length] != 0);
	}
	if (conf->problem && !before && !right.failed)
		conf->right = cairn_arena_text(conf->arena, cairn_buffer_bytes(&right));
	cairn_buffer_free(&right);
}

const char *cairn_malloc_conf_get(const struct cairn_malloc_conf *conf, const char *key)
{
	for (size_t i = conf->count; i-- > 0;)
		if (strcmp(conf->pairs[i].key, key) == 0)
			return conf->pairs[i].value;
	return NULL;
}

bool cairn_malloc_conf_true(const struct cairn_malloc_conf *conf, const char *key, bool unless)
{
	const char *value = cairn_malloc_conf_get(conf, key);
	return value ? strcmp(value, "true") == 0 : unless;
}

long cairn_malloc_conf_number(const struct cairn_malloc_conf *conf, const char *key, long unless)
{
	const char *value = cairn_malloc_conf_get(conf, key);
	char *end;
	long number = value ? strtol(value, &end, 10) : unless;
	return value && (end == value || *end) ? unless : number;
}
