/* heap_test.c - jemalloc dumps: right ones, odd ones, cut and hostile ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/buffer.h"
#include "fixture.h"

#include <stdlib.h>

static bool read_dump(const char *text, bool split)
{
	return read_bytes(cairn_bytes_of(text), &(struct cairn_read_options){.split_threads = split});
}

static const char whole[] = "heap_v2/524288\n"
			    "  t*: 3: 13000 [0: 0]\n"
			    "  t0: 1: 5000 [0: 0]\n"
			    "  t7: 2: 8000 [0: 0] io thread [1]: @x\n"
			    "@ 0x401010 0x402020\n"
			    "  t*: 2: 8000 [0: 0]\n"
			    "  t7: 2: 8000 [0: 0]\n"
			    "@ 0x401010\n"
			    "  t*: 1: 5000 [0: 0]\n"
			    "  t0: 1: 5000 [0: 0]\n"
			    "\nMAPPED_LIBRARIES:\n"
			    "00400000-00401000 r--p 00000000 08:01 99   /opt/my service\n"
			    "00401000-00403000 r-xp 00001000 08:01 99   /opt/my service\n";

static void test_whole(void)
{
	ok(read_dump(whole, false), "a dump is read");
	is_int(profile.sample_count, 2, "a sample for each stack");
	is_int(profile.value_count, 2, "no accumulated counts, no such values");
	is_text(cairn_profile_string(&profile, profile.value_types[profile.default_value].type), "inuse_space", "live bytes by default");
	double mean = 4000, factor = 1 / (1 - exp(-mean / 524288));
	is_near(cairn_profile_values(&profile, 0)[0], 2 * factor, 1e-6, "objects un-sampled");
	is_near(cairn_profile_values(&profile, 0)[1], 8000 * factor, 1e-6, "bytes un-sampled");
	is_near(profile.sampled[0], 2, 0, "and the samples kept");
	is_int(profile.thread_count, 2, "threads");
	is_text(cairn_profile_string(&profile, profile.threads[1].name), "io thread [1]: @x", "a name may hold anything");
	is_int(profile.location_count, 2, "addresses are kept once");
	const struct cairn_location *location = &profile.locations[0];
	ok(location->address == 0x40100f && location->is_call, "a return address points into its call");
	is_int(cairn_profile_file_offset(&profile, location), 0x100f, "offset in the file");
	is_text(cairn_profile_string(&profile, cairn_profile_module(&profile, location)->path), "/opt/my service", "a path with a space");
	is_text(cairn_profile_string(&profile, profile.facts.process), "/opt/my service", "the program");
	is_int(profile.warning_count, 0, "nothing to warn of");
}

/* The estimate depends on the mean size, which differs from thread to thread. */
static void test_threads_add_up(void)
{
	static const char text[] = "heap_v2/524288\n t*: 3: 400200 [5: 500000]\n@ 0x10 0x20\n t*: 3: 400200 [5: 500000]\n t1: 2: 200 [4: "
				   "300]\n t2: 1: 400000 [1: 499700]\n"
				   "\nMAPPED_LIBRARIES:\n";
	double sums[2][4] = {0};
	for (int split = 0; split < 2; split++) {
		read_dump(text, split);
		for (size_t i = 0; i < profile.sample_count; i++)
			for (size_t k = 0; k < 4; k++)
				sums[split][k] += cairn_profile_values(&profile, i)[k];
	}
	is_int(profile.sample_count, 2, "two threads, told apart");
	for (size_t k = 0; k < 4; k++)
		is_near(sums[1][k], sums[0][k], 1e-6, "a stack has the same size whether or not its threads are told apart");
	is_near(cairn_profile_values(&profile, 0)[0] / sums[0][0], 0.8, 1e-6, "each with its part");
}

static void test_threads(void)
{
	ok(read_dump("heap_v2/1\n t*: 3: 300 [0: 0]\n t1: 1: 100 [0: 0] a\n t2: 2: 200 [0: 0]\n"
		     "@ 0x10 0x20\n t*: 3: 300 [0: 0]\n t1: 1: 100 [0: 0]\n t2: 1: 100 [0: 0]\n t2: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n",
		     true),
	   "a dump is read thread by thread");
	is_int(profile.sample_count, 3, "a sample for each thread line, twice for one that was reset");
	ok(profile.samples[0].depth == 2 && profile.samples[2].depth == 2 &&
		   profile.stacks[profile.samples[2].stack + 1] == profile.stacks[profile.samples[0].stack + 1], "each with the stack");
	const struct cairn_label_set *set = &profile.label_sets[profile.samples[0].labels];
	is_int(set->count, 2, "number and name");
	is_text(cairn_profile_string(&profile, profile.labels[set->first + 1].text), "a", "the name from the header");
	ok(profile.samples[1].labels == profile.samples[2].labels, "equal labels are one set");
}

/* Samples of one call path share its stack, so that memory grows with the size of the dump only. */
static void test_shared(void)
{
	static const char text[] = "heap_v2/1\n t*: 3: 300 [0: 0]\n@ 0x10 0x20 0x30\n t*: 3: 300 [0: 0]\n t*: 3: 300 [0: 0]\n"
				   " t1: 1: 100 [0: 0]\n t2: 2: 200 [0: 0]\n\nMAPPED_LIBRARIES:\n\n# cairn section samples 1\n"
				   "# cairn live 0 8 0 1 1 1 0\n# cairn live 0 800 0 1 1 1 0\n# cairn live 0 8 0 1 1 99999999 0\n"
				   "# cairn live 0 8 0 1 2 1 0\n";
	const struct cairn_read_options options = {.split_threads = true, .split_ages = true, .split_sizes = true};
	ok(read_bytes(cairn_bytes_of(text), &options), "a dump is read by thread, age and size");
	is_int(profile.sample_count, 6, "two threads, and four classes of them");
	is_int(profile.stack_count, 3, "share one stack");
	for (size_t i = 0; i < profile.sample_count; i++)
		ok(profile.samples[i].depth == 3 && profile.samples[i].stack == 0, "sample %zu has it", i);
	ok(warned("1 lines could not be read, the first at line 5"), "the sum of a stack is given once");
	read_dump(text, false);
	is_int(profile.sample_count, 1, "without threads as well");
}

/* Lines that are not in the order of the stacks do not give a stack one sample after the other. */
static void test_turns(void)
{
	struct cairn_buffer text = cairn_buffer(1 << 16);
	cairn_buffer_text(&text, "heap_v2/1\n t*: 2: 200 [0: 0]\n@ 0x10\n t*: 1: 100 [0: 0]\n t1: 1: 100 [0: 0]\n@ 0x20 0x30\n"
				 " t*: 1: 100 [0: 0]\n t1: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n\n# cairn section samples 1\n"
				 "# cairn live 0 100 0 1 1 1 0\n# cairn live 1 100 0 1 1 1 0\n");
	for (unsigned i = 0; i < 20; i++)
		cairn_buffer_format(&text, "# cairn freed %u 1 1 1 0\n# cairn peak %u 1 1 1\n# cairn mapping %u 4096 1 5 anonymous\n",
				    (i + 1) % 2, (i + 1) % 2, (i + 1) % 2);
	const struct cairn_read_options options = {.split_threads = true, .with_freed = true, .every_kind = true};
	ok(read_bytes(cairn_buffer_bytes(&text), &options), "a dump whose lines are out of order is read");
	is_int(profile.sample_count, 2 + 3, "the second stack has one sample each of what was freed, of the peak and of what was mapped");
	cairn_buffer_free(&text);
}

static void test_accumulated(void)
{
	ok(read_dump("heap_v2/1\n t*: 1: 100 [5: 500]\n@ 0x10\n t*: 1: 100 [5: 500]\n@ 0x20\n t*: 0: 0 [2: 50]\n\nMAPPED_LIBRARIES:\n",
		     false),
	   "prof_accum");
	is_int(profile.value_count, 4, "all four values");
	is_near(cairn_profile_total(&profile, cairn_profile_find_value(&profile, "alloc_space")), 550, 1e-6, "allocated");
	is_near(cairn_profile_total(&profile, cairn_profile_find_value(&profile, "inuse_space")), 100, 1e-6, "live");
}

static void test_odd(void)
{
	ok(read_dump("heap_v2/9223372036854775808\r\n  t*: 1: 16 [0: 0]\r\n@\r\n  t*: 1: 16 [0: 0]\r\n\r\nMAPPED_LIBRARIES:\r\n", false),
	   "CR LF, a huge period, no addresses");
	ok(profile.sample_count == 1 && profile.samples[0].depth == 0, "a stack of no frames is a stack");
	ok(isfinite(cairn_profile_total(&profile, 1)), "its estimate is finite");
	ok(read_dump("heap_v2/1\n t*: 1: 0 [0: 0]\n@ 0x10\n t*: 1: 0 [0: 0]\n@ 0x20\n t*: 0: 5 [0: 0]\n\nMAPPED_LIBRARIES:\n", false),
	   "objects without bytes and the reverse");
	is_near(cairn_profile_total(&profile, 1), 5, 0, "are taken as they are");
	ok(read_dump("heap_v2/1\n@ 0x10 0xffffffffffffffff 0x0\n t*: 1: 5 [0: 0]\n\nMAPPED_LIBRARIES:\n", false), "extreme addresses");
	ok(profile.locations[1].address == 0xfffffffffffffffe && profile.locations[2].address == 0, "do not wrap");
}

static void test_damaged(void)
{
	char *text = strdup(whole);
	for (size_t length = strlen(whole); length-- > 0;) {
		text[length] = '\0';
		read_dump(text, length % 2);
	}
	free(text);
	ok(true, "every prefix of a dump is survived");
	read_dump("heap_v2/524288\n t*: 3: 13000 [0: 0]\n@ 0x10\n t*: 2: 8000 [0: 0]\n@ 0x20\n t*: 1: 50", false);
	ok(profile.sample_count == 1 && warned("ends before its memory map") && warned("1 stacks without a count"),
	   "a cut dump keeps what was whole, and says so");
	read_dump("heap_v2/1\n@ 0x10\n t*: 99999999999999999999: 1 [0: 0]\n@ 0x20 junk\n t*: 1: 1 [0: 0]\n@ 0x30\n t*: 1: 1 [0: "
		  "0]\n\nMAPPED_LIBRARIES:\n",
		  false);
	ok(profile.sample_count == 1 && warned("could not be read, the first at line 3"),
	   "numbers that do not fit and broken lines are left out, and said");
	read_dump("heap_v2/1\n t*: 2: 200 [0: 0]\n t1: 2: 200 [0: 0]\n@ junk\n t*: 1: 100 [0: 0]\n t1: 1: 100 [0: 0]\n@ 0x30\n t*: 1: 100 "
		  "[0: 0]\n\nMAPPED_LIBRARIES:\n",
		  false);
	ok(profile.thread_count == 1 && warned("header says 200 B"), "the counts of a stack that could not be read are not the header's");
	read_dump("heap_v2/524288\n t*: 90: 13000 [0: 0]\n@ 0x10\n t*: 2: 8000 [0: 0]\n\nMAPPED_LIBRARIES:\n", false);
	ok(warned("header says"), "stacks that do not add up to the header are pointed out");
	read_dump("heap_v2/524288\n t*: 4: 315 [0: 0]\n@ 0x10\n t*: 1: 48 [0: 0]\n@ 0x20\n t*: 1: 330638 [0: 0]\n@ 0x30\n t*: 1: 32 [0: "
		  "0]\n@ 0x40\n t*: 1: 128 [0: 0]\n\nMAPPED_LIBRARIES:\n",
		  false);
	ok(profile.warning_count == 0, "a header that jemalloc rounded to whole samples is right");
	ok(!read_dump("heap_v2/\n", false), "no period");
	ok(!read_dump("heap_v3/1\n", false), "another version");
	like_text(error.text, "x.heap:1:", "with the place");
}

/* Prefixes of a dump that end in its memory map: each says so, unless it ends where a line does. */
static void test_cut_map(void)
{
	size_t map = (size_t)(strstr(whole, "MAPPED_LIBRARIES:") - whole) + strlen("MAPPED_LIBRARIES:\n");
	size_t told = 0, wanted = 0, too_many = 0;
	for (size_t length = map + 1; length <= strlen(whole); length++) {
		read_bytes((struct cairn_bytes){whole, length}, NULL);
		wanted += whole[length - 1] != '\n';
		told += whole[length - 1] != '\n' && profile.warning_count == 1 &&
			warned("x.heap: its memory map ends in the middle of a line");
		too_many += whole[length - 1] == '\n' && profile.warning_count > 0;
	}
	ok(told == wanted && wanted > 100, "a dump cut inside its memory map says so once, wherever it was cut");
	is_int(too_many, 0, "but not where a line ends");
	read_bytes((struct cairn_bytes){whole, strlen(whole) - 1}, NULL);
	ok(profile.sample_count == 2 && profile.mapping_count == 1, "and gives what is there");
	read_bytes((struct cairn_bytes){whole, map}, NULL);
	is_int(profile.warning_count, 0, "a map of nothing is one");
}

/* What may stand at the end of a map, and what may not. */
static void test_end_of_map(void)
{
	static const struct {
		const char *end, *warning, *name;
	} cases[] = {
		{"ffff0000-ffff1000 --xp 00000000 00:00 0 [vsyscall]", NULL, "a name in brackets is whole without a line end"},
		{"ffff0000-ffff1000 --xp 00000000 00:00 0 [vsysc", "middle of a line", "half of one is not"},
		{"ffff0000-ffff1000 --xp 00000000 00:00 0 [vsyscall]\n\n  ", NULL, "blank lines may follow"},
		{"ffff0000-ffff1000 r-\n", "middle of a line", "half a line to which somebody gave an end"},
		{"ffff0000-ffff1000 rw-p 00000000 00:00 0\n# cairn trailer 1\n# cairn pid 7\n# cairn end", NULL,
		 "a trailer without its last line end"},
		{"ffff0000-ffff1000 rw-p 00000000 00:00 0\n# cairn trailer 1\n# cairn pid 7\n# cai", "trailer is cut short",
		 "a trailer without its end"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cairn_buffer text = cairn_buffer(SIZE_MAX);
		cairn_buffer_text(&text, whole);
		cairn_buffer_text(&text, cases[i].end);
		read_bytes(cairn_buffer_bytes(&text), NULL);
		ok(profile.warning_count == (cases[i].warning != NULL) && (!cases[i].warning || warned(cases[i].warning)), "%s",
		   cases[i].name);
		cairn_buffer_free(&text);
	}
}

static void test_many_warnings(void)
{
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	for (int i = 0; i < 1000; i++)
		cairn_buffer_format(&text, "%%warn number %d\n", i);
	cairn_buffer_text(&text, whole);
	cairn_buffer_byte(&text, '\0');
	ok(read_dump(text.data, false) && profile.sample_count == 2, "a dump that warns a thousand times is read");
	is_int(profile.warning_count, 100, "and a hundred of it is kept");
	cairn_buffer_free(&text);
}

static void test_no_threads(void)
{
	ok(read_dump("heap_v2/1\n  t*: 3: 300 [0: 0]\n@ 0x11 0x21\n  t*: 1: 100 [0: 0]\n@ 0x31\n  t*: 2: 200 [0: 0]\n  t4: 2: 200 [0: "
		     "0]\n\nMAPPED_LIBRARIES:\n",
		     true),
	   "a dump in which a stack names no thread");
	is_int(profile.sample_count, 2, "every stack is there");
	is_near(cairn_profile_total(&profile, profile.default_value), 300, 0, "with all its bytes");
	is_int(profile.samples[0].labels, 0, "the one without a thread has no label");
}

static double sum_of(const char *type)
{
	uint32_t value = cairn_profile_find_value(&profile, type);
	return value == CAIRN_NONE ? -1 : cairn_profile_total(&profile, value);
}

/* Cairn's sampler counts what was allocated by stack only, also where a thread has the number 0. */
static void test_allocated_by_stack(void)
{
	static const char text[] =
		"heap_v2/4096\n  t*: 2: 9000 [20: 90000]\n@ 0x1001 0x2001\n  t*: 2: 9000 [20: 90000]\n  t0: 1: 4000 [0: 0]\n  t2: 1: 5000 "
		"[0: 0]\n"
		"\nMAPPED_LIBRARIES:\n00400000-00401000 r-xp 00000000 08:01 99   /opt/service\n# cairn section samples 1\n"
		"# cairn live 0 4000 0 1 0 500000 0\n# cairn live 0 5000 0 1 2 500000 0\n";
	read_dump(text, false);
	double all = sum_of("alloc_space"), objects = sum_of("alloc_objects"), live = sum_of("inuse_space");
	read_dump(text, true);
	ok(all > 90000 && sum_of("alloc_space") == all && sum_of("alloc_objects") == objects,
	   "no thread has it, and nothing of it is lost");
	is_near(sum_of("inuse_space"), live, 1e-6, "what lives is with its threads");
	is_int(profile.sample_count, 3, "of which there are two");
	uint32_t value = cairn_profile_find_value(&profile, "inuse_space");
	ok(profile.samples[2].labels == 0 && cairn_profile_values(&profile, 2)[value] == 0,
	   "the sample without a thread has nothing that lives");
}

/* So is what was freed: it may be a thread's only if the stack is one thread's. */
static void test_freed_by_stack(void)
{
	static const char text[] =
		"heap_v2/4096\n  t*: 3: 13000 [20: 90000]\n@ 0x1001 0x2001\n  t*: 2: 9000 [20: 90000]\n  t1: 1: 4000 [0: 0]\n  t2: 1: 5000 "
		"[0: 0]\n@ 0x3001\n  t*: 1: 4000 [0: 0]\n  t1: 1: 4000 [0: 0]\n@ 0x4001\n  t*: 0: 0 [1: 100]\n"
		"\nMAPPED_LIBRARIES:\n00400000-00401000 r-xp 00000000 08:01 99   /opt/service\n# cairn section samples 1\n"
		"# cairn live 0 4000 0 1 1 500000 0\n# cairn live 0 5000 0 1 2 500000 0\n# cairn live 1 4000 0 1 1 500000 0\n"
		"# cairn freed 0 7 18 81000 0 3:7\n# cairn freed 1 2 2 100 0 3:2\n# cairn freed 2 1 1 40 0 3:1\n# cairn freed 8 1 1 9 0 "
		"3:1\n";
	for (int split = 0; split < 2; split++) {
		double bytes = 0;
		size_t labelled = 0, with = 0;
		read_bytes(cairn_bytes_of(text),
			   &(struct cairn_read_options){.split_threads = split, .split_ages = split, .with_freed = true});
		for (size_t i = 0; i < profile.freed_count; i++) {
			bytes += (double)profile.freed[i].bytes;
			with += profile.freed[i].samples > 0;
			labelled += profile.freed[i].samples > 0 && profile.label_sets[profile.samples[i].labels].count > 0;
		}
		is_near(bytes, 81140, 1e-6,
			split ? "threads kept apart: nothing that was freed is lost" : "what was freed is known by stack");
		is_int(with, 3, "of three stacks");
		is_int(labelled, 0, "and no thread or age has it");
		ok(profile.freed_count <= profile.sample_count, "all are samples");
	}
}

/* What Cairn's sampler says beyond heap_v2, as values and labels. Everything is recorded, so nothing is an estimate. */
static void test_classes(void)
{
	static const char text[] =
		"heap_v2/1\n  t*: 3: 3100 [0: 0]\n@ 0x1001 0x2001\n  t*: 2: 3000 [0: 0]\n  t1: 1: 1000 [0: 0]\n  t2: 1: 2000 [0: 0]\n"
		"@ 0x3001\n  t*: 1: 100 [0: 0]\n  t1: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n"
		"00400000-00401000 r-xp 00000000 08:01 99   /opt/service\n# cairn section samples 1\n"
		"# cairn live 0 1000 24 1 1 500000 0\n# cairn live 0 2000 48 1 2 700000000 0\n# cairn live 1 100 12 1 1 500000 0 30 32 "
		"4096\n"
		"# cairn peak 0 5 5 7000\n# cairn peak 1 2 2 300\n# cairn peak 9 2 2 300\n# cairn mapping 0 8192 1 5 anonymous\n"
		"# cairn mapping 1 4096 1 5 anonymous 4096\n# cairn mapping 1 1048576 1 5 reserved\n# cairn mapping 1 20480 1 5 brk\n";
	read_bytes(cairn_bytes_of(text),
		   &(struct cairn_read_options){.split_threads = true, .split_ages = true, .split_sizes = true, .every_kind = true});
	is_near(sum_of("inuse_space"), 3100, 1e-6, "what lives is split, and nothing of it is lost");
	is_near(sum_of("peak_space"), 7300, 1e-6, "what lived at the peak is beside it; a line without a stack is left out");
	is_near(sum_of("peak_objects"), 7, 1e-6, "in objects too");
	is_near(sum_of("slack_space"), 84, 1e-6, "and what is usable beyond what was requested");
	is_near(sum_of("fragmentation_space"), 4096.0 / 32 * 30 / 2, 1e-6, "what is free in slabs, divided among the objects in them");
	is_near(sum_of("mapped_space"), 32768, 1e-6, "and what the service mapped, but not what it only reserved");
	is_near(sum_of("mapped_objects"), 3, 1e-6, "piece by piece");
	size_t young = 0, kibibyte = 0, unlabelled = 0;
	uint32_t live = cairn_profile_find_value(&profile, "inuse_space"), peak = cairn_profile_find_value(&profile, "peak_space");
	for (size_t i = 0; i < profile.sample_count && peak != CAIRN_NONE; i++) {
		struct cairn_label_set set = profile.label_sets[profile.samples[i].labels];
		unlabelled += cairn_profile_values(&profile, i)[peak] > 0 && set.count == 0;
		for (size_t l = 0; l < set.count && cairn_profile_values(&profile, i)[live] > 0; l++) {
			const struct cairn_label *label = &profile.labels[set.first + l];
			young += strcmp(cairn_profile_string(&profile, label->text), "under 1 s") == 0;
			kibibyte += label->is_number && label->number == 1024;
		}
	}
	is_int(young, 2, "two are younger than a second");
	is_int(kibibyte, 1, "one has up to a kibibyte");
	is_int(unlabelled, 2, "and the peak, of which no thread is known, has none");
	read_bytes(cairn_bytes_of(text), &(struct cairn_read_options){.every_kind = true});
	is_int(profile.sample_count, 2, "where nothing is split there is one sample a stack");
	is_near(sum_of("peak_space"), 7300, 1e-6, "which has all");
	is_near(sum_of("mapped_space"), 32768, 1e-6, "mappings too");
	read_bytes(cairn_bytes_of(text), &(struct cairn_read_options){.every_kind = true, .shown = CAIRN_SHOWN_MAPPED, .mapped_kinds = 1});
	ok(sum_of("mapped_space") < 0 && sum_of("inuse_space") == 12288, "where mappings are what is shown, they are not there twice");
	read_dump(whole, false);
	ok(sum_of("peak_space") < 0, "a dump that knows of no peak has no such value");
}

static const char *build_id_of(const char *path)
{
	for (size_t i = 0; i < profile.module_count; i++)
		if (strcmp(cairn_profile_string(&profile, profile.modules[i].path), path) == 0)
			return cairn_profile_string(&profile, profile.modules[i].build_id);
	return "no such module";
}

/* The trailer's modules are those at the same addresses, whatever the loader calls them. */
static void test_build_ids(void)
{
	static const char text[] = "heap_v2/1\n  t*: 1: 100 [0: 0]\n@ 0x1001\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n"
				   "1000-2000 r-xp 00000000 08:01 1 /usr/bin/service\n"
				   "2000-3000 r-xp 00000000 08:01 2 /usr/lib/libnext.so\n"
				   "3000-5000 r-xp 00000000 08:01 3 /usr/lib/libpart.so\n"
				   "6000-7000 r-xp 00000000 08:01 4 /usr/lib/libpieces.so\n"
				   "7000-8000 rwxp 00000000 00:00 0\n"
				   "8000-9000 r-xp 00003000 08:01 4 /usr/lib/libpieces.so\n"
				   "a000-b000 r-xp 00000000 08:01 5 /usr/lib/libwithout.so\n"
				   "c000-d000 r-xp 00000000 08:01 6 /usr/lib/libother.so\n"
				   "# cairn trailer 1\n"
				   "# cairn module 6000-9000 0 dddd /lib/libpieces.so\n"
				   "# cairn module 2000-3000 0 bbbb /lib/libnext.so.1\n"
				   "# cairn module 1000-2000 0 aaaa /usr/bin/service\n"
				   "# cairn module 3400-4c00 400 cccc /usr/lib/libpart.so\n"
				   "# cairn module a000-b000 0 - /usr/lib/libwithout.so\n"
				   "# cairn module e000-f000 0 eeee /usr/lib/libother.so\n"
				   "# cairn end\n";
	read_dump(text, false);
	is_text(build_id_of("/usr/bin/service"), "aaaa", "the program has the build-id of the trailer");
	is_text(build_id_of("/usr/lib/libnext.so"), "bbbb", "a library that the loader knows by another path has its own too");
	is_text(build_id_of("/usr/lib/libpart.so"), "cccc", "one of which the trailer knows a part, as where pages are large");
	is_text(build_id_of("/usr/lib/libpieces.so"), "dddd", "one whose code is mapped in pieces");
	is_text(build_id_of(""), "", "memory without a file between them has none");
	is_text(build_id_of("/usr/lib/libwithout.so"), "", "nor has a library without one");
	is_text(build_id_of("/usr/lib/libother.so"), "", "or one that was elsewhere than the trailer says");
}

/* What the ledger lost is told, each where it shows. */
static void test_losses(void)
{
	static const char text[] = "heap_v2/1\n  t*: 1: 100 [0: 0]\n@ 0x1001\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n"
				   "1000-2000 r-xp 00000000 08:01 1 /usr/bin/service\n# cairn section samples 1\n# cairn live 0 100 0 1 1 2000 0\n"
				   "# cairn trailer 1\n# cairn pid 7\n"
				   "# cairn sampler.dropped 3\n# cairn sampler.dropped_bytes 2097152\n# cairn sampler.stacks_recycled 41\n"
				   "# cairn end\n";
	read_bytes(cairn_bytes_of(text), &(struct cairn_read_options){0});
	ok(warned("3 samples that stand for 2.0 MiB; what of that still lives is missing in the total"), "dropped samples");
	ok(!warned("41 call paths"), "call paths that were given up are no part of what lives");
	read_bytes(cairn_bytes_of(text), &(struct cairn_read_options){.with_freed = true});
	ok(warned("41 call paths without live memory made room for others"), "they are of what was freed");
}

int main(void)
{
	test_losses();
	test_whole();
	test_threads();
	test_threads_add_up();
	test_no_threads();
	test_shared();
	test_turns();
	test_accumulated();
	test_odd();
	test_damaged();
	test_cut_map();
	test_end_of_map();
	test_many_warnings();
	test_allocated_by_stack();
	test_freed_by_stack();
	test_classes();
	test_build_ids();
	cairn_profile_free(&profile);
	return tap_done();
}
