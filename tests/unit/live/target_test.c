/* target_test.c - what names of targets say without anybody being asked.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/target.h"
#include "tap.h"

static void test_ports(void)
{
	static const char *const with[] = {"host:80", "host:65535/path", "[::1]:80", "host:80/a/b:c", "h-1.example:1"};
	static const char *const without[] = {"host", "host:", ":80", "./host:80", "folder/host:80",
					       "host:80x", "host:123456", "::1", "", "[::1", ".:80"};
	for (size_t i = 0; i < sizeof with / sizeof *with; i++)
		ok(cairn_target_has_port(with[i]), "'%s' has a port", with[i]);
	for (size_t i = 0; i < sizeof without / sizeof *without; i++)
		ok(!cairn_target_has_port(without[i]), "'%s' has none", without[i]);
}

int main(void)
{
	test_ports();
	is_text(cairn_target_host("https://host:80/x"), "host:80/x", "what follows the scheme");
	is_text(cairn_target_host("host:80"), "host:80", "or all of it");
	return tap_done();
}
