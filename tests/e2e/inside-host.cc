// inside-host.cc - a program with an allocator inside, which knows what it holds. Two threads allocate and free all the while; for each line that it
// is sent it goes one step further and answers with a word: holds 8 MiB at each site, then gives back half of what hold_small holds, then ends.
// PREFIX is that of the allocator's names; its operator new may be another allocator's.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

#ifndef PREFIX
#define PREFIX
#endif
#define JOIN(prefix, name) prefix##name
#define NAMED(prefix, name) JOIN(prefix, name)
#define OWN(name) NAMED(PREFIX, name)

extern "C" {
void *OWN(malloc)(size_t);
void *OWN(calloc)(size_t, size_t);
void *OWN(realloc)(void *, size_t);
int OWN(posix_memalign)(void **, size_t, size_t);
void OWN(free)(void *);
}

static const size_t each = 8 << 20;
static void *kept[each / 1024];

#define SITE(name) extern "C" __attribute__((noinline)) void name(void **to, size_t size)
SITE(hold_small) { *to = memset(OWN(malloc)(size), 1, size); }
SITE(hold_zeroed) { *to = OWN(calloc)(size / 8, 8); }
SITE(hold_aligned) { if (OWN(posix_memalign)(to, 4096, size)) abort(); }
SITE(hold_new) { *to = operator new(size); }
SITE(hold_nothrow) { *to = operator new(size, std::nothrow); }
SITE(hold_grown)
{
	*to = OWN(malloc)(16);
	for (size_t n = 32; n <= size; n *= 2)
		*to = OWN(realloc)(*to, n);
}

static void churn()
{
	for (unsigned i = 0;; i++) {
		OWN(free)(memset(OWN(malloc)(16 + i % 2000), 1, 16));
		if (i % 1000 == 0)
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
}

static void answer(const char *word)
{
	char line[16];
	printf("%s\n", word);
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		_Exit(0);
}

int main()
{
	static const struct { void (*hold)(void **, size_t); size_t size; } sites[] = {
		{hold_small, 1024}, {hold_zeroed, 8192}, {hold_aligned, 8192}, {hold_new, 8192}, {hold_nothrow, 8192}, {hold_grown, 65536}};
	std::thread(churn).detach();
	std::thread(churn).detach();
	OWN(free)(OWN(malloc)(1)); // initialized before anybody looks
	answer("ready");
	for (auto &site : sites)
		for (size_t i = 0; i < each / site.size; i++) {
			static void *object; // which nobody can see to be lost
			site.hold(site.hold == hold_small ? &kept[i] : &object, site.size);
		}
	answer("holds");
	for (size_t i = 0; i < each / 1024; i += 2)
		OWN(free)(kept[i]);
	answer("freed");
	static volatile size_t too_much = static_cast<size_t>(1) << 62;
	int caught = 0;
	for (int i = 0; i < 1000; i++)
		try { // a sample is due each time
			operator delete(operator new(too_much));
		} catch (const std::bad_alloc &) {
			caught++;
		}
	for (size_t i = 0; i < each / 8192; i++) {
		static void *object;
		hold_new(&object, 8192);
	}
	answer(caught == 1000 ? "caught" : "not caught");
	_Exit(0);
}
