/* trigger.c - applies the rules, and parses their syntax.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/trigger.h"

#include "base/text.h"
#include "base/time.h"

#include <assert.h>
#include <stdio.h>

static const int64_t second = CAIRN_SECOND_NS, usual_every = 600 * CAIRN_SECOND_NS;
static const int64_t longest_pause = 500 * CAIRN_MILLISECOND_NS, shortest_pause = 50 * CAIRN_MILLISECOND_NS;
static const int64_t longest_wait = 300 * CAIRN_SECOND_NS; /* after a dump that could not be written, unless the distance is longer */

/* The factor at which a rule about a share is armed again: slightly below 1, so that memory near the share triggers it only once. */
static const double rearm = 0.95;

const struct cairn_trigger_rules cairn_trigger_usual = {
	.start = 1,
	.grow = 20 << 20,
	.every = 600 * CAIRN_SECOND_NS,
	.share = 0.9,
	.distance = 10 * CAIRN_SECOND_NS,
	.interval_distance = CAIRN_SECOND_NS,
};

bool cairn_trigger_any(const struct cairn_trigger_rules *rules)
{
	return rules->start || rules->grow || rules->high || rules->share > 0 || rules->pressure > 0 || rules->time || rules->interval;
}

static unsigned bit(enum cairn_trigger_reason reason)
{
	return 1U << reason;
}

static int64_t span_of(const struct cairn_trigger_rules *rules)
{
	return rules->every > 0 ? rules->every : usual_every;
}

/* Keeps the lowest reading of the part of the span that contains NOW; of equal readings, the latest. */
static void keep_low(struct cairn_trigger *trigger, int64_t span, uint64_t memory)
{
	int64_t length = span / (CAIRN_TRIGGER_PARTS - 1) + 1, part = trigger->now / length + 1; /* the last part is always incomplete */
	struct cairn_trigger_low *low = &trigger->lows[(uint64_t)part % CAIRN_TRIGGER_PARTS];
	if (low->part != part || memory <= low->memory)
		*low = (struct cairn_trigger_low){trigger->now, part, memory};
}

static void measure_growth(struct cairn_trigger *trigger, int64_t span, uint64_t memory)
{
	trigger->grown = 0;
	trigger->grown_within = 0;
	for (int i = 0; i < CAIRN_TRIGGER_PARTS; i++) {
		const struct cairn_trigger_low *low = &trigger->lows[i];
		if (!low->part || trigger->now - low->time > span || low->memory >= memory || memory - low->memory <= trigger->grown)
			continue;
		trigger->grown = memory - low->memory;
		trigger->grown_within = trigger->now - low->time;
	}
}

/* The speed of the last step, but at least half of the previous speed, so that one quiet reading does not hide fast growth. */
static void measure_speed(struct cairn_trigger *trigger, uint64_t memory, int64_t elapsed)
{
	if (elapsed <= 0)
		return;
	double speed = ((double)memory - (double)trigger->memory) * (double)second / (double)elapsed;
	trigger->speed = speed > trigger->speed / 2 ? speed : trigger->speed / 2;
}

static double share_of(const struct cairn_memory_reading *reading)
{
	return reading->limit ? (double)reading->anonymous / (double)reading->limit : 0;
}

static bool is_share_due(struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules, const struct cairn_memory_reading *reading)
{
	double share = share_of(reading);
	if (share < rules->share * rearm)
		trigger->share_fired = false;
	return rules->share > 0 && share >= rules->share && !trigger->share_fired;
}

/* Page cache reaches the limit all the time and is dropped; it counts only in a group that mostly consists of this process. */
static bool ran_into_limit(const struct cairn_memory_events *before, const struct cairn_memory_reading *reading)
{
	const struct cairn_memory_events *now = &reading->events;
	if (now->oom > before->oom || now->oom_kill > before->oom_kill)
		return true;
	return share_of(reading) >= 0.5 && (now->high > before->high || now->max > before->max);
}

static bool is_pressure_due(struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules,
			    const struct cairn_memory_reading *reading)
{
	if (reading->pressure < rules->pressure * rearm)
		trigger->pressure_fired = false;
	return rules->pressure > 0 &&
	       ((reading->pressure >= rules->pressure && !trigger->pressure_fired) || ran_into_limit(&trigger->events, reading));
}

static unsigned find_due(struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules, const struct cairn_memory_reading *reading)
{
	uint64_t memory = reading->anonymous;
	unsigned due = 0;
	if (rules->start && !trigger->dumped)
		due |= bit(CAIRN_TRIGGER_START);
	if (rules->grow && trigger->grown > rules->grow)
		due |= bit(CAIRN_TRIGGER_GROW);
	if (rules->high && memory > trigger->highest && memory - trigger->highest >= rules->high)
		due |= bit(CAIRN_TRIGGER_HIGH);
	if (is_share_due(trigger, rules, reading))
		due |= bit(CAIRN_TRIGGER_SHARE);
	if (is_pressure_due(trigger, rules, reading))
		due |= bit(CAIRN_TRIGGER_PRESSURE);
	if (rules->interval && reading->allocated > trigger->allocated && reading->allocated - trigger->allocated >= rules->interval)
		due |= bit(CAIRN_TRIGGER_INTERVAL);
	if (rules->time > 0 && trigger->now - trigger->dumped_at >= rules->time)
		due |= bit(CAIRN_TRIGGER_TIME);
	return due;
}

/* When the rule REASON, which applies, may take a dump; at most `now` if it may do so at once. */
static int64_t allowed_at(const struct cairn_trigger *trigger, int reason)
{
	return trigger->tried & 1U << reason ? trigger->tried_at[reason] + trigger->wait[reason] : trigger->now;
}

static void begin(struct cairn_trigger *trigger, const struct cairn_memory_reading *reading, int64_t now)
{
	*trigger = (struct cairn_trigger){
		.seen = true,
		.clock = now,
		.memory = reading->anonymous,
		.highest = reading->anonymous,
		.allocated = reading->allocated,
		.events = reading->events,
	};
}

enum cairn_trigger_reason cairn_trigger_look(struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules,
					     const struct cairn_memory_reading *reading, int64_t now)
{
	if (!trigger->seen)
		begin(trigger, reading, now);
	int64_t elapsed = now > trigger->clock ? now - trigger->clock : 0, span = span_of(rules);
	trigger->clock = now;
	trigger->now += elapsed;
	if (!trigger->allocated || reading->allocated < trigger->allocated) /* it may become known late, and a reset begins anew */
		trigger->allocated = reading->allocated;
	measure_speed(trigger, reading->anonymous, elapsed);
	trigger->memory = reading->anonymous;
	keep_low(trigger, span, reading->anonymous);
	measure_growth(trigger, span, reading->anonymous);
	trigger->due = find_due(trigger, rules, reading);
	for (int reason = CAIRN_TRIGGER_NONE + 1; reason < CAIRN_TRIGGER_REASONS; reason++)
		if (trigger->due & 1U << reason && allowed_at(trigger, reason) <= trigger->now)
			return (enum cairn_trigger_reason)reason;
	return CAIRN_TRIGGER_NONE;
}

static int64_t wait_after(int64_t distance, unsigned failures)
{
	int64_t wait = failures && distance < second ? second : distance;
	for (unsigned i = 1; i < failures && wait < longest_wait; i++)
		wait = wait * 2 < longest_wait ? wait * 2 : longest_wait;
	return wait;
}

void cairn_trigger_dumped(struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules,
			  const struct cairn_memory_reading *reading, enum cairn_trigger_reason reason, bool success)
{
	trigger->failures = success ? 0 : trigger->failures + 1;
	for (int i = CAIRN_TRIGGER_NONE + 1; i < CAIRN_TRIGGER_REASONS; i++)
		if (trigger->due & 1U << i || i == (int)reason) {
			trigger->tried |= 1U << i;
			trigger->tried_at[i] = trigger->now;
			trigger->wait[i] = wait_after(i == CAIRN_TRIGGER_INTERVAL ? rules->interval_distance : rules->distance,
						      trigger->failures);
		}
	if (!success)
		return;
	if (reading->anonymous > trigger->highest)
		trigger->highest = reading->anonymous;
	/* In whole intervals: late looks do not make them fewer. */
	if (trigger->due & bit(CAIRN_TRIGGER_INTERVAL) && reading->allocated > trigger->allocated)
		trigger->allocated += (reading->allocated - trigger->allocated) / rules->interval * rules->interval;
	trigger->events = reading->events;
	trigger->share_fired = trigger->share_fired || trigger->due & bit(CAIRN_TRIGGER_SHARE);
	trigger->pressure_fired = trigger->pressure_fired || trigger->due & bit(CAIRN_TRIGGER_PRESSURE);
	trigger->dumped = true;
	trigger->dumped_at = trigger->now;
	memset(trigger->lows, 0, sizeof trigger->lows);
	keep_low(trigger, span_of(rules), reading->anonymous);
	trigger->due = 0;
}

/* The time until the share of the limit is reached at the current speed, or at a speed that a quiet process may reach at any moment. */
static int64_t time_to_share(const struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules,
			     const struct cairn_memory_reading *reading)
{
	double threshold = rules->share * (double)reading->limit, left = threshold - (double)reading->anonymous;
	double speed = trigger->speed > threshold / 8 ? trigger->speed : threshold / 8;
	if (!(threshold > 0) || trigger->share_fired || left > speed * 3600)
		return longest_pause * 4;
	return left > 0 ? (int64_t)(left / speed * (double)second) : 0;
}

static int64_t earlier(int64_t pause, int64_t other)
{
	return other < pause ? other : pause;
}

int64_t cairn_trigger_pause(const struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules,
			    const struct cairn_memory_reading *reading)
{
	int64_t pause = earlier(longest_pause, time_to_share(trigger, rules, reading) / 4);
	if (pause < shortest_pause)
		pause = shortest_pause;
	if (rules->time > 0 && !(trigger->due & bit(CAIRN_TRIGGER_TIME)))
		pause = earlier(pause, trigger->dumped_at + rules->time - trigger->now);
	for (int reason = CAIRN_TRIGGER_NONE + 1; reason < CAIRN_TRIGGER_REASONS; reason++)
		if (trigger->due & 1U << reason)
			pause = earlier(pause, allowed_at(trigger, reason) - trigger->now);
	return pause > CAIRN_MILLISECOND_NS ? pause : CAIRN_MILLISECOND_NS;
}

const char *cairn_trigger_name(enum cairn_trigger_reason reason)
{
	static const char *const names[] = {"", "share", "pressure", "start", "grow", "high", "interval", "time"};
	static_assert(sizeof names / sizeof *names == CAIRN_TRIGGER_REASONS, "every reason has a name");
	return reason < CAIRN_TRIGGER_REASONS ? names[reason] : "";
}

void cairn_trigger_explain(const struct cairn_trigger *trigger, const struct cairn_trigger_rules *rules,
			   const struct cairn_memory_reading *reading, enum cairn_trigger_reason reason,
			   char *out, size_t size)
{
	char text[24], other[24];
	double memory = (double)reading->anonymous;
	switch (reason) {
	case CAIRN_TRIGGER_SHARE:
		snprintf(out, size, "%.0f%% of the %s limit of %s", 100 * share_of(reading),
			 reading->limit_is_told ? "configured" : reading->limit_of_group ? "group's" : "machine's",
			 cairn_text_human((double)reading->limit, text));
		break;
	case CAIRN_TRIGGER_PRESSURE:
		if (reading->pressure >= rules->pressure)
			snprintf(out, size, "waiting for memory %.0f%% of the time", 100 * reading->pressure);
		else
			snprintf(out, size, "the group ran into its limit of %s", cairn_text_human((double)reading->limit, text));
		break;
	case CAIRN_TRIGGER_START:
		snprintf(out, size, "first dump");
		break;
	case CAIRN_TRIGGER_GROW:
		snprintf(out, size, "%s more in %s", cairn_text_human((double)trigger->grown, text),
			 cairn_text_span(trigger->grown_within, other));
		break;
	case CAIRN_TRIGGER_HIGH:
		snprintf(out, size, "%s above the highest dump", cairn_text_human(memory - (double)trigger->highest, text));
		break;
	case CAIRN_TRIGGER_INTERVAL:
		snprintf(out, size, "%s allocated", cairn_text_human((double)(reading->allocated - trigger->allocated), text));
		break;
	case CAIRN_TRIGGER_TIME:
		snprintf(out, size, "%s since the last dump", cairn_text_span(trigger->now - trigger->dumped_at, text));
		break;
	default:
		snprintf(out, size, "asked for");
	}
}

/* The keywords, and the kind of value that each takes. */
enum kind { SIZE, SPAN, SHARE, SWITCH };

static const struct word {
	const char *name;
	enum kind kind;
	size_t offset;
} words[] = {
	{"start", SWITCH, offsetof(struct cairn_trigger_rules, start)},
	{"grow", SIZE, offsetof(struct cairn_trigger_rules, grow)},
	{"every", SPAN, offsetof(struct cairn_trigger_rules, every)},
	{"high", SIZE, offsetof(struct cairn_trigger_rules, high)},
	{"share", SHARE, offsetof(struct cairn_trigger_rules, share)},
	{"pressure", SHARE, offsetof(struct cairn_trigger_rules, pressure)},
	{"time", SPAN, offsetof(struct cairn_trigger_rules, time)},
	{"interval", SIZE, offsetof(struct cairn_trigger_rules, interval)},
	{"distance", SPAN, offsetof(struct cairn_trigger_rules, distance)},
};

static const struct word *find_word(const char *name)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i].name, name) == 0)
			return &words[i];
	return NULL;
}

const char *cairn_trigger_word(unsigned index)
{
	return index < sizeof words / sizeof *words ? words[index].name : NULL;
}

bool cairn_trigger_set(struct cairn_trigger_rules *rules, const char *name, const char *text, struct cairn_error *error)
{
	const struct word *word = find_word(name);
	if (!word)
		return cairn_fail(error, "unknown rule '%.40s'", name);
	void *field = (char *)rules + word->offset;
	switch (word->kind) {
	case SPAN:
		if (!cairn_text_duration(text, field))
			return cairn_fail(error, "%s takes a time such as 30s, 10m or 1h, not '%.40s'", name, text);
		if (field == &rules->distance)
			rules->interval_distance = rules->distance;
		return true;
	case SIZE:
		return cairn_text_size(text, field) || cairn_fail(error, "%s takes a size such as 20M or 4G, not '%.40s'", name, text);
	case SHARE:
		return cairn_text_share(text, field) || cairn_fail(error, "%s takes a share such as 90%%, not '%.40s'", name, text);
	case SWITCH:
		*(uint64_t *)field = strcmp(text, "true") == 0;
		return *(uint64_t *)field || strcmp(text, "false") == 0 ||
		       cairn_fail(error, "%s is true or false, not '%.40s'", name, text);
	}
	return false;
}

void cairn_trigger_show(const struct cairn_trigger_rules *rules, const char *name, char *out, size_t size)
{
	const struct word *word = find_word(name);
	const void *field = word ? (const char *)rules + word->offset : "";
	if (!word)
		out[0] = 0;
	else if (word->kind == SIZE)
		snprintf(out, size, "%llu", (unsigned long long)*(const uint64_t *)field);
	else if (word->kind == SPAN)
		snprintf(out, size, "%gs", (double)*(const int64_t *)field / (double)second);
	else if (word->kind == SHARE)
		snprintf(out, size, "%g%%", *(const double *)field * 100);
	else
		snprintf(out, size, "%s", *(const uint64_t *)field ? "true" : "false");
}
