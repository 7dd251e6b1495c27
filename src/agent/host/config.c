/* config.c - the table of keys, and the two syntaxes they come in.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/config.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

enum kind { TEXT, SIZE, CHOICE, SHARE, SECONDS, RULE };

/* Every key: its name in CAIRN_CONF and in the file's [cairn] section, where it goes, and what it may be. */
static const struct key {
	const char *name;
	const char *also; /* the full name another system's file gives it */
	size_t offset;
	size_t size; /* of a text */
	enum kind kind;
	const char *choices[3]; /* numbered from 0; a number with no choice may not be written */
	uint64_t least, most;
} keys[CAIRN_CONFIG_KEYS] = {
	{"enable_heap_profiling", "memory.enable_heap_profiling", offsetof(struct cairn_config, activate), 0, CHOICE, {"false", "true", NULL}},
	{"listen", NULL, offsetof(struct cairn_config, listen), sizeof ((struct cairn_config *)0)->listen, TEXT},
	{"token", NULL, offsetof(struct cairn_config, token), sizeof ((struct cairn_config *)0)->token, TEXT},
	{"hosts", NULL, offsetof(struct cairn_config, hosts), sizeof ((struct cairn_config *)0)->hosts, TEXT},
	{"dumps", "server.heap_profiling.dir", offsetof(struct cairn_config, dumps), sizeof ((struct cairn_config *)0)->dumps, TEXT},
	{"tool", NULL, offsetof(struct cairn_config, tool), sizeof ((struct cairn_config *)0)->tool, TEXT},
	{"compat", NULL, offsetof(struct cairn_config, old_contract), 0, CHOICE, {"new", "old", NULL}},
	{"connections", NULL, offsetof(struct cairn_config, connections), 0, SIZE, {0}, 4, 128},
	{"seconds", NULL, offsetof(struct cairn_config, seconds), 0, SIZE, {0}, 1, 3600},
	{"tool_seconds", NULL, offsetof(struct cairn_config, tool_seconds), 0, SIZE, {0}, 1, 3600},
	{"tool_memory", NULL, offsetof(struct cairn_config, tool_memory), 0, SIZE, {0}, 64 << 20, (uint64_t)1 << 46},
	{"unwinder", NULL, offsetof(struct cairn_config, unwinder), 0, CHOICE, {"jemalloc", "cairn", NULL}},
	{"depth", NULL, offsetof(struct cairn_config, depth), 0, SIZE, {0}, 8, 4096},
	{"budget", NULL, offsetof(struct cairn_config, budget), 0, SHARE},
	{"auto", "server.heap_profiling.enable_auto", offsetof(struct cairn_config, automatic), 0, CHOICE, {"false", "true", NULL}},
	{"start", NULL, 0, 0, RULE},
	{"grow", NULL, 0, 0, RULE},
	{"every", NULL, 0, 0, RULE},
	{"high", NULL, 0, 0, RULE},
	{"share", "server.heap_profiling.threshold_auto", 0, 0, RULE},
	{"pressure", NULL, 0, 0, RULE},
	{"time", NULL, 0, 0, RULE},
	{"interval", NULL, 0, 0, RULE},
	{"distance", NULL, 0, 0, RULE},
	{"keep_count", NULL, offsetof(struct cairn_config, keep.count), 0, SIZE, {0}, 0, UINT32_MAX},
	{"keep_bytes", NULL, offsetof(struct cairn_config, keep.bytes), 0, SIZE, {0}, 0, (uint64_t)1 << 60},
	{"keep_age", NULL, offsetof(struct cairn_config, keep.age_seconds), 0, SECONDS},
	{"keep_free", NULL, offsetof(struct cairn_config, keep.free_bytes), 0, SIZE, {0}, 0, (uint64_t)1 << 60},
};

void cairn_config_default(struct cairn_config *config)
{
	*config = (struct cairn_config){
		.activate = 2,
		.connections = 64,
		.seconds = 10,
		.tool_seconds = 120,
		.tool_memory = (uint64_t)8 << 30,
		.unwinder = 1,
		.depth = 1024,
		.automatic = 2,
		.rules = {.every = cairn_trigger_usual.every, .distance = cairn_trigger_usual.distance},
		.keep = {.count = 100, .bytes = (uint64_t)1 << 30, .free_bytes = CAIRN_FREE_DEFAULT},
	};
}

__attribute__((format(printf, 2, 3))) static void problem(struct cairn_config *config, const char *format, ...)
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
}

bool cairn_config_rules(const struct cairn_config *config, struct cairn_trigger_rules *rules)
{
	*rules = config->rules;
	if (config->automatic == 0)
		rules->share = 0;
	else if (config->automatic == 1 && rules->share <= 0)
		rules->share = cairn_trigger_usual.share;
	return rules->start || rules->grow || rules->high || rules->share > 0 || rules->pressure > 0 || rules->time || rules->interval;
}

void cairn_config_limits(const struct cairn_config *config, struct cairn_folder_limits *limits)
{
	struct cairn_trigger_rules rules;
	bool given = cairn_config_rules(config, &rules);
	for (unsigned i = 0; i < CAIRN_CONFIG_KEYS; i++)
		given |= config->origins[i] != CAIRN_CONFIG_DEFAULT && strncmp(keys[i].name, "keep_", 5) == 0 && strcmp(keys[i].name, "keep_free") != 0;
	*limits = given ? config->keep : (struct cairn_folder_limits){.free_bytes = config->keep.free_bytes};
}

/* What a header can carry, whatever stands between: visible ASCII. */
static bool is_sendable(struct cairn_bytes token)
{
	for (size_t i = 0; i < token.length; i++)
		if (token.data[i] <= ' ' || token.data[i] > '~')
			return false;
	return true;
}

/* A token that cannot be used is not the same as none. Whether this one can; if so it is asked for in place of any before. */
static bool accept_token(struct cairn_config *config, struct cairn_bytes token, size_t most)
{
	config->token_unusable = token.length == 0 || token.length > most || !is_sendable(token);
	if (token.length == 0)
		problem(config, "token is empty");
	else if (token.length > most)
		problem(config, "token is longer than %zu bytes", most);
	else if (config->token_unusable)
		problem(config, "token has a space, a control character or one that is not ASCII, which no header can carry");
	return !config->token_unusable;
}

static void set(struct cairn_config *config, const struct key *key, struct cairn_bytes value, enum cairn_config_origin origin)
{
	char *field = (char *)config + key->offset;
	char text[64] = "";
	if (value.length < sizeof text)
		memcpy(text, value.data, value.length);
	if (key->kind == TEXT) {
		if (strcmp(key->name, "token") == 0 && !accept_token(config, value, key->size - 1))
			return;
		if (value.length >= key->size) {
			problem(config, "%s is longer than %zu bytes", key->name, key->size - 1);
			return;
		}
		memcpy(field, value.data, value.length);
		field[value.length] = 0;
	} else if (key->kind == CHOICE) {
		uint64_t choice = 0;
		while (key->choices[choice] && strcmp(key->choices[choice], text) != 0)
			choice++;
		if (!key->choices[choice]) {
			problem(config, "%s is %s or %s, not '%.40s'", key->name, key->choices[0], key->choices[1], text);
			return;
		}
		memcpy(field, &choice, sizeof choice);
	} else if (key->kind == SHARE) {
		char *end;
		double percent = strtod(text, &end);
		if (end == text || strcmp(end, "%") != 0 || !(percent >= 0 && percent <= 100)) {
			problem(config, "%s is a share such as 1%%, not '%.40s'", key->name, text);
			return;
		}
		uint64_t millionths = (uint64_t)(percent * 10000);
		memcpy(field, &millionths, sizeof millionths);
	} else if (key->kind == SECONDS) {
		int64_t ns;
		if (!cairn_text_duration(text, &ns)) {
			problem(config, "%s is a time such as 12h or 7d, not '%.40s'", key->name, text);
			return;
		}
		uint64_t seconds = (uint64_t)ns / 1000000000;
		memcpy(field, &seconds, sizeof seconds);
	} else if (key->kind == RULE) {
		struct cairn_error error;
		if (!cairn_trigger_set(&config->rules, key->name, text, &error)) {
			problem(config, "%s", error.text);
			return;
		}
	} else {
		uint64_t size;
		if (!cairn_text_size(text, &size) || size < key->least || size > key->most) {
			problem(config, "%s is a number from %llu to %llu, not '%.40s'", key->name, (unsigned long long)key->least,
				(unsigned long long)key->most, text);
			return;
		}
		memcpy(field, &size, sizeof size);
	}
	config->origins[key - keys] = origin;
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
		problem(config, "'%.40s' has an equals sign where a colon is meant", given);
	else
		problem(config, nearest ? "unknown key '%.40s'; is '%s' meant?" : "unknown key '%.40s'", given, nearest);
}

void cairn_config_set(struct cairn_config *config, const char *given, struct cairn_bytes value, enum cairn_config_origin origin)
{
	char name[64];
	snprintf(name, sizeof name, "%s", given);
	for (char *dash; (dash = strchr(name, '-'));)
		*dash = '_';
	for (unsigned i = 0; i < CAIRN_CONFIG_KEYS; i++)
		if (strcmp(keys[i].name, name) == 0) {
			set(config, &keys[i], value, origin);
			return;
		}
	unknown_key(config, given);
}

void cairn_config_environment(struct cairn_config *config, struct cairn_bytes text)
{
	bool after_token = false;
	while (text.length > 0) {
		const char *comma = memchr(text.data, ',', text.length);
		struct cairn_bytes pair = {text.data, comma ? (size_t)(comma - text.data) : text.length};
		text = cairn_bytes_skip(text, pair.length + 1);
		pair = cairn_text_trim(pair);
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

/* TOML (toml.io/en/v1.0.0), as much of it as it takes to find our keys among anything else. */
struct toml {
	struct cairn_bytes rest;
	char section[128];
};

static void skip_space(struct toml *in, bool lines)
{
	while (in->rest.length > 0) {
		char c = in->rest.data[0];
		if (c == '#') {
			const char *end = memchr(in->rest.data, '\n', in->rest.length);
			in->rest = cairn_bytes_skip(in->rest, end ? (size_t)(end - in->rest.data) : in->rest.length);
		} else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) {
			in->rest = cairn_bytes_skip(in->rest, 1);
		} else {
			return;
		}
	}
}

static void skip_line(struct toml *in)
{
	struct cairn_bytes line;
	cairn_text_line(&in->rest, &line, NULL);
}

/* A string of any of the four kinds; escapes other than \" and \\ are left as they are. */
static struct cairn_bytes take_string(struct toml *in, char *out, size_t size)
{
	char quote = in->rest.data[0];
	char triple[4] = {quote, quote, quote, 0};
	bool multiline = cairn_text_take(&in->rest, triple);
	if (!multiline)
		in->rest = cairn_bytes_skip(in->rest, 1);
	size_t length = 0;
	while (in->rest.length > 0) {
		if (multiline ? cairn_text_take(&in->rest, triple) : in->rest.data[0] == quote || in->rest.data[0] == '\n') {
			if (!multiline)
				in->rest = cairn_bytes_skip(in->rest, in->rest.data[0] == quote);
			break;
		}
		if (quote == '"' && in->rest.data[0] == '\\' && in->rest.length > 1)
			in->rest = cairn_bytes_skip(in->rest, 1);
		if (length + 1 < size)
			out[length++] = in->rest.data[0];
		in->rest = cairn_bytes_skip(in->rest, 1);
	}
	return (struct cairn_bytes){out, length};
}

/* Skips an array or inline table, however deep, with the strings in it. */
static void skip_brackets(struct toml *in)
{
	char scratch[8];
	int depth = 0;
	do {
		char c = in->rest.data[0];
		if (c == '"' || c == '\'') {
			take_string(in, scratch, sizeof scratch);
		} else {
			depth += (c == '[' || c == '{') - (c == ']' || c == '}');
			in->rest = cairn_bytes_skip(in->rest, 1);
		}
		if (depth > 0)
			skip_space(in, true);
	} while (depth > 0 && in->rest.length > 0);
}

static struct cairn_bytes take_value(struct toml *in, char *out, size_t size)
{
	if (in->rest.length == 0)
		return (struct cairn_bytes){"", 0};
	char c = in->rest.data[0];
	if (c == '"' || c == '\'')
		return take_string(in, out, size);
	if (c == '[' || c == '{') {
		skip_brackets(in);
		return (struct cairn_bytes){"", 0};
	}
	size_t length = 0;
	while (length < in->rest.length && !memchr("\n#", in->rest.data[length], 2))
		length++;
	struct cairn_bytes bare = cairn_text_trim((struct cairn_bytes){in->rest.data, length});
	in->rest = cairn_bytes_skip(in->rest, length);
	return bare;
}

/* A dotted name up to STOP, with spaces and quotes taken out. */
static bool take_name(struct toml *in, char stop, char *out, size_t size)
{
	size_t length = 0;
	while (in->rest.length > 0 && in->rest.data[0] != stop && in->rest.data[0] != '\n') {
		char c = in->rest.data[0];
		if (c != ' ' && c != '\t' && c != '"' && c != '\'' && c != '\r' && length + 1 < size)
			out[length++] = c;
		in->rest = cairn_bytes_skip(in->rest, 1);
	}
	out[length] = 0;
	bool found = in->rest.length > 0 && in->rest.data[0] == stop;
	in->rest = cairn_bytes_skip(in->rest, found);
	return found && length > 0;
}

static void set_from_file(struct cairn_config *config, const char *full, struct cairn_bytes value)
{
	if (strncmp(full, "cairn.", 6) == 0) {
		cairn_config_set(config, full + 6, value, CAIRN_CONFIG_FILE);
		return;
	}
	for (unsigned i = 0; i < CAIRN_CONFIG_KEYS; i++)
		if (keys[i].also && strcmp(keys[i].also, full) == 0)
			set(config, &keys[i], value, CAIRN_CONFIG_FILE);
}

void cairn_config_file(struct cairn_config *config, struct cairn_bytes text)
{
	struct toml in = {.rest = text};
	for (skip_space(&in, true); in.rest.length > 0; skip_space(&in, true)) {
		char name[128], full[260], value[sizeof config->token + 64];
		if (in.rest.data[0] == '[') {
			in.rest = cairn_bytes_skip(in.rest, cairn_bytes_start_with(in.rest, "[[") ? 2 : 1);
			if (!take_name(&in, ']', in.section, sizeof in.section))
				in.section[0] = 0;
			skip_line(&in);
			continue;
		}
		if (!take_name(&in, '=', name, sizeof name)) {
			skip_line(&in);
			continue;
		}
		skip_space(&in, false);
		struct cairn_bytes taken = take_value(&in, value, sizeof value);
		snprintf(full, sizeof full, "%s%s%s", in.section, in.section[0] ? "." : "", name);
		set_from_file(config, full, taken);
		skip_line(&in);
	}
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
	else if (key->kind == SECONDS)
		snprintf(out, size, "%llus", (unsigned long long)number);
	else if (key->kind == SIZE)
		snprintf(out, size, "%llu", (unsigned long long)number);
	else if (key->kind == SHARE)
		snprintf(out, size, number ? "%.6g%%" : "none", (double)number / 10000);
	else if (key->kind == CHOICE)
		snprintf(out, size, "%s", key->choices[number] ? key->choices[number] : key->offset ? "as the rules say" : "as MALLOC_CONF says");
	else
		snprintf(out, size, "%s", strcmp(key->name, "token") == 0 && field[0] ? "set" : field);
	return key->name;
}

const char *cairn_config_origin_name(enum cairn_config_origin origin)
{
	static const char *const names[] = {"default", "cairn_start", "file", "environment"};
	return names[origin];
}
