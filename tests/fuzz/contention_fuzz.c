/* contention_fuzz.c - any bytes to the reader in src/profile/contention.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return check_reader(cairn_contention_read, data, size);
}
