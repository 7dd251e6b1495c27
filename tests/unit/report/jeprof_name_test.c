/* jeprof_name_test.c - jeprof's short names. What is expected is what its ShortFunctionName gives, but for those marked as ours.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/jeprof_name.h"
#include "tap.h"

static void is_short(const char *name, const char *want)
{
	struct cairn_buffer out = cairn_buffer(1 << 16);
	cairn_jeprof_shorten(name, &out);
	cairn_buffer_byte(&out, '\0');
	is_text(out.data, want, "%s", name);
	cairn_buffer_free(&out);
}

int main(void)
{
	is_short("main", "main");
	is_short("ns::f(int, char const*) const", "ns::f");
	is_short("std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector::push_back");
	is_short("void ns::g<int>(std::map<int, int>)", "ns::g");
	is_short("std::string const& ns::Type::name() const", "ns::Type::name");
	is_short("operator new(unsigned long)", "operator new");
	is_short("operator new[](unsigned long)", "operator new[]");
	is_short("f(void (*)(int), int)", "f");
	is_short("ns::h(int)::{lambda(int)#1}::operator()(int) const", "ns::h::{lambda#1}::operator");
	is_short("bool operator< <int>(int)", "bool operator< ");
	is_short("ns::P::operator->() const", "ns::P::operator->");
	is_short("alloc::raw_vec::finish_grow", "alloc::raw_vec::finish_grow");
	is_short("unbalanced(", "unbalanced(");
	is_short("unbalanced)", "unbalanced)");
	is_short("a<b", "a<b");
	is_short("", "");
	/* Ours: stock jeprof leaves "::clone" and "::f". */
	is_short("<alloc::vec::Vec<T> as core::clone::Clone>::clone", "<alloc::vec::Vec<...> as core::clone::Clone>::clone");
	is_short("(anonymous namespace)::f(int)", "(anonymous namespace)::f");
	is_short("ns::(anonymous namespace)::f(int)", "ns::(anonymous namespace)::f");
	return tap_done();
}
