/* config.h - the agent's configuration: defaults, then with Cairn's engine what MALLOC_CONF says of jemalloc's, then the service's own
 * options, then the file named by CAIRN_CONFIG, then CAIRN_CONF; for each key, the last one wins.
 *
 * CAIRN_CONF has the syntax of MALLOC_CONF: `listen:127.0.0.1:9999,dumps:/var/dumps`. The file is TOML and may be the service's own: only
 * the keys in the table of config.c are read. Invalid keys and values never stop a service; they are stored in `problems` and shown in
 * the status.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROTOCOL_CONFIG_H
#define CAIRN_PROTOCOL_CONFIG_H

#include "dump/engine_kind.h"
#include "dump/listing.h"
#include "dump/trigger.h"

enum cairn_config_origin {
	CAIRN_CONFIG_DEFAULT,
	CAIRN_CONFIG_MALLOC_CONF,
	CAIRN_CONFIG_API,
	CAIRN_CONFIG_FILE,
	CAIRN_CONFIG_ENVIRONMENT
};

/* The keys, in the order in which they are shown. */
enum cairn_config_key {
	CAIRN_KEY_ENABLE_HEAP_PROFILING,
	CAIRN_KEY_LISTEN,
	CAIRN_KEY_TOKEN,
	CAIRN_KEY_HOSTS,
	CAIRN_KEY_DUMPS,
	CAIRN_KEY_TOOL,
	CAIRN_KEY_COMPAT,
	CAIRN_KEY_CONNECTIONS,
	CAIRN_KEY_SECONDS,
	CAIRN_KEY_TOOL_SECONDS,
	CAIRN_KEY_TOOL_MEMORY,
	CAIRN_KEY_MEMORY,
	CAIRN_KEY_UNWINDER,
	CAIRN_KEY_DEPTH,
	CAIRN_KEY_BUDGET,
	CAIRN_KEY_ENGINE,
	CAIRN_KEY_PERIOD,
	CAIRN_KEY_LEDGER,
	CAIRN_KEY_LEDGER_BYTES,
	CAIRN_KEY_PREFIX,
	CAIRN_KEY_AUTO,
	CAIRN_KEY_START,
	CAIRN_KEY_GROW,
	CAIRN_KEY_EVERY,
	CAIRN_KEY_HIGH,
	CAIRN_KEY_SHARE,
	CAIRN_KEY_PRESSURE,
	CAIRN_KEY_TIME,
	CAIRN_KEY_INTERVAL,
	CAIRN_KEY_DISTANCE,
	CAIRN_KEY_KEEP_COUNT,
	CAIRN_KEY_KEEP_BYTES,
	CAIRN_KEY_KEEP_AGE,
	CAIRN_KEY_KEEP_FREE,
	CAIRN_KEY_MODE,
	CAIRN_KEY_LIMIT,
	CAIRN_CONFIG_KEYS,
};

/* Bytes, of `period`. */
#define CAIRN_PERIOD_MOST ((uint64_t)1 << 40)
/* As `listen`: on the process's own socket alone, and from the start. */
#define CAIRN_LISTEN_UNIX "unix"
#define CAIRN_PERIOD_DEFAULT ((uint64_t)512 << 10)

enum cairn_config_unwinder { CAIRN_UNWINDER_JEMALLOC, CAIRN_UNWINDER_CAIRN };

enum cairn_config_switch { CAIRN_CONFIG_OFF, CAIRN_CONFIG_ON, CAIRN_CONFIG_UNSET };

struct cairn_config {
	uint64_t activate;     /* enum cairn_config_switch; unset: as MALLOC_CONF says */
	char listen[128];      /* host:port for TCP; "" for none */
	bool listen_unix;      /* listen:unix was given */
	char token[4097];      /* required from every TCP client; "" for none */
	bool token_unusable;   /* an invalid token was given, or may have been: do not listen on TCP without one */
	char hosts[256];       /* further names, separated by spaces, that a Host header may give */
	char dumps[256];       /* the dump folder; "" for the folder of prof_prefix */
	bool dumps_is_foreign;  /* that folder is RisingWave's setting */
	char tool[256];        /* the cairn command; "" to search for it */
	uint64_t old_contract; /* compat:old - old status codes and content types */
	uint64_t connections;
	uint64_t seconds;      /* for a client to send or take something */
	uint64_t tool_seconds; /* for a child to name or draw */
	uint64_t tool_memory;  /* bytes of address space for it */
	uint64_t memory;       /* bytes that requests, snapshots and answers may hold */
	uint64_t unwinder;     /* enum cairn_config_unwinder */
	uint64_t depth;        /* frames of a stack, at most */
	uint64_t budget;       /* the cost limit for profiling, in millionths of the process's CPU time; 0 for no limit */
	uint64_t engine;       /* enum cairn_engine_kind */
	uint64_t period;       /* mean distance of samples, of Cairn's engine */
	char ledger[256];      /* the file of its ledger; "" for memory */
	uint64_t ledger_bytes; /* of its ledger */
	char prefix[256];      /* prefix of its numbered dumps; jemalloc has prof_prefix */
	uint64_t automatic;    /* enum cairn_config_switch: dump near the limit. On: at 90 % without `share`; unset: as the rules say */
	struct cairn_trigger_rules rules;
	struct cairn_folder_limits keep;
	uint64_t mode;         /* of dump files */
	uint64_t limit;        /* the memory limit of the service, in bytes; 0 for that of its group or the machine */
	enum cairn_config_origin origins[CAIRN_CONFIG_KEYS];
	char problems[512];
};

void cairn_config_default(struct cairn_config *config);

/* The rules for automatic dumps, from all keys together; returns false if there are none. */
bool cairn_config_rules(const struct cairn_config *config, struct cairn_trigger_rules *rules);

/* Whether the agent has work before anybody asks for it: to listen, to write or thin dumps, to keep a ledger in a file, to hold a budget. */
bool cairn_config_has_work(const struct cairn_config *config);

/* The limits of the dump folder. Without any rule or limit, only the free space counts and nothing is ever removed. Their owner is not
 * set. */
void cairn_config_limits(const struct cairn_config *config, struct cairn_folder_limits *limits);

/* Whether the user has set a limit of the folder. */
bool cairn_config_has_limit(const struct cairn_config *config);

/* Whether the limits are for all dumps in the folder: `dumps` or a limit was given. Any other folder, such as the one in which the service
 * runs or the one that RisingWave's settings name, may have dumps that are not Cairn's to remove: there the limits are for those of this
 * process alone. */
bool cairn_config_limits_all(const struct cairn_config *config);

/* Sets one key, in which - and _ are equivalent; an invalid key or value becomes a problem. */
void cairn_config_set(struct cairn_config *config, const char *key, struct cairn_bytes value, enum cairn_config_origin origin);

/* Sets the key that another system's configuration calls FULL, such as "server.heap_profiling.dir"; any other name is ignored. */
void cairn_config_set_foreign(struct cairn_config *config, const char *full, struct cairn_bytes value, enum cairn_config_origin origin);

/* Reads `key:value,…`. */
void cairn_config_environment(struct cairn_config *config, struct cairn_bytes text);

/* Reads TOML: our keys in the section [cairn], GreptimeDB's and RisingWave's in theirs. Keys that are not the agent's are skipped, whatever
 * their values look like; one of ours without a section is a problem, unless it may be the service's own. */
void cairn_config_file(struct cairn_config *config, struct cairn_bytes text);

/* Reads MALLOC_CONF as jemalloc does, for Cairn's engine in its place: prof_active, lg_prof_sample, prof_prefix and lg_prof_interval are
 * enable_heap_profiling, period, prefix and interval, unless these were set otherwise. Without prof:true nothing is taken. */
void cairn_config_malloc_conf(struct cairn_config *config, struct cairn_bytes text);

/* The key of that number, from 0 to CAIRN_CONFIG_KEYS - 1, with its value as text in OUT. The token is shown as "set". */
const char *cairn_config_show(const struct cairn_config *config, unsigned index, char *out, size_t size);

const char *cairn_config_origin_name(enum cairn_config_origin origin);

#endif
