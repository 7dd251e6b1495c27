/* account.c - resident memory of a process or a dump, and what a reader should know about the numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/rss/account.h"

#include "base/json.h"
#include "base/note.h"
#include "base/text.h"
#include "base/time.h"
#include "live/files.h"
#include "live/target.h"
#include "process/clock.h"
#include "process/memory.h"
#include "profile/read.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct cairn_error *new_note(struct cairn_account *account)
{
	return account->note_count < CAIRN_ACCOUNT_NOTES ? &account->notes[account->note_count++] : NULL;
}

/* Takes the limit of process PID, unless a lower one is known. */
static void take_limit(struct cairn_account *account, int pid)
{
	struct cairn_memory memory;
	struct cairn_memory_reading reading = {0};
	struct cairn_error error;
	if (!cairn_memory_open(&memory, "", pid, &error))
		return;
	cairn_memory_read(&memory, cairn_clock_ns(), &reading);
	cairn_memory_close(&memory);
	account->available = reading.host_available;
	if (!reading.limit || (account->limit && account->limit <= reading.limit))
		return;
	account->limit = reading.limit;
	account->limit_of_group = reading.limit_of_group;
}

/* Of all heaps together. What the allocators count themselves covers only the one that malloc leads to. */
static void take_all(struct cairn_bill_facts *facts, const struct cairn_walk_sum *sum)
{
	memset(&facts->counts, 0, sizeof facts->counts);
	facts->malloc = CAIRN_BILL_WALKED;
	facts->has_malloc = true;
	facts->counts.physical = sum->resident;
	facts->counts.used = sum->live;
	facts->counts.cache = sum->cached;
	facts->counts.free = sum->resident_free;
	facts->counts.system = sum->resident;
}

bool cairn_account_take_walk(struct cairn_account *account, const struct cairn_walk *walk)
{
	struct cairn_bill_facts *facts = &account->facts;
	const struct cairn_walk_heap *heap = NULL;
	bool others = false;
	for (size_t i = 0; i < walk->heap_count; i++) {
		if (!heap || walk->heaps[i].sum.resident > heap->sum.resident)
			heap = &walk->heaps[i];
		others |= walk->heaps[i].kind != CAIRN_WALK_GLIBC && walk->heaps[i].sum.resident > 0;
	}
	if (!heap || facts->has_allocator || (facts->has_malloc && facts->malloc != CAIRN_BILL_GLIBC))
		return false;
	if (others && !cairn_walk_unread(walk)) {
		take_all(facts, &walk->sum);
		return true;
	}
	if (heap->kind != CAIRN_WALK_GLIBC || (!facts->has_malloc && cairn_walk_unread(walk)))
		return false;
	if (facts->has_malloc) { /* glibc's own figures count what threads keep as used */
		facts->counts.used += facts->counts.cache;
		facts->counts.cache = heap->sum.cached < facts->counts.used ? heap->sum.cached : facts->counts.used;
		facts->counts.used -= facts->counts.cache;
		return true;
	}
	facts->malloc = CAIRN_BILL_GLIBC;
	facts->has_malloc = true;
	facts->counts.mapped = heap->settings.mmapped;
	facts->counts.used = heap->sum.live > heap->settings.mmapped ? heap->sum.live - heap->settings.mmapped : 0;
	facts->counts.cache = heap->sum.cached;
	facts->counts.free = heap->sum.free;
	facts->counts.system = facts->counts.used + facts->counts.cache + facts->counts.free;
	facts->counts.arenas = heap->arena_count;
	return true;
}

/* What the trailer says, and for a process that runs here its mappings as they are now. */
static bool take_trailer(struct cairn_account *account, const struct cairn_trailer *trailer, int pid, struct cairn_error *error)
{
	char span[24];
	struct cairn_smaps now;
	struct cairn_walk walk = {0};
	bool outside = pid && cairn_smaps_read_holes(&now, pid, (uint64_t)64 << 20 /* 256 GiB */);
	if (!cairn_bill_facts_read(&account->facts, trailer, error)) {
		if (!outside)
			return false;
		account->facts.smaps = now;
	}
	if (outside) {
		account->facts.smaps.has_holes = now.has_holes;
		account->facts.smaps.holes = now.holes;
	}
	if (cairn_walk_read(&walk, trailer))
		cairn_account_take_walk(account, &walk);
	cairn_walk_free(&walk);
	if (!trailer->complete)
		cairn_fail(new_note(account), "the trailer is cut short; what is missing counts as nothing");
	account->pid = pid ? pid : trailer->pid;
	account->time_ns = trailer->time_ns;
	snprintf(account->process, sizeof account->process, "%.*s", (int)trailer->executable.length,
		 trailer->executable.data ? trailer->executable.data : "");
	uint64_t number = cairn_trailer_number(trailer, "smaps.before_ms");
	if (cairn_trailer_value(trailer, "smaps.before_ms").length)
		cairn_fail(new_note(account),
			   "the process has ended: its resident memory is as of %s before that, its live objects are those of the "
			   "last moment",
			   cairn_text_span((int64_t)(number % 100000000) * CAIRN_MILLISECOND_NS, span));
	struct cairn_bytes huge = cairn_trailer_value(trailer, "huge_pages");
	snprintf(account->huge_pages, sizeof account->huge_pages, "%.*s", (int)huge.length, huge.data);
	account->limit = cairn_trailer_number(trailer, "limit");
	account->limit_of_group = cairn_trailer_value(trailer, "group.usage").length > 0;
	account->available = cairn_trailer_number(trailer, "available");
	if (pid)
		take_limit(account, pid);
	return true;
}

bool cairn_account_profile(struct cairn_account *account, const struct cairn_profile *profile, struct cairn_error *error)
{
	struct cairn_trailer trailer;
	if (!cairn_trailer_read(cairn_strings_bytes(&profile->strings, profile->facts.trailer), &trailer))
		return cairn_fail(error, "no trailer of Cairn's, which says what the process's memory was");
	if (!take_trailer(account, &trailer, 0, error))
		return false;
	cairn_bill_facts_profile(&account->facts, profile, &trailer);
	return true;
}

bool cairn_account_text(struct cairn_account *account, struct cairn_bytes text, const char *name, int pid, struct cairn_error *error)
{
	struct cairn_trailer trailer;
	if (text.length == 0)
		return cairn_fail(error, "%s: the file is empty", name);
	if (!cairn_trailer_read(text, &trailer))
		return cairn_fail(error,
				  "%s: no trailer of Cairn's, which says what the process's memory was; dumps made by 'cairn dump' and by "
				  "the agent have one",
				  name);
	if (!take_trailer(account, &trailer, pid, error))
		return cairn_fail_within(error, "%s: ", name);
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	if (cairn_profile_sniff(text) == CAIRN_FORMAT_HEAP &&
	    cairn_profile_read(&profile, text, name, &(struct cairn_read_options){0}, NULL))
		cairn_bill_facts_profile(&account->facts, &profile, &trailer);
	cairn_profile_free(&profile);
	return true;
}

/* A process without an agent: what the kernel says of it. */
static bool take_process(struct cairn_account *account, int pid, const struct cairn_error *why, struct cairn_error *error)
{
	char path[32];
	if (!cairn_smaps_read(&account->facts.smaps, pid))
		return errno == ENOENT ? cairn_fail(error, "%s", why->text)
		       : errno == EACCES || errno == EPERM
			       ? cairn_fail(error, "only the user of process %d and root may read its mappings: use sudo", pid)
		       : errno == ESRCH ? cairn_fail(error, "process %d has no memory: it has ended, or is a kernel thread", pid)
					: cairn_fail_errno(error, "cannot read the mappings of process %d", pid);
	account->pid = pid;
	take_limit(account, pid);
	account->time_ns = (int64_t)time(NULL) * CAIRN_SECOND_NS;
	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	char *target = realpath(path, NULL);
	snprintf(account->process, sizeof account->process, "%s", target ? target : "");
	free(target);
	cairn_fail(new_note(account), "without an agent, only the kernel's figures are known. %s", why->text);
	return true;
}

void cairn_account_ask_malloc(struct cairn_account *account, struct cairn_target *target)
{
	struct cairn_buffer body = {0};
	struct cairn_trailer trailer;
	if (!account->facts.has_allocator && cairn_target_ask(target, "GET", "/cairn/memory", &body, &(struct cairn_error){{0}}) &&
	    cairn_trailer_read(cairn_buffer_bytes(&body), &trailer))
		cairn_bill_facts_malloc(&account->facts, &trailer);
	cairn_buffer_free(&body);
}

/* What only a walk of the heaps tells: what threads keep of freed objects, which glibc's own figures count as used, and allocators that
 * nobody can ask, as they are inside the program. */
static void find_heaps(struct cairn_account *account, int pid)
{
	struct cairn_walk walk = {0};
	struct cairn_error error = {.text = "the process runs elsewhere"};
	bool good = pid > 0 && cairn_walk_process(&walk, pid, NULL, &error) &&
		    (cairn_account_take_walk(account, &walk) ||
		     cairn_fail(&error, "%s", cairn_walk_unread(&walk) ? cairn_walk_unread(&walk)->problem : "its heap was not found"));
	cairn_walk_free(&walk);
	if (!good && account->facts.has_malloc)
		cairn_fail(new_note(account), "live objects include what threads keep of freed ones (tcache): %.300s", error.text);
}

bool cairn_account_target(struct cairn_account *account, const char *name, const char *token, struct cairn_error *error)
{
	struct cairn_target target;
	struct cairn_buffer body = {0};
	if (!cairn_target_find_or_start(&target, name, token, error)) {
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
	good = good && cairn_account_text(account, cairn_buffer_bytes(&body), name, cairn_target_process(&target), error);
	if (good)
		cairn_account_ask_malloc(account, &target);
	if (good && !account->facts.has_allocator && (!account->facts.has_malloc || account->facts.malloc == CAIRN_BILL_GLIBC))
		find_heaps(account, cairn_target_process(&target));
	if (good)
		cairn_account_name_mapped(account, cairn_buffer_bytes(&body), name, "");
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

bool cairn_account_file(struct cairn_account *account, char *name, struct cairn_error *error)
{
	struct cairn_dump_files list = {0};
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	bool good = cairn_files_list(&list, 1, &name, error);
	size_t dropped = good && list.count > 1 ? cairn_files_drop_newest(&list, is_measured) : 0;
	if (dropped > 0)
		cairn_note("skipping %zu newer dump%s without figures for resident memory%s", dropped, dropped == 1 ? "" : "s",
			   dropped == 1 ? ": its process had ended" : "");
	good = good && cairn_files_text(cairn_files_newest(&list, false)->path, &text, error) &&
	       cairn_account_text(account, cairn_buffer_bytes(&text), name, 0, error);
	if (good)
		cairn_account_name_mapped(account, cairn_buffer_bytes(&text), name, "");
	cairn_buffer_free(&text);
	cairn_files_free(&list);
	return good;
}

bool cairn_account_has_gaps(const struct cairn_bill_facts *facts)
{
	/* What jemalloc counts without slack is comparable with the profile; of another allocator only that there are no samples counts. */
	bool comparable = facts->has_allocator || !(facts->profile_bytes > 0);
	double live = (double)cairn_bill_live(facts);
	return facts->has_profile && comparable && live > 0.01 * (double)facts->smaps.rss &&
	       facts->profile_bytes + 3 * facts->profile_error < 0.9 * live;
}

/* What a reader should know about the numbers. */
static void add_notes(struct cairn_account *account)
{
	const struct cairn_bill *bill = &account->bill;
	const struct cairn_bill_facts *facts = &account->facts;
	char a[24], b[24];
	if (facts->no_statistics && !facts->has_malloc)
		cairn_fail(new_note(account),
			   "only the kernel's side: this jemalloc was built without statistics (--disable-stats; the feature \"stats\" "
			   "of tikv-jemallocator turns them on), so what it has in its pages is not known");
	if (facts->has_allocator && !bill->has_classes)
		cairn_fail(new_note(account), "size-class slack is part of the live objects: jemalloc counts what it hands out, not what "
					      "was asked for, unless it runs "
					      "with prof:true,prof_stats:true");
	if (facts->malloc && !facts->has_malloc && facts->has_profile)
		cairn_fail(new_note(account),
			   "live objects are the profile's estimate, and the rest of the allocator's memory counts as free");
	if (cairn_account_has_gaps(facts))
		cairn_fail(new_note(account),
			   "the profile knows of %s of %s live: sampling began late or was off, or samples were discarded; see 'cairn "
			   "doctor'",
			   cairn_text_human(facts->profile_bytes, a), cairn_text_human((double)cairn_bill_live(facts), b));
	if (bill->uncertain > bill->total / 100)
		cairn_fail(new_note(account),
			   "up to %s of the allocator's lines may be other anonymous memory; the mappings do not show which",
			   cairn_text_human((double)bill->uncertain, a));
	if (facts->smaps.huge > bill->total / 100)
		cairn_fail(new_note(account), "%s are in transparent huge pages%s%s", cairn_text_human((double)facts->smaps.huge, a),
			   account->huge_pages[0] ? ", which are set to " : "", account->huge_pages);
}

void cairn_account_settle(struct cairn_account *account)
{
	cairn_bill_make(&account->bill, &account->facts);
	add_notes(account);
}

bool cairn_account_is_guess(const struct cairn_account *account)
{
	return account->bill.has_allocator && account->bill.untouched > 0 && !account->facts.smaps.has_holes;
}

struct line {
	const struct cairn_account *account;
	enum cairn_bill_line line;
};

static void columns(struct cairn_table *table, void *context, const void *item)
{
	const struct line *line = item;
	const struct cairn_bill *bill = &line->account->bill;
	const struct cairn_bill_facts *facts = &line->account->facts;
	char size[24], error[24];
	(void)context;
	cairn_table_string(table, "key", NULL, 0, cairn_bill_key(line->line));
	cairn_table_bytes(table, "bytes", "", 12, (double)bill->lines[line->line]);
	cairn_table_share(table, "share", "", 7, 1, (double)bill->lines[line->line] / fmax(1, (double)bill->total));
	cairn_table_string(table, "name", "", 0, cairn_bill_name(line->line));
	cairn_table_flag(table, "allocator", cairn_bill_is_allocator(line->line));
	/* The line has what is resident of the live objects; the profile estimates all of them, touched or not. */
	if (!table->json && line->line == CAIRN_BILL_LIVE && facts->has_profile && !cairn_account_has_gaps(facts))
		cairn_buffer_format(table->out, "  (the profile estimates %s ± %s)",
				    cairn_text_human(facts->profile_bytes, size), cairn_text_human(1.96 * facts->profile_error, error));
}

void cairn_account_lines(const struct cairn_account *account, struct cairn_table *table)
{
	cairn_table_open(table, "lines", '[');
	for (enum cairn_bill_line i = 0; i < CAIRN_BILL_LINES; i++)
		if (table->json || account->bill.lines[i] || i == CAIRN_BILL_REST)
			cairn_table_row(table, columns, NULL, &(struct line){account, i});
	cairn_table_close(table, ']');
}

void cairn_account_json(const struct cairn_account *account, struct cairn_buffer *out)
{
	const struct cairn_bill *bill = &account->bill;
	const struct cairn_bill_facts *facts = &account->facts;
	struct cairn_json json = cairn_json_answer(out);
	cairn_json_text(&json, "process", cairn_bytes_of(account->process));
	cairn_json_integer(&json, "pid", account->pid);
	cairn_json_number(&json, "time", (double)(account->time_ns / CAIRN_MILLISECOND_NS) / 1000);
	cairn_json_integer(&json, "total", (int64_t)bill->total);
	if (account->cause[0]) {
		cairn_json_text(&json, "cause", cairn_bytes_of(account->cause));
		cairn_json_text(&json, "sentence", cairn_bytes_of(account->sentence));
		cairn_json_bool(&json, "outside", account->is_outside);
	}
	if (account->limit)
		cairn_json_integer(&json, "limit", (int64_t)account->limit);
	else
		cairn_json_null(&json, "limit");
	cairn_json_text(&json, "limit_of", cairn_bytes_of(!account->limit ? "" : account->limit_of_group ? "cgroup" : "machine"));
	cairn_json_bool(&json, "allocator", bill->has_allocator);
	struct cairn_table table = cairn_table(NULL, &json, false);
	cairn_account_lines(account, &table);
	cairn_json_integer(&json, "unexplained", (int64_t)bill->lines[CAIRN_BILL_REST]);
	cairn_json_open(&json, "not_resident", '{');
	cairn_json_integer(&json, "retained", (int64_t)bill->retained);
	cairn_json_integer(&json, "untouched", (int64_t)bill->untouched);
	cairn_json_bool(&json, "untouched_estimated", cairn_account_is_guess(account));
	cairn_json_integer(&json, "swap", (int64_t)bill->swap);
	cairn_json_integer(&json, "hugetlb", (int64_t)bill->hugetlb);
	cairn_json_close(&json, '}');
	cairn_json_integer(&json, "uncertain", (int64_t)bill->uncertain);
	cairn_json_open(&json, "mapped", '[');
	for (size_t i = 0; i < account->mapped_count; i++) {
		struct cairn_bytes rest = cairn_bytes_of(account->mapped[i].stack), line;
		cairn_json_open(&json, NULL, '{');
		cairn_json_number(&json, "resident", trunc(account->mapped[i].resident));
		cairn_json_open(&json, "stack", '[');
		while (cairn_text_line(&rest, &line, NULL))
			cairn_json_text(&json, NULL, line);
		cairn_json_close(&json, ']');
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	if (facts->counts.arenas)
		cairn_json_integer(&json, "arenas", (int64_t)facts->counts.arenas);
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
	cairn_json_end(&json);
}
