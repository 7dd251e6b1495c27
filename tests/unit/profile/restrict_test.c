/* restrict_test.c - which modules of a stranger's profile are looked for, and where.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"
#include "profile/maps.h"
#include "profile/read.h"
#include "profile/restrict.h"
#include "tap.h"

static const char list[] = "1000-2000 r--p 00000000 fd:01 1 /usr/bin/service\n"
			   "2000-3000 r-xp 00001000 fd:01 1 /usr/bin/service\n"
			   "7000-8000 r-xp 00000000 fd:01 2 /usr/lib/libjemalloc.so.2\n"
			   "9000-a000 r-xp 00000000 00:00 0 [vdso]\n"
			   "# cairn trailer 1\n# cairn module 2000-3000 1000 aaaa /usr/bin/service\n"
			   "# cairn module 7000-8000 0 bbbb /lib/libjemalloc.so.2\n# cairn end\n";

static const char upload[] =
	"heap_v2/524288\n  t*: 1: 4096 [0: 0]\n@ 0x100010 0x200010 0x300010 0x400010 0x500010 0x600010\n  t*: 1: 4096 [0: 0]\n\n"
	"MAPPED_LIBRARIES:\n"
	"100000-101000 r-xp 00000000 fd:01 1 /elsewhere/moved\n"            /* our program by its build-id */
	"200000-201000 r-xp 00000000 fd:01 2 /usr/lib/libjemalloc.so.2\n"   /* ours by its path */
	"300000-301000 r-xp 00000000 fd:01 3 /root/secret/program\n"        /* not ours */
	"400000-401000 r-xp 00000000 fd:01 4 /usr/bin/service\n"            /* our path, another build */
	"500000-501000 r-xp 00000000 fd:01 5 ../../etc/relative\n"
	"600000-601000 r-xp 00000000 fd:01 6 /usr/bin/other\n"              /* another program by its build-id */
	"# cairn trailer 1\n# cairn pid 1\n# cairn module 100000-101000 0 aaaa /elsewhere/moved\n"
	"# cairn module 400000-401000 0 cccc /usr/bin/service\n# cairn module 600000-601000 0 dddd /usr/bin/other\n# cairn end\n";

static const char *path_of(const struct cairn_profile *profile, size_t mapping)
{
	return cairn_profile_string(profile, profile->modules[profile->mappings[mapping].module].path);
}

static const char *id_of(const struct cairn_profile *profile, size_t mapping)
{
	return cairn_profile_string(profile, profile->modules[profile->mappings[mapping].module].build_id);
}

int main(void)
{
	struct cairn_profile profile;
	struct cairn_error error;
	cairn_profile_init(&profile);
	ok(cairn_profile_read(&profile, cairn_bytes_of(upload), "upload", &(struct cairn_read_options){0}, &error), "an upload is read");
	is_int(profile.facts.process_id, 1, "it says whose it is");
	cairn_profile_restrict(&profile, cairn_bytes_of(list));
	is_int(profile.facts.process_id, 0, "which is forgotten");
	is_text(path_of(&profile, 0), "/usr/bin/service", "a module of a build-id on the list is taken from where the list has it");
	is_text(id_of(&profile, 0), "aaaa", "with its build-id");
	is_text(path_of(&profile, 1), "/usr/lib/libjemalloc.so.2", "one without a build-id by its path");
	is_text(id_of(&profile, 1), "bbbb", "with the build-id that the list has for that memory");
	is_text(path_of(&profile, 2), "[program]", "any other keeps the last part of its path, which is no file");
	is_text(path_of(&profile, 3), "[service]", "the right path with another build-id is another module");
	is_text(path_of(&profile, 4), "[relative]", "a relative path is none");
	is_text(path_of(&profile, 5), "[other]", "nor is one with a build-id of its own");
	is_text(id_of(&profile, 5), "", "which would else be looked for among debug files");
	cairn_profile_free(&profile);
	cairn_profile_init(&profile);
	ok(cairn_profile_read(&profile, cairn_bytes_of(upload), "upload", &(struct cairn_read_options){0}, &error), "again");
	cairn_profile_restrict(&profile, cairn_bytes_of(""));
	bool any = false;
	for (size_t i = 0; i < profile.mapping_count; i++)
		any |= path_of(&profile, i)[0] == '/' || id_of(&profile, i)[0];
	ok(!any, "an empty list allows nothing");
	cairn_profile_free(&profile);
	return tap_done();
}
