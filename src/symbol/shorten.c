/* shorten.c - makes one pass over a demangled name and copies what is kept.
 *
 * Outside all brackets, a C++ name has the form [return type] [scope::]name[<arguments>][(parameters)][qualifiers]; after a parameter list,
 * another :: may follow, for something local to the function. So a space outside brackets ends a return type, but only names with
 * parameters have one: otherwise the space belongs to a name that is neither C++ nor Rust.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/shorten.h"

#include "base/error.h"

#include <stdlib.h>

struct shortening {
	const char *at;
	char *out;
	size_t length;
	unsigned qualified; /* how many of Rust's <Type as Trait> are open */
	size_t opened;      /* where the outermost of them begins in OUT */
	bool spaced;        /* there was a space outside brackets since the last parameter list */
	bool strange;       /* neither C++ nor Rust */
};

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_word(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_' || byte == '$' ||
	       (byte & 0x80);
}

/* The characters that matter inside brackets that are left out; the others, most of a long name, are skipped. */
static const bool stops[256] = {['\0'] = true, ['\''] = true, ['('] = true, [')'] = true, ['['] = true,
				[']'] = true,  ['{'] = true,  ['}'] = true, ['<'] = true, ['>'] = true};

static void put(struct shortening *s, const char *text, size_t length)
{
	memcpy(s->out + s->length, text, length);
	s->length += length;
}

/* Copies COUNT bytes of the name, which has at least that many left. */
static void keep(struct shortening *s, size_t count)
{
	put(s, s->at, count);
	s->at += count;
}

static char last(const struct shortening *s)
{
	return s->length ? s->out[s->length - 1] : '\0';
}

/* The position after a character literal, such as '<' in a Rust const argument, or after the quote alone: a lifetime has only one quote. */
static const char *skip_quoted(const char *at)
{
	if (at[1] == '\\' && at[2] && at[3] == '\'')
		return at + 4;
	return at[1] && at[1] != '\\' && at[2] == '\'' ? at + 3 : at + 1;
}

/* The position after the bracket that closes the one at AT, or NULL. Inside round, square and curly brackets, a < may be an operator and is
 * not counted; nor is the > of ->, anywhere. */
static const char *skip_group(const char *at)
{
	size_t angles = 0, others = 0;
	for (;;) {
		while (!stops[(unsigned char)*at])
			at++;
		switch (*at) {
		case '\0':
			return NULL;
		case '\'':
			at = skip_quoted(at);
			continue;
		case '(':
		case '[':
		case '{':
			others++;
			break;
		case ')':
		case ']':
		case '}':
			if (others == 0)
				return NULL;
			others--;
			break;
		case '<':
			angles += others == 0;
			break;
		case '>':
			if (others == 0 && at[-1] != '-') {
				if (angles == 0)
					return NULL;
				angles--;
			}
			break;
		}
		at++;
		if (angles == 0 && others == 0)
			return at;
	}
}

static void drop_group(struct shortening *s)
{
	const char *end = skip_group(s->at);
	s->strange |= !end;
	s->at = end ? end : s->at + strlen(s->at);
}

static void keep_group(struct shortening *s)
{
	const char *start = s->at;
	drop_group(s);
	put(s, start, (size_t)(s->at - start));
}

/* Drops what may follow a parameter list before the end or the next ::. */
static void drop_qualifiers(struct shortening *s)
{
	static const char *const qualifiers[] = {" const", " volatile", " &&", " &", " noexcept", " restrict", " __restrict"};
	for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++)
		if (starts_with(s->at, qualifiers[i]) && !is_word(s->at[strlen(qualifiers[i])])) {
			s->at += strlen(qualifiers[i]);
			i = (size_t)-1;
		}
}

/* Keeps the token after the word `operator`: a symbol, new, delete, a literal suffix, or the type that it converts to. */
static void keep_operator(struct shortening *s)
{
	static const char *const symbols[] = {"<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
					      "++", "--", "->", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<", ">", "=",
					      "!", "+", "-", "*", "/", "%", "^", "&", "|", "~", ",", "\"\""};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (starts_with(s->at, symbols[i])) {
			keep(s, strlen(symbols[i]));
			if (s->at[0] == ' ' && (s->at[1] == '<' || symbols[i][0] == '"'))
				s->at++;
			while (is_word(*s->at))
				keep(s, 1);
			if (*s->at == '<')
				drop_group(s);
			return;
		}
	if (starts_with(s->at, " new[]") || starts_with(s->at, " delete[]")) {
		keep(s, (size_t)(strchr(s->at, ']') + 1 - s->at));
		return;
	}
	while (*s->at && *s->at != '(' && !s->strange) {
		if (*s->at == '<') {
			drop_group(s);
			put(s, "<...>", 5);
		} else {
			keep(s, 1);
		}
	}
}

/* Handles a <, which begins template arguments, Rust's <Type as Trait>, or GCC's <lambda(...)>. */
static void take_angle(struct shortening *s)
{
	if (s->length == 0 || strchr("<&( [*", last(s)) || starts_with(s->at, "<impl ") || starts_with(s->at, "<lambda(")) {
		if (s->qualified++ == 0)
			s->opened = s->length;
		keep(s, 1);
	} else {
		drop_group(s);
		put(s, "<...>", 5);
	}
}

/* In one of Rust's two manglings, a method of a type is <path::Type>::method, in the other path::Type::method; people write the second.
 * When this is called, the copied text begins with the opening bracket and ends with the closing one. */
static void unwrap_type(struct shortening *s)
{
	size_t length = s->length - 2;
	bool is_path = false;
	for (size_t i = 1; i <= length; i++) {
		if (!is_word(s->out[i]) && !strchr(":<>.{}#", s->out[i]))
			return;
		is_path |= s->out[i] == ':';
	}
	if (is_path) {
		memmove(s->out, s->out + 1, length);
		s->length = length;
	}
}

static void take_closing(struct shortening *s)
{
	bool arrow = last(s) == '-';
	if (!arrow)
		s->strange |= s->qualified-- == 0;
	keep(s, 1);
	if (!arrow && s->qualified == 0 && s->out[0] == '<' && s->opened == 0 && starts_with(s->at, "::"))
		unwrap_type(s);
}

/* Handles a ( outside <Type as Trait>. */
static void take_parenthesis(struct shortening *s)
{
	static const char anonymous[] = "(anonymous namespace)";
	if (starts_with(s->at, anonymous)) {
		keep(s, sizeof anonymous - 1);
	} else if (last(s) == '.') {
		keep_group(s); /* the receiver of a Go method */
	} else {
		s->strange |= s->length == 0 && !s->spaced; /* decltype (…) f(…) has one after a space */
		drop_group(s);
		drop_qualifiers(s);
		s->spaced = false;
		if (*s->at && !starts_with(s->at, "::") && !starts_with(s->at, "[abi:") && *s->at != ' ')
			s->strange = true;
	}
}

/* Keeps {lambda(int)#1}, {{closure}} or {unnamed type#2}, but without parameters. */
static void take_brace(struct shortening *s)
{
	const char *end = skip_group(s->at);
	s->strange |= !end;
	while (end && s->at < end) {
		if (*s->at == '(')
			drop_group(s);
		else
			keep(s, 1);
	}
}

/* GCC makes two functions of a coroutine: one runs its body, the other destroys it. */
static bool take_coroutine(struct shortening *s)
{
	static const char before[] = " [clone ", *const marks[] = {".actor", ".destroy"};
	const char *mark = s->at + sizeof before - 1;
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		size_t length = strlen(marks[i]);
		if (starts_with(mark, marks[i]) && mark[length] == ']') {
			put(s, mark, length);
			s->at = mark + length + 1;
			return true;
		}
	}
	return false;
}

static void take_space(struct shortening *s)
{
	if (starts_with(s->at, " [clone ")) {
		if (!take_coroutine(s))
			s->at += strlen(s->at);
	} else {
		s->length = 0;
		s->spaced = true;
		s->at++;
	}
}

/* GCC and LLVM mark the copies that they make of a function: f.constprop.0, f.part.3.cold, f.llvm.123. */
static bool at_clone_suffix(const struct shortening *s)
{
	static const char *const suffixes[] = {".constprop", ".isra", ".part", ".cold", ".lto_priv", ".llvm", ".localalias", ".clone"};
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
		if (starts_with(s->at, suffixes[i]) && !is_word(s->at[strlen(suffixes[i])]))
			return true;
	return false;
}

/* Whether WORD was just copied, as a whole word. */
static bool after_word(const struct shortening *s, const char *word)
{
	size_t length = strlen(word);
	return s->length >= length && !is_word(*s->at) && memcmp(s->out + s->length - length, word, length) == 0 &&
	       (s->length == length || !is_word(s->out[s->length - length - 1]));
}

/* Copies words and the colons between them, up to the next character that needs a closer look. */
static void keep_words(struct shortening *s)
{
	size_t length = 0;
	while (is_word(s->at[length]) || s->at[length] == ':')
		length++;
	put(s, s->at, length);
	s->at += length;
}

static void step(struct shortening *s)
{
	keep_words(s);
	if (!*s->at)
		return;
	if (after_word(s, "operator") && (*s->at != '(' || s->at[1] == ')')) {
		keep_operator(s);
		return;
	}
	switch (*s->at) {
	case '<':
		take_angle(s);
		break;
	case '>':
		take_closing(s);
		break;
	case '(':
		if (!s->qualified)
			take_parenthesis(s);
		else if (after_word(s, "lambda"))
			drop_group(s);
		else
			keep(s, 1);
		break;
	case '{':
		take_brace(s);
		break;
	case '[':
		if (starts_with(s->at, "[abi:"))
			drop_group(s);
		else
			keep(s, 1);
		break;
	case ' ':
		if (s->qualified)
			keep(s, 1);
		else
			take_space(s);
		break;
	case '.':
		if (s->length && at_clone_suffix(s))
			s->at += strlen(s->at);
		else
			keep(s, 1);
		break;
	default:
		keep(s, 1);
	}
}

const char *cairn_name_shorten(struct cairn_arena *arena, const char *name)
{
	/* Nearly all C names have nothing to leave out. */
	if (!name[strcspn(name, "<({[ .")])
		return name;
	char usual[4096];
	size_t room = strlen(name) * 5 / 2 + 8; /* an elided <> grows from two bytes to five; nothing else grows */
	char *out = room <= sizeof usual ? usual : malloc(room);
	if (!out)
		cairn_out_of_memory(room);
	struct shortening s = {.at = name, .out = out};
	while (*s.at && !s.strange)
		step(&s);
	const char *result = name;
	if (!s.strange && !s.spaced && !s.qualified && s.length > 0)
		result = cairn_arena_text(arena, (struct cairn_bytes){out, s.length});
	if (out != usual)
		free(out);
	return result;
}
