/* config.c - the table of keys, and the syntaxes they come in: CAIRN_CONF, a file, and what jemalloc reads in MALLOC_CONF.
 * SPDX-License-Identifier: Apache-2.0 */
#include "protocol/config.h"

#include "base/text.h"
#include "base/time.h"
#include "base/toml.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum kind { TEXT, SIZE, CHOICE, SHARE, SECONDS, RULE, MODE };

#define AT(member) offsetof(struct cairn_config, member)
#define TEXT_AT(member) AT(member), sizeof((struct cairn_config *)0)->member, TEXT

/* Every key: its name in CAIRN_CONF and in the file's [cairn] section, where it goes, and what it may be. */
static const struct key {
	const char *name;
	const char *also; /* the full name another system's file gives it */
	size_t offset;
	size_t size; /* of a text */
	enum kind kind;
	const char *choices[4]; /* numbered from 0; a number with no choice may not be written */
	uint64_t least, most;
	const char *unset; /* what a number with no choice stands for */
} keys[] = {
	[CAIRN_KEY_ENABLE_HEAP_PROFILING] = {"enable_heap_profiling", "memory.enable_heap_profiling", AT(activate), 0, CHOICE,
					     {"false", "true", NULL}, .unset = "as MALLOC_CONF says"},
	[CAIRN_KEY_LISTEN] = {"listen", NULL, TEXT_AT(listen)},
	[CAIRN_KEY_TOKEN] = {"token", NULL, TEXT_AT(token)},
	[CAIRN_KEY_HOSTS] = {"hosts", NULL, TEXT_AT(hosts)},
	[CAIRN_KEY_DUMPS] = {"dumps", "server.heap_profiling.dir", TEXT_AT(dumps)},
	[CAIRN_KEY_TOOL] = {"tool", NULL, TEXT_AT(tool)},
	[CAIRN_KEY_COMPAT] = {"compat", NULL, AT(old_contract), 0, CHOICE, {"new", "old", NULL}},
	[CAIRN_KEY_CONNECTIONS] = {"connections", NULL, AT(connections), 0, SIZE, {0}, 4, 128},
	[CAIRN_KEY_SECONDS] = {"seconds", NULL, AT(seconds), 0, SIZE, {0}, 1, 3600},
	[CAIRN_KEY_TOOL_SECONDS] = {"tool_seconds", NULL, AT(tool_seconds), 0, SIZE, {0}, 1, 3600},
	[CAIRN_KEY_TOOL_MEMORY] = {"tool_memory", NULL, AT(tool_memory), 0, SIZE, {0}, 64 << 20, (uint64_t)1 << 46},
	[CAIRN_KEY_MEMORY] = {"memory", NULL, AT(memory), 0, SIZE, {0}, 4 << 20, (uint64_t)1 << 40},
	[CAIRN_KEY_UNWINDER] = {"unwinder", NULL, AT(unwinder), 0, CHOICE, {"jemalloc", "cairn", NULL}},
	[CAIRN_KEY_DEPTH] = {"depth", NULL, AT(depth), 0, SIZE, {0}, 8, 4096},
	[CAIRN_KEY_BUDGET] = {"budget", NULL, AT(budget), 0, SHARE},
	[CAIRN_KEY_ENGINE] = {"engine", NULL, AT(engine), 0, CHOICE, {CAIRN_ENGINE_NAMES, NULL}},
	[CAIRN_KEY_PERIOD] = {"period", NULL, AT(period), 0, SIZE, {0}, 1, CAIRN_PERIOD_MOST},
	[CAIRN_KEY_LEDGER] = {"ledger", NULL, TEXT_AT(ledger)},
	[CAIRN_KEY_LEDGER_BYTES] = {"ledger_bytes", NULL, AT(ledger_bytes), 0, SIZE, {0}, 1 << 20, (uint64_t)1 << 30},
	[CAIRN_KEY_PREFIX] = {"prefix", NULL, TEXT_AT(prefix)},
	[CAIRN_KEY_AUTO] = {"auto", "server.heap_profiling.enable_auto", AT(automatic), 0, CHOICE, {"false", "true", NULL},
			    .unset = "as the rules say"},
	[CAIRN_KEY_START] = {"start", NULL, 0, 0, RULE},
	[CAIRN_KEY_GROW] = {"grow", NULL, 0, 0, RULE},
	[CAIRN_KEY_EVERY] = {"every", NULL, 0, 0, RULE},
	[CAIRN_KEY_HIGH] = {"high", NULL, 0, 0, RULE},
	[CAIRN_KEY_SHARE] = {"share", "server.heap_profiling.threshold_auto", 0, 0, RULE},
	[CAIRN_KEY_PRESSURE] = {"pressure", NULL, 0, 0, RULE},
	[CAIRN_KEY_TIME] = {"time", NULL, 0, 0, RULE},
	[CAIRN_KEY_INTERVAL] = {"interval", NULL, 0, 0, RULE},
	[CAIRN_KEY_DISTANCE] = {"distance", NULL, 0, 0, RULE},
	[CAIRN_KEY_KEEP_COUNT] = {"keep_count", NULL, AT(keep.count), 0, SIZE, {0}, 0, UINT32_MAX},
	[CAIRN_KEY_KEEP_BYTES] = {"keep_bytes", NULL, AT(keep.bytes), 0, SIZE, {0}, 0, (uint64_t)1 << 60},
	[CAIRN_KEY_KEEP_AGE] = {"keep_age", NULL, AT(keep.age_seconds), 0, SECONDS},
	[CAIRN_KEY_KEEP_FREE] = {"keep_free", NULL, AT(keep.free_bytes), 0, SIZE, {0}, 0, (uint64_t)1 << 60},
	[CAIRN_KEY_MODE] = {"mode", NULL, AT(mode), 0, MODE},
	[CAIRN_KEY_LIMIT] = {"limit", NULL, AT(limit), 0, SIZE, {0}, 0, (uint64_t)1 << 60},
};
static_assert(sizeof keys / sizeof *keys == CAIRN_CONFIG_KEYS, "every key has a row");

void cairn_config_default(struct cairn_config *config)
{
	*config = (struct cairn_config){
		.activate = CAIRN_CONFIG_UNSET,
		.connections = 64,
		.seconds = 10,
		.tool_seconds = 120,
		.tool_memory = (uint64_t)8 << 30,
		.memory = 64 << 20,
		.unwinder = CAIRN_UNWINDER_CAIRN,
		.depth = 1024,
		.engine = CAIRN_ENGINE_AUTO,
		.prefix = "cairn",
		.period = CAIRN_PERIOD_DEFAULT,
		.ledger_bytes = 16 << 20,
		.automatic = CAIRN_CONFIG_UNSET,
		.rules = {.every = cairn_trigger_usual.every,
			  .distance = cairn_trigger_usual.distance,
			  .interval_distance = cairn_trigger_usual.interval_distance},
		.mode = 0600,
		.keep = {.count = 100, .bytes = (uint64_t)1 << 30, .free_bytes = CAIRN_FREE_DEFAULT},
	};
}

/* Adds a problem to those that the status shows. Returns false. */
__attribute__((format(printf, 2, 3))) static bool problem(struct cairn_config *config, const char *format, ...)
{
	size_t used = strlen(config->problems);
	if (used > 0 && used + 2 < sizeof config->problems) {
		memcpy(config->problems + used, "; ", 3);
		used += 2;
	}
	__builtin_va_list arguments;
	__builtin_va_start(arguments, format);
	vsnprintf(config->problems + used, sizeof config->problems - used, format, arguments);
	__builtin_va_end(arguments);
	return false;
}

bool cairn_config_rules(const struct cairn_config *config, struct cairn_trigger_rules *rules)
{
	*rules = config->rules;
	if (config->automatic == CAIRN_CONFIG_OFF)
		rules->share = 0;
	else if (config->automatic == CAIRN_CONFIG_ON && rules->share <= 0)
		rules->share = cairn_trigger_usual.share;
	return cairn_trigger_any(rules);
}

bool cairn_config_has_limit(const struct cairn_config *config)
{
	bool given = false;
	for (unsigned i = CAIRN_KEY_KEEP_COUNT; i <= CAIRN_KEY_KEEP_AGE; i++)
		given |= config->origins[i] != CAIRN_CONFIG_DEFAULT;
	return given;
}

bool cairn_config_has_work(const struct cairn_config *config)
{
	struct cairn_trigger_rules rules;
	return config->listen_unix || config->listen[0] || config->ledger[0] || config->budget || cairn_config_has_limit(config) ||
	       cairn_config_rules(config, &rules);
}

void cairn_config_limits(const struct cairn_config *config, struct cairn_folder_limits *limits)
{
	struct cairn_trigger_rules rules;
	bool given = cairn_config_rules(config, &rules) || cairn_config_has_limit(config);
	*limits = given ? config->keep : (struct cairn_folder_limits){.free_bytes = config->keep.free_bytes};
}

bool cairn_config_limits_all(const struct cairn_config *config)
{
	return cairn_config_has_limit(config) || (config->dumps[0] && !config->dumps_is_foreign);
}

/* Whether an HTTP header can carry TOKEN through any proxy: it is visible ASCII. */
static bool is_sendable(struct cairn_bytes token)
{
	for (size_t i = 0; i < token.length; i++)
		if (token.data[i] <= ' ' || token.data[i] > '~')
			return false;
	return true;
}

/* Returns whether TOKEN can be used; if so, it replaces any earlier one. If not, `token_unusable` is set: the agent must not run as if it
 * had no token. */
static bool accept_token(struct cairn_config *config, struct cairn_bytes token, size_t most)
{
	config->token_unusable = token.length == 0 || token.length > most || !is_sendable(token);
	if (token.length == 0)
		problem(config, "token is empty");
	else if (token.length > most)
		problem(config, "token is longer than %zu bytes", most);
	else if (config->token_unusable)
		problem(config, "token has a space, a control character or a non-ASCII character, which an HTTP header cannot carry");
	return !config->token_unusable;
}

/* Reads TEXT as the value of KEY, which is not a text or a rule; reports a problem and returns false if it is no such value. */
static bool parse_number(struct cairn_config *config, const struct key *key, const char *text, uint64_t *number)
{
	char *end;
	switch (key->kind) {
	case CHOICE: {
		unsigned choice = 0;
		while (key->choices[choice] && strcmp(key->choices[choice], text) != 0)
			choice++;
		if (!key->choices[choice])
			return problem(config, "%s is %s%s%s or %s, not '%.40s'", key->name, key->choices[0], choice > 2 ? ", " : "",
				       choice > 2 ? key->choices[1] : "", key->choices[choice - 1], text);
		*number = choice;
		return true;
	}
	case SHARE: {
		double percent = strtod(text, &end);
		if (end == text || strcmp(end, "%") != 0 || !(percent >= 0 && percent <= 100))
			return problem(config, "%s is a share such as 1%%, not '%.40s'", key->name, text);
		*number = (uint64_t)(percent * 10000);
		return true;
	}
	case SECONDS: {
		int64_t ns;
		if (!cairn_text_duration(text, &ns))
			return problem(config, "%s is a time such as 12h or 7d, not '%.40s'", key->name, text);
		*number = (uint64_t)ns / CAIRN_SECOND_NS;
		return true;
	}
	case MODE:
		/* The owner can read and write, or the agent could not; nobody executes a dump. */
		*number = strtoull(text, &end, 8);
		if (end == text || *end || text[0] < '0' || text[0] > '7' || (*number & 0600) != 0600 || (*number & ~(uint64_t)0666))
			return problem(config, "%s is a file mode such as 0640, not '%.40s'", key->name, text);
		return true;
	case SIZE:
		if (!cairn_text_size(text, number) || *number < key->least || *number > key->most)
			return problem(config, "%s is a number from %llu to %llu, not '%.40s'", key->name, (unsigned long long)key->least,
				       (unsigned long long)key->most, text);
		return true;
	case TEXT:
	case RULE: break;
	}
	return false;
}

/* False if VALUE is no value of KEY, which keeps the one it has. */
static bool set(struct cairn_config *config, const struct key *key, struct cairn_bytes value, enum cairn_config_origin origin)
{
	char *field = (char *)config + key->offset;
	char text[64] = "";
	if (value.length < sizeof text)
		memcpy(text, value.data, value.length);
	if (key->kind == TEXT) {
		if (key - keys == CAIRN_KEY_TOKEN && !accept_token(config, value, key->size - 1))
			return false;
		if (value.length >= key->size)
			return problem(config, "%s is longer than %zu bytes", key->name, key->size - 1);
		memcpy(field, value.data, value.length);
		field[value.length] = 0;
		if (key - keys == CAIRN_KEY_LISTEN) {
			config->listen_unix = strcmp(config->listen, CAIRN_LISTEN_UNIX) == 0;
			config->listen[config->listen_unix ? 0 : value.length] = 0;
		}
	} else if (key->kind == RULE) {
		struct cairn_error error;
		if (!cairn_trigger_set(&config->rules, key->name, text, &error))
			return problem(config, "%s", error.text);
	} else {
		uint64_t number;
		if (!parse_number(config, key, text, &number))
			return false;
		memcpy(field, &number, sizeof number);
	}
	config->origins[key - keys] = origin;
	return true;
}

/* Tells of a key that is none, and of the one that was most likely meant. */
static void unknown_key(struct cairn_config *config, const char *given)
{
	const char *nearest = NULL;
	unsigned best = 3;
	for (unsigned i = 0; i < CAIRN_CONFIG_KEYS; i++) {
		unsigned distance = cairn_text_distance(keys[i].name, given);
		if (distance < best && distance < strlen(keys[i].name) / 2) {
			best = distance;
			nearest = keys[i].name;
		}
	}
	if (strncmp(given, "token", 5) == 0 || (nearest && strcmp(nearest, "token") == 0))
		config->token_unusable = true;
	if (strchr(given, '='))
		problem(config, "'%.40s' has an equals sign; write key:value", given);
	else
		problem(config, nearest ? "unknown key '%.40s'; did you mean '%s'?" : "unknown key '%.40s'", given, nearest);
}

/* The key of that name, in which - is _; NULL if there is none. */
static const struct key *find_key(const char *given)
{
	char name[64];
	snprintf(name, sizeof name, "%s", given);
	for (char *dash; (dash = strchr(name, '-'));)
		*dash = '_';
	for (unsigned i = 0; i < CAIRN_CONFIG_KEYS; i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

void cairn_config_set(struct cairn_config *config, const char *given, struct cairn_bytes value, enum cairn_config_origin origin)
{
	const struct key *key = find_key(given);
	if (!key) {
		unknown_key(config, given);
		return;
	}
	if (set(config, key, value, origin) && key - keys == CAIRN_KEY_DUMPS)
		config->dumps_is_foreign = false;
}

void cairn_config_set_foreign(struct cairn_config *config, const char *full, struct cairn_bytes value, enum cairn_config_origin origin)
{
	for (unsigned i = 0; i < CAIRN_CONFIG_KEYS; i++)
		if (keys[i].also && strcmp(keys[i].also, full) == 0) {
			if (set(config, &keys[i], value, origin) && i == CAIRN_KEY_DUMPS)
				config->dumps_is_foreign = true;
		}
}

void cairn_config_environment(struct cairn_config *config, struct cairn_bytes text)
{
	bool after_token = false;
	while (text.length > 0) {
		struct cairn_bytes pair = cairn_text_trim(cairn_text_field(&text, ','));
		const char *colon = pair.length ? memchr(pair.data, ':', pair.length) : NULL;
		char name[64];
		size_t length = colon ? (size_t)(colon - pair.data) : pair.length;
		snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), pair.length ? pair.data : "");
		if (colon)
			cairn_config_set(config, name, cairn_bytes_skip(pair, length + 1), CAIRN_CONFIG_ENVIRONMENT);
		else if (pair.length > 0)
			problem(config, "CAIRN_CONF: '%s' is not key:value", name);
		/* What stands behind a token without a key of its own is the rest of it, behind a comma. */
		if (pair.length > 0 && !colon && (after_token || strncmp(name, "token", 5) == 0))
			config->token_unusable = true;
		after_token = colon && strcmp(name, "token") == 0;
	}
}

static void set_from_file(struct cairn_config *config, const char *full, struct cairn_bytes value)
{
	if (strncmp(full, "cairn.", 6) == 0)
		cairn_config_set(config, full + 6, value, CAIRN_CONFIG_FILE);
	else
		cairn_config_set_foreign(config, full, value, CAIRN_CONFIG_FILE);
}

/* What a file has outside its section [cairn]. */
struct outside {
	bool has_section;
	bool has_others;       /* keys that are not the agent's: the file is a service's own */
	bool has_token;
	const struct key *any; /* the first key of ours without a table, */
	const struct key *own; /* and the first that no service has: one of two words */
};

static void see_outside(struct outside *outside, const char *full)
{
	const struct key *key = find_key(full);
	outside->has_section |= strncmp(full, "cairn.", 6) == 0;
	outside->has_others |= !key;
	outside->has_token |= key && key - keys == CAIRN_KEY_TOKEN;
	if (key && !outside->any)
		outside->any = key;
	if (key && !outside->own && strchr(key->name, '_'))
		outside->own = key;
}

/* Tells of keys that were meant for the agent and are not in its section. A service's own file may have a `listen` of its own; one that
 * has nothing but keys of ours was written for the agent. */
static void tell_outside(struct cairn_config *config, const struct outside *outside)
{
	const struct key *meant = outside->own ? outside->own : outside->has_others ? NULL : outside->any;
	if (!meant || outside->has_section)
		return;
	problem(config, "CAIRN_CONFIG: '%s' is ignored outside the section [cairn]", meant->name);
	config->token_unusable |= outside->has_token && !outside->has_others;
}

void cairn_config_file(struct cairn_config *config, struct cairn_bytes text)
{
	struct cairn_toml in = cairn_toml(text);
	struct outside outside = {0};
	char name[CAIRN_TOML_NAME], room[sizeof config->token + 64];
	for (struct cairn_bytes value; cairn_toml_next(&in, name, room, sizeof room, &value);) {
		set_from_file(config, name, value);
		see_outside(&outside, name);
	}
	tell_outside(config, &outside);
}

/* The values of jemalloc's that Cairn's engine has as well; the last of several counts. */
struct malloc_conf {
	struct cairn_bytes prof, active, sample, prefix, interval;
};

/* A pair without a colon ends the text for jemalloc. */
static struct malloc_conf read_malloc_conf(struct cairn_bytes text)
{
	struct malloc_conf conf = {0};
	const struct {
		const char *name;
		struct cairn_bytes *value;
	} options[] = {{"prof", &conf.prof}, {"prof_active", &conf.active}, {"lg_prof_sample", &conf.sample},
		       {"prof_prefix", &conf.prefix}, {"lg_prof_interval", &conf.interval}};
	while (text.length > 0) {
		struct cairn_bytes value = cairn_text_field(&text, ',');
		if (!cairn_bytes_contain(value, ":"))
			break;
		struct cairn_bytes name = cairn_text_field(&value, ':');
		for (size_t i = 0; i < sizeof options / sizeof *options; i++)
			if (cairn_bytes_equal(name, cairn_bytes_of(options[i].name)))
				*options[i].value = value;
	}
	return conf;
}

static void set_default(struct cairn_config *config, enum cairn_config_key key, struct cairn_bytes value)
{
	if (config->origins[key] == CAIRN_CONFIG_DEFAULT)
		set(config, &keys[key], value, CAIRN_CONFIG_MALLOC_CONF);
}

/* VALUE is the logarithm of a number of bytes up to MOST. */
static void set_power(struct cairn_config *config, enum cairn_config_key key, struct cairn_bytes value, uint64_t most)
{
	char text[24];
	uint64_t power;
	bool whole = value.length && cairn_text_decimal(&value, &power) && value.length == 0;
	if (!whole || power > 63 || (uint64_t)1 << power > most)
		return;
	snprintf(text, sizeof text, "%llu", 1ULL << power);
	set_default(config, key, cairn_bytes_of(text));
}

void cairn_config_malloc_conf(struct cairn_config *config, struct cairn_bytes text)
{
	const struct malloc_conf conf = read_malloc_conf(text);
	const struct cairn_bytes no = cairn_bytes_of("false");
	if (!cairn_bytes_equal(conf.prof, cairn_bytes_of("true")))
		return;
	set_default(config, CAIRN_KEY_ENABLE_HEAP_PROFILING, cairn_bytes_equal(conf.active, no) ? no : conf.prof);
	set_power(config, CAIRN_KEY_PERIOD, conf.sample, CAIRN_PERIOD_MOST);
	bool is_silent = conf.prefix.data && conf.prefix.length == 0; /* jemalloc then writes no dumps by itself */
	if (!is_silent)
		set_power(config, CAIRN_KEY_INTERVAL, conf.interval, (uint64_t)1 << 62);
	if (conf.prefix.length)
		set_default(config, CAIRN_KEY_PREFIX, conf.prefix);
}

const char *cairn_config_show(const struct cairn_config *config, unsigned index, char *out, size_t size)
{
	const struct key *key = &keys[index];
	const char *field = (const char *)config + key->offset;
	uint64_t number = 0;
	if (key->kind != TEXT && key->kind != RULE)
		memcpy(&number, field, sizeof number);
	if (key->kind == RULE)
		cairn_trigger_show(&config->rules, key->name, out, size);
	else if (key->kind == SIZE && number == CAIRN_FREE_DEFAULT)
		snprintf(out, size, "a twentieth of the disk, at most 1 GiB");
	else if (key->kind == MODE)
		snprintf(out, size, "%04llo", (unsigned long long)number);
	else if (key->kind == SECONDS)
		snprintf(out, size, "%llus", (unsigned long long)number);
	else if (key->kind == SIZE)
		snprintf(out, size, "%llu", (unsigned long long)number);
	else if (key->kind == SHARE)
		snprintf(out, size, number ? "%.6g%%" : "none", (double)number / 10000);
	else if (key->kind == CHOICE)
		snprintf(out, size, "%s", key->choices[number] ? key->choices[number] : key->unset);
	else
		snprintf(out, size, "%s", index == CAIRN_KEY_TOKEN && field[0] ? "set"
					  : index == CAIRN_KEY_LISTEN && config->listen_unix ? CAIRN_LISTEN_UNIX : field);
	return key->name;
}

const char *cairn_config_origin_name(enum cairn_config_origin origin)
{
	static const char *const names[] = {"default", "MALLOC_CONF", "cairn_start", "file", "environment"};
	static_assert(sizeof names / sizeof *names == CAIRN_CONFIG_ENVIRONMENT + 1, "every origin has a name");
	return names[origin];
}
