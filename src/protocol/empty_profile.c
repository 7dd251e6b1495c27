/* empty_profile.c - the few fields of pprof's profile.proto that a profile without samples has.
 * SPDX-License-Identifier: Apache-2.0 */
#include "protocol/empty_profile.h"

#include "base/protobuf.h"
#include "process/clock.h"

#include <string.h>

/* Fields of a Profile and of a ValueType. */
enum { sample_type = 1, string_table = 6, time_nanos = 9, period_type = 11, period = 12, default_type = 14 };
enum { value_type = 1, value_unit = 2 };

static const struct kind {
	const char *name;
	/* What a profile has strings of: values in pairs of type and unit, the last pair being that of the period. */
	const char *strings[10];
} kinds[] = {
	{"heap", {"alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "count", "inuse_space", "bytes", "space", "bytes"}},
	{"allocs", {"alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "count", "inuse_space", "bytes", "space", "bytes"}},
	{"profile", {"samples", "count", "cpu", "nanoseconds", "cpu", "nanoseconds"}},
	{"goroutine", {"goroutine", "count", "goroutine", "count"}},
	{"mutex", {"contentions", "count", "delay", "nanoseconds", "contentions", "count"}},
	{"block", {"contentions", "count", "delay", "nanoseconds", "contentions", "count"}},
};

bool cairn_empty_profile(struct cairn_bytes name, struct cairn_buffer *out)
{
	const struct kind *kind = NULL;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (cairn_bytes_equal(name, cairn_bytes_of(kinds[i].name)))
			kind = &kinds[i];
	if (!kind)
		return false;
	unsigned count = 0;
	while (count < sizeof kind->strings / sizeof *kind->strings && kind->strings[count])
		count++;
	/* String number 0 is the empty one, so the one at I has the number I + 1, which one byte holds. */
	for (unsigned i = 0; i < count; i += 2) {
		char type[] = {value_type << 3 | CAIRN_WIRE_VARINT, (char)(i + 1), value_unit << 3 | CAIRN_WIRE_VARINT, (char)(i + 2)};
		cairn_protobuf_bytes(out, i + 2 < count ? sample_type : period_type, (struct cairn_bytes){type, sizeof type});
	}
	cairn_protobuf_bytes(out, string_table, cairn_bytes_of(""));
	for (unsigned i = 0; i < count; i++)
		cairn_protobuf_bytes(out, string_table, cairn_bytes_of(kind->strings[i]));
	cairn_protobuf_number(out, time_nanos, (uint64_t)cairn_clock_wall_ns());
	cairn_protobuf_number(out, period, 1);
	cairn_protobuf_number(out, default_type, strcmp(kind->name, "allocs") == 0 ? 3 : count - 3);
	return true;
}
