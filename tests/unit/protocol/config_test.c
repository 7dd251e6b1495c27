/* config_test.c - the agent's configuration: both syntaxes, who wins, and what is wrong in it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "protocol/config.h"
#include "tap.h"

static void test_environment(void)
{
	struct cairn_config config;
	cairn_config_default(&config);
	is_int(config.activate, CAIRN_CONFIG_UNSET, "without the key what MALLOC_CONF says stands");
	cairn_config_environment(&config,
				 cairn_bytes_of("listen:127.0.0.1:4000, token:s:e,seconds:3,compat:old,enable_heap_profiling:false"));
	is_text(config.listen, "127.0.0.1:4000", "a value may hold colons");
	is_text(config.token, "s:e", "spaces around pairs do not count");
	is_int(config.seconds, 3, "a number");
	is_int(config.old_contract, 1, "a choice");
	is_int(config.activate, CAIRN_CONFIG_OFF, "false is not the same as not given");
	is_text(config.problems, "", "nothing is wrong");
	cairn_config_environment(&config, cairn_bytes_of("listn:x,seconds:many,noise,connections:9999,compat:newest,,"));
	like_text(config.problems, "unknown key 'listn'; did you mean 'listen'?", "an unknown key is named");
	like_text(config.problems, "seconds is a number from 1 to 3600, not 'many'", "a wrong number too");
	like_text(config.problems, "'noise' is not key:value", "and what is no pair");
	like_text(config.problems, "connections is a number from 4 to 128", "and what is out of range");
	is_int(config.seconds, 3, "and the old value stands");
	char value[64];
	is_text(cairn_config_show(&config, 2, value, sizeof value), "token", "keys by number");
	is_text(value, "set", "the token is never shown");
}

static void test_file(void)
{
	static const char text[] = "# a service's own file\n"
				   "mode = 'distributed'\nlist = [\n  \"[cairn]\", # not a section\n  'listen = \"1\"',\n]\n"
				   "long = \"\"\"\n[cairn]\nlisten = \"no\"\n\"\"\"\n"
				   "inline = { listen = \"no\", deep = [1, {a = ']'}] }\n"
				   "[memory]\nenable_heap_profiling = true # as GreptimeDB spells it\n"
				   "[server.heap_profiling]\ndir = \"/var/dumps\"\n"
				   "[[array]]\nlisten = \"no\"\n"
				   "[cairn]\r\nlisten = \"127.0.0.1:4001\"\r\ntoken = 'a\"b'\nseconds = 7\nwrong = 1\n"
				   "tool = \"/opt/\\\"x\\\"\"\n";
	struct cairn_config config;
	cairn_config_default(&config);
	cairn_config_file(&config, cairn_bytes_of(text));
	is_int(config.activate, CAIRN_CONFIG_ON, "GreptimeDB's key");
	is_text(config.dumps, "/var/dumps", "RisingWave's key");
	is_text(config.listen, "127.0.0.1:4001", "our own section, and no other");
	is_text(config.token, "a\"b", "a literal string");
	is_text(config.tool, "/opt/\"x\"", "a string with escapes");
	is_int(config.seconds, 7, "a number");
	is_text(config.problems, "unknown key 'wrong'", "an unknown key in our section is named, others' keys are not");
	cairn_config_environment(&config, cairn_bytes_of("listen:9"));
	is_text(config.listen, "9", "CAIRN_CONF wins over the file");
	is_int(config.origins[1], CAIRN_CONFIG_ENVIRONMENT, "and it is known where a value came from");
	is_int(config.origins[8], CAIRN_CONFIG_FILE, "key by key");
	cairn_config_default(&config);
	cairn_config_file(&config, cairn_bytes_of("memory.enable_heap_profiling = false\n[cairn\nlisten = \"x\nseconds"));
	is_int(config.activate, CAIRN_CONFIG_OFF, "a dotted key; a file cut short is read as far as it goes");
}

/* Keys that somebody meant for the agent, and keys of a service that have the same names. */
static void test_outside(void)
{
	static const struct {
		const char *text, *problem;
		bool token_unusable;
	} cases[] = {
		{"listen = '127.0.0.1:1'\n", "CAIRN_CONFIG: 'listen' is ignored outside the section [cairn]", false},
		{"listen = '127.0.0.1:1'\ntoken = 'x'\n", "'listen' is ignored", true},
		{"listen = '127.0.0.1:1'\nname = 'a service'\n", "", false},
		{"listen = '127.0.0.1:1'\ntoken = 'x'\n[http]\naddr = 'y'\n", "", false},
		{"[http]\nlisten = 'y'\n", "", false},
		{"mode = 'standalone'\n[memory]\nenable_heap_profiling = true\n", "", false},
		{"name = 'a service'\nenable-heap-profiling = true\n", "'enable_heap_profiling' is ignored", false},
		{"listen = '127.0.0.1:1'\n[cairn]\nseconds = 4\n", "", false},
		{"", "", false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cairn_config config;
		cairn_config_default(&config);
		cairn_config_file(&config, cairn_bytes_of(cases[i].text));
		ok(cases[i].problem[0] ? strstr(config.problems, cases[i].problem) != NULL : !config.problems[0], "case %zu: '%s'", i,
		   config.problems);
		is_int(config.token_unusable, cases[i].token_unusable, "and the token");
		is_text(config.listen, "", "none of them is used");
	}
}

static void test_inline_tables(void)
{
	static const struct {
		const char *text;
		int activate;
		uint64_t seconds;
	} cases[] = {
		{"memory = { enable_heap_profiling = false }\n[cairn]\nseconds = 7\n", CAIRN_CONFIG_OFF, 7},
		{"memory={enable_heap_profiling=true,other='}'}\ncairn = {listen = \"[::1]:9\", seconds = 8} # both\n", CAIRN_CONFIG_ON, 8},
		{"x = {memory = {enable_heap_profiling = true}}\n[cairn]\nseconds = 9\n", CAIRN_CONFIG_UNSET, 9},
		{"[server]\na = { b = [1, {c = ']'}], d = { } }\n[cairn]\nseconds = 6\n", CAIRN_CONFIG_UNSET, 6},
		{"memory = {\n # over lines\n enable_heap_profiling = true,\n}\ncairn.seconds = 5\n", CAIRN_CONFIG_ON, 5},
		{"a = {b={c={d={e={f={g={h={i={j={k=1}}}}}}}}}}\n[cairn]\nseconds = 4\n", CAIRN_CONFIG_UNSET, 4},
		{"a = { no pair }\n[cairn]\nseconds = 3\n", CAIRN_CONFIG_UNSET, 3},
		{"cairn = { seconds = 2", CAIRN_CONFIG_UNSET, 2},
		{"memory = {", CAIRN_CONFIG_UNSET, 10},
		{"a = {\n b = 1,\n[cairn]\nseconds = 11\n", CAIRN_CONFIG_UNSET, 11},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cairn_config config;
		cairn_config_default(&config);
		cairn_config_file(&config, cairn_bytes_of(cases[i].text));
		ok(config.activate == (uint64_t)cases[i].activate && config.seconds == cases[i].seconds && !config.problems[0],
		   "inline tables: case %zu", i);
	}
}

static void test_mode(void)
{
	static const char *const bad[] = {"", "0", "640x", "0400", "0755", "01640", "-640", " 640", "rw-r-----", "99999999999999999999999"};
	struct cairn_config config;
	cairn_config_default(&config);
	ok(config.mode == 0600, "dumps are for their owner");
	cairn_config_environment(&config, cairn_bytes_of("mode:0640,limit:20M"));
	ok(config.mode == 0640 && config.limit == 20 << 20 && !config.problems[0], "by default");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		config.problems[0] = 0;
		cairn_config_set(&config, "mode", cairn_bytes_of(bad[i]), CAIRN_CONFIG_ENVIRONMENT);
		ok(config.mode == 0640 && strstr(config.problems, "a file mode such as 0640"), "'%s' is no mode for a dump", bad[i]);
	}
}

static void test_rules(void)
{
	struct cairn_config config;
	struct cairn_trigger_rules rules;
	struct cairn_folder_limits limits;
	char value[64];
	cairn_config_default(&config);
	ok(!cairn_config_rules(&config, &rules), "nothing configured is no rule");
	cairn_config_limits(&config, &limits);
	ok(limits.count == 0 && limits.bytes == 0 && limits.age_seconds == 0 && limits.free_bytes == CAIRN_FREE_DEFAULT,
	   "and nothing is removed");
	cairn_config_environment(&config, cairn_bytes_of("grow:20M,every:5m,share:80%,time:1h,distance:30s,keep-age:7d"));
	is_text(config.problems, "", "rules are keys, - is _");
	ok(cairn_config_rules(&config, &rules), "now there are rules");
	ok(rules.grow == 20 << 20 && rules.every == 300000000000 && rules.time == 3600000000000 && rules.distance == 30000000000,
	   "as written");
	is_near(rules.share, 0.8, 1e-9, "a share");
	cairn_config_limits(&config, &limits);
	ok(limits.count == 100 && limits.bytes == 1 << 30 && limits.age_seconds == 7 * 86400, "and limits, those not given too");
	cairn_config_environment(&config, cairn_bytes_of("keep_count:0,grow:lots"));
	cairn_config_limits(&config, &limits);
	is_int(limits.count, 0, "0 is no limit");
	like_text(config.problems, "grow takes a size such as 20M or 4G, not 'lots'", "a wrong rule is named");
	for (unsigned i = 0; i < CAIRN_CONFIG_KEYS; i++)
		if (strcmp(cairn_config_show(&config, i, value, sizeof value), "keep_age") == 0)
			is_text(value, "604800s", "a time is shown");
	cairn_config_default(&config);
	cairn_config_environment(&config, cairn_bytes_of("keep_count:7"));
	cairn_config_limits(&config, &limits);
	is_int(limits.count, 7, "a limit alone counts");
	cairn_config_default(&config);
	cairn_config_file(&config, cairn_bytes_of("[server.heap_profiling]\nenable_auto = true\nthreshold_auto = 0.85\n"));
	ok(cairn_config_rules(&config, &rules), "RisingWave's keys are rules");
	is_near(rules.share, 0.85, 1e-9, "its threshold is the share");
	cairn_config_file(&config, cairn_bytes_of("[server.heap_profiling]\nenable_auto = false\n"));
	ok(!cairn_config_rules(&config, &rules), "and can be switched off");
	cairn_config_default(&config);
	cairn_config_file(&config, cairn_bytes_of("[server.heap_profiling]\nenable_auto = true\n"));
	ok(cairn_config_rules(&config, &rules), "switched on alone");
	is_near(rules.share, 0.9, 1e-9, "it is nine tenths");
}

/* What MALLOC_CONF says of jemalloc's profiler holds for Cairn's engine, below all that is said to it. */
static void test_malloc_conf(void)
{
	static const struct {
		const char *text;
		int activate;
		uint64_t period, interval;
		const char *prefix;
	} cases[] = {
		{"", CAIRN_CONFIG_UNSET, 524288, 0, "cairn"},
		{"prof_active:true,lg_prof_sample:14,prof_prefix:/x", CAIRN_CONFIG_UNSET, 524288, 0, "cairn"},
		{"prof:true", CAIRN_CONFIG_ON, 524288, 0, "cairn"},
		{"prof:false,prof_prefix:/x,prof:true", CAIRN_CONFIG_ON, 524288, 0, "/x"},
		{"prof:true,prof_prefix:/x,prof:false", CAIRN_CONFIG_UNSET, 524288, 0, "cairn"},
		{"prof:true,prof_active:false,lg_prof_sample:14,prof_prefix:/tmp/jeprof-SERVICE", CAIRN_CONFIG_OFF, 16384, 0,
		 "/tmp/jeprof-SERVICE"},
		{"background_thread:true,prof:true,lg_prof_interval:30", CAIRN_CONFIG_ON, 524288, 1 << 30, "cairn"},
		{"prof:true,lg_prof_interval:30,prof_prefix:", CAIRN_CONFIG_ON, 524288, 0, "cairn"},
		{"prof:true,lg_prof_interval:-1,lg_prof_sample:99,lg_prof_sample:x,prof_prefix:", CAIRN_CONFIG_ON, 524288, 0, "cairn"},
		{"prof:true,lg_prof_sample:41,lg_prof_interval:63", CAIRN_CONFIG_ON, 524288, 0, "cairn"},
		{"prof:true,lg_prof_sample:0,noise,prof_prefix:/x", CAIRN_CONFIG_ON, 1, 0, "cairn"},
		{",prof:true", CAIRN_CONFIG_UNSET, 524288, 0, "cairn"},
		{"prof_prefix:/a,prof:true,prof_prefix:/b:c", CAIRN_CONFIG_ON, 524288, 0, "/b:c"},
	};
	struct cairn_config config;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cairn_config_default(&config);
		cairn_config_malloc_conf(&config, cairn_bytes_of(cases[i].text));
		ok(config.activate == (uint64_t)cases[i].activate && config.period == cases[i].period &&
			   config.rules.interval == cases[i].interval && strcmp(config.prefix, cases[i].prefix) == 0 && !config.problems[0],
		   "MALLOC_CONF='%s'", cases[i].text);
	}
	is_text(cairn_config_origin_name(config.origins[CAIRN_KEY_PREFIX]), "MALLOC_CONF", "a value is known to be from there");
	cairn_config_default(&config);
	cairn_config_environment(&config, cairn_bytes_of("enable_heap_profiling:false,prefix:own"));
	cairn_config_malloc_conf(&config, cairn_bytes_of("prof:true,prof_prefix:/x,lg_prof_sample:12"));
	ok(config.activate == CAIRN_CONFIG_OFF && config.period == 4096 && strcmp(config.prefix, "own") == 0, "CAIRN_CONF wins over it");
}

/* Only a folder that was given to Cairn is limited as a whole. */
static void test_folder(void)
{
	static const struct {
		const char *environment, *file;
		bool all;
	} cases[] = {
		{"", "", false},
		{"interval:4G,prefix:/var/x/node,ledger:/var/x/ledger", "", false},
		{"keep_free:1G", "", false},
		{"keep_count:0", "", true},
		{"keep_age:7d", "", true},
		{"dumps:/var/dumps", "", true},
		{"", "[cairn]\ndumps = '/var/dumps'\n", true},
		{"", "[server.heap_profiling]\ndir = './'\nenable_auto = true\n", false},
		{"dumps:/var/dumps", "[server.heap_profiling]\ndir = './'\n", true},
		{"", "[cairn]\ndumps = '/var/dumps'\n[server.heap_profiling]\ndir = './'\n", false},
		{"keep_bytes:1G", "[server.heap_profiling]\ndir = './'\n", true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cairn_config config;
		cairn_config_default(&config);
		cairn_config_file(&config, cairn_bytes_of(cases[i].file));
		cairn_config_environment(&config, cairn_bytes_of(cases[i].environment));
		is_int(cairn_config_limits_all(&config), cases[i].all, "'%s' and %zu: whose dumps may go", cases[i].environment, i);
	}
	char text[512] = "dumps:/";
	memset(text + strlen(text), 'x', 400);
	struct cairn_config config;
	cairn_config_default(&config);
	cairn_config_file(&config, cairn_bytes_of("[server.heap_profiling]\ndir = './'\n"));
	cairn_config_environment(&config, cairn_bytes_of(text));
	is_text(config.dumps, "./", "a folder whose name is too long is not taken");
	is_int(cairn_config_limits_all(&config), false, "and the other's stays the other's");
}

/* A token that was given and cannot be used is never taken for none. */
static void test_token(void)
{
	static const struct {
		const char *text, *problem;
		bool unusable;
	} cases[] = {
		{"token:secret", "", false},
		{"token:", "token is empty", true},
		{"token:sec ret", "token has a space", true},
		{"token:s\x01", "token has a space, a control character", true},
		{"token:s\xc3\xa9", "a non-ASCII character", true},
		{"tokn:secret", "did you mean 'token'?", true},
		{"token=secret", "is not key:value", true},
		{"token:sec,ret", "'ret' is not key:value", true},
		{"token:secret,noise:1", "unknown key", false},
		{"token=secret:x", "an equals sign", true},
		{"token:,token:good", "token is empty", false},
	};
	struct cairn_config config;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cairn_config_default(&config);
		cairn_config_environment(&config, cairn_bytes_of(cases[i].text));
		is_int(config.token_unusable, cases[i].unusable, "%s", cases[i].text);
		like_text(config.problems, cases[i].problem, "and why");
	}
	static char text[8192];
	memcpy(text, "token:", 6);
	memset(text + 6, 'x', 4096);
	cairn_config_default(&config);
	cairn_config_environment(&config, cairn_bytes_of(text));
	ok(!config.token_unusable && strlen(config.token) == 4096, "4096 bytes are taken");
	memset(text + 6, 'y', 4097);
	cairn_config_environment(&config, cairn_bytes_of(text));
	ok(config.token_unusable, "4097 are not");
	like_text(config.problems, "token is longer than 4096 bytes", "and why");
	size_t wrong = 0;
	for (size_t length = 4090; length < 4300; length += 7) {
		snprintf(text, sizeof text, "[cairn]\ntoken = \"%0*d\"\n", (int)length, 7);
		cairn_config_default(&config);
		cairn_config_file(&config, cairn_bytes_of(text));
		wrong += config.token_unusable != (length > 4096) || (!config.token_unusable && strlen(config.token) != length);
	}
	is_int(wrong, 0, "in a file too, and none is cut");
	cairn_config_default(&config);
	cairn_config_file(&config, cairn_bytes_of("[cairn]\ntoken = [\"secret\"]\n"));
	ok(config.token_unusable, "a value of another kind is none that can be used");
}

int main(void)
{
	test_token();
	test_rules();
	test_folder();
	test_malloc_conf();
	test_mode();
	test_environment();
	test_file();
	test_outside();
	test_inline_tables();
	return tap_done();
}
