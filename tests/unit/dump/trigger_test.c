/* trigger_test.c - tables of readings, and at which of them a dump is due and why.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/trigger.h"
#include "tap.h"

static const int64_t second = 1000000000;

/* One look: when, with how much memory under which limit, and what must come of it. A due dump is taken at once. */
struct step {
	double at; /* seconds */
	double memory, limit; /* MiB; a limit of 0 is none */
	int due; /* a reason */
};

static uint64_t mib(double number)
{
	return (uint64_t)(number * 1048576);
}

/* Runs through STEPS, which end with a time below 0. */
static void run_table(const char *name, const struct cairn_trigger_rules *rules, const struct step *steps)
{
	struct cairn_trigger trigger = {0};
	int wrong = 0;
	for (size_t i = 0; steps[i].at >= 0; i++) {
		struct cairn_memory_reading reading = {.anonymous = mib(steps[i].memory), .limit = mib(steps[i].limit)};
		enum cairn_trigger_reason due = cairn_trigger_look(&trigger, rules, &reading, (int64_t)(steps[i].at * 1e9));
		if ((int)due != steps[i].due) {
			printf("# %s: at %g s with %g MiB: '%s' instead of '%s'\n", name, steps[i].at, steps[i].memory,
			       cairn_trigger_name(due), cairn_trigger_name((enum cairn_trigger_reason)steps[i].due));
			wrong++;
		}
		if (due)
			cairn_trigger_dumped(&trigger, rules, &reading, due, true);
	}
	is_int(wrong, 0, "%s", name);
}

#define END {-1, 0, 0, CAIRN_TRIGGER_NONE}
enum { NONE = CAIRN_TRIGGER_NONE, START = CAIRN_TRIGGER_START, GROW = CAIRN_TRIGGER_GROW, HIGH = CAIRN_TRIGGER_HIGH,
       SHARE = CAIRN_TRIGGER_SHARE, PRESSURE = CAIRN_TRIGGER_PRESSURE, TIME = CAIRN_TRIGGER_TIME, INTERVAL = CAIRN_TRIGGER_INTERVAL };

static void test_growth(void)
{
	const struct cairn_trigger_rules rules = {.start = 1, .grow = mib(20), .every = 600 * second};
	run_table("the start and 20M within 10m", &rules,
		  (const struct step[]){{0, 5, 0, START},
					{60, 20, 0, NONE},
					{120, 25, 0, NONE},
					{180, 25.1, 0, GROW},
					{240, 40, 0, NONE},
					{700, 45.2, 0, GROW},
					END});
	run_table("a slow growth is none within the span", &rules, (const struct step[]){
		{0, 5, 0, START}, {300, 13, 0, NONE}, {600, 20, 0, NONE}, {900, 28, 0, NONE}, {1200, 36, 0, NONE}, {1500, 44, 0, NONE},
		{1560, 60, 0, GROW}, END});
	run_table("growth counts from the lowest point of the span, wherever it was", &rules, (const struct step[]){
		{0, 100, 0, START}, {10, 90, 0, NONE}, {20, 60, 0, NONE}, {30, 80, 0, NONE}, {40, 81, 0, GROW}, END});
	run_table("a low that left the span is forgotten", &rules,
		  (const struct step[]){{0, 100, 0, START},
					{20, 60, 0, NONE},
					{50, 75, 0, NONE},
					{619, 78, 0, NONE},
					{640, 81, 0, NONE},
					{700, 98.5, 0, GROW},
					END});
	const struct cairn_trigger_rules apart = {.grow = mib(20), .every = 600 * second, .distance = 30 * second};
	run_table("dumps of one rule keep their distance, and none is forgotten", &apart, (const struct step[]){
		{0, 0, 0, NONE}, {1, 21, 0, GROW}, {2, 50, 0, NONE}, {30.9, 50, 0, NONE}, {31, 50, 0, GROW}, {32, 50, 0, NONE}, END});
	run_table("unless memory has fallen by then", &apart, (const struct step[]){
		{0, 0, 0, NONE}, {1, 21, 0, GROW}, {2, 50, 0, NONE}, {31, 30, 0, NONE}, END});
	run_table("no rule, no dump", &(const struct cairn_trigger_rules){0}, (const struct step[]){
		{0, 5, 10, NONE}, {1, 5000, 10, NONE}, {1e6, 5, 10, NONE}, END});
}

/* Against what the shell script does with readings every ten minutes: whatever it would dump for, we do, by then. */
static void test_script(void)
{
	const struct cairn_trigger_rules rules = {.start = 1, .grow = mib(20), .every = 600 * second};
	unsigned seed = 7;
	int missed = 0, theirs = 0;
	for (int run = 0; run < 50; run++) {
		struct cairn_trigger trigger = {0};
		double memory = 30, before = 0;
		bool ours = false;
		for (int minute = 0; minute < 600; minute++) {
			seed = seed * 1103515245 + 12345;
			memory += (double)(seed >> 16 & 1023) / 128 - 3.5;
			memory = memory < 1 ? 1 : memory;
			struct cairn_memory_reading reading = {.anonymous = mib(memory)};
			enum cairn_trigger_reason due = cairn_trigger_look(&trigger, &rules, &reading, minute * 60 * second);
			if (due)
				cairn_trigger_dumped(&trigger, &rules, &reading, due, true);
			ours = ours || due;
			if (minute % 10 == 0) {
				theirs += memory - before > 20;
				missed += memory - before > 20 && !ours;
				ours = due;
				before = memory;
			}
		}
	}
	ok(theirs > 100, "the script would have dumped %d times", theirs);
	is_int(missed, 0, "and each time there is a dump of these ten minutes");
}

static void test_share(void)
{
	const struct cairn_trigger_rules rules = {.share = 0.9};
	run_table("nine tenths of the limit, once", &rules,
		  (const struct step[]){{0, 10, 100, NONE},
					{1, 89.9, 100, NONE},
					{2, 90, 100, SHARE},
					{3, 95, 100, NONE},
					{4, 89, 100, NONE},
					{5, 99, 100, NONE},
					END});
	run_table("again after it fell", &rules, (const struct step[]){
		{0, 95, 100, SHARE}, {1, 50, 100, NONE}, {2, 91, 100, SHARE}, END});
	run_table("a limit that shrinks under it, and one that is taken away", &rules, (const struct step[]){
		{0, 50, 100, NONE}, {1, 50, 52, SHARE}, {2, 50, 200, NONE}, {3, 50, 52, SHARE}, {4, 50, 0, NONE}, {5, 5000, 0, NONE}, END});
	const struct cairn_trigger_rules apart = {.grow = mib(10), .share = 0.9, .distance = 60 * second};
	run_table("the limit does not wait for another rule's distance", &apart,
		  (const struct step[]){{0, 10, 100, NONE},
					{1, 40, 100, GROW},
					{2, 92, 100, SHARE},
					{3, 10, 100, NONE},
					{4, 95, 100, NONE},
					{62, 95, 100, SHARE},
					END});
}

static void test_high_and_time(void)
{
	const struct cairn_trigger_rules high = {.high = mib(10)};
	run_table("a new high by a step, not the way back to an old one", &high,
		  (const struct step[]){{0, 100, 0, NONE},
					{1, 109, 0, NONE},
					{2, 110, 0, HIGH},
					{3, 50, 0, NONE},
					{4, 119, 0, NONE},
					{5, 125, 0, HIGH},
					{6, 134, 0, NONE},
					END});
	const struct cairn_trigger_rules time = {.start = 1, .time = 60 * second};
	run_table("every minute", &time,
		  (const struct step[]){{10, 1, 0, START},
					{69, 1, 0, NONE},
					{70, 1, 0, TIME},
					{71, 1, 0, NONE},
					{200, 1, 0, TIME},
					{259, 1, 0, NONE},
					{260, 1, 0, TIME},
					END});
	const struct cairn_trigger_rules both = {.grow = mib(20), .time = 60 * second};
	run_table("a dump for any reason begins the minute anew", &both, (const struct step[]){
		{0, 1, 0, NONE}, {30, 30, 0, GROW}, {60, 30, 0, NONE}, {90, 30, 0, TIME}, END});
}

static void test_clock(void)
{
	const struct cairn_trigger_rules rules = {.grow = mib(20), .every = 600 * second, .time = 3600 * second, .distance = 10 * second};
	run_table("a clock that goes back loses the step and goes on", &rules, (const struct step[]){
		{1000, 10, 0, NONE}, {1001, 40, 0, GROW}, {500, 40, 0, NONE}, {505, 70, 0, NONE}, {509, 70, 0, NONE}, {510, 70, 0, GROW},
		{100, 70, 0, NONE}, {3699, 70, 0, NONE}, {3700, 70, 0, TIME}, END});
	run_table("one that leaps ahead loses the span, not the rules", &rules, (const struct step[]){
		{0, 10, 0, NONE}, {100000, 40, 0, TIME}, {100001, 61, 0, GROW}, END});
	struct cairn_trigger trigger = {0};
	struct cairn_memory_reading reading = {.anonymous = mib(10), .limit = mib(100)};
	for (int i = 0; i < 4; i++) {
		static const int64_t times[] = {0, INT64_MAX / 2, INT64_MIN / 2, -1};
		cairn_trigger_look(&trigger, &cairn_trigger_usual, &reading, times[i]);
		int64_t pause = cairn_trigger_pause(&trigger, &cairn_trigger_usual, &reading);
		ok(pause > 0 && pause <= 10 * second, "the next look comes soon whatever the clock says");
	}
}

static void test_interval(void)
{
	const struct cairn_trigger_rules rules = {.interval = mib(4096)};
	struct cairn_trigger trigger = {0};
	static const struct {
		double allocated;
		int due;
	} steps[] = {{0, NONE}, {10000, NONE}, {14000, NONE}, {14096, INTERVAL}, {15000, NONE},
		     {18191, NONE}, {18192, INTERVAL}, {40000, INTERVAL}, {40001, NONE},
		     /* a reset: the total begins anew */
		     {100, NONE}, {4195, NONE}, {4196, INTERVAL}, {8000, NONE}, {8292, INTERVAL}};
	int wrong = 0;
	for (int i = 0; i < (int)(sizeof steps / sizeof *steps); i++) {
		struct cairn_memory_reading reading = {.anonymous = mib(5), .allocated = mib(steps[i].allocated)};
		enum cairn_trigger_reason due = cairn_trigger_look(&trigger, &rules, &reading, i * second);
		wrong += (int)due != steps[i].due;
		if (due)
			cairn_trigger_dumped(&trigger, &rules, &reading, due, true);
	}
	is_int(wrong, 0, "every 4G of allocation, from when the total became known, and again after a reset");
}

/* How many dumps a service gets that allocates 900 MiB a second for 100 seconds, with a look every half second. */
static int dumps_of_interval(const struct cairn_trigger_rules *rules)
{
	struct cairn_trigger trigger = {0};
	int dumps = 0;
	for (int look = 0; look <= 200; look++) {
		struct cairn_memory_reading reading = {.anonymous = mib(5), .allocated = mib(1 + 450.0 * look)};
		enum cairn_trigger_reason due = cairn_trigger_look(&trigger, rules, &reading, look * second / 2);
		dumps += due == CAIRN_TRIGGER_INTERVAL;
		if (due)
			cairn_trigger_dumped(&trigger, rules, &reading, due, true);
	}
	return dumps;
}

static void test_interval_distance(void)
{
	struct cairn_error error;
	struct cairn_trigger_rules rules = {.distance = cairn_trigger_usual.distance,
					    .interval_distance = cairn_trigger_usual.interval_distance};
	cairn_trigger_set(&rules, "interval", "1G", &error);
	is_int(dumps_of_interval(&rules), 87, "a dump for each of 87 gigabytes, as with jemalloc");
	cairn_trigger_set(&rules, "interval", "64M", &error);
	is_int(dumps_of_interval(&rules), 100, "but only one a second");
	cairn_trigger_set(&rules, "distance", "20s", &error);
	is_int(dumps_of_interval(&rules), 5, "a distance that is given holds for this rule too");
}

static void test_pressure(void)
{
	const struct cairn_trigger_rules rules = {.pressure = 0.1, .distance = 10 * second};
	struct cairn_trigger trigger = {0};
	static const struct {
		double pressure, memory;
		uint64_t max, oom;
		int due;
		const char *what;
	} steps[] = {
		{0, 10, 5, 2, NONE, "what was before does not count"},
		{0.2, 10, 5, 2, PRESSURE, "waiting a fifth of the time"},
		{0.3, 10, 5, 2, NONE, "goes on"},
		{0.01, 10, 5, 2, NONE, "ends"},
		{0.11, 10, 5, 2, PRESSURE, "and comes again"},
		{0, 10, 9, 2, NONE, "page cache that runs into the limit is nothing"},
		{0, 60, 10, 2, PRESSURE, "the process's own memory is"},
		{0, 60, 10, 2, NONE, "once"},
		{0, 10, 10, 3, PRESSURE, "no memory to be had is, always"},
	};
	for (int i = 0; i < (int)(sizeof steps / sizeof *steps); i++) {
		struct cairn_memory_reading reading = {.anonymous = mib(steps[i].memory), .limit = mib(100), .pressure = steps[i].pressure,
						       .events = {.max = steps[i].max, .oom = steps[i].oom}};
		enum cairn_trigger_reason due = cairn_trigger_look(&trigger, &rules, &reading, i * 20 * second);
		is_text(cairn_trigger_name(due), cairn_trigger_name((enum cairn_trigger_reason)steps[i].due), "pressure: %s",
			steps[i].what);
		if (due)
			cairn_trigger_dumped(&trigger, &rules, &reading, due, true);
	}
}

static void test_failure(void)
{
	const struct cairn_trigger_rules rules = {.start = 1, .share = 0.5};
	struct cairn_trigger trigger = {0};
	struct cairn_memory_reading reading = {.anonymous = mib(60), .limit = mib(100)};
	is_text(cairn_trigger_name(cairn_trigger_look(&trigger, &rules, &reading, 0)), "share",
		"two rules at once: the graver one names the dump");
	cairn_trigger_dumped(&trigger, &rules, &reading, CAIRN_TRIGGER_SHARE, false);
	is_int(cairn_trigger_look(&trigger, &rules, &reading, second / 2), NONE, "a dump that failed is not tried again at once");
	is_near((double)cairn_trigger_pause(&trigger, &rules, &reading), 0.05e9, 1, "near the limit one looks again after 50 ms");
	trigger.now = second * 98 / 100;
	is_near((double)cairn_trigger_pause(&trigger, &rules, &reading), 0.02e9, 1, "and not later than the rule may dump");
	is_int(cairn_trigger_look(&trigger, &rules, &reading, second), SHARE, "but after a second");
	cairn_trigger_dumped(&trigger, &rules, &reading, CAIRN_TRIGGER_SHARE, true);
	is_int(cairn_trigger_look(&trigger, &rules, &reading, 3 * second), NONE, "one dump served both rules");
}

static void test_pause(void)
{
	const struct cairn_trigger_rules rules = {.share = 0.9};
	struct cairn_trigger trigger = {0};
	struct cairn_memory_reading reading = {.anonymous = mib(10), .limit = mib(512)};
	cairn_trigger_look(&trigger, &rules, &reading, 0);
	is_int(cairn_trigger_pause(&trigger, &rules, &reading), second / 2, "far from the limit: half a second");
	/* 50 MiB a second towards 460.8 MiB: how far past the threshold is the look that sees it? */
	int64_t now = 0;
	int looks = 0;
	enum cairn_trigger_reason due = CAIRN_TRIGGER_NONE;
	while (!due && now < 20 * second) {
		now += cairn_trigger_pause(&trigger, &rules, &reading);
		reading.anonymous = mib(10 + 50 * (double)now / 1e9);
		due = cairn_trigger_look(&trigger, &rules, &reading, now);
		looks++;
	}
	ok(due && reading.anonymous < mib(460.8 + 50 * 0.051), "growing 50 MiB a second it is seen within 50 ms, at %.1f MiB",
	   (double)reading.anonymous / 1048576);
	ok(looks < 60, "with %d looks in all", looks);
	cairn_trigger_dumped(&trigger, &rules, &reading, due, true);
	is_int(cairn_trigger_pause(&trigger, &rules, &reading), second / 2, "and then there is no hurry");
	reading.limit = 0;
	is_int(cairn_trigger_pause(&trigger, &rules, &reading), second / 2, "nor without a limit");
	/* A rule that is due but has to wait is not asked about again and again. */
	const struct cairn_trigger_rules time = {.time = 5 * second, .distance = 10 * second};
	trigger = (struct cairn_trigger){0};
	cairn_trigger_look(&trigger, &time, &reading, 0);
	is_int(cairn_trigger_look(&trigger, &time, &reading, 5 * second), TIME, "a dump by the clock");
	cairn_trigger_dumped(&trigger, &time, &reading, CAIRN_TRIGGER_TIME, true);
	cairn_trigger_look(&trigger, &time, &reading, 11 * second);
	is_int(cairn_trigger_pause(&trigger, &time, &reading), second / 2, "the next is late for want of distance: still half a second");
	cairn_trigger_look(&trigger, &time, &reading, 15 * second);
	cairn_trigger_dumped(&trigger, &time, &reading, CAIRN_TRIGGER_TIME, false);
	cairn_trigger_look(&trigger, &time, &reading, 16 * second);
	is_int(cairn_trigger_pause(&trigger, &time, &reading), second / 2, "nor is one that failed hurried");
}

static void test_words(void)
{
	struct cairn_trigger_rules rules = {0}, again = {0}, one;
	struct cairn_error error;
	static const char *const good[][2] = {{"start", "true"}, {"grow", "20M"}, {"every", "10m"}, {"high", "1.5G"}, {"share", "90%"},
					      {"pressure", "0.1"}, {"time", "1h"}, {"interval", "4G"}, {"distance", "500ms"}};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		ok(cairn_trigger_set(&rules, good[i][0], good[i][1], &error), "%s %s", good[i][0], good[i][1]);
	ok(!cairn_trigger_any(&again), "no rule is set yet");
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		bool asks = strcmp(good[i][0], "every") != 0 && strcmp(good[i][0], "distance") != 0;
		one = (struct cairn_trigger_rules){0};
		cairn_trigger_set(&one, good[i][0], good[i][1], &error);
		ok(cairn_trigger_any(&one) == asks, "%s alone %s for a dump", good[i][0], asks ? "asks" : "does not ask");
	}
	is_int(rules.every, 600 * second, "10m is ten minutes");
	is_int(rules.interval, (int64_t)1 << 32, "4G is 2 to the 32");
	is_near(rules.share, 0.9, 1e-9, "90%% is 0.9");
	is_int(rules.distance, second / 2, "500ms is half a second");
	for (unsigned i = 0; cairn_trigger_word(i); i++) {
		char text[64], back[64];
		cairn_trigger_show(&rules, cairn_trigger_word(i), text, sizeof text);
		ok(cairn_trigger_set(&again, cairn_trigger_word(i), text, &error), "%s reads what it shows: %s", cairn_trigger_word(i),
		   text);
		cairn_trigger_show(&again, cairn_trigger_word(i), back, sizeof back);
		is_text(back, text, "and shows it again");
	}
	static const char *const bad[][2] = {{"grow", "-1"}, {"grow", ""}, {"grow", "20X"}, {"every", "ten"},
					     {"every", "10 m"}, {"share", "190%"}, {"share", "%"}, {"start", "yes"},
					     {"time", "99999999999d"}, {"time", "nan"}, {"size", "1"}, {"pressure", "-5%"}};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		error.text[0] = 0;
		ok(!cairn_trigger_set(&rules, bad[i][0], bad[i][1], &error) && error.text[0], "%s '%s': %s", bad[i][0], bad[i][1],
		   error.text);
	}
	is_int(rules.every, 600 * second, "a wrong value changes nothing");
}

static void test_explain(void)
{
	struct cairn_trigger trigger = {0};
	struct cairn_memory_reading reading = {.anonymous = mib(10), .limit = mib(512), .limit_of_group = true};
	char text[100];
	cairn_trigger_look(&trigger, &cairn_trigger_usual, &reading, 0);
	reading.anonymous = mib(466);
	cairn_trigger_look(&trigger, &cairn_trigger_usual, &reading, 240 * second);
	cairn_trigger_explain(&trigger, &cairn_trigger_usual, &reading, CAIRN_TRIGGER_GROW, text, sizeof text);
	is_text(text, "456.0 MiB more in 4 min", "growth");
	cairn_trigger_explain(&trigger, &cairn_trigger_usual, &reading, CAIRN_TRIGGER_SHARE, text, sizeof text);
	is_text(text, "91% of the group's limit of 512.0 MiB", "share");
	for (int reason = 0; reason < CAIRN_TRIGGER_REASONS; reason++) {
		char cut[8];
		cairn_trigger_explain(&trigger, &cairn_trigger_usual, &reading, (enum cairn_trigger_reason)reason, cut, sizeof cut);
		ok(cut[0] && strlen(cut) < sizeof cut, "reason %d fits what room there is", reason);
	}
}

/* How many attempts an hour of failures takes, looked at every second. */
static void test_failures(void)
{
	const struct cairn_trigger_rules rules = {.start = 1, .distance = 10 * second}, close = {.start = 1};
	struct cairn_memory_reading reading = {.anonymous = mib(10)};
	struct cairn_trigger trigger = {0};
	int tries = 0, at[4] = {0};
	for (int64_t now = 0; now < 3600; now++)
		if (cairn_trigger_look(&trigger, &rules, &reading, now * second) != CAIRN_TRIGGER_NONE) {
			if (tries < 4)
				at[tries] = (int)now;
			tries++;
			cairn_trigger_dumped(&trigger, &rules, &reading, CAIRN_TRIGGER_START, false);
		}
	ok(at[0] == 0 && at[1] == 10 && at[2] == 30 && at[3] == 70, "a dump that fails is tried again later and later: %d %d %d %d", at[0],
	   at[1], at[2], at[3]);
	ok(tries > 12 && tries < 20, "and every five minutes in the end: %d times in an hour", tries);
	int64_t now = 3600 + 300;
	is_int(cairn_trigger_look(&trigger, &rules, &reading, now * second), CAIRN_TRIGGER_START, "it is not forgotten");
	cairn_trigger_dumped(&trigger, &rules, &reading, CAIRN_TRIGGER_START, true);
	ok(trigger.failures == 0, "a success ends the row");
	trigger = (struct cairn_trigger){0};
	cairn_trigger_look(&trigger, &close, &reading, 0);
	cairn_trigger_dumped(&trigger, &close, &reading, CAIRN_TRIGGER_START, false);
	ok(cairn_trigger_look(&trigger, &close, &reading, second - 1) == CAIRN_TRIGGER_NONE &&
	   cairn_trigger_look(&trigger, &close, &reading, second) == CAIRN_TRIGGER_START, "without a distance the first wait is a second");
	const struct cairn_trigger_rules wide = {.start = 1, .distance = 3600 * second};
	trigger = (struct cairn_trigger){0};
	cairn_trigger_look(&trigger, &wide, &reading, 0);
	for (int i = 0; i < 40; i++)
		cairn_trigger_dumped(&trigger, &wide, &reading, CAIRN_TRIGGER_START, false);
	is_int(trigger.wait[CAIRN_TRIGGER_START], 3600 * second, "a distance that is longer stays");
}

int main(void)
{
	test_growth();
	test_script();
	test_share();
	test_high_and_time();
	test_clock();
	test_interval();
	test_interval_distance();
	test_pressure();
	test_failure();
	test_pause();
	test_words();
	test_explain();
	test_failures();
	return tap_done();
}
