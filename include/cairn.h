/* cairn.h - heap profiling for a service, inside the service.
 *
 * Two ways in. Without touching the service:
 *
 *     LD_PRELOAD=libcairn.so.1 CAIRN_CONF=enable_heap_profiling:true ./service
 *
 * Or linked (`pkg-config --cflags --libs cairn`) and started by a call:
 *
 *     struct cairn_options options = {.size = sizeof options, .listen = "127.0.0.1:9999"};
 *     char error[256];
 *     if (!cairn_start(&options, error, sizeof error))
 *         log("no heap profiling: %s", error);
 *
 * A preloaded agent samples without a thread of its own, and starts one when it is asked for more than a profile (cairn(1), "When the agent
 * starts"). Then, or once cairn_start was called, the process has its own unix socket, which the `cairn` command finds by PID, and the
 * control endpoints of GreptimeDB, Databend, userver, RisingWave, TiKV, Go and jeprof; `GET /` lists them. A service with its own
 * HTTP server can mount the same endpoints in it with cairn_answer.
 *
 * Two engines can profile. jemalloc's own profiler is used if the service was started with it enabled (MALLOC_CONF=prof:true);
 * everywhere else Cairn's own engine samples, on glibc's malloc, tcmalloc, mimalloc, jemalloc or any other allocator of a dynamically
 * linked program. It changes no allocation: calls of malloc and its relatives go through the agent. `engine:jemalloc`
 * and `engine:cairn` choose one. Nothing of the service is touched before sampling is first switched on. Programs built with
 * AddressSanitizer or ThreadSanitizer are left alone.
 *
 * The agent never aborts, prints, or allocates from the service's malloc while it works. It has one thread for requests, up to two for
 * slow work, one for slow work of local clients while those are busy, and one for dumps that a rule asks for, all with signals blocked.
 * Snapshots are taken on those threads, never on the caller's. No thread of the service ever waits for a lock of the agent, but it may
 * wait for jemalloc's: while jemalloc writes a snapshot, a thread that allocates or frees a sampled object, or forks, may wait up to tenths
 * of a second if there are very many samples. A fork waits while the agent reads the loader's list, for at most a tenth of a second.
 * A forked child has none of the agent's threads before it calls a function below, or somebody asks for them; where the configuration has
 * work for an agent, such as `listen`, its first sample starts one.
 *
 * Configuration, later wins: with Cairn's engine prof_active, lg_prof_sample, prof_prefix and lg_prof_interval of a MALLOC_CONF with
 * prof:true, as enable_heap_profiling, period, prefix and interval; `struct cairn_options`, the TOML file named by CAIRN_CONFIG, CAIRN_CONF
 * (`listen:127.0.0.1:9999,token:secret`). GET /cairn/status shows the result. `period:512K` and `ledger_bytes:16M` set the sampling period
 * and the memory for samples of Cairn's engine. `unwinder:jemalloc` lets jemalloc use its own unwinder,
 * `depth:64` limits stacks to 64 frames, `budget:1%` limits heap profiling to 1 % of the CPU time. `memory:64M` limits the memory of
 * requests, snapshots and answers together; a request that does not fit gets a 503. A quarter of it is reserved for the unix socket and
 * for cairn_answer, whose replies count until they are freed.
 *
 * Automatic dumps: with `dumps:/var/dumps,share:90%` the agent writes a dump when the process's own memory reaches 90 % of its limit
 * (control group or machine), so that there is a dump after an OOM kill. Further rules, each with its own key: `grow:20M` within
 * `every:10m`, `high:100M` above any dump before, `pressure:10%`, `time:1h`, `interval:4G` allocated, `start:true`; `distance:10s` is the
 * minimum time between two dumps of one rule (default: 10s, and one second for `interval`). The agent then keeps the folder within
 * `keep_count` (default: 100 dumps), `keep_bytes` (default: 1G) and `keep_age` (default: none; `7d` is a week). The first, the highest and
 * the newest dump of a process always stay. Without `dumps` and these limits, dumps go to the folder of `prefix`, which may have dumps of
 * others: then only those of this process are counted and removed. No dump is written that would leave less than `keep_free` on the disk
 * (default: a twentieth of it, at most 1G). Without any of these keys the agent writes and removes nothing by itself.
 *
 * The file has these keys in its section [cairn], as `listen = "127.0.0.1:9999"`; the rest of it may be the service's own. The agent also
 * understands GreptimeDB's `enable_heap_profiling` in [memory], and RisingWave's `dir`, `enable_auto` and `threshold_auto` in
 * [server.heap_profiling].
 *
 * Any thread may call any function, but not from a signal handler. ERROR receives a terminated sentence, truncated to SIZE; it may be NULL.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_H
#define CAIRN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAIRN_API __attribute__((visibility("default")))

/* Most services set only `size` and leave the rest zero. Strings are copied. */
struct cairn_options {
	/* sizeof(struct cairn_options), so that a program and a library of different versions understand each other. */
	size_t size;
	/* TCP address to listen on besides the unix socket: "127.0.0.1:9999", ":9999", "[::1]:9999". NULL: none. An address
	 * that is not loopback needs a token. */
	const char *listen;
	/* Required from every TCP client as `Authorization: Bearer TOKEN`: 1 to 4096 visible ASCII characters. NULL: none. */
	const char *token;
	/* The folder for dump files. NULL: the folder of prof_prefix in MALLOC_CONF, else the working folder with Cairn's engine. */
	const char *dumps;
	/* The cairn command, which symbolizes and draws. NULL: beside libcairn.so, else on PATH. */
	const char *tool;
	/* 1 starts sampling now, -1 leaves it off, 0 keeps the setting of MALLOC_CONF (off with Cairn's engine if there is no
	 * prof:true). */
	int heap_profiling;
	/* jemalloc's mallctl and malloc_stats_print, for a statically linked and stripped program, where the agent cannot find
	 * them. NULL: the agent searches for them under any prefix. */
	int (*mallctl)(const char *name, void *old_value, size_t *old_size, void *new_value, size_t new_size);
	void (*malloc_stats_print)(void (*write)(void *context, const char *text), void *context, const char *options);
};

/* Starts the agent. True if it runs, even if it ran already (a preloaded agent keeps its own options). False in a setuid process, if no
 * thread can be started, if OPTIONS lacks its size, and if it should listen on TCP with an invalid token (empty, too long, or in a
 * CAIRN_CONFIG that cannot be read). OPTIONS may be NULL. */
CAIRN_API bool cairn_start(const struct cairn_options *options, char *error, size_t size);

/* Stops the agent, its threads and its sockets; returns when they are gone. jemalloc's profiler goes on. Cairn's engine stops sampling and
 * no longer sees what is freed, so that its samples are discarded when it is switched on again. */
CAIRN_API void cairn_stop(void);

/* The state of the heap profiler. */
enum cairn_state {
	CAIRN_UNAVAILABLE,  /* this process cannot be profiled: a sanitizer has its memory, or engine:jemalloc and no jemalloc in use */
	CAIRN_NOT_BUILT,    /* jemalloc was built without profiling */
	CAIRN_NOT_ENABLED,  /* started without prof:true; only a restart changes that */
	CAIRN_INACTIVE,     /* ready, not sampling */
	CAIRN_ACTIVE
};
CAIRN_API enum cairn_state cairn_state(void);

/* The body of GET /cairn/status, terminated and cut to SIZE. Returns its whole length, as snprintf does. */
CAIRN_API size_t cairn_status(char *json, size_t size);

/* Starts and stops sampling. Samples of live memory are kept when it stops. */
CAIRN_API bool cairn_activate(char *error, size_t size);
CAIRN_API bool cairn_deactivate(char *error, size_t size);

/* Discards all samples, so that the profile covers new allocations only, and sets the sampling period to PERIOD bytes (0 keeps it;
 * jemalloc rounds down to a power of two). */
CAIRN_API bool cairn_reset(uint64_t period, char *error, size_t size);

/* Sets whether a dump is written whenever memory in use reaches a new high: by jemalloc without limiting their number, by Cairn's engine in
 * steps of a sixteenth and within the limits of the folder. */
CAIRN_API bool cairn_gdump(bool active, char *error, size_t size);

/* A descriptor of the ledger of Cairn's engine, only for reading, which the caller closes; -1 if there is none (jemalloc's engine,
 * sampling was never on, or there is no /proc). The ledger outlives the process for as long as somebody has it open: a supervisor that is
 * handed the descriptor (SCM_RIGHTS) copies it to a file when the service has ended, however it ended, and has its last moment:
 * `cairn top FILE`, `cairn leaks FILE`. `cairn watch` does so by itself. Any thread may call it. */
CAIRN_API int cairn_ledger(void);

/* Writes the current heap profile, with Cairn's trailer, to an open descriptor, or to a new file at PATH, which appears complete or not at
 * all and never replaces another. A profile of Cairn's engine also has the ages of live objects, the lifetimes of freed ones, the highest
 * point, slack, and what the service mapped itself (doc/ledger.md). Writes on the calling thread: if the descriptor may be a broken pipe,
 * the caller blocks SIGPIPE. Beyond RLIMIT_FSIZE it fails with a message, and SIGXFSZ is not raised. */
CAIRN_API bool cairn_snapshot_to(int descriptor, char *error, size_t size);
CAIRN_API bool cairn_snapshot_file(const char *path, char *error, size_t size);

/* Passes jemalloc's statistics, as printed by malloc_stats_print with OPTIONS (NULL for text, "J" for JSON), to WRITE piece by piece on
 * the calling thread. False if there is no jemalloc. */
CAIRN_API bool cairn_statistics(void (*write)(void *context, const char *text), void *context, const char *options);

/* Custom heaps: pools, arenas, buffer caches, GPU memory, or all of a static program. Tell Cairn's engine what they hand out, and it is
 * sampled like everything else and shown by heap (`cairn tags`). Cheap enough to leave in: a subtraction for an allocation, one look into
 * a table for a free, while sampling is on or off.
 *
 * The number of the heap called NAME (up to 31 bytes), the same for the same name; 0 after the 63rd, which counts as malloc. */
CAIRN_API unsigned cairn_heap(const char *name);

/* HEAP has handed out SIZE bytes, which it will know again by ID: an address, an offset, any number that no other live object of the
 * heap has. Both may be called from any thread. An object whose free is not reported stays in the profile. */
CAIRN_API void cairn_heap_allocated(unsigned heap, uint64_t id, size_t size);
CAIRN_API void cairn_heap_freed(unsigned heap, uint64_t id);

/* An answer to a request. Everything in it lives until cairn_reply_free, also in a child forked meanwhile. */
struct cairn_reply {
	int status;          /* 200, 404, … */
	const char *type;    /* Content-Type */
	const char *headers; /* further header lines, each ended by CR LF; may be empty */
	const void *body;
	size_t length;
	void *owner; /* the library's */
};

/* Answers a request that came in through the service's own HTTP server: METHOD and TARGET as in the request line ("POST",
 * "/debug/prof/mem?output=proto"), CONTENT_TYPE of the body or NULL. Waits for the answer; snapshots and drawings are made on the
 * agent's threads. The service decides who may ask: no token is checked here. POST "/cairn/detach" is refused (403), since it would
 * let a client end the agent: cairn_stop does that. False only if there is no memory for a reply.
 *
 * So a service can have any report about itself, made by the cairn command: GET "/cairn/report/NAME" is JSON for top, tree, traces, tags,
 * churn, leaks (by the ages of live objects) and rss (the breakdown of resident memory), or their text with "?format=text"; collapsed
 * stacks, a picture for flame and a page for html. The query takes "older=10m", "younger=1m", "peak=true", "slack=true",
 * "fragmentation=true" and "mappings=all" with all but churn, leaks and rss. What only Cairn's engine knows is an error with jemalloc's. */
CAIRN_API bool cairn_answer(const char *method, const char *target, const char *content_type, const void *body, size_t length,
			    struct cairn_reply *reply);
CAIRN_API void cairn_reply_free(struct cairn_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
