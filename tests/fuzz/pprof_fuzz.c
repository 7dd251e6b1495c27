/* pprof_fuzz.c - any bytes to the reader in src/profile/pprof_read.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

/* What is found without reading everything is what reading everything finds. */
static bool read_with_origin(struct cairn_reader *reader, struct cairn_bytes data, struct cairn_error *error)
{
	int64_t time_ns;
	struct cairn_bytes program;
	const struct cairn_profile *profile = reader->profile;
	cairn_pprof_origin(data, &time_ns, &program);
	if (!cairn_pprof_read(reader, data, error))
		return false;
	must(time_ns == profile->facts.time_ns && cairn_bytes_equal(program, cairn_strings_bytes(&profile->strings, profile->facts.process)));
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return check_reader(read_with_origin, data, size);
}
