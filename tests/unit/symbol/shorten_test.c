/* shorten_test.c - short forms of real names from C, C++, Rust and others.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/shorten.h"

#include "tap.h"

#include <stdlib.h>

static struct cairn_arena arena;

static const char *const pairs[][2] = {
	/* C, and what compilers append */
	{"main", "main"},
	{"zmalloc", "zmalloc"},
	{"prof_backtrace_impl", "prof_backtrace_impl"},
	{"dictExpand.constprop.0", "dictExpand"},
	{"raxInsert.part.0.cold", "raxInsert"},
	{"f.isra.0", "f"},
	{"f.lto_priv.12", "f"},
	{"f.llvm.1234567890", "f"},
	{"f.coldstart", "f.coldstart"},
	/* C++ */
	{"std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector<...>::push_back"},
	{"void std::sort<int*>(int*, int*)", "std::sort<...>"},
	{"operator new(unsigned long)", "operator new"},
	{"operator new[](unsigned long, std::align_val_t)", "operator new[]"},
	{"operator delete[](void*)", "operator delete[]"},
	{"operator delete(void*, unsigned long)", "operator delete"},
	{"(anonymous namespace)::Parser::parse(char const*) const", "(anonymous namespace)::Parser::parse"},
	{"void (anonymous namespace)::f<int>(int) [clone .cold]", "(anonymous namespace)::f<...>"},
	{"ceph::(anonymous namespace)::g()", "ceph::(anonymous namespace)::g"},
	{"foo() [clone .constprop.0]", "foo"},
	{"foo(foo(int)::_Z3fooi.Frame*) [clone .actor]", "foo.actor"},
	{"n::foo(n::foo(int)::_Z3fooi.Frame*) [clone .destroy] [clone .cold]", "n::foo.destroy"},
	{"foo(int) [clone .isra.0] [clone .cold]", "foo"},
	{"main::{lambda()#1}::operator()() const", "main::{lambda#1}::operator()"},
	{"f(int)::{lambda(std::vector<int>&, auto:1)#2}::operator()(std::vector<int>&) const::{lambda()#1}::operator()() const",
	 "f::{lambda#2}::operator()::{lambda#1}::operator()"},
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create(unsigned long&, unsigned long)",
	 "std::__cxx11::basic_string<...>::_M_create"},
	{"A::name[abi:cxx11]() const", "A::name"},
	{"std::basic_ostream<char, std::char_traits<char> >& std::operator<< <std::char_traits<char> >(std::basic_ostream<char, "
	 "std::char_traits<char> >&, char const*)",
	 "std::operator<<"},
	{"bool operator< <int>(A<int> const&, A<int> const&)", "operator<"},
	{"bool operator><int>(A<int> const&, A<int> const&)", "operator>"},
	{"A<int>::operator->() const", "A<...>::operator->"},
	{"T* A::operator-><int>() const", "A::operator->"},
	{"A::operator<=>(A const&) const", "A::operator<=>"},
	{"A::operator[](unsigned long)", "A::operator[]"},
	{"A::operator()(int)", "A::operator()"},
	{"void A::operator()<int>(int) const", "A::operator()"},
	{"A::operator bool() const", "A::operator bool"},
	{"A::operator std::vector<int, std::allocator<int> >() const", "A::operator std::vector<...>"},
	{"A::operator unsigned long() const", "A::operator unsigned long"},
	{"operator\"\" _kb(unsigned long long)", "operator\"\"_kb"},
	{"myoperator(int)", "myoperator"},
	{"std::enable_if<((1)>(2)), int>::type ns::f<int>(int)", "ns::f<...>"},
	{"decltype (((declval<int>)())->x) ns::g<int, (char)60>(int)", "ns::g<...>"},
	{"decltype(auto) std::visit<F, V>(F&&, V&&)", "std::visit<...>"},
	{"unsigned long long ns::h<int>(int)", "ns::h<...>"},
	{"std::function<void (int, std::pair<int, int>)>::operator()(int, std::pair<int, int>) const", "std::function<...>::operator()"},
	{"A::f(int) const &", "A::f"},
	{"A::f(int) volatile &&", "A::f"},
	{"A::~A()", "A::~A"},
	{"non-virtual thunk to A::f()", "A::f"},
	{"A<int>::B<char>::f<long>(int)", "A<...>::B<...>::f<...>"},
	{"f(int (*)(char), void (&)(int))", "f"},
	{"f(int)::{unnamed type#1}::g()", "f::{unnamed type#1}::g"},
	{"std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke(std::_Any_data const&)", "std::_Function_handler<...>::_M_invoke"},
	{"f(int)::local", "f::local"},
	{"<lambda(auto:1)>", "<lambda>"},
	{"ns::<lambda(int, std::vector<int>)>::operator()(int) const", "ns::<lambda>::operator()"},
	{"A<>::f()", "A<...>::f"},
	/* Rust */
	{"alloc::raw_vec::RawVec<T,A>::grow_one", "alloc::raw_vec::RawVec<...>::grow_one"},
	{"<alloc::vec::Vec<T> as core::clone::Clone>::clone", "<alloc::vec::Vec<...> as core::clone::Clone>::clone"},
	{"<alloc::vec::Vec<T> as alloc::vec::spec_from_iter::SpecFromIter<T,I>>::from_iter",
	 "<alloc::vec::Vec<...> as alloc::vec::spec_from_iter::SpecFromIter<...>>::from_iter"},
	{"<alloc::alloc::Global as core::alloc::Allocator>::allocate", "<alloc::alloc::Global as core::alloc::Allocator>::allocate"},
	{"<F as core::ops::function::FnOnce<(A, B)>>::call_once", "<F as core::ops::function::FnOnce<...>>::call_once"},
	{"<&mut F as core::ops::FnOnce<A>>::call_once", "<&mut F as core::ops::FnOnce<...>>::call_once"},
	{"<fn(A) -> B as x::Trait<T>>::m", "<fn(A) -> B as x::Trait<...>>::m"},
	{"<[T] as x::ConvertVec>::to_vec", "<[T] as x::ConvertVec>::to_vec"},
	{"<(A<X>, B) as x::Y>::z", "<(A<...>, B) as x::Y>::z"},
	{"<<A<T> as x::B>::C as x::D<E>>::f", "<<A<...> as x::B>::C as x::D<...>>::f"},
	{"<dyn x::T + core::marker::Send as x::U>::v", "<dyn x::T + core::marker::Send as x::U>::v"},
	{"alloc::slice::<impl [T]>::to_vec", "alloc::slice::<impl [T]>::to_vec"},
	{"core::ptr::drop_in_place<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place<...>"},
	{"core::iter::traits::iterator::Iterator::fold::<(), fn(u8) -> u8>", "core::iter::traits::iterator::Iterator::fold::<...>"},
	{"main::run::{{closure}}", "main::run::{{closure}}"},
	{"main::run::{closure#0}::{closure#1}", "main::run::{closure#0}::{closure#1}"},
	{"core::ops::function::FnOnce::call_once{{vtable.shim}}", "core::ops::function::FnOnce::call_once{{vtable.shim}}"},
	{"<mycrate::bar::Foo>::new", "mycrate::bar::Foo::new"},
	{"<mycrate::Map<&str, [u8; 3usize]>>::insert::<'<'>", "mycrate::Map<...>::insert::<...>"},
	{"<alloc::raw_vec::RawVec<alloc::vec::Vec<u8>>>::grow_one", "alloc::raw_vec::RawVec<...>::grow_one"},
	{"<str>::trim", "<str>::trim"},
	{"<[u8]>::to_vec_in::<alloc::alloc::Global>", "<[u8]>::to_vec_in::<...>"},
	{"<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec", "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec"},
	{"<lambda(int)>::operator()(int) const", "<lambda>::operator()"},
	{"__rust_alloc", "__rust_alloc"},
	{"std::panicking::try", "std::panicking::try"},
	/* neither: as they are */
	{"runtime.(*mcache).nextFree", "runtime.(*mcache).nextFree"},
	{"net/http.(*conn).serve", "net/http.(*conn).serve"},
	{"main.Map[go.shape.int]", "main.Map[go.shape.int]"},
	{"<module>", "<module>"},
	{"GC thread #0", "GC thread #0"},
	{"[unknown]", "[unknown]"},
	{"vtable for A", "vtable for A"},
	{"a < b", "a < b"},
	{"f(int", "f(int"},
	{"f<int", "f<int"},
	{"f)int(", "f)int("},
	{"()", "()"},
	{"", ""},
	{"void (*f<int>(int))(char)", "void (*f<int>(int))(char)"},
};

static void test_pairs(void)
{
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		is_text(cairn_name_shorten(&arena, pairs[i][0]), pairs[i][1], "%s", pairs[i][0]);
}

/* Every cut of every name: the sanitizers watch; a cut name is still a name. */
static void test_cuts(void)
{
	size_t cuts = 0;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		for (size_t length = strlen(pairs[i][0]); length > 0; length--) {
			const char *cut = cairn_arena_text(&arena, (struct cairn_bytes){pairs[i][0], length});
			cuts += *cairn_name_shorten(&arena, cut) != '\0';
		}
	ok(cuts > 2000, "%zu cut names give something", cuts);
}

/* Nesting a million deep takes a moment, not the square of it, and no stack. */
static void test_deep(void)
{
	static const char *const units[] = {"<", "(", "{", "a<", "<a as ", "operator<", "'", "a(b)::", " ", "<impl ", "[abi:", "A<B>"};
	const size_t size = 1 << 20;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		size_t length = strlen(units[i]);
		char *name = malloc(size + length + 1);
		for (size_t at = 0; at < size; at += length)
			memcpy(name + at, units[i], length + 1);
		ok(*cairn_name_shorten(&arena, name), "'%s' a million deep", units[i]);
		free(name);
	}
}

int main(void)
{
	test_pairs();
	test_cuts();
	test_deep();
	cairn_arena_free(&arena);
	return tap_done();
}
