/* jemalloc_test.c - jemalloc in the system's library, and none in our own program.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/jemalloc.h"
#include "tap.h"

#include <unistd.h>

const char *test_malloc_conf = "prof:true,lg_prof_sample:3";
const char *test_no_conf;

static void test_library(void)
{
	static const char *const paths[] = {"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "/usr/lib/aarch64-linux-gnu/libjemalloc.so.2",
					    "/usr/lib64/libjemalloc.so.2", "/usr/lib/libjemalloc.so.2"};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		if (access(paths[i], R_OK) != 0)
			continue;
		struct cairn_elf *elf = cairn_elf_open(paths[i], NULL);
		struct cairn_elf_jemalloc jemalloc;
		ok(elf && cairn_elf_jemalloc(elf, &jemalloc) && jemalloc.exported && jemalloc.has_symbols, "%s has it", paths[i]);
		is_text(jemalloc.prefix, "", "without a prefix");
		is_text(jemalloc.variable, "MALLOC_CONF", "the variable it reads");
		is_text(jemalloc.link, "/etc/malloc.conf", "and the link");
		ok(jemalloc.version[0] >= '4' && jemalloc.version[0] <= '9' && strstr(jemalloc.version, "-g"), "its version is %s",
		   jemalloc.version);
		cairn_elf_close(elf);
		return;
	}
	ok(false, "libjemalloc.so.2 is installed");
}

static void test_self(void)
{
	struct cairn_elf *elf = cairn_elf_open("/proc/self/exe", NULL);
	struct cairn_elf_jemalloc jemalloc;
	ok(elf && !cairn_elf_jemalloc(elf, &jemalloc), "this program has none");
	uint64_t address;
	jemalloc = (struct cairn_elf_jemalloc){.prefix = "test_"};
	ok(cairn_elf_jemalloc_symbol(elf, &jemalloc, "malloc_conf", &address), "a symbol by prefix and name");
	is_text(cairn_elf_pointed_text(elf, address), "prof:true,lg_prof_sample:3", "the text it points to, through its relocation");
	ok(cairn_elf_jemalloc_symbol(elf, &jemalloc, "no_conf", &address) && !cairn_elf_pointed_text(elf, address),
	   "one that points nowhere");
	ok(!cairn_elf_jemalloc_symbol(elf, &jemalloc, "nothing_of_the_kind", &address), "one that is not there");
	ok(!cairn_elf_pointed_text(elf, UINT64_MAX - 3), "an address that is not in the file");
	cairn_elf_close(elf);
}

int main(void)
{
	test_library();
	test_self();
	return tap_done();
}
