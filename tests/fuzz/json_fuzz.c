/* json_fuzz.c - any bytes as JSON: every value is reached, by walks and by paths.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json_read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void reach(struct cairn_json_value value, unsigned depth)
{
	char out[16];
	size_t position = 0;
	struct cairn_bytes key;
	struct cairn_json_value inner;
	cairn_json_copy(value, out, sizeof out);
	cairn_json_double(value);
	for (size_t before = 0; depth < 8 && cairn_json_next(value, &position, &key, &inner); before = position) {
		if (position <= before || inner.text.data < value.text.data ||
		    inner.text.data + inner.text.length > value.text.data + value.text.length)
			abort();
		reach(inner, depth + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_json_value value = cairn_json_value((struct cairn_bytes){(const char *)data, size});
	reach(value, 0);
	cairn_json_find(value, "a.b.c");
	return 0;
}
