/* symbols.c - `cairn jeprof --symbols`: names for addresses on standard input.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/jeprof/jeprof.h"

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/command.h"
#include "profile/maps.h"
#include "report/jeprof_name.h"
#include "symbol/symbolize.h"

#include <ctype.h>
#include <stdlib.h>

struct request {
	struct cairn_profile profile;
	struct cairn_buffer map;
	uint32_t *locations; /* one for each address, in their order */
	size_t count, capacity;
};

static bool is_word(char letter)
{
	return isalnum((unsigned char)letter) || letter == '_';
}

/* The first word of LINE that is 0x and hexadecimal digits. */
static bool find_address(struct cairn_bytes line, uint64_t *address)
{
	for (size_t at = 0; at + 2 < line.length; at++) {
		if (line.data[at] != '0' || tolower((unsigned char)line.data[at + 1]) != 'x' || (at && is_word(line.data[at - 1])))
			continue;
		struct cairn_bytes rest = cairn_bytes_skip(line, at + 2);
		if (isxdigit((unsigned char)rest.data[0]) && cairn_text_hex(&rest, address) && (!rest.length || !is_word(rest.data[0])))
			return true;
	}
	return false;
}

static void read_request(struct request *request, struct cairn_bytes input)
{
	struct cairn_bytes line;
	uint64_t address;
	while (cairn_text_line(&input, &line, NULL)) {
		if (find_address(line, &address)) {
			cairn_array_room(request->locations, request->count, request->capacity);
			request->locations[request->count++] = cairn_profile_add_location(&request->profile, address, CAIRN_NONE, false);
		} else {
			cairn_buffer_append(&request->map, line.data, line.length);
			cairn_buffer_byte(&request->map, '\n');
		}
	}
}

static void write_names(const struct request *request, struct cairn_buffer *out)
{
	const struct cairn_profile *profile = &request->profile;
	for (size_t i = 0; i < request->count; i++) {
		const struct cairn_location *location = &profile->locations[request->locations[i]];
		const struct cairn_frame *frame =
			location->frame_count ? &profile->frames[location->first_frame + location->frame_count - 1] : NULL;
		uint32_t name = frame ? profile->functions[frame->function].name : 0;
		if (name)
			cairn_jeprof_shorten(cairn_profile_string(profile, name), out);
		else
			cairn_buffer_text(out, "??");
		cairn_buffer_byte(out, '\n');
	}
}

int cairn_jeprof_symbols(const struct cairn_find_options *find, uint64_t memory)
{
	struct cairn_error error;
	struct cairn_file file;
	struct request request = {.map = cairn_buffer(SIZE_MAX)};
	if (!cairn_file_read(&file, "-", &error))
		return cairn_say_error(error.text);
	cairn_profile_init(&request.profile);
	read_request(&request, file.bytes);
	cairn_maps_read(&request.profile, cairn_buffer_bytes(&request.map));
	cairn_maps_attach(&request.profile);
	cairn_modules_map(&request.profile, find, true);
	struct cairn_symbolize_report report;
	cairn_symbolize(&request.profile, &(struct cairn_symbolize_options){.find = *find, .memory = memory}, &report);
	for (size_t i = 0; i < request.profile.warning_count; i++)
		cairn_say_note(cairn_profile_string(&request.profile, request.profile.warnings[i]));
	cairn_symbolize_report_free(&report);
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	write_names(&request, &out);
	int code = cairn_say_output(NULL, cairn_buffer_bytes(&out));
	cairn_buffer_free(&out);
	cairn_buffer_free(&request.map);
	free(request.locations);
	cairn_profile_free(&request.profile);
	cairn_file_close(&file);
	return code;
}
