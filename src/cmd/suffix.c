/* suffix.c - the suffix of an output file's name, which promises a format.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/suffix.h"

#include "base/bytes.h"

const char *const cairn_pprof_suffixes[] = {".pb.gz", ".pb", ".pprof", NULL};

bool cairn_pprof_is_plain(const char *output)
{
	return output && cairn_bytes_end_with(cairn_bytes_of(output), ".pb");
}

bool cairn_suffix_is_one(const char *output, const char *const *suffixes)
{
	for (; output && suffixes && *suffixes; suffixes++)
		if (cairn_bytes_end_with(cairn_bytes_of(output), *suffixes))
			return true;
	return false;
}

bool cairn_suffix_check(const char *command, const char *output, const char *const *own, struct cairn_error *error)
{
	static const struct {
		const char *suffix, *command;
	} known[] = {{".html", "html"}, {".svg", "flame"}, {".png", "graph"}, {".pdf", "graph"}, {".json", "top"}, {".pb.gz", "pprof"}};
	struct cairn_bytes name = cairn_bytes_of(output ? output : "");
	if (cairn_suffix_is_one(output, own))
		return true;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (cairn_bytes_end_with(name, known[i].suffix))
			return cairn_fail_usage(error, "'cairn %s' does not write %s files; 'cairn %s' does", command, known[i].suffix,
						known[i].command);
	return true;
}
