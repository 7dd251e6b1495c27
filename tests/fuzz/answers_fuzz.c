/* answers_fuzz.c - any bytes as a block of the cache, with the checksum and sizes made right so that what is behind them is reached.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/answers.h"

#include <libdeflate.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { checksum_at = 12, size_at = 16, header_size = 64 };

static void use(const struct cairn_answers *answers)
{
	size_t sum = 0;
	for (uint32_t i = 0; i <= answers->string_count; i++)
		sum += strlen(cairn_answers_string(answers, i).data);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_answers answers;
	char *copy = malloc(size ? size : 1);
	memcpy(copy, data, size);
	if (cairn_answers_parse(&answers, (struct cairn_bytes){copy, size}))
		use(&answers);
	if (size >= header_size) {
		uint64_t body = size - header_size;
		uint32_t checksum = 0;
		memcpy(copy + size_at, &body, sizeof body);
		memcpy(copy + checksum_at, &checksum, sizeof checksum);
		checksum = libdeflate_crc32(0, copy, size);
		memcpy(copy + checksum_at, &checksum, sizeof checksum);
		if (cairn_answers_parse(&answers, (struct cairn_bytes){copy, size}))
			use(&answers);
	}
	free(copy);
	return 0;
}
