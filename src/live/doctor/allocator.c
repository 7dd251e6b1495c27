/* allocator.c - checks whether there is a jemalloc, whether it can profile, and whether profiling is enabled.
 *
 * If there is an agent, it knows. Otherwise jemalloc's variables are read from the process's memory if it has symbols, and else derived
 * from the configuration.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"
#include "base/text.h"
#include "live/doctor/doctor.h"
#include "live/restart.h"
#include "protocol/profiler_state.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static const char *variable_of(const struct cairn_diagnosis *diagnosis)
{
	return diagnosis->variable ? diagnosis->variable : "MALLOC_CONF";
}

/* A library that the file asks the loader for. */
static const char *needed(const struct cairn_elf *elf, const char *part)
{
	struct cairn_bytes names = cairn_elf_named(elf, ".dynstr"), entries = cairn_elf_named(elf, ".dynamic");
	for (; entries.length >= 16; entries = cairn_bytes_skip(entries, 16)) {
		uint64_t entry[2];
		memcpy(entry, entries.data, sizeof entry);
		struct cairn_bytes name = cairn_bytes_skip(names, (size_t)entry[1]);
		if (entry[0] == DT_NEEDED && name.length && memchr(name.data, 0, name.length) && strstr(name.data, part))
			return name.data;
	}
	return NULL;
}

/* The allocator that Cairn's own engine samples, and what it cannot see there. */
static void check_own_engine(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	char allocator[200], warning[500], why[400], lost[24], stacks[24], recycled[24], period[24];
	cairn_diagnosis_field(diagnosis, "engine.allocator", allocator, sizeof allocator);
	if (!allocator[0]) /* a static program has it inside */
		cairn_diagnosis_field(diagnosis, "engine.inside", allocator, sizeof allocator);
	cairn_diagnosis_field(diagnosis, "engine.warning", warning, sizeof warning);
	cairn_diagnosis_field(diagnosis, "why", why, sizeof why);
	cairn_diagnosis_field(diagnosis, "ledger.dropped", lost, sizeof lost);
	cairn_diagnosis_field(diagnosis, "ledger.stacks_lost", stacks, sizeof stacks);
	cairn_diagnosis_field(diagnosis, "ledger.stacks_recycled", recycled, sizeof recycled);
	cairn_diagnosis_field(diagnosis, "period", period, sizeof period);
	if (!allocator[0])
		snprintf(allocator, sizeof allocator, "malloc of the program itself");
	if (warning[0]) /* which names the fix */
		cairn_finding_say(finding, CAIRN_WRONG, "%s", warning);
	else if (why[0])
		cairn_finding_say(finding, CAIRN_WRONG, "%s", why);
	else if (strtod(stacks, NULL) > 0)
		cairn_finding_say(finding, CAIRN_WRONG,
				  "Cairn's own engine profiles %s, but its ledger had no room for the call paths of %s samples, which have no "
				  "name, nor for %s other samples",
				  allocator, stacks, lost);
	else if (strtod(lost, NULL) > 0)
		cairn_finding_say(finding, CAIRN_WRONG, "Cairn's own engine profiles %s, but its ledger had no room for %s samples",
				  allocator, lost);
	else if (strtod(recycled, NULL) > 0)
		cairn_finding_say(finding, CAIRN_NOTE,
				  "Cairn's own engine profiles %s; %s call paths without live memory made room in its ledger for others, and "
				  "what they allocated and freed has no name",
				  allocator, recycled);
	else
		cairn_finding_say(finding, CAIRN_RIGHT, "Cairn's own engine profiles the allocator in use, %s", allocator);
	if (!why[0] && !warning[0] && finding->level != CAIRN_RIGHT)
		finding->advice = cairn_arena_format(
			&diagnosis->arena,
			"CAIRN_CONF=ledger_bytes:64M when it is started again, or a longer period: cairn reset --period %.0f %s",
			2 * strtod(period, NULL), cairn_shell_word(&diagnosis->arena, diagnosis->name));
}

static void check_remote_allocator(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	char version[80], why[400];
	cairn_diagnosis_field(diagnosis, "jemalloc.version", version, sizeof version);
	cairn_diagnosis_field(diagnosis, "why", why, sizeof why);
	if (version[0])
		cairn_finding_say(finding, CAIRN_RIGHT, "jemalloc %s", version);
	else
		cairn_finding_say(finding, CAIRN_WRONG, "%s", why);
}

/* Whether an agent can be attached, so that Cairn's engine profiles it without a restart. */
static bool needs_no_restart(const struct cairn_diagnosis *diagnosis)
{
	return diagnosis->can_attach && !diagnosis->has_agent;
}

/* A program or library without jemalloc, which does not run. */
static void check_other_binary(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	bool runs = cairn_elf_named(diagnosis->modules[0].elf, ".interp").length || cairn_diagnosis_is_static(diagnosis);
	cairn_finding_say(finding, CAIRN_RIGHT, "it does not contain jemalloc; Cairn's own engine profiles its allocator");
	if (runs)
		cairn_finding_run(finding, diagnosis);
}

/* There is no jemalloc, and no agent answers. */
static void check_other_allocator(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	static const char nothing[] =
		"there is no jemalloc, and no agent runs: nothing is profiled; Cairn's own engine profiles any allocator";
	if (diagnosis->kind == CAIRN_DIAGNOSIS_BINARY && diagnosis->modules[0].elf) {
		check_other_binary(diagnosis, finding);
	} else if (needs_no_restart(diagnosis)) {
		cairn_finding_say(finding, CAIRN_NOTE, "%s", nothing);
		cairn_finding_attach(finding, diagnosis);
	} else if (cairn_diagnosis_library(diagnosis)) {
		cairn_finding_say(finding, CAIRN_UNKNOWN,
				  "there is no jemalloc; only the agent can tell whether Cairn's own engine profiles it");
	} else {
		cairn_finding_say(finding, CAIRN_WRONG, "%s", nothing);
		cairn_finding_run(finding, diagnosis);
	}
}

/* Whether the program's own jemalloc has no symbols, is not what malloc leads to, and the agent, if there is one, does not know it either: the
 * service could have passed its mallctl. Cairn's own engine does not see such a jemalloc, and takes libc for the allocator. */
static bool is_hidden(const struct cairn_diagnosis *diagnosis)
{
	char version[80];
	cairn_diagnosis_field(diagnosis, "jemalloc.version", version, sizeof version);
	return diagnosis->allocator && diagnosis->allocator == &diagnosis->modules[0] && !diagnosis->allocator->jemalloc.has_symbols &&
	       !diagnosis->allocator->exports_malloc && !version[0];
}

static void check_jemalloc(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const struct cairn_elf_jemalloc *jemalloc = &diagnosis->allocator->jemalloc;
	cairn_finding_say(finding, CAIRN_RIGHT, "jemalloc %s in %s%s%s%s", jemalloc->version[0] ? jemalloc->version : "of unknown version",
			  diagnosis->allocator->path, jemalloc->prefix[0] ? ", with the prefix " : "", jemalloc->prefix,
			  jemalloc->has_symbols ? "" :
			  is_hidden(diagnosis)  ? ", without symbols: the agent does not find it, and its memory is not in a profile"
						: ", without symbols: only Cairn's own engine profiles it");
	if (is_hidden(diagnosis)) {
		finding->level = CAIRN_WRONG;
		finding->advice = "keep the symbol table (strip --strip-debug instead of strip), or call cairn_start with the "
				  "service's mallctl";
	}
}

void cairn_check_allocator(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const struct cairn_diagnosis_module *program = diagnosis->module_count ? &diagnosis->modules[0] : NULL;
	const char *library = program && program->elf ? needed(program->elf, "jemalloc") : NULL;
	if (is_hidden(diagnosis)) {
		check_jemalloc(diagnosis, finding);
	} else if (cairn_diagnosis_is_own_engine(diagnosis)) {
		check_own_engine(diagnosis, finding);
	} else if (!program) {
		check_remote_allocator(diagnosis, finding);
	} else if (diagnosis->allocator) {
		check_jemalloc(diagnosis, finding);
	} else if (diagnosis->unread) {
		cairn_finding_say(finding, CAIRN_UNKNOWN, "no jemalloc in the readable files, but %s cannot be read",
				  diagnosis->unread[0] ? diagnosis->unread : "the program");
	} else if (library && diagnosis->kind == CAIRN_DIAGNOSIS_BINARY) {
		cairn_finding_say(finding, CAIRN_RIGHT,
				  "jemalloc comes with %s, which the loader finds; run 'cairn doctor' on that file", library);
	} else {
		check_other_allocator(diagnosis, finding);
	}
}

/* The library that replaces malloc, by the name of its file; libc does not count. */
static const char *other_malloc(const struct cairn_diagnosis *diagnosis)
{
	static const char *const own[] = {"libc.so", "libc-", "ld-linux", "ld-musl", "libcairn", "ld-2"};
	for (size_t i = 0; i < diagnosis->module_count; i++) {
		const struct cairn_diagnosis_module *module = &diagnosis->modules[i];
		const char *name = cairn_base_name(module->path);
		bool is_own = false;
		for (size_t j = 0; j < sizeof own / sizeof *own; j++)
			is_own = is_own || strncmp(name, own[j], strlen(own[j])) == 0;
		if (module->exports_malloc && !module->has_jemalloc && !is_own)
			return module->path;
	}
	return NULL;
}

void cairn_check_use(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	char state[40], why[400];
	cairn_diagnosis_field(diagnosis, "state", state, sizeof state);
	cairn_diagnosis_field(diagnosis, "why", why, sizeof why);
	const char *other = other_malloc(diagnosis);
	if (cairn_diagnosis_is_own_engine(diagnosis) || (!diagnosis->allocator && diagnosis->module_count))
		return;
	if (diagnosis->has_agent && cairn_profiler_state_is(state, CAIRN_PROFILER_UNAVAILABLE))
		cairn_finding_say(finding, CAIRN_WRONG, "%s", why);
	else if (diagnosis->has_agent)
		cairn_finding_say(finding, CAIRN_RIGHT, "the agent reports that jemalloc is the allocator in use");
	else if (diagnosis->allocator->exports_malloc && !other)
		cairn_finding_say(finding, CAIRN_RIGHT, "malloc is jemalloc's; no other library provides it");
	else if (diagnosis->allocator->exports_malloc)
		cairn_finding_say(finding, CAIRN_UNKNOWN, "jemalloc and %s both provide malloc; the first one loaded wins", other);
	else
		cairn_finding_say(finding, CAIRN_UNKNOWN,
				  "jemalloc's functions have a prefix; the profile covers only memory allocated through them");
	if (finding->level == CAIRN_UNKNOWN && !cairn_diagnosis_is_static(diagnosis))
		cairn_finding_run(finding, diagnosis);
}

void cairn_check_single(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const char *other = other_malloc(diagnosis);
	if (cairn_diagnosis_is_own_engine(diagnosis))
		return;
	if (diagnosis->jemalloc_count > 1)
		cairn_finding_say(finding, CAIRN_NOTE, "there are %zu copies of jemalloc; only the one in %s is profiled",
				  diagnosis->jemalloc_count, diagnosis->allocator->path);
	else if (diagnosis->allocator && other)
		cairn_finding_say(finding, CAIRN_NOTE, "%s also provides malloc; its memory is not in the profile", other);
}

void cairn_check_built(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	char state[40];
	cairn_diagnosis_field(diagnosis, "state", state, sizeof state);
	bool told = diagnosis->has_agent && state[0] && !cairn_profiler_state_is(state, CAIRN_PROFILER_UNAVAILABLE);
	if (cairn_diagnosis_is_own_engine(diagnosis) || (!told && !diagnosis->allocator))
		return;
	if (told ? !cairn_profiler_state_is(state, CAIRN_PROFILER_NOT_BUILT) : diagnosis->allocator->jemalloc.profiles) {
		cairn_finding_say(finding, CAIRN_RIGHT, "jemalloc was built with profiling");
		return;
	}
	if (needs_no_restart(diagnosis)) {
		cairn_finding_say(finding, CAIRN_NOTE,
				  "jemalloc was built without profiling: it ignores prof:true; Cairn's own engine does without");
		cairn_finding_attach(finding, diagnosis);
		return;
	}
	cairn_finding_say(finding, CAIRN_WRONG, "jemalloc was built without profiling: it ignores prof:true");
	finding->advice = diagnosis->allocator && strcmp(diagnosis->allocator->jemalloc.prefix, "_rjem_") == 0
				  ? "tikv-jemallocator = { version = \"0.6\", features = [\"profiling\"] } in Cargo.toml"
				  : "build jemalloc with ./configure --enable-prof";
}

void cairn_check_statistics(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	char statistics[8];
	cairn_diagnosis_field(diagnosis, "jemalloc.statistics", statistics, sizeof statistics);
	if (!diagnosis->has_agent || strcmp(statistics, "false") != 0)
		return;
	cairn_finding_say(finding, CAIRN_NOTE,
			  "jemalloc was built without statistics: 'cairn rss' shows only the kernel's side, /metrics has none of "
			  "jemalloc's numbers, and "
			  "'cairn watch --interval' cannot count");
	finding->advice = diagnosis->allocator && strcmp(diagnosis->allocator->jemalloc.prefix, "_rjem_") == 0
				  ? "tikv-jemallocator = { version = \"0.6\", features = [\"profiling\", \"stats\"] } in Cargo.toml"
				  : "build jemalloc with ./configure --enable-stats";
}

/* A variable that may have been set in place of the one that is read. */
static const char *mistaken_variable(struct cairn_diagnosis *diagnosis, const char **value)
{
	struct cairn_bytes rest = diagnosis->environment;
	for (; rest.length > 0; rest = cairn_bytes_skip(rest, strnlen(rest.data, rest.length) + 1)) {
		const char *equals = memchr(rest.data, '=', strnlen(rest.data, rest.length));
		if (!equals)
			continue;
		char *name = cairn_arena_text(&diagnosis->arena, (struct cairn_bytes){rest.data, (size_t)(equals - rest.data)});
		bool alike = strstr(name, "MALLOC_CONF") || strstr(name, "malloc_conf") ||
			     cairn_text_distance(name, variable_of(diagnosis)) <= 2;
		if (alike && strcmp(name, variable_of(diagnosis)) != 0) {
			*value = equals + 1;
			return name;
		}
	}
	return NULL;
}

void cairn_check_variable(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const char *mistaken_value = "", *mistaken, *value;
	if (!diagnosis->allocator)
		return;
	if (!diagnosis->variable) {
		cairn_finding_say(finding, CAIRN_UNKNOWN, "the file does not say which environment variable its jemalloc reads");
		return;
	}
	if (diagnosis->kind == CAIRN_DIAGNOSIS_BINARY) {
		cairn_finding_say(finding, CAIRN_RIGHT, "jemalloc reads its options from the environment variable %s", diagnosis->variable);
		return;
	}
	if (!diagnosis->has_environment) {
		cairn_finding_say(finding, CAIRN_UNKNOWN, "the process's environment cannot be read; its options are in %s",
				  diagnosis->variable);
		return;
	}
	value = cairn_diagnosis_variable(diagnosis, diagnosis->variable);
	mistaken = mistaken_variable(diagnosis, &mistaken_value);
	if (value) {
		cairn_finding_say(finding, CAIRN_RIGHT, "%s=%.300s", diagnosis->variable, value);
	} else if (mistaken) {
		cairn_finding_say(finding, CAIRN_WRONG, "%s is set, but this jemalloc reads %s", mistaken, diagnosis->variable);
		cairn_finding_restart(finding, diagnosis, diagnosis->variable, mistaken_value);
	} else {
		cairn_finding_say(finding, CAIRN_NOTE, "%s is not set", diagnosis->variable);
	}
}

void cairn_check_options(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const struct cairn_malloc_conf *conf = &diagnosis->conf;
	if (conf->problem) {
		cairn_finding_say(finding, CAIRN_WRONG, "%.400s", conf->problem);
		if (conf->right)
			cairn_finding_restart(finding, diagnosis, variable_of(diagnosis), conf->right);
	} else if (conf->count > 0) {
		cairn_finding_say(finding, CAIRN_RIGHT,
				  diagnosis->kind == CAIRN_DIAGNOSIS_BINARY ? "jemalloc knows all of the %zu options that are compiled in"
									    : "jemalloc knows all of the %zu options",
				  conf->count);
	}
}

/* The variable that its jemalloc reads; from the agent if only that can be asked. */
static const char *variable_told(struct cairn_diagnosis *diagnosis)
{
	char told[80];
	cairn_diagnosis_field(diagnosis, "jemalloc.variable", told, sizeof told);
	return diagnosis->variable || !told[0] ? variable_of(diagnosis) : cairn_arena_format(&diagnosis->arena, "%s", told);
}

/* Appends OPTION to the present settings: the last setting of an option counts. */
static void add_option(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding, const char *option)
{
	const char *variable = variable_told(diagnosis), *now = cairn_diagnosis_variable(diagnosis, variable);
	now = diagnosis->conf.problem && diagnosis->conf.right ? diagnosis->conf.right : now;
	cairn_finding_restart(finding, diagnosis, variable,
			      now && now[0] ? cairn_arena_format(&diagnosis->arena, "%s,%s", now, option) : option);
}

/* Whether profiling is on, as far as it can be known. */
enum truth { NO, YES, MAYBE };

static enum truth is_enabled(const struct cairn_diagnosis *diagnosis, const char **how)
{
	char state[40];
	bool value;
	cairn_diagnosis_field(diagnosis, "state", state, sizeof state);
	*how = "the agent says so";
	if (diagnosis->has_agent)
		return cairn_profiler_state_is_enabled(state) ? YES : NO;
	*how = "read from its memory";
	if (cairn_diagnosis_peek(diagnosis, "opt_prof", &value, sizeof value))
		return value ? YES : NO;
	*how = "by its options";
	bool whole = diagnosis->kind == CAIRN_DIAGNOSIS_BINARY || diagnosis->has_environment;
	return cairn_malloc_conf_true(&diagnosis->conf, "prof", false) ? YES : whole ? NO : MAYBE;
}

/* Whether the process was started with profiling enabled, and what it takes if it was not. */
static void check_started(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding, enum truth enabled, const char *how)
{
	if (enabled == YES) {
		cairn_finding_say(finding, CAIRN_RIGHT, "profiling is enabled: %s", how);
		return;
	}
	bool silent = cairn_diagnosis_library(diagnosis) && !diagnosis->has_agent;
	if (enabled == MAYBE)
		cairn_finding_say(finding, CAIRN_UNKNOWN,
				  "cannot tell whether it was started with prof:true: its environment cannot be read");
	else if (needs_no_restart(diagnosis))
		cairn_finding_say(
			finding, CAIRN_NOTE,
			"it was started without prof:true (%s), so jemalloc's profiler is off; Cairn's own engine needs no restart", how);
	else if (silent)
		cairn_finding_say(
			finding, CAIRN_UNKNOWN,
			"it was started without prof:true (%s); only the agent can tell whether Cairn's own engine profiles it", how);
	else
		cairn_finding_say(finding, CAIRN_WRONG,
				  "it was started without prof:true (%s), and only a restart enables jemalloc's profiler", how);
	if (needs_no_restart(diagnosis))
		cairn_finding_attach(finding, diagnosis);
	else if (!silent)
		add_option(diagnosis, finding, "prof:true");
}

void cairn_check_enabled(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const char *how;
	if (cairn_diagnosis_is_own_engine(diagnosis)) /* it can always be switched on */
		return;
	if (diagnosis->module_count && (!diagnosis->allocator || !diagnosis->allocator->jemalloc.profiles))
		return;
	enum truth enabled = is_enabled(diagnosis, &how);
	if (enabled != YES && cairn_diagnosis_is_static(diagnosis)) {
		cairn_finding_say(finding, CAIRN_NOTE,
				  "its own profiler is not for a static program, in whose unwinder jemalloc aborts with prof:true; Cairn's own "
				  "engine counts its calls");
		if (needs_no_restart(diagnosis))
			cairn_finding_attach(finding, diagnosis);
		else
			cairn_finding_run(finding, diagnosis);
		return;
	}
	const char *line = cairn_arena_format(&diagnosis->arena, "%s=prof:true", variable_told(diagnosis));
	if (diagnosis->kind == CAIRN_DIAGNOSIS_BINARY) {
		if (enabled == YES)
			cairn_finding_say(finding, CAIRN_RIGHT, "profiling is on from the start: prof:true is compiled in");
		else
			cairn_finding_say(finding, CAIRN_NOTE, "profiling is off unless it is started with prof:true");
		bool runs = diagnosis->modules[0].elf && cairn_elf_section(diagnosis->modules[0].elf, ".interp");
		if (enabled != YES && runs)
			finding->fix = cairn_arena_format(&diagnosis->arena, "%s %s%s", line, strchr(diagnosis->name, '/') ? "" : "./",
							  cairn_shell_word(&diagnosis->arena, diagnosis->name));
		else if (enabled != YES)
			finding->advice = cairn_arena_format(&diagnosis->arena, "%s in the environment of the program that loads it", line);
	} else {
		check_started(diagnosis, finding, enabled, how);
	}
}

void cairn_check_active(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const char *how, *said;
	char state[40];
	bool active, known = true;
	if (is_enabled(diagnosis, &how) != YES)
		return;
	cairn_diagnosis_field(diagnosis, "state", state, sizeof state);
	if (diagnosis->has_agent) {
		active = cairn_profiler_state_is(state, CAIRN_PROFILER_ACTIVE);
		said = "";
	} else if (cairn_diagnosis_peek(diagnosis, "prof_active_state", &active, sizeof active)) {
		said = ": read from its memory";
	} else {
		active = cairn_malloc_conf_true(&diagnosis->conf, "prof_active", true);
		known = active; /* it may have been turned on since the start */
		said = ": by its options";
	}
	if (active)
		cairn_finding_say(finding, CAIRN_RIGHT, "sampling is on%s", said);
	else
		cairn_finding_say(
			finding, known ? CAIRN_WRONG : CAIRN_UNKNOWN, "%s",
			known ? "sampling is off: new allocations are not recorded"
			      : "it was started with prof_active:false; only an agent can tell whether sampling was turned on since");
	if (!active && diagnosis->has_agent)
		finding->fix =
			cairn_arena_format(&diagnosis->arena, "cairn activate %s", cairn_shell_word(&diagnosis->arena, diagnosis->name));
	else if (!active)
		add_option(diagnosis, finding, "prof_active:true");
}

void cairn_check_threads(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	if (!cairn_diagnosis_is_own_engine(diagnosis) &&
	    !cairn_malloc_conf_true(&diagnosis->conf, "prof_thread_active_init", true)) {
		cairn_finding_say(finding, CAIRN_WRONG,
				  "prof_thread_active_init:false: threads are sampled only if they ask for it");
		add_option(diagnosis, finding, "prof_thread_active_init:true");
	}
}

void cairn_finding_period(struct cairn_finding *finding, struct cairn_diagnosis *diagnosis, unsigned period)
{
	struct cairn_arena *arena = &diagnosis->arena;
	unsigned kilobytes = period >> 10;
	int logarithm = __builtin_ctz(period);
	if (diagnosis->has_agent) {
		size_t length = strlen(finding->text.text);
		snprintf(finding->text.text + length, sizeof finding->text.text - length, "; a new period discards the samples so far");
		finding->fix =
			cairn_arena_format(arena, "cairn reset --period %uK %s", kilobytes, cairn_shell_word(arena, diagnosis->name));
	} else if (diagnosis->kind == CAIRN_DIAGNOSIS_PROCESS) {
		add_option(diagnosis, finding, cairn_arena_format(arena, "lg_prof_sample:%d", logarithm));
	} else if (diagnosis->has_trailer) {
		finding->advice = cairn_arena_format(arena, "'cairn reset --period %uK PID', or --period %uK when 'cairn run' starts it",
						     kilobytes, kilobytes);
	} else {
		finding->advice = cairn_arena_format(arena, "lg_prof_sample:%d is a sample every %u KiB", logarithm, kilobytes);
	}
}

void cairn_check_period(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	enum { few = 100 };
	char text[24], human[24], memory[24];
	const char *how;
	if (is_enabled(diagnosis, &how) != YES)
		return;
	cairn_diagnosis_field(diagnosis, "period", text, sizeof text);
	size_t logarithm = (size_t)cairn_malloc_conf_number(&diagnosis->conf, "lg_prof_sample", __builtin_ctz(CAIRN_PERIOD_USUAL));
	if (!text[0])
		cairn_diagnosis_peek(diagnosis, "lg_prof_sample", &logarithm, sizeof logarithm);
	double period = text[0] ? strtod(text, NULL) : (double)((uint64_t)1 << (logarithm < 63 ? logarithm : 63));
	cairn_text_human(period, human);
	cairn_text_human((double)diagnosis->resident, memory);
	if (period < 4096) {
		cairn_finding_say(finding, CAIRN_NOTE,
				  "a sample every %s of allocation is dense: it costs time, and extra pages for each sampled object",
				  human);
		cairn_finding_period(finding, diagnosis,
				     diagnosis->resident / CAIRN_PERIOD_USUAL < few ? CAIRN_PERIOD_FINE : CAIRN_PERIOD_USUAL);
	} else if (period > CAIRN_PERIOD_FINE && diagnosis->resident && (double)diagnosis->resident / period < few) {
		cairn_finding_say(finding, period > (1 << 20) ? CAIRN_WRONG : CAIRN_NOTE,
				  "a sample every %s is coarse for %s of memory: about %.0f samples, so errors are large", human, memory,
				  (double)diagnosis->resident / period);
		cairn_finding_period(finding, diagnosis, CAIRN_PERIOD_FINE);
	} else {
		cairn_finding_say(finding, CAIRN_RIGHT, "a sample every %s of allocation", human);
	}
}

/* Whether jemalloc's own profiler is enabled, which it may be beside Cairn's engine. */
static bool jemalloc_profiles(const struct cairn_diagnosis *diagnosis)
{
	const char *how;
	return cairn_diagnosis_is_own_engine(diagnosis) ? cairn_malloc_conf_true(&diagnosis->conf, "prof", false)
							: is_enabled(diagnosis, &how) == YES;
}

static bool may_write(const struct cairn_diagnosis *diagnosis, const struct stat *status)
{
	mode_t needed_mode = diagnosis->user == status->st_uid                       ? S_IWUSR
			     : cairn_diagnosis_has_group(diagnosis, status->st_gid) ? S_IWGRP
										    : S_IWOTH;
	return diagnosis->user == 0 || (status->st_mode & needed_mode);
}

/* Where jemalloc writes dumps by itself. */
void cairn_check_folder(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	enum { least_free = 64 << 20 };
	const struct cairn_malloc_conf *conf = &diagnosis->conf;
	const char *prefix = cairn_malloc_conf_get(conf, "prof_prefix");
	bool by_itself = cairn_malloc_conf_true(conf, "prof_final", false) || cairn_malloc_conf_true(conf, "prof_gdump", false) ||
			 cairn_malloc_conf_number(conf, "lg_prof_interval", -1) >= 0;
	if (!jemalloc_profiles(diagnosis) || !diagnosis->pid || (!prefix && !by_itself))
		return;
	prefix = prefix ? prefix : "jeprof";
	size_t length = cairn_path_folder(prefix);
	const char *within =
		prefix[0] == '/' ? "" : cairn_arena_format(&diagnosis->arena, "%s/", diagnosis->folder ? diagnosis->folder : "");
	length -= length > 1; /* without its slash */
	const char *folder = cairn_arena_format(&diagnosis->arena, "%s%.*s", within, (int)length, prefix);
	const char *reachable = cairn_arena_format(&diagnosis->arena, "%s%s", diagnosis->root, folder);
	struct stat status;
	struct statvfs space;
	enum cairn_finding_level bad = by_itself ? CAIRN_WRONG : CAIRN_NOTE;
	if (!diagnosis->folder && prefix[0] != '/') {
		cairn_finding_say(finding, CAIRN_UNKNOWN,
				  "cannot tell where it writes its dumps (%s): its working folder cannot be read", prefix);
	} else if (stat(reachable, &status) != 0 || !S_ISDIR(status.st_mode)) {
		cairn_finding_say(finding, bad, "%s, the folder for jemalloc's dumps, does not exist: dumps fail with \"Bad address\"",
				  folder);
		finding->fix = cairn_arena_format(
			&diagnosis->arena, "mkdir -p %s",
			cairn_shell_word(&diagnosis->arena, cairn_diagnosis_has_own_root(diagnosis) ? reachable : folder));
	} else if (!may_write(diagnosis, &status) || (statvfs(reachable, &space) == 0 && space.f_flag & ST_RDONLY)) {
		cairn_finding_say(finding, bad, "user %u has no permission to write to %s, the folder for jemalloc's dumps",
				  (unsigned)diagnosis->user, folder);
		add_option(diagnosis, finding, "prof_prefix:/tmp/jeprof");
	} else if (statvfs(reachable, &space) == 0 && (uint64_t)space.f_bavail * space.f_frsize < least_free) {
		cairn_finding_say(finding, CAIRN_WRONG, "the disk of %s is full: dumps are cut short", folder);
		finding->advice = "make room, or choose another disk with prof_prefix";
	} else {
		cairn_finding_say(finding, CAIRN_RIGHT, "jemalloc writes its dumps as %s%s%s", folder,
				  folder[strlen(folder) - 1] == '/' ? "" : "/", prefix + cairn_path_folder(prefix));
	}
}
