/* answers_fuzz.c - any bytes as a block of the cache, with version, sizes and checksum made right so that what is behind them is reached.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/answers.h"

#include <libdeflate.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { version_at = 8, checksum_at = 12, size_at = 16, counts_at = 24, segments_at = 64, header_size = 72 };
enum { addresses, probes, frames, functions, strings, string_bytes, counts };

static void use(const struct cairn_answers *answers)
{
	size_t sum = 0;
	for (uint32_t i = 0; i <= answers->string_count; i++)
		sum += strlen(cairn_answers_string(answers, i).data);
	for (size_t i = 0; i < answers->segment_count; i++)
		sum += answers->segments[i].file_size & 1;
	for (size_t i = 0; i < answers->address_count; i++)
		if (cairn_answers_find(answers, answers->addresses[i]) != i)
			abort();
	struct cairn_answers_builder builder = {0};
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	struct cairn_answers again;
	cairn_answers_add_all(&builder, answers);
	if (!cairn_answers_write(&builder, &(struct cairn_answers_origin){.key = "key", .options = ""}, &out) ||
	    !cairn_answers_parse(&again, cairn_buffer_bytes(&out)) || again.address_count != answers->address_count || sum == SIZE_MAX)
		abort();
	cairn_answers_builder_free(&builder);
	cairn_buffer_free(&out);
}

/* Makes BLOCK agree with itself: as many of everything as there is room for, and the rest is the strings' bytes. */
static void put_right(char *block, size_t size)
{
	static const uint64_t sizes[string_bytes] = {8 + 4, sizeof(struct cairn_answer_probe), sizeof(struct cairn_answer_frame),
						     sizeof(struct cairn_answer_function), 4};
	uint32_t count[counts], segments, version = CAIRN_ANSWERS_VERSION, checksum = 0;
	uint64_t body = size - header_size, left = body < 4 ? 0 : body - 4;
	memcpy(&segments, block + segments_at, sizeof segments);
	if (segments > left / sizeof(struct cairn_answer_segment))
		segments = (uint32_t)(left / sizeof(struct cairn_answer_segment) / 2);
	left -= segments * sizeof(struct cairn_answer_segment);
	memcpy(block + segments_at, &segments, sizeof segments);
	memcpy(count, block + counts_at, sizeof count);
	for (int i = 0; i < string_bytes; i++) {
		if (count[i] > left / sizes[i])
			count[i] = (uint32_t)(left / sizes[i] / 2);
		left -= count[i] * sizes[i];
	}
	count[string_bytes] = (uint32_t)left;
	memcpy(block + version_at, &version, sizeof version);
	memcpy(block + size_at, &body, sizeof body);
	memcpy(block + counts_at, count, sizeof count);
	memcpy(block + checksum_at, &checksum, sizeof checksum);
	checksum = libdeflate_crc32(0, block, size);
	memcpy(block + checksum_at, &checksum, sizeof checksum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_answers answers;
	char *copy = malloc(size ? size : 1);
	memcpy(copy, data, size);
	if (cairn_answers_parse(&answers, (struct cairn_bytes){copy, size}))
		use(&answers);
	if (size >= header_size) {
		put_right(copy, size);
		if (cairn_answers_parse(&answers, (struct cairn_bytes){copy, size}))
			use(&answers);
	}
	free(copy);
	return 0;
}
