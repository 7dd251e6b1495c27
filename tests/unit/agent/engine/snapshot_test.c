/* snapshot_test.c - the snapshot engine and the profiler's states over a jemalloc that is made up, from many threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/engine/snapshot.h"
#include "agent/jemalloc/profiler.h"
#include "base/descriptor.h"
#include "base/quota.h"
#include "process/clock.h"
#include "tap.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* What the made-up jemalloc is like. */
static bool has_prof = true, has_opt = true, fails;
static atomic_bool is_active;
static atomic_int dumps, concurrent, worst;
static size_t shift = 19;
static ssize_t interval_shift = -1;
static const char *prefix = "";

static int give(void *old, size_t *old_size, const void *value, size_t size)
{
	if (!old || *old_size != size)
		return EINVAL;
	memcpy(old, value, size);
	return 0;
}

static int write_dump(const char *path)
{
	if (fails)
		return EFAULT;
	int now = atomic_fetch_add(&concurrent, 1) + 1;
	if (now > atomic_load(&worst))
		atomic_store(&worst, now);
	usleep(20000);
	FILE *file = fopen(path, "w");
	if (!file)
		return EFAULT;
	fprintf(file, "heap_v2/524288\n  t*: 7: 4096 [0: 0]\n  t0: 7: 4096 [0: 0]\n@ 0x1 0x2\n  t*: 7: 4096 [0: 0]\n");
	fclose(file);
	atomic_fetch_add(&dumps, 1);
	atomic_fetch_sub(&concurrent, 1);
	return 0;
}

static int mallctl(const char *name, void *old, size_t *old_size, void *value, size_t value_size)
{
	static const char *version = "5.3.0-test";
	bool active = atomic_load(&is_active);
	if (strcmp(name, "version") == 0)
		return give(old, old_size, &version, sizeof version);
	if (strcmp(name, "config.prof") == 0)
		return give(old, old_size, &has_prof, sizeof has_prof);
	if (strcmp(name, "opt.prof") == 0)
		return give(old, old_size, &has_opt, sizeof has_opt);
	if (strcmp(name, "prof.lg_sample") == 0)
		return give(old, old_size, &shift, sizeof shift);
	if (strcmp(name, "prof.active") == 0 && value && value_size == 1)
		return atomic_store(&is_active, *(bool *)value), 0;
	if (strcmp(name, "prof.active") == 0)
		return give(old, old_size, &active, sizeof active);
	if (strcmp(name, "prof.reset") == 0)
		return fails ? EFAULT : value ? (shift = *(size_t *)value, 0) : 0;
	if (strcmp(name, "opt.lg_prof_interval") == 0)
		return give(old, old_size, &interval_shift, sizeof interval_shift);
	if (strcmp(name, "opt.prof_prefix") == 0)
		return give(old, old_size, &prefix, sizeof prefix);
	if (strcmp(name, "prof.dump") == 0)
		return write_dump(*(char **)value);
	return ENOENT;
}

static struct cairn_profiler profiler = {.engine = &cairn_engine_jemalloc};
static struct cairn_snapshots snapshots = {.profiler = &profiler, .folder = "", .mutex = PTHREAD_MUTEX_INITIALIZER};

static void test_states(void)
{
	struct cairn_error error = {0};
	char why[512];
	is_int(cairn_profiler_state(&profiler), CAIRN_PROFILER_UNAVAILABLE, "without a jemalloc");
	cairn_profiler_explain(&profiler, why, sizeof why);
	like_text(why, "LD_PRELOAD=libjemalloc.so.2", "with the line that fixes it");
	ok(cairn_jemalloc_take(&profiler.jemalloc, mallctl, NULL, &error), "a mallctl handed over");
	has_prof = false;
	is_int(cairn_profiler_state(&profiler), CAIRN_PROFILER_NOT_BUILT, "built without profiling");
	ok(!cairn_profiler_activate(&profiler, true, &error) && strstr(error.text, "--enable-prof"), "it cannot be activated, and why");
	has_prof = true;
	has_opt = false;
	is_int(cairn_profiler_state(&profiler), CAIRN_PROFILER_NOT_ENABLED, "not enabled");
	ok(!cairn_profiler_activate(&profiler, true, &error) && strstr(error.text, "MALLOC_CONF=prof:true") && !is_active,
	   "an old jemalloc that would take the command without effect is not asked");
	ok(!cairn_snapshot_take(&snapshots, &(struct cairn_snapshot_ask){.since_ns = 0}, &error) && strstr(error.text, "prof:true"),
	   "no snapshot either");
	has_opt = true;
	is_int(cairn_profiler_state(&profiler), CAIRN_PROFILER_INACTIVE, "inactive");
	ok(cairn_profiler_activate(&profiler, true, &error) && atomic_load(&profiler.active_since) > 0, "active, since now");
	is_int(cairn_profiler_period(&profiler), 524288, "the period");
	ok(cairn_profiler_reset(&profiler, 70000, &error) && cairn_profiler_period(&profiler) == 65536, "a new one, rounded down");
	int64_t reset_at = atomic_exchange(&profiler.reset_at, 5);
	fails = true;
	ok(reset_at > 0 && !cairn_profiler_reset(&profiler, 0, &error) && strstr(error.text, "prof.reset"), "refused by jemalloc: %s", error.text);
	fails = false;
	ok(atomic_load(&profiler.reset_at) == 5 && cairn_profiler_period(&profiler) == 65536, "which leaves all as it was");
	atomic_store(&is_active, false);
	is_int(cairn_profiler_state(&profiler), CAIRN_PROFILER_INACTIVE, "turned off by the service itself");
	is_int(atomic_load(&profiler.active_since), 0, "is noticed");
	atomic_store(&is_active, true);
}

static void test_interval(void)
{
	interval_shift = 27;
	prefix = "je";
	is_int(cairn_profiler_jemalloc_interval(&profiler), 1 << 27, "jemalloc writes dumps of its own");
	has_opt = false;
	is_int(cairn_profiler_jemalloc_interval(&profiler), 0, "but not while it does not profile");
	has_opt = true;
	prefix = "";
	is_int(cairn_profiler_jemalloc_interval(&profiler), 0, "nor without a name for them");
	prefix = "je";
	interval_shift = 0;
	is_int(cairn_profiler_jemalloc_interval(&profiler), 1, "with every byte, if somebody wants that");
	interval_shift = 64;
	is_int(cairn_profiler_jemalloc_interval(&profiler), 0, "an interval that cannot be");
	interval_shift = -1;
	is_int(cairn_profiler_jemalloc_interval(&profiler), 0, "and none");
}

static void test_snapshot(void)
{
	struct cairn_error error = {0};
	struct cairn_snapshot *snapshot =
		cairn_snapshot_take(&snapshots, &(struct cairn_snapshot_ask){.since_ns = cairn_clock_ns()}, &error);
	ok(snapshot != NULL, "a snapshot: %s", error.text);
	if (!snapshot)
		return;
	ok(cairn_bytes_start_with(snapshot->text, "heap_v2/"), "begins as jemalloc writes it");
	ok(memmem(snapshot->text.data, snapshot->text.length, "\nMAPPED_LIBRARIES:\n", 19), "has maps, though jemalloc gave none");
	ok(memmem(snapshot->text.data, snapshot->text.length, "\n# cairn end\n", 13), "and the trailer to its end");
	is_int(atomic_load(&snapshots.last_samples), 7, "its samples are counted");
	cairn_snapshot_release(snapshot);
	is_int(cairn_descriptors_count(), 0, "and nothing of it is left open");
	fails = true;
	ok(!cairn_snapshot_take(&snapshots, &(struct cairn_snapshot_ask){.since_ns = 0}, &error) && error.text[0],
	   "a failure has a reason: %s", error.text);
	fails = false;
	is_int(cairn_descriptors_count(), 0, "and leaves nothing open");
}

/* Within a quota: however large one is, one fits, and what it counts for is given back with the last holder. */
static void test_quota(void)
{
	struct cairn_error error = {0};
	struct cairn_quota quota = {.limit = 1500}, large = {.limit = 1 << 30};
	atomic_bool gone = true;
	struct cairn_snapshot_ask ask = {.since_ns = cairn_clock_ns(), .quota = &quota};
	struct cairn_snapshot *first = cairn_snapshot_take(&snapshots, &ask, &error);
	ok(first && first->text.length > 1500, "a snapshot that is larger than its quota is taken when it is the first");
	is_int((long)atomic_load(&quota.used), 1000, "and leaves room for what is made of it");
	ask.since_ns = cairn_clock_ns();
	ok(!cairn_snapshot_take(&snapshots, &ask, &error) && ask.refused, "another has to wait: %s", error.text);
	struct cairn_snapshot_ask other = {.since_ns = 0, .quota = &large}, unlimited = {.since_ns = 0},
				  left = {.since_ns = 0, .gone = &gone};
	struct cairn_snapshot *second = cairn_snapshot_take(&snapshots, &other, &error);
	ok(second && second != first && atomic_load(&large.used) == second->text.length,
	   "who has another quota is not refused, and shares nothing");
	struct cairn_snapshot *third = cairn_snapshot_take(&snapshots, &unlimited, &error);
	ok(third != NULL, "nor is a rule");
	ok(!cairn_snapshot_take(&snapshots, &left, &error), "nothing is taken for who has left: %s", error.text);
	struct cairn_snapshot *held[] = {first, second, third};
	for (int i = 0; i < 3; i++)
		if (held[i])
			cairn_snapshot_release(held[i]);
	ok(!atomic_load(&quota.used) && !atomic_load(&large.used), "all is given back");
	is_int(cairn_descriptors_count(), 0, "and closed");
}

static void *ask(void *context)
{
	(void)context;
	struct cairn_error error;
	int64_t asked = cairn_clock_ns();
	struct cairn_snapshot *snapshot = cairn_snapshot_take(&snapshots, &(struct cairn_snapshot_ask){.since_ns = asked}, &error);
	bool good = snapshot && snapshot->began_ns >= asked;
	if (snapshot)
		cairn_snapshot_release(snapshot);
	return good ? context : NULL;
}

static void test_sharing(void)
{
	enum { askers = 24 };
	pthread_t threads[askers];
	int before = atomic_load(&dumps), good = 0;
	for (int i = 0; i < askers; i++)
		pthread_create(&threads[i], NULL, ask, &dumps);
	for (int i = 0; i < askers; i++) {
		void *result;
		pthread_join(threads[i], &result);
		good += result != NULL;
	}
	is_int(good, askers, "everybody gets a snapshot that began after the request");
	is_int(atomic_load(&worst), 1, "never two dumps at a time");
	int taken = atomic_load(&dumps) - before;
	ok(taken >= 1 && taken < askers / 2, "%d requests at once share %d dumps", askers, taken);
	ok(!snapshots.latest && cairn_descriptors_count() == 0, "and none is kept");
}

int main(void)
{
	test_states();
	test_interval();
	test_snapshot();
	test_quota();
	test_sharing();
	return tap_done();
}
