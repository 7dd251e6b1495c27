/* addr2line.c - `cairn addr2line`, or the program under the name addr2line: GNU addr2line's command line and output.
 *
 * Addresses that are available together are answered together: all arguments, or as much of standard input as can be read without
 * waiting. So a file of addresses is one batch, and a person or program that writes one line and waits gets its answer.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cmd/addr2line/asker.h"
#include "cmd/command.h"
#include "symbol/budget.h"
#include "symbol/demangle.h"
#include "symbol/find.h"
#include "symbol/lookup.h"

#include <elf.h>
#include <errno.h>
#include <getopt.h>
#include <libiberty/libiberty.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct options {
	const char *executable;
	const char *section; /* addresses are offsets in it */
	uint64_t memory;     /* that naming may take; 0 for the default */
	bool addresses, basenames, demangle, functions, inlines, pretty;
	unsigned languages; /* whose names are demangled */
};

/* Demangled names, by the address of the mangled one. */
struct demangler {
	struct cairn_map index;
	const char **names; /* mangled, until demangled */
	size_t count, capacity;
	size_t done; /* so many are demangled */
	unsigned languages;
	struct cairn_arena *arenas; /* one for each thread */
};

struct session {
	struct options options;
	struct cairn_find_options find;
	struct cairn_finder finder;
	struct cairn_debug debug;
	struct cairn_symbols *symbols;
	struct cairn_asker asker;
	struct demangler demangler;
	bool said; /* that there was no room for debug information */
	int code; /* what the program ends with */
};

static const char usage[] =
	"cairn addr2line - find the function and source line of addresses; a drop-in for GNU addr2line\n\n"
	"usage: cairn addr2line [options] [ADDRESS|SYMBOL[+OFFSET]...]\n\n"
	"Without an argument, reads addresses or symbols from standard input, one per line.\n\n"
	"  -e, --exe FILE        the program, library or object file (default: a.out)\n"
	"  -f, --functions       also print the function\n"
	"  -i, --inlines         also print inlined functions, innermost first\n"
	"  -C, --demangle[=STYLE] demangle C++ and Rust names; STYLE is auto, gnu-v3 (C++ only), rust or none\n"
	"  -a, --addresses       print the address before each answer\n"
	"  -p, --pretty-print    print each answer on one line\n"
	"  -s, --basenames       print file names without their folders\n"
	"  -j, --section NAME    read addresses as offsets in this section\n"
	"  --memory SIZE         memory limit for symbolizing (default: a quarter of what is left)\n"
	"  -b, --target, -r, -R  accepted and ignored\n"
	"  @FILE                 read options from a file\n"
	"  -h, --help            print this help\n"
	"  -v, --version         print the version\n";

/* Handles the letters that print a text, and unknown ones; returns the exit code. */
static int tell(int letter)
{
	bool version = letter == 'v' || letter == 'V', help = letter == 'h' || letter == 'H';
	if (version)
		puts("addr2line (cairn " CAIRN_VERSION ")");
	else
		fputs(usage, help ? stdout : stderr);
	return version || help ? CAIRN_EXIT_DONE : CAIRN_EXIT_FAILED;
}

/* Sets the style called NAME; false if there is none of that name. The names of other languages stay as they are. */
static bool choose_style(struct options *options, const char *name)
{
	static const struct {
		const char *name;
		unsigned languages;
	} styles[] = {
		{"auto", CAIRN_DEMANGLE_ALL}, {"gnu-v3", CAIRN_DEMANGLE_CPLUS}, {"rust", CAIRN_DEMANGLE_RUST},
		{"none", 0}, {"java", 0}, {"gnat", 0}, {"dlang", 0},
	};
	for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
		if (strcmp(name, styles[i].name) == 0) {
			options->languages = styles[i].languages;
			return true;
		}
	return false;
}

static int say_style(const char *name)
{
	struct cairn_error error;
	cairn_fail(&error, "--demangle takes auto, gnu-v3, rust or none, not '%.40s'", name);
	return cairn_say_error(error.text);
}

/* Parses into OPTIONS. Returns the exit code if there is nothing more to do, else -1. */
static int parse(struct options *options, int argc, char **argv)
{
	static const struct option long_options[] = {
		{"addresses", no_argument, NULL, 'a'},
		{"basenames", no_argument, NULL, 's'},
		{"demangle", optional_argument, NULL, 'C'},
		{"exe", required_argument, NULL, 'e'},
		{"functions", no_argument, NULL, 'f'},
		{"inlines", no_argument, NULL, 'i'},
		{"memory", required_argument, NULL, 'm'},
		{"pretty-print", no_argument, NULL, 'p'},
		{"recurse-limit", no_argument, NULL, 'R'},
		{"no-recurse-limit", no_argument, NULL, 'r'},
		{"section", required_argument, NULL, 'j'},
		{"target", required_argument, NULL, 'b'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},
		{0},
	};
	*options = (struct options){.executable = "a.out", .languages = CAIRN_DEMANGLE_ALL};
	bool *const flags[128] = {
		['a'] = &options->addresses, ['C'] = &options->demangle, ['f'] = &options->functions,
		['i'] = &options->inlines,   ['p'] = &options->pretty,	 ['s'] = &options->basenames,
	};
	optind = 0;
	for (int letter; (letter = getopt_long(argc, argv, "ab:Ce:rRsfHhij:pVv", long_options, NULL)) != -1;) {
		if (letter == 'C' && optarg && !choose_style(options, optarg))
			return say_style(optarg);
		if (flags[letter])
			*flags[letter] = true;
		else if (letter == 'e')
			options->executable = optarg;
		else if (letter == 'j')
			options->section = optarg;
		else if (letter == 'm' && (!cairn_text_size(optarg, &options->memory) || options->memory == 0))
			return cairn_say_error("--memory takes a size such as 64M");
		else if (!strchr("bmrR", letter))
			return tell(letter);
	}
	return -1;
}

enum { chunk = 64 }; /* names that a thread demangles at a time */
/* With this many mangled names or results, another thread is worth starting: C names take no time. */
enum { names_for_thread = 256, results_for_thread = 4096 };

static void demangle_some(void *context, size_t item, unsigned worker)
{
	struct demangler *demangler = context;
	size_t first = demangler->done + item * chunk;
	for (size_t i = first; i < first + chunk && i < demangler->count; i++) {
		const char *full = cairn_demangle_from(&demangler->arenas[worker], demangler->names[i], demangler->languages);
		if (full)
			demangler->names[i] = full;
	}
}

/* Frames are in the order in which units were walked, results in that of the questions: memory that is needed soon is prefetched. */
static void fetch_ahead(const struct cairn_symbol *results, size_t count, size_t i)
{
	enum { ahead = 8 };
	if (count - i > ahead)
		__builtin_prefetch(results[i + ahead].frames);
}

/* Demangles every name of RESULTS that is new. */
static void demangle_all(struct demangler *demangler, const struct cairn_symbol *results, size_t count)
{
	size_t mangled = 0;
	for (size_t i = 0; i < count; i++) {
		fetch_ahead(results, count, i);
		for (uint32_t k = 0; k < results[i].count; k++) {
			const struct cairn_symbol_frame *frame = &results[i].frames[k];
			if (!frame->function || !frame->mangled)
				continue;
			uint32_t *known = cairn_map_at(&demangler->index, (uint64_t)(uintptr_t)frame->function);
			if (*known != CAIRN_NONE)
				continue;
			*known = (uint32_t)demangler->count;
			cairn_array_room(demangler->names, demangler->count, demangler->capacity);
			demangler->names[demangler->count++] = frame->function;
			mangled += frame->function[0] == '_' && (frame->function[1] == 'Z' || frame->function[1] == 'R');
		}
	}
	cairn_pool_run_few((demangler->count - demangler->done + chunk - 1) / chunk, 1 + mangled / names_for_thread, demangle_some,
		demangler);
	demangler->done = demangler->count;
}

/* Mangled names are far apart in the debug information and not needed again once they are demangled. */
static const char *function_name(const struct session *session, const struct cairn_symbol_frame *frame)
{
	const char *name = frame->function;
	if (name && frame->mangled && session->options.demangle)
		name = session->demangler.names[cairn_map_get(&session->demangler.index, (uint64_t)(uintptr_t)name)];
	return name && name[0] ? name : "??";
}

static void print_frame(const struct session *session, const struct cairn_symbol_frame *frame, struct cairn_buffer *out)
{
	const char *file = frame->file ? frame->file : "??";
	if (session->options.functions) {
		cairn_buffer_text(out, function_name(session, frame));
		cairn_buffer_text(out, session->options.pretty ? " at " : "\n");
	}
	cairn_buffer_text(out, session->options.basenames ? cairn_base_name(file) : file);
	cairn_buffer_byte(out, ':');
	if (frame->line)
		cairn_buffer_number(out, frame->line);
	else
		cairn_buffer_byte(out, '?');
	cairn_buffer_byte(out, '\n');
}

static void print_result(const struct session *session, uint64_t address, const struct cairn_symbol *result, struct cairn_buffer *out)
{
	const struct options *options = &session->options;
	if (options->addresses) {
		bool narrow = session->debug.files.binary->layout.narrow;
		cairn_buffer_format(out, "0x%0*llx%s", narrow ? 8 : 16, (unsigned long long)(narrow ? (uint32_t)address : address),
				    options->pretty ? ": " : "\n");
	}
	if (result->count == 0) {
		if (options->functions)
			cairn_buffer_text(out, options->pretty ? "?? " : "??\n");
		cairn_buffer_text(out, "??:0\n");
	}
	for (uint32_t i = 0; i < (options->inlines || result->count == 0 ? result->count : 1); i++) {
		if (i > 0 && options->pretty)
			cairn_buffer_text(out, " (inlined by) ");
		print_frame(session, &result->frames[i], out);
	}
}

/* The answers to some addresses. Threads format them in parallel, a part each, and write in turn. */
enum { part_results = 256 };
struct answers {
	const struct session *session;
	const struct cairn_asked *questions;
	const struct cairn_symbol *results;
	size_t count;
	struct cairn_buffer *texts; /* one for each thread */
	pthread_mutex_t lock;	    /* over everything below */
	pthread_cond_t turned;
	size_t turn; /* the part to be written next */
	int cause;   /* errno, when it could not be */
	struct cairn_error error;
};

static void write_part(struct answers *answers, size_t part, struct cairn_bytes text)
{
	pthread_mutex_lock(&answers->lock);
	while (answers->turn != part)
		pthread_cond_wait(&answers->turned, &answers->lock);
	struct cairn_buffer shown = cairn_buffer(SIZE_MAX);
	if (isatty(STDOUT_FILENO)) {
		cairn_utf8_show_lines(&shown, text);
		text = cairn_buffer_bytes(&shown);
	}
	if (!answers->cause && !cairn_file_write(NULL, text, &answers->error))
		answers->cause = errno;
	cairn_buffer_free(&shown);
	answers->turn++;
	pthread_cond_broadcast(&answers->turned);
	pthread_mutex_unlock(&answers->lock);
}

static void print_part(void *context, size_t part, unsigned worker)
{
	struct answers *answers = context;
	struct cairn_buffer *out = &answers->texts[worker];
	out->length = 0;
	for (size_t i = part * part_results; i < answers->count && i < (part + 1) * part_results; i++) {
		fetch_ahead(answers->results, answers->count, i);
		print_result(answers->session, answers->questions[i].shown, &answers->results[i], out);
	}
	write_part(answers, part, cairn_buffer_bytes(out));
}

/* 0, or errno of what failed. */
static int print_answers(struct answers *answers)
{
	unsigned width = cairn_pool_width();
	answers->texts = cairn_array_new(width, sizeof *answers->texts);
	for (unsigned i = 0; i < width; i++)
		answers->texts[i] = cairn_buffer(SIZE_MAX);
	pthread_mutex_init(&answers->lock, NULL);
	pthread_cond_init(&answers->turned, NULL);
	cairn_pool_run_few((answers->count + part_results - 1) / part_results, 1 + answers->count / results_for_thread, print_part,
		answers);
	pthread_cond_destroy(&answers->turned);
	pthread_mutex_destroy(&answers->lock);
	for (unsigned i = 0; i < width; i++)
		cairn_buffer_free(&answers->texts[i]);
	free(answers->texts);
	return answers->cause;
}

/* Looks up the addresses of COUNT questions. */
static void look_up(struct session *session, const struct cairn_asked *questions, size_t count, struct cairn_symbol *results)
{
	uint64_t *addresses = cairn_array_new(count, sizeof *addresses);
	for (size_t i = 0; i < count; i++)
		addresses[i] = questions[i].address;
	cairn_symbols_lookup(session->symbols, addresses, count, results);
	for (size_t i = 0; i < count; i++)
		if (addresses[i] == CAIRN_NOWHERE)
			results[i] = (struct cairn_symbol){0};
	free(addresses);
}

/* Answers COUNT questions. False if nobody reads the answers any more. */
static bool answer(struct session *session, const struct cairn_asked *questions, size_t count)
{
	struct cairn_symbol *results = cairn_array_zero(count, sizeof *results);
	struct answers answers = {.session = session, .questions = questions, .results = results, .count = count};
	look_up(session, questions, count, results);
	if (cairn_symbols_lacked_room(session->symbols) && !session->said) {
		size_t warning_count;
		cairn_say_note(cairn_symbols_warnings(session->symbols, &warning_count)[0]);
		session->said = true;
	}
	if (session->options.demangle && session->options.functions)
		demangle_all(&session->demangler, results, count);
	int cause = print_answers(&answers);
	if (cause && cause != EPIPE)
		session->code = cairn_say_error(answers.error.text);
	free(results);
	return cause == 0;
}

/* Whether more input arrives without waiting. A writer that sends dozens of lines is about to send more; one that sends a single line
 * waits for its answer. */
static bool more_is_coming(const struct cairn_buffer *input)
{
	enum { many_bytes = 512, moment_ms = 2 };
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	return poll(&in, 1, input->length >= many_bytes ? moment_ms : 0) > 0;
}

/* Whether to retry a failed read. If standard input is non-blocking, waits for it. */
static bool is_worth_another_try(void)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	return errno == EINTR || (errno == EAGAIN && (poll(&in, 1, -1) >= 0 || errno == EINTR));
}

/* Answers the complete lines of INPUT and keeps the rest; at the end of the input the rest is a line too. */
static bool answer_lines(struct session *session, struct cairn_buffer *input, bool at_end)
{
	struct cairn_bytes rest = cairn_buffer_bytes(input), line;
	struct cairn_asked *questions = NULL;
	size_t count = 0, capacity = 0, used = 0;
	bool complete;
	while (cairn_text_line(&rest, &line, &complete) && (complete || at_end)) {
		cairn_array_room(questions, count, capacity);
		questions[count++] = cairn_asker_read(&session->asker, line);
		used = input->length - rest.length;
	}
	memmove(input->data, input->data + used, input->length - used);
	input->length -= used;
	bool good = count == 0 || answer(session, questions, count);
	free(questions);
	return good;
}

static void answer_input(struct session *session)
{
	enum { step = 1 << 16, batch_bytes = 64 << 20 };
	struct cairn_buffer input = cairn_buffer(SIZE_MAX);
	bool at_end = false, good = true;
	while (!at_end && good) {
		do {
			ssize_t got = read(STDIN_FILENO, cairn_buffer_room(&input, step), step);
			if (got < 0 && is_worth_another_try())
				continue;
			at_end = got <= 0;
			input.length += got > 0 ? (size_t)got : 0;
		} while (!at_end && input.length < batch_bytes && more_is_coming(&input));
		if (input.length)
			good = answer_lines(session, &input, at_end);
	}
	cairn_buffer_free(&input);
}

static void answer_arguments(struct session *session, int count, char **arguments)
{
	struct cairn_asked *questions = cairn_array_zero((size_t)count, sizeof *questions);
	for (int i = 0; i < count; i++)
		questions[i] = cairn_asker_read(&session->asker, cairn_bytes_of(arguments[i]));
	answer(session, questions, (size_t)count);
	free(questions);
}

/* Lays ELF out if it is an object file; it may be NULL. */
static bool relocate(struct cairn_elf *elf, struct cairn_error *error)
{
	return !elf || elf->type != ET_REL || cairn_elf_relocate(elf, error);
}

static bool open_session(struct session *session, struct cairn_error *error)
{
	const char *path = session->options.executable;
	struct cairn_binary binary = {.path = path};
	session->finder.options = &session->find;
	if (!cairn_identity_read(&binary.identity, &session->finder.arena, path, error))
		return false;
	cairn_find_debug(&session->finder, &binary, &session->debug);
	const struct cairn_symbols_files *files = &session->debug.files;
	if (!files->binary)
		return cairn_fail(error, "%s", session->debug.note);
	if (!relocate(files->binary, error) || !relocate(files->debug, error))
		return false;
	session->asker.files = files;
	if (session->options.section) {
		session->asker.section = cairn_elf_section(files->binary, session->options.section);
		if (!session->asker.section)
			return cairn_fail(error, "%s: no section %s", path, session->options.section);
	}
	cairn_symbol_budget(session->options.memory);
	session->symbols = cairn_symbols_open(&session->debug.files);
	session->demangler.languages = session->options.languages;
	session->demangler.arenas = cairn_array_zero(cairn_pool_width(), sizeof *session->demangler.arenas);
	return true;
}

static void close_session(struct session *session)
{
	for (unsigned i = 0; session->demangler.arenas && i < cairn_pool_width(); i++)
		cairn_arena_free(&session->demangler.arenas[i]);
	free(session->demangler.arenas);
	free(session->demangler.names);
	cairn_map_free(&session->demangler.index);
	cairn_asker_free(&session->asker);
	cairn_symbols_close(session->symbols);
	cairn_debug_close(&session->debug);
	cairn_finder_free(&session->finder);
}

static int run(int argc, char **argv)
{
	struct session session = {0};
	struct cairn_error error;
	expandargv(&argc, &argv); /* @FILE becomes the words in it */
	int code = parse(&session.options, argc, argv);
	if (code >= 0)
		return code;
	if (!open_session(&session, &error))
		session.code = cairn_say_error(error.text);
	else if (optind < argc)
		answer_arguments(&session, argc - optind, argv + optind);
	else
		answer_input(&session);
	close_session(&session);
	return session.code;
}

const struct cairn_command cairn_command_addr2line = {
	.name = "addr2line",
	.summary = "find the function and source line of addresses; a drop-in for GNU addr2line",
	.arguments = "[ADDRESS|SYMBOL[+OFFSET]...]",
	.run_arguments = run,
};
