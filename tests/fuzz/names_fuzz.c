/* names_fuzz.c - any bytes as a name: demangled, shortened, and shortened again; and as the notes a build-id is in.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/demangle.h"
#include "symbol/identity.h"
#include "symbol/shorten.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_arena arena = {0};
	struct cairn_bytes bytes = {(const char *)data, size};
	const char *name = cairn_arena_text(&arena, bytes), *full = cairn_demangle(&arena, name);
	const char *names[] = {name, full ? full : "f"};
	for (size_t i = 0; i < 2; i++) {
		const char *shorter = cairn_name_shorten(&arena, names[i]);
		if (*names[i] && !*shorter)
			abort();
		cairn_name_shorten(&arena, shorter);
	}
	char build_id[2 * 64 + 1];
	if (cairn_build_id_find((struct cairn_layout){0}, bytes, build_id) && !cairn_build_id_valid(build_id))
		abort();
	cairn_arena_free(&arena);
	return 0;
}
