/* allocator_test.c - which frames are the allocator's, under every prefix, and which only sound like it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/allocator.h"

#include "base/pattern.h"
#include "tap.h"

/* What NAMES, leaf first, of one stack look like without the allocator's frames: the new leaf. Each is a location of its
 * own; those that begin with @ have no name and lie in the module that follows. */
static struct cairn_profile profile;
static const char *folds; /* the patterns of wrappers; NULL where they are not folded */

static const char *leaf_of(const char *const *names, size_t count)
{
	cairn_profile_free(&profile);
	cairn_profile_init(&profile);
	for (size_t i = 0; i < count; i++) {
		bool named = names[i][0] != '@';
		uint32_t module =
			cairn_profile_add_module(&profile, cairn_profile_text(&profile, named ? "/bin/service" : names[i] + 1), 0);
		uint32_t mapping = cairn_profile_add_mapping(
			&profile, &(struct cairn_mapping){.start = i * 4096, .limit = i * 4096 + 4096, .module = module});
		uint32_t location = cairn_profile_add_location(&profile, i * 4096, mapping, true);
		uint32_t name = cairn_profile_text(&profile, names[i]);
		struct cairn_frame frame = {cairn_profile_add_function(&profile, &(struct cairn_function){name, name, 0, 0}), 0, 0};
		if (named)
			cairn_profile_set_frames(&profile, location, &frame, 1);
	}
	struct cairn_allocator allocator;
	cairn_allocator_learn(&allocator, &profile);
	if (folds)
		cairn_allocator_fold(&allocator, *folds ? folds : NULL);
	size_t leaf = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t frame = profile.locations[i].frame_count ? profile.locations[i].first_frame : CAIRN_NONE;
		if (cairn_allocator_cuts(cairn_allocator_frame(&allocator, i, frame), i - leaf))
			leaf = i + 1;
	}
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
	folds = "ngx_p*,x[a]lloc";
	is_text(LEAF("malloc", "ngx_palloc", "xalloc", "xcalloc", "handle"), "xcalloc",
		"patterns of one's own take the place of the usual");
	is_text(LEAF("malloc", "zmalloc", "handle"), "zmalloc", "which then do not hold");
	folds = NULL;
	is_text(LEAF("malloc", "zmalloc_usable", "sdsnewlen", "main"), "zmalloc_usable", "not folded unless told");
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

int main(void)
{
	test_c();
	test_cpp();
	test_rust();
	test_realloc();
	test_wrappers();
	test_regex();
	test_all();
	return tap_done();
}
