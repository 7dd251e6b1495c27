/* namer.c - starts the child, asks it, and is it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/namer.h"

#include "base/array.h"
#include "base/descriptor.h"
#include "base/note.h"
#include "base/process.h"
#include "base/time.h"
#include "fleet/collect/names.h"
#include "process/clock.h"
#include "store/snapshot.h"
#include "symbol/demangle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { arguments_most = 12 + CAIRN_OPTION_LIST_MAX, low_priority = 10 };

/* Questions and answers begin with their length. The child's first word is an empty answer, so that a question is not blamed for a child
 * that cannot even start. */
typedef uint64_t message_length;

/* The arguments of the child, in ARENA. */
static void list_arguments(const struct cairn_namer *namer, struct cairn_arena *arena, char *arguments[arguments_most])
{
	const struct cairn_source_options *source = namer->source;
	size_t count = 0;
	arguments[count++] = cairn_arena_format(arena, "cairn");
	arguments[count++] = cairn_arena_format(arena, "collect");
	arguments[count++] = cairn_arena_format(arena, "--naming-memory=%llu", (unsigned long long)namer->memory);
	arguments[count++] = cairn_arena_format(arena, "--unpacked-bytes=%zu", namer->names_most / CAIRN_NAMES_SHARE);
	for (size_t i = 0; i < source->symbols.count; i++)
		arguments[count++] = cairn_arena_format(arena, "--symbols=%s", source->symbols.items[i]);
	if (source->sysroot)
		arguments[count++] = cairn_arena_format(arena, "--sysroot=%s", source->sysroot);
	if (source->debuginfod)
		arguments[count++] = cairn_arena_format(arena, "--debuginfod");
	arguments[count++] = cairn_arena_format(arena, "-");
	arguments[count] = NULL;
}

/* Kills the child; STATUS is that of its end. */
static void end(struct cairn_namer *namer, int *status)
{
	close(namer->input);
	close(namer->output);
	kill(namer->child, SIGKILL);
	while (waitpid(namer->child, status, 0) < 0 && errno == EINTR)
		;
	namer->child = 0;
}

/* Waits until DESCRIPTOR is ready for EVENTS. Returns false at UNTIL_NS. */
static bool await(int descriptor, short events, int64_t until_ns)
{
	int64_t left_ms;
	while ((left_ms = (until_ns - cairn_clock_ns()) / CAIRN_MILLISECOND_NS) > 0) {
		struct pollfd ready = {.fd = descriptor, .events = events};
		if (poll(&ready, 1, left_ms < 60000 ? (int)left_ms : 60000) > 0)
			return true;
	}
	return false;
}

static bool send_bytes(const struct cairn_namer *namer, struct cairn_bytes bytes, int64_t until_ns)
{
	while (await(namer->input, POLLOUT, until_ns)) {
		if (cairn_descriptor_write_all(namer->input, &bytes))
			return true;
		if (errno != EAGAIN && errno != EINTR)
			return false;
	}
	return false;
}

static bool receive_bytes(const struct cairn_namer *namer, char *to, size_t length, int64_t until_ns)
{
	while (length > 0) {
		ssize_t got = await(namer->output, POLLIN, until_ns) ? read(namer->output, to, length) : 0;
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return false;
		to += got;
		length -= (size_t)got;
	}
	return true;
}

static bool start(struct cairn_namer *namer)
{
	int in[2], out[2];
	char *arguments[arguments_most];
	struct cairn_arena arena = {0};
	if (pipe2(in, O_CLOEXEC) != 0)
		return false;
	if (pipe2(out, O_CLOEXEC) != 0) {
		close(in[0]);
		close(in[1]);
		return false;
	}
	list_arguments(namer, &arena, arguments);
	if (!cairn_process_start(CAIRN_PROCESS_SELF, arguments, environ, (int[]){in[0], out[1], STDERR_FILENO}, &namer->child))
		namer->child = 0;
	cairn_arena_free(&arena);
	close(in[0]);
	close(out[1]);
	namer->input = in[1];
	namer->output = out[0];
	fcntl(namer->input, F_SETFL, O_NONBLOCK);
	fcntl(namer->output, F_SETFL, O_NONBLOCK);
	message_length greeting;
	int status;
	if (namer->child && receive_bytes(namer, (char *)&greeting, sizeof greeting, cairn_clock_ns() + namer->time_ns) && greeting == 0)
		return true;
	if (namer->child) {
		end(namer, &status);
	} else {
		close(namer->input);
		close(namer->output);
	}
	return false;
}

void cairn_namer_close(struct cairn_namer *namer)
{
	int status;
	if (namer->child)
		end(namer, &status);
}

/* Sends QUESTION and receives the answer, which is empty if the names are too long. Returns false if the child does not answer in time, or
 * not properly. */
static bool ask(const struct cairn_namer *namer, struct cairn_bytes question, struct cairn_buffer *answer)
{
	int64_t until_ns = cairn_clock_ns() + namer->time_ns;
	message_length length = question.length;
	if (!send_bytes(namer, (struct cairn_bytes){(const char *)&length, sizeof length}, until_ns) ||
	    !send_bytes(namer, question, until_ns) || !receive_bytes(namer, (char *)&length, sizeof length, until_ns) ||
	    length > answer->maximum)
		return false;
	char *room = length ? cairn_buffer_room(answer, length) : NULL;
	if (length && (!room || !receive_bytes(namer, room, length, until_ns)))
		return false;
	answer->length = length;
	return true;
}

static void note_death(struct cairn_namer *namer)
{
	int status;
	end(namer, &status);
	namer->deaths++;
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		cairn_note("naming a snapshot ended by signal %d, so it has no names", WTERMSIG(status));
	else if (WIFEXITED(status))
		cairn_note("naming a snapshot failed, so it has no names; --naming-memory is the limit");
	else
		cairn_note("naming a snapshot took too long or too much memory, so it has no names; --naming-time is the limit");
}

static bool has_unnamed(const struct cairn_profile *profile)
{
	for (size_t i = 0; i < profile->location_count; i++)
		if (profile->locations[i].frame_count == 0)
			return true;
	return false;
}

bool cairn_namer_name(struct cairn_namer *namer, struct cairn_bytes tenant, struct cairn_profile *profile)
{
	struct cairn_symbolize_options options = {0};
	struct cairn_arena arena = {0};
	struct cairn_buffer question = cairn_buffer(SIZE_MAX), answer = cairn_buffer(namer->names_most);
	cairn_demangle_profile(profile);
	if (!has_unnamed(profile))
		return true;
	if (!namer->child && !start(namer)) {
		cairn_note("a process to name snapshots cannot be started, so they have no names");
		return false;
	}
	cairn_uploads_find(namer->uploads, tenant, profile, &arena, &options);
	cairn_names_ask(profile, &options, &question);
	bool alive = ask(namer, cairn_buffer_bytes(&question), &answer);
	if (alive && answer.length > 0)
		alive = cairn_names_take(profile, cairn_buffer_bytes(&answer));
	else if (alive)
		cairn_note("the names of a snapshot take more than %zu MiB, so it has none (--unpacked-bytes)", namer->names_most >> 20);
	if (alive) {
		cairn_suspects_done(namer->uploads);
	} else {
		note_death(namer);
		cairn_suspects_blame(namer->uploads);
	}
	cairn_buffer_free(&question);
	cairn_buffer_free(&answer);
	cairn_arena_free(&arena);
	return alive;
}

/* The child. */

static void limit_self(uint64_t memory)
{
	const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT}; /* the collector decides when the child ends */
	struct rlimit data = {memory, memory}, core = {0, 0};
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_DATA, &data);
	setrlimit(RLIMIT_CORE, &core);
	setpriority(PRIO_PROCESS, 0, low_priority);
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (score >= 0) { /* if memory runs out, the OOM killer takes the child, not the collector */
		(void)!write(score, "1000", 4);
		close(score);
	}
}

/* Looks at the places of the question first, then at the collector's own. */
static void add_own_places(struct cairn_symbolize_options *options, const struct cairn_source_options *source, struct cairn_arena *arena)
{
	struct cairn_find_options own = cairn_source_find(source);
	const char **symbols = cairn_arena_zero(arena, own.symbols_count + options->find.symbols_count + 1, sizeof *symbols);
	for (size_t i = 0; i < own.symbols_count; i++)
		symbols[i] = own.symbols[i];
	for (size_t i = 0; i < options->find.symbols_count; i++)
		symbols[own.symbols_count + i] = options->find.symbols[i];
	options->find.symbols = symbols;
	options->find.symbols_count += own.symbols_count;
	options->find.sysroot = own.sysroot;
	options->find.debuginfod = own.debuginfod;
}

static bool answer_question(const struct cairn_namer *namer, struct cairn_bytes question, struct cairn_buffer *answer)
{
	struct cairn_profile profile;
	struct cairn_symbolize_options options = {.memory = namer->memory / 2};
	struct cairn_symbolize_report report;
	struct cairn_arena arena = {0};
	cairn_profile_init(&profile);
	bool good = cairn_names_asked(&profile, &options, &arena, question);
	if (good) {
		add_own_places(&options, namer->source, &arena);
		cairn_symbolize(&profile, &options, &report);
		cairn_symbolize_report_free(&report);
		/* One name takes a few bytes at each of many addresses, and is written out at each of them. */
		if (cairn_frames_size(&profile) <= namer->names_most)
			cairn_names_answer(&profile, answer);
		if (answer->failed)
			answer->length = 0;
	}
	cairn_profile_free(&profile);
	cairn_arena_free(&arena);
	return good;
}

static bool read_bytes(char *to, size_t length)
{
	while (length > 0) {
		ssize_t got = read(STDIN_FILENO, to, length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		to += got;
		length -= (size_t)got;
	}
	return true;
}

bool cairn_namer_run(const struct cairn_namer *namer)
{
	message_length length = 0;
	struct cairn_bytes greeting = {(const char *)&length, sizeof length};
	limit_self(namer->memory);
	bool good = cairn_descriptor_write_all(STDOUT_FILENO, &greeting);
	while (good && read_bytes((char *)&length, sizeof length)) {
		char *question = cairn_array_new(length + 1, 1);
		struct cairn_buffer answer = cairn_buffer(namer->names_most);
		good = read_bytes(question, length) && answer_question(namer, (struct cairn_bytes){question, length}, &answer);
		length = answer.length;
		struct cairn_bytes head = {(const char *)&length, sizeof length}, rest = cairn_buffer_bytes(&answer);
		good = good && cairn_descriptor_write_all(STDOUT_FILENO, &head) && cairn_descriptor_write_all(STDOUT_FILENO, &rest);
		free(question);
		cairn_buffer_free(&answer);
	}
	return good;
}
