/* bill_fuzz.c - any bytes as a trailer and as smaps, and the bill of what they say: it adds up.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/bill.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct cairn_bill_facts *facts)
{
	struct cairn_bill bill;
	uint64_t sum = 0;
	cairn_bill_make(&bill, facts);
	for (int i = 0; i < CAIRN_BILL_LINES; i++) {
		if (bill.lines[i] > bill.total)
			abort();
		sum += bill.lines[i];
	}
	if (sum != bill.total)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_bytes text = {(const char *)data, size};
	struct cairn_trailer trailer;
	struct cairn_bill_facts facts = {0};
	if (cairn_trailer_read(text, &trailer) && cairn_bill_facts_read(&facts, &trailer, NULL))
		check(&facts);
	facts = (struct cairn_bill_facts){0};
	cairn_smaps_parse(&facts.smaps, text);
	check(&facts);
	return 0;
}
