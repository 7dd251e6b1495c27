/* read_fuzz.c - telling formats apart and unpacking, then whatever reader is chosen; what was read is combined with itself.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/combine.h"
#include "profile/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_error error;
	struct cairn_profile profile, sum;
	cairn_profile_init(&profile);
	cairn_profile_init(&sum);
	if (cairn_profile_read(&profile, (struct cairn_bytes){(const char *)data, size}, "fuzz", NULL, &error)) {
		struct cairn_combine combine;
		cairn_combine_start(&combine, &sum);
		if (cairn_combine_add(&combine, &profile, 1, &error))
			cairn_combine_add(&combine, &profile, -1, &error);
		cairn_combine_finish(&combine);
	}
	cairn_profile_free(&sum);
	cairn_profile_free(&profile);
	return 0;
}
