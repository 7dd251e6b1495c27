/* ledger.h - the layout of the ledger: the memory in which Cairn's sampler keeps its records.
 *
 * The ledger is one file of fixed length, shared by the process that writes it and any process that holds its descriptor. It begins with a
 * header that gives the positions of the areas and the sizes of their records; a reader takes these numbers from the header, never from
 * this file. doc/ledger.md describes the layout for other programs.
 *
 * Each area gets memory from its beginning on, as records need it; behind that it is a hole. The header says how many records have memory.
 * Whoever reads the file reads zeroes in a hole, but a program that maps it must not look there: it would allocate the pages.
 *
 * There are no locks. A record is *claimed* by one compare-and-swap, filled, and *published* by one store, so at any moment, even that of a
 * SIGKILL, a record is either complete or recognizably incomplete. A live sample that can change also has a sequence number, which is odd
 * while it is being written.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_LEDGER_H
#define CAIRN_DUMP_LEDGER_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#define CAIRN_LEDGER_MAGIC UINT64_C(0x72656764654c6e43) /* "CnLedger" in memory order */

enum {
	CAIRN_LEDGER_VERSION = 1,
	CAIRN_LEDGER_HEADER = 4096,
	CAIRN_LEDGER_LIFETIMES = 32, /* histogram classes: the first is below 2^14 ns, each of the others extends twice as far */
	CAIRN_LEDGER_FIRST_LIFETIME = 14,
	CAIRN_LEDGER_HEAPS = 64,     /* malloc is the first */
	CAIRN_LEDGER_DEPTH = 4096,   /* the most frames of a stack */
	CAIRN_LEDGER_PATH = 4096,    /* the longest path of a module */
	CAIRN_LEDGER_OBJECT = 256,   /* estimated objects are counted in fractions of 1 / 256 */
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

/* The state of a sample, in its key. Any other value means a live sample; CAIRN_LEDGER_MOVING is set in it while realloc is working on the
 * object, which counts as live until realloc has succeeded. */
enum { CAIRN_LEDGER_EMPTY = 0, CAIRN_LEDGER_BUSY = 1, CAIRN_LEDGER_MOVING = 1 };

/* Numbers of peaks; a new ledger starts with the first. */
enum { CAIRN_LEDGER_SAVING = 1, CAIRN_LEDGER_FIRST_PEAK = 2 };

struct cairn_ledger_sample {
	_Atomic uint32_t sequence; /* odd while the rest is being written */
	uint32_t stack;
	uint32_t thread;           /* the thread that allocated it */
	uint32_t heap;             /* 0 is malloc */
	uint64_t address;          /* in a custom heap, the id that the heap gave */
	uint64_t size;             /* as requested */
	uint64_t period;           /* mean distance between samples, in bytes, when it was taken */
	int64_t birth_ns;          /* by the ledger's clock */
	uint64_t objects;          /* the number of objects it stands for, in units of 1 / CAIRN_LEDGER_OBJECT */
	uint32_t slack;            /* usable bytes beyond SIZE */
	uint32_t stack_check;      /* the low half of the stack's hash; 0 for none. With any other, the stack has been given up since, and
				    * so has the sample */
};

struct cairn_ledger_stack {
	_Atomic uint64_t hash; /* 0 is free, 1 is being written, anything else is complete; while it stays the same, so do the frames */
	uint32_t first, depth; /* in the frames */
	/* Sums of estimates over the samples so far; live memory is the difference. Objects are in units of 1 / CAIRN_LEDGER_OBJECT. */
	_Atomic uint64_t allocated_samples, allocated_objects, allocated_bytes;
	_Atomic uint64_t freed_samples, freed_objects, freed_bytes;
	_Atomic uint64_t freed_elsewhere;            /* samples that another thread freed */
	/* What thinning subtracted: live memory is allocated minus freed minus this. Signed, because a sample that remains stands for more
	 * afterwards. */
	_Atomic uint64_t thinned_samples, thinned_objects, thinned_bytes;
	/* What was live at the peak with this number, saved before the first change after it. With any other number, nothing has changed
	 * since the peak. CAIRN_LEDGER_SAVING while it is being written. */
	_Atomic uint64_t peak;
	_Atomic uint64_t peak_samples, peak_objects, peak_bytes;
	_Atomic uint32_t lifetimes[CAIRN_LEDGER_LIFETIMES]; /* freed samples by lifetime; a count stays at its end */
};

/* The state of a module or thread. Everything from COMPLETE on can be read. */
enum cairn_ledger_state {
	CAIRN_LEDGER_STATE_FREE = 0,
	CAIRN_LEDGER_STATE_WRITING = 1,
	CAIRN_LEDGER_STATE_COMPLETE = 2,
	CAIRN_LEDGER_STATE_ENDED = 3, /* complete: a module that was unloaded since, or a thread that has exited and whose record becomes
				       * free unless a live sample or mapping names it */
};

struct cairn_ledger_module {
	_Atomic uint32_t state; /* enum cairn_ledger_state */
	uint32_t id_length;
	uint64_t start, end, offset; /* of an executable range: its addresses, and the file offset of its start */
	uint8_t build_id[32];
	uint32_t path, path_length; /* in the text */
	uint64_t reserved;
};

struct cairn_ledger_thread {
	_Atomic uint32_t state; /* enum cairn_ledger_state */
	uint32_t id;            /* as in the kernel */
	_Atomic uint64_t name[2]; /* 16 bytes, terminated */
	int64_t birth_ns;
};

/* A range of addresses that the host mapped itself. */
enum cairn_ledger_mapping_kind {
	CAIRN_LEDGER_MAPPING_ANONYMOUS, /* private memory */
	CAIRN_LEDGER_MAPPING_SHARED,
	CAIRN_LEDGER_MAPPING_FILE,
	CAIRN_LEDGER_MAPPING_RESERVED,  /* only addresses, without access */
	CAIRN_LEDGER_MAPPING_BREAK,     /* from brk or sbrk */
	CAIRN_LEDGER_MAPPING_KINDS,
};

struct cairn_ledger_mapping {
	_Atomic uint64_t start; /* 0 is free, 1 is being written, anything else is complete */
	uint64_t length;
	int64_t birth_ns;
	uint32_t stack, thread, kind, stack_check; /* the last as in a sample */
};

/* Memory at one moment, in bytes. */
struct cairn_ledger_row {
	_Atomic int64_t time_ns; /* by the ledger's clock; 0 for none, 1 while being written */
	uint64_t resident;       /* of the process */
	uint64_t usage, limit; /* of the control group with the tightest limit; without a group, the limit is the machine's memory, and
			        * there is no usage */
	uint64_t live;           /* estimated */
	uint64_t allocated;      /* since sampling began, estimated */
	uint64_t reserved[2];
};

struct cairn_ledger_header {
	uint64_t magic;
	uint32_t version;
	_Atomic uint32_t ready; /* 1 once the header is complete */
	uint64_t bytes;
	struct cairn_ledger_area areas[CAIRN_LEDGER_AREAS];
	/* The process. */
	int32_t pid;
	uint32_t boot;
	uint64_t ticks;      /* start of the process (process/life.h) */
	int64_t start_ns;    /* since 1970; 0 when unknown */
	int64_t clock_ns;    /* one moment by the ledger's clock (CLOCK_MONOTONIC) */
	int64_t wall_ns;     /* the same moment, since 1970 */
	char host[80], executable[256], command[256], service[128];
	char heaps[CAIRN_LEDGER_HEAPS][32]; /* names, terminated; the first is malloc, and empty */
	/* State and counts. */
	_Atomic uint64_t period, first_period; /* the current period, and the configured one */
	_Atomic uint64_t active;
	_Atomic int64_t active_ns, reset_ns; /* since 1970: when sampling was switched on, and when samples were last discarded; 0 for
					      * never */
	_Atomic uint64_t live;               /* samples */
	_Atomic uint64_t taken, freed;       /* samples */
	_Atomic uint64_t replaced;           /* samples whose free was missed: their address was allocated again */
	_Atomic uint64_t dropped, dropped_bytes; /* samples for which there was no room, and the bytes that they stand for */
	_Atomic uint64_t thinned;                /* samples dropped when the period was doubled; the others now stand for them */
	_Atomic uint64_t stacks_lost;            /* samples with a stack for which there was no room */
	_Atomic uint64_t stacks_used, frames_used, threads_used, threads_lost, modules_used, modules_lost, text_used;
	_Atomic uint64_t doublings;
	_Atomic int64_t doubled_ns;
	_Atomic uint64_t allocated_bytes, freed_bytes; /* estimates */
	_Atomic uint64_t highest_bytes;                /* the most that was live at once */
	_Atomic uint64_t thinned_bytes;                /* as in a stack, for all stacks; signed */
	_Atomic uint64_t peak;                         /* number of the latest peak */
	_Atomic int64_t peak_ns;                       /* when it was, by the ledger's clock; 0 for never */
	struct cairn_ledger_area mappings;             /* struct cairn_ledger_mapping */
	_Atomic uint64_t mappings_used;                /* number of its records that were ever used */
	_Atomic uint64_t mappings_lost, mappings_lost_bytes; /* those for which there was no room */
	char allocator[128];                           /* the file that contains malloc, terminated; "" for the program itself */
	uint64_t grows;                                /* 1 where the counts below hold; 0 where every record has memory */
	_Atomic uint32_t provided[CAIRN_LEDGER_AREAS]; /* records of each area that have memory */
	_Atomic uint32_t mappings_provided;
	uint32_t reserved;
	_Atomic uint64_t stacks_recycled; /* stacks without live samples that were given up for others; their sums are those of stack 0 */
	_Atomic uint64_t before_bytes;    /* anonymous memory that the process had when sampling was switched on; 0 when not known */
	_Atomic uint64_t inherited;       /* 1 in a forked child whose parent was sampled: what it had is the parent's */
	_Atomic uint64_t stopped;         /* 1 once the agent has been detached: nothing is recorded any more, not even what is freed */
	_Atomic uint64_t wanted;          /* 1: a command wants the agent's thread, which the next sample starts. Commands write nothing else */
	char warning[512]; /* in one sentence, what of the process's memory the sampler does not see, and the fix; "" for nothing */
};

static_assert(sizeof(struct cairn_ledger_sample) == 64, "a cache line");
static_assert(sizeof(struct cairn_ledger_stack) == 256, "as doc/ledger.md says");
static_assert(sizeof(struct cairn_ledger_module) == 80, "as doc/ledger.md says");
static_assert(sizeof(struct cairn_ledger_thread) == 32, "as doc/ledger.md says");
static_assert(sizeof(struct cairn_ledger_mapping) == 40, "as doc/ledger.md says");
static_assert(sizeof(struct cairn_ledger_row) == 64, "as doc/ledger.md says");
static_assert(sizeof(struct cairn_ledger_header) <= CAIRN_LEDGER_HEADER, "the header is one page");

#endif
