/* closure.c - reads as much of Rust's syntax as says where functions begin and end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/closure.h"

#include "base/array.h"
#include "base/path.h"
#include "report/source_file.h"
#include "symbol/library_file.h"
#include "symbol/wrapper.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { deepest_block = 256, longest_name = 200 };

/* A block that is open: what stands before its brace, if that is the head of a function or an impl. */
struct block {
	struct cairn_bytes name;
	bool is_function;
};

struct scan {
	struct cairn_bytes rest;
	uint32_t line;
	struct block open[deepest_block];
	size_t depth;
	struct block next; /* of the block whose head has been seen */
	size_t groups;     /* parentheses and brackets that are open since that head */
};

static void skip(struct scan *s, size_t count)
{
	for (; count > 0 && s->rest.length > 0; count--) {
		s->line += *s->rest.data == '\n';
		s->rest = cairn_bytes_skip(s->rest, 1);
	}
}

static char peek(const struct scan *s, size_t at)
{
	return at < s->rest.length ? s->rest.data[at] : '\0';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void skip_until(struct scan *s, const char *end)
{
	while (s->rest.length > 0 && !cairn_bytes_start_with(s->rest, end))
		skip(s, 1);
	skip(s, strlen(end));
}

static void skip_block_comment(struct scan *s)
{
	size_t depth = 0;
	do {
		bool opens = cairn_bytes_start_with(s->rest, "/*"), closes = cairn_bytes_start_with(s->rest, "*/");
		depth = depth + opens - closes;
		skip(s, opens || closes ? 2 : 1);
	} while (depth > 0 && s->rest.length > 0);
}

/* "text", 'c' or r#"text"#, if one begins here. 'a may also be a lifetime. */
static bool skip_literal(struct scan *s)
{
	size_t at = 0, marks = 0;
	if (peek(s, 0) == '\'') {
		bool is_char = peek(s, 1) == '\\' || (peek(s, 1) && (peek(s, 2) == '\'' || (unsigned char)peek(s, 1) >= 0x80));
		skip(s, is_char && peek(s, 1) == '\\' ? 3 : 1);
		if (is_char)
			skip_until(s, "'");
		return true;
	}
	at += peek(s, at) == 'b';
	bool is_raw = peek(s, at) == 'r';
	at += is_raw;
	while (is_raw && peek(s, at + marks) == '#')
		marks++;
	if (peek(s, at + marks) != '"')
		return false;
	skip(s, at + marks + 1);
	while (s->rest.length > 0) {
		if (!is_raw && peek(s, 0) == '\\') {
			skip(s, 2);
			continue;
		}
		size_t seen = 0;
		bool ends = peek(s, 0) == '"';
		while (ends && seen < marks && peek(s, 1 + seen) == '#')
			seen++;
		skip(s, 1 + seen);
		if (ends && seen == marks)
			break;
	}
	return true;
}

static struct cairn_bytes take_word(struct scan *s)
{
	size_t length = 0;
	while (is_word(peek(s, length)))
		length++;
	struct cairn_bytes word = {s->rest.data, length};
	skip(s, length);
	return word;
}

static void skip_space(struct scan *s)
{
	while (isspace((unsigned char)peek(s, 0)))
		skip(s, 1);
}

/* From "impl" to the brace: the last word outside angle brackets before a bound, which is the type. */
static void read_impl(struct scan *s)
{
	int depth = 0;
	struct cairn_bytes type = {"", 0};
	while (s->rest.length > 0 && peek(s, 0) != '{' && peek(s, 0) != ';') {
		char c = peek(s, 0);
		if (is_word(c)) {
			struct cairn_bytes word = take_word(s);
			if (depth == 0 && cairn_bytes_equal(word, cairn_bytes_of("where")))
				break;
			if (depth == 0 && !cairn_bytes_equal(word, cairn_bytes_of("for")) && !cairn_bytes_equal(word, cairn_bytes_of("dyn")))
				type = word;
			continue;
		}
		depth += (c == '<') - (c == '>');
		skip(s, 1);
	}
	s->next = (struct block){type, false};
	s->groups = 0;
}

static void step(struct scan *s)
{
	char c = peek(s, 0);
	if (cairn_bytes_start_with(s->rest, "//")) {
		skip_until(s, "\n");
	} else if (cairn_bytes_start_with(s->rest, "/*")) {
		skip_block_comment(s);
	} else if (!skip_literal(s)) {
		if (is_word(c)) {
			struct cairn_bytes word = take_word(s);
			if (cairn_bytes_equal(word, cairn_bytes_of("fn"))) {
				skip_space(s);
				struct cairn_bytes name = take_word(s);
				if (name.length > 0) /* not a pointer's type */
					s->next = (struct block){name, true}, s->groups = 0;
			} else if (cairn_bytes_equal(word, cairn_bytes_of("impl")) && !s->next.name.length) {
				read_impl(s);
			}
			return;
		}
		s->groups += c == '(' || c == '[';
		s->groups -= (c == ')' || c == ']') && s->groups > 0;
		if (c == '{') {
			if (s->depth < deepest_block)
				s->open[s->depth] = s->next;
			s->depth++;
		} else if (c == '}') {
			s->depth -= s->depth > 0;
		}
		if (c == '{' || c == '}' || (c == ';' && s->groups == 0))
			s->next = (struct block){0};
		skip(s, 1);
	}
}

static const char *innermost(struct cairn_arena *arena, const struct scan *s)
{
	for (size_t i = s->depth < deepest_block ? s->depth : deepest_block; i-- > 0;) {
		if (!s->open[i].is_function || s->open[i].name.length > longest_name)
			continue;
		struct cairn_bytes type = {"", 0};
		if (i > 0 && !s->open[i - 1].is_function && s->open[i - 1].name.length < longest_name)
			type = s->open[i - 1].name;
		return cairn_arena_format(arena, "%.*s%s%.*s", (int)type.length, type.data, type.length ? "::" : "",
					  (int)s->open[i].name.length, s->open[i].name.data);
	}
	return NULL;
}

const char *cairn_closure_scope(struct cairn_arena *arena, struct cairn_bytes source, uint32_t number)
{
	struct scan s = {.rest = source, .line = 1};
	const char *scope = NULL;
	/* Of several functions on one line, the last one that begins there counts. */
	while (s.rest.length > 0 && s.line <= number) {
		uint32_t line = s.line;
		size_t depth = s.depth;
		step(&s);
		bool begins = line == number && s.depth > depth && s.depth <= deepest_block && s.open[s.depth - 1].is_function;
		if (begins || (line < number && s.line >= number))
			scope = innermost(arena, &s);
	}
	return scope;
}

/* One file of the profile, opened when the first closure in it is named. */
struct source {
	uint32_t path;
	bool is_there;
	struct cairn_source_file file;
};

struct closures {
	struct cairn_profile *profile;
	struct cairn_arena arena;
	struct cairn_source_search search;
	struct source *sources;
	size_t count, capacity;
};

/* Whether the file at PATH is no newer than the program or library of LOCATION, so that its lines are those that were compiled. */
static bool is_as_compiled(const struct cairn_profile *profile, const struct cairn_location *location, const char *path)
{
	const struct cairn_module *module = cairn_profile_module(profile, location);
	struct stat source, binary;
	return module && module->path && stat(path, &source) == 0 && stat(cairn_profile_string(profile, module->path), &binary) == 0 &&
	       (source.st_mtim.tv_sec < binary.st_mtim.tv_sec ||
		(source.st_mtim.tv_sec == binary.st_mtim.tv_sec && source.st_mtim.tv_nsec <= binary.st_mtim.tv_nsec));
}

static const struct source *open_source(struct closures *closures, uint32_t path, const struct cairn_location *location)
{
	for (size_t i = 0; i < closures->count; i++)
		if (closures->sources[i].path == path)
			return &closures->sources[i];
	cairn_array_room(closures->sources, closures->count, closures->capacity);
	struct source *source = &closures->sources[closures->count++];
	const char *name = cairn_profile_string(closures->profile, path);
	*source = (struct source){.path = path};
	source->is_there = name[0] == '/' && is_as_compiled(closures->profile, location, name) &&
			   cairn_source_file_open(&source->file, name, &closures->search);
	return source;
}

/* The last two parts of PATH, or of a crate all below its folder. */
static const char *short_path(const char *path)
{
	const char *crate = strstr(path, "/registry/src/"), *slash = crate ? strchr(crate + strlen("/registry/src/"), '/') : NULL;
	if (slash)
		return slash + 1;
	const char *base = cairn_base_name(path), *at = base;
	while (at > path && (at == base || at[-1] != '/'))
		at--;
	return at;
}

static const char *name_closure(struct closures *closures, const struct cairn_location *location, const struct cairn_frame *frame)
{
	struct cairn_profile *profile = closures->profile;
	const struct cairn_function *function = &profile->functions[frame->function];
	const char *name = cairn_profile_string(profile, function->name), *path = cairn_profile_string(profile, function->file);
	int length = (int)strcspn(name, "<");
	if (!cairn_library_is_rust(path))
		return function->start_line ? cairn_arena_format(&closures->arena, "{lambda} in %s:%u", cairn_base_name(path), function->start_line)
					    : cairn_arena_format(&closures->arena, "{lambda} in %s", cairn_base_name(path));
	const struct source *source = frame->line ? open_source(closures, function->file, location) : NULL;
	const char *scope = source && source->is_there
				    ? cairn_closure_scope(&closures->arena, source->file.file.bytes, frame->line)
				    : NULL;
	return scope ? cairn_arena_format(&closures->arena, "%s::%.*s", scope, length, name)
		     : cairn_arena_format(&closures->arena, "%.*s in %s", length, name, short_path(path));
}

/* Whether FUNCTION has no name that could be looked for, but a file. */
static bool is_nameless(const struct cairn_profile *profile, const struct cairn_function *function)
{
	const char *name = cairn_profile_string(profile, function->name);
	return function->file && cairn_wrapper_is_bare(name) && cairn_wrapper_is_closure(name);
}

void cairn_closures_name(struct cairn_profile *profile)
{
	struct closures closures = {.profile = profile};
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		for (uint32_t k = 0; k < location->frame_count; k++) {
			struct cairn_frame *frame = &profile->frames[location->first_frame + k];
			struct cairn_function function = profile->functions[frame->function];
			if (!is_nameless(profile, &function))
				continue;
			if (!closures.search.folders) {
				closures.search = cairn_source_search(profile, NULL);
				closures.search.folders = ""; /* only where it was compiled: another program may have a file of that name */
			}
			function.name = function.system_name = cairn_profile_text(profile, name_closure(&closures, location, frame));
			frame->function = cairn_profile_add_function(profile, &function);
		}
	}
	for (size_t i = 0; i < closures.count; i++)
		if (closures.sources[i].is_there)
			cairn_source_file_close(&closures.sources[i].file);
	free(closures.sources);
	cairn_arena_free(&closures.arena);
}
