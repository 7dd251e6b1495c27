/* control.c - `cairn status`, `activate`, `deactivate`, `reset`, `gdump`, `dump`, `cpu` and `stats`: each sends a command to one agent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "base/time.h"
#include "cmd/command.h"
#include "cmd/shared_options.h"
#include "cmd/suffix.h"
#include "dump/engine_kind.h"
#include "dump/trailer.h"
#include "live/target.h"
#include "live/walked.h"
#include "profile/kind.h"
#include "profile/read.h"

#include <ctype.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { cpu_seconds_most = 3600, cpu_frequency_most = 10000 };

struct options {
	struct cairn_target_options target;
	bool json;
	uint64_t period;
	const char *output;
	const char *duration;
	uint64_t seconds, frequency;
};

static const struct cairn_option json_table[] = {
	{0, "json", NULL, "print JSON", CAIRN_OPTION_FLAG, offsetof(struct options, json), 0},
	{0},
};

static const struct cairn_option period_table[] = {
	{0, "period", "SIZE", "set the sampling period, such as 512K", CAIRN_OPTION_PERIOD,
	 offsetof(struct options, period), 0},
	{0},
};

static const struct cairn_option output_table[] = {
	{'o', "output", "FILE", "the file or folder to write to (default: a new file in the current folder)", CAIRN_OPTION_TEXT,
	 offsetof(struct options, output), 0},
	{0},
};

static const struct cairn_option cpu_table[] = {
	{0, "for", "TIME", "profile for this long, such as 30s or 2m (default: 20s)", CAIRN_OPTION_TEXT, offsetof(struct options, duration),
	 0},
	{0, "seconds", "N", NULL, CAIRN_OPTION_COUNT, offsetof(struct options, seconds), 0},
	{0, "frequency", "N", "samples per second of CPU time, for each thread (default: 99)", CAIRN_OPTION_COUNT,
	 offsetof(struct options, frequency), 0},
	{0},
};

#define TARGET_GROUP {"target", cairn_target_option_table, offsetof(struct options, target)}
static const struct cairn_option_group target_groups[] = {TARGET_GROUP, {0}};
static const struct cairn_option_group json_groups[] = {{NULL, json_table, 0}, TARGET_GROUP, {0}};
static const struct cairn_option_group period_groups[] = {{NULL, period_table, 0}, TARGET_GROUP, {0}};
static const struct cairn_option_group output_groups[] = {{NULL, output_table, 0}, TARGET_GROUP, {0}};

static const struct cairn_option_group cpu_groups[] = {{NULL, cpu_table, 0}, {NULL, output_table, 0}, TARGET_GROUP, {0}};

static int usage_one(int count)
{
	return cairn_say_not_one(count, "TARGET", "a PID, socket or URL");
}

static bool find(struct cairn_target *target, const struct options *options, const char *name, struct cairn_error *error)
{
	return cairn_target_find_or_start(target, name, options->target.token, error);
}

/* Asks the one operand for PATH and prints the answer. */
static int ask_and_print(const struct options *options, int count, char **operands, const char *path)
{
	struct cairn_target target;
	struct cairn_error error;
	struct cairn_buffer body = cairn_buffer(0);
	if (count != 1)
		return usage_one(count);
	int code = find(&target, options, operands[0], &error) && cairn_target_ask(&target, "GET", path, &body, &error)
			   ? cairn_say_lines(cairn_buffer_bytes(&body))
			   : cairn_say_failure(&error);
	cairn_buffer_free(&body);
	return code;
}

static int run_status(const void *values, int count, char **operands)
{
	const struct options *options = values;
	return ask_and_print(options, count, operands, options->json ? "/cairn/status" : "/cairn/status?format=text");
}

static int run_stats(const void *values, int count, char **operands)
{
	const struct options *options = values;
	return ask_and_print(options, count, operands, options->json ? "/cairn/stats?format=json" : "/cairn/stats");
}

/* Sends a command, whose answer goes to BODY, which the caller frees. */
static bool send_command(const struct options *options, const char *name, const char *path, struct cairn_buffer *body,
			 struct cairn_error *error)
{
	struct cairn_target target;
	*body = cairn_buffer(0);
	return find(&target, options, name, error) && cairn_target_ask(&target, "POST", path, body, error);
}

/* Sends a command and prints that it was done. */
static int command(const struct options *options, const char *name, const char *path, const char *done)
{
	struct cairn_error error;
	struct cairn_buffer body;
	bool good = send_command(options, name, path, &body, &error);
	cairn_buffer_free(&body);
	if (!good)
		return cairn_say_failure(&error);
	cairn_print(stdout, "%s: %s\n", name, done);
	return CAIRN_EXIT_DONE;
}

static int run_activate(const void *values, int count, char **operands)
{
	return count == 1 ? command(values, operands[0], "/cairn/activate", "sampling") : usage_one(count);
}

static int run_deactivate(const void *values, int count, char **operands)
{
	return count == 1 ? command(values, operands[0], "/cairn/deactivate", "sampling stopped; samples of live memory are kept")
			  : usage_one(count);
}

static int run_reset(const void *values, int count, char **operands)
{
	const struct options *options = values;
	char path[64] = "/cairn/reset";
	if (options->period)
		snprintf(path, sizeof path, "/cairn/reset?period=%llu", (unsigned long long)options->period);
	return count == 1 ? command(options, operands[0], path, "all samples discarded; the profile now covers new allocations only")
			  : usage_one(count);
}

static int run_gdump(const void *values, int count, char **operands)
{
	bool on = count == 2 && strcmp(operands[1], "on") == 0;
	if (count != 2 || (!on && strcmp(operands[1], "off") != 0))
		return cairn_say_usage("'cairn gdump' takes a TARGET and 'on' or 'off'");
	struct cairn_error error;
	struct cairn_buffer body;
	char engine[40] = "", folder[400] = "";
	if (!send_command(values, operands[0], on ? "/cairn/gdump?activate=true" : "/cairn/gdump?activate=false", &body, &error)) {
		cairn_buffer_free(&body);
		return cairn_say_failure(&error);
	}
	cairn_target_field(cairn_buffer_bytes(&body), "engine.name", engine, sizeof engine);
	cairn_target_field(cairn_buffer_bytes(&body), "dumps.folder", folder, sizeof folder);
	cairn_buffer_free(&body);
	if (!on)
		cairn_print(stdout, "%s: no more dumps are written at new highs\n", operands[0]);
	else if (cairn_engine_is(cairn_bytes_of(engine), CAIRN_ENGINE_CAIRN))
		cairn_print(stdout,
			    "%s: the agent writes DATE.gdump.heap to %s at new highs of live memory, and keeps the folder's limits\n",
			    operands[0], strcmp(folder, ".") == 0 ? "its working folder" : folder);
	else
		cairn_print(stdout, "%s: jemalloc writes a dump at each new high of memory in use\n", operands[0]);
	return CAIRN_EXIT_DONE;
}

/* The facts that a file name states about the profile. */
struct facts {
	char program[81], pid[24], host[72], live[24];
	time_t taken;
	const char *ending;
};

static void put_name(char *out, size_t size, struct cairn_bytes name)
{
	snprintf(out, size, "%.*s", (int)(name.length < size ? name.length : size - 1), name.data);
}

/* The live bytes of PROFILE, unless it counts something else. */
static void put_live(struct facts *facts, const struct cairn_profile *profile)
{
	if (profile->kind == CAIRN_PROFILE_HEAP &&
	    cairn_profile_value_kind(profile, profile->default_value) == CAIRN_VALUE_LIVE_BYTES)
		cairn_text_human(cairn_profile_total(profile, profile->default_value), facts->live);
}

/* From the profile itself, for instance from its memory map, if no agent wrote whose it is. */
static void read_facts(struct facts *facts, struct cairn_bytes dump, const char *url)
{
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	bool good = cairn_profile_read(&profile, dump, "the answer", &(struct cairn_read_options){0}, NULL);
	const char *host = url ? cairn_target_host(url) : "";
	put_name(facts->host, sizeof facts->host, (struct cairn_bytes){host, strcspn(host, "/?#")});
	if (good && profile.facts.process)
		put_name(facts->program, sizeof facts->program,
			 cairn_path_program(cairn_bytes_of(cairn_profile_string(&profile, profile.facts.process))));
	if (good && profile.facts.process_id)
		snprintf(facts->pid, sizeof facts->pid, "%llu", (unsigned long long)profile.facts.process_id);
	if (good && profile.facts.time_ns > 0)
		facts->taken = (time_t)(profile.facts.time_ns / CAIRN_SECOND_NS);
	if (good)
		put_live(facts, &profile);
	if (good && cairn_profile_sniff_inside(dump) == CAIRN_FORMAT_PPROF)
		facts->ending = "pb.gz";
	cairn_profile_free(&profile);
}

/* As the allocator counts them, else as the profile does: only jemalloc counts them. */
static void read_live(struct facts *facts, struct cairn_bytes dump, const struct cairn_trailer *trailer)
{
	uint64_t allocated = cairn_trailer_number(trailer, "stats.allocated");
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	if (allocated)
		cairn_text_human((double)allocated, facts->live);
	else if (cairn_profile_read(&profile, dump, "the answer", &(struct cairn_read_options){0}, NULL))
		put_live(facts, &profile);
	cairn_profile_free(&profile);
}

/* redis-server-4242-host-20261115T041002Z-1.5MiB.heap: program, PID, host, time and live bytes, as far as they are known. A CPU profile
 * ends in .cpu, pprof's in .pb.gz. URL is where it was fetched from; NULL for a process of this machine. */
static void make_name(struct cairn_bytes dump, bool is_cpu, const char *url, char *out, size_t size)
{
	struct cairn_trailer trailer;
	struct facts facts = {.taken = time(NULL), .ending = is_cpu ? "cpu" : "heap"};
	if (cairn_trailer_read(dump, &trailer) && trailer.command.length) {
		facts.taken = trailer.time_ns ? (time_t)(trailer.time_ns / CAIRN_SECOND_NS) : facts.taken;
		put_name(facts.program, sizeof facts.program, cairn_path_program(trailer.command));
		put_name(facts.host, sizeof facts.host, trailer.host);
		snprintf(facts.pid, sizeof facts.pid, "%d", trailer.pid);
		if (!is_cpu)
			read_live(&facts, dump, &trailer);
	} else {
		read_facts(&facts, dump, url);
	}
	for (char *space; (space = strchr(facts.live, ' '));)
		memmove(space, space + 1, strlen(space));
	char date[24];
	struct tm taken;
	gmtime_r(&facts.taken, &taken);
	strftime(date, sizeof date, "%Y%m%dT%H%M%SZ", &taken);
	const char *const parts[] = {facts.program[0] ? facts.program : is_cpu ? "cpu" : "heap", facts.pid, facts.host, date, facts.live};
	struct cairn_buffer name = cairn_buffer(size);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (parts[i][0])
			cairn_buffer_format(&name, "%s%s", i > 0 ? "-" : "", parts[i]);
	snprintf(out, size, "%.*s.%s", (int)name.length, name.data, facts.ending);
	cairn_buffer_free(&name);
	for (char *c = out; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
			*c = '_';
}

/* Writes a profile to --output, or to a new name, and prints the path. */
static int save(const struct options *options, struct cairn_bytes profile, bool is_cpu, const char *url)
{
	char name[260], path[4096];
	struct stat status;
	make_name(profile, is_cpu, url, name, sizeof name);
	bool folder = !options->output || (stat(options->output, &status) == 0 && S_ISDIR(status.st_mode));
	if (!folder)
		snprintf(path, sizeof path, "%s", options->output);
	else
		snprintf(path, sizeof path, "%s%s%s", options->output ? options->output : "", options->output ? "/" : "", name);
	int code = cairn_say_output(path, profile);
	if (code == CAIRN_EXIT_DONE && strcmp(path, "-") != 0)
		cairn_print(stdout, "%s\n", path);
	return code;
}

static int run_dump(const void *values, int count, char **operands)
{
	const struct options *options = values;
	struct cairn_target target;
	struct cairn_error error;
	struct cairn_buffer body = cairn_buffer(0);
	if (count != 1)
		return usage_one(count);
	if (!cairn_suffix_check("dump", options->output, NULL, &error))
		return cairn_say_failure(&error);
	bool good = find(&target, options, operands[0], &error) && cairn_target_snapshot(&target, &body, &error);
	if (good)
		cairn_walked_snapshot(&target, &body, NULL); /* where that can be done: the profile is the profile without it */
	int code = good ? save(options, cairn_buffer_bytes(&body), false, target.url) : cairn_say_failure(&error);
	cairn_buffer_free(&body);
	return code;
}

static int run_cpu(const void *values, int count, char **operands)
{
	const struct options *options = values;
	struct cairn_target target;
	struct cairn_error error;
	struct cairn_buffer body = cairn_buffer(0);
	uint64_t seconds = options->seconds ? options->seconds : 20, frequency = options->frequency ? options->frequency : 99;
	if (count != 1)
		return usage_one(count);
	int64_t span_ns = 0;
	if (options->duration && (!cairn_text_duration(options->duration, &span_ns) || span_ns < CAIRN_SECOND_NS))
		return cairn_say_usage("--for takes a time of a second or more, such as 30s or 2m");
	seconds = options->duration ? (uint64_t)span_ns / CAIRN_SECOND_NS : seconds;
	if (seconds > cpu_seconds_most || frequency > cpu_frequency_most)
		return cairn_say_usage("--for takes up to 1h, --frequency 1 to 10000");
	if (!cairn_suffix_check("cpu", options->output, cairn_pprof_suffixes, &error))
		return cairn_say_failure(&error);
	bool good = find(&target, options, operands[0], &error);
	if (good && isatty(STDERR_FILENO))
		cairn_note("profiling for %llu second%s; Ctrl-C stops it without writing a file", (unsigned long long)seconds,
			   seconds == 1 ? "" : "s");
	good = good && cairn_target_cpu(&target, (unsigned)seconds, (unsigned)frequency, &body, &error);
	int code = good ? save(options, cairn_buffer_bytes(&body), true, target.url) : cairn_say_failure(&error);
	cairn_buffer_free(&body);
	return code;
}

const struct cairn_command cairn_command_status = {
	.name = "status",
	.summary = "show the profiler's state in a running process",
	.arguments = "TARGET",
	.detail = "TARGET is a PID, the socket of an agent, or a URL.",
	.groups = json_groups,
	.options_size = sizeof(struct options),
	.run = run_status,
};

const struct cairn_command cairn_command_activate = {
	.name = "activate",
	.summary = "start sampling in a running process",
	.arguments = "TARGET",
	.detail = "TARGET is a PID, the socket of an agent, or a URL.",
	.groups = target_groups,
	.options_size = sizeof(struct options),
	.run = run_activate,
};

const struct cairn_command cairn_command_deactivate = {
	.name = "deactivate",
	.summary = "stop sampling in a running process",
	.arguments = "TARGET",
	.detail = "TARGET is a PID, the socket of an agent, or a URL.",
	.groups = target_groups,
	.options_size = sizeof(struct options),
	.run = run_deactivate,
};

const struct cairn_command cairn_command_reset = {
	.name = "reset",
	.summary = "discard all samples in a running process",
	.arguments = "TARGET",
	.detail = "The profile then covers new allocations only. Resetting is the only way to change the sampling period of a running "
		  "process.",
	.groups = period_groups,
	.options_size = sizeof(struct options),
	.run = run_reset,
};

const struct cairn_command cairn_command_gdump = {
	.name = "gdump",
	.summary = "turn dumps at new highs of memory on or off",
	.arguments = "TARGET on|off",
	.detail =
		"With Cairn's engine, the agent writes them to its dump folder and keeps the folder's limits. jemalloc writes them to its\n"
		"prof_prefix, without limiting their number.",
	.groups = target_groups,
	.options_size = sizeof(struct options),
	.run = run_gdump,
};

const struct cairn_command cairn_command_dump = {
	.name = "dump",
	.summary = "write a heap profile of a running process to a file",
	.arguments = "TARGET",
	.detail = "Prints the name of the file, which contains program, PID, host, time and live bytes, as far as they are known.",
	.groups = output_groups,
	.options_size = sizeof(struct options),
	.run = run_dump,
};

const struct cairn_command cairn_command_stats = {
	.name = "stats",
	.summary = "print jemalloc's statistics for a running process",
	.arguments = "TARGET",
	.detail = "TARGET is a PID, the socket of an agent, or a URL.",
	.groups = json_groups,
	.options_size = sizeof(struct options),
	.run = run_stats,
};

const struct cairn_command cairn_command_cpu = {
	.name = "cpu",
	.summary = "write a CPU profile of a running process to a file",
	.arguments = "TARGET",
	.detail = "Every view, picture and export reads it, for example: cairn top $(cairn cpu 4242). Idle threads cost nothing.",
	.groups = cpu_groups,
	.options_size = sizeof(struct options),
	.run = run_cpu,
};
