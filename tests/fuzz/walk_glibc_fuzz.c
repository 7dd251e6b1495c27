/* walk_glibc_fuzz.c - a heap of glibc's over which any words are put.
 * SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return walk_fuzzed(CAIRN_WALK_GLIBC, data, size);
}
