/* settings.c - finds options by name, sets them and shows their values.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/prompt/settings.h"

#include <string.h>

static bool is_of_each_command(const struct cairn_option_group *group)
{
	return group->options == cairn_output_option_table;
}

static bool same_name(const char *name, const char *typed)
{
	for (; *name && *typed; name++, typed++)
		if (*name != *typed && !(strchr("-_", *name) && strchr("-_", *typed)))
			return false;
	return *name == *typed;
}

/* The option NAME of GROUPS, and the offset of its value in a command's struct of options. */
static const struct cairn_option *find_option(const struct cairn_option_group *groups, const char *name, size_t *offset)
{
	for (const struct cairn_option_group *group = groups; group && group->options; group++) {
		if (is_of_each_command(group))
			continue;
		for (const struct cairn_option *option = group->options; option->name; option++)
			if (same_name(option->name, name)) {
				*offset = group->offset + option->offset;
				return option;
			}
	}
	return NULL;
}

bool cairn_settings_apply_to(const struct cairn_command *command, const char *name)
{
	size_t offset;
	return find_option(command->groups, name, &offset) != NULL;
}

const struct cairn_option *cairn_settings_option(const struct cairn_settings *settings, size_t index, const void **value)
{
	for (const struct cairn_option_group *group = cairn_report_groups; group->options; group++) {
		if (is_of_each_command(group))
			continue;
		for (const struct cairn_option *option = group->options; option->name; option++)
			if (option->help && index-- == 0) {
				*value = (const char *)&settings->setup + group->offset + option->offset;
				return option;
			}
	}
	return NULL;
}

static size_t value_size(enum cairn_option_kind kind)
{
	switch (kind) {
	case CAIRN_OPTION_FLAG:
		return sizeof(bool);
	case CAIRN_OPTION_CHOICE:
		return sizeof(int);
	case CAIRN_OPTION_TEXT:
		return sizeof(char *);
	case CAIRN_OPTION_LIST:
		return sizeof(struct cairn_option_list);
	default:
		return sizeof(uint64_t);
	}
}

/* Resets an option of SETUP to its default. */
static void reset_option(const struct cairn_option *option, struct cairn_view_setup *setup, size_t offset)
{
	struct cairn_view_setup not_given = {0};
	cairn_view_set_not_given(&not_given);
	memcpy((char *)setup + offset, (const char *)&not_given + offset, value_size(option->kind));
}

static bool is_no(const char *text)
{
	return strcmp(text, "false") == 0 || strcmp(text, "no") == 0 || strcmp(text, "0") == 0 || strcmp(text, "off") == 0;
}

static bool some_command_has(const char *name)
{
	for (size_t i = 0; cairn_commands[i]; i++)
		if (cairn_commands[i]->view && cairn_settings_apply_to(cairn_commands[i], name))
			return true;
	return false;
}

/* Stores an option that only some commands have as it was typed. */
static bool keep_extra(struct cairn_settings *settings, const char *name, const char *text)
{
	size_t at = 0, length = strlen(name);
	if (!some_command_has(name))
		return false;
	while (at < settings->extra_count &&
	       !(strncmp(settings->extras[at] + 2, name, length) == 0 && settings->extras[at][2 + length] == '='))
		at++;
	if (at == CAIRN_SETTINGS_EXTRAS_MOST)
		return false;
	if (at == settings->extra_count)
		settings->extra_count++;
	settings->extras[at] = cairn_arena_format(&settings->arena, "--%s=%s", name, text ? text : "");
	return true;
}

bool cairn_settings_set(struct cairn_settings *settings, struct cairn_reload *reload, const char *word, bool *known,
			struct cairn_error *error)
{
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word), offset;
	const char *name = cairn_arena_text(&settings->arena, (struct cairn_bytes){word, length});
	const char *text = equals ? cairn_arena_text(&settings->arena, cairn_bytes_of(equals + 1)) : NULL;
	const struct cairn_option *option = find_option(cairn_report_groups, name, &offset);
	*known = option || keep_extra(settings, name, text);
	if (!option)
		return *known;
	if (option->argument && !text)
		return cairn_fail(error, "missing value: %s=%s sets it, %s= unsets it", option->name, option->argument, option->name);
	struct cairn_view_setup before = settings->setup;
	bool resets = text && (!*text || (!option->argument && is_no(text)));
	if (resets || option->kind == CAIRN_OPTION_LIST)
		reset_option(option, &settings->setup, offset);
	/* What cannot be loaded is not set. */
	bool good = (resets || cairn_option_set(option, (char *)&settings->setup + offset, text, error)) &&
		    cairn_reload_get(reload, &settings->setup.source, error);
	if (!good)
		settings->setup = before;
	return good;
}

static void show_value(const struct cairn_option *option, const void *value, struct cairn_buffer *out)
{
	const char *text;
	const struct cairn_option_list *list;
	uint64_t count;
	double number;
	switch (option->kind) {
	case CAIRN_OPTION_FLAG:
		cairn_buffer_text(out, *(const bool *)value ? "yes" : "no");
		break;
	case CAIRN_OPTION_CHOICE:
		cairn_buffer_text(out, *(const int *)value == option->choice ? "yes" : "no");
		break;
	case CAIRN_OPTION_TEXT:
		text = *(const char *const *)value;
		cairn_buffer_text(out, text ? text : "");
		break;
	case CAIRN_OPTION_LIST:
		list = value;
		for (size_t i = 0; i < list->count; i++)
			cairn_buffer_format(out, "%s%s", i ? " " : "", list->items[i]);
		break;
	case CAIRN_OPTION_NUMBER:
	case CAIRN_OPTION_POSITIVE:
		number = *(const double *)value;
		if (number >= 0)
			cairn_buffer_format(out, "%g", number);
		break;
	default:
		count = *(const uint64_t *)value;
		if (count != UINT64_MAX)
			cairn_buffer_format(out, "%llu", (unsigned long long)count);
	}
}

void cairn_settings_show(const struct cairn_settings *settings, struct cairn_buffer *out)
{
	const struct cairn_option *option;
	const void *value;
	for (size_t i = 0; (option = cairn_settings_option(settings, i, &value)); i++) {
		struct cairn_buffer text = cairn_buffer(SIZE_MAX);
		show_value(option, value, &text);
		cairn_buffer_byte(&text, '\0');
		cairn_buffer_format(out, "  %-22s = %-12s %s\n", option->name, text.data, option->help);
		cairn_buffer_free(&text);
	}
	for (size_t i = 0; i < settings->extra_count; i++)
		cairn_buffer_format(out, "  %s\n", settings->extras[i] + 2);
}

int cairn_settings_extras(const struct cairn_settings *settings, const struct cairn_command *command, struct cairn_arena *arena,
			  char **arguments)
{
	int count = 0;
	for (size_t i = 0; i < settings->extra_count; i++) {
		const char *extra = settings->extras[i] + 2;
		const char *name = cairn_arena_text(arena, (struct cairn_bytes){extra, strcspn(extra, "=")});
		if (cairn_settings_apply_to(command, name))
			arguments[count++] = cairn_arena_text(arena, cairn_bytes_of(settings->extras[i]));
	}
	return count;
}

void cairn_settings_free(struct cairn_settings *settings)
{
	cairn_arena_free(&settings->arena);
}
