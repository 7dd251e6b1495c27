/* why.c - `cairn why`: why resident memory is larger than what the program holds, and what helps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/shared_options.h"
#include "cmd/suffix.h"
#include "cmd/why/compare.h"
#include "cmd/why/trial.h"
#include "live/target.h"
#include "live/why/why.h"
#include "process/clock.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>

struct options {
	struct cairn_target_options target;
	const char *output, *trial, *watch, *compare;
	uint64_t rounds;
	bool json, insists;
};

static const struct cairn_option table[] = {
	{'o', "output", "FILE", "write to FILE: JSON if it ends in .json, else text", CAIRN_OPTION_TEXT, offsetof(struct options, output),
	 0},
	{0, "json", NULL, "print one JSON object instead of text", CAIRN_OPTION_FLAG, offsetof(struct options, json), 0},
	{0, "try", "REMEDY", "try trim, purge, arenas=N, mmap-threshold=SIZE, decay=TIME or thp=never in the process", CAIRN_OPTION_TEXT,
	 offsetof(struct options, trial), 0},
	{0, "for", "TIME", "with --try: watch for this long (default: 30s); with --compare: then end the program", CAIRN_OPTION_TEXT,
	 offsetof(struct options, watch), 0},
	{0, "yes", NULL, "with --try: also what cannot be undone, or may make threads wait", CAIRN_OPTION_FLAG,
	 offsetof(struct options, insists), 0},
	{0, "compare", "SETTINGS", "run a program under each of these settings and allocators; 'help' lists them", CAIRN_OPTION_TEXT,
	 offsetof(struct options, compare), 0},
	{0, "rounds", "N", "with --compare: run it so often under each (default: 3)", CAIRN_OPTION_COUNT, offsetof(struct options, rounds),
	 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, table, 0},
	{"target", cairn_target_option_table, offsetof(struct options, target)},
	{0},
};

static void write_line(struct cairn_buffer *out, const char *text)
{
	cairn_utf8_show(out, cairn_bytes_of(text));
	cairn_buffer_byte(out, '\n');
}

static void write_reasons(const struct cairn_causes *causes, struct cairn_buffer *out)
{
	char size[24];
	for (size_t i = 0; i < causes->reason_count; i++) {
		const struct cairn_cause_reason *reason = &causes->reasons[i];
		cairn_buffer_format(out, "%12s  %5.1f%%  %s", cairn_text_human(reason->bytes, size),
				    100 * reason->bytes / fmax(1, reason->whole),
				    reason->of_group ? "of the control group's charge: " : "");
		write_line(out, reason->text);
	}
}

/* Free memory, divided up: what is returned on request, and what is not and why. */
static void write_free(const struct cairn_causes *causes, struct cairn_buffer *out)
{
	char size[24];
	const struct {
		double bytes;
		const char *text;
	} lines[] = {
		{causes->returnable, "can be returned"},
		{causes->pinned, "on pages that objects keep"},
		{causes->reserved, "kept by the allocator's rules; no call returns it"},
		{causes->cached, "in the allocator's caches"},
	};
	if (!causes->knows_free || !(causes->free > 0))
		return;
	cairn_buffer_format(out, "\n%s free:\n", cairn_text_human(causes->free, size));
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (lines[i].bytes > 0)
			cairn_buffer_format(out, "%12s          %s\n", cairn_text_human(lines[i].bytes, size), lines[i].text);
}

static void write_pins(const struct cairn_why *why, struct cairn_buffer *out)
{
	enum { rows = 5 };
	char size[24], low[24], high[24];
	for (size_t i = 0; i < why->facts.pin_count && i < rows; i++) {
		const struct cairn_cause_pin *pin = &why->pins[i];
		if (pin->bytes < why->causes.pinned / 100)
			break;
		cairn_buffer_format(out, "%s%12s          ", i ? "" : "\nkept by objects of:\n", cairn_text_human(pin->bytes, size));
		cairn_utf8_show(out, cairn_bytes_of(pin->name));
		if (pin->low < pin->high)
			cairn_buffer_format(out, " (95 %%: %s to %s)", cairn_text_human(pin->low, low), cairn_text_human(pin->high, high));
		cairn_buffer_byte(out, '\n');
	}
}

static void write_text(const struct cairn_why *why, struct cairn_buffer *out)
{
	const struct cairn_causes *causes = &why->causes;
	write_line(out, causes->sentence);
	cairn_buffer_byte(out, '\n');
	write_reasons(causes, out);
	write_free(causes, out);
	write_pins(why, out);
	for (size_t i = 0; i < causes->advice_count; i++) {
		cairn_buffer_format(out, "%s%zu. ", i ? "" : "\nwhat helps, by its effect:\n", i + 1);
		write_line(out, causes->advice[i].what);
		if (causes->advice[i].how[0]) {
			cairn_buffer_text(out, "   ");
			write_line(out, causes->advice[i].how);
		}
	}
	for (size_t i = 0; i < why->note_count; i++) {
		cairn_buffer_text(out, i ? "note: " : "\nnote: ");
		write_line(out, why->notes[i].text);
	}
}

static void bytes_json(struct cairn_json *json, const char *key, double bytes)
{
	cairn_json_integer(json, key, (int64_t)bytes);
}

static void pins_json(struct cairn_json *json, const struct cairn_why *why)
{
	cairn_json_open(json, "pinned_by", '[');
	for (size_t i = 0; i < why->facts.pin_count; i++) {
		const struct cairn_cause_pin *pin = &why->pins[i];
		struct cairn_bytes rest = cairn_bytes_of(pin->stack), line;
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "name", cairn_bytes_of(pin->name));
		bytes_json(json, "bytes", pin->bytes);
		bytes_json(json, "bytes_low", pin->low);
		bytes_json(json, "bytes_high", pin->high);
		cairn_json_number(json, "objects", round(pin->objects));
		cairn_json_open(json, "stack", '[');
		while (cairn_text_line(&rest, &line, NULL))
			cairn_json_text(json, NULL, line);
		cairn_json_close(json, ']');
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
}

static void heaps_json(struct cairn_json *json, const struct cairn_walk *walk)
{
	cairn_json_open(json, "heaps", '[');
	for (size_t i = 0; i < walk->heap_count; i++) {
		const struct cairn_walk_heap *heap = &walk->heaps[i];
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "allocator", cairn_bytes_of(cairn_walk_name(heap->kind)));
		cairn_json_text(json, "version", cairn_bytes_of(heap->version));
		cairn_json_text(json, "module", cairn_bytes_of(heap->module));
		cairn_json_bool(json, "read", heap->is_read);
		if (heap->problem[0])
			cairn_json_text(json, "problem", cairn_bytes_of(heap->problem));
		cairn_json_integer(json, "arenas", (int64_t)heap->arena_count);
		cairn_json_integer(json, "resident_bytes", (int64_t)heap->sum.resident);
		cairn_json_integer(json, "live_bytes", (int64_t)heap->sum.live);
		cairn_json_integer(json, "live_objects", (int64_t)heap->sum.live_objects);
		cairn_json_integer(json, "cached_bytes", (int64_t)heap->sum.cached);
		cairn_json_integer(json, "free_bytes", (int64_t)(heap->sum.resident_free + heap->sum.cached));
		cairn_json_integer(json, "returnable_bytes", (int64_t)heap->sum.returnable);
		cairn_json_integer(json, "pinned_bytes", (int64_t)heap->sum.pinned);
		cairn_json_integer(json, "reserved_bytes", (int64_t)heap->sum.reserved);
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
}

static void advice_json(struct cairn_json *json, const struct cairn_causes *causes)
{
	cairn_json_open(json, "advice", '[');
	for (size_t i = 0; i < causes->advice_count; i++) {
		const struct cairn_cause_advice *advice = &causes->advice[i];
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "what", cairn_bytes_of(advice->what));
		cairn_json_text(json, "how", cairn_bytes_of(advice->how));
		if (advice->process > 0) {
			bytes_json(json, "returns_bytes", advice->process);
			bytes_json(json, "returns_to_group_bytes", advice->group);
			bytes_json(json, "error_bytes", advice->error);
			cairn_json_bool(json, "at_most", advice->at_most);
		}
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
}

static void write_json(const struct cairn_why *why, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json_answer(out);
	const struct cairn_causes *causes = &why->causes;
	cairn_json_text(&json, "process", cairn_bytes_of(why->account->process));
	cairn_json_integer(&json, "pid", why->account->pid);
	cairn_json_text(&json, "cause", cairn_bytes_of(cairn_cause_name(causes->cause)));
	cairn_json_text(&json, "sentence", cairn_bytes_of(causes->sentence));
	bytes_json(&json, "resident_bytes", causes->resident);
	bytes_json(&json, "live_bytes", causes->live);
	bytes_json(&json, "free_bytes", causes->free);
	bytes_json(&json, "returnable_bytes", causes->returnable);
	bytes_json(&json, "returnable_error_bytes", causes->returnable_error);
	bytes_json(&json, "returnable_to_group_bytes", causes->returnable_group);
	bytes_json(&json, "pinned_bytes", causes->pinned);
	bytes_json(&json, "reserved_bytes", causes->reserved);
	bytes_json(&json, "cached_bytes", causes->cached);
	bytes_json(&json, "mapped_bytes", causes->outside);
	pins_json(&json, why);
	cairn_json_open(&json, "reasons", '[');
	for (size_t i = 0; i < causes->reason_count; i++) {
		cairn_json_open(&json, NULL, '{');
		cairn_json_text(&json, "cause", cairn_bytes_of(cairn_cause_name(causes->reasons[i].kind)));
		bytes_json(&json, "bytes", causes->reasons[i].bytes);
		bytes_json(&json, "of_bytes", causes->reasons[i].whole);
		cairn_json_text(&json, "text", cairn_bytes_of(causes->reasons[i].text));
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	advice_json(&json, causes);
	heaps_json(&json, &why->walk);
	cairn_json_open(&json, "notes", '[');
	for (size_t i = 0; i < why->note_count; i++)
		cairn_json_text(&json, NULL, cairn_bytes_of(why->notes[i].text));
	cairn_json_close(&json, ']');
	cairn_json_end(&json);
}

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

/* From now on, signals end what is under way, and it is cleaned up. */
static void take_signals(void)
{
	struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* Reads --for, whose default is in *TIME. */
static bool read_time(const struct options *options, int64_t *time)
{
	return !options->watch || (cairn_text_duration(options->watch, time) && *time >= 0);
}

static const char bad_time[] = "--for needs a time such as 30s or 2m";

/* Tries TRIAL in the process NAME, of which WHY was found. */
static int try_remedy(const struct options *options, struct cairn_trial *trial, const struct cairn_why *why, const char *name, bool json)
{
	struct cairn_target target;
	struct cairn_error error;
	int64_t watch = 30 * CAIRN_SECOND_NS;
	read_time(options, &watch);
	take_signals();
	if (!cairn_target_find_or_start(&target, name, options->target.token, &error) ||
	    !cairn_trial_run(trial, why, &target, watch, options->insists, &interrupted, &error))
		return cairn_say_failure(&error);
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	if (json)
		cairn_trial_json(trial, cairn_target_process(&target), &out);
	else
		cairn_trial_text(trial, &out);
	int code = cairn_say_text(options->output, cairn_buffer_bytes(&out), json);
	cairn_buffer_free(&out);
	return code;
}

static void announce(const char *setting, unsigned round)
{
	char text[200];
	snprintf(text, sizeof text, "round %u: %.150s", round, setting);
	cairn_say_note(text);
}

static int compare(const struct options *options, char *const *command, bool json)
{
	struct cairn_compare all = {0};
	struct cairn_error error;
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	uint64_t rounds = options->rounds ? options->rounds : 3;
	struct cairn_compare_plan plan = {.settings = options->compare, .command = command, .rounds = (unsigned)rounds, .begin = announce,
					  .stop = &interrupted};
	int code;
	if (!read_time(options, &plan.for_ns) || (options->watch && plan.for_ns == 0))
		return cairn_say_usage(bad_time);
	take_signals();
	if (strcmp(options->compare, "help") == 0) {
		cairn_compare_help(&out);
		code = cairn_say_text(options->output, cairn_buffer_bytes(&out), json);
	} else if (!command[0] || rounds > CAIRN_COMPARE_ROUNDS) {
		code = cairn_say_usage(command[0] ? "--rounds is a number from 1 to 50"
						  : "--compare needs a program: -- ./service ARGUMENTS");
	} else if (!cairn_compare_run(&all, &plan, &error)) {
		code = cairn_say_failure(&error);
	} else {
		(json ? cairn_compare_json : cairn_compare_text)(&all, &out);
		code = cairn_say_text(options->output, cairn_buffer_bytes(&out), json);
	}
	cairn_compare_free(&all);
	cairn_buffer_free(&out);
	return code;
}

static int run(const void *values, int count, char **operands)
{
	const struct options *options = values;
	struct cairn_error error;
	struct cairn_why why = {0};
	struct cairn_trial trial;
	int64_t time;
	bool json = options->json || cairn_bytes_end_with(cairn_bytes_of(options->output ? options->output : ""), ".json");
	if (options->compare)
		return compare(options, operands, json);
	if (count != 1)
		return cairn_say_usage("'cairn why' takes one process, one dump, or a folder of dumps");
	if (!cairn_suffix_check("why", options->output, (const char *const[]){".json", NULL}, &error))
		return cairn_say_failure(&error);
	if (options->trial && !cairn_target_is(operands[0]))
		return cairn_say_usage("--try needs a running process, not a dump");
	if (options->trial && !cairn_trial_parse(&trial, options->trial, &error))
		return cairn_say_usage(error.text);
	if (!read_time(options, &time))
		return cairn_say_usage(bad_time);
	int code;
	if (!(cairn_target_is(operands[0]) ? cairn_why_target(&why, operands[0], options->target.token, &error)
					   : cairn_why_file(&why, operands[0], &error))) {
		code = cairn_say_failure(&error);
	} else if (options->trial) {
		code = try_remedy(options, &trial, &why, operands[0], json);
	} else {
		struct cairn_buffer out = cairn_buffer(SIZE_MAX);
		(json ? write_json : write_text)(&why, &out);
		code = cairn_say_text(options->output, cairn_buffer_bytes(&out), json);
		cairn_buffer_free(&out);
	}
	cairn_why_free(&why);
	return code;
}

const struct cairn_command cairn_command_why = {
	.name = "why",
	.summary = "explain why resident memory is large, and what helps",
	.arguments = "TARGET|DUMP",
	.detail = "TARGET is a PID, an agent's socket, or a URL. DUMP is a dump, or a folder of dumps. Reads the heap of a process that\n"
		  "runs here from outside, while it goes on; without an agent too.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
