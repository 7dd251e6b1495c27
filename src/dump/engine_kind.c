/* engine_kind.c - the words.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/engine_kind.h"

#include <assert.h>

static const char *const names[] = {CAIRN_ENGINE_NAMES};
static_assert(sizeof names / sizeof *names == CAIRN_ENGINE_JEMALLOC + 1, "every engine has a name");

const char *cairn_engine_name(enum cairn_engine_kind kind)
{
	return names[kind];
}

bool cairn_engine_is(struct cairn_bytes name, enum cairn_engine_kind kind)
{
	return cairn_bytes_equal(name, cairn_bytes_of(names[kind]));
}

enum cairn_engine_kind cairn_engine_parse(struct cairn_bytes name)
{
	for (enum cairn_engine_kind kind = CAIRN_ENGINE_CAIRN; kind <= CAIRN_ENGINE_JEMALLOC; kind++)
		if (cairn_engine_is(name, kind))
			return kind;
	return CAIRN_ENGINE_AUTO;
}
