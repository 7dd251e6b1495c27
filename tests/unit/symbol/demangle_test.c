/* demangle_test.c - mangled names of every kind, and hostile ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/demangle.h"

#include "tap.h"

#include <pthread.h>
#include <stdlib.h>

static struct cairn_arena arena;

static void test_names(void)
{
	static const char *const pairs[][2] = {
		{"_ZN4ceph6buffer7v15_2_04list6appendEPKcj", "ceph::buffer::v15_2_0::list::append(char const*, unsigned int)"},
		{"_Znwm", "operator new(unsigned long)"},
		{"_ZSt4sortIPiEvT_S1_", "void std::sort<int*>(int*, int*)"},
		{"_Z3foov.constprop.0", "foo() [clone .constprop.0]"},
		{"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const"},
		{"_ZN5alloc7raw_vec19RawVec$LT$T$C$A$GT$8grow_one17h0123456789abcdefE", "alloc::raw_vec::RawVec<T,A>::grow_one"},
		{"_ZN4core3ops8function6FnOnce40call_once$u7b$$u7b$vtable.shim$u7d$$u7d$17h0123456789abcdefE",
		 "core::ops::function::FnOnce::call_once{{vtable.shim}}"},
		{"_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example"},
		{"_RNvMNtCs1234_7mycrate3barNtB2_3Foo3new", "<mycrate::bar::Foo>::new"},
		{"_RINvCs1234_7mycrate3foohE", "mycrate::foo::<u8>"},
		{"_GLOBAL__I__Z1fv", "global constructors keyed to f()"},
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		is_text(cairn_demangle(&arena, pairs[i][0]), pairs[i][1], "%s", pairs[i][1]);
}

static void test_plain(void)
{
	static const char *const plain[] = {"",
					    "_",
					    "main",
					    "_start",
					    "malloc",
					    "_rjem_malloc",
					    "f",
					    "_Z",
					    "_R",
					    "_ZN",
					    "_Zzzzzzz",
					    "__libc_start_main",
					    "ZN4core3fmt5write17h0123456789abcdefE"};
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		ok(!cairn_demangle(&arena, plain[i]), "'%s' is not mangled", plain[i]);
}

/* pair<pair<pair<…>>> of itself, each level twice the one before: the 40th alone has 2^40 parts. */
static void test_bomb(void)
{
	char name[512];
	size_t used = (size_t)snprintf(name, sizeof name, "_Z1fSt4pairIiiES_IS0_S0_E");
	for (char level = '1'; level <= '9'; level++)
		used += (size_t)snprintf(name + used, sizeof name - used, "S_IS%c_S%c_E", level, level);
	for (char level = 'A'; level <= 'Z'; level++)
		used += (size_t)snprintf(name + used, sizeof name - used, "S_IS%c_S%c_E", level, level);
	ok(!cairn_demangle(&arena, name), "a name that unfolds to terabytes is left as it is");
	ok(arena.total_bytes < 1 << 20, "and costs no memory");
	is_text(cairn_demangle(&arena, "_Z1fv"), "f()", "the next name is demangled as ever");
}

/* Templates of templates are often longer than what libiberty takes without being told to. */
static void test_long(void)
{
	char name[4096] = "_Z1fIi", full[8192] = "void f<int";
	for (int i = 0; i < 300; i++) {
		size_t used = strlen(name);
		snprintf(name + used, sizeof name - used, "4n%03d", i);
		used = strlen(full);
		snprintf(full + used, sizeof full - used, ", n%03d", i);
	}
	strcat(name, "EvT_");
	strcat(full, ">(int)");
	ok(strlen(name) > 1500, "a name of %zu characters", strlen(name));
	is_text(cairn_demangle(&arena, name), full, "is demangled whole");
}

/* One character for each level of pointers, up to the longest that is tried and beyond. */
static void test_deep(void)
{
	static char name[70000];
	for (size_t length = 500; length < sizeof name - 8; length *= 2) {
		memcpy(name, "_Z1f", 4);
		memset(name + 4, 'P', length);
		memcpy(name + 4 + length, "i", 2);
		const char *full = cairn_demangle(&arena, name);
		ok(length <= 1000 ? full != NULL : full == NULL, "%zu pointers to pointers: %s", length,
		   length <= 1000 ? "demangled" : "left as they are");
	}
}

/* Appends TEXT to NAME so many times. */
static void repeat(char *name, const char *text, int times)
{
	char *end = name + strlen(name);
	for (int i = 0; i < times; i++)
		end = stpcpy(end, text);
}

/* _Z1fIiEvN1aIEIE…IEERT_RT_…: libiberty has room on the stack for every template at every reference. */
static char *make_references(int templates, int references)
{
	char *name = calloc(1, 16384);
	strcpy(name, "_Z1fIiEvN1a");
	repeat(name, "IE", templates);
	repeat(name, "E", 1);
	repeat(name, "RT_", references);
	return name;
}

/* pair<pair<…>, the same>, so many levels deep, after START. */
static char *make_pack(const char *start, int levels)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *name = calloc(1, 16384);
	strcpy(name, start);
	repeat(name, "St4pairI", 1);
	repeat(name, "S_I", levels);
	repeat(name, "ii", 1);
	for (int i = 0; i < levels; i++)
		sprintf(name + strlen(name), "ES%c_", digits[i]);
	repeat(name, "E", 1);
	return name;
}

static char *make_conversion(int levels)
{
	char *name = calloc(1, 16384);
	strcpy(name, "_ZN1acv");
	repeat(name, "T_I", levels);
	repeat(name, "i", 1);
	repeat(name, "E", levels);
	repeat(name, "Ev", 1);
	return name;
}

/* On a thread with a small stack. */
static void *demangle_hostile(void *unused)
{
	char *names[] = {make_references(900, 740), make_references(250, 160), make_references(1300, 490), make_pack("_Z1fDp", 34),
			 make_pack("_GLOBAL__I__Z1fDp", 34), make_conversion(200), NULL};
	for (char **name = names; *name; name++) {
		ok(strlen(*name) < 4096 && !cairn_demangle(&arena, *name), "%.20s… of %zu characters is left as it is", *name,
		   strlen(*name));
		free(*name);
	}
	static const char *const nested[][3] = {{"P", "i", ""}, {"PF", "i", "vE"}, {"1aI", "i", "E"}, {"N1aI", "i", "EE"},
						{"IX", "Li1E", "EE"}, {"Dp", "i", ""}, {"A_", "i", ""}, {"J", "i", "E"}};
	for (size_t i = 0; i < sizeof nested / sizeof *nested; i++) {
		char *name = calloc(1, 16384);
		int levels = (int)(4000 / (strlen(nested[i][0]) + strlen(nested[i][2])));
		strcpy(name, i < 4 ? "_Z1f" : "_Z1fI");
		repeat(name, nested[i][0], levels);
		repeat(name, nested[i][1], 1);
		repeat(name, nested[i][2], levels);
		repeat(name, i < 4 ? "" : "Evv", 1);
		cairn_demangle(&arena, name);
		ok(strlen(name) < 4096, "%d levels of %s", levels, nested[i][0]);
		free(name);
	}
	char *few = make_references(120, 100), *pack = make_pack("_Z1fDp", 6);
	ok(cairn_demangle(&arena, few) != NULL, "100 references beside 120 templates are demangled");
	ok(cairn_demangle(&arena, pack) != NULL, "and a pack of a few levels");
	char *templates = calloc(1, 16384);
	strcpy(templates, "_Z2cvSt4pairIiiE");
	repeat(templates, "S_IicE", 40);
	ok(cairn_demangle(&arena, templates) != NULL, "so are many templates beside a name that looks like a conversion");
	free(templates);
	free(few);
	free(pack);
	return unused;
}

static void test_hostile(void)
{
	pthread_t thread;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 2 << 20);
	ok(pthread_create(&thread, &attributes, demangle_hostile, NULL) == 0 && pthread_join(thread, NULL) == 0,
	   "names that take libiberty more stack or time than there is");
	pthread_attr_destroy(&attributes);
}

static void test_profile(void)
{
	static const struct {
		const char *name, *system_name, *expected, *expected_system_name, *what;
	} cases[] = {
		{"_ZN3foo3barEi", "_ZN3foo3barEi", "foo::bar(int)", "_ZN3foo3barEi", "a function with its linker's name only"},
		{"_RNvCs1234_7mycrate3foo", "", "mycrate::foo", "_RNvCs1234_7mycrate3foo", "one without a system name"},
		{"", "_ZN3foo3barEi", "foo::bar(int)", "_ZN3foo3barEi", "one with nothing else"},
		{"__ZN3foo3barEi", "__ZN3foo3barEi", "foo::bar(int)", "__ZN3foo3barEi", "one of macOS"},
		{"_Zoo", "_ZN3foo3barEi", "_Zoo", "_ZN3foo3barEi", "a name that differs from the linker's stays"},
		{"__Z_no", "__Z_no", "__Z_no", "__Z_no", "so does what is not mangled"},
		{"main", "", "main", "", "and a plain name"},
		{"", "", "", "", "or none"},
	};
	enum { count = sizeof cases / sizeof *cases };
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	for (size_t i = 0; i < count; i++)
		cairn_profile_add_function(&profile,
					   &(struct cairn_function){.name = cairn_profile_text(&profile, cases[i].name),
								    .system_name = cairn_profile_text(&profile, cases[i].system_name)});
	cairn_demangle_profile(&profile);
	for (size_t i = 0; i < count; i++) {
		is_text(cairn_profile_string(&profile, profile.functions[i].name), cases[i].expected, "%s", cases[i].what);
		is_text(cairn_profile_string(&profile, profile.functions[i].system_name), cases[i].expected_system_name,
			"and the system name");
	}
	cairn_profile_free(&profile);
}

int main(void)
{
	test_hostile();
	test_names();
	test_long();
	test_deep();
	test_plain();
	test_bomb();
	test_profile();
	cairn_arena_free(&arena);
	return tap_done();
}
