/* compare.c - starts the program again and again, and looks at its memory twenty times a second.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/why/compare.h"

#include "base/array.h"
#include "base/process.h"
#include "base/text.h"
#include "process/clock.h"
#include "process/proc.h"
#include "process/tree.h"
#include "series/law.h"

#include <errno.h>
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { looks_most = 1 << 20, processes_most = 4096, variables_most = 4, look_every_ms = 50 };
static const int64_t grace_ns = 5 * CAIRN_SECOND_NS; /* between SIGTERM and SIGKILL */

/* How a setting is written, and what it stands for. A library is preloaded, by its name without the version. */
static const struct setting {
	const char *name, *library, *variable, *before; /* the variable has BEFORE and the value */
	bool needs_value, is_size, no_huge;
	const char *about;
} settings[] = {
	{"default", NULL, NULL, "", false, false, false, "the program as it is"},
	{"arenas", NULL, "MALLOC_ARENA_MAX", "", true, false, false, "glibc with N arenas at most"},
	{"mmap-threshold", NULL, "MALLOC_MMAP_THRESHOLD_", "", true, true, false,
	 "glibc with mappings of their own for objects from SIZE on"},
	{"trim-threshold", NULL, "MALLOC_TRIM_THRESHOLD_", "", true, true, false,
	 "glibc that returns the end of its heap when SIZE of it is free"},
	{"tcache", NULL, "GLIBC_TUNABLES", "glibc.malloc.tcache_count=", true, false, false,
	 "glibc with N objects of a size in a thread's cache"},
	{"hugetlb", NULL, "GLIBC_TUNABLES", "glibc.malloc.hugetlb=", true, false, false,
	 "glibc with transparent huge pages (1) or others (2)"},
	{"nothp", NULL, NULL, "", false, false, true, "no transparent huge pages"},
	{"jemalloc", "libjemalloc.so*", "MALLOC_CONF", "", false, false, false, "jemalloc, with MALLOC_CONF as the value"},
	{"mimalloc", "libmimalloc.so*", "MIMALLOC_PURGE_DELAY", "", false, false, false,
	 "mimalloc, with its purge delay in milliseconds as the value"},
	{"tcmalloc", "libtcmalloc_minimal.so*", "TCMALLOC_RELEASE_RATE", "", false, false, false,
	 "gperftools' tcmalloc, with its release rate as the value"},
};
enum { settings_known = sizeof settings / sizeof *settings };

struct run {
	const struct setting *setting;
	const char *library; /* the file; NULL for none */
	const char *value;   /* NULL for none */
	double samples[CAIRN_COMPARE_MEASURES][CAIRN_COMPARE_ROUNDS];
};

/* Of one run. */
struct measured {
	double peak, settled, cpu, faults, seconds;
	bool has_exited, has_failed; /* the first process: by itself, and not with 0 */
	int status;
};

void cairn_compare_help(struct cairn_buffer *out)
{
	for (size_t i = 0; i < settings_known; i++) {
		char name[40];
		snprintf(name, sizeof name, "%s%s", settings[i].name,
			 settings[i].needs_value ? (settings[i].is_size ? "=SIZE" : "=N") : settings[i].library ? "[=VALUE]" : "");
		cairn_buffer_format(out, "%-22s %s\n", name, settings[i].about);
	}
}

/* Where the library PATTERN is installed. */
static const char *find_library(struct cairn_arena *arena, const char *pattern)
{
	static const char *const folders[] = {"/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib", "/usr/local/lib64"};
	const char *found = NULL;
	for (size_t i = 0; i < sizeof folders / sizeof *folders && !found; i++) {
		char path[128];
		glob_t matches;
		snprintf(path, sizeof path, "%s/%s", folders[i], pattern);
		if (glob(path, 0, NULL, &matches) != 0)
			continue;
		if (matches.gl_pathc)
			found = cairn_arena_text(arena, cairn_bytes_of(matches.gl_pathv[matches.gl_pathc - 1]));
		globfree(&matches);
	}
	return found;
}

static bool parse(struct cairn_compare *compare, struct run *run, struct cairn_bytes word, struct cairn_error *error)
{
	const char *equal = memchr(word.data, '=', word.length);
	size_t length = equal ? (size_t)(equal - word.data) : word.length;
	uint64_t size;
	*run = (struct run){0};
	for (size_t i = 0; i < settings_known && !run->setting; i++)
		if (strlen(settings[i].name) == length && memcmp(settings[i].name, word.data, length) == 0)
			run->setting = &settings[i];
	if (!run->setting)
		return cairn_fail(error, "--compare: no setting %.*s; 'cairn why --compare help' lists them",
				  (int)(length < 100 ? length : 100), word.data);
	if (equal)
		run->value = cairn_arena_text(&compare->arena, cairn_bytes_skip(word, length + 1));
	if (run->setting->needs_value && (!run->value || !run->value[0]))
		return cairn_fail(error, "--compare: %s needs a value; 'cairn why --compare help' lists the settings", run->setting->name);
	if (equal && !run->setting->variable)
		return cairn_fail(error, "--compare: %s takes no value", run->setting->name);
	if (run->setting->is_size) {
		if (!cairn_text_size(run->value, &size))
			return cairn_fail(error, "--compare: %s needs a size such as 128K", run->setting->name);
		run->value = cairn_arena_format(&compare->arena, "%llu", (unsigned long long)size);
	}
	if (run->setting->library && !(run->library = find_library(&compare->arena, run->setting->library)))
		return cairn_fail(error, "--compare: %s is not installed here", run->setting->name);
	return true;
}

static bool is_variable(const char *entry, const char *name)
{
	size_t length = strlen(name);
	return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/* The environment with what RUN sets, in an array that the caller frees. */
static char **make_environment(struct cairn_arena *arena, const struct run *run)
{
	size_t count = 0, kept = 0;
	while (environ[count])
		count++;
	char **made = cairn_array_zero(count + variables_most, sizeof *made);
	const char *variable = run->value ? run->setting->variable : NULL;
	const char *preload = getenv("LD_PRELOAD");
	for (size_t i = 0; i < count; i++)
		if (!(variable && is_variable(environ[i], variable)) && !(run->library && is_variable(environ[i], "LD_PRELOAD")))
			made[kept++] = environ[i];
	if (variable)
		made[kept++] = cairn_arena_format(arena, "%s=%s%s", variable, run->setting->before, run->value);
	if (run->library)
		made[kept] = cairn_arena_format(arena, "LD_PRELOAD=%s%s%s", run->library, preload ? ":" : "", preload ? preload : "");
	return made;
}

/* All processes of the run: every descendant of this command, which takes in those that lose their parent. */
static size_t list_processes(int *pids)
{
	size_t count = cairn_tree_list(getpid(), NULL, pids, processes_most);
	return count ? count - 1 : 0; /* the command itself comes first */
}

static double resident_of_all(int *pids)
{
	struct cairn_proc_statm statm;
	double sum = 0;
	size_t count = list_processes(pids);
	for (size_t i = 1; i <= count; i++)
		if (cairn_proc_statm_read(pids[i], &statm))
			sum += (double)statm.resident;
	return sum;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * (long)CAIRN_MILLISECOND_NS}, NULL);
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void count_usage(struct measured *measured, const struct rusage *usage)
{
	measured->cpu += seconds(usage->ru_utime) + seconds(usage->ru_stime);
	measured->faults += (double)usage->ru_minflt + (double)usage->ru_majflt;
	/* A peak between two looks is in what the kernel has kept of the largest process. */
	measured->peak = fmax(measured->peak, (double)usage->ru_maxrss * 1024);
}

/* Takes in the processes that have ended, among them perhaps CHILD. */
static void reap(struct measured *measured, pid_t child)
{
	struct rusage usage;
	int status;
	for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;) {
		count_usage(measured, &usage);
		if (pid == child) {
			measured->has_exited = true;
			measured->status = status;
		}
	}
}

/* Ends whatever still runs: asks first. Returns whether all have ended. */
static bool end_all(struct measured *measured, pid_t child, int *pids)
{
	enum { look_ms = 10 };
	int64_t start = cairn_clock_ns();
	bool asked = false;
	for (size_t count; (reap(measured, child), count = list_processes(pids)) > 0; pause_ms(look_ms)) {
		int64_t waited = cairn_clock_ns() - start;
		if (waited > 2 * grace_ns)
			return false;
		for (size_t i = 1; i <= count && (!asked || waited > grace_ns); i++)
			kill(pids[i], asked ? SIGKILL : SIGTERM);
		asked = true;
	}
	return true;
}

static bool is_over(const struct cairn_compare_plan *plan, int64_t start)
{
	return *plan->stop || (plan->for_ns && cairn_clock_ns() - start >= plan->for_ns);
}

/* Looks at the processes of CHILD until it ends, or its time is up. Then none of them is left. */
static bool watch(const struct cairn_compare_plan *plan, pid_t child, struct measured *measured)
{
	int *pids = cairn_array_new(processes_most, sizeof *pids);
	double *looks = NULL;
	size_t count = 0, capacity = 0;
	int64_t start = cairn_clock_ns();
	while (reap(measured, child), !measured->has_exited && !is_over(plan, start)) {
		double resident = resident_of_all(pids);
		if (resident > 0 && count < looks_most) {
			cairn_array_room(looks, count, capacity);
			looks[count++] = resident;
		}
		measured->peak = fmax(measured->peak, resident);
		pause_ms(look_every_ms);
	}
	measured->seconds = (double)(cairn_clock_ns() - start) / CAIRN_SECOND_NS;
	measured->has_failed = measured->has_exited && (!WIFEXITED(measured->status) || WEXITSTATUS(measured->status) != 0);
	bool ended = end_all(measured, child, pids);
	if (count) { /* the median of the last third: the end of the program is not what it settles at */
		size_t first = count - (count + 2) / 3;
		qsort(looks + first, count - first, sizeof *looks, cairn_law_compare);
		measured->settled = looks[first + (count - first) / 2];
	}
	free(looks);
	free(pids);
	return ended;
}

static bool run_once(struct cairn_compare *compare, const struct cairn_compare_plan *plan, struct run *run,
		     struct cairn_compare_row *row, struct cairn_error *error)
{
	struct measured measured = {0};
	pid_t child;
	char **environment = make_environment(&compare->arena, run);
	if (run->setting->no_huge) /* a child inherits it */
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	bool good = cairn_process_start(plan->command[0], plan->command, environment, (const int[3]){-1, -1, 2}, &child);
	int code = errno;
	if (run->setting->no_huge)
		prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	free(environment);
	errno = code;
	if (!good)
		return cairn_fail_errno(error, "cannot start %.200s", plan->command[0]);
	if (!watch(plan, child, &measured))
		return cairn_fail(error, "processes of %.200s cannot be ended", plan->command[0]);
	if (*plan->stop) /* it has not run to its end */
		return true;
	double (*samples)[CAIRN_COMPARE_ROUNDS] = run->samples;
	samples[CAIRN_COMPARE_PEAK][row->rounds] = measured.peak;
	samples[CAIRN_COMPARE_SETTLED][row->rounds] = measured.settled;
	samples[CAIRN_COMPARE_CPU][row->rounds] = measured.cpu;
	samples[CAIRN_COMPARE_FAULTS][row->rounds] = measured.faults;
	samples[CAIRN_COMPARE_TIME][row->rounds] = measured.seconds;
	row->rounds++;
	row->failures += measured.has_failed;
	return true;
}

static struct cairn_compare_value mean_of(const double *samples, unsigned count)
{
	double sum = 0, squares = 0;
	for (unsigned i = 0; i < count; i++)
		sum += samples[i];
	double mean = count ? sum / count : 0;
	for (unsigned i = 0; i < count; i++)
		squares += (samples[i] - mean) * (samples[i] - mean);
	double error = count > 1 ? cairn_law_student_quantile(0.025, count - 1) * sqrt(squares / (count - 1) / count) : 0;
	return (struct cairn_compare_value){mean, error};
}

static bool parse_all(struct cairn_compare *compare, struct run *runs, const char *wanted, struct cairn_error *error)
{
	struct cairn_bytes rest = cairn_bytes_of(wanted);
	for (cairn_text_skip_blanks(&rest); rest.length; cairn_text_skip_blanks(&rest)) {
		struct cairn_bytes word = cairn_text_word(&rest);
		if (compare->count == CAIRN_COMPARE_SETTINGS)
			return cairn_fail(error, "--compare: at most %d settings", CAIRN_COMPARE_SETTINGS);
		if (!parse(compare, &runs[compare->count], word, error))
			return false;
		compare->rows[compare->count++].name = cairn_arena_text(&compare->arena, word);
	}
	return compare->count || cairn_fail(error, "--compare: name the settings; 'cairn why --compare help' lists them");
}

bool cairn_compare_run(struct cairn_compare *compare, const struct cairn_compare_plan *plan, struct cairn_error *error)
{
	struct run *runs = cairn_array_zero(CAIRN_COMPARE_SETTINGS, sizeof *runs);
	*compare = (struct cairn_compare){0};
	bool good = parse_all(compare, runs, plan->settings, error);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	for (unsigned round = 0; good && round < plan->rounds; round++)
		for (size_t i = 0; good && i < compare->count && !*plan->stop; i++) {
			size_t turn = (i + round) % compare->count;
			if (plan->begin)
				plan->begin(compare->rows[turn].name, round + 1);
			good = run_once(compare, plan, &runs[turn], &compare->rows[turn], error);
		}
	for (size_t i = 0; good && i < compare->count; i++) {
		good = compare->rows[i].rounds || cairn_fail(error, "stopped before %.100s had run once", compare->rows[i].name);
		for (int k = 0; good && k < CAIRN_COMPARE_MEASURES; k++)
			compare->rows[i].values[k] = mean_of(runs[i].samples[k], compare->rows[i].rounds);
	}
	free(runs);
	return good;
}

void cairn_compare_free(struct cairn_compare *compare)
{
	cairn_arena_free(&compare->arena);
	*compare = (struct cairn_compare){0};
}
