/* rss.c - `cairn rss`: breaks down resident memory; the parts add up to the total.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/rss/charge.h"
#include "cmd/shared_options.h"
#include "cmd/suffix.h"
#include "live/rss/account.h"
#include "live/target.h"
#include "series/bill_svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct options {
	struct cairn_target_options target;
	const char *output;
	const char *group;
	bool json;
};

static const struct cairn_option own_table[] = {
	{'o', "output", "FILE", "write to FILE: a picture if it ends in .svg or .html, JSON if in .json, else text", CAIRN_OPTION_TEXT,
	 offsetof(struct options, output), 0},
	{0, "json", NULL, "print one JSON object instead of a table", CAIRN_OPTION_FLAG, offsetof(struct options, json), 0},
	{0, "group", "PID|PATH", "break down what a control group is charged: that of a process, or that of a folder", CAIRN_OPTION_TEXT,
	 offsetof(struct options, group), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, own_table, 0},
	{"target", cairn_target_option_table, offsetof(struct options, target)},
	{0},
};

static void describe(const struct cairn_account *account, char *out, size_t size)
{
	char date[24];
	snprintf(out, size, "%s (%d), %s", account->process[0] ? account->process : "unknown process", account->pid,
		 cairn_text_utc(account->time_ns, date));
}

/* After the lines: what is counted somewhere but not resident. */
static void write_beside(const struct cairn_bill *bill, bool is_guess, struct cairn_buffer *out)
{
	const struct {
		uint64_t bytes;
		const char *text;
	} beside[] = {
		{bill->retained, "address space that the allocator keeps (retained)"},
		{bill->untouched, is_guess ? "reserved by the allocator, but never written (estimated)" : "reserved by the allocator, but never written"},
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

/* The call paths that mapped memory directly: a line for each of the largest call paths, with as many names as fit. */
static void write_mapped(const struct cairn_account *account, struct cairn_buffer *out)
{
	enum { rows = 5, names = 4 };
	char size[24];
	size_t least = account->bill.total / 200; /* what is less than that is not worth a line */
	for (size_t i = 0; i < account->mapped_count && i < rows && account->mapped[i].resident >= (double)least; i++) {
		struct cairn_bytes rest = cairn_bytes_of(account->mapped[i].stack), line;
		cairn_buffer_format(out, "%s%12s          ", i ? "" : "\nmapped by the service itself, by call path:\n",
				    cairn_text_human(account->mapped[i].resident, size));
		size_t count = 0;
		for (; count < names && cairn_text_line(&rest, &line, NULL); count++) {
			cairn_buffer_text(out, count ? " < " : "");
			cairn_utf8_show(out, line);
		}
		cairn_buffer_text(out, count ? rest.length ? " < …\n" : "\n" : "unknown\n");
	}
}

static void write_text(const struct cairn_account *account, struct cairn_buffer *out)
{
	const struct cairn_bill *bill = &account->bill;
	char head[CAIRN_ACCOUNT_NAME + 80], size[24];
	describe(account, head, sizeof head);
	cairn_utf8_show(out, cairn_bytes_of(head));
	cairn_buffer_format(out, "\n%s resident", cairn_text_human((double)bill->total, size));
	if (account->limit && account->limit_of_group)
		cairn_buffer_format(out, ", of a %s limit", cairn_text_human((double)account->limit, size));
	else if (account->available)
		cairn_buffer_format(out, ", while the machine has %s available", cairn_text_human((double)account->available, size));
	cairn_buffer_text(out, "\n\n");
	struct cairn_table table = cairn_table(out, NULL, false);
	cairn_account_lines(account, &table);
	write_mapped(account, out);
	write_beside(bill, cairn_account_is_guess(account), out);
	for (size_t i = 0; i < account->note_count; i++) {
		cairn_buffer_text(out, i ? "note: " : "\nnote: ");
		cairn_utf8_show(out, cairn_bytes_of(account->notes[i].text));
		cairn_buffer_byte(out, '\n');
	}
}

static void write_picture(const struct cairn_account *account, bool page, struct cairn_buffer *out)
{
	const struct cairn_bill *bill = &account->bill;
	char size[24], retained[24], swap[24], title[80], head[CAIRN_ACCOUNT_NAME + 80], note[160] = "";
	snprintf(title, sizeof title, "%s resident", cairn_text_human((double)bill->total, size));
	describe(account, head, sizeof head);
	if (bill->has_allocator || bill->swap)
		snprintf(note, sizeof note, "Not resident: %s retained by the allocator, %s never touched, %s swapped out.",
			 cairn_text_human((double)bill->retained, retained), cairn_text_human((double)bill->untouched, size),
			 cairn_text_human((double)bill->swap, swap));
	(page ? cairn_bill_html : cairn_bill_svg)(bill, &(struct cairn_bill_picture){title, head, note}, out);
}

static int run_group(const struct options *options, bool json)
{
	struct cairn_charge charge;
	struct cairn_error error;
	int pid = cairn_target_pid(options->group), code;
	if (!(pid ? cairn_charge_of_process(&charge, pid, &error) : cairn_charge_of_folder(&charge, options->group, &error))) {
		code = cairn_say_failure(&error);
	} else {
		struct cairn_buffer out = cairn_buffer(SIZE_MAX);
		(json ? cairn_charge_json : cairn_charge_text)(&charge, &out);
		code = cairn_say_text(options->output, cairn_buffer_bytes(&out), json);
		cairn_buffer_free(&out);
	}
	cairn_charge_free(&charge);
	return code;
}

static int run(const void *values, int count, char **operands)
{
	const struct options *options = values;
	struct cairn_error error;
	struct cairn_bytes ending = cairn_bytes_of(options->output ? options->output : "");
	bool svg = cairn_bytes_end_with(ending, ".svg"), page = cairn_bytes_end_with(ending, ".html");
	bool json = options->json || cairn_bytes_end_with(ending, ".json");
	if (options->group && (count || svg || page))
		return cairn_say_usage(count ? "--group takes the place of the process or dump"
					     : "the bill of a control group is text or JSON");
	if (options->group)
		return run_group(options, json);
	if (count != 1)
		return cairn_say_usage("'cairn rss' takes one process or one dump");
	if (!cairn_suffix_check("rss", options->output, (const char *const[]){".svg", ".html", ".json", NULL}, &error))
		return cairn_say_failure(&error);
	struct cairn_account *account = calloc(1, sizeof *account);
	if (!account)
		cairn_out_of_memory(sizeof *account);
	int code;
	if (!(cairn_target_is(operands[0]) ? cairn_account_target(account, operands[0], options->target.token, &error)
					   : cairn_account_file(account, operands[0], &error))) {
		code = cairn_say_failure(&error);
	} else {
		struct cairn_buffer out = cairn_buffer(SIZE_MAX);
		const char *output = options->output;
		cairn_account_settle(account);
		if (json)
			cairn_account_json(account, &out);
		else if (svg || page)
			write_picture(account, page, &out);
		else
			write_text(account, &out);
		code = cairn_say_text(output, cairn_buffer_bytes(&out), json || svg || page);
		cairn_buffer_free(&out);
	}
	cairn_account_free(account);
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
