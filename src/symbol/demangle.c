/* demangle.c - calls libiberty with limits on its input, its work, its stack and its output.
 *
 * A mangled name may refer back to its own parts, so a few hundred bytes can expand to more than fits in memory. libiberty delivers its
 * output in pieces, but has no way to stop; past the limit, the callback leaves it with longjmp. What the name becomes in between, a tree
 * of components, is checked before it is printed: some trees take libiberty more stack than a thread has, or more time than anybody has,
 * before it prints the first character.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/demangle.h"

#include "base/array.h"
#include "base/buffer.h"
#include "symbol/elf.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>

enum { longest_name = CAIRN_LONGEST_NAME };

/* libiberty's other entry rejects names of more than 1024 characters, as large templates have, to protect the stack. The deepest nesting in
 * a name of this length takes less than 1 MiB. */
enum { longest_parsed = 4096 };

enum {
	deepest = 2048, /* levels of a tree; libiberty prints half as many */
	most_parts = 1 << 20, /* of a tree, with everything that is referred to counted again each time */
	most_copies = 1 << 14, /* templates times references to template parameters: each has 16 bytes on libiberty's stack */
	most_conversions = 16, /* template arguments of parameters, each of which may be parsed twice in a conversion operator */
};

struct sink {
	struct cairn_buffer out;
	jmp_buf enough;
	void *components; /* owned; freed by the caller, also after longjmp */
};

static void take(const char *text, size_t length, void *opaque)
{
	struct sink *sink = opaque;
	cairn_buffer_append(&sink->out, text, length);
	if (sink->out.failed)
		longjmp(sink->enough, 1);
}

/* The components of a name, all in one array, as a tree whose parts may be referred to more than once. */
struct tree {
	const struct demangle_component *components;
	size_t count;
	uint32_t *parts; /* of each component that has been measured; 0 for others */
	size_t templates, references;
};

static uint32_t measure(struct tree *tree, const struct demangle_component *component, unsigned depth);

static uint32_t measure_both(struct tree *tree, const struct demangle_component *left, const struct demangle_component *right,
			     unsigned depth)
{
	uint32_t parts = measure(tree, left, depth + 1);
	return parts < most_parts ? parts + measure(tree, right, depth + 1) : most_parts;
}

/* The number of parts below COMPONENT, at most most_parts; that is also the answer for a tree that is too deep or refers to itself. */
static uint32_t measure(struct tree *tree, const struct demangle_component *component, unsigned depth)
{
	uintptr_t distance = (uintptr_t)component - (uintptr_t)tree->components;
	size_t index = distance / sizeof *component;
	if (!component || index >= tree->count || distance % sizeof *component != 0)
		return 0;
	if (tree->parts[index] || depth > deepest)
		return tree->parts[index] ? tree->parts[index] : most_parts;
	tree->parts[index] = most_parts;
	uint32_t parts = 0;
	switch (component->type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_UNNAMED_TYPE:
		break;
	case DEMANGLE_COMPONENT_CTOR:
		parts = measure(tree, component->u.s_ctor.name, depth + 1);
		break;
	case DEMANGLE_COMPONENT_DTOR:
		parts = measure(tree, component->u.s_dtor.name, depth + 1);
		break;
	case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
		parts = measure(tree, component->u.s_extended_operator.name, depth + 1);
		break;
	case DEMANGLE_COMPONENT_FIXED_TYPE:
		parts = measure(tree, component->u.s_fixed.length, depth + 1);
		break;
	case DEMANGLE_COMPONENT_LAMBDA:
	case DEMANGLE_COMPONENT_DEFAULT_ARG:
		parts = measure(tree, component->u.s_unary_num.sub, depth + 1);
		break;
	case DEMANGLE_COMPONENT_REFERENCE:
	case DEMANGLE_COMPONENT_RVALUE_REFERENCE:
		parts = measure(tree, component->u.s_binary.left, depth + 1);
		tree->references += parts && component->u.s_binary.left->type == DEMANGLE_COMPONENT_TEMPLATE_PARAM;
		break;
	default:
		tree->templates += component->type == DEMANGLE_COMPONENT_TEMPLATE;
		parts = measure_both(tree, component->u.s_binary.left, component->u.s_binary.right, depth);
	}
	return tree->parts[index] = parts < most_parts ? parts + 1 : most_parts;
}

/* Whether the tree of a name of LENGTH characters is small enough to be printed. */
static bool is_printable(const struct demangle_component *root, const void *components, size_t length)
{
	struct tree tree = {.components = components, .count = 2 * length}; /* as many as libiberty makes */
	tree.parts = cairn_array_zero(tree.count, sizeof *tree.parts);
	bool good = measure(&tree, root, 0) < most_parts && tree.templates * tree.references <= most_copies;
	free(tree.parts);
	return good;
}

/* Whether parsing NAME could take very long: in a conversion operator, what follows a template parameter is parsed as its arguments first,
 * then, if that is wrong, once more as something else, and so on within it. */
static bool converts_much(const char *name)
{
	size_t count = 0;
	if (!strstr(name, "cv"))
		return false;
	for (const char *at = name; (at = strstr(at, "_I")); at += 2) {
		const char *start = at; /* T_I or T12_I, unlike S_I */
		while (start > name && start[-1] >= '0' && start[-1] <= '9')
			start--;
		count += start > name && start[-1] == 'T';
	}
	return count > most_conversions;
}

/* SINK belongs to the caller, so longjmp leaves it intact. */
static bool demangle_cplus(struct sink *sink, const char *name)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;
	static const char constructors[] = "_GLOBAL__I_";
	size_t before = strncmp(name, "_GLOBAL_", 8) == 0 && strlen(name) >= sizeof constructors ? sizeof constructors - 1 : 0;
	size_t length = strnlen(name + before, longest_parsed + 1);
	if (length > longest_parsed || converts_much(name + before))
		return false;
	struct demangle_component *root = cplus_demangle_v3_components(name + before, options, &sink->components);
	if (root && !is_printable(root, sink->components, length))
		return false;
	/* Constructors and destructors of a file are keyed to a name, mangled or not. */
	if (before)
		return cplus_demangle_v3_callback(name, options, take, sink);
	return root && cplus_demangle_print_callback(options, root, take, sink);
}

static bool demangle(struct sink *sink, const char *name, unsigned languages)
{
	if (setjmp(sink->enough))
		return false;
	/* Legacy Rust names are also valid C++ names, with the hash as their last part, so Rust is tried first. */
	if ((languages & CAIRN_DEMANGLE_RUST) && rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, take, sink))
		return true;
	sink->out.length = 0;
	return (languages & CAIRN_DEMANGLE_CPLUS) && demangle_cplus(sink, name);
}

static bool looks_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || strncmp(name, "_GLOBAL_", 8) == 0);
}

const char *cairn_demangle_from(struct cairn_arena *arena, const char *name, unsigned languages)
{
	if (!looks_mangled(name))
		return NULL;
	struct sink sink = {.out = cairn_buffer(longest_name)};
	const char *result = NULL;
	if (strnlen(name, longest_name) < longest_name && demangle(&sink, name, languages) && sink.out.length > 0)
		result = cairn_arena_text(arena, cairn_buffer_bytes(&sink.out));
	cairn_buffer_free(&sink.out);
	free(sink.components);
	return result;
}

const char *cairn_demangle(struct cairn_arena *arena, const char *name)
{
	return cairn_demangle_from(arena, name, CAIRN_DEMANGLE_ALL);
}

void cairn_demangle_profile(struct cairn_profile *profile)
{
	struct cairn_arena arena = {0};
	for (size_t i = 0; i < profile->function_count; i++) {
		struct cairn_function *function = &profile->functions[i];
		uint32_t mangled = function->name ? function->name : function->system_name;
		if (function->system_name && function->system_name != mangled)
			continue;
		/* macOS puts one more underscore before every name. */
		const char *text = cairn_profile_string(profile, mangled), *name = cairn_demangle(&arena, text);
		if (!name && strncmp(text, "__", 2) == 0)
			name = cairn_demangle(&arena, text + 1);
		if (!name)
			continue;
		function->name = cairn_profile_text(profile, name);
		function->system_name = mangled;
	}
	cairn_arena_free(&arena);
}
