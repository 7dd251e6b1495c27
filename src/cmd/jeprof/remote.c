/* remote.c - profiles from servers with the pages that jeprof and gperftools know.
 *
 *	[http://]host[:port][/prefix][/pprof/heap]
 *
 * The page may be left out, and is then /pprof/profile. Beside it /pprof/symbol names addresses and /pprof/cmdline the program;
 * they are asked for where no program was named. What is fetched is kept in JEPROF_TMPDIR, or ~/jeprof, under jeprof's own names:
 * program.time.host, and the page with dots for slashes unless it is a CPU profile.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/jeprof/jeprof.h"

#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "base/url.h"
#include "cmd/command.h"
#include "http/client.h"
#include "live/target.h"
#include "profile/read.h"
#include "symbol/demangle.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { machines_most = 64 }; /* each is asked by a thread of its own */

/* The pages that a name may end in. A * stands for parameters. */
static const char *const pages[] = {"/pprof/heap", "/pprof/profile", "/pprof/pmuprofile*", "/pprof/growth", "/pprof/contention",
				    "/pprof/wall*", "/pprof/filteredprofile*", "/pprof/censusprofile*"};

/* A name taken apart. All in the arena it was parsed with. */
struct remote {
	const char *host; /* without the port */
	const char *base; /* http://host:port/prefix */
	const char *page; /* /pprof/heap */
	bool timed;       /* the server measures for --seconds, and then answers */
};

/* The length of the page at the end of NAME; 0 when there is none. */
static size_t page_length(const char *name)
{
	size_t length = strlen(name);
	for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
		size_t page = strcspn(pages[i], "*");
		for (const char *at = name; (at = memmem(at, length - (size_t)(at - name), pages[i], page)); at++)
			if (!at[page] || (pages[i][page] && at[page] == '?'))
				return length - (size_t)(at - name);
	}
	return 0;
}

static bool has_scheme(const char *name)
{
	return strncmp(name, "http://", 7) == 0 || strncmp(name, "https://", 8) == 0;
}

bool cairn_jeprof_is_remote(const char *name)
{
	struct stat status;
	if (strcmp(name, "-") == 0 || stat(name, &status) == 0)
		return false;
	if (has_scheme(name))
		return true;
	return cairn_target_has_port(name) || (*name != '/' && *name != '.' && page_length(name));
}

/* NAME has a scheme: cairn_jeprof_fetch has seen to that. */
static struct remote parse_remote(struct cairn_arena *arena, const char *name)
{
	struct remote remote = {0};
	const char *rest = cairn_target_host(name);
	size_t length = strlen(rest), page = page_length(rest);
	size_t base = length - page;
	if (!page && base && rest[base - 1] == '/')
		base--;
	remote.host = cairn_arena_text(arena, (struct cairn_bytes){rest, strcspn(rest, ":/")});
	remote.base = cairn_arena_text(arena, (struct cairn_bytes){name, (size_t)(rest - name) + base});
	remote.page = page ? rest + length - page : "/pprof/profile";
	remote.timed = strncmp(remote.page, "/pprof/profile", 14) == 0 || strncmp(remote.page, "/pprof/pmuprofile", 17) == 0;
	return remote;
}

/* The whole text of a small page, terminated and in ARENA; NULL with a sentence. */
static const char *fetch_page(struct cairn_arena *arena, const char *url, struct cairn_bytes body, struct cairn_error *error)
{
	struct cairn_http_answer answer;
	struct cairn_http_call call = {.url = url, .body = body, .limit_bytes = 256 << 20};
	const char *text = cairn_http_fetch(&call, &answer, error) ? cairn_arena_text(arena, cairn_buffer_bytes(&answer.body)) : NULL;
	cairn_http_answer_free(&answer);
	return text;
}

/* The name of the program that a server runs; "unknown" where it does not say. */
static const char *ask_program(struct cairn_arena *arena, const char *name)
{
	struct cairn_error error;
	struct remote remote = parse_remote(arena, name);
	const char *text = fetch_page(arena, cairn_arena_format(arena, "%s/pprof/cmdline", remote.base), (struct cairn_bytes){0}, &error);
	if (!text) {
		cairn_say_note(error.text);
		return "unknown";
	}
	/* The rest of the command line follows after a NUL or a line end. */
	text = cairn_arena_text(arena, (struct cairn_bytes){text, strcspn(text, "\r\n")});
	return *text && *text != '<' ? text : "unknown";
}

/* One download, and the state of all of them on the terminal. */
struct download {
	const struct cairn_jeprof_options *options;
	struct remote remote;
	const char *url;
	char *path;
	bool alone;  /* only one at a time shows how far it is */
	int64_t started;
	bool good;
	struct cairn_error error;
	pthread_t thread;
	bool has_thread;
};

static void show_progress(void *context, uint64_t received)
{
	const struct download *download = context;
	char size[24];
	fprintf(stderr, "\r\033[K%lld s, %s", (long long)(time(NULL) - download->started), cairn_text_human((double)received, size));
}

/* A page for people where a profile should be. */
static bool is_page(struct cairn_bytes body)
{
	body = cairn_text_trim((struct cairn_bytes){body.data, body.length < 512 ? body.length : 512});
	return body.length > 0 && body.data[0] == '<';
}

static bool download_one(struct download *download, struct cairn_error *error)
{
	struct cairn_http_answer answer;
	uint64_t seconds = download->remote.timed ? download->options->seconds : 0;
	unsigned wait_ms = seconds > UINT32_MAX / 4000 ? UINT32_MAX / 4 : (unsigned)(seconds * 1010) + cairn_http_silence_ms();
	struct cairn_http_call call = {.url = download->url, .silence_ms = wait_ms};
	if (download->alone && isatty(STDERR_FILENO)) {
		call.progress = show_progress;
		call.context = download;
	}
	bool good = cairn_http_fetch(&call, &answer, error);
	if (call.progress)
		fprintf(stderr, "\r\033[K");
	if (good && answer.body.length == 0)
		good = cairn_fail(error, "%s: the answer is empty; is profiling enabled there?", download->url);
	if (good && is_page(cairn_buffer_bytes(&answer.body)))
		good = cairn_fail(error,
				  "%s: the server answered with a web page, not a profile; add the profile's path, such as /pprof/heap",
				  download->url);
	good = good && cairn_file_write(download->path, cairn_buffer_bytes(&answer.body), error);
	cairn_http_answer_free(&answer);
	return good;
}

static void *download_thread(void *context)
{
	struct download *download = context;
	download->good = download_one(download, &download->error);
	return NULL;
}

static const char *profile_folder(struct cairn_arena *arena, struct cairn_error *error)
{
	const char *folder = getenv("JEPROF_TMPDIR"), *home = getenv("HOME");
	if (!folder || !*folder)
		folder = cairn_arena_format(arena, "%s/jeprof", home && *home ? home : ".");
	if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
		cairn_fail_errno(error, "%s, the folder for fetched profiles (JEPROF_TMPDIR is another)", folder);
		return NULL;
	}
	return folder;
}

static void prepare(struct download *download, struct cairn_arena *arena, const char *folder, const char *program, const char *name)
{
	const struct cairn_jeprof_options *options = download->options;
	struct remote *remote = &download->remote;
	*remote = parse_remote(arena, name);
	download->started = time(NULL);
	download->url = remote->timed ? cairn_arena_format(arena, "%s%s%cseconds=%llu", remote->base, remote->page,
							   strchr(remote->page, '?') ? '&' : '?', (unsigned long long)options->seconds)
				      : cairn_arena_format(arena, "%s%s", remote->base, remote->page);
	char *suffix = cairn_arena_text(arena, cairn_bytes_of(remote->timed ? "" : remote->page));
	for (char *at = suffix; *at; at++)
		*at = *at == '/' ? '.' : *at;
	download->path = cairn_arena_format(arena, "%s/%s.%lld.%s%s", folder, cairn_base_name(program), (long long)download->started,
					    remote->host, suffix);
	if (remote->timed)
		cairn_print(stderr, "Gathering CPU profile from %s for %llu seconds to\n  %s\n%s", download->url,
			    (unsigned long long)options->seconds, download->path, download->alone ? "Be patient...\n" : "");
	else
		cairn_print(stderr, "Fetching %s profile from %s to\n  %s\n", remote->page, download->url, download->path);
}

/* How many machines NAME stands for: "name@3/page" for 0.name/page, 1.name/page and 2.name/page; 0 for NAME itself. AT is where the
 * number begins, and REST what follows it. */
static uint64_t count_machines(const char *name, const char **at, const char **rest)
{
	struct stat status;
	uint64_t machines = 0;
	*at = strrchr(name, '@');
	struct cairn_bytes text = cairn_bytes_of(*at ? *at + 1 : "");
	if (!cairn_text_decimal(&text, &machines) || (text.length && *text.data != '/') || stat(name, &status) == 0)
		return 0;
	*rest = text.data;
	return machines;
}

static bool expand(struct cairn_jeprof_profiles *list, struct cairn_arena *arena, struct cairn_error *error)
{
	const char *at, *rest;
	size_t count = 0;
	for (size_t i = 0; i < list->count; i++) {
		uint64_t machines = count_machines(list->items[i], &at, &rest);
		if (machines > machines_most)
			return cairn_fail(error, "%s: more than %d hosts", list->items[i], machines_most);
		count += machines ? machines : 1;
	}
	struct cairn_jeprof_profiles all = {cairn_arena_zero(arena, count + 1, sizeof *all.items), 0};
	for (size_t i = 0; i < list->count; i++) {
		char *name = list->items[i];
		uint64_t machines = count_machines(name, &at, &rest);
		if (machines == 0)
			all.items[all.count++] = name;
		for (uint64_t machine = 0; machine < machines; machine++)
			all.items[all.count++] =
				cairn_arena_format(arena, "%llu.%.*s%s", (unsigned long long)machine, (int)(at - name), name, rest);
	}
	*list = all;
	return true;
}

bool cairn_jeprof_fetch(struct cairn_jeprof_options *options, struct cairn_arena *arena, struct cairn_error *error)
{
	struct cairn_jeprof_profiles *list = &options->profiles;
	if (!expand(list, arena, error))
		return false;
	size_t count = 0;
	for (size_t i = 0; i < list->count; i++) {
		if (!cairn_jeprof_is_remote(list->items[i]))
			continue;
		if (!has_scheme(list->items[i]))
			list->items[i] = cairn_arena_format(arena, "http://%s", list->items[i]);
		if (!cairn_url_set_aside(list->items[i], error))
			return false;
		count++;
	}
	if (count > machines_most)
		return cairn_fail(error, "%zu profiles to fetch at once; the maximum is %d", count, machines_most);
	const char *folder = count ? profile_folder(arena, error) : "";
	if (!folder)
		return false;
	if (count && options->service) {
		options->service = list->items[0];
		options->program = NULL;
	}
	const char *program = options->program		  ? options->program
			      : count && options->service ? ask_program(arena, options->service)
							  : "unknown";
	struct download *downloads = cairn_arena_zero(arena, count + 1, sizeof *downloads);
	size_t at = 0;
	if (count > 1)
		cairn_print(stderr, "Fetching %zu profiles, Be patient...\n", count);
	for (size_t i = 0; i < list->count; i++) {
		if (!cairn_jeprof_is_remote(list->items[i]))
			continue;
		struct download *download = &downloads[at++];
		*download = (struct download){.options = options, .alone = count == 1};
		prepare(download, arena, folder, program, list->items[i]);
		list->items[i] = download->path;
		download->has_thread = count > 1 && pthread_create(&download->thread, NULL, download_thread, download) == 0;
		if (!download->has_thread)
			download_thread(download);
	}
	bool good = true;
	for (size_t i = 0; i < count; i++) {
		if (downloads[i].has_thread)
			pthread_join(downloads[i].thread, NULL);
		if (downloads[i].good)
			cairn_print(stderr, "Wrote profile to %s\n", downloads[i].path);
		else if (good)
			*error = downloads[i].error;
		good &= downloads[i].good;
	}
	return good;
}

/* The addresses of PROFILE as jeprof asks for them: callers less one, leaves as they are. */
static void write_addresses(const struct cairn_profile *profile, struct cairn_buffer *out)
{
	for (size_t i = 0; i < profile->location_count; i++)
		cairn_buffer_format(out, "%s0x%016llx", i ? "+" : "", (unsigned long long)profile->locations[i].address);
}

/* TEXT with every mangled name in it demangled, as c++filt does. */
static void demangle_all(struct cairn_bytes text, struct cairn_arena *arena, struct cairn_buffer *out)
{
	for (size_t at = 0; at < text.length;) {
		size_t end = at;
		while (end < text.length && (isalnum((unsigned char)text.data[end]) || strchr("_.$", text.data[end])))
			end++;
		struct cairn_bytes word = {text.data + at, end > at ? end - at : 1};
		bool mangled = cairn_bytes_start_with(word, "_Z") || cairn_bytes_start_with(word, "_R");
		const char *name = mangled ? cairn_demangle(arena, cairn_arena_text(arena, word)) : NULL;
		if (name)
			cairn_buffer_text(out, name);
		else
			cairn_buffer_append(out, word.data, word.length);
		at += word.length;
	}
}

/* Asks the page at URL whether it names addresses at all. */
static bool check_symbols(struct cairn_arena *arena, const char *url, struct cairn_error *error)
{
	const char *text = fetch_page(arena, url, (struct cairn_bytes){0}, error);
	if (!text)
		return false;
	struct cairn_bytes rest = cairn_bytes_of(text);
	uint64_t symbols = 0;
	if (!cairn_text_take(&rest, "num_symbols:"))
		return cairn_fail(error, "%s: the answer does not begin with num_symbols:", url);
	rest = cairn_text_trim(rest);
	return (cairn_text_decimal(&rest, &symbols) && symbols > 0) || cairn_fail(error, "%s: the program there has no symbols", url);
}

bool cairn_jeprof_ask_names(const struct cairn_jeprof_options *options, struct cairn_profile *profile, struct cairn_error *error)
{
	struct cairn_arena arena = {0};
	struct cairn_buffer body = cairn_buffer(SIZE_MAX), names = cairn_buffer(SIZE_MAX);
	const char *url = cairn_arena_format(&arena, "%s/pprof/symbol", parse_remote(&arena, options->service).base), *text = NULL;
	if (check_symbols(&arena, url, error)) {
		write_addresses(profile, &body);
		text = fetch_page(&arena, url, cairn_buffer_bytes(&body), error);
	}
	bool good = text != NULL;
	if (good) {
		demangle_all(cairn_bytes_of(text), &arena, &names);
		good = cairn_symbolized_attach(profile, cairn_buffer_bytes(&names)) > 0 ||
		       cairn_fail(error, "%s: the server has no symbol for any of the profile's %zu addresses", url,
				  profile->location_count);
	}
	cairn_buffer_free(&body);
	cairn_buffer_free(&names);
	cairn_arena_free(&arena);
	return good;
}
