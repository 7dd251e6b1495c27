/* text.c - small text readers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "base/date.h"
#include "base/time.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool cairn_text_line(struct cairn_bytes *rest, struct cairn_bytes *line, bool *complete)
{
	if (rest->length == 0)
		return false;
	const char *end = memchr(rest->data, '\n', rest->length);
	if (complete)
		*complete = end != NULL;
	size_t length = end ? (size_t)(end - rest->data) : rest->length;
	*line = (struct cairn_bytes){rest->data, length};
	*rest = cairn_bytes_skip(*rest, length + 1);
	if (line->length > 0 && line->data[line->length - 1] == '\r')
		line->length--;
	return true;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct cairn_bytes cairn_text_trim(struct cairn_bytes text)
{
	while (text.length > 0 && is_space(text.data[0]))
		text = cairn_bytes_skip(text, 1);
	while (text.length > 0 && is_space(text.data[text.length - 1]))
		text.length--;
	return text;
}

void cairn_text_skip_blanks(struct cairn_bytes *rest)
{
	while (rest->length > 0 && (rest->data[0] == ' ' || rest->data[0] == '\t'))
		*rest = cairn_bytes_skip(*rest, 1);
}

struct cairn_bytes cairn_text_word(struct cairn_bytes *rest)
{
	size_t length = 0;
	while (length < rest->length && rest->data[length] != ' ' && rest->data[length] != '\t')
		length++;
	struct cairn_bytes word = {rest->data, length};
	*rest = cairn_bytes_skip(*rest, length);
	cairn_text_skip_blanks(rest);
	return word;
}

struct cairn_bytes cairn_text_field(struct cairn_bytes *rest, char separator)
{
	const char *end = rest->length ? memchr(rest->data, separator, rest->length) : NULL;
	struct cairn_bytes field = {rest->data, end ? (size_t)(end - rest->data) : rest->length};
	*rest = cairn_bytes_skip(*rest, field.length + 1);
	return field;
}

bool cairn_text_decimal(struct cairn_bytes *rest, uint64_t *value)
{
	uint64_t result = 0;
	size_t at = 0;
	for (; at < rest->length && rest->data[at] >= '0' && rest->data[at] <= '9'; at++)
		if (__builtin_mul_overflow(result, (uint64_t)10, &result) ||
		    __builtin_add_overflow(result, (uint64_t)(rest->data[at] - '0'), &result))
			return false;
	if (at == 0)
		return false;
	*value = result;
	*rest = cairn_bytes_skip(*rest, at);
	return true;
}

int cairn_text_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool cairn_text_hex(struct cairn_bytes *rest, uint64_t *value)
{
	size_t at = cairn_bytes_start_with(*rest, "0x") || cairn_bytes_start_with(*rest, "0X") ? 2 : 0;
	size_t first = at;
	uint64_t result = 0;
	for (int digit; at < rest->length && (digit = cairn_text_hex_digit(rest->data[at])) >= 0; at++) {
		if (result >> 60)
			return false;
		result = result << 4 | (uint64_t)digit;
	}
	if (at == first)
		return false;
	*value = result;
	*rest = cairn_bytes_skip(*rest, at);
	return true;
}

bool cairn_text_take(struct cairn_bytes *rest, const char *prefix)
{
	if (!cairn_bytes_start_with(*rest, prefix))
		return false;
	*rest = cairn_bytes_skip(*rest, strlen(prefix));
	return true;
}

bool cairn_text_size(const char *text, uint64_t *value)
{
	if (*text < '0' || *text > '9')
		return false;
	char *end;
	double number = strtod(text, &end);
	static const char units[] = "KMGTP";
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		number = ldexp(number, 10 * (int)(unit - units + 1));
		end++;
		if (*end == 'i')
			end++;
	}
	if (*end == 'B' || *end == 'b')
		end++;
	if (*end || !(number < 0x1p63))
		return false;
	*value = (uint64_t)number;
	return true;
}

bool cairn_text_duration(const char *text, int64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
	if (*text < '0' || *text > '9')
		return false;
	char *end;
	double number = strtod(text, &end);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(end, units[i].name) == 0 && number * units[i].ns < 0x1p62) {
			*ns = (int64_t)(number * units[i].ns);
			return true;
		}
	return false;
}

bool cairn_text_share(const char *text, double *share)
{
	if (*text < '0' || *text > '9')
		return false;
	char *end;
	double number = strtod(text, &end);
	if (*end == '%') {
		number /= 100;
		end++;
	}
	if (*end || !(number >= 0 && number <= 1))
		return false;
	*share = number;
	return true;
}

char *cairn_text_span(int64_t ns, char *out)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}, {"days", 86400e9}};
	size_t unit = 0;
	while (unit + 1 < sizeof units / sizeof *units && (double)ns >= (unit == 3 ? 2 : 1) * units[unit + 1].ns)
		unit++;
	double number = (double)ns / units[unit].ns;
	snprintf(out, 24, number == (double)(int64_t)number || unit == 0 ? "%.0f %s" : "%.1f %s", number, units[unit].name);
	return out;
}

char *cairn_text_human(double bytes, char *out)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	size_t unit = 0;
	double size = fabs(bytes);
	while (size >= 1023.95 && unit + 1 < sizeof units / sizeof *units) {
		size /= 1024;
		unit++;
	}
	snprintf(out, 24, unit ? "%s%.1f %s" : "%s%.0f %s", bytes < 0 && size >= 0.5 ? "-" : "", size, units[unit]);
	return out;
}

unsigned cairn_text_distance(const char *a, const char *b)
{
	enum { longest = 31 };
	size_t a_length = strlen(a), b_length = strlen(b);
	if (a_length > longest || b_length > longest)
		return longest;
	unsigned rows[3][longest + 1]; /* of the table, the one in work and the two above it, in turns */
	for (unsigned j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= a_length; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
		row[0] = i;
		for (unsigned j = 1; j <= b_length; j++) {
			unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
			if (above[j] + 1 < best)
				best = above[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && second[j - 2] + 1 < best)
				best = second[j - 2] + 1;
			row[j] = best;
		}
	}
	return rows[a_length % 3][b_length];
}

bool cairn_text_seconds(struct cairn_bytes text, int64_t *ns)
{
	uint64_t seconds, fraction = 0;
	if (!cairn_text_decimal(&text, &seconds) || seconds > INT64_MAX / CAIRN_SECOND_NS - 1)
		return false;
	if (cairn_text_take(&text, ".")) {
		size_t digits = text.length;
		if (digits > 9 || !cairn_text_decimal(&text, &fraction))
			return false;
		for (; digits < 9; digits++)
			fraction *= 10;
	}
	*ns = (int64_t)(seconds * CAIRN_SECOND_NS + fraction);
	return text.length == 0;
}

bool cairn_text_date(const char *text, int64_t *ns)
{
	static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"};
	enum { year_first = 1970, year_last = 2261 }; /* which nanoseconds reach */
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		struct tm date = {.tm_isdst = -1};
		const char *end = strptime(text, forms[i], &date);
		bool utc = end && strcmp(end, "Z") == 0;
		if (!end || (*end && !utc) || date.tm_year < year_first - 1900 || date.tm_year > year_last - 1900)
			continue;
		time_t seconds = utc ? timegm(&date) : mktime(&date);
		*ns = (int64_t)seconds * CAIRN_SECOND_NS;
		return seconds >= 0;
	}
	return false;
}

int cairn_text_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *cairn_text_utc(int64_t ns, char *out)
{
	struct tm date = cairn_date(ns / CAIRN_SECOND_NS);
	strftime(out, 24, "%Y-%m-%d %H:%M:%S UTC", &date);
	return out;
}
