/* trailer_test.c - reading the agent's trailer, whole, cut short, and where there is none.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/trailer.h"

#include "dump/trailer_write.h"
#include "tap.h"

#include <stdlib.h>

static const char dump[] =
	"heap_v2/4096\n  t*: 1: 2 [0: 0]\n@ 0x1\n  t*: 1: 2 [0: 0]\n\nMAPPED_LIBRARIES:\n"
	"1000-2000 r-xp 00000000 00:00 0 /bin/x # cairn trailer in a path\n"
	"# cairn trailer 1\n# cairn version 0.1.0\n# cairn time 1794717771.807039451\n# cairn host vm\n# cairn pid 21135\n"
	"# cairn start 1794717771.5\n# cairn executable /usr/bin/redis-server\n# cairn command redis-server *:6379\n"
	"# cairn jemalloc 5.3.0-0-g5\n# cairn prefix je_\n# cairn period 4096\n# cairn opt.prof_accum true\n# cairn future thing\n"
	"# cairn stats.allocated 80400048\n# cairn stats.mapped -5\n"
	"# cairn module 55f92e42a000-55f92e541000 5f000 a50d68 /usr/bin/redis server\n"
	"# cairn module nonsense\n"
	"# cairn module 7f00-7fff 0 - [vdso]\n# cairn end\n";

static bool is(struct cairn_bytes bytes, const char *text)
{
	return cairn_bytes_equal(bytes, cairn_bytes_of(text));
}

static void test_whole(void)
{
	struct cairn_trailer trailer;
	ok(cairn_trailer_read(cairn_bytes_of(dump), &trailer) && trailer.complete, "a whole trailer");
	ok(is(trailer.version, "0.1.0") && is(trailer.host, "vm") && is(trailer.command, "redis-server *:6379") &&
		   is(trailer.prefix, "je_"),
	   "texts");
	is_int(trailer.pid, 21135, "the process");
	is_int(trailer.time_ns, 1794717771807039451, "a time");
	is_int(trailer.start_ns, 1794717771500000000, "one with fewer digits");
	is_int(trailer.reset_ns, 0, "one that is not there");
	is_int(trailer.period, 4096, "the period");
	is_int(cairn_trailer_number(&trailer, "stats.allocated"), 80400048, "any number by its key");
	is_int(cairn_trailer_number(&trailer, "stats.mapped"), 0, "what is no number is none");
	ok(is(cairn_trailer_value(&trailer, "opt.prof_accum"), "true") && is(cairn_trailer_value(&trailer, "nothing"), ""), "any text");
	struct cairn_trailer_module module;
	size_t position = 0;
	ok(cairn_trailer_next_module(&trailer, &position, &module) && module.start == 0x55f92e42a000 && module.end == 0x55f92e541000 &&
		   module.offset == 0x5f000 && is(module.build_id, "a50d68") && is(module.path, "/usr/bin/redis server"),
	   "a module, with a space in its path");
	ok(cairn_trailer_next_module(&trailer, &position, &module) && is(module.path, "[vdso]") && module.build_id.length == 0,
	   "one without a build-id");
	ok(!cairn_trailer_next_module(&trailer, &position, &module), "and no more");
}

static void test_written(void)
{
	struct cairn_trailer trailer;
	struct cairn_trailer_module module;
	struct cairn_buffer out = cairn_buffer(1 << 16);
	struct cairn_bytes id = cairn_bytes_of("\xa5\x0d"), none = {"", 0};
	cairn_buffer_text(&out, "heap_v2/4096\n\nMAPPED_LIBRARIES:\n");
	cairn_trailer_write_map(&out, &(struct cairn_trailer_range){0x1000, 0x2000, 0x3000, none, cairn_bytes_of("/a\nb")});
	ok(cairn_bytes_end_with(cairn_buffer_bytes(&out), "\n1000-2000 r-xp 00003000 00:00 0 /a\\012b\n"), "a line of a memory map");
	cairn_trailer_write_first(&out);
	cairn_trailer_write_text(&out, "command", "a service\n# cairn pid 1\n");
	cairn_trailer_write_number(&out, "pid", 4242);
	cairn_trailer_write_time(&out, "time", 1794717771000000451);
	cairn_trailer_write_format(&out, "cpu.thread", "%u %d %s", 3u, 77, "wor\nker");
	cairn_trailer_write_range(&out, "module", &(struct cairn_trailer_range){0x1000, 0x2000, 0x3000, id, cairn_bytes_of("/bin/a b")});
	cairn_trailer_write_range(&out, "unloaded", &(struct cairn_trailer_range){1, 2, 3, none, cairn_bytes_of("/c\x7f")});
	struct cairn_bytes open = cairn_buffer_bytes(&out), whole;
	ok(cairn_trailer_read(open, &trailer) && !trailer.complete && !cairn_trailer_take_last(&open), "lines without the last one");
	cairn_trailer_write_last(&out);
	whole = cairn_buffer_bytes(&out);
	ok(cairn_trailer_read(whole, &trailer) && trailer.complete, "a whole one");
	ok(is(trailer.command, "a service # cairn pid 1 ") && trailer.pid == 4242 && trailer.time_ns == 1794717771000000451,
	   "text, number and time; no text can pass for a line");
	ok(is(cairn_trailer_value(&trailer, "cpu.thread"), "3 77 wor ker"), "several parts");
	size_t position = 0;
	ok(cairn_trailer_next_module(&trailer, &position, &module) && module.start == 0x1000 && module.end == 0x2000 &&
	   module.offset == 0x3000 && is(module.build_id, "a50d") && is(module.path, "/bin/a b"), "a module");
	position = 0;
	ok(cairn_trailer_next_unloaded(&trailer, &position, &module) && is(module.path, "/c\\177") && module.build_id.length == 0,
	   "an unloaded one");
	ok(cairn_trailer_take_last(&whole) && whole.length == open.length, "the last line is taken off");
	cairn_buffer_free(&out);
}

static void test_cut(void)
{
	size_t complete = 0, found = 0, length = strlen(dump);
	for (size_t cut = 0; cut <= length; cut++) {
		struct cairn_trailer trailer;
		struct cairn_trailer_module module;
		size_t position = 0;
		char *copy = malloc(cut + 1);
		memcpy(copy, dump, cut);
		if (cairn_trailer_read((struct cairn_bytes){copy, cut}, &trailer)) {
			found++;
			complete += trailer.complete;
			while (cairn_trailer_next_module(&trailer, &position, &module))
				;
		}
		free(copy);
	}
	ok(found > 100 && complete == 2, "cut anywhere it is read as far as it goes, and known to be cut");
	struct cairn_trailer trailer;
	ok(!cairn_trailer_read(cairn_bytes_of("heap_v2/1\n"), &trailer) && !cairn_trailer_read(cairn_bytes_of(""), &trailer),
	   "a dump without one");
	ok(!cairn_trailer_read(cairn_bytes_of("x # cairn trailer 1\n# cairn pid 3\n"), &trailer), "its first line begins a line");
}

int main(void)
{
	test_whole();
	test_written();
	test_cut();
	return tap_done();
}
