/* request_fuzz.c - any bytes to the request parser, its queries and its chunks, whole and in pieces.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/request.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_request request;
	struct cairn_bytes input = {(const char *)data, size};
	size_t used = 0;
	char value[32];
	int status = cairn_request_parse(&request, input, &used);
	if (status == 200) {
		if (used > size || request.path.length == 0 || request.path.data[0] != '/' || (request.chunked && request.has_length))
			abort();
		cairn_query_get(request.query, "output", value, sizeof value);
		/* What is a request must not be one already when its last byte is missing. */
		if (cairn_request_parse(&request, (struct cairn_bytes){input.data, used - 1}, &used) == 200)
			abort();
	}
	cairn_query_get(input, "a", value, sizeof value);
	/* However the chunks are cut, the body is the same. */
	char *whole = malloc(size + 1), *pieces = malloc(size + 1);
	if (!whole || !pieces)
		abort();
	memcpy(whole, data, size);
	struct cairn_chunks all = {0}, some = {0};
	int expected = cairn_chunks_decode(&all, whole, size), got = 0;
	size_t have = 0;
	for (size_t i = 0; i < size && got == 0; i++) {
		pieces[have++] = (char)data[i];
		got = cairn_chunks_decode(&some, pieces, have);
		if (got == 0)
			have = some.read = some.written;
	}
	if (got != expected || (got != 400 && (some.written != all.written || memcmp(whole, pieces, all.written) != 0)))
		abort();
	free(whole);
	free(pieces);
	return 0;
}
