/* huge.c - counts pages of zeroes in a sample of huge pages.
 * SPDX-License-Identifier: Apache-2.0 */
#include "heap/huge.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

enum { huge_size = 2 << 20, sampled_most = 64 };

static bool is_zero(const char *data, size_t length)
{
	return length == 0 || (data[0] == 0 && memcmp(data, data + 1, length - 1) == 0);
}

/* Small objects lie close together: where several do, the allocator or the program has written, if only zeroes. */
static bool was_written(struct cairn_image *image, uint64_t address)
{
	const struct cairn_image_page *page = cairn_image_page(image, address);
	return page && page->keepers > 1;
}

/* The start of the next huge page from ADDRESS on; UINT64_MAX if there is none. */
static uint64_t next_huge(struct cairn_image *image, uint64_t address)
{
	const struct cairn_image_run *run;
	for (address = (address + huge_size - 1) / huge_size * huge_size; (run = cairn_image_run(image, address)); address += huge_size) {
		if (run->start > address)
			address = (run->start + huge_size - 1) / huge_size * huge_size;
		const struct cairn_image_page *page = cairn_image_page(image, address);
		if (page && page->flags & CAIRN_PAGE_HUGE)
			return address;
	}
	return UINT64_MAX;
}

void cairn_huge_measure(struct cairn_huge *huge, struct cairn_image *image)
{
	size_t page = (size_t)1 << image->page_bits, count = 0, sampled = 0, number = 0;
	double sum = 0, squares = 0;
	*huge = (struct cairn_huge){0};
	for (uint64_t at = next_huge(image, 0); at != UINT64_MAX; at = next_huge(image, at + huge_size))
		count++;
	huge->bytes = (uint64_t)count * huge_size;
	size_t step = count / sampled_most + 1;
	char *data = count ? cairn_array_new(huge_size, 1) : NULL;
	for (uint64_t at = next_huge(image, 0); at != UINT64_MAX && !image->exhausted; at = next_huge(image, at + huge_size)) {
		double zero = 0;
		if (number++ % step != step / 2 || !cairn_image_copy(image, at, data, huge_size))
			continue;
		for (size_t i = 0; i < huge_size; i += page)
			zero += is_zero(data + i, page) && !was_written(image, at + i) ? (double)page : 0;
		sum += zero;
		squares += zero * zero;
		sampled++;
	}
	free(data);
	if (!sampled)
		return;
	double mean = sum / (double)sampled, variance = sampled > 1 ? fmax(0, squares / (double)sampled - mean * mean) : mean * mean;
	huge->zero = mean * (double)count;
	huge->zero_error = (double)count * sqrt(variance / (double)sampled * (1 - (double)sampled / (double)count));
}
