/* name.c - dump file names.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/name.h"

#include "base/text.h"

/* Takes the part after the last dot off NAME. */
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
