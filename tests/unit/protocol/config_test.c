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
	test_mode();
	test_environment();
	test_file();
	return tap_done();
}
