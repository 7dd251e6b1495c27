/* run.c - `cairn run`: starts a service with profiling and the agent, and leaves a profile when it ends.
 *
 * Everything is done through environment variables, so programs need no change: LD_PRELOAD loads the agent and CAIRN_CONF configures it.
 * For jemalloc's own profiler, its settings are added to MALLOC_CONF (and _RJEM_MALLOC_CONF, which Rust's jemalloc reads): defaults before
 * what the user has there, options after it, since the last setting counts. With --engine jemalloc a program without jemalloc gets one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptor.h"
#include "base/file.h"
#include "base/path.h"
#include "cmd/command.h"
#include "cmd/run/summary.h"
#include "cmd/suffix.h"
#include "dump/engine_kind.h"
#include "live/malloc_conf.h"
#include "live/program.h"
#include "protocol/config.h"
#include "protocol/listen.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { path_size = CAIRN_PROGRAM_PATH };

struct options {
	bool active; /* as it is without, whatever MALLOC_CONF says */
	bool wait;
	uint64_t period;
	uint64_t interval;
	const char *prefix;
	const char *listen, *token, *budget;
	const char *output;
	const char *engine;
	enum cairn_engine_kind kind; /* that it names */
	bool quiet;
};

#define AT(member) offsetof(struct options, member)
static const struct cairn_option table[] = {
	{0, "wait", NULL, "do not sample until 'cairn activate'", CAIRN_OPTION_FLAG, AT(wait), 0},
	{0, "active", NULL, "sample from the start, even with prof_active:false in MALLOC_CONF", CAIRN_OPTION_FLAG, AT(active), 0},
	{0, "period", "SIZE", "sample once in this many bytes (default: 512K)", CAIRN_OPTION_PERIOD, AT(period), 0},
	{'o', "output", "FILE", "write the profile to this file or folder (default: cairn.COMMAND.PID.heap)", CAIRN_OPTION_TEXT, AT(output),
	 0},
	{0, "interval", "SIZE", "also write a dump each time this much was allocated, such as 4G", CAIRN_OPTION_SIZE, AT(interval), 0},
	{0, "prefix", "PATH", "begin the names of all dumps with PATH", CAIRN_OPTION_TEXT, AT(prefix), 0},
	{0, "listen", "ADDRESS", "let the agent listen on TCP too, such as 127.0.0.1:9999", CAIRN_OPTION_TEXT, AT(listen), 0},
	{0, "token", "TOKEN", "the token that clients over TCP need", CAIRN_OPTION_TEXT, AT(token), 0},
	{0, "engine", "NAME", "profile with: auto, cairn (any allocator) or jemalloc (default: auto)", CAIRN_OPTION_TEXT, AT(engine), 0,
	 (const char *const[]){CAIRN_ENGINE_NAMES, NULL}},
	{0, "budget", "PERCENT", "lengthen the period to stay within this share of CPU time, such as 1%", CAIRN_OPTION_TEXT, AT(budget), 0},
	{'q', "quiet", NULL, "print no summary", CAIRN_OPTION_FLAG, AT(quiet), 0},
	{0},
};
static const struct cairn_option_group groups[] = {{NULL, table, 0}, {0}};

static int log2_of(uint64_t value)
{
	return value ? 63 - __builtin_clzll(value) : 0;
}

/* Appends ADDED to the variable NAME, or with FRONT prepends it. */
static void extend(const char *name, const char *added, char separator, bool front)
{
	const char *old = getenv(name);
	size_t length = old ? strlen(old) : 0;
	struct cairn_buffer value = cairn_buffer(1 << 20);
	while (length > 0 && old[length - 1] == separator) /* which would make an empty part */
		length--;
	if (length > 0 && !front)
		cairn_buffer_format(&value, "%.*s%c", (int)length, old, separator);
	cairn_buffer_text(&value, added);
	if (length > 0 && front)
		cairn_buffer_format(&value, "%c%.*s", separator, (int)length, old);
	cairn_buffer_byte(&value, 0);
	setenv(name, value.data, 1);
	cairn_buffer_free(&value);
}

/* Reads what the user has set for jemalloc; of the two variables, a program reads only one. */
static void read_malloc_conf(struct cairn_malloc_conf *conf)
{
	static const char *const names[] = {"MALLOC_CONF", "_RJEM_MALLOC_CONF"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		cairn_malloc_conf_add(conf, getenv(names[i]) ? getenv(names[i]) : "");
}

/* The settings of the agent. The user's own CAIRN_CONF follows them and takes precedence; what the user says in MALLOC_CONF, which the
 * agent reads as well, is left alone unless an option says otherwise. */
static void set_agent_conf(const struct options *options, const char *prefix, const struct cairn_malloc_conf *conf)
{
	struct cairn_buffer text = cairn_buffer(path_size * 3);
	bool is_set = !options->prefix && cairn_malloc_conf_true(conf, "prof", false) && cairn_malloc_conf_get(conf, "prof_prefix");
	cairn_buffer_format(&text, "engine:%s,enable_heap_profiling:%s", cairn_engine_name(options->kind),
			    options->wait ? "false" : "true");
	if (options->period)
		cairn_buffer_format(&text, ",period:%llu", (unsigned long long)options->period);
	if (!is_set && strlen(prefix) < sizeof((struct cairn_config *)0)->prefix && !strchr(prefix, ','))
		cairn_buffer_format(&text, ",prefix:%s", prefix);
	if (options->interval)
		cairn_buffer_format(&text, ",interval:%llu", (unsigned long long)options->interval);
	cairn_buffer_byte(&text, 0);
	extend("CAIRN_CONF", text.data, ',', true);
	cairn_buffer_free(&text);
}

/* By default jemalloc writes no final dump: it would write it as the user that the service has become, and complain on the service's
 * standard error. */
static void set_malloc_conf(const struct options *options, const char *prefix, const char *name)
{
	struct cairn_buffer after = cairn_buffer(path_size + 200);
	char before[path_size + 200];
	if (getenv(name))
		cairn_buffer_text(&after, ",prof:true");
	if (options->wait || options->active)
		cairn_buffer_format(&after, ",prof_active:%s", options->wait ? "false" : "true");
	if (options->period)
		cairn_buffer_format(&after, ",lg_prof_sample:%d", log2_of(options->period));
	if (options->interval)
		cairn_buffer_format(&after, ",lg_prof_interval:%d", log2_of(options->interval));
	if (options->prefix)
		cairn_buffer_format(&after, ",prof_prefix:%s", prefix);
	cairn_buffer_byte(&after, 0);
	snprintf(before, sizeof before, "prof:true,prof_active:true,prof_final:false,prof_prefix:%s", prefix);
	extend(name, before, ',', true);
	if (after.data[0])
		extend(name, after.data + 1, ',', false);
	cairn_buffer_free(&after);
}

static void set_preload(const char *path, const struct cairn_program *program, bool on_jemalloc)
{
	char library[path_size];
	if (on_jemalloc && program->jemalloc == CAIRN_JEMALLOC_NONE && cairn_program_library("libjemalloc.so.2", library)) {
		extend("LD_PRELOAD", library, ':', true);
		cairn_note("%s has no jemalloc; it runs on %s", path, library);
	} else if (on_jemalloc && program->jemalloc == CAIRN_JEMALLOC_NONE) {
		cairn_note("%s has no jemalloc and libjemalloc.so.2 is not installed, so there is nothing to profile", path);
	}
	if (cairn_program_library("libcairn.so", library) || cairn_program_library("libcairn.so.1", library))
		extend("LD_PRELOAD", library, ':', true);
	else
		cairn_note("libcairn.so is not beside the command, so the service has no agent and leaves no profile");
}

/* A service that is started with prof_active:false does not sample until somebody activates profiling. */
static void follow_malloc_conf(struct options *options, const struct cairn_malloc_conf *conf)
{
	if (!options->active && !cairn_malloc_conf_true(conf, "prof_active", true))
		options->wait = true;
}

/* What the variable of RisingWave's developer tool means. */
static void follow_risedev(struct options *options, const char *name)
{
	const char *risedev = getenv("RISEDEV_ENABLE_HEAP_PROFILE");
	if (!risedev || !risedev[0])
		return;
	options->active = true;
	options->wait = false;
	options->interval = options->interval ? options->interval : (uint64_t)4 << 30;
	options->prefix = options->prefix ? options->prefix : name;
}

static bool is_folder(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The folder of PATH, which OPTION has given, into FOLDER. Fails if it is not there. */
static bool find_folder(const char *option, const char *path, char *folder, struct cairn_error *error)
{
	size_t length = cairn_path_folder(path);
	length -= length > 1;
	int wanted = snprintf(folder, path_size, "%.*s", length ? (int)length : 1, length ? path : ".");
	return (wanted < path_size && is_folder(folder)) || cairn_fail_usage(error, "%s: there is no folder %.400s", option, folder);
}

/* The prefix of dump names, as an absolute path: the service may change its folder. */
static bool choose_prefix(const struct options *options, const char *name, char *prefix, struct cairn_error *error)
{
	char told[path_size], folder[path_size], here[path_size] = "";
	snprintf(told, sizeof told, options->prefix ? "%.3800s" : "cairn.%.200s", options->prefix ? options->prefix : name);
	if (!find_folder("--prefix", told, folder, error))
		return false;
	if (told[0] != '/' && !getcwd(here, sizeof here))
		return cairn_fail_errno(error, "the working folder cannot be found");
	int length = snprintf(prefix, path_size, "%s%s%s", here, here[0] ? "/" : "", told);
	return length < path_size || cairn_fail_usage(error, "--prefix is too long");
}

/* Checks before anything runs that --output can be written. If it is a folder, the profile has a new name there. PREFIX is what that name
 * begins with, DUMP_PREFIX without --output. */
static bool choose_output(struct options *options, const char *dump_prefix, char *prefix, struct cairn_error *error)
{
	const char *output = options->output;
	snprintf(prefix, path_size, "%s", dump_prefix);
	if (!output)
		return true;
	if (is_folder(output)) {
		options->output = NULL;
		int length = snprintf(prefix, path_size, "%s/%s", output, cairn_base_name(dump_prefix));
		return length < path_size || cairn_fail_usage(error, "--output is too long");
	}
	char folder[path_size];
	return find_folder("--output", output, folder, error) &&
	       (access(output, W_OK) == 0 || access(folder, W_OK) == 0 || cairn_fail_errno(error, "--output: %.400s", output));
}

/* Checks whether the agent will be able to listen, with the same code as in the service. The service is started in any case. */
static void check_listening(void)
{
	struct cairn_config config;
	struct cairn_listen listen = {.folder_descriptor = -1};
	const char *path = getenv("CAIRN_CONFIG"), *text = getenv("CAIRN_CONF");
	struct cairn_file file;
	cairn_config_default(&config);
	if (path && path[0] && cairn_file_read(&file, path, NULL)) {
		cairn_config_file(&config, file.bytes);
		cairn_file_close(&file);
	}
	cairn_config_environment(&config, cairn_bytes_of(text ? text : ""));
	int descriptor = cairn_listen_tcp(&listen, &config);
	if (descriptor >= 0)
		cairn_descriptor_close(descriptor);
	else if (config.listen[0])
		cairn_note("the agent cannot listen on %s", listen.tcp_problem);
}

/* A setting of the agent that wins over what is in CAIRN_CONF. */
static void set_too(const char *key, const char *value)
{
	struct cairn_buffer conf = cairn_buffer(path_size * 2);
	cairn_buffer_format(&conf, "%s:%s%c", key, value, 0);
	extend("CAIRN_CONF", conf.failed ? "" : conf.data, ',', false);
	cairn_buffer_free(&conf);
}

/* With an unusable token the agent would not listen, and nobody would notice until the first request. */
static bool check_token(struct cairn_error *error)
{
	const char *path = getenv("CAIRN_CONFIG"), *text = getenv("CAIRN_CONF");
	struct cairn_config config;
	cairn_config_default(&config);
	if (path && path[0]) {
		struct cairn_file file;
		struct cairn_error ignored;
		if (cairn_file_map(&file, path, &ignored)) {
			cairn_config_file(&config, file.bytes);
			cairn_file_close(&file);
		} else {
			config.token_unusable = true;
		}
	}
	if (text)
		cairn_config_environment(&config, cairn_bytes_of(text));
	if (config.listen[0] && config.token_unusable)
		return cairn_fail(error, "the agent cannot use its token, so it would not listen on %s: %s", config.listen,
				  config.problems[0] ? config.problems : "CAIRN_CONFIG cannot be read");
	return true;
}

/* Whether the kernel gives the program rights when it is started, but not if it is traced then. */
static bool gets_rights(const char *path)
{
	struct stat status;
	char value[64];
	return (stat(path, &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID))) ||
	       getxattr(path, "security.capability", value, sizeof value) > 0;
}

/* How a program is profiled into which nothing can be preloaded. Says why it cannot be. */
static bool can_be_profiled(const struct options *options, const char *path, const struct cairn_program *program)
{
	if (!program->is_static && !program->is_musl)
		return true;
	const char *kind = program->is_static ? "a static program" : "linked with musl";
	if (options->kind == CAIRN_ENGINE_JEMALLOC)
		cairn_note("%s is %s, so it runs without profiling: only Cairn's own engine profiles it, without --engine jemalloc", path, kind);
	else if (gets_rights(path))
		cairn_note("%s is %s that runs with another user's rights, so it runs without profiling", path, kind);
	else
		return true;
	return false;
}

/* Says why the memory of the program itself will be in no profile, and what helps. Returns the reason; NULL if it will be. */
static const char *say_unseen(const char *path, const struct cairn_program *program)
{
	static const char reason[] = "its jemalloc has no symbols, by which it could be found";
	if (!program->is_hidden)
		return NULL;
	cairn_note("the memory of %s will not be profiled: %s; keep the symbol table (strip --strip-debug instead of strip), or call cairn_start "
		   "with its mallctl", path, reason);
	return reason;
}

/* Sets the agent's own settings, which win over CAIRN_CONF. */
static void set_agent_options(const struct options *options)
{
	if (options->listen)
		set_too("listen", options->listen);
	if (options->token)
		set_too("token", options->token);
	if (options->budget)
		set_too("budget", options->budget);
}

/* Sets the variables of both engines. jemalloc's profiler is used only where the program has it: any other jemalloc would complain of the
 * setting on the service's standard error. */
static void set_up(struct options *options, const char *prefix, const struct cairn_program *program, bool beside)
{
	struct cairn_arena arena = {0};
	struct cairn_malloc_conf conf = {.arena = &arena};
	bool on_jemalloc = options->kind == CAIRN_ENGINE_JEMALLOC;
	bool has_profiler = !beside && program->jemalloc == CAIRN_JEMALLOC_INSIDE && !program->is_unable && program->variable[0];
	read_malloc_conf(&conf);
	follow_malloc_conf(options, &conf);
	set_agent_conf(options, prefix, &conf);
	if (on_jemalloc) {
		set_malloc_conf(options, prefix, "MALLOC_CONF");
		set_malloc_conf(options, prefix, "_RJEM_MALLOC_CONF");
	} else if (options->kind == CAIRN_ENGINE_AUTO && has_profiler) {
		set_malloc_conf(options, prefix, program->variable);
	}
	cairn_arena_free(&arena);
}

/* Starts COMMAND with the environment set up, and returns its exit code as a shell would. */
static int run_command(const struct options *options, char **command, const char *name, const char *prefix, bool takes_profiles,
		       bool beside, const char *unseen)
{
	struct cairn_error error;
	struct cairn_supervision *run = calloc(1, sizeof *run);
	if (!run)
		cairn_out_of_memory(sizeof *run);
	run->command = command; /* execvp looks in PATH again and finds the same; the name stays as it was typed */
	run->complain = cairn_say_error;
	run->takes_profiles = takes_profiles;
	run->beside = beside ? getenv("CAIRN_CONF") : NULL;
	if (!cairn_supervise(run, &error)) {
		free(run);
		return cairn_say_error(error.text);
	}
	cairn_listen_tidy(getenv("XDG_RUNTIME_DIR")); /* a process that changed its user could not remove its socket */
	cairn_summary_write(run, &(struct cairn_summary_options){
		.name = name,
		.output = options->output,
		.prefix = prefix,
		.quiet = options->quiet,
		.waited = options->wait,
		.unseen = unseen,
	});
	cairn_moment_free(&run->highest);
	cairn_moment_free(&run->end);
	int code = WIFSIGNALED(run->status) ? 128 + WTERMSIG(run->status) : WEXITSTATUS(run->status);
	free(run);
	return code;
}

static int run(const void *values, int count, char **operands)
{
	struct options options = *(const struct options *)values;
	struct cairn_error error;
	char path[path_size], prefix[path_size], profile_prefix[path_size];
	if (count == 0)
		return cairn_say_usage("missing COMMAND: cairn run [options] -- COMMAND...");
	if (options.wait && options.active)
		return cairn_say_usage("--wait and --active exclude each other");
	if (!cairn_suffix_check("run", options.output, cairn_pprof_suffixes, &error))
		return cairn_say_failure(&error);
	struct cairn_program_settings settings = {options.token, options.listen, options.budget};
	if (!cairn_program_settings_are_good(&settings, &error))
		return cairn_say_failure(&error);
	options.kind = cairn_engine_parse(cairn_bytes_of(options.engine ? options.engine : ""));
	const char *name = cairn_base_name(operands[0]);
	follow_risedev(&options, name);
	if (!cairn_program_find(operands[0], path)) {
		bool there = strchr(operands[0], '/') && access(operands[0], F_OK) == 0;
		cairn_fail(&error, there ? "%s is not executable" : "%s: no such program", operands[0]);
		cairn_say_error(error.text);
		return there ? CAIRN_EXIT_NOT_STARTED : CAIRN_EXIT_NOT_FOUND;
	}
	if (!choose_prefix(&options, name, prefix, &error) || !choose_output(&options, prefix, profile_prefix, &error))
		return cairn_say_failure(&error);
	struct cairn_program program = cairn_program_study(path);
	bool profiled = can_be_profiled(&options, path, &program), beside = profiled && (program.is_static || program.is_musl);
	if (profiled) {
		set_up(&options, prefix, &program, beside);
		if (!beside)
			set_preload(path, &program, options.kind == CAIRN_ENGINE_JEMALLOC);
		set_agent_options(&options);
		if (!check_token(&error))
			return cairn_say_failure(&error);
		check_listening();
	}
	const char *unseen = profiled && !beside && !program.is_script ? say_unseen(path, &program) : NULL;
	int code = run_command(&options, operands, name, profile_prefix, profiled, beside, unseen);
	/* MALLOC_CONF reaches every program that a script starts, and these cannot be known in advance. */
	if (program.is_script && code == 128 + SIGABRT && options.kind == CAIRN_ENGINE_JEMALLOC)
		cairn_note("a program that %s started has aborted: a static program with jemalloc in it does so with prof:true, which "
			   "--engine jemalloc sets for all of them; without --engine it runs", path);
	return code;
}

const struct cairn_command cairn_command_run = {
	.name = "run",
	.summary = "start a service with profiling and the agent",
	.arguments = "[--] COMMAND...",
	.detail = "Samples from the start, leaves a profile of all processes when the command ends, and prints a summary of five lines.\n"
		  "The command's exit code and signals are passed through. The program keeps its\n"
		  "allocator; with --engine jemalloc a program without jemalloc is started on libjemalloc.so.2.\n"
		  "With RISEDEV_ENABLE_HEAP_PROFILE set, --interval 4G and --prefix with the name of the command are the defaults.",
	.groups = groups,
	.runs_another = true,
	.options_size = sizeof(struct options),
	.run = run,
};
