/* answers_test.c - blocks: what goes in comes out, older answers stay, and no damage goes unseen.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/answers.h"

#include "tap.h"

#include <stdlib.h>

static const struct cairn_symbol_frame inlined[] = {
	{.function = "_ZN5Queue4pushEi",
	 .file = "/src/queue.h",
	 .line = 12,
	 .column = 3,
	 .function_line = 10,
	 .mangled = true,
	 .inlined = true},
	{.function = "main", .file = "/src/main.cc", .line = 40, .function_line = 30},
};
static const struct cairn_symbol_frame plain[] = {{.function = "main", .file = "/src/main.cc", .line = 41, .function_line = 30}};
static const struct cairn_symbol_frame template[] = {{.function = "fill<int, char>", .file = "/src/main.cc", .line = 50}};
static const struct cairn_symbol_frame nameless[] = {{.file = "/src/start.S", .line = 7}};

static const struct cairn_probe probes[] = {{"/bin/a", 100, 7, 123456789}, {"/usr/lib/debug/a", 0, 0, 0}};
static const struct cairn_elf_segment segments[] = {{.offset = 0x1000, .address = 0x401000, .file_size = 0x200}, {.offset = 0x2000}};
static const struct cairn_answers_origin origin = {.key = "abcd", .options = "sysroot=/x", .note = "stripped", .probes = probes,
	.probe_count = 2, .segments = segments, .segment_count = 2};

static struct cairn_buffer make(void)
{
	struct cairn_answers_builder builder = {0};
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	cairn_answers_add(&builder, 0x2000, &(struct cairn_symbol){plain, 1, CAIRN_SYMBOL_DWARF});
	cairn_answers_add(&builder, 0x1000, &(struct cairn_symbol){inlined, 2, CAIRN_SYMBOL_DWARF});
	cairn_answers_add(&builder, 0x3000, &(struct cairn_symbol){NULL, 0, CAIRN_SYMBOL_NONE});
	cairn_answers_add(&builder, 0x1800, &(struct cairn_symbol){nameless, 1, CAIRN_SYMBOL_DWARF});
	cairn_answers_add(&builder, 0x1900, &(struct cairn_symbol){template, 1, CAIRN_SYMBOL_DWARF});
	ok(cairn_answers_write(&builder, &origin, &out), "a block is written");
	cairn_answers_builder_free(&builder);
	return out;
}

static const struct cairn_answer_function *function_at(const struct cairn_answers *answers, uint64_t address, uint32_t frame)
{
	uint32_t id = cairn_answers_find(answers, address);
	if (id == CAIRN_NONE || answers->first[id] + frame >= answers->first[id + 1])
		return NULL;
	return &answers->functions[answers->frames[answers->first[id] + frame].function];
}

static void check_contents(const struct cairn_answers *answers, const char *when)
{
	const struct cairn_answer_function *inner = function_at(answers, 0x1000, 0), *outer = function_at(answers, 0x1000, 1);
	ok(inner && outer && !function_at(answers, 0x1000, 2), "%s: an inlined frame and its caller", when);
	is_text(inner ? cairn_answers_string(answers, inner->name).data : NULL, "Queue::push(int)", "%s: the name is demangled", when);
	is_text(inner ? cairn_answers_string(answers, inner->system_name).data : NULL, "_ZN5Queue4pushEi", "%s: and kept as it was", when);
	is_text(inner ? cairn_answers_string(answers, inner->file).data : NULL, "/src/queue.h", "%s: its file", when);
	ok(outer && outer == function_at(answers, 0x2000, 0), "%s: one function is kept once", when);
	is_int(answers->frames[answers->first[cairn_answers_find(answers, 0x2000)]].line, 41, "%s: the line is the frame's", when);
	const struct cairn_answer_function *full = function_at(answers, 0x1900, 0);
	is_text(full ? cairn_answers_string(answers, full->name).data : NULL, "fill<int, char>", "%s: a name as the source has it", when);
	is_text(full ? cairn_answers_string(answers, full->system_name).data : NULL, "fill", "%s: and without its arguments", when);
	ok(function_at(answers, 0x1800, 0) && function_at(answers, 0x1800, 0)->name == 0, "%s: a line without a function", when);
	ok(cairn_answers_find(answers, 0x3000) != CAIRN_NONE && !function_at(answers, 0x3000, 0), "%s: nothing known is an answer too",
	   when);
	is_int(cairn_answers_find(answers, 0x1001), CAIRN_NONE, "%s: an address that was not asked has none", when);
}

static void test_contents(void)
{
	struct cairn_buffer block = make();
	struct cairn_answers answers;
	if (ok(cairn_answers_parse(&answers, cairn_buffer_bytes(&block)), "and read")) {
		check_contents(&answers, "block");
		is_text(cairn_answers_string(&answers, answers.key).data, "abcd", "the key");
		is_text(cairn_answers_string(&answers, answers.options).data, "sysroot=/x", "the options");
		is_text(cairn_answers_string(&answers, answers.note).data, "stripped", "the note");
		is_int(answers.probe_count, 2, "the probes");
		is_text(cairn_answers_string(&answers, answers.probes[1].path).data, "/usr/lib/debug/a", "the path of a probe");
		is_int(answers.probes[0].modified_ns, 123456789, "its time");
		ok(answers.segment_count == 2 && answers.segments[0].offset == 0x1000 && answers.segments[0].address == 0x401000 &&
		   answers.segments[0].file_size == 0x200 && answers.segments[1].offset == 0x2000, "the segments of the binary");
	}
	cairn_buffer_free(&block);
}

static void test_adding(void)
{
	struct cairn_buffer block = make(), second = cairn_buffer(SIZE_MAX);
	struct cairn_answers older, answers;
	struct cairn_answers_builder builder = {0};
	cairn_answers_parse(&older, cairn_buffer_bytes(&block));
	cairn_answers_add_all(&builder, &older);
	cairn_answers_add(&builder, 0x10, &(struct cairn_symbol){plain, 1, CAIRN_SYMBOL_DWARF});
	ok(cairn_answers_write(&builder, &(struct cairn_answers_origin){.key = "abcd", .options = ""}, &second) &&
		   cairn_answers_parse(&answers, cairn_buffer_bytes(&second)), "old answers and a new one make a block");
	check_contents(&answers, "after adding");
	is_int(answers.address_count, 6, "all are there");
	is_int(answers.function_count, older.function_count, "a function both have is kept once");
	is_int(answers.note, 0, "no note");
	cairn_answers_builder_free(&builder);
	cairn_buffer_free(&block);
	cairn_buffer_free(&second);
}

static void test_empty(void)
{
	struct cairn_answers_builder builder = {0};
	struct cairn_buffer block = cairn_buffer(SIZE_MAX);
	struct cairn_answers answers;
	ok(cairn_answers_write(&builder, &(struct cairn_answers_origin){.key = "", .options = ""}, &block) &&
		   cairn_answers_parse(&answers, cairn_buffer_bytes(&block)), "an empty block is a block");
	is_int(cairn_answers_find(&answers, 0), CAIRN_NONE, "it knows nothing");
	cairn_answers_builder_free(&builder);
	cairn_buffer_free(&block);
}

static void test_damage(void)
{
	struct cairn_buffer block = make();
	struct cairn_answers answers;
	size_t unseen = 0;
	for (size_t i = 0; i < block.length; i++)
		for (int bit = 0; bit < 8; bit += 3) {
			block.data[i] ^= (char)(1 << bit);
			unseen += cairn_answers_parse(&answers, cairn_buffer_bytes(&block));
			block.data[i] ^= (char)(1 << bit);
		}
	is_int(unseen, 0, "every flipped bit is seen");
	for (size_t length = 0; length < block.length; length++)
		unseen += cairn_answers_parse(&answers, (struct cairn_bytes){block.data, length});
	is_int(unseen, 0, "every cut is seen");
	ok(cairn_answers_parse(&answers, cairn_buffer_bytes(&block)), "undamaged it is good");
	cairn_buffer_free(&block);
}

int main(void)
{
	test_contents();
	test_adding();
	test_empty();
	test_damage();
	return tap_done();
}
