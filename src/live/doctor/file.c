/* file.c - checks whether addresses of the program can be symbolized, and its stacks unwound.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"
#include "live/doctor/doctor.h"
#include "live/restart.h"
#include "symbol/find.h"

#include <elf.h>
#include <stdlib.h>

/* The program, when it can be read. */
static const struct cairn_diagnosis_module *program_of(const struct cairn_diagnosis *diagnosis)
{
	return diagnosis->module_count && diagnosis->modules[0].elf ? &diagnosis->modules[0] : NULL;
}

/* Is what lies on disk what runs? */
void cairn_check_on_disk(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	size_t deleted = 0;
	const char *library = NULL;
	const struct cairn_diagnosis_module *program = program_of(diagnosis);
	if (!program)
		return;
	for (size_t i = 1; i < diagnosis->module_count; i++) {
		deleted += diagnosis->modules[i].deleted;
		library = diagnosis->modules[i].deleted ? diagnosis->modules[i].path : library;
	}
	if (program->deleted) {
		struct cairn_elf *now = cairn_elf_open(cairn_arena_format(&diagnosis->arena, "%s%s", diagnosis->root, program->path), NULL);
		bool same = now && now->build_id[0] && strcmp(now->build_id, program->elf->build_id) == 0;
		if (same)
			cairn_finding_say(finding, CAIRN_NOTE, "%s was replaced while it runs, by the same build", program->path);
		else
			cairn_finding_say(finding, CAIRN_NOTE,
					  "%s was %s while it runs: symbols come from /proc/%d/exe, which disappears when the process "
					  "ends; keep a copy for --binary",
					  program->path, now ? "replaced by another build" : "removed", diagnosis->pid);
		const char *copy = cairn_arena_format(&diagnosis->arena, "%s.%d", cairn_base_name(program->path), diagnosis->pid);
		finding->fix = same ? NULL
				    : cairn_arena_format(&diagnosis->arena, "cp /proc/%d/exe %s", diagnosis->pid,
							 cairn_shell_word(&diagnosis->arena, copy));
		if (now)
			cairn_elf_close(now);
	} else if (deleted) {
		cairn_finding_say(
			finding, CAIRN_WRONG,
			"%zu of its libraries were removed or replaced while it runs, such as %s: only root can still read them, and name "
			"what they do",
			deleted, library);
		finding->advice = "start it again";
	} else {
		cairn_finding_say(finding, CAIRN_RIGHT, "%s and its libraries on disk are the ones that run", program->path);
	}
}

void cairn_check_build_id(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const struct cairn_diagnosis_module *program = program_of(diagnosis);
	if (!program)
		return;
	if (program->elf->build_id[0]) {
		cairn_finding_say(finding, CAIRN_RIGHT, "build-id %s", program->elf->build_id);
		return;
	}
	cairn_finding_say(finding, CAIRN_NOTE,
			  "%s has no build-id: Cairn cannot recognize another build or find its debug file",
			  program->path);
	finding->advice = "link it with -Wl,--build-id";
}

/* Exported functions keep their names even if the file is stripped. */
static size_t count_exported(const struct cairn_elf *elf)
{
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, ".dynsym");
	struct cairn_elf_symbol symbol;
	size_t count = 0;
	while (cairn_elf_symbols_next(&symbols, &symbol))
		count += symbol.type == STT_FUNC;
	return count;
}

void cairn_check_names(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const struct cairn_diagnosis_module *program = program_of(diagnosis);
	if (!program)
		return;
	struct cairn_find_options options = {0};
	struct cairn_finder finder = {.options = &options};
	struct cairn_debug debug;
	cairn_find_debug(&finder, &(struct cairn_binary){.path = program->reachable}, &debug);
	const struct cairn_elf *other = debug.files.debug;
	bool lines = cairn_elf_has_dwarf(program->elf) || (other && cairn_elf_has_dwarf(other));
	bool functions = cairn_elf_has_symtab(program->elf) || (other && cairn_elf_has_symtab(other)) || debug.files.mini;
	if (lines) {
		cairn_finding_say(finding, CAIRN_RIGHT, "functions and lines are known%s%s", other ? ", from " : "",
				  other ? debug.debug_path : "");
	} else if (functions) {
		cairn_finding_say(finding, CAIRN_NOTE,
				  "functions have names, but no source lines and no inlined functions: there is no debug information");
		finding->advice = "compile it with -g (debug = 1 in Cargo.toml), install its debug package, or use --debuginfod";
	} else {
		enum { some = 10 };
		size_t exported = count_exported(program->elf);
		if (exported >= some)
			cairn_finding_say(finding, CAIRN_NOTE,
					  "%s is stripped, and its debug file is not here: only the %zu functions it exports have names",
					  program->path, exported);
		else
			cairn_finding_say(finding, CAIRN_WRONG,
					  "%s is stripped, and its debug file is not here: its functions have no names", program->path);
		finding->advice = program->elf->build_id[0]
					  ? cairn_arena_format(&diagnosis->arena,
							       "put its debug file at /usr/lib/debug/.build-id/%.2s/%s.debug, or pass its "
							       "folder with --symbols FOLDER",
							       program->elf->build_id, program->elf->build_id + 2)
					  : "keep the unstripped binary and pass it with --binary FILE";
	}
	cairn_debug_close(&debug);
	cairn_finder_free(&finder);
}

/* How the stacks that the agent took ended. False if it has not taken any. */
static bool check_taken(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	static const struct {
		const char *path, *words;
	} ends[] = {
		{"unwinder.no_code", "in generated code that keeps no frame pointers"},
		{"unwinder.no_rule", "in code without unwind tables and frame pointers"},
		{"unwinder.unreadable", "in memory that cannot be read"},
	};
	char text[24];
	cairn_diagnosis_field(diagnosis, "unwinder.stacks", text, sizeof text);
	unsigned long long all = strtoull(text, NULL, 10), cut = 0, worst = 0;
	const char *where = "";
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		cairn_diagnosis_field(diagnosis, ends[i].path, text, sizeof text);
		unsigned long long count = strtoull(text, NULL, 10);
		cut += count;
		where = count > worst ? ends[i].words : where;
		worst = count > worst ? count : worst;
	}
	if (all == 0)
		return false;
	double share = 100 * (double)cut / (double)all;
	if (cut == 0)
		cairn_finding_say(finding, CAIRN_RIGHT, "all of %llu stacks are whole", all);
	else if (share < 1)
		cairn_finding_say(finding, CAIRN_RIGHT, "%llu of %llu stacks are whole; the others end %s", all - cut, all, where);
	else
		cairn_finding_say(finding, share < 10 ? CAIRN_NOTE : CAIRN_WRONG,
				  "%llu of %llu stacks (%.0f %%) lack their callers: most of them end %s", cut, all, share, where);
	if (share >= 1)
		finding->advice =
			"compile with -fasynchronous-unwind-tables or -fno-omit-frame-pointer; for a JVM, use -XX:+PreserveFramePointer";
	return true;
}

void cairn_check_stacks(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const struct cairn_diagnosis_module *program = program_of(diagnosis);
	if ((diagnosis->has_agent && check_taken(diagnosis, finding)) || !program)
		return;
	struct cairn_elf_section *frames = cairn_elf_section(program->elf, ".eh_frame");
	/* Linkers leave the table of .eh_frame out of static programs, and the agent beside one makes it. */
	if (frames && frames->size > 64 && (cairn_elf_section(program->elf, ".eh_frame_hdr") || cairn_diagnosis_is_static(diagnosis))) {
		cairn_finding_say(finding, CAIRN_RIGHT, "it has unwind tables: its own frames are found with or without frame pointers");
		return;
	}
	cairn_finding_say(
		finding, CAIRN_WRONG,
		"it has no unwind tables (%s): stacks end in it unless it was compiled with frame pointers",
		frames && frames->size > 64 ? ".eh_frame_hdr is missing" : ".eh_frame is missing");
	finding->advice = "compile it with -fasynchronous-unwind-tables or -fno-omit-frame-pointer";
}

/* How it is loaded, and what that means for the agent and for the debug files. */
void cairn_check_loading(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const struct cairn_diagnosis_module *program = program_of(diagnosis);
	if (!program || program->elf->type == ET_REL)
		return;
	bool dynamic = cairn_elf_section(program->elf, ".dynamic") != NULL, loader = cairn_elf_section(program->elf, ".interp") != NULL;
	bool library = dynamic && !loader && program->elf->type == ET_DYN && diagnosis->kind == CAIRN_DIAGNOSIS_BINARY &&
		       !cairn_diagnosis_is_static(diagnosis);
	const char *pie = program->elf->type == ET_DYN ? "position-independent" : "at a fixed address";
	if (loader || library) {
		cairn_finding_say(finding, CAIRN_RIGHT, "%s, %s",
				  library ? "a shared library" : "a dynamic program: LD_PRELOAD reaches it", pie);
	} else {
		cairn_finding_say(finding, CAIRN_NOTE, "a static program, %s: it can load no agent, and has one beside it", pie);
	}
}
