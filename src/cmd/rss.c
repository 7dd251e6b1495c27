/* rss.c - `cairn rss`: resident memory, split until it adds up.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/files.h"
#include "cmd/target.h"
#include "process/clock.h"
#include "process/memory.h"
#include "profile/read.h"
#include "series/bill_svg.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct options {
	struct cairn_target_options target;
	const char *output;
	bool json;
};

static const struct cairn_option table[] = {
	{'o', "output", "FILE", "write to FILE: a picture if it ends in .svg or .html, JSON if in .json, else text", CAIRN_OPTION_TEXT,
	 offsetof(struct options, output), 0},
	{0, "json", NULL, "print one JSON object instead of a table", CAIRN_OPTION_FLAG, offsetof(struct options, json), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, table, 0},
	{"target", cairn_target_option_table, offsetof(struct options, target)},
	{0},
};

enum { notes_most = 8, name_room = 300 };

/* Everything known about the process that was named. */
struct account {
	struct cairn_bill_facts facts;
	struct cairn_bill bill;
	char process[name_room];
	int pid;
	int64_t time_ns;
	char huge_pages[16];
	uint64_t limit; /* that the process may have, of its control group or the machine; 0 when unknown */
	struct cairn_error notes[notes_most];
	size_t note_count;
};

static struct cairn_error *new_note(struct account *account)
{
	return account->note_count < notes_most ? &account->notes[account->note_count++] : NULL;
}

static uint64_t limit_of(int pid)
{
	struct cairn_memory memory;
	struct cairn_memory_reading reading = {0};
	struct cairn_error error;
	if (!cairn_memory_open(&memory, "", pid, &error))
		return 0;
	cairn_memory_read(&memory, cairn_clock_ns(), &reading);
	cairn_memory_close(&memory);
	return reading.limit;
}

/* From the text that the agent, or a dump, has. NAME is for messages. PID is the process as it is numbered here, 0 for a dump: where it sees
 * no /proc of its own, as in a bare container, ours tells. */
static bool take_text(struct account *account, struct cairn_bytes text, const char *name, int pid, struct cairn_error *error)
{
	struct cairn_trailer trailer;
	char span[24];
	if (text.length == 0)
		return cairn_fail(error, "%s: the file is empty", name);
	if (!cairn_trailer_read(text, &trailer))
		return cairn_fail(error,
				  "%s: no trailer of Cairn's, which says what the process's memory was; dumps made by 'cairn dump' and by "
				  "the agent have one",
				  name);
	struct cairn_smaps now;
	bool outside = pid && cairn_smaps_read_holes(&now, pid, (uint64_t)64 << 20 /* 256 GiB */);
	if (!cairn_bill_facts_read(&account->facts, &trailer, error)) {
		if (!outside)
			return cairn_fail_within(error, "%s: ", name);
		account->facts.smaps = now;
	}
	if (outside) {
		account->facts.smaps.has_holes = now.has_holes;
		account->facts.smaps.holes = now.holes;
	}
	if (!trailer.complete)
		cairn_fail(new_note(account), "the trailer is cut short; what is missing counts as nothing");
	account->pid = pid ? pid : trailer.pid;
	account->time_ns = trailer.time_ns;
	snprintf(account->process, sizeof account->process, "%.*s", (int)trailer.executable.length,
		 trailer.executable.data ? trailer.executable.data : "");
	uint64_t number = cairn_trailer_number(&trailer, "smaps.before_ms");
	if (cairn_trailer_value(&trailer, "smaps.before_ms").length)
		cairn_fail(new_note(account), "the process has ended: its resident memory is as of %s before that, its live objects are those of the "
					      "last moment", cairn_text_span((int64_t)(number % 100000000) * 1000000, span));
	struct cairn_bytes huge = cairn_trailer_value(&trailer, "huge_pages");
	snprintf(account->huge_pages, sizeof account->huge_pages, "%.*s", (int)huge.length, huge.data);
	account->limit = cairn_trailer_number(&trailer, "limit");
	uint64_t outer = pid ? limit_of(pid) : 0;
	if (outer && (!account->limit || outer < account->limit))
		account->limit = outer;
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	if (cairn_profile_sniff(text) == CAIRN_FORMAT_HEAP &&
	    cairn_profile_read(&profile, text, name, &(struct cairn_read_options){0}, NULL))
		cairn_bill_facts_profile(&account->facts, &profile, &trailer);
	cairn_profile_free(&profile);
	return true;
}

/* A process without an agent: what the kernel says of it. */
static bool take_process(struct account *account, int pid, const struct cairn_error *why, struct cairn_error *error)
{
	char path[32];
	if (!cairn_smaps_read(&account->facts.smaps, pid))
		return errno == ENOENT  ? cairn_fail(error, "%s", why->text)
		       : errno == ESRCH ? cairn_fail(error, "process %d has no memory: it has ended, or is a kernel thread", pid)
					: cairn_fail_errno(error, "cannot read the mappings of process %d", pid);
	account->pid = pid;
	account->limit = limit_of(pid);
	account->time_ns = (int64_t)time(NULL) * CAIRN_SECOND_NS;
	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	char *target = realpath(path, NULL);
	snprintf(account->process, sizeof account->process, "%s", target ? target : "");
	free(target);
	cairn_fail(new_note(account), "without an agent, only the kernel's figures are known. %s", why->text);
	return true;
}

/* The figures of an allocator other than jemalloc come only when asked for: it may have to make threads of the host wait. */
static void ask_malloc(struct account *account, struct cairn_target *target)
{
	struct cairn_buffer body = {0};
	struct cairn_trailer trailer;
	if (cairn_target_ask(target, "GET", "/cairn/memory", &body, &(struct cairn_error){{0}}) &&
	    cairn_trailer_read(cairn_buffer_bytes(&body), &trailer))
		cairn_bill_facts_malloc(&account->facts, &trailer);
	cairn_buffer_free(&body);
}

static bool take_target(struct account *account, const char *name, const char *token, struct cairn_error *error)
{
	struct cairn_target target;
	struct cairn_buffer body = {0};
	if (!cairn_target_find(&target, name, token, error)) {
		struct cairn_error why = *error;
		return target.pid > 0 && take_process(account, target.pid, &why, error);
	}
	bool good = cairn_target_snapshot(&target, &body, error);
	if (!good) {
		struct cairn_error why = *error;
		cairn_buffer_free(&body);
		good = cairn_target_ask(&target, "GET", "/cairn/memory", &body, error);
		if (good)
			cairn_fail(new_note(account), "no profile: %s", why.text);
	}
	good = good && take_text(account, cairn_buffer_bytes(&body), name, cairn_target_process(&target), error);
	if (good && !account->facts.has_allocator)
		ask_malloc(account, &target);
	cairn_buffer_free(&body);
	return good;
}

/* Whether the dump at PATH says what the resident memory was. That of a process that had already ended does not. */
static bool is_measured(const char *path)
{
	struct cairn_trailer trailer;
	struct cairn_bill_facts facts = {0};
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	bool measured = cairn_files_text(path, &text, NULL) && cairn_trailer_read(cairn_buffer_bytes(&text), &trailer) &&
			cairn_bill_facts_read(&facts, &trailer, NULL);
	cairn_buffer_free(&text);
	return measured;
}

static bool take_file(struct account *account, char *name, struct cairn_error *error)
{
	struct cairn_dump_files list = {0};
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	bool good = cairn_files_list(&list, 1, &name, error);
	size_t dropped = good && list.count > 1 ? cairn_files_drop_newest(&list, is_measured) : 0;
	if (dropped > 0)
		cairn_note("skipping %zu newer dump%s without figures for resident memory%s", dropped, dropped == 1 ? "" : "s",
			   dropped == 1 ? ": its process had ended" : "");
	good = good && cairn_files_text(cairn_files_newest(&list, false)->path, &text, error) &&
	       take_text(account, cairn_buffer_bytes(&text), name, 0, error);
	cairn_buffer_free(&text);
	cairn_files_free(&list);
	return good;
}

/* Whether the profile knows of clearly less than what lives. */
static bool has_gaps(const struct cairn_bill_facts *facts)
{
	return facts->has_profile && facts->has_allocator &&
	       facts->profile_bytes + 3 * facts->profile_error < 0.9 * (double)cairn_bill_live(facts);
}

/* What a reader should know about the numbers. */
static void add_notes(struct account *account)
{
	const struct cairn_bill *bill = &account->bill;
	const struct cairn_bill_facts *facts = &account->facts;
	char a[24], b[24];
	if (facts->no_statistics)
		cairn_fail(new_note(account), "only the kernel's side: this jemalloc was built without statistics (--disable-stats; the feature \"stats\" "
					      "of tikv-jemallocator turns them on), so what it has in its pages is not known");
	if (facts->has_allocator && !bill->has_classes)
		cairn_fail(new_note(account), "size-class slack is part of the live objects: jemalloc counts what it hands out, not what "
					      "was asked for, unless it runs "
					      "with prof:true,prof_stats:true");
	if (facts->malloc && !facts->has_malloc && facts->has_profile)
		cairn_fail(new_note(account), "the allocator was not asked: live objects are the profile's estimate, and what else is in its "
					      "mappings is taken for free memory that it keeps");
	if (has_gaps(facts))
		cairn_fail(new_note(account),
			   "the profile knows of %s of %s live: sampling began late or was off, or samples were discarded; see 'cairn "
			   "doctor'",
			   cairn_text_human(facts->profile_bytes, a), cairn_text_human((double)cairn_bill_live(facts), b));
	if (bill->uncertain > bill->total / 100)
		cairn_fail(new_note(account), "up to %s of the allocator's lines may be other anonymous memory; mappings here do not tell",
			   cairn_text_human((double)bill->uncertain, a));
	if (facts->smaps.huge > bill->total / 100)
		cairn_fail(new_note(account), "%s are in transparent huge pages%s%s", cairn_text_human((double)facts->smaps.huge, a),
			   account->huge_pages[0] ? ", which are set to " : "", account->huge_pages);
}

/* "2026-11-15 07:12:03 UTC". */
static char *show_time(int64_t ns, char *out, size_t size)
{
	time_t seconds = (time_t)(ns / CAIRN_SECOND_NS);
	struct tm parts;
	if (!gmtime_r(&seconds, &parts) || !strftime(out, size, "%Y-%m-%d %H:%M:%S UTC", &parts))
		out[0] = 0;
	return out;
}

static void describe(const struct account *account, char *out, size_t size)
{
	char date[40];
	snprintf(out, size, "%s (%d), %s", account->process[0] ? account->process : "unknown process", account->pid,
		 show_time(account->time_ns, date, sizeof date));
}

/* Whether it is not known which pages were touched, so that the bill guesses which lines untouched memory is to be taken off from. */
static bool is_guess(const struct account *account)
{
	return account->bill.has_allocator && account->bill.untouched > 0 && !account->facts.smaps.has_holes;
}

/* Beside the lines: what is counted somewhere but not resident. */
static void write_beside(const struct cairn_bill *bill, bool is_guess, struct cairn_buffer *out)
{
	const struct {
		uint64_t bytes;
		const char *text;
	} beside[] = {
		{bill->retained, "address space that the allocator keeps (retained)"},
		{bill->untouched, is_guess ? "handed out or kept by the allocator, but never touched; whether by live objects is estimated"
					   : "handed out or kept by the allocator, but never touched"},
		{bill->swap, "swapped out"},
		{bill->hugetlb, "in pages of hugetlbfs, which the kernel does not count as resident"},
	};
	bool any = false;
	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
		char size[24];
		if (beside[i].bytes == 0)
			continue;
		cairn_buffer_text(out, any ? "" : "\nnot resident:\n");
		cairn_buffer_format(out, "%12s          %s\n", cairn_text_human((double)beside[i].bytes, size), beside[i].text);
		any = true;
	}
}

/* The line is what of the live objects is resident; the profile knows of all of them, touched or not. */
static void write_estimate(const struct cairn_bill_facts *facts, struct cairn_buffer *out)
{
	char size[24], error[24];
	cairn_buffer_format(out, "  (the resident part of %s ± %s, the profile's estimate of all)", cairn_text_human(facts->profile_bytes, size),
			    cairn_text_human(1.96 * facts->profile_error, error));
}

static void write_text(const struct account *account, struct cairn_buffer *out)
{
	const struct cairn_bill *bill = &account->bill;
	char head[name_room + 80], size[24];
	describe(account, head, sizeof head);
	cairn_utf8_show(out, cairn_bytes_of(head));
	cairn_buffer_format(out, "\n%s resident", cairn_text_human((double)bill->total, size));
	if (account->limit)
		cairn_buffer_format(out, ", of a %s limit", cairn_text_human((double)account->limit, size));
	cairn_buffer_text(out, "\n\n");
	for (int i = 0; i < CAIRN_BILL_LINES; i++) {
		if (bill->lines[i] == 0 && i != CAIRN_BILL_REST)
			continue;
		cairn_buffer_format(out, "%12s  %5.1f%%  %s", cairn_text_human((double)bill->lines[i], size),
				    100 * (double)bill->lines[i] / fmax(1, (double)bill->total), cairn_bill_name((enum cairn_bill_line)i));
		if (i == CAIRN_BILL_LIVE && account->facts.has_profile && !has_gaps(&account->facts))
			write_estimate(&account->facts, out);
		cairn_buffer_byte(out, '\n');
	}
	write_beside(bill, is_guess(account), out);
	for (size_t i = 0; i < account->note_count; i++) {
		cairn_buffer_text(out, i ? "note: " : "\nnote: ");
		cairn_utf8_show(out, cairn_bytes_of(account->notes[i].text));
		cairn_buffer_byte(out, '\n');
	}
}

static void write_json(const struct account *account, struct cairn_buffer *out)
{
	const struct cairn_bill *bill = &account->bill;
	const struct cairn_bill_facts *facts = &account->facts;
	struct cairn_json json = cairn_json(out);
	cairn_json_open(&json, NULL, '{');
	cairn_json_text(&json, "process", cairn_bytes_of(account->process));
	cairn_json_integer(&json, "pid", account->pid);
	cairn_json_number(&json, "time", (double)(account->time_ns / 1000000) / 1000);
	cairn_json_integer(&json, "total", (int64_t)bill->total);
	if (account->limit)
		cairn_json_integer(&json, "limit", (int64_t)account->limit);
	else
		cairn_json_null(&json, "limit");
	cairn_json_bool(&json, "allocator", bill->has_allocator);
	cairn_json_open(&json, "lines", '[');
	for (int i = 0; i < CAIRN_BILL_LINES; i++) {
		cairn_json_open(&json, NULL, '{');
		cairn_json_text(&json, "key", cairn_bytes_of(cairn_bill_key((enum cairn_bill_line)i)));
		cairn_json_text(&json, "name", cairn_bytes_of(cairn_bill_name((enum cairn_bill_line)i)));
		cairn_json_integer(&json, "bytes", (int64_t)bill->lines[i]);
		cairn_json_number(&json, "share", (double)bill->lines[i] / fmax(1, (double)bill->total));
		cairn_json_bool(&json, "allocator", cairn_bill_is_allocator((enum cairn_bill_line)i));
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	cairn_json_integer(&json, "unexplained", (int64_t)bill->lines[CAIRN_BILL_REST]);
	cairn_json_open(&json, "not_resident", '{');
	cairn_json_integer(&json, "retained", (int64_t)bill->retained);
	cairn_json_integer(&json, "untouched", (int64_t)bill->untouched);
	cairn_json_bool(&json, "untouched_estimated", is_guess(account));
	cairn_json_integer(&json, "swap", (int64_t)bill->swap);
	cairn_json_integer(&json, "hugetlb", (int64_t)bill->hugetlb);
	cairn_json_close(&json, '}');
	cairn_json_integer(&json, "uncertain", (int64_t)bill->uncertain);
	if (facts->has_profile) {
		cairn_json_open(&json, "profile", '{');
		cairn_json_number(&json, "bytes", trunc(facts->profile_bytes));
		cairn_json_number(&json, "error", trunc(facts->profile_error));
		cairn_json_close(&json, '}');
	} else {
		cairn_json_null(&json, "profile");
	}
	cairn_json_open(&json, "notes", '[');
	for (size_t i = 0; i < account->note_count; i++)
		cairn_json_text(&json, NULL, cairn_bytes_of(account->notes[i].text));
	cairn_json_close(&json, ']');
	cairn_json_close(&json, '}');
	cairn_buffer_byte(out, '\n');
}

static void write_picture(const struct account *account, bool page, struct cairn_buffer *out)
{
	const struct cairn_bill *bill = &account->bill;
	char size[24], retained[24], swap[24], title[80], head[name_room + 80], note[160] = "";
	snprintf(title, sizeof title, "%s resident", cairn_text_human((double)bill->total, size));
	describe(account, head, sizeof head);
	if (bill->has_allocator || bill->swap)
		snprintf(note, sizeof note, "Not resident: %s retained by the allocator, %s never touched, %s swapped out.",
			 cairn_text_human((double)bill->retained, retained), cairn_text_human((double)bill->untouched, size),
			 cairn_text_human((double)bill->swap, swap));
	(page ? cairn_bill_html : cairn_bill_svg)(bill, &(struct cairn_bill_picture){title, head, note}, out);
}

static int run(const void *values, int count, char **operands)
{
	const struct options *options = values;
	struct cairn_error error;
	struct cairn_bytes ending = cairn_bytes_of(options->output ? options->output : "");
	bool svg = cairn_bytes_end_with(ending, ".svg"), page = cairn_bytes_end_with(ending, ".html");
	bool json = options->json || cairn_bytes_end_with(ending, ".json");
	if (count != 1) {
		cairn_say_error("'cairn rss' takes one process or one dump");
		return CAIRN_EXIT_USAGE;
	}
	if (cairn_bytes_end_with(ending, ".png") || cairn_bytes_end_with(ending, ".pdf")) {
		cairn_say_error("'cairn rss' writes .svg, .html, .json or text, not .png or .pdf");
		return CAIRN_EXIT_USAGE;
	}
	struct account *account = calloc(1, sizeof *account);
	if (!account)
		cairn_out_of_memory(sizeof *account);
	int code;
	if (!(cairn_target_is(operands[0]) ? take_target(account, operands[0], options->target.token, &error)
					   : take_file(account, operands[0], &error))) {
		code = cairn_say_failure(&error);
	} else {
		struct cairn_buffer out = cairn_buffer(SIZE_MAX);
		const char *output = options->output;
		cairn_bill_make(&account->bill, &account->facts);
		add_notes(account);
		if (json)
			write_json(account, &out);
		else if (svg || page)
			write_picture(account, page, &out);
		else
			write_text(account, &out);
		code = cairn_say_output(output, cairn_buffer_bytes(&out));
		cairn_buffer_free(&out);
	}
	free(account);
	return code;
}

const struct cairn_command cairn_command_rss = {
	.name = "rss",
	.summary = "break down the resident memory of a process",
	.arguments = "TARGET|DUMP",
	.detail = "TARGET is a PID, an agent's socket, or a URL. DUMP is a dump written by the agent, or a folder of such dumps.\n"
		  "Without an agent, shows only the kernel's figures.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
