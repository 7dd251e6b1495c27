/* ledger.h - the layout of the ledger: the memory in which Cairn's sampler keeps its books.
 *
 * One block of fixed size, shared by the process that writes it and whoever holds its descriptor. It begins with a header, which says
 * where the areas lie and how large their records are; a reader takes those numbers from the header, never from this file.
 * doc/ledger.md describes all of it for other programs.
 *
 * Nobody locks. A record is *claimed* by one compare-and-swap, filled, and *published* by one store, so at any instant, also that of
 * a SIGKILL, a record is either whole or visibly not. A live sample that changes has a sequence number besides, odd while it is written.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_LEDGER_H
#define CAIRN_DUMP_LEDGER_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#define CAIRN_LEDGER_MAGIC UINT64_C(0x72656764654c6e43) /* "CnLedger" in the order of memory */

enum {
	CAIRN_LEDGER_VERSION = 1,
	CAIRN_LEDGER_HEADER = 4096,
	CAIRN_LEDGER_LIFETIMES = 32, /* of the histogram: the first is less than 2^14 ns, each of the others reaches twice as far */
	CAIRN_LEDGER_FIRST_LIFETIME = 14,
	CAIRN_LEDGER_HEAPS = 64,     /* malloc is the first */
	CAIRN_LEDGER_WINDOW = 32,    /* slots in a row, round the table, in one of which a sample is if it is there at all */
	CAIRN_LEDGER_OBJECT = 256,   /* estimated objects are counted in parts of so many */
};

/* COUNT records of SIZE bytes from OFFSET on. */
struct cairn_ledger_area {
	uint64_t offset;
	uint32_t size, count;
};

enum cairn_ledger_area_name {
	CAIRN_LEDGER_KEYS,    /* uint64_t, one for each sample */
	CAIRN_LEDGER_SAMPLES, /* struct cairn_ledger_sample */
	CAIRN_LEDGER_STACKS,  /* struct cairn_ledger_stack */
	CAIRN_LEDGER_FRAMES,  /* uint64_t, return addresses, innermost first */
	CAIRN_LEDGER_MODULES, /* struct cairn_ledger_module */
	CAIRN_LEDGER_THREADS, /* struct cairn_ledger_thread */
	CAIRN_LEDGER_TEXT,    /* bytes: paths, without terminators */
	CAIRN_LEDGER_HISTORY, /* struct cairn_ledger_row */
	CAIRN_LEDGER_AREAS,
};

/* What a key says of its sample. Any other value: a live sample; CAIRN_LEDGER_MOVING is set in it while realloc is at work on the
 * object, which counts as live until that has succeeded. */
enum { CAIRN_LEDGER_EMPTY = 0, CAIRN_LEDGER_BUSY = 1, CAIRN_LEDGER_MOVING = 1 };

/* Numbers of highest points; a new ledger begins with the first. */
enum { CAIRN_LEDGER_SAVING = 1, CAIRN_LEDGER_FIRST_PEAK = 2 };

struct cairn_ledger_sample {
	_Atomic uint32_t sequence; /* odd while the rest is being written */
	uint32_t stack;
	uint32_t thread;           /* that allocated it */
	uint32_t heap;             /* 0 is malloc */
	uint64_t address;          /* of a custom heap, the id it gave */
	uint64_t size;             /* as requested */
	uint64_t period;           /* mean distance of samples, in bytes, when it was drawn */
	int64_t birth_ns;          /* by the ledger's clock */
	uint64_t objects;          /* how many objects it stands for, in parts of CAIRN_LEDGER_OBJECT */
	uint32_t slack;            /* usable size beyond SIZE */
	uint32_t reserved;
};

struct cairn_ledger_stack {
	_Atomic uint64_t hash; /* 0 is free, 1 is being written, else it is whole; frames never change after that */
	uint32_t first, depth; /* in the frames */
	/* Sums of estimates over the samples so far. What lives is the difference. Objects in parts of CAIRN_LEDGER_OBJECT. */
	_Atomic uint64_t allocated_samples, allocated_objects, allocated_bytes;
	_Atomic uint64_t freed_samples, freed_objects, freed_bytes;
	_Atomic uint64_t freed_elsewhere;            /* samples that another thread freed */
	/* What thinning took from the sums of what lives, which are allocated less freed less this; signed, since a sample that stays then
	 * stands for more. */
	_Atomic uint64_t thinned_samples, thinned_objects, thinned_bytes;
	/* What lived at the highest point of this number, saved before the first change after it. Of any other number: nothing has changed
	 * since the highest point. CAIRN_LEDGER_SAVING while it is written. */
	_Atomic uint64_t peak;
	_Atomic uint64_t peak_samples, peak_objects, peak_bytes;
	_Atomic uint32_t lifetimes[CAIRN_LEDGER_LIFETIMES]; /* samples freed, by how long they had lived */
};

struct cairn_ledger_module {
	_Atomic uint32_t state; /* 0 free, 1 being written, 2 whole, 3 whole and unloaded since */
	uint32_t id_length;
	uint64_t start, end, offset; /* of an executable range: addresses, and the offset of its start in the file */
	uint8_t build_id[32];
	uint32_t path, path_length; /* in the text */
	uint64_t reserved;
};

struct cairn_ledger_thread {
	_Atomic uint32_t state; /* 0 free, 1 being written, 2 whole */
	uint32_t id;            /* the kernel's */
	_Atomic uint64_t name[2]; /* 16 bytes, terminated */
	int64_t birth_ns;
};

/* A range of addresses that the host mapped itself. */
enum cairn_ledger_mapping_kind {
	CAIRN_LEDGER_MAPPING_ANONYMOUS, /* private memory */
	CAIRN_LEDGER_MAPPING_SHARED,
	CAIRN_LEDGER_MAPPING_FILE,
	CAIRN_LEDGER_MAPPING_RESERVED,  /* addresses only: no access */
	CAIRN_LEDGER_MAPPING_BREAK,     /* by brk or sbrk */
	CAIRN_LEDGER_MAPPING_KINDS,
};

struct cairn_ledger_mapping {
	_Atomic uint64_t start; /* 0 is free, 1 is being written, else it is whole */
	uint64_t length;
	int64_t birth_ns;
	uint32_t stack, thread, kind, reserved;
};

/* Memory at one moment. Bytes, all of them. */
struct cairn_ledger_row {
	_Atomic int64_t time_ns; /* by the ledger's clock; 0 for none, 1 while it is written */
	uint64_t resident;       /* of the process */
	uint64_t usage, limit; /* of the control group that has the tightest limit; else the limit is the machine's memory, and no usage */
	uint64_t live;           /* estimated */
	uint64_t allocated;      /* since sampling began, estimated */
	uint64_t reserved[2];
};

struct cairn_ledger_header {
	uint64_t magic;
	uint32_t version;
	_Atomic uint32_t ready; /* 1 once the header is whole */
	uint64_t bytes;
	struct cairn_ledger_area areas[CAIRN_LEDGER_AREAS];
	/* The process. */
	int32_t pid;
	uint32_t boot;
	uint64_t ticks;      /* its start, see process/life.h */
	int64_t start_ns;    /* since 1970; 0 when unknown */
	int64_t clock_ns;    /* the ledger's clock (CLOCK_MONOTONIC) and */
	int64_t wall_ns;     /* the time since 1970, of one instant */
	char host[80], executable[256], command[256], service[128];
	char heaps[CAIRN_LEDGER_HEAPS][32]; /* names, terminated; the first is malloc's and empty */
	/* State and counts. */
	_Atomic uint64_t period, first_period; /* in force now, and as it was asked for */
	_Atomic uint64_t active;
	_Atomic int64_t active_ns, reset_ns; /* since 1970: sampling since, samples thrown away at; 0 for never */
	_Atomic uint64_t live;               /* samples */
	_Atomic uint64_t taken, freed;       /* samples */
	_Atomic uint64_t replaced;           /* samples whose free was missed: their address was handed out again */
	_Atomic uint64_t dropped, dropped_bytes; /* samples there was no room for, and the bytes they stand for */
	_Atomic uint64_t thinned;                /* samples given up when the period was doubled, which the others now stand for */
	_Atomic uint64_t stacks_lost;            /* samples whose stack there was no room for */
	_Atomic uint64_t stacks_used, frames_used, threads_used, threads_lost, modules_used, modules_lost, text_used;
	_Atomic uint64_t doublings;
	_Atomic int64_t doubled_ns;
	_Atomic uint64_t allocated_bytes, freed_bytes; /* estimates */
	_Atomic uint64_t highest_bytes;                /* the highest that lived at once */
	_Atomic uint64_t thinned_bytes;                /* as of a stack, for all of them; signed */
	_Atomic uint64_t peak;                         /* the number of the highest point so far */
	_Atomic int64_t peak_ns;                       /* and when it was, by the ledger's clock; 0 for never */
	struct cairn_ledger_area mappings;             /* struct cairn_ledger_mapping */
	_Atomic uint64_t mappings_used;                /* how many of its records were ever used */
	_Atomic uint64_t mappings_lost, mappings_lost_bytes; /* for which there was no room */
	char allocator[128];                           /* the object that malloc is in, terminated; "" for the program itself */
};

static_assert(sizeof(struct cairn_ledger_sample) == 64, "a cache line");
static_assert(sizeof(struct cairn_ledger_stack) == 256, "as doc/ledger.md says");
static_assert(sizeof(struct cairn_ledger_module) == 80, "as doc/ledger.md says");
static_assert(sizeof(struct cairn_ledger_thread) == 32, "as doc/ledger.md says");
static_assert(sizeof(struct cairn_ledger_mapping) == 40, "as doc/ledger.md says");
static_assert(sizeof(struct cairn_ledger_row) == 64, "as doc/ledger.md says");
static_assert(sizeof(struct cairn_ledger_header) <= CAIRN_LEDGER_HEADER, "the header is one page");

#endif
