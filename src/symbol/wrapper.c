/* wrapper.c - the tables of wrappers, and matching patterns.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/wrapper.h"

#include "base/bytes.h"
#include "base/path.h"
#include "symbol/library_file.h"

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
	"std::", "__gnu_cxx::", "boost::", "absl::", "folly::", "fmt::", "eastl::", "tbb::", "Eigen::", "nlohmann::", "rapidjson::",
	"google::protobuf::", "google::dense_hash", "google::sparse_hash", "phmap::", "tsl::", "ankerl::", "robin_hood::", "spdlog::",
	"QArrayData::", "QByteArray::", "QHash<", "QHashData::", "QList<", "QListData::", "QMap<", "QString::", "QVariant::", "QVector<",
	"llvm::SmallVector", "llvm::DenseMap", "llvm::StringMap", /* C++ */
	"alloc::", "<alloc::", "core::", "<core::", "<std::", "<[", "<str>::", /* Rust; its crates are in library_file.c */
	"array_list.", "array_hash_map.", "hash_map.", "heap.", "mem.Allocator.", "multi_array_list.", "segmented_list.", /* Zig */
	"core.memory.", "core.internal.", "rt.lifetime.", "rt.aaA.", "std.array.", "std.container.", "std.conv.", "std.format.",
	"object.", /* D */
	"node::Malloc", "node::Realloc", "node::UncheckedMalloc", "node::UncheckedRealloc", "node::NodeArrayBufferAllocator::",
	"v8::base::", "v8::internal::Malloced::", "v8::internal::AlignedAlloc", "v8::internal::AllocWithRetry",
	"v8::internal::AccountingAllocator::", "v8::internal::NewArray", /* Node.js */
};

/* CPython's objects and built-in types, as patterns of whole names. */
static const char of_python[] =
	"PyObject_*,_PyObject_*,PyMem_*,_PyMem_*,PyType_GenericAlloc,_PyType_Alloc*,gc_alloc,default_malloc,"
	"PyUnicode_*,_PyUnicode_*,_PyUnicodeWriter_*,PyBytes_*,_PyBytes_*,PyByteArray_*,PyTuple_*,_PyTuple_*,PyList_*,_PyList_*,PyDict_*,"
	"_PyDict_*,PySet_*,PyLong_*,_PyLong_*,PyFloat_*,resize_compact,list_resize,list_append,dictresize,insertdict,insertion_resize,"
	"new_keys_object,new_dict,set_table_resize";

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

/* Whether a type in Rust, of which NAME is the beginning up to END, is one of the language or of its standard library. */
static bool is_plain_type(const char *name, const char *end)
{
	static const char *const crates[] = {"alloc::", "core::", "std::"};
	static const char *const marks[] = {"&", "*", "mut ", "const ", "dyn "};
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (strncmp(name, marks[i], strlen(marks[i])) == 0) {
			name += strlen(marks[i]);
			i = SIZE_MAX; /* from the first again */
		}
	for (size_t i = 0; i < sizeof crates / sizeof *crates; i++)
		if (strncmp(name, crates[i], strlen(crates[i])) == 0)
			return true;
	return !memchr(name, ':', (size_t)(end - name));
}

/* Whether NAME is a standard trait implemented for a standard type: <u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem. */
static bool is_of_plain_type(const char *name)
{
	static const char *const crates[] = {"alloc::", "core::", "std::", "<["};
	const char *as = name[0] == '<' ? strstr(name, " as ") : NULL;
	if (!as || !is_plain_type(name + 1, as))
		return false;
	for (size_t i = 0; i < sizeof crates / sizeof *crates; i++)
		if (strncmp(as + strlen(" as "), crates[i], strlen(crates[i])) == 0)
			return true;
	return false;
}

enum cairn_library_file cairn_wrapper_crate(const char *name)
{
	name += *name == '<';
	name += *name == '&';
	name += strncmp(name, "mut ", 4) == 0 ? 4 : 0;
	const char *scope = strstr(name, "::");
	return scope ? cairn_library_crate(name, (size_t)(scope - name)) : CAIRN_FILE_OTHER;
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
		bool is_arrow = *at == '>' && at > name && at[-1] == '-';
		depth += (*at == '<' || *at == '(') - ((*at == '>' && !is_arrow) || *at == ')');
		if (depth <= 0 && at[0] == ':' && at[1] == ':')
			last = at + 2;
	}
	return last;
}

bool cairn_wrapper_is_bare(const char *name)
{
	return last_part(name) == name;
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

/* Whether NAME is what serde's derive makes of a type: <service::Order as serde_core::de::Deserialize>::deserialize. */
static bool is_derived(const char *name)
{
	static const char *const parts[] = {" as serde::", " as serde_core::", "impl serde::", "impl serde_core::"};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

bool cairn_wrapper_is(const char *name, const char *patterns)
{
	return is_of_libc(name) || is_derived(name) || is_of_language(name) || is_of_plain_type(name) || matches(name, of_python) ||
	       matches(last_part(name), patterns ? patterns : CAIRN_WRAPPER_PATTERNS);
}

bool cairn_wrapper_is_module(const char *path)
{
	static const char *const starts[] = {"libc.so",	   "libc-2.",	 "ld-linux",  "ld-musl",      "libstdc++.so", "libc++.so",
					     "libc++abi.so", "libgcc_s.so", "libabsl_",  "libboost_",    "libfmt.so",	 "libfolly.so",
					     "libtbb.so",    "libglib-2.0", "libapr-1.", "libaprutil-1", "libprotobuf",  "libgfortran.so",
					     "libgphobos.so", "libQt5Core", "libQt6Core"};
	const char *base = cairn_base_name(path);
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (strncmp(base, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

bool cairn_wrapper_is_root(const char *name)
{
	static const char *const roots[] = {"__libc_start_call_main", "__libc_start_main", "__libc_start_main_impl", "_start",
					    "call_init", "clone", "clone3", "start", "start_thread", "thread_start"};
	return bsearch(name, roots, sizeof roots / sizeof *roots, sizeof *roots, compare) != NULL;
}

/* Methods of Rust's standard traits, and constructors, by names that many types have. */
static const char *const of_any_type[] = {
	"borrow", "build", "call", "call_mut", "call_once", "clone", "clone_from", "collect", "create", "default", "deref",
	"deref_mut", "drop", "extend", "fmt", "from", "from_iter", "from_str", "into", "into_iter", "new", "new_in", "next", "poll",
	"to_owned", "to_string", "to_vec", "try_from", "try_into", "with_capacity",
};

bool cairn_wrapper_is_derived(const char *name)
{
	static const char *const starts[] = {"visit_", "deserialize", "serialize", "next_element", "next_key", "next_value"};
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

bool cairn_wrapper_is_closure(const char *name)
{
	static const char lambda[] = "operator()";
	const char *last = last_part(name);
	return *last == '{' || (strncmp(last, lambda, strlen(lambda)) == 0 && (last == name || (last - name > 3 && last[-3] == '}')));
}

bool cairn_wrapper_is_anonymous(const char *name, bool is_rust)
{
	struct cairn_bytes bare = {name, strcspn(name, "<")};
	if (cairn_wrapper_is_closure(name))
		return true;
	for (size_t i = 0; is_rust && cairn_wrapper_is_bare(name) && i < sizeof of_any_type / sizeof *of_any_type; i++)
		if (cairn_bytes_equal(bare, cairn_bytes_of(of_any_type[i])))
			return true;
	return false;
}

/* NAME without what follows the function that a closure is in: open for open::{closure#0} and open::{{closure}}::{{closure}}. */
static struct cairn_bytes scope_of(const char *name)
{
	const char *end = strstr(name, "::{");
	return end ? (struct cairn_bytes){name, (size_t)(end - name)} : cairn_bytes_of(name);
}

static bool ends_with(struct cairn_bytes name, struct cairn_bytes end)
{
	size_t rest = name.length - end.length;
	return name.length >= end.length && memcmp(name.data + rest, end.data, end.length) == 0 &&
	       (rest == 0 || name.data[rest - 1] == ':');
}

bool cairn_wrapper_is_part(const char *name, const char *around)
{
	if (cairn_wrapper_is_bare(name))
		return true;
	struct cairn_bytes inner = scope_of(name), outer = scope_of(around);
	return ends_with(inner, outer) || ends_with(outer, inner);
}
