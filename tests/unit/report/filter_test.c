/* filter_test.c - each filter by itself and in company.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/filter.h"

#include "fixture.h"

static const char stacks[] = "main;serve;parse;alloc 1\nmain;serve;cache;alloc 2\nmain;idle 4\nstart;main;serve;serve;alloc 8\n";

static void is_filtered(struct cairn_filter_options filter, const char *wanted, const char *what)
{
	struct fixture fixture;
	fixture_make(&fixture, stacks, &(struct cairn_view_options){.filter = filter});
	is_text(fixture.good ? fixture_stacks(&fixture) : fixture.error.text, wanted, "%s", what);
	fixture_free(&fixture);
}

static void test_each(void)
{
	is_filtered((struct cairn_filter_options){0},
		    "main;serve;parse;alloc 1|main;serve;cache;alloc 2|main;idle 4|start;main;serve;serve;alloc 8", "no filter");
	is_filtered((struct cairn_filter_options){.focus = "parse|idle"}, "main;serve;parse;alloc 1|main;idle 4", "focus keeps stacks");
	is_filtered((struct cairn_filter_options){.ignore = "serve"}, "main;idle 4", "ignore drops them");
	is_filtered((struct cairn_filter_options){.focus = "serve", .ignore = "cache|start"}, "main;serve;parse;alloc 1", "ignore wins");
	is_filtered((struct cairn_filter_options){.hide = "^serve$"},
		    "main;parse;alloc 1|main;cache;alloc 2|main;idle 4|start;main;alloc 8", "hide takes frames out");
	is_filtered((struct cairn_filter_options){.show = "cache|alloc"}, "alloc 1|cache;alloc 2|alloc 8",
		    "show keeps them; an empty stack goes");
	is_filtered((struct cairn_filter_options){.show_from = "serve"}, "serve;parse;alloc 1|serve;cache;alloc 2|serve;serve;alloc 8",
		    "show-from cuts above the outermost match");
	is_filtered((struct cairn_filter_options){.exclude = "alloc", .focus = "parse"}, "main;serve;parse 1", "exclude takes frames out");
	is_filtered((struct cairn_filter_options){.retain = "main|idle"}, "main 1|main 2|main;idle 4|main 8", "retain keeps them");
	is_filtered((struct cairn_filter_options){.exclude = "parse", .focus = "cache|parse"}, "main;serve;cache;alloc 2",
		    "focus sees what exclude left");
	is_filtered((struct cairn_filter_options){.hide = "parse", .focus = "parse"}, "main;serve;alloc 1", "focus comes before hide");
}

static void test_nothing(void)
{
	is_filtered((struct cairn_filter_options){.focus = "absent"},
		    "--focus 'absent' matches no function, file or module of the profile; 'cairn top' lists the functions",
		    "no match for focus");
	is_filtered((struct cairn_filter_options){.focus = "main", .ignore = "main"}, "the filters leave no stack; remove one of them",
		    "all ignored");
	is_filtered((struct cairn_filter_options){.hide = "."}, "the filters leave no stack; remove one of them", "all hidden");
	is_filtered((struct cairn_filter_options){.hide = "("},
		    "--hide: the regular expression '(' is wrong at character 2: missing closing parenthesis",
		    "an expression that does not compile");
}

/* Two stacks of a heap that end in malloc, and one in which the program calls it by way of another. */
static void is_filtered_heap(struct cairn_view_options options, const char *wanted, const char *what)
{
	static const char heap[] =
		"--- symbol\nbinary=/srv/shop\n0x0000000000001001 malloc\n0x0000000000003001 parse\n0x0000000000004001 main\n"
		"0x0000000000005001 my_malloc_pool\n---\n--- heap\nheap_v2/1\n  t*: 3: 700 [0: 0]\n@ 0x1002 0x3002 0x4002\n  t*: 1: 100 "
		"[0: 0]\n"
		"@ 0x1002 0x5002 0x4002\n  t*: 1: 200 [0: 0]\n@ 0x1002\n  t*: 1: 400 [0: 0]\n\nMAPPED_LIBRARIES:\n";
	struct fixture fixture;
	fixture_make(&fixture, heap, &options);
	is_text(fixture.good ? fixture_stacks(&fixture) : fixture.error.text, wanted, "%s", what);
	fixture_free(&fixture);
}

static void test_allocator(void)
{
	is_filtered_heap((struct cairn_view_options){0}, "main;parse 100|main;my_malloc_pool 200|malloc 400", "the allocator is cut off");
	is_filtered_heap((struct cairn_view_options){.filter.ignore = "malloc"}, "main;parse 100",
			 "a filter looks at the frames that are shown");
	is_filtered_heap((struct cairn_view_options){.filter.focus = "malloc"}, "main;my_malloc_pool 200|malloc 400",
			 "to keep stacks, too");
	is_filtered_heap((struct cairn_view_options){.filter.focus = "^malloc$", .filter.exclude = "absent"}, "malloc 400",
			 "of a stack that is the allocator's alone one frame is shown");
	is_filtered_heap((struct cairn_view_options){.filter.focus = "malloc", .all_frames = true},
			 "main;parse;malloc 100|main;my_malloc_pool;malloc 200|malloc 400", "with all frames, at all of them");
	is_filtered_heap((struct cairn_view_options){.filter.focus = "^operator new", .all_frames = true},
			 "--focus '^operator new' matches no function, file or module of the profile; 'cairn top' lists the functions",
			 "what is nowhere matches nothing");
}

static void test_cut(void)
{
	struct fixture fixture;
	fixture_make(&fixture,
		     "--- symbol\nbinary=/srv/shop\n0x0000000000001001 malloc\n0x0000000000003001 parse\n---\n--- heap\nheap_v2/1\n"
		     "  t*: 1: 100 [0: 0]\n@ 0x1002 0x3002\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n",
		     &(struct cairn_view_options){.filter.focus = "malloc"});
	is_text(fixture.good ? "" : fixture.error.text,
		"--focus 'malloc' matches only frames of the allocator, which are removed; --all-frames keeps them",
		"a match in frames that are cut off only is explained");
	fixture_free(&fixture);
}

static void test_totals(void)
{
	struct fixture fixture;
	fixture_make(&fixture, stacks, &(struct cairn_view_options){.filter.focus = "idle"});
	is_near(fixture.view.total, 15, 0, "percentages are of everything");
	is_near(fixture.view.shown, 4, 0, "what is left is known too");
	fixture_free(&fixture);
	fixture_make(&fixture, stacks, &(struct cairn_view_options){.filter.focus = "idle", .relative_percentages = true});
	is_near(fixture.view.total, 4, 0, "or of what is left");
	fixture_free(&fixture);
}

/* A module's path matches as a function or a file does. */
static void test_modules(void)
{
	static const char dump[] = "heap_v2/1\n@ 0x401010\n t*: 1: 1000 [0: 0]\n@ 0x701010\n t*: 1: 500 [0: 0]\n\nMAPPED_LIBRARIES:\n"
				   "400000-500000 r-xp 00000000 fd:01 1 /opt/app\n700000-800000 r-xp 00000000 fd:01 1 /usr/lib/libz.so\n";
	struct fixture fixture;
	static const char threads[] = "heap_v2/1\n@ 0x401010\n t*: 2: 30 [0: 0]\n t1: 1: 10 [0: 0]\n t2: 1: 20 [0: 0]\n";
	struct cairn_profile profile;
	struct cairn_view view;
	struct cairn_error error;
	cairn_profile_init(&profile);
	cairn_profile_read(&profile, cairn_bytes_of(dump), "x", NULL, &error);
	ok(cairn_view_make(&view, &profile, &(struct cairn_view_options){.filter.focus = "usr/lib"}, &error), "by module");
	is_near(view.shown, 500, 1e-9, "only its samples");
	cairn_view_free(&view);
	cairn_profile_free(&profile);
	ok(fixture_make(&fixture, threads, &(struct cairn_view_options){.filter.tag_focus = "thread_id=2"}), "by a thread's number");
	is_near(fixture.view.shown, 20, 1e-4, "only that thread");
	fixture_free(&fixture);
}

/* Cairn's sampler counts what was allocated by call path only: a filter by thread would keep none of it, or all. */
static void test_by_path(void)
{
	static const char dump[] = "heap_v2/1\n@ 0x10\n t*: 1: 100 [3: 300]\n t1: 1: 100 [0: 0]\n@ 0x20\n t*: 0: 0 [2: 5000]\n\n"
				   "MAPPED_LIBRARIES:\n\n# cairn section samples 1\n# cairn live 0 100 0 1 1 5000000 0\n";
	static const char jemalloc[] = "heap_v2/1\n@ 0x10\n t*: 2: 200 [9: 900]\n t1: 1: 100 [3: 300]\n t2: 1: 100 [6: 600]\n";
	struct fixture fixture;
	ok(fixture_make(&fixture, dump, &(struct cairn_view_options){.filter.tag_focus = "thread_id=1"}), "live memory of a thread");
	is_near(fixture.view.shown, 100, 1e-9, "is what it is");
	fixture_free(&fixture);
	ok(!fixture_make(&fixture, dump, &(struct cairn_view_options){.alloc = true, .filter.tag_focus = "thread_id=1"}) &&
		   strstr(fixture.error.text, "--tagfocus 'thread_id=1'") && strstr(fixture.error.text, "by call path only"),
	   "what a thread allocated is not known");
	fixture_free(&fixture);
	ok(!fixture_make(&fixture, dump, &(struct cairn_view_options){.alloc = true, .filter.tag_ignore = "thread_id=1"}) &&
		   strstr(fixture.error.text, "--tagignore 'thread_id=1'"),
	   "nor what the others did");
	fixture_free(&fixture);
	ok(fixture_make(&fixture, dump, &(struct cairn_view_options){.alloc = true, .filter.tag_focus = "bytes=1K:"}), "sizes are known");
	is_near(fixture.view.shown, 5000, 1e-9, "by call path");
	fixture_free(&fixture);
	ok(fixture_make(&fixture, jemalloc, &(struct cairn_view_options){.alloc = true, .filter.tag_focus = "thread_id=2"}),
	   "jemalloc knows what a thread allocated");
	is_near(fixture.view.shown, 600, 1e-9, "and how much");
	fixture_free(&fixture);
}

int main(void)
{
	test_each();
	test_nothing();
	test_allocator();
	test_cut();
	test_totals();
	test_modules();
	test_by_path();
	return tap_done();
}
