/* wrapper.c - the tables of wrappers, and matching patterns.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/wrapper.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Functions of libc that allocate what they return or need, without the underscores and __GI_ of its internal names. Sorted. */
static const char *const of_libc[] = {
	"allocate_and_init", "allocate_dtv", "allocate_stack", "asprintf", "dl_allocate_tls", "fdopen", "fdopendir", "fopen", "fopen64",
	"fopen_internal", "freopen", "getaddrinfo", "getcwd", "getdelim", "getline", "glob", "hcreate", "hcreate_r", "open_memstream",
	"opendir",
	"pthread_create", "pthread_create_2_1", "pthread_getattr_np", "realpath", "regcomp", "scandir", "setlocale", "setvbuf",
	"strdup", "strndup",
	"tls_get_addr", "tls_get_addr_slow", "tls_get_addr_tail", "tsearch", "update_get_addr", "vasprintf", "vasprintf_internal", "wcsdup",
};

/* How names in standard libraries and widely used containers begin. They call the program's own code only through callbacks, and then the
 * callback is the first frame outside them. */
static const char *const of_languages[] = {
	"std::", "__gnu_cxx::", "boost::container::", "absl::container_internal::", /* C++ */
	"alloc::", "<alloc::", "core::", "<core::", "<std::", "hashbrown::", "<hashbrown::", "smallvec::", "<smallvec::", "indexmap::",
	"<indexmap::",
	"<[", "<str>::", /* Rust */
};

static int compare(const void *key, const void *item)
{
	return strcmp(key, *(const char *const *)item);
}

static bool is_of_libc(const char *name)
{
	if (strncmp(name, "_IO_", 4) == 0)
		return true;
	if (strncmp(name, "__GI_", 5) == 0)
		name += 5;
	name += strspn(name, "_");
	return bsearch(name, of_libc, sizeof of_libc / sizeof *of_libc, sizeof *of_libc, compare) != NULL;
}

/* Whether NAME is a standard trait implemented for a built-in type: <u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem. */
static bool is_of_plain_type(const char *name)
{
	static const char *const crates[] = {"alloc::", "core::", "std::", "<["};
	const char *as = name[0] == '<' ? strstr(name, " as ") : NULL;
	if (!as || memchr(name, ':', (size_t)(as - name)))
		return false;
	for (size_t i = 0; i < sizeof crates / sizeof *crates; i++)
		if (strncmp(as + strlen(" as "), crates[i], strlen(crates[i])) == 0)
			return true;
	return false;
}

static bool is_of_language(const char *name)
{
	for (size_t i = 0; i < sizeof of_languages / sizeof *of_languages; i++)
		if (strncmp(name, of_languages[i], strlen(of_languages[i])) == 0)
			return true;
	return false;
}

/* The part after the last :: outside brackets. */
static const char *last_part(const char *name)
{
	const char *last = name;
	int depth = 0;
	for (const char *at = name; *at; at++) {
		depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
		if (depth <= 0 && at[0] == ':' && at[1] == ':')
			last = at + 2;
	}
	return last;
}

static bool matches(const char *name, const char *patterns)
{
	enum { longest = 200 };
	while (*patterns) {
		char pattern[longest];
		size_t length = strcspn(patterns, ",");
		if (length > 0 && length < longest) {
			memcpy(pattern, patterns, length);
			pattern[length] = '\0';
			if (fnmatch(pattern, name, 0) == 0)
				return true;
		}
		patterns += length + (patterns[length] == ',');
	}
	return false;
}

bool cairn_wrapper_is(const char *name, const char *patterns)
{
	return is_of_libc(name) || is_of_language(name) || is_of_plain_type(name) || matches(last_part(name),
		patterns ? patterns : CAIRN_WRAPPER_PATTERNS);
}
