/* senders.c - the tokens of senders, compared in constant time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/senders.h"

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { tokens_most = 1024 };

/* Compares with every token, so that the time does not depend on which one matches. */
const char *cairn_senders_tenant(const struct cairn_senders *senders, const struct cairn_request *request)
{
	const char *tenant = senders->count ? NULL : "";
	struct cairn_bytes token = cairn_request_token(request);
	for (size_t i = 0; i < senders->count; i++)
		if (cairn_token_equal(token, senders->items[i].token))
			tenant = senders->items[i].tenant;
	return tenant;
}

bool cairn_senders_are_several(const struct cairn_senders *senders)
{
	for (size_t i = 1; i < senders->count; i++)
		if (strcmp(senders->items[i].tenant, senders->items[0].tenant) != 0)
			return true;
	return false;
}

bool cairn_senders_read(struct cairn_senders *senders, const char *path, struct cairn_error *error)
{
	struct cairn_file file;
	struct cairn_bytes rest, line;
	if (!cairn_file_read(&file, path, error))
		return false;
	rest = file.bytes;
	bool fits = true;
	while (fits && cairn_text_line(&rest, &line, NULL)) {
		line = cairn_text_trim(line);
		if (line.length == 0 || line.data[0] == '#')
			continue;
		fits = senders->count < tokens_most;
		if (!fits)
			break;
		size_t length = 0;
		while (length < line.length && line.data[length] != ' ' && line.data[length] != '\t')
			length++;
		struct cairn_bytes tenant = cairn_text_trim(cairn_bytes_skip(line, length));
		cairn_array_room(senders->items, senders->count, senders->capacity);
		senders->items[senders->count++] =
			(struct cairn_sender){cairn_arena_text(&senders->arena, (struct cairn_bytes){line.data, length}),
					      cairn_arena_text(&senders->arena, tenant)};
	}
	cairn_file_close(&file);
	if (!fits) /* ignoring tokens would refuse their senders without a visible reason */
		return cairn_fail(error, "%s: more than %d tokens in this file, which is the most that a collector takes", path,
				  tokens_most);
	return senders->count > 0 || cairn_fail(error, "%s: no token in this file, so nobody could send", path);
}

void cairn_senders_free(struct cairn_senders *senders)
{
	free(senders->items);
	cairn_arena_free(&senders->arena);
}
