/* selector.c - parses selectors and matches processes against them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/serve/selector.h"

#include "http/request.h"

#include <stdio.h>
#include <string.h>

static const char *const own_labels[] = {"service_name", "version", "host", "instance", "__name__"};
enum { own_count = sizeof own_labels / sizeof *own_labels };

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

/* Takes a name off *AT. */
static bool take_name(const char **at, char *out, size_t size)
{
	size_t length = strspn(*at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:");
	snprintf(out, size, "%.*s", (int)(length < size ? length : size - 1), *at);
	*at += length;
	return length > 0 && length < size;
}

/* Takes a quoted text off *AT, with the escapes that Go and JSON have in common; text in back quotes has none. */
static bool take_quoted(const char **at, char *out, size_t size)
{
	char quote = **at;
	size_t length = 0;
	if (quote != '"' && quote != '\'' && quote != '`')
		return false;
	const char *from = *at + 1;
	for (; *from && *from != quote; from++) {
		char byte = *from;
		if (byte == '\\' && quote != '`' && from[1]) {
			from++;
			byte = *from == 'n' ? '\n' : *from == 't' ? '\t' : *from == 'r' ? '\r' : *from;
		}
		if (length + 1 >= size)
			return false;
		out[length++] = byte;
	}
	out[length] = 0;
	*at = from + (*from == quote);
	return *from == quote;
}

/* Takes "name = value" off *AT. */
static bool take_matcher(const char **at, struct cairn_matcher *matcher, struct cairn_error *error)
{
	if (!take_name(at, matcher->name, sizeof matcher->name))
		return cairn_fail_usage(error, "the selector has no label name at '%.40s'", *at);
	*at = skip_blanks(*at);
	bool negated = **at == '!', pattern = (*at)[0] && (*at)[1] == '~';
	if (**at != '=' && !(negated && ((*at)[1] == '=' || (*at)[1] == '~')))
		return cairn_fail_usage(error, "after %.60s the selector needs =, !=, =~ or !~", matcher->name);
	*at = skip_blanks(*at + (negated || pattern ? 2 : 1));
	matcher->negated = negated;
	if (!take_quoted(at, matcher->value, sizeof matcher->value))
		return cairn_fail_usage(error, "the value of %.60s needs quotes, and at most %d bytes", matcher->name,
					CAIRN_LABEL_SIZE - 1);
	if (!pattern)
		return true;
	char whole[CAIRN_LABEL_SIZE + 16];
	snprintf(whole, sizeof whole, "^(?:%s)$", matcher->value);
	matcher->pattern = cairn_pattern_compile(whole, error);
	if (!matcher->pattern)
		error->usage = true;
	return matcher->pattern != NULL;
}

bool cairn_selector_parse(struct cairn_selector *selector, const char *text, struct cairn_error *error)
{
	const char *at = skip_blanks(text);
	if (!*at)
		return true;
	if (*at++ != '{')
		return cairn_fail_usage(error, "a selector is {label=\"value\", ...}, not '%.60s'", text);
	for (at = skip_blanks(at); *at && *at != '}'; at = skip_blanks(at)) {
		if (selector->count == CAIRN_SELECTOR_MATCHERS)
			return cairn_fail_usage(error, "the selector has more than %d matchers", CAIRN_SELECTOR_MATCHERS);
		if (!take_matcher(&at, &selector->matchers[selector->count], error)) {
			selector->count++; /* it may own a pattern */
			return false;
		}
		selector->count++;
		at = skip_blanks(at);
		if (*at == ',')
			at++;
		else if (*at != '}')
			return cairn_fail_usage(error, "the selector lacks a comma or } at '%.40s'", at);
	}
	return (*at == '}' && !*skip_blanks(at + 1)) || cairn_fail_usage(error, "the selector does not end with }");
}

void cairn_selector_free(struct cairn_selector *selector)
{
	for (size_t i = 0; i < selector->count; i++)
		if (selector->matchers[i].pattern)
			cairn_pattern_free(selector->matchers[i].pattern);
	selector->count = 0;
}

void cairn_label_get(const struct cairn_store_process *process, const char *name, char *out)
{
	out[0] = 0;
	if (strcmp(name, "service_name") == 0)
		snprintf(out, CAIRN_LABEL_SIZE, "%s", process->service);
	else if (strcmp(name, "version") == 0)
		snprintf(out, CAIRN_LABEL_SIZE, "%s", process->version);
	else if (strcmp(name, "host") == 0)
		snprintf(out, CAIRN_LABEL_SIZE, "%s", process->host);
	else if (strcmp(name, "instance") == 0)
		snprintf(out, CAIRN_LABEL_SIZE, "%.400s:%llu", process->host, (unsigned long long)process->pid);
	else if (strcmp(name, "__name__") == 0)
		snprintf(out, CAIRN_LABEL_SIZE, "memory");
	else
		cairn_query_get(process->labels, name, out, CAIRN_LABEL_SIZE);
}

bool cairn_label_name(const struct cairn_store_process *process, size_t number, char *out)
{
	struct cairn_bytes rest = process->labels;
	if (number < own_count) {
		snprintf(out, CAIRN_LABEL_SIZE, "%s", own_labels[number]);
		return true;
	}
	for (size_t at = own_count; rest.length > 0; at++) {
		const char *end = memchr(rest.data, '&', rest.length);
		struct cairn_bytes part = {rest.data, end ? (size_t)(end - rest.data) : rest.length};
		const char *equals = part.length ? memchr(part.data, '=', part.length) : NULL;
		rest = cairn_bytes_skip(rest, end ? part.length + 1 : part.length);
		if (at == number) {
			cairn_query_decode((struct cairn_bytes){part.data, equals ? (size_t)(equals - part.data) : part.length}, true, out,
					   CAIRN_LABEL_SIZE);
			return true;
		}
	}
	return false;
}

bool cairn_selector_matches(const struct cairn_selector *selector, const struct cairn_store_process *process)
{
	char value[CAIRN_LABEL_SIZE];
	for (size_t i = 0; i < selector->count; i++) {
		const struct cairn_matcher *matcher = &selector->matchers[i];
		if (strcmp(matcher->name, "__profile_type__") == 0) /* every process has all profile types */
			continue;
		cairn_label_get(process, matcher->name, value);
		bool same = matcher->pattern ? cairn_pattern_match(matcher->pattern, cairn_bytes_of(value))
					     : strcmp(value, matcher->value) == 0;
		if (same == matcher->negated)
			return false;
	}
	return true;
}
