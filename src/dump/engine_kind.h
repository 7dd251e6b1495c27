/* engine_kind.h - the two engines that sample a heap, and the words for them in trailers, in the agent's status, and in settings.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_ENGINE_KIND_H
#define CAIRN_DUMP_ENGINE_KIND_H

#include "base/bytes.h"

enum cairn_engine_kind {
	CAIRN_ENGINE_AUTO, /* as a setting: jemalloc's profiler if the service was started with prof:true, Cairn's engine otherwise */
	CAIRN_ENGINE_CAIRN,    /* Cairn's own, for any allocator */
	CAIRN_ENGINE_JEMALLOC, /* jemalloc's own profiler */
};

#define CAIRN_ENGINE_NAMES "auto", "cairn", "jemalloc"

const char *cairn_engine_name(enum cairn_engine_kind kind);

/* Whether NAME is the word for KIND. */
bool cairn_engine_is(struct cairn_bytes name, enum cairn_engine_kind kind);

/* The engine that NAME stands for; AUTO for any other word. */
enum cairn_engine_kind cairn_engine_parse(struct cairn_bytes name);

#endif
