/* heap_fuzz.c - any bytes to the reader in src/profile/heap.c, whole stacks and thread by thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

static bool read_threads(struct cairn_reader *reader, struct cairn_bytes bytes, struct cairn_error *error)
{
	reader->options.split_threads = true;
	return cairn_heap_read(reader, bytes, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_reader(cairn_heap_read, data, size);
	return check_reader(read_threads, data, size);
}
