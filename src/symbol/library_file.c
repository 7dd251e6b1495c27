/* library_file.c - where the standard libraries of Rust and C++ lie on the machines that built them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/library_file.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/* Rust's standard library, built by the project (/rustc/HASH/library/alloc/src), by a distribution
 * (/usr/src/rustc-1.63.0/library/alloc/src) or seen through its sources (lib/rustlib/src/rust/library/alloc/src). */
static const char *const rust_crates[] = {"alloc/src/", "core/src/", "std/src/"};

/* What lies in it between the containers and the allocator. */
static const char *const rust_allocator[] = {"alloc/src/alloc.rs", "alloc/src/raw_vec", "core/src/alloc/", "std/src/alloc.rs",
					     "std/src/sys/alloc/"};

/* Crates of containers, texts and formats, which allocate what they return or keep for their callers; those of allocators; and those whose
 * functions take work from others: their folders are called hashbrown-0.14.5. */
static const char *const container_crates[] = {
	"ahash", "arrayvec", "bincode", "bitvec", "bstr", "bytes", "ciborium", "compact_str", "crossbeam-channel", "crossbeam-queue",
	"crossbeam-utils", "dashmap", "either", "flume", "hashbrown", "hashlink", "heck", "im", "indexmap", "itertools", "lazy_static",
	"linked-hash-map", "lru", "moka", "ndarray", "once_cell", "petgraph", "postcard", "priority-queue", "prost", "quick-xml",
	"rmp-serde", "rustc-hash", "scc", "serde", "serde_core", "serde_json", "serde_yaml", "simd-json", "slab", "slotmap", "smallvec",
	"smol_str", "string_cache", "thin-vec", "tinyvec", "toml", "triomphe",
};
static const char *const allocator_crates[] = {"allocator-api2", "jemallocator", "mimalloc", "rpmalloc",
					       "snmalloc-rs", "tcmalloc", "tikv-jemallocator", "tikv-jemalloc-sys"};
static const char *const task_crates[] = {"async-channel", "async-executor", "async-std", "async-task",
					  "crossbeam-deque", "futures-channel", "futures-util", "smol",
					  "threadpool", "tokio", "tokio-stream", "tokio-util"};

/* Parts of paths of C++'s standard libraries, and of containers and texts in wide use. */
static const char *const cpp_folders[] = {
	"/include/c++/", "/c++/v1/", "/include/bits/", "/boost/", "/absl/", "/folly/", "/fmt/", "/EASTL/", "/eastl/", "/tbb/", "/Eigen/",
	"/nlohmann/", "/rapidjson/", "/google/protobuf/", "/sparsehash/", "/parallel_hashmap/", "/tsl/", "/ankerl/", "/QtCore/",
	"/llvm/ADT/",
};
static const char *const cpp_allocator[] = {"/new_allocator.h", "/allocator.h", "/alloc_traits.h", "/__memory/allocate"};

/* What Zig's standard library is called where it was installed. */
static const char zig_library[] = "/lib/std/";

static bool has_any(const char *path, const char *const *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(path, parts[i]))
			return true;
	return false;
}
#define HAS_ANY(path, parts) has_any(path, parts, sizeof(parts) / sizeof *(parts))

static bool starts_with_any(const char *path, const char *const *starts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(path, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}
#define STARTS_WITH_ANY(path, starts) starts_with_any(path, starts, sizeof(starts) / sizeof *(starts))

static bool is_listed(const char *name, size_t length, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(list[i]) == length && memcmp(list[i], name, length) == 0)
			return true;
	return false;
}
#define IS_LISTED(name, length, list) is_listed(name, length, list, sizeof(list) / sizeof *(list))

/* The crate called NAME, which has underscores in the names of functions where its folder may have dashes. */
static enum cairn_library_file named_crate(const char *name, size_t length)
{
	enum { longest = 32 };
	char folder[longest];
	if (length == 0 || length > longest)
		return CAIRN_FILE_OTHER;
	for (size_t i = 0; i < length; i++)
		folder[i] = (char)(name[i] == '_' ? '-' : name[i]);
	if (IS_LISTED(name, length, container_crates) || IS_LISTED(folder, length, container_crates))
		return CAIRN_FILE_LIBRARY;
	if (IS_LISTED(name, length, allocator_crates) || IS_LISTED(folder, length, allocator_crates))
		return CAIRN_FILE_ALLOCATOR;
	return IS_LISTED(folder, length, task_crates) ? CAIRN_FILE_TASKS : CAIRN_FILE_OTHER;
}

enum cairn_library_file cairn_library_crate(const char *name, size_t length)
{
	return named_crate(name, length);
}

static enum cairn_library_file rust_file(const char *path)
{
	bool of_rust = strstr(path, "/rustc") || strstr(path, "/rustlib/");
	const char *library = of_rust ? strstr(path, "/library/") : NULL;
	if (!library || !STARTS_WITH_ANY(library + strlen("/library/"), rust_crates))
		return CAIRN_FILE_OTHER;
	return STARTS_WITH_ANY(library + strlen("/library/"), rust_allocator) ? CAIRN_FILE_ALLOCATOR : CAIRN_FILE_LIBRARY;
}

/* PATH has a folder NAME-VERSION: .cargo/registry/src/SITE/hashbrown-0.14.5/src/raw/mod.rs. */
static enum cairn_library_file crate_file(const char *path)
{
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += *part == '/';
		size_t length = strcspn(part, "/");
		for (size_t dash = 1; dash + 1 < length; dash++) {
			if (part[dash] != '-' || !isdigit((unsigned char)part[dash + 1]))
				continue;
			enum cairn_library_file crate = named_crate(part, dash);
			if (crate != CAIRN_FILE_OTHER)
				return crate == CAIRN_FILE_LIBRARY && strstr(part + length, "/alloc.rs") ? CAIRN_FILE_ALLOCATOR : crate;
		}
	}
	bool is_fetched = strstr(path, "/registry/src/") || strstr(path, "/git/checkouts/") || strstr(path, "/rust/deps/");
	return is_fetched ? CAIRN_FILE_FOREIGN : CAIRN_FILE_OTHER;
}

static bool has_ending(const char *path, const char *ending)
{
	size_t length = strlen(path), tail = strlen(ending);
	return length > tail && strcmp(path + length - tail, ending) == 0;
}

bool cairn_library_is_rust(const char *path)
{
	return has_ending(path, ".rs");
}

static bool is_source_of_c(const char *path)
{
	static const char *const endings[] = {".c", ".cc", ".cpp", ".cxx", ".C"};
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (has_ending(path, endings[i]))
			return true;
	return false;
}

bool cairn_library_is_c(const char *path)
{
	static const char *const headers[] = {".h", ".hh", ".hpp", ".hxx", ".tcc", ".ipp", ".inl"};
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		if (has_ending(path, headers[i]))
			return true;
	return is_source_of_c(path);
}

enum cairn_library_file cairn_library_file(const char *path)
{
	if (cairn_library_is_rust(path)) {
		/* Macros are expanded where they are used, in functions of somebody else. */
		if (strstr(path, "/macros.rs") || strstr(path, "/macros/"))
			return CAIRN_FILE_OTHER;
		enum cairn_library_file kind = rust_file(path);
		return kind != CAIRN_FILE_OTHER ? kind : crate_file(path);
	}
	if (has_ending(path, ".zig"))
		return strstr(path, zig_library) ? CAIRN_FILE_LIBRARY : CAIRN_FILE_OTHER;
	if (is_source_of_c(path) || !HAS_ANY(path, cpp_folders))
		return CAIRN_FILE_OTHER;
	return HAS_ANY(path, cpp_allocator) ? CAIRN_FILE_ALLOCATOR : CAIRN_FILE_LIBRARY;
}
