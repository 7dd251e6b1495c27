/* why.c - facts from an agent, a walk and the kernel, or from dumps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/why/why.h"

#include "base/array.h"
#include "live/files.h"
#include "live/group.h"
#include "live/judged.h"
#include "live/source_series.h"
#include "live/target.h"
#include "live/walked.h"
#include "process/clock.h"
#include "profile/read.h"
#include "series/words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A second walk shows how much changes between two; not of a heap so large that it takes long. */
static const int64_t short_walk_ns = 500 * CAIRN_MILLISECOND_NS;

__attribute__((format(printf, 2, 3))) static void note(struct cairn_why *why, const char *format, ...)
{
	va_list arguments;
	if (why->note_count == CAIRN_WHY_NOTES)
		return;
	va_start(arguments, format);
	vsnprintf(why->notes[why->note_count].text, sizeof why->notes[why->note_count].text, format, arguments);
	va_end(arguments);
	why->note_count++;
}

/* Takes the verdict on live objects. */
static void take_growth(struct cairn_why *why, const struct cairn_judgement *judgement)
{
	const struct cairn_leaks *leaks = judgement->leaks;
	const struct cairn_view *view = judgement->view;
	struct cairn_cause_growth *growth = &why->facts.growth;
	struct cairn_buffer words = cairn_buffer(4096);
	const struct cairn_leak *first = NULL;
	for (int pass = judgement->verdict == CAIRN_GROWING ? 0 : 1; pass < 2 && !first; pass++)
		for (size_t i = 0; i < leaks->count; i++) {
			const struct cairn_leak *leak = &leaks->rows[i];
			if (leak->trend.verdict != (pass == 0 ? CAIRN_GROWING : CAIRN_FILLING))
				continue;
			first = first ? first : leak;
			growth->bytes += leak->now.value;
			growth->per_hour += leak->trend.per_hour;
			growth->error = hypot(growth->error, leak->trend.error);
		}
	growth->known = true;
	growth->verdict = first ? first->trend.verdict : judgement->verdict;
	growth->name = first ? cairn_arena_text(&why->arena, cairn_leak_title(leaks, view, first)) : "";
	if (first && first->trend.verdict == CAIRN_FILLING) {
		cairn_buffer_format(&words, "%s ", growth->name);
		cairn_words_detail(&first->trend, leaks->hours, view, &(struct cairn_shape){0}, &words);
	} else {
		cairn_words_judgement(judgement, &(struct cairn_shape){0}, &words);
	}
	growth->words = cairn_arena_text(&why->arena, cairn_buffer_bytes(&words));
	cairn_buffer_free(&words);
}

/* Judges one dump by the ages of its objects. */
static void judge_ages(struct cairn_why *why, struct cairn_bytes text, const char *name)
{
	struct cairn_profile profile;
	struct cairn_judged judged = {0};
	struct cairn_judgement judgement;
	struct cairn_view_options view = {.fold_wrappers = true};
	cairn_profile_init(&profile);
	if (cairn_profile_read(&profile, text, name, &(struct cairn_read_options){.with_freed = true}, NULL) && profile.sample_count) {
		why->facts.sampled = true;
		cairn_source_name(&profile, &(struct cairn_source_options){.quiet = true});
		if (cairn_judged_make(&judged, &profile, &view)) {
			cairn_judge(&judgement, &judged.series, &judged.leaks, &judged.view, &(struct cairn_judge_context){0});
			take_growth(why, &judgement);
		}
		cairn_judged_free(&judged);
	}
	cairn_profile_free(&profile);
}

/* The function with the largest mapping, and what it has mapped on all call paths. */
static void take_mapper(struct cairn_why *why)
{
	const struct cairn_account_mapped *mapped = why->account->mapped;
	size_t length = why->account->mapped_count ? strcspn(mapped[0].stack, "\n") + 1 : 0;
	for (size_t i = 0; i < why->account->mapped_count; i++) {
		why->facts.mapped_bytes += mapped[i].resident;
		why->facts.mapper_bytes += strncmp(mapped[i].stack, mapped[0].stack, length) == 0 ? mapped[i].resident : 0;
	}
	why->facts.mapper = length ? mapped[0].stack : NULL;
}

/* All facts are there. */
static void conclude(struct cairn_why *why)
{
	cairn_account_take_walk(why->account, &why->walk);
	cairn_account_settle(why->account);
	for (size_t i = 0; i < why->walk.heap_count; i++)
		if (why->walk.heaps[i].problem[0])
			note(why, "%s: %.*s", cairn_walk_name(why->walk.heaps[i].kind), (int)sizeof why->walk.heaps[i].problem,
			     why->walk.heaps[i].problem);
	if (why->walk.problem[0])
		note(why, "%.*s", (int)sizeof why->walk.problem, why->walk.problem);
	why->facts.bill = &why->account->bill;
	why->facts.bill_facts = &why->account->facts;
	why->facts.walk = &why->walk;
	why->facts.huge = &why->huge;
	why->facts.pid = why->account->pid;
	take_mapper(why);
	cairn_causes_find(&why->causes, &why->facts);
}

/* Walks the heaps of process PID, twice if that is quick. */
static void walk(struct cairn_why *why, int pid)
{
	struct cairn_error error;
	if (!cairn_walk_process(&why->walk, pid, NULL, &error)) {
		note(why, "its heap could not be read: %s", error.text);
		cairn_walk_free(&why->walk);
		return;
	}
	double first = (double)why->walk.sum.returnable;
	if (why->walk.took_ns < short_walk_ns) {
		cairn_walk_free(&why->walk);
		if (!cairn_walk_process(&why->walk, pid, NULL, &error))
			cairn_walk_free(&why->walk);
		why->facts.drift = fabs((double)why->walk.sum.returnable - first);
	}
}

/* What DUMP says, of which the account is taken: who mapped memory, growth by ages, who pins pages, huge pages and the control group. */
static void take_dump(struct cairn_why *why, struct cairn_bytes dump, const struct cairn_trailer *trailer, const char *name)
{
	const struct cairn_walk_heap *unread = cairn_walk_unread(&why->walk);
	cairn_walked_read(trailer, &why->huge, &why->facts.group);
	if (!why->account->mapped)
		cairn_account_name_mapped(why->account, dump, name, unread ? unread->module : "");
	judge_ages(why, dump, name);
	cairn_why_pins(why, dump, name);
}

bool cairn_why_target(struct cairn_why *why, const char *name, const char *token, struct cairn_error *error)
{
	struct cairn_target target;
	struct cairn_buffer body = {0};
	struct cairn_error reason;
	why->account = cairn_array_zero(1, sizeof *why->account);
	why->has_agent = cairn_target_find_profile(&target, name, token, error) && cairn_target_snapshot(&target, &body, error);
	int pid = why->has_agent ? cairn_target_process(&target) : target.pid;
	if (!why->has_agent) { /* then the kernel and the walk say what they can */
		cairn_buffer_free(&body);
		if (pid <= 0 || !cairn_account_target(why->account, name, token, error))
			return false;
		walk(why, pid);
		if (why->walk.image)
			cairn_huge_measure(&why->huge, why->walk.image);
		cairn_group_of(&why->facts.group, pid);
	} else {
		if (pid > 0)
			walk(why, pid);
		if (why->walk.heap_count && !cairn_walked_add(&body, pid, &why->walk, &reason))
			note(why, "which objects keep free memory is unknown: %s", reason.text);
		struct cairn_bytes text = cairn_buffer_bytes(&body);
		struct cairn_trailer trailer;
		bool good = cairn_account_text(why->account, text, name, pid, error);
		if (good && cairn_walk_unread(&why->walk)) /* then its own statistics say what they can */
			cairn_account_ask_malloc(why->account, &target);
		if (good && cairn_trailer_read(text, &trailer))
			take_dump(why, text, &trailer, name);
		if (good && pid > 0 && !why->facts.group.known)
			cairn_group_of(&why->facts.group, pid);
		cairn_buffer_free(&body);
		if (!good)
			return false;
	}
	conclude(why);
	return true;
}

/* The course of the dumps of a folder; the ages in the newest one if there are too few. */
static void judge_series(struct cairn_why *why, char *name)
{
	enum { least = 3 };
	struct cairn_series series = {0};
	struct cairn_view view = {0};
	struct cairn_error error;
	struct cairn_leaks leaks;
	struct cairn_judgement judgement;
	struct cairn_view_options options = {.fold_wrappers = true};
	struct cairn_source_options source = {.quiet = true, .with_freed = true};
	if (cairn_source_series(&series, &source, &options, least, 1, 1, &name, &error) && series.profile.sample_count &&
	    cairn_view_make(&view, &series.profile, &options, &error)) {
		cairn_leaks_rank(&leaks, &series, &view);
		cairn_judge(&judgement, &series, &leaks, &view, &(struct cairn_judge_context){0});
		take_growth(why, &judgement);
		cairn_leaks_free(&leaks);
	}
	cairn_view_free(&view);
	cairn_series_free(&series);
}

bool cairn_why_file(struct cairn_why *why, char *name, struct cairn_error *error)
{
	struct cairn_dump_files list = {0};
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	struct cairn_trailer trailer;
	why->account = cairn_array_zero(1, sizeof *why->account);
	bool good = cairn_account_file(why->account, name, error) && cairn_files_list(&list, 1, &name, error) &&
		    cairn_files_text(cairn_files_newest(&list, false)->path, &text, error);
	if (good) {
		struct cairn_bytes dump = cairn_buffer_bytes(&text);
		bool known = cairn_trailer_read(dump, &trailer);
		if (!known || !cairn_walk_read(&why->walk, &trailer))
			note(why, "the newest dump does not say what is free in the heap: 'cairn dump PID' and 'cairn watch' write dumps "
				  "that do");
		if (known)
			take_dump(why, dump, &trailer, name);
		if (list.count > 1)
			judge_series(why, name);
		why->account->pid = 0;
		conclude(why);
	}
	cairn_files_free(&list);
	cairn_buffer_free(&text);
	return good;
}

void cairn_why_account(struct cairn_account *account, struct cairn_bytes dump, const char *name)
{
	static const unsigned shown = 1u << CAIRN_CAUSE_GROWTH | 1u << CAIRN_CAUSE_CACHE | 1u << CAIRN_CAUSE_LIVE |
				      1u << CAIRN_CAUSE_FILES | 1u << CAIRN_CAUSE_UNREAD;
	struct cairn_why *why = cairn_array_zero(1, sizeof *why);
	struct cairn_trailer trailer;
	why->account = account;
	if (!cairn_trailer_read(dump, &trailer) || !cairn_walk_read(&why->walk, &trailer)) {
		cairn_account_settle(account);
	} else {
		take_dump(why, dump, &trailer, name);
		conclude(why);
		snprintf(account->cause, sizeof account->cause, "%s", cairn_cause_name(why->causes.cause));
		snprintf(account->sentence, sizeof account->sentence, "%s", why->causes.sentence);
		account->is_outside = !(shown >> why->causes.cause & 1);
	}
	cairn_walk_free(&why->walk);
	cairn_arena_free(&why->arena);
	free(why);
}

void cairn_why_free(struct cairn_why *why)
{
	if (why->account)
		cairn_account_free(why->account);
	cairn_walk_free(&why->walk);
	cairn_arena_free(&why->arena);
	*why = (struct cairn_why){0};
}
