/* demangle.c - libiberty behind a bound.
 *
 * A mangled name may refer back to its own parts, so a few hundred bytes can unfold to more than memory holds. libiberty
 * hands its output over in pieces; once too much has come, the way out is a jump, since it has no other. It keeps its
 * state on the stack, so nothing is lost by that.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/demangle.h"

#include "base/buffer.h"
#include "symbol/elf.h"

#include <libiberty/demangle.h>
#include <setjmp.h>

enum { longest_name = CAIRN_LONGEST_NAME };

/* libiberty refuses what has more than 1024 characters, as large templates do, for fear of the stack. The worst that so many
 * characters can nest takes less than 1 MiB of it. */
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

/* SINK belongs to the caller, so that the jump leaves it intact. */
static bool demangle(struct sink *sink, const char *name)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;
	if (setjmp(sink->enough))
		return false;
	/* Rust's older names are also valid C++ ones, with the hash as a last part. */
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
