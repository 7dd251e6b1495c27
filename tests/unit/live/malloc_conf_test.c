/* malloc_conf_test.c - jemalloc's options as jemalloc reads them, and the mistakes people make.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/malloc_conf.h"
#include "tap.h"

static void test_values(void)
{
	struct cairn_arena arena = {0};
	struct cairn_malloc_conf conf = {.arena = &arena};
	cairn_malloc_conf_add(&conf, "prof:true,lg_prof_sample:12,prof_prefix:/tmp/a:b,background_thread:true");
	cairn_malloc_conf_add(&conf, "lg_prof_sample:14,prof_active:false");
	ok(!conf.problem, "nothing is wrong");
	ok(cairn_malloc_conf_true(&conf, "prof", false) && !cairn_malloc_conf_true(&conf, "prof_active", true), "true and false");
	ok(cairn_malloc_conf_true(&conf, "prof_thread_active_init", true), "what is not set is what it is unless set");
	is_int(cairn_malloc_conf_number(&conf, "lg_prof_sample", 19), 14, "the later one wins");
	is_int(cairn_malloc_conf_number(&conf, "prof_prefix", -7), -7, "what is no number is none");
	is_text(cairn_malloc_conf_get(&conf, "prof_prefix"), "/tmp/a:b", "a value may hold a colon");
	cairn_arena_free(&arena);
}

static void test_mistakes(void)
{
	static const struct {
		const char *text, *problem, *right;
		bool prof;
	} cases[] = {
		{"prof=true", "malformed", "prof:true", false},
		{"prof:true lg_prof_sample:12", "takes true or false", "prof:true,lg_prof_sample:12", false},
		{"prof:true prof_final:true lg_prof_sample:12", "takes true or false", "prof:true,prof_final:true,lg_prof_sample:12",
		 false},
		{"prof:ture", "not 'ture'", "prof:true", false},
		{"prof: true", "not ' true'", "prof:true", false},
		{"prof:yes,prof_active:off", "not 'yes'", "prof:true,prof_active:false", false},
		{"prof:true,prof_active:Flase", "not 'Flase'", "prof:true,prof_active:false", true},
		{"\"prof:true,lg_prof_sample:12\"", "quotation marks", "prof:true,lg_prof_sample:12", false},
		{"'prof:true'", "quotation marks", "prof:true", false},
		{"prof:true, lg_prof_sample:12", "malformed", "prof:true,lg_prof_sample:12", true},
		{"prof:true;prof_gdump:true", "malformed", "prof:true,prof_gdump:true", false},
		{"opt.prof:true", "no option 'opt.prof'", "prof:true", false},
		{"prof:1", "not '1'", "prof:true", false},
		{"prof:TRUE,prof_final:no", "not 'TRUE'", "prof:true,prof_final:false", false},
		{"prof_smaple:3,prof:true", "no option 'prof_smaple'", NULL, true},
		{"lg_prof_samples:12,prof:true", "no option", "lg_prof_sample:12,prof:true", true},
		{"background_threads:true,prof:true", "that Cairn knows of", "background_threads:true,prof:true", true},
		{"prof", "malformed", NULL, false},
		{"'prof:true,prof:true'", "quotation marks", NULL, false},
		{"\"prof:true,prof:true\"", "quotation marks", NULL, false},
		{"hpa_sec_nshards:2,prof:true", NULL, NULL, true},
		{"", NULL, NULL, false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cairn_arena arena = {0};
		struct cairn_malloc_conf conf = {.arena = &arena};
		cairn_malloc_conf_add(&conf, cases[i].text);
		if (cases[i].problem)
			like_text(conf.problem, cases[i].problem, "'%s' is a mistake", cases[i].text);
		else
			ok(!conf.problem, "'%s' is none", cases[i].text);
		if (cases[i].right)
			is_text(conf.right, cases[i].right, "put right");
		ok(cairn_malloc_conf_true(&conf, "prof", false) == cases[i].prof, "and prof is %s", cases[i].prof ? "on" : "off");
		cairn_arena_free(&arena);
	}
}

static void test_long(void)
{
	struct cairn_arena arena = {0};
	struct cairn_malloc_conf conf = {.arena = &arena};
	static char text[200000];
	for (size_t i = 0; i + 10 < sizeof text; i += 10)
		memcpy(text + i, "prof:true,", 10);
	cairn_malloc_conf_add(&conf, text);
	is_int(conf.count, CAIRN_MALLOC_CONF_PAIRS, "a very long text is read as far as there is room");
	cairn_arena_free(&arena);
}

int main(void)
{
	test_values();
	test_mistakes();
	test_long();
	return tap_done();
}
