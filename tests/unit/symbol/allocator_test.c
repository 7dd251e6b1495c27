/* allocator_test.c - which frames are the allocator's, under every prefix, and which only sound like it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/allocator.h"

#include "tap.h"

/* What NAMES, leaf first, of one stack look like without the allocator's frames: the new leaf. Each is a location of its
 * own; those that begin with @ have no name and lie in the module that follows. */
static const char *leaf_of(const char *const *names, size_t count)
{
	static struct cairn_profile profile;
	cairn_profile_free(&profile);
	cairn_profile_init(&profile);
	for (size_t i = 0; i < count; i++) {
		bool named = names[i][0] != '@';
		uint32_t module = cairn_profile_add_module(&profile, cairn_profile_text(&profile, named ? "/bin/service" : names[i] + 1), 0);
		uint32_t mapping = cairn_profile_add_mapping(&profile, &(struct cairn_mapping){.start = i * 4096, .limit = i * 4096 + 4096, .module = module});
		uint32_t location = cairn_profile_add_location(&profile, i * 4096, mapping, true);
		uint32_t name = cairn_profile_text(&profile, names[i]);
		struct cairn_frame frame = {cairn_profile_add_function(&profile, &(struct cairn_function){name, name, 0, 0}), 0, 0};
		if (named)
			cairn_profile_set_frames(&profile, location, &frame, 1);
	}
	struct cairn_allocator allocator;
	cairn_allocator_learn(&allocator, &profile);
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
	is_text(LEAF("prof_backtrace_impl", "je_prof_backtrace", "je_prof_tctx_create", "prof_alloc_prep", "imalloc_body.isra.0", "je_malloc_default",
		     "malloc", "parse", "main"), "parse", "jemalloc's own names, then malloc");
	is_text(LEAF("@/lib/libjemalloc.so.2", "@/lib/libjemalloc.so.2", "malloc", "zmalloc", "main"), "zmalloc", "libjemalloc without symbols");
	is_text(LEAF("@/lib/libjemalloc.so.2", "@/lib/libjemalloc.so.2", "zmalloc", "main"), "zmalloc", "not even malloc has a name");
	is_text(LEAF("@/bin/service", "@/bin/service", "calloc", "dictExpand", "main"), "dictExpand", "jemalloc within a stripped program: all below calloc goes");
	is_text(LEAF("@/bin/service", "parse", "main"), "@/bin/service", "an unnamed leaf of the program stays");
	is_text(LEAF("je_prof_backtrace", "je_malloc", "ztrymalloc_usable", "main"), "ztrymalloc_usable", "the je_ prefix");
	is_text(LEAF("acme_je_prof_backtrace", "acme_malloc", "handler", "main"), "handler", "a prefix nobody has heard of is learnt");
	is_text(LEAF("@/bin/service", "acme_malloc", "handler", "main"), "@/bin/service", "but not guessed");
	is_text(LEAF("my_malloc", "main"), "my_malloc", "a program's own malloc is its own");
	is_text(LEAF("xmalloc", "main"), "xmalloc", "so is xmalloc");
	is_text(LEAF("malloc_usable", "main"), "malloc_usable", "and malloc_usable");
	is_text(LEAF("allocate", "main"), "allocate", "and allocate");
	is_text(LEAF("prof_dump_report", "main"), "prof_dump_report", "and a function that only begins like jemalloc's");
	is_text(LEAF("_int_malloc", "__libc_malloc", "strdup", "main"), "strdup", "glibc's malloc; strdup is a caller");
	is_text(LEAF("@/usr/lib/libtcmalloc_minimal.so.4", "tc_malloc", "f", "main"), "f", "tcmalloc");
	is_text(LEAF("@/usr/lib/libjemalloc-tools.so", "f", "main"), "f", "a variant of the library");
	is_text(LEAF("@/usr/lib/libjemallocator_of_mine.so", "f", "main"), "@/usr/lib/libjemallocator_of_mine.so", "a library that only begins like it");
}

static void test_cpp(void)
{
	is_text(LEAF("@/lib/libjemalloc.so.2", "void* fallback_impl<false>(unsigned long)", "operator new(unsigned long)",
		     "std::__new_allocator<int>::allocate(unsigned long, void const*)", "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, unsigned long)",
		     "std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)", "std::vector<int, std::allocator<int> >::reserve(unsigned long)", "main"),
		"std::vector<int, std::allocator<int> >::reserve(unsigned long)", "operator new and the standard allocator's layers");
	is_text(LEAF("malloc", "operator new[](unsigned long)", "f()"), "f()", "operator new[]");
	is_text(LEAF("malloc", "Pool::operator new(unsigned long)", "f()"), "Pool::operator new(unsigned long)", "a class's own operator stays");
	is_text(LEAF("malloc", "Pool::allocate(unsigned long)", "f()"), "Pool::allocate(unsigned long)", "a program's allocate stays");
	is_text(LEAF("malloc", "MyAllocator<int>::allocate(unsigned long)", "f()"), "MyAllocator<int>::allocate(unsigned long)", "also as a template");
	is_text(LEAF("tcmalloc::allocate_full_malloc_oom(unsigned long)", "f()"), "f()", "tcmalloc's namespace");
}

static void test_rust(void)
{
	is_text(LEAF("prof_backtrace_impl", "_rjem_je_prof_backtrace", "_rjem_je_prof_tctx_create", "prof_alloc_prep", "imalloc_body", "imalloc",
		     "_rjem_je_malloc_default", "_rjem_malloc", "<tikv_jemallocator::Jemalloc as core::alloc::global::GlobalAlloc>::alloc", "__rust_alloc",
		     "alloc::alloc::alloc", "alloc::alloc::Global::alloc_impl", "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
		     "alloc::raw_vec::finish_grow", "alloc::raw_vec::RawVec<T,A>::grow_amortized", "alloc::vec::Vec<T,A>::push", "service::handle"),
		"alloc::vec::Vec<T,A>::push", "Rust on tikv-jemallocator, from the profiler to RawVec");
	is_text(LEAF("__rdl_alloc", "__rustc[5224e6b81cd82a8f]::__rust_alloc", "alloc::alloc::exchange_malloc", "service::handle"), "service::handle", "newer shims");
	is_text(LEAF("<service::Counting<A> as core::alloc::global::GlobalAlloc>::alloc_zeroed", "service::handle"), "service::handle", "a program's own global allocator");
	is_text(LEAF("alloc::boxed::Box<T>::new", "service::handle"), "alloc::boxed::Box<T>::new", "Box::new is what somebody wrote");
	is_text(LEAF("myalloc::alloc::alloc", "service::handle"), "myalloc::alloc::alloc", "another crate's alloc stays");
	is_text(LEAF("service::handle", "alloc::alloc::alloc", "main"), "service::handle", "a wrapper further up does not cut");
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
	test_all();
	return tap_done();
}
