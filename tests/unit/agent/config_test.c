/* config_test.c - the agent's configuration: both syntaxes, who wins, and what is wrong in it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/config.h"
#include "tap.h"

static void test_environment(void)
{
	struct cairn_config config;
	cairn_config_default(&config);
	is_int(config.activate, 2, "without the key what MALLOC_CONF says stands");
	cairn_config_environment(&config, cairn_bytes_of("listen:127.0.0.1:4000, token:s:e,seconds:3,compat:old,enable_heap_profiling:false"));
	is_text(config.listen, "127.0.0.1:4000", "a value may hold colons");
	is_text(config.token, "s:e", "spaces around pairs do not count");
	is_int(config.seconds, 3, "a number");
	is_int(config.old_contract, 1, "a choice");
	is_int(config.activate, 0, "false is not the same as not given");
	is_text(config.problems, "", "nothing is wrong");
	cairn_config_environment(&config, cairn_bytes_of("listn:x,seconds:many,noise,connections:9999,compat:newest,,"));
	like_text(config.problems, "unknown key 'listn'", "an unknown key is named");
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
	is_int(config.activate, 1, "GreptimeDB's key");
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
	is_int(config.activate, 0, "a dotted key; a file cut short is read as far as it goes");
}

int main(void)
{
	test_environment();
	test_file();
	return tap_done();
}
