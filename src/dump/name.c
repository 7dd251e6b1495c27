/* name.c - parses and writes the names of dump files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/name.h"

#include "base/path.h"
#include "base/text.h"

#include <stdio.h>

/* Removes the part after the last dot from NAME. */
static struct cairn_bytes take_part(struct cairn_bytes *name)
{
	for (size_t i = name->length; i-- > 0 && name->data[i] != '/';)
		if (name->data[i] == '.') {
			struct cairn_bytes part = cairn_bytes_skip(*name, i + 1);
			name->length = i;
			return part;
		}
	return (struct cairn_bytes){"", 0};
}

static bool whole_number(struct cairn_bytes part, uint64_t *value)
{
	return cairn_text_decimal(&part, value) && part.length == 0;
}

bool cairn_dump_name_parse(const char *path, struct cairn_dump_name *name)
{
	struct cairn_bytes rest = cairn_bytes_of(path), part = take_part(&rest);
	if (cairn_bytes_equal(part, cairn_bytes_of("gz")) || cairn_bytes_equal(part, cairn_bytes_of("zst")))
		part = take_part(&rest);
	if (!cairn_bytes_equal(part, cairn_bytes_of("heap")))
		return false;
	part = take_part(&rest);
	uint64_t number;
	if (part.length == 0 || !strchr("fimu", part.data[0]) || (part.length > 1 && !whole_number(cairn_bytes_skip(part, 1), &number)))
		return false;
	name->kind = part.data[0];
	if (!whole_number(take_part(&rest), &name->sequence) || !whole_number(take_part(&rest), &name->process_id))
		return false;
	name->prefix = rest;
	return true;
}

const char *cairn_dump_name_occasion(char kind)
{
	return kind == 'i' ? "interval" : kind == 'u' ? "gdump" : kind == 'm' ? "manual" : "final";
}

/* Reads YYYY-mm-dd-HH-MM-SS at the start of TEXT, with one of `-_T:` between the numbers. */
static bool take_date(struct cairn_bytes text, struct tm *date)
{
	static const struct {
		size_t digits;
		uint64_t least, most;
	} parts[] = {{4, 1970, 9999}, {2, 1, 12}, {2, 1, 31}, {2, 0, 23}, {2, 0, 59}, {2, 0, 60}};
	uint64_t numbers[6];
	for (size_t i = 0; i < 6; i++) {
		struct cairn_bytes digits = {text.data, parts[i].digits};
		if (text.length < digits.length || !whole_number(digits, &numbers[i]) || numbers[i] < parts[i].least ||
		    numbers[i] > parts[i].most)
			return false;
		text = cairn_bytes_skip(text, digits.length);
		if (i < 5 && (text.length == 0 || !memchr("-_T:", text.data[0], 4)))
			return false;
		text = cairn_bytes_skip(text, i < 5);
	}
	*date = (struct tm){.tm_year = (int)numbers[0] - 1900,
			    .tm_mon = (int)numbers[1] - 1,
			    .tm_mday = (int)numbers[2],
			    .tm_hour = (int)numbers[3],
			    .tm_min = (int)numbers[4],
			    .tm_sec = (int)numbers[5],
			    .tm_isdst = -1};
	return text.length == 0 || text.data[0] < '0' || text.data[0] > '9';
}

bool cairn_dump_name_date(const char *path, struct tm *date)
{
	struct cairn_bytes name = cairn_bytes_of(cairn_base_name(path));
	for (bool inside = false; name.length > 0; name = cairn_bytes_skip(name, 1)) {
		bool digit = name.data[0] >= '0' && name.data[0] <= '9';
		if (digit && !inside && take_date(name, date))
			return true;
		inside = digit;
	}
	return false;
}

bool cairn_dump_name_numbered(char *out, size_t size, const char *prefix, int process_id, unsigned number, char kind)
{
	int length = snprintf(out, size, "%s.%d.%u.%c%u.heap", prefix + cairn_path_folder(prefix), process_id, number, kind, number);
	return length > 0 && (size_t)length < size;
}

void cairn_dump_name_dated(char *out, size_t size, const struct tm *date, unsigned number, const char *occasion)
{
	char again[16] = "";
	if (number > 1)
		snprintf(again, sizeof again, "-%u", number);
	snprintf(out, size, "%04d-%02d-%02d-%02d-%02d-%02d%s.%s.heap", date->tm_year + 1900, date->tm_mon + 1, date->tm_mday, date->tm_hour,
		 date->tm_min, date->tm_sec, again, occasion);
}

void cairn_dump_name_counted(char *out, size_t size, unsigned number)
{
	snprintf(out, size, "%06u.heap", number);
}

bool cairn_dump_name_is_counted(const char *name)
{
	return strlen(name) == 11 && strspn(name, "0123456789") == 6 && strcmp(name + 6, ".heap") == 0;
}

bool cairn_dump_name_is_peak(const char *name)
{
	return cairn_bytes_end_with(cairn_bytes_of(name), ".peak.heap");
}

struct cairn_bytes cairn_dump_name_service(const char *name, int process_id)
{
	char pid[16];
	snprintf(pid, sizeof pid, "-%d-", process_id);
	const char *end = strstr(name, pid);
	return (struct cairn_bytes){name, end ? (size_t)(end - name) : 0};
}
