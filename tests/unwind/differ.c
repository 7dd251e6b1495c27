/* differ.c - a preloaded library that takes every sampled stack twice, by Cairn's unwinder and by libgcc's, and counts where
 * they differ. At exit it writes one line to the file named by DIFFER_REPORT, "STACKS IDENTICAL COMPLETE FRAMES", and then up to
 * 16 pairs that differ, as module+offset.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/unwind.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <unwind.h>

enum { depth_most = 256, kept_most = 16 };

static atomic_ulong stacks, identical, complete, frames;
static atomic_uint kept_count;
static struct pair {
	void *ours[depth_most], *theirs[depth_most];
	unsigned ours_count, theirs_count;
	enum cairn_unwind_end end;
} kept[kept_most];

struct trace {
	void **pcs;
	unsigned count;
};

static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *opaque)
{
	struct trace *trace = opaque;
	void *pc = (void *)_Unwind_GetIP(context);
	if (!pc || trace->count == depth_most)
		return _URC_END_OF_STACK;
	trace->pcs[trace->count++] = pc;
	return _URC_NO_REASON;
}

static void compare(void **pcs, unsigned *count, unsigned most)
{
	static _Thread_local struct pair pair __attribute__((tls_model("initial-exec")));
	struct cairn_registers registers;
	cairn_registers_here(&registers);
	pair.end = cairn_unwind(&registers, NULL, pair.ours, depth_most, &pair.ours_count);
	struct trace trace = {pair.theirs, 0};
	_Unwind_Backtrace(note, &trace);
	pair.theirs_count = trace.count;
	/* The first frame is this function, at two places. */
	bool same = pair.ours_count == pair.theirs_count &&
		    memcmp(pair.ours + 1, pair.theirs + 1, (pair.ours_count - 1) * sizeof *pair.ours) == 0;
	stacks++;
	frames += pair.ours_count;
	identical += same;
	complete += pair.end == CAIRN_UNWIND_COMPLETE;
	if (!same) {
		unsigned place = kept_count++;
		if (place < kept_most)
			kept[place] = pair;
	}
	*count = pair.ours_count < most ? pair.ours_count : most;
	memcpy(pcs, pair.ours, *count * sizeof *pcs);
}

static void print_stack(FILE *out, const char *whose, void **pcs, unsigned count)
{
	fprintf(out, "  %s %u:", whose, count);
	for (unsigned i = 0; i < count; i++) {
		Dl_info info;
		if (dladdr(pcs[i], &info) && info.dli_fname)
			fprintf(out, " %s+%#lx%s%s", strrchr(info.dli_fname, '/') ? strrchr(info.dli_fname, '/') + 1 : info.dli_fname,
				(unsigned long)((char *)pcs[i] - (char *)info.dli_fbase), info.dli_sname ? ":" : "",
				info.dli_sname ? info.dli_sname : "");
		else
			fprintf(out, " %p", pcs[i]);
	}
	fputc('\n', out);
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("DIFFER_REPORT");
	if (!path || stacks == 0)
		return;
	char own[4096];
	snprintf(own, sizeof own, "%s.%d", path, (int)getpid());
	FILE *out = fopen(own, "w");
	if (!out)
		return;
	fprintf(out, "%lu %lu %lu %lu\n", stacks, identical, complete, frames);
	for (unsigned i = 0; i < kept_count && i < kept_most; i++) {
		fprintf(out, "differ, %s\n", cairn_unwind_end_name(kept[i].end));
		print_stack(out, "ours", kept[i].ours, kept[i].ours_count);
		print_stack(out, "theirs", kept[i].theirs, kept[i].theirs_count);
	}
	fclose(out);
}

__attribute__((constructor)) static void install(void)
{
	typedef int mallctl_function(const char *, void *, size_t *, void *, size_t);
	static const char *const names[] = {"mallctl", "_rjem_mallctl", "je_mallctl"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		mallctl_function *mallctl = (mallctl_function *)(uintptr_t)dlsym(RTLD_DEFAULT, names[i]);
		void (*hook)(void **, unsigned *, unsigned) = compare;
		if (mallctl && mallctl("experimental.hooks.prof_backtrace", NULL, NULL, &hook, sizeof hook) == 0)
			return;
	}
}
