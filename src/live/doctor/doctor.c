/* doctor.c - the table of checks, and what they found.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/doctor/doctor.h"

#include "live/restart.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

enum { process = CAIRN_DIAGNOSIS_PROCESS, binary = CAIRN_DIAGNOSIS_BINARY, dump = CAIRN_DIAGNOSIS_DUMP };

/* In the order in which a person would check. */
static const struct check {
	const char *name;
	unsigned kinds; /* the kinds of diagnosis that it is part of */
	cairn_check_look *look;
} checks[] = {
	{"agent", process, cairn_check_agent},
	{"attach", process, cairn_check_attach},
	{"agent's settings", process, cairn_check_settings},
	{"allocator", process | binary, cairn_check_allocator},
	{"inside", process, cairn_check_inside},
	{"in use", process, cairn_check_use},
	{"one allocator", process | binary, cairn_check_single},
	{"built to profile", process | binary, cairn_check_built},
	{"statistics", process, cairn_check_statistics},
	{"environment", process | binary, cairn_check_variable},
	{"privileges", process, cairn_check_privileges},
	{"options", process | binary, cairn_check_options},
	{"enabled", process | binary, cairn_check_enabled},
	{"active", process, cairn_check_active},
	{"threads", process, cairn_check_threads},
	{"period", process, cairn_check_period},
	{"samples", process, cairn_check_samples},
	{"last moment", process, cairn_check_last_moment},
	{"dump folder", process, cairn_check_folder},
	{"unwinder", process, cairn_check_unwinder},
	{"limits", process, cairn_check_limits},
	{"memory", process, cairn_check_memory},
	{"sandbox", process, cairn_check_sandbox},
	{"container", process, cairn_check_container},
	{"on disk", process, cairn_check_on_disk},
	{"build-id", process | binary, cairn_check_build_id},
	{"names", process | binary, cairn_check_names},
	{"stacks", process | binary, cairn_check_stacks},
	{"loading", process | binary, cairn_check_loading},
	{"leaks", process, cairn_check_leaks},
	{"allocator", dump, cairn_check_dump_allocator},
	{"samples", dump, cairn_check_dump_samples},
	{"period", dump, cairn_check_dump_period},
	{"memory map", dump, cairn_check_dump_maps},
	{"trailer", dump, cairn_check_dump_trailer},
	{"coverage", dump, cairn_check_dump_coverage},
	{"start", dump, cairn_check_dump_start},
	{"last moment", dump, cairn_check_dump_end},
	{"ages", dump, cairn_check_dump_ages},
	{"totals", dump, cairn_check_dump_totals},
	{"names", dump, cairn_check_dump_names},
	{"debug files", dump, cairn_check_dump_debug},
	{"leaks", dump, cairn_check_dump_leaks},
	{"resident memory", dump, cairn_check_dump_resident},
};

static_assert(sizeof checks / sizeof *checks == CAIRN_CHECKS, "as many as doctor.h says");

static const char *const level_words[] = {"", "right", "note", "cannot tell", "wrong"};

const char *cairn_check_name(int check)
{
	return checks[check].name;
}

const char *cairn_finding_word(enum cairn_finding_level level)
{
	return level_words[level];
}

void cairn_finding_say(struct cairn_finding *finding, enum cairn_finding_level level, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	finding->level = level;
	vsnprintf(finding->text.text, sizeof finding->text.text, format, arguments);
	va_end(arguments);
}

void cairn_finding_restart(struct cairn_finding *finding, struct cairn_diagnosis *diagnosis, const char *variable, const char *value)
{
	/* The settings with which it was started and has to be started again. */
	static const char *const kept[] = {"LD_PRELOAD", "CAIRN_CONF", "CAIRN_CONFIG", "CAIRN_TOOL", "XDG_RUNTIME_DIR"};
	struct cairn_arena *arena = &diagnosis->arena;
	const char *before = "", *line = NULL;
	for (size_t i = 0; i <= sizeof kept / sizeof *kept; i++) {
		const char *name = i < sizeof kept / sizeof *kept ? kept[i] : diagnosis->variable ? diagnosis->variable : "MALLOC_CONF";
		const char *now = strcmp(name, variable) == 0 ? NULL : cairn_diagnosis_variable(diagnosis, name);
		if (now)
			before = cairn_arena_format(arena, "%s%s=%s ", before, name, cairn_shell_word(arena, now));
	}
	/* Uses double quotes, so that the shell still expands a command substitution. */
	const char *word = strstr(value, "$(") ? cairn_arena_format(arena, "\"%s\"", value) : cairn_shell_word(arena, value);
	if (diagnosis->pid)
		line = cairn_restart_line(arena, diagnosis->pid, cairn_arena_format(arena, "%s%s=%s", before, variable, word));
	if (line)
		finding->fix = line;
	else
		finding->advice = cairn_arena_format(arena, "%s=%s in its environment when it is started again", variable, word);
}

void cairn_finding_attach(struct cairn_finding *finding, struct cairn_diagnosis *diagnosis)
{
	finding->fix = cairn_arena_format(&diagnosis->arena, "cairn attach %d", diagnosis->pid);
}

void cairn_finding_run(struct cairn_finding *finding, struct cairn_diagnosis *diagnosis)
{
	if (diagnosis->kind == CAIRN_DIAGNOSIS_BINARY)
		finding->fix = cairn_arena_format(&diagnosis->arena, "cairn run -- %s%s", strchr(diagnosis->name, '/') ? "" : "./",
						  cairn_shell_word(&diagnosis->arena, diagnosis->name));
	else if (diagnosis->pid)
		finding->fix = cairn_restart_line(&diagnosis->arena, diagnosis->pid, "cairn run --");
	if (!finding->fix)
		finding->advice = "start it with 'cairn run -- COMMAND'";
}

bool cairn_doctor_check(struct cairn_diagnosis *diagnosis, struct cairn_finding findings[CAIRN_CHECKS])
{
	bool good = true;
	for (int i = 0; i < CAIRN_CHECKS; i++) {
		if (checks[i].kinds & (unsigned)diagnosis->kind)
			checks[i].look(diagnosis, &findings[i]);
		good = good && findings[i].level != CAIRN_WRONG;
	}
	return good;
}

void cairn_doctor_write_json(const struct cairn_diagnosis *diagnosis, const struct cairn_finding findings[CAIRN_CHECKS], bool good,
			     struct cairn_json *json)
{
	static const char *const kinds[] = {[process] = "process", [binary] = "binary", [dump] = "dump"};
	cairn_json_text(json, "name", cairn_bytes_of(diagnosis->name));
	cairn_json_text(json, "kind", cairn_bytes_of(kinds[diagnosis->kind]));
	cairn_json_bool(json, "right", good);
	cairn_json_open(json, "findings", '[');
	for (int i = 0; i < CAIRN_CHECKS; i++) {
		const struct cairn_finding *finding = &findings[i];
		if (finding->level == CAIRN_NOTHING)
			continue;
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "check", cairn_bytes_of(checks[i].name));
		cairn_json_text(json, "level", cairn_bytes_of(level_words[finding->level]));
		cairn_json_text(json, "text", cairn_bytes_of(finding->text.text));
		if (finding->fix)
			cairn_json_text(json, "fix", cairn_bytes_of(finding->fix));
		else
			cairn_json_null(json, "fix");
		if (finding->advice)
			cairn_json_text(json, "advice", cairn_bytes_of(finding->advice));
		else
			cairn_json_null(json, "advice");
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
}

bool cairn_doctor_json(const char *name, const char *token, struct cairn_json *json, struct cairn_error *error)
{
	struct cairn_diagnosis diagnosis;
	bool seen = cairn_diagnosis_see(&diagnosis, name, token, error);
	if (seen) {
		struct cairn_finding findings[CAIRN_CHECKS] = {0};
		bool good = cairn_doctor_check(&diagnosis, findings);
		cairn_doctor_write_json(&diagnosis, findings, good, json);
	}
	cairn_diagnosis_free(&diagnosis);
	return seen;
}
