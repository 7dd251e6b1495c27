/* ledger_fuzz.c - any bytes as a ledger: it is read, and written as a dump, which must be one.
 *
 * A whole ledger is too large for a corpus, so the input is laid over one that is sound: pairs of an offset (three bytes) and a word
 * (eight) that is put there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/record.h"
#include "base/pages.h"
#include "dump/ledger_dump.h"
#include "dump/trailer.h"
#include "reader.h"

static struct cairn_record record;

static void fill(void)
{
	bool replaced;
	for (uintptr_t i = 0; i < 40; i++) {
		void *pcs[] = {(void *)(i + 1), (void *)(i + 2), (void *)(i + 3)};
		struct cairn_ledger_sample sample = {.address = 64 * (i + 1),
						     .size = i * 100,
						     .period = 4096,
						     .objects = 1000,
						     .thread = (uint32_t)i,
						     .stack = cairn_record_stack(&record, pcs, 3)};
		cairn_record_sample(&record, 64 * (i + 1), &sample, &replaced);
	}
	struct cairn_ledger_module module = {.start = 4096, .end = 8192, .id_length = 20};
	cairn_record_module(&record, &module, cairn_bytes_of("/usr/bin/service"));
	cairn_record_thread(&record, 5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *sound, *copy;
	struct cairn_ledger ledger;
	if (!sound) {
		must(cairn_record_open(&record, CAIRN_RECORD_LEAST, NULL));
		fill();
		sound = (char *)record.header;
		copy = cairn_pages_map(record.bytes);
		must(copy != NULL);
	}
	memcpy(copy, sound, record.bytes);
	for (; size >= 11; data += 11, size -= 11) {
		size_t offset = ((size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % (record.bytes - 8);
		memcpy(copy + offset, data + 3, 8);
	}
	if (!cairn_ledger_open(&ledger, (struct cairn_bytes){copy, record.bytes}, NULL))
		return 0;
	struct cairn_buffer out = cairn_buffer(1 << 26);
	struct cairn_ledger_end end = {.how = "killed by signal 9 (Killed)", .end = {.kind = CAIRN_END_SIGNAL, .number = 9}};
	if (cairn_ledger_write_dump(&ledger, &end, &out, NULL)) {
		struct cairn_trailer trailer;
		must(cairn_trailer_read(cairn_buffer_bytes(&out), &trailer) && trailer.complete);
		check_reader(cairn_heap_read, (const uint8_t *)out.data, out.length);
	}
	cairn_buffer_free(&out);
	return 0;
}
