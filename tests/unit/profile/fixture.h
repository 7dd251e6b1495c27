/* fixture.h - one profile at a time, read from text or bytes, and what was warned of.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_PROFILE_FIXTURE_H
#define CAIRN_TESTS_PROFILE_FIXTURE_H

#include "profile/read.h"
#include "tap.h"

static struct cairn_profile profile; /* freed by the last line of main */
static struct cairn_error error;

__attribute__((unused)) static bool read_bytes(struct cairn_bytes bytes, const struct cairn_read_options *options)
{
	cairn_profile_free(&profile);
	cairn_profile_init(&profile);
	return cairn_profile_read(&profile, bytes, "x.heap", options, &error);
}

__attribute__((unused)) static bool read_text(const char *text)
{
	return read_bytes(cairn_bytes_of(text), NULL);
}

__attribute__((unused)) static bool warned(const char *part)
{
	for (size_t i = 0; i < profile.warning_count; i++)
		if (strstr(cairn_profile_string(&profile, profile.warnings[i]), part))
			return true;
	return false;
}

#endif
