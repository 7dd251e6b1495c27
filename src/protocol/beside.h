/* beside.h - what the command hands to libcairn, which it loads, in the process that stays beside a program with a core (core.h).
 *
 * That process does for the program what the agent does inside others: it keeps the ledger, answers requests, writes dumps. What it takes to
 * change the program is the command's: the library asks for it by the functions here.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROTOCOL_BESIDE_H
#define CAIRN_PROTOCOL_BESIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CAIRN_BESIDE_VERSION = 1, CAIRN_BESIDE_RANGES = 4 };

/* A file that the program has mapped. */
struct cairn_beside_module {
	const char *path;
	uint64_t start, end;    /* all of it */
	uint64_t unwind_header; /* .eh_frame_hdr; 0 for none */
	uint64_t image_start, image_end; /* in which that is, too */
	uint8_t build_id[32];
	uint32_t id_length;
	uint32_t range_count;   /* of its code */
	struct {
		uint64_t start, end, offset;
	} ranges[CAIRN_BESIDE_RANGES];
};

/* What became of counting: texts for people. */
struct cairn_beside_counts {
	char counted[500]; /* the allocators that are */
	char unseen[1024]; /* what is not, and why, in one sentence; "" for nothing */
	char problem[1024];
};

typedef void cairn_beside_see(void *to, const struct cairn_beside_module *module);

struct cairn_beside {
	uint32_t version;
	int pid;                /* of the program, as this process sees it */
	int memory;             /* its memory: /proc/PID/mem */
	int end;                /* a pidfd: readable once it has ended */
	int ledger;             /* the memfd of its ledger, */
	uint64_t ledger_bytes;  /* as long as it is to be, */
	uint64_t ledger_address; /* and where the program has it mapped */
	uint64_t sampling, objects, forget; /* where the core has `cairn_sampling`, `cairn_core_objects`, `cairn_filter_remove` */
	const char *config;     /* settings, as in CAIRN_CONF */
	void *context;          /* of the functions */
	/* Has the program's calls of its allocators counted, or no longer. Returns false with the problem. */
	bool (*count)(void *context, bool on, struct cairn_beside_counts *counts);
	/* Calls SEE for each file that is mapped now. */
	void (*list)(void *context, cairn_beside_see *see, void *to);
	/* Called once the agent answers, or with a problem if it never will. */
	void (*ready)(void *context, const char *problem);
};

/* Exported by libcairn as `cairn_beside_run`. Returns once the program has ended or executes another one, or nobody is to stand
 * beside it any more. */
typedef void cairn_beside_function(const struct cairn_beside *beside);

#endif
