/* demangle.c - calls libiberty with a limit on its output.
 *
 * A mangled name may refer back to its own parts, so a few hundred bytes can expand to more than fits in memory. libiberty delivers its
 * output in pieces, but has no way to stop; past the limit, the callback leaves it with longjmp. That leaks nothing, because libiberty
 * keeps its state on the stack.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/demangle.h"

#include "base/buffer.h"
#include "symbol/elf.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

enum { longest_name = CAIRN_LONGEST_NAME };

/* libiberty rejects names of more than 1024 characters, as large templates have, to protect the stack. The deepest nesting in a name of
 * this length takes less than 1 MiB, so up to here that check is switched off. */
enum { longest_without_fear = 4096 };

struct sink {
	struct cairn_buffer out;
	jmp_buf enough;
};

static void take(const char *text, size_t length, void *opaque)
{
	struct sink *sink = opaque;
	cairn_buffer_append(&sink->out, text, length);
	if (sink->out.failed)
		longjmp(sink->enough, 1);
}

/* SINK belongs to the caller, so longjmp leaves it intact. */
static bool demangle(struct sink *sink, const char *name)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;
	if (setjmp(sink->enough))
		return false;
	/* Legacy Rust names are also valid C++ names, with the hash as their last part, so Rust is tried first. */
	if (rust_demangle_callback(name, options, take, sink))
		return true;
	sink->out.length = 0;
	bool fearless = strnlen(name, longest_without_fear + 1) <= longest_without_fear;
	return cplus_demangle_v3_callback(name, options | (fearless ? DMGL_NO_RECURSE_LIMIT : 0), take, sink);
}

static bool looks_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || strncmp(name, "_GLOBAL_", 8) == 0);
}

const char *cairn_demangle(struct cairn_arena *arena, const char *name)
{
	if (!looks_mangled(name))
		return NULL;
	struct sink sink = {.out = cairn_buffer(longest_name)};
	const char *result = NULL;
	if (strnlen(name, longest_name) < longest_name && demangle(&sink, name) && sink.out.length > 0)
		result = cairn_arena_text(arena, cairn_buffer_bytes(&sink.out));
	cairn_buffer_free(&sink.out);
	return result;
}
