/* template_test.c - file names from patterns.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/watch/template.h"
#include "tap.h"

#include <stdlib.h>

static const struct cairn_template_facts facts = {1763179802, "redis-server", "host 1/2", "grow", 4242};

static void gives(const char *pattern, unsigned number, const char *wanted)
{
	char name[CAIRN_TEMPLATE_NAME];
	cairn_template_name(pattern, &facts, number, name);
	is_text(name, wanted, "%s, number %u", pattern, number);
}

int main(void)
{
	struct cairn_error error;
	setenv("TZ", "UTC-2", 1);
	tzset();
	gives("greptime-%t.gprof", 1, "greptime-20251115061002.gprof");
	gives("greptime-%t.gprof", 2, "greptime-20251115061002-2.gprof");
	gives("%n-%p-%h-%T-%r.heap", 1, "redis-server-4242-host_1_2-20251115T041002Z-grow.heap");
	gives("plain", 3, "plain-3");
	gives("100%%", 1, "100%");
	gives("a b\tc", 1, "a_b_c");
	char name[CAIRN_TEMPLATE_NAME];
	cairn_template_name("%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h%h.heap", &facts, 4000000000, name);
	ok(strlen(name) < sizeof name, "a long one is cut to %zu letters", strlen(name));
	static const char *const bad[] = {"", ".hidden", "a/b", "../x", "%", "a%", "%x", "%1", NULL};
	for (size_t i = 0; bad[i]; i++)
		ok(!cairn_template_check(bad[i], &error), "'%s' is no pattern: %s", bad[i], error.text);
	char wide[200];
	memset(wide, 'a', sizeof wide - 1);
	wide[sizeof wide - 1] = 0;
	ok(!cairn_template_check(wide, &error), "nor is one of 199 letters: %s", error.text);
	ok(cairn_template_check("greptime-%t.gprof", &error), "the script's is");
	return tap_done();
}
