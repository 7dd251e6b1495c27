/* suffix.c - the suffix of an output file's name, which promises a format.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/suffix.h"

#include "base/bytes.h"

bool cairn_suffix_check(const char *command, const char *output, const char *const *own, struct cairn_error *error)
{
	static const struct {
		const char *suffix, *command;
	} known[] = {{".html", "html"}, {".svg", "flame"}, {".png", "graph"}, {".pdf", "graph"}, {".json", "top"}, {".pb.gz", "pprof"}};
	struct cairn_bytes name = cairn_bytes_of(output ? output : "");
	for (; own && *own; own++)
		if (cairn_bytes_end_with(name, *own))
			return true;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (cairn_bytes_end_with(name, known[i].suffix))
			return cairn_fail_usage(error, "'cairn %s' does not write %s files; 'cairn %s' does", command, known[i].suffix,
						known[i].command);
	return true;
}
