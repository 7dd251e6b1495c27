/* allocator_test.c - which frames are the allocator's, under every prefix, and which only sound like it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/allocator.h"

#include "base/pattern.h"
#include "symbol/wrapper.h"
#include "tap.h"

/* What NAMES, leaf first, of one stack look like without the allocator's frames: the new leaf. Each is a location of its
 * own; those that begin with @ have no name and lie in the module that follows; NAME=FILE is a function that was inlined into another;
 * those that begin with ~ are generated code, in no file. */
static struct cairn_profile profile;
static const char *folds; /* the patterns of wrappers; NULL where they are not folded */

static const char *leaf_of(const char *const *names, size_t count)
{
	cairn_profile_free(&profile);
	cairn_profile_init(&profile);
	for (size_t i = 0; i < count; i++) {
		bool named = names[i][0] != '@', generated = names[i][0] == '~';
		uint32_t path_of = generated ? 0 : cairn_profile_text(&profile, named ? "/bin/service" : names[i] + 1);
		uint32_t module = cairn_profile_add_module(&profile, path_of, 0);
		uint32_t mapping = cairn_profile_add_mapping(
			&profile, &(struct cairn_mapping){.start = i * 4096, .limit = i * 4096 + 4096, .module = module});
		uint32_t location = cairn_profile_add_location(&profile, i * 4096, mapping, true);
		const char *file = strrchr(names[i], '=');
		size_t length = file ? (size_t)(file - names[i]) : strlen(names[i]);
		uint32_t name = cairn_strings_add(&profile.strings, (struct cairn_bytes){names[i] + generated, length - generated});
		uint32_t path = file ? cairn_profile_text(&profile, file + 1) : 0, around = cairn_profile_text(&profile, "around");
		struct cairn_frame frames[] = {
			{cairn_profile_add_function(&profile, &(struct cairn_function){name, name, path, 0}), 0, 0},
			{cairn_profile_add_function(&profile, &(struct cairn_function){around, around, 0, 0}), 0, 0},
		};
		if (named)
			cairn_profile_set_frames(&profile, location, frames, file ? 2 : 1);
	}
	struct cairn_allocator allocator;
	cairn_allocator_learn(&allocator, &profile);
	if (folds)
		cairn_allocator_fold(&allocator, *folds ? folds : NULL);
	struct cairn_allocator_walk walk = {0};
	for (uint32_t i = 0; i < count; i++) {
		uint32_t frame = profile.locations[i].frame_count ? profile.locations[i].first_frame : CAIRN_NONE;
		cairn_allocator_step(&walk, cairn_allocator_frame(&allocator, i, frame));
	}
	size_t leaf = count - walk.kept;
	cairn_allocator_free(&allocator);
	return leaf < count ? names[leaf] : "";
}

#define LEAF(...) leaf_of((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void test_c(void)
{
	is_text(LEAF("prof_backtrace_impl", "je_prof_backtrace", "je_prof_tctx_create", "prof_alloc_prep", "imalloc_body.isra.0",
		     "je_malloc_default", "malloc", "parse", "main"),
		"parse", "jemalloc's own names, then malloc");
	is_text(LEAF("@/lib/libjemalloc.so.2", "@/lib/libjemalloc.so.2", "malloc", "zmalloc", "main"), "zmalloc",
		"libjemalloc without symbols");
	is_text(LEAF("@/lib/libjemalloc.so.2", "@/lib/libjemalloc.so.2", "zmalloc", "main"), "zmalloc", "not even malloc has a name");
	is_text(LEAF("@/bin/service", "@/bin/service", "calloc", "dictExpand", "main"), "dictExpand",
		"jemalloc within a stripped program: all below calloc goes");
	is_text(LEAF("@/bin/service", "parse", "main"), "@/bin/service", "an unnamed leaf of the program stays");
	is_text(LEAF("je_prof_backtrace", "je_malloc", "ztrymalloc_usable", "main"), "ztrymalloc_usable", "the je_ prefix");
	is_text(LEAF("acme_je_prof_backtrace", "acme_malloc", "handler", "main"), "handler", "a prefix nobody has heard of is learnt");
	is_text(LEAF("@/bin/service", "acme_malloc", "handler", "main"), "@/bin/service", "but not guessed");
	is_text(LEAF("my_malloc", "main"), "my_malloc", "a program's own malloc is its own");
	is_text(LEAF("__mmap64", "map_cache", "main"), "map_cache", "who calls mmap counts, not mmap");
	is_text(LEAF("sbrk", "grow_heap", "main"), "grow_heap", "nor sbrk");
	is_text(LEAF("fault", "mmap", "map_cache", "main"), "fault", "but it is no allocator: what it calls stays");
	is_text(LEAF("xmalloc", "main"), "xmalloc", "so is xmalloc");
	is_text(LEAF("malloc_usable", "main"), "malloc_usable", "and malloc_usable");
	is_text(LEAF("allocate", "main"), "allocate", "and allocate");
	is_text(LEAF("prof_dump_report", "main"), "prof_dump_report", "and a function that only begins like jemalloc's");
	is_text(LEAF("_int_malloc", "__libc_malloc", "strdup", "main"), "strdup", "glibc's malloc; strdup is a caller");
	is_text(LEAF("@/usr/lib/libtcmalloc_minimal.so.4", "tc_malloc", "f", "main"), "f", "tcmalloc");
	is_text(LEAF("@/usr/lib/libjemalloc-tools.so", "f", "main"), "f", "a variant of the library");
	is_text(LEAF("@/usr/lib/libjemallocator_of_mine.so", "f", "main"), "@/usr/lib/libjemallocator_of_mine.so",
		"a library that only begins like it");
}

static void test_cpp(void)
{
	is_text(LEAF("@/lib/libjemalloc.so.2", "void* fallback_impl<false>(unsigned long)", "operator new(unsigned long)",
		     "std::__new_allocator<int>::allocate(unsigned long, void const*)",
		     "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, unsigned long)",
		     "std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)",
		     "std::vector<int, std::allocator<int> >::reserve(unsigned long)", "main"),
		"std::vector<int, std::allocator<int> >::reserve(unsigned long)", "operator new and the standard allocator's layers");
	is_text(LEAF("malloc", "operator new[](unsigned long)", "f()"), "f()", "operator new[]");
	is_text(LEAF("malloc", "Pool::operator new(unsigned long)", "f()"), "Pool::operator new(unsigned long)",
		"a class's own operator stays");
	is_text(LEAF("malloc", "Pool::allocate(unsigned long)", "f()"), "Pool::allocate(unsigned long)", "a program's allocate stays");
	is_text(LEAF("malloc", "MyAllocator<int>::allocate(unsigned long)", "f()"), "MyAllocator<int>::allocate(unsigned long)",
		"also as a template");
	is_text(LEAF("tcmalloc::allocate_full_malloc_oom(unsigned long)", "f()"), "f()", "tcmalloc's namespace");
}

static void test_rust(void)
{
	is_text(LEAF("prof_backtrace_impl", "_rjem_je_prof_backtrace", "_rjem_je_prof_tctx_create", "prof_alloc_prep", "imalloc_body",
		     "imalloc", "_rjem_je_malloc_default", "_rjem_malloc",
		     "<tikv_jemallocator::Jemalloc as core::alloc::global::GlobalAlloc>::alloc", "__rust_alloc", "alloc::alloc::alloc",
		     "alloc::alloc::Global::alloc_impl", "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
		     "alloc::raw_vec::finish_grow", "alloc::raw_vec::RawVec<T,A>::grow_amortized", "alloc::vec::Vec<T,A>::push",
		     "service::handle"),
		"alloc::vec::Vec<T,A>::push", "Rust on tikv-jemallocator, from the profiler to RawVec");
	is_text(LEAF("__rdl_alloc", "__rustc[5224e6b81cd82a8f]::__rust_alloc", "alloc::alloc::exchange_malloc", "service::handle"),
		"service::handle", "newer shims");
	is_text(LEAF("<service::Counting<A> as core::alloc::global::GlobalAlloc>::alloc_zeroed", "service::handle"), "service::handle",
		"a program's own global allocator");
	is_text(LEAF("__rust_alloc", "hashbrown::raw::alloc::inner::do_alloc", "service::handle"), "service::handle",
		"hashbrown's way to the allocator");
	is_text(LEAF("alloc::boxed::Box<T>::new", "service::handle"), "alloc::boxed::Box<T>::new", "Box::new is what somebody wrote");
	is_text(LEAF("myalloc::alloc::alloc", "service::handle"), "myalloc::alloc::alloc", "another crate's alloc stays");
	is_text(LEAF("service::handle", "alloc::alloc::alloc", "main"), "service::handle", "a wrapper further up does not cut");
}

static void test_realloc(void)
{
	is_text(LEAF("prof_backtrace_impl", "_rjem_je_prof_backtrace", "_rjem_je_prof_tctx_create", "prof_alloc_prep.constprop.0",
		"irallocx_prof",
		     "do_rallocx", "do_realloc_nonnull", "grow", "main"), "grow",
			"realloc, which ends in a jump, is not on the stack itself");
	is_text(LEAF("_rjem_je_arena_tcache_fill_small", "_rjem_je_tcache_alloc_small_hard", "_rjem_je_hpa_central_extract", "handle"),
		"handle",
		"whatever has the private prefix and a file's word");
	is_text(LEAF("je_arena_palloc", "je_suis", "main"), "je_suis", "the prefix alone is not enough");
}

static void test_wrappers(void)
{
	folds = "";
	is_text(LEAF("malloc", "zmalloc_usable", "sdsnewlen", "main"), "sdsnewlen", "a program's own malloc");
	is_text(LEAF("malloc", "__GI___strdup", "copy_name", "main"), "copy_name", "strdup");
	is_text(LEAF("malloc", "_IO_file_doallocate", "_IO_doallocbuf", "puts", "main"), "puts", "buffers of stdio");
	is_text(LEAF("__rust_alloc", "alloc::alloc::alloc", "alloc::raw_vec::RawVec<T,A>::allocate_in",
		"alloc::vec::Vec<T>::with_capacity_in", "<alloc::vec::Vec<T> as core::iter::FromIterator>::from_iter",
		     "core::iter::traits::iterator::Iterator::collect", "service::handle"), "service::handle", "Rust's containers");
	is_text(LEAF("__rust_alloc", "hashbrown::raw::alloc::inner::do_alloc",
		"<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem", "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec",
		     "<service::Table as core::clone::Clone>::clone", "main"), "<service::Table as core::clone::Clone>::clone",
			"also on plain types; not on a program's");
	is_text(LEAF("operator new(unsigned long)", "std::vector<int, std::allocator<int> >::_M_realloc_insert(int&&)",
		"std::vector<int, std::allocator<int> >::push_back(int&&)",
		     "Server::handle(int)", "std::thread::_State_impl<int>::_M_run()"), "Server::handle(int)",
			"C++'s containers, and nothing above");
	is_text(LEAF("malloc", "Pool::new_alloc(int)", "my_alloc::run", "main"), "my_alloc::run",
		"patterns are for the last part of a name");
	is_text(LEAF("malloc", "parse", "zmalloc_usable", "main"), "parse", "a wrapper further up does not fold");
	is_text(LEAF("__rust_alloc", "hashbrown::raw::RawTable::reserve", "bytes::bytes_mut::BytesMut::reserve", "mybytes::grow"),
		"mybytes::grow", "crates of containers");
	is_text(LEAF("malloc", "_PyObject_Malloc", "PyUnicode_New", "PyUnicode_FromString", "parse_record", "_PyEval_EvalFrameDefault"),
		"parse_record", "CPython's objects");
	is_text(LEAF("malloc", "node::UncheckedMalloc(unsigned long)", "v8::internal::Malloced::operator new(unsigned long)",
		     "addon::Parse(int)"),
		"addon::Parse(int)", "Node.js");
	folds = "ngx_p*,x[a]lloc";
	is_text(LEAF("malloc", "ngx_palloc", "xalloc", "xcalloc", "handle"), "xcalloc",
		"patterns of one's own take the place of the usual");
	is_text(LEAF("malloc", "zmalloc", "handle"), "zmalloc", "which then do not hold");
	folds = NULL;
	is_text(LEAF("malloc", "zmalloc_usable", "sdsnewlen", "main"), "zmalloc_usable", "not folded unless told");
}

/* Functions of line tables, which have bare names. */
#define RUSTC "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/"
#define CRATES "/home/me/.cargo/registry/src/index-1949cf8c6b5b557f/"

static void test_files(void)
{
	is_text(LEAF("__rust_alloc", "alloc=" RUSTC "alloc/src/alloc.rs", "allocate=" RUSTC "alloc/src/alloc.rs",
		     "with_capacity_in<T>=" RUSTC "alloc/src/raw_vec/mod.rs", "from_elem<u8>=" RUSTC "alloc/src/vec/mod.rs",
		     "open_session=src/main.rs"),
		"from_elem<u8>=" RUSTC "alloc/src/vec/mod.rs", "Rust's layers below Vec go by their files");
	folds = "";
	is_text(LEAF("__rust_alloc", "alloc=" RUSTC "alloc/src/alloc.rs", "from_elem<u8>=" RUSTC "alloc/src/vec/mod.rs",
		     "{closure#0}<u8>=" RUSTC "core/src/iter/adapters/map.rs", "open_session=src/main.rs"),
		"open_session=src/main.rs", "and Vec, folded");
	is_text(LEAF("__rust_alloc", "alloc=/usr/src/rustc-1.63.0/library/alloc/src/alloc.rs",
		     "new=/root/.rustup/toolchains/stable/lib/rustlib/src/rust/library/alloc/src/boxed.rs", "open_session=src/main.rs"),
		"open_session=src/main.rs", "as distributions and rustup have it");
	is_text(LEAF("malloc", "alloc=" CRATES "tikv-jemallocator-0.6.0/src/lib.rs", "do_alloc=" CRATES "hashbrown-0.14.5/src/raw/alloc.rs",
		     "reserve=/rust/deps/hashbrown-0.15.2/src/raw/mod.rs", "insert=src/cache.rs"),
		"insert=src/cache.rs", "crates of allocators and containers");
	is_text(LEAF("malloc", "grow=" CRATES "hyper-1.4.0/src/alloc.rs", "main"), "grow=" CRATES "hyper-1.4.0/src/alloc.rs",
		"no other crate");
	is_text(LEAF("malloc", "map_or_else<&str, alloc::string::String, fn(&str) -> alloc::string::String>=" RUSTC "core/src/option.rs",
		     "<&mut alloc::string::String as core::fmt::Write::write_fmt::SpecWriteFmt>::spec_write_fmt",
		     "open_session=src/main.rs"),
		"open_session=src/main.rs", "arrows in names, and references to standard types");
	is_text(LEAF("malloc", "open_session=" RUSTC "alloc/src/macros.rs", "main"), "open_session=" RUSTC "alloc/src/macros.rs",
		"a function whose line comes from a macro");
	is_text(LEAF("malloc", "grow=/home/me/library/alloc/src/alloc.rs", "main"), "grow=/home/me/library/alloc/src/alloc.rs",
		"a program's own library/alloc");
	is_text(LEAF("operator new(unsigned long)", "allocate=/usr/include/c++/12/bits/new_allocator.h",
		     "emplace_back<int>=/usr/include/c++/12/bits/vector.tcc", "handle=server.cc"),
		"handle=server.cc", "C++'s containers");
	is_text(LEAF("malloc", "ns::handle=/usr/include/c++/12/bits/vector.tcc", "main"), "ns::handle=/usr/include/c++/12/bits/vector.tcc",
		"a name with a scope tells whose it is");
	folds = NULL;
}

/* What allocates for its callers besides the standard libraries. */
static void test_libraries(void)
{
	folds = "";
	is_text(LEAF("malloc", "visit_map<serde_json::de::MapAccess>=src/order.rs",
		     "<&mut serde_json::de::Deserializer<R> as serde_core::de::Deserializer>::deserialize_struct",
		     "from_str<service::Order>=" CRATES "serde_json-1.0.154/src/de.rs", "service::open_session"),
		"service::open_session", "serde, and what it derives for a program's type");
	is_text(LEAF("malloc", "<service::_::<impl serde_core::de::Deserialize for service::Order>::deserialize::__Visitor as "
			       "serde_core::de::Visitor>::visit_map", "service::open_session"),
		"service::open_session", "the same with full names");
	is_text(LEAF("malloc", "tokio::runtime::task::core::Cell<T>::new", "spawn<T>=" CRATES "tokio-1.54.1/src/task/spawn.rs",
		     "tokio::task::spawn::spawn", "service::open_session"),
		"service::open_session", "who spawns a task holds it");
	is_text(LEAF("malloc", "service::poll_session", "tokio::runtime::task::harness::poll", "service::main"), "service::poll_session",
		"but not what that does");
	is_text(LEAF("malloc", "tokio::runtime::io::driver::Driver::new", "std::thread::spawn", "start_thread", "clone3"),
		"tokio::runtime::io::driver::Driver::new", "a thread of tokio's own");
	is_text(LEAF("malloc", "boost::multi_index::multi_index_container<...>::allocate_node", "absl::debian3::StrCat", "fmt::v9::vformat",
		     "google::protobuf::Arena::Create", "Shop::open(int)"),
		"Shop::open(int)", "libraries of C++");
	is_text(LEAF("malloc", "@/usr/lib/libstdc++.so.6.0.30", "@/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0.7400.6", "open_session",
		     "main"),
		"open_session", "stripped libraries");
	is_text(LEAF("malloc", "@/usr/lib/libshop.so.1", "open_session", "main"), "@/usr/lib/libshop.so.1", "not a program's own");
	is_text(LEAF("malloc", "@/usr/lib/libc.so.6", "start_thread", "clone3"), "start_thread", "nor what begins a thread");
	is_text(LEAF("malloc", "palloc0", "MemoryContextAllocZero", "sqlite3Malloc", "SafeAlloc", "Pool::operator new(unsigned long)",
		     "Arena::allocate", "xstrdup", "g_memdup2", "open_session"),
		"open_session", "mallocs of many programs");
	is_text(LEAF("malloc", "allocate_ring", "main"), "allocate_ring", "what allocates a thing of its own is no malloc");
	folds = NULL;
}

/* Closures have no names in line tables; those inlined into a function are part of it. */
static void test_closures(void)
{
	cairn_profile_free(&profile);
	cairn_profile_init(&profile);
	static const char *const names[] = {"new", "{closure#0}", "open_session", "run"};
	uint32_t file = cairn_profile_text(&profile, "src/main.rs"),
		 location = cairn_profile_add_location(&profile, 4096, CAIRN_NONE, true);
	uint32_t alone = cairn_profile_add_location(&profile, 8192, CAIRN_NONE, true);
	struct cairn_frame frames[4];
	for (size_t i = 0; i < 4; i++) {
		uint32_t name = cairn_profile_text(&profile, names[i]);
		frames[i] = (struct cairn_frame){cairn_profile_add_function(&profile, &(struct cairn_function){name, name, file, 0}), 0, 0};
	}
	cairn_profile_set_frames(&profile, location, frames, 4);
	cairn_profile_set_frames(&profile, alone, frames, 2);
	struct cairn_allocator allocator;
	cairn_allocator_learn(&allocator, &profile);
	cairn_allocator_fold(&allocator, NULL);
	static const enum cairn_allocator_kind wanted[] = {CAIRN_ALLOCATOR_WRAPPER, CAIRN_ALLOCATOR_WRAPPER, CAIRN_ALLOCATOR_PROGRAM,
							   CAIRN_ALLOCATOR_PROGRAM};
	for (uint32_t i = 0; i < 4; i++)
		is_int(cairn_allocator_frame(&allocator, location, profile.locations[location].first_frame + i), wanted[i], "%s", names[i]);
	is_int(cairn_allocator_frame(&allocator, alone, profile.locations[alone].first_frame), CAIRN_ALLOCATOR_WRAPPER,
	       "a constructor without a type belongs to a closure that nobody has a name for");
	is_int(cairn_allocator_frame(&allocator, alone, profile.locations[alone].first_frame + 1), CAIRN_ALLOCATOR_PROGRAM,
	       "which stays what it is");
	cairn_allocator_free(&allocator);
	ok(cairn_wrapper_is_part("open::{closure#0}", "shop::Pool::open"), "by a part of the name");
	ok(cairn_wrapper_is_part("shop::open::{{closure}}::{{closure}}", "shop::open::{{closure}}"), "a closure in a closure");
	ok(!cairn_wrapper_is_part("shop::remember::{{closure}}", "shop::log_it::{{closure}}"), "an async function that another awaits");
	ok(!cairn_wrapper_is_part("open::{closure#0}", "shop::reopen"), "only whole words");
}

/* The function that was compiled there has its full name from the symbol table; its line may be that of code inlined without a name. */
static void test_outermost(void)
{
	cairn_profile_free(&profile);
	cairn_profile_init(&profile);
	uint32_t name = cairn_profile_text(&profile, "handle"), file = cairn_profile_text(&profile, "/usr/include/c++/12/bits/vector.tcc");
	uint32_t location = cairn_profile_add_location(&profile, 4096, CAIRN_NONE, true);
	struct cairn_frame frame = {cairn_profile_add_function(&profile, &(struct cairn_function){name, name, file, 0}), 0, 0};
	cairn_profile_set_frames(&profile, location, &frame, 1);
	struct cairn_allocator allocator;
	cairn_allocator_learn(&allocator, &profile);
	cairn_allocator_fold(&allocator, NULL);
	is_int(cairn_allocator_frame(&allocator, location, profile.locations[location].first_frame), CAIRN_ALLOCATOR_PROGRAM,
	       "an outermost function is judged by its name");
	cairn_allocator_free(&allocator);
}

/* How often PATTERN, whole, matches TEXT; by the library that Go's expressions are nearest to. */
static bool drops(const struct cairn_pattern *pattern, const char *text)
{
	return cairn_pattern_match(pattern, cairn_bytes_of(text));
}

static void test_regex(void)
{
	static const char *const names[] = {"prof_backtrace_impl", "acme_je_prof_backtrace", "acme_malloc",
		"Pool::(anonymous namespace)::f(int)", "handle", "alloc::alloc::alloc", "main"};
	leaf_of(names, 7);
	double value = 1;
	cairn_profile_add_value_type(&profile, "inuse_space", "bytes");
	memcpy(cairn_profile_stack_room(&profile, 6), (const uint32_t[]){0, 1, 2, 4, 5, 6}, 6 * sizeof(uint32_t));
	cairn_profile_add_sample(&profile, 6, 0, &value);
	struct cairn_allocator allocator;
	struct cairn_buffer out = cairn_buffer(1 << 20), whole = cairn_buffer(1 << 20);
	cairn_allocator_learn(&allocator, &profile);
	cairn_allocator_regex(&allocator, &out);
	cairn_buffer_format(&whole, "^(%.*s)$", (int)out.length, out.data);
	cairn_buffer_byte(&whole, 0);
	struct cairn_error error = {""};
	struct cairn_pattern *pattern = cairn_pattern_compile(whole.data, &error);
	if (ok(pattern != NULL, "drop_frames is a regular expression of %zu bytes", out.length)) {
		static const char *const dropped[] = {"malloc", "_rjem_malloc", "je_calloc", "_rjem_je_prof_tctx_create",
			"_rjem_je_arena_malloc_hard", "imalloc_body.isra.0", "do_rallocx",
			"operator new", "operator new[]", "__rust_alloc", "tc_malloc", "libjemalloc.so.2+0x12ab",
			"libcairn.so.1+0x12ab", "acme_malloc", "acme_je_prof_backtrace"};
		static const char *const kept[] = {"handle", "main", "zmalloc", "je_suis", "alloc::alloc::alloc", "mallocate",
			"Pool::malloc"};
		for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
			ok(drops(pattern, dropped[i]), "dropped: %s", dropped[i]);
		for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
			ok(!drops(pattern, kept[i]), "kept: %s", kept[i]);
		cairn_pattern_free(pattern);
	}
	cairn_allocator_free(&allocator);
	cairn_buffer_free(&out);
	cairn_buffer_free(&whole);
}

static void test_all(void)
{
	is_text(LEAF("prof_backtrace_impl", "je_prof_backtrace", "malloc"), "", "a stack of nothing else");
	is_text(LEAF("malloc"), "", "or of one frame");
}

static void test_runtimes(void)
{
	folds = "";
	is_text(LEAF("malloc", "@/usr/bin/node", "~JS:*alloc node:buffer:390:8", "~JS:*openSession /srv/app.js:2:21", "@/usr/bin/node",
		     "main"),
		"~JS:*openSession /srv/app.js:2:21", "Node.js and its own modules allocate for a function of the program");
	is_text(LEAF("malloc", "@/srv/node_modules/x/x.node", "@/usr/bin/node", "~JS:*openSession /srv/app.js:2:21"),
		"@/srv/node_modules/x/x.node", "an add-on allocates for itself");
	is_text(LEAF("malloc", "@/usr/bin/node", "clone3"), "@/usr/bin/node", "so does a runtime that no function of the program called");
	is_text(LEAF("malloc", "@/usr/lib/x86_64-linux-gnu/libz.so.1", "@/usr/lib/jvm/java-17/lib/libzip.so",
		     "~long java.util.zip.Deflater.init(int, int, boolean)", "~Interpreter", "~void Leak.openDeflater()", "~Interpreter"),
		"~void Leak.openDeflater()", "HotSpot, classes of the JDK, and a library of the system that they call");
	is_text(LEAF("malloc", "@/usr/lib/python3.12/lib-dynload/_zlib.so", "@/usr/bin/python3.12", "~py::wrap:/usr/lib/python3.12/gzip.py",
		     "~py::open_session:/srv/app.py", "@/usr/bin/python3.12"),
		"~py::open_session:/srv/app.py", "CPython, its extensions and its standard library");
	is_text(LEAF("malloc", "@/usr/lib/python3/dist-packages/parse.so", "@/usr/bin/python3.12", "~py::main:/srv/app.py"),
		"@/usr/lib/python3/dist-packages/parse.so", "an extension that was installed allocates for itself");
	is_text(LEAF("malloc", "@/usr/bin/python3.12", "~py::load:/usr/lib/python3.12/site-packages/x/y.py"),
		"~py::load:/usr/lib/python3.12/site-packages/x/y.py", "an installed package is the program's");
	is_text(LEAF("malloc", "@/usr/bin/python3.12", "~trampoline", "main"), "@/usr/bin/python3.12", "other generated code says nothing");
	folds = NULL;
	is_text(LEAF("malloc", "@/usr/bin/node", "~JS:*openSession /srv/app.js:2:21"), "@/usr/bin/node",
		"a view that does not fold shows all");
}

int main(void)
{
	test_c();
	test_cpp();
	test_rust();
	test_realloc();
	test_wrappers();
	test_files();
	test_libraries();
	test_closures();
	test_outermost();
	test_runtimes();
	test_regex();
	test_all();
	return tap_done();
}
