/* heap_fuzz.c - jemalloc dumps, both ways of reading threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int split = 0; split < 2; split++) {
		struct cairn_error error;
		struct cairn_profile profile;
		cairn_profile_init(&profile);
		struct cairn_reader reader = {.profile = &profile, .name = "fuzz", .options = {.split_threads = split}};
		cairn_heap_read(&reader, (struct cairn_bytes){(const char *)data, size}, &error);
		cairn_profile_free(&profile);
	}
	return 0;
}
