/* inside.c - checks which allocators are part of the program and its libraries, and whether Cairn's own engine counts them, in the words of
 * `cairn attach`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/attach/check.h"
#include "live/core/calls.h"
#include "live/doctor/doctor.h"
#include "live/inside/agent.h"

/* Whether the agent counts it now. */
static bool is_counted(struct cairn_diagnosis *diagnosis, const struct cairn_allocator_found *found)
{
	char inside[1000];
	cairn_diagnosis_field(diagnosis, "engine.inside", inside, sizeof inside);
	return strstr(inside, cairn_allocator_describe(&diagnosis->arena, found)) != NULL;
}

static bool is_by_core(const struct cairn_diagnosis *diagnosis)
{
	return cairn_attach_way_of(diagnosis->pid) == CAIRN_ATTACH_BY_CORE;
}

static bool look_at(struct cairn_agent_count *look, const struct cairn_diagnosis *diagnosis)
{
	if (!is_by_core(diagnosis))
		return cairn_agent_look(look, diagnosis->pid);
	*look = (struct cairn_agent_count){.subject.memory = -1};
	bool opened = cairn_subject_open(&look->subject, diagnosis->pid, NULL);
	if (opened)
		cairn_calls_look(&look->plan, &look->subject);
	return opened;
}

bool cairn_diagnosis_counts_nothing(const struct cairn_diagnosis *diagnosis)
{
	struct cairn_agent_count look;
	if (!is_by_core(diagnosis))
		return false;
	bool counts = !look_at(&look, diagnosis);
	for (size_t i = 0; i < look.plan.count; i++)
		counts |= look.plan.items[i].verdict == CAIRN_PLAN_COUNTED;
	cairn_agent_count_free(&look);
	return !counts;
}

/* One sentence that begins with what is wrong. */
static void check_plan(struct cairn_diagnosis *diagnosis, struct cairn_plan *plan, struct cairn_finding *finding)
{
	const char *seen = "", *unseen = "";
	for (size_t i = 0; i < plan->count; i++) {
		const struct cairn_plan_allocator *item = &plan->items[i];
		const char *name = cairn_allocator_describe(&plan->arena, item->found);
		bool waits = item->verdict == CAIRN_PLAN_COUNTED && diagnosis->has_agent && !is_counted(diagnosis, item->found);
		if (waits)
			cairn_finding_attach(finding, diagnosis);
		if (waits || item->verdict == CAIRN_PLAN_NOT_SEEN)
			unseen = cairn_arena_format(&plan->arena, "%s%s%s is not sampled%s%s", unseen, unseen[0] ? "; " : "", name,
						    waits ? "" : ": ", waits ? "" : item->reason);
		else if (item->verdict == CAIRN_PLAN_COUNTED)
			seen = cairn_arena_format(&plan->arena, "%s%s%s", seen, seen[0] ? ", and " : "", cairn_plan_describe(plan, item));
	}
	if (is_by_core(diagnosis) && !seen[0] && !unseen[0])
		unseen = cairn_calls_unknown;
	const char *who = diagnosis->has_agent ? "Cairn's own engine" : "cairn attach";
	if (seen[0] || unseen[0])
		cairn_finding_say(finding, unseen[0] ? CAIRN_WRONG : CAIRN_RIGHT, "%s%s%s%s%s", unseen, unseen[0] && seen[0] ? "; " : "",
				  seen[0] ? who : "", seen[0] ? " counts " : "", seen);
}

void cairn_check_inside(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	struct cairn_agent_count look;
	if (!diagnosis->pid || !(diagnosis->has_agent ? cairn_diagnosis_is_own_engine(diagnosis) : diagnosis->can_attach || diagnosis->counts_nothing))
		return;
	if (look_at(&look, diagnosis))
		check_plan(diagnosis, &look.plan, finding);
	cairn_agent_count_free(&look);
}
