/* rewrite.c - rewrite IN OUT: reads any profile and writes it as pprof, so that other programs can say whether it is the same.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "profile/pprof_write.h"
#include "profile/read.h"

#include <stdio.h>

int main(int count, char **arguments)
{
	if (count != 3)
		return 2;
	struct cairn_file file;
	struct cairn_error error = {0};
	struct cairn_profile profile;
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	cairn_profile_init(&profile);
	bool good = cairn_file_read(&file, arguments[1], &error) && cairn_profile_read(&profile, file.bytes, arguments[1], NULL, &error) &&
		    cairn_pprof_write(&profile, &(struct cairn_pprof_options){0}, &out) &&
		    cairn_file_write(arguments[2], cairn_buffer_bytes(&out), &error);
	if (!good)
		fprintf(stderr, "%s\n", error.text);
	cairn_buffer_free(&out);
	cairn_profile_free(&profile);
	return !good;
}
