/* closure_test.c - whose closure a line of Rust is in, and what closures are called.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/closure.h"

#include "base/file.h"
#include "tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char source[] =
	"use std::fmt; // fn comment() {\n"                                              /* 1 */
	"/* fn other() { /* nested { */ */\n"                                            /* 2 */
	"const A: &str = \"fn text() { \\\" {\"; const B: char = '{'; const C: &str = r#\"{ \"fn\" {\"#;\n" /* 3 */
	"async fn open_session(id: [u8; 4]) -> String {\n"                               /* 4 */
	"  let x: &'static str = A; if x.is_empty() { push(move || { id }); }\n"         /* 5 */
	"  fn inner() { 1 }\n"                                                           /* 6 */
	"  format!(\"{x}\")\n"                                                           /* 7 */
	"}\n"                                                                            /* 8 */
	"impl<T: Clone> Service<T> for Pool<T> where T: Send {\n"                        /* 9 */
	"  fn call(&self, f: fn(u8) -> u8) -> impl Fn() {\n"                             /* 10 */
	"    move || { self.x }\n"                                                       /* 11 */
	"  }\n"                                                                          /* 12 */
	"}\n"                                                                            /* 13 */
	"trait Shape { fn area(&self) -> f64; fn twice(&self) -> f64 { 2.0 } }\n"        /* 14 */
	"static X: fn() = || { };\n"                                                     /* 15 */
	"fn one() { f(|| 1) }\n";                                                        /* 16 */

static void test_scopes(void)
{
	static const char *const wanted[] = {"", "", "", "open_session", "open_session", "inner", "open_session", "open_session", "",
					     "Pool::call", "Pool::call", "Pool::call", "", "twice", "", "one"};
	struct cairn_arena arena = {0};
	for (uint32_t line = 1; line <= 16; line++) {
		const char *scope = cairn_closure_scope(&arena, cairn_bytes_of(source), line);
		is_text(scope ? scope : "", wanted[line - 1], "line %u", line);
	}
	ok(!cairn_closure_scope(&arena, cairn_bytes_of(source), 99), "past the end");
	is_text(cairn_closure_scope(&arena, cairn_bytes_of("fn f() { \"open"), 1), "f", "a text without an end");
	is_text(cairn_closure_scope(&arena, cairn_bytes_of("}}}}fn f() {\n\n"), 2), "f", "too many ends");
	char deep[2000] = "";
	for (size_t i = 0; i < 400; i++)
		strcat(deep, "{}{{");
	cairn_closure_scope(&arena, cairn_bytes_of(deep), 1);
	ok(true, "deeper than anybody writes");
	cairn_arena_free(&arena);
}

static struct cairn_profile profile;

static const char *named(const char *name, const char *path, uint32_t line, uint32_t start_line, const char *binary)
{
	cairn_profile_free(&profile);
	cairn_profile_init(&profile);
	uint32_t module = cairn_profile_add_module(&profile, cairn_profile_text(&profile, binary), 0);
	uint32_t mapping = cairn_profile_add_mapping(&profile, &(struct cairn_mapping){.start = 0, .limit = 4096, .module = module});
	uint32_t location = cairn_profile_add_location(&profile, 16, mapping, true), id = cairn_profile_text(&profile, name);
	struct cairn_function function = {id, id, cairn_profile_text(&profile, path), start_line};
	struct cairn_frame frame = {cairn_profile_add_function(&profile, &function), line, 0};
	cairn_profile_set_frames(&profile, location, &frame, 1);
	cairn_closures_name(&profile);
	return cairn_profile_string(&profile, profile.functions[profile.frames[profile.locations[location].first_frame].function].name);
}

int main(void)
{
	char folder[] = "/tmp/cairn-closure.XXXXXX", path[64], binary[64];
	if (!mkdtemp(folder))
		return 1;
	test_scopes();
	snprintf(path, sizeof path, "%s/main.rs", folder);
	snprintf(binary, sizeof binary, "%s/service", folder);
	cairn_file_write(path, cairn_bytes_of(source), NULL);
	cairn_file_write(binary, cairn_bytes_of("x"), NULL);
	struct timespec long_ago[2] = {{1000, 0}, {1000, 0}};
	utimensat(AT_FDCWD, path, long_ago, 0);
	is_text(named("{async_fn#0}", path, 7, 0, binary), "open_session::{async_fn#0}", "the function around the line");
	is_text(named("{closure#0}<alloc::string::String>", path, 11, 0, binary), "Pool::call::{closure#0}", "and its type");
	ok(strstr(named("{closure#0}", path, 15, 0, binary), "/main.rs"), "no function there: the file");
	is_text(named("open", path, 7, 0, binary), "open", "a function with a name keeps it");
	is_text(named("pool::{closure#0}", path, 7, 0, binary), "pool::{closure#0}", "so does a closure with a scope");
	is_text(named("{closure#0}", "/root/.cargo/registry/src/index-1949/axum-0.7.9/src/handler/mod.rs", 7, 0, binary),
		"{closure#0} in axum-0.7.9/src/handler/mod.rs", "a crate whose source is not there");
	is_text(named("operator()", "/srv/server.cc", 7, 5, binary), "{lambda} in server.cc:5", "a lambda, where it begins");
	is_text(named("operator()", "/srv/server.cc", 7, 0, binary), "{lambda} in server.cc", "or in which file");
	is_text(named("{closure#0}", "/nonexistent/src/main.rs", 7, 0, binary), "{closure#0} in src/main.rs", "no source file");
	utimensat(AT_FDCWD, binary, long_ago, 0);
	utimensat(AT_FDCWD, path, NULL, 0);
	ok(strstr(named("{async_fn#0}", path, 7, 0, binary), "open_session") == NULL, "a source that was changed since says nothing");
	cairn_profile_free(&profile);
	unlink(path);
	unlink(binary);
	rmdir(folder);
	return tap_done();
}
