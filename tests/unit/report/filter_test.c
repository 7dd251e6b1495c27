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

int main(void)
{
	test_each();
	test_nothing();
	test_totals();
	test_modules();
	return tap_done();
}
