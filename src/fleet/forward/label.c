/* label.c - cleans labels so that every receiver accepts them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/forward/label.h"

#include "base/utf8.h"
#include "http/request.h"

#include <string.h>

enum { text_most = 1024 };

/* VALUE with invalid UTF-8 replaced, and cut to the length that receivers accept. */
static const char *clean_value(struct cairn_bytes value, struct cairn_arena *arena)
{
	char *out = cairn_arena_alloc(arena, text_most + 1);
	size_t length = 0;
	while (value.length > 0) {
		size_t part = cairn_utf8_length(value);
		if (length + (part ? part : 1) > text_most)
			break;
		if (part)
			memcpy(out + length, value.data, part);
		else
			out[length] = '?';
		length += part ? part : 1;
		value = cairn_bytes_skip(value, part ? part : 1);
	}
	out[length] = 0;
	return out;
}

static const char *clean_name(struct cairn_bytes name, struct cairn_arena *arena)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t length = name.length < 200 ? name.length : 200;
	char *out = cairn_arena_zero(arena, length + 2, 1), *at = out;
	if (length > 0 && name.data[0] >= '0' && name.data[0] <= '9')
		*at++ = '_';
	for (size_t i = 0; i < length; i++)
		*at++ = name.data[i] && strchr(letters, name.data[i]) ? name.data[i] : '_';
	return out;
}

void cairn_forward_labels_add(struct cairn_forward_labels *labels, const char *name, struct cairn_bytes value, struct cairn_arena *arena)
{
	if (value.length == 0 || labels->count == CAIRN_FORWARD_LABELS)
		return;
	memmove(labels->items + 1, labels->items, labels->count++ * sizeof *labels->items);
	labels->items[0] = (struct cairn_forward_label){name, clean_value(value, arena)};
}

static bool is_taken(const struct cairn_forward_labels *labels, const char *name, const char *const *taken)
{
	bool found = strncmp(name, "__", 2) == 0 || !name[0];
	for (; !found && *taken; taken++)
		found = strcmp(*taken, name) == 0;
	for (size_t i = 0; !found && i < labels->count; i++)
		found = strcmp(labels->items[i].name, name) == 0;
	return found;
}

void cairn_forward_labels_read(struct cairn_forward_labels *labels, const struct cairn_store_snapshot *snapshot, const char *const *taken,
			       struct cairn_arena *arena)
{
	enum { own_most = 8 }; /* room for those that cairn_forward_labels_add adds */
	struct cairn_bytes rest = snapshot->labels;
	while (rest.length > 0 && labels->count < CAIRN_FORWARD_LABELS - own_most) {
		const char *end = memchr(rest.data, '&', rest.length);
		struct cairn_bytes part = {rest.data, end ? (size_t)(end - rest.data) : rest.length};
		const char *equals = part.length ? memchr(part.data, '=', part.length) : NULL;
		char name[text_most], value[text_most];
		rest = cairn_bytes_skip(rest, end ? part.length + 1 : part.length);
		if (!equals)
			continue;
		size_t length = cairn_query_decode((struct cairn_bytes){part.data, (size_t)(equals - part.data)}, true, name, sizeof name);
		const char *clean = clean_name((struct cairn_bytes){name, length}, arena);
		length = cairn_query_decode(cairn_bytes_skip(part, (size_t)(equals - part.data) + 1), true, value, sizeof value);
		if (length > 0 && !is_taken(labels, clean, taken))
			labels->items[labels->count++] =
				(struct cairn_forward_label){clean, clean_value((struct cairn_bytes){value, length}, arena)};
	}
}
