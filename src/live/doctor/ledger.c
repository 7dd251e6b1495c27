/* ledger.c - whether the last moment of a process will be known; what a dump knows beyond its stacks: how the process ended, ages, what
 * they show of leaks, and resident memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/text.h"
#include "live/doctor/doctor.h"
#include "live/judged.h"
#include "live/restart.h"
#include "live/rss/account.h"
#include "process/proc_list.h"
#include "protocol/profiler_state.h"
#include "series/words.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Finds a descriptor of process PID: the ledger, if WANTED is NULL, which is filled into FOUND; else the same file as WANTED. */
static bool find_descriptor(int pid, const struct stat *wanted, struct stat *found)
{
	char path[64], link[64];
	bool has = false;
	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	DIR *folder = opendir(path);
	for (const struct dirent *entry; folder && !has && (entry = readdir(folder));) {
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, link, sizeof link - 1);
		link[length > 0 ? length : 0] = 0;
		struct stat status;
		if (strncmp(link, "/memfd:cairn-ledger", 19) != 0 || fstatat(dirfd(folder), entry->d_name, &status, 0) != 0)
			continue;
		has = !wanted || (status.st_ino == wanted->st_ino && status.st_dev == wanted->st_dev);
		*found = status;
	}
	if (folder)
		closedir(folder);
	return has;
}

/* The PID of a process other than PID that has the ledger open; 0 for none that can be seen. */
static int find_keeper(int pid, const struct stat *ledger)
{
	int keeper = 0;
	struct stat found;
	struct cairn_proc_list list;
	cairn_proc_list_processes(&list);
	for (int other; !keeper && (other = cairn_proc_list_next(&list));)
		if (other != pid && find_descriptor(other, ledger, &found))
			keeper = other;
	cairn_proc_list_close(&list);
	return keeper;
}

void cairn_check_last_moment(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	char file[300], problem[400];
	struct stat ledger;
	if (!cairn_diagnosis_is_own_engine(diagnosis))
		return;
	cairn_diagnosis_field(diagnosis, "ledger.file", file, sizeof file);
	cairn_diagnosis_field(diagnosis, "ledger.problem", problem, sizeof problem);
	int keeper = 0;
	if (diagnosis->pid > 0 && find_descriptor(diagnosis->pid, NULL, &ledger))
		keeper = find_keeper(diagnosis->pid, &ledger);
	if (problem[0]) {
		cairn_finding_say(finding, CAIRN_WRONG, "the ledger is not in the file that it should be in: %s", problem);
	} else if (file[0]) {
		cairn_finding_say(finding, CAIRN_RIGHT, "the ledger is in %s: it shows the last moment, however the process ends", file);
	} else if (keeper) {
		cairn_finding_say(finding, CAIRN_RIGHT, "process %d keeps the ledger: the last moment is known, however the process ends",
				  keeper);
	} else if (diagnosis->pid > 0) {
		cairn_finding_say(finding, CAIRN_NOTE,
				  "if it is killed, nothing shows what filled its memory: nobody keeps the ledger");
		finding->advice = "run cairn watch with its PID, outside its container, or start it with CAIRN_CONF=ledger:PATH";
	}
}

void cairn_check_dump_ages(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const struct cairn_profile *profile = &diagnosis->profile;
	if (profile->kind != CAIRN_PROFILE_HEAP)
		return;
	if (!profile->facts.has_ages) {
		cairn_finding_say(finding, CAIRN_NOTE,
				  "it does not say how old objects are, so that 'cairn leaks' needs several dumps; those of "
				  "Cairn's own engine do (engine:cairn)");
		return;
	}
	bool freed = profile->facts.freed_bytes > 0;
	struct cairn_buffer shows = cairn_buffer(1 << 10);
	for (unsigned i = 0; i < CAIRN_SHOWN_COUNT; i++)
		if (profile->facts.shows >> i & 1)
			cairn_buffer_format(&shows, ", --%s", cairn_shown_views[i].option);
	cairn_finding_say(finding, CAIRN_RIGHT, "ages%s are known: 'cairn leaks' judges this one dump; --older, --younger%.*s%s show the rest",
			  freed ? " and lifetimes" : "", (int)shows.length, shows.data, freed ? " and 'cairn churn'" : "");
	cairn_buffer_free(&shows);
}

void cairn_check_dump_end(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const struct cairn_profile *profile = &diagnosis->profile;
	char span[24];
	size_t rows = profile->history_count;
	if (!profile->facts.ended)
		return;
	cairn_finding_say(finding, CAIRN_NOTE, "it shows the last moment of the process: %.200s",
			  cairn_profile_string(profile, profile->facts.ended));
	if (rows > 1)
		finding->advice = cairn_arena_format(
			&diagnosis->arena, "draw the %s before it with 'cairn timeline -o memory.html'",
			cairn_text_span(profile->history[rows - 1].time_ns - profile->history[0].time_ns, span));
}

static void say_judgement(struct cairn_finding *finding, const struct cairn_judgement *judgement)
{
	struct cairn_buffer words = cairn_buffer(1 << 16);
	enum cairn_finding_level level = judgement->verdict == CAIRN_GROWING     ? CAIRN_NOTE
					 : judgement->verdict == CAIRN_TOO_EARLY ? CAIRN_UNKNOWN
										 : CAIRN_RIGHT;
	cairn_words_judgement(judgement, &(struct cairn_shape){0}, &words);
	cairn_finding_say(finding, level, "%.*s", (int)words.length, words.data);
	cairn_buffer_free(&words);
}

/* Judges all dumps that were TAKEN. */
static bool judge_taken(const struct cairn_taken *taken, struct cairn_judged_series *judged)
{
	struct cairn_error error;
	cairn_judged_series_free(judged);
	return cairn_taken_series(taken, &judged->series, &error) && judged->series.profile.sample_count > 0 &&
	       cairn_judged_series(judged, taken->view, &(struct cairn_judge_context){0}, cairn_buffer_bytes(&taken->newest), &error);
}

/* What `cairn leaks` says of the process, unless that would take longer than a few seconds. */
void cairn_check_leaks(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	char state[40];
	struct cairn_error error;
	struct cairn_judged_series judged = {0};
	const struct cairn_source_options source = {.quiet = true, .with_freed = true};
	const struct cairn_view_options view = {.fold_wrappers = true};
	cairn_diagnosis_field(diagnosis, "state", state, sizeof state);
	if (!diagnosis->has_agent || !cairn_profiler_state_is_enabled(state))
		return;
	struct cairn_taken taken = cairn_taken(&diagnosis->target, diagnosis->name, &source, &view);
	bool good = cairn_taken_more(&taken, &error) && judge_taken(&taken, &judged);
	if (good && cairn_taken_need(&taken, &judged.judgement) == CAIRN_TAKEN_COURSE)
		good = cairn_taken_course(&taken, &error) && judge_taken(&taken, &judged);
	if (good && cairn_taken_need(&taken, &judged.judgement) == CAIRN_TAKEN_SERIES) {
		cairn_finding_say(finding, CAIRN_UNKNOWN, "its profile does not say how old objects are: a verdict takes several dumps");
		finding->advice =
			cairn_arena_format(&diagnosis->arena, "cairn leaks %s", cairn_shell_word(&diagnosis->arena, diagnosis->name));
	} else if (good) {
		say_judgement(finding, &judged.judgement);
	}
	cairn_judged_series_free(&judged);
	cairn_taken_free(&taken);
}

void cairn_check_dump_leaks(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	struct cairn_judged judged = {0}, mapped = {0};
	struct cairn_judgement judgement = {.verdict = CAIRN_STEADY};
	const struct cairn_profile *profile = &diagnosis->profile;
	bool known = profile->kind == CAIRN_PROFILE_HEAP &&
		     cairn_judged_make(&judged, profile, &(struct cairn_view_options){.fold_wrappers = true});
	if (known)
		cairn_judged_conclude(&judgement, &mapped, &judged.series, &judged.leaks, &judged.view, &(struct cairn_judge_context){0},
				      cairn_buffer_bytes(&diagnosis->dump));
	if (profile->facts.has_ages && judgement.verdict != CAIRN_GROWING && !cairn_check_has_samples(profile))
		cairn_finding_say(finding, CAIRN_UNKNOWN, "there are no samples whose ages could be judged");
	else if (known)
		say_judgement(finding, &judgement);
	cairn_judged_free(&judged);
	cairn_judged_free(&mapped);
}

void cairn_check_dump_resident(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	static const double tolerated = 0.05;
	struct cairn_account *account = cairn_array_zero(1, sizeof *account);
	struct cairn_error error;
	char total[24];
	if (diagnosis->profile.facts.trailer && cairn_account_profile(account, &diagnosis->profile, &error)) {
		cairn_account_settle(account);
		double share = (double)account->bill.lines[CAIRN_BILL_REST] / (account->bill.total ? (double)account->bill.total : 1);
		cairn_finding_say(finding, share > tolerated ? CAIRN_NOTE : CAIRN_RIGHT,
				  "%s were resident, %.1f %% of that unexplained; 'cairn rss' shows where it is",
				  cairn_text_human((double)account->bill.total, total), 100 * share);
	}
	cairn_account_free(account);
}
