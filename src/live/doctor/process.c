/* process.c - checks whether the process can be profiled, and whether its profile shows something.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "live/attach/subject.h"
#include "live/doctor/doctor.h"
#include "live/restart.h"
#include "process/clock.h"
#include "process/memory.h"
#include "profile/read.h"
#include "protocol/profiler_state.h"
#include "series/series.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The agent is loaded but does not answer. Where attaching starts it, the next check says so. */
static void check_silent_agent(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	static const char *const reasons[] = {
		[CAIRN_ATTACH_DETACHED] = "it was detached",
		[CAIRN_ATTACH_WAITING] = "it waits until somebody asks, and we may not start it",
		[CAIRN_ATTACH_WAITING_JEMALLOC] = "it waits until somebody asks, and we may not start it",
	};
	struct cairn_attach agent;
	bool found = diagnosis->target.socket[0] || diagnosis->target.forbidden;
	bool known = !found && cairn_diagnosis_attach_state(diagnosis, &agent);
	uint32_t state = known ? agent.state : CAIRN_ATTACH_NEVER;
	if (diagnosis->state == 'T') {
		cairn_finding_say(finding, CAIRN_WRONG, "the agent is loaded but cannot answer, since the process is stopped");
		finding->fix = cairn_arena_format(&diagnosis->arena, "kill -CONT %d", diagnosis->pid);
	} else if (found) {
		cairn_finding_say(finding, CAIRN_WRONG, "the agent is loaded but does not answer here: %.300s",
				  diagnosis->agent_problem.text);
	} else if (state == CAIRN_ATTACH_FAILED) {
		cairn_finding_say(finding, CAIRN_WRONG, "the agent is loaded but could not start: %s", agent.problem);
	} else {
		bool told = state < sizeof reasons / sizeof *reasons && reasons[state];
		cairn_finding_say(finding, diagnosis->can_attach ? CAIRN_NOTE : CAIRN_WRONG, "the agent is loaded but does not run: %s",
				  told ? reasons[state] : "it was detached, waits until somebody asks, or found nothing that it can profile");
	}
}

void cairn_check_agent(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	char version[40];
	const char *preload = cairn_diagnosis_variable(diagnosis, "LD_PRELOAD");
	cairn_diagnosis_field(diagnosis, "agent.version", version, sizeof version);
	if (diagnosis->has_agent) {
		cairn_finding_say(finding, CAIRN_RIGHT, "the agent %s answers", version);
	} else if (cairn_diagnosis_library(diagnosis)) {
		check_silent_agent(diagnosis, finding);
	} else if (preload && strstr(preload, "libcairn") && diagnosis->has_maps) {
		cairn_finding_say(finding, CAIRN_WRONG,
				  "LD_PRELOAD names the agent, but it was not loaded: the process cannot see the file, or the "
				  "program is static or privileged");
		finding->advice = cairn_arena_format(&diagnosis->arena, "put libcairn.so at %.*s as the process sees it",
						     (int)strcspn(preload, ": "), preload);
	} else if (cairn_diagnosis_is_static(diagnosis)) {
		cairn_finding_say(finding, CAIRN_NOTE, "no agent: nothing can be preloaded into a static program, so that it would have one beside it");
	} else {
		cairn_finding_say(finding, CAIRN_NOTE,
				  "no agent: without one, Cairn can only read the dumps that jemalloc itself writes");
		cairn_finding_run(finding, diagnosis);
	}
}

/* Whether `cairn attach` would work. */
void cairn_check_attach(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	if (diagnosis->has_agent || !diagnosis->pid)
		return;
	if (!diagnosis->can_attach) {
		cairn_finding_say(finding, CAIRN_NOTE, "it cannot be attached to: %s", diagnosis->attach_problem.text);
		return;
	}
	cairn_finding_say(finding, CAIRN_NOTE, "it can be attached to while it runs");
	cairn_finding_attach(finding, diagnosis);
}

/* A port that nobody listens on; 0 if there is none. */
static unsigned free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool good = descriptor >= 0 && bind(descriptor, (struct sockaddr *)&address, size) == 0 &&
		    getsockname(descriptor, (struct sockaddr *)&address, &size) == 0;
	if (descriptor >= 0)
		close(descriptor);
	return good ? ntohs(address.sin_port) : 0;
}

/* Appends SETTING to the present CAIRN_CONF: the last setting of a key counts. */
static void add_setting(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding, const char *setting)
{
	const char *now = cairn_diagnosis_variable(diagnosis, "CAIRN_CONF");
	cairn_finding_restart(finding, diagnosis, "CAIRN_CONF",
			      now && now[0] ? cairn_arena_format(&diagnosis->arena, "%s,%s", now, setting) : setting);
}

/* What the agent itself complains of. */
void cairn_check_settings(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	enum kind { SETTINGS, SOCKET, LISTEN, DUMPS };
	static const struct {
		const char *path, *complaint;
		enum kind kind;
	} table[] = {
		{"config_problems", "config problems", SETTINGS},
		{"agent.socket_problem", "socket problem", SOCKET},
		{"agent.listen_problem", "listen problem", LISTEN},
		{"dumps.problem", "dump problem", DUMPS},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		char text[400];
		cairn_diagnosis_field(diagnosis, table[i].path, text, sizeof text);
		if (!text[0])
			continue;
		cairn_finding_say(finding, CAIRN_WRONG, "the agent's %s: %s", table[i].complaint, text);
		if (table[i].kind == SETTINGS)
			finding->advice = "restart it with CAIRN_CONF=key:value,key:value; 'man cairn' lists the keys";
		else if (table[i].kind == SOCKET)
			finding->advice = "restart it with XDG_RUNTIME_DIR set to a folder it can write to";
		else if (table[i].kind == LISTEN)
			add_setting(diagnosis, finding, cairn_arena_format(&diagnosis->arena, "listen:127.0.0.1:%u", free_port()));
		else
			add_setting(diagnosis, finding, "dumps:$(mktemp -d)");
		return;
	}
}

void cairn_check_privileges(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	if (!diagnosis->is_secure)
		return;
	cairn_finding_say(
		finding, CAIRN_WRONG,
		"it runs with the privileges of another user (set-user-ID or file capabilities): its environment is not trusted, "
		"and neither LD_PRELOAD nor %s is read",
		diagnosis->variable ? diagnosis->variable : "MALLOC_CONF");
	const char *link =
		diagnosis->allocator && diagnosis->allocator->jemalloc.link[0] ? diagnosis->allocator->jemalloc.link : "/etc/malloc.conf";
	finding->fix = cairn_arena_format(&diagnosis->arena, "ln -sf prof:true %s", cairn_shell_word(&diagnosis->arena, link));
}

/* The soft limit in the line of /proc/PID/limits that begins with NAME; false if it is unlimited or missing. */
static bool soft_limit(const struct cairn_diagnosis *diagnosis, const char *name, uint64_t *value)
{
	struct cairn_bytes rest = diagnosis->limits, line;
	while (cairn_text_line(&rest, &line, NULL))
		if (cairn_text_take(&line, name)) {
			line = cairn_text_trim(line);
			return cairn_text_decimal(&line, value);
		}
	return false;
}

void cairn_check_limits(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	enum { least_file = 64 << 20, least_descriptors = 32 };
	uint64_t value;
	char human[24];
	if (soft_limit(diagnosis, "Max file size", &value) && value < least_file) {
		cairn_finding_say(finding, CAIRN_WRONG, "it can write files of at most %s: larger dumps are cut short, or kill it",
				  cairn_text_human((double)value, human));
		finding->fix = cairn_arena_format(&diagnosis->arena, "prlimit --pid %d --fsize=unlimited", diagnosis->pid);
	} else if (soft_limit(diagnosis, "Max open files", &value) && value < least_descriptors) {
		cairn_finding_say(finding, CAIRN_WRONG, "it can open %llu files, too few to also write a dump",
				  (unsigned long long)value);
		finding->fix = cairn_arena_format(&diagnosis->arena, "prlimit --pid %d --nofile=1024", diagnosis->pid);
	} else if (soft_limit(diagnosis, "Max address space", &value)) {
		cairn_finding_say(
			finding, CAIRN_NOTE,
			"its address space is limited to %s, which includes addresses that jemalloc keeps after it returned the memory",
			cairn_text_human((double)value, human));
	} else if (diagnosis->limits.length) {
		cairn_finding_say(finding, CAIRN_RIGHT, "its limits (ulimit) leave room for dumps");
	}
}

/* How close the process is to its memory limit, and whether its group has reached it before. */
void cairn_check_memory(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	struct cairn_memory memory;
	struct cairn_memory_reading reading;
	struct cairn_error error;
	char own[24], used[24], limit[24], all[120];
	if (!diagnosis->pid || !cairn_memory_open(&memory, "", diagnosis->pid, &error))
		return;
	bool known = cairn_memory_read(&memory, cairn_clock_ns(), &reading) && reading.limit > 0;
	uint64_t cache = known ? cairn_memory_cache(&memory) : 0;
	cairn_memory_close(&memory);
	if (!known)
		return;
	uint64_t charged = reading.usage - (cache < reading.usage ? cache : reading.usage);
	double share = (double)(charged > reading.anonymous ? charged : reading.anonymous) / (double)reading.limit;
	cairn_text_human((double)reading.anonymous, own);
	cairn_text_human((double)reading.limit, limit);
	/* The limit is for all processes of the group, or of the machine. */
	if (reading.limit_of_group)
		snprintf(all, sizeof all, "%s private; its control group uses %s of %s", own, cairn_text_human((double)charged, used),
			 limit);
	else
		snprintf(all, sizeof all, "%s private; the machine has %s, of which %s are available", own, limit,
			 cairn_text_human((double)reading.host_available, used));
	if (share > 0.9) {
		cairn_finding_say(finding, CAIRN_WRONG, "%s: it may be killed before a dump is made", all);
		finding->fix = cairn_arena_format(&diagnosis->arena, "cairn dump %s", cairn_shell_word(&diagnosis->arena, diagnosis->name));
	} else if (reading.events.oom_kill) {
		cairn_finding_say(finding, CAIRN_NOTE, "%s; the OOM killer killed %llu process%s in its group", all,
				  (unsigned long long)reading.events.oom_kill, reading.events.oom_kill == 1 ? "" : "es");
		finding->fix =
			cairn_arena_format(&diagnosis->arena, "cairn watch %s", cairn_shell_word(&diagnosis->arena, diagnosis->name));
	} else {
		cairn_finding_say(finding, CAIRN_RIGHT, "%s", all);
	}
}

void cairn_check_sandbox(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	if (!diagnosis->pid || cairn_subject_seccomp(diagnosis->pid) == CAIRN_SECCOMP_NONE)
		return;
	if (diagnosis->has_agent)
		cairn_finding_say(finding, CAIRN_RIGHT, "its system calls are filtered (seccomp), and the agent still answers");
	else
		cairn_finding_say(finding, CAIRN_UNKNOWN,
				  "its system calls are filtered (seccomp); cannot tell whether the agent's are allowed");
}

void cairn_check_container(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	if (cairn_diagnosis_has_own_root(diagnosis))
		cairn_finding_say(
			finding, CAIRN_NOTE,
			"it has its own file system (a container or chroot): paths here are as it sees them; from outside "
			"they are under %s",
			diagnosis->root);
}

/* "release version 2.36" in libc's own text; 0 if it is not there. */
static unsigned glibc_version(const struct cairn_diagnosis *diagnosis)
{
	static const char words[] = "release version 2.";
	const struct cairn_diagnosis_module *libc = cairn_diagnosis_find_module(diagnosis, "/libc.so.6");
	libc = libc ? libc : cairn_diagnosis_find_module(diagnosis, "/libc-2.");
	struct cairn_bytes text = libc && libc->elf ? cairn_elf_named(libc->elf, ".rodata") : (struct cairn_bytes){"", 0};
	const char *at = text.length ? memmem(text.data, text.length, words, sizeof words - 1) : NULL;
	uint64_t minor = 0;
	struct cairn_bytes rest = at ? cairn_bytes_skip(text, (size_t)(at - text.data) + sizeof words - 1) : (struct cairn_bytes){"", 0};
	cairn_text_decimal(&rest, &minor);
	return (unsigned)minor;
}

void cairn_check_unwinder(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	const char *version = diagnosis->allocator ? diagnosis->allocator->jemalloc.version : "";
	unsigned minor = glibc_version(diagnosis);
	bool musl = cairn_diagnosis_find_module(diagnosis, "/ld-musl") != NULL;
	if (!diagnosis->allocator || !diagnosis->allocator->jemalloc.profiles)
		return;
	bool has_hook = version[0] > '5' || strncmp(version, "5.3", 3) == 0;
	if (diagnosis->has_agent && has_hook) {
		cairn_finding_say(finding, CAIRN_RIGHT, "the agent takes stacks, without locks");
	} else if (musl) {
		cairn_finding_say(finding, CAIRN_WRONG,
				  "jemalloc's own unwinder may hang on musl: it allocates while jemalloc starts");
		finding->advice = "use jemalloc 5.3 and Cairn's agent, which takes stacks itself";
	} else if (minor && minor < 35) {
		cairn_finding_say(finding, CAIRN_WRONG,
				  "glibc 2.%u: jemalloc's own unwinder takes the loader's lock and may deadlock in a process that "
				  "loads libraries",
				  minor);
		finding->advice = "use jemalloc 5.3 and Cairn's agent, which takes stacks without locks; or use glibc 2.35";
	} else if (minor) {
		cairn_finding_say(finding, CAIRN_RIGHT, "glibc 2.%u finds unwind tables without a lock", minor);
	} else {
		cairn_finding_say(finding, CAIRN_UNKNOWN,
				  "unknown libc version; before glibc 2.35 jemalloc's own unwinder may deadlock");
	}
}

void cairn_check_samples(struct cairn_diagnosis *diagnosis, struct cairn_finding *finding)
{
	char state[40], size[24];
	struct cairn_error error;
	struct cairn_buffer body = {0};
	cairn_diagnosis_field(diagnosis, "state", state, sizeof state);
	if (!diagnosis->has_agent || !cairn_profiler_state_is_enabled(state))
		return;
	struct cairn_profile profile;
	struct cairn_trailer trailer;
	cairn_profile_init(&profile);
	if (!cairn_target_snapshot(&diagnosis->target, &body, &error) ||
	    !cairn_profile_read(&profile, cairn_buffer_bytes(&body), diagnosis->name, &(struct cairn_read_options){0}, &error)) {
		cairn_finding_say(finding, CAIRN_WRONG, "cannot get a profile: %.400s", error.text);
	} else if (!cairn_check_has_samples(&profile) && cairn_profiler_state_is(state, CAIRN_PROFILER_INACTIVE)) {
		cairn_finding_say(finding, CAIRN_WRONG, "there are no samples, because sampling is off");
		finding->fix =
			cairn_arena_format(&diagnosis->arena, "cairn activate %s", cairn_shell_word(&diagnosis->arena, diagnosis->name));
	} else if (!cairn_check_has_samples(&profile) && !cairn_check_maps_itself(diagnosis, &profile, finding)) {
		struct cairn_own_memory own = cairn_own_memory_of(&profile);
		double unseen = cairn_own_memory_unseen(&own, profile.period);
		if (unseen > 0) {
			cairn_finding_say(finding, CAIRN_WRONG,
					  "there are no samples, but the process has grown by %s since sampling began: something else than the "
					  "profiled allocator holds that",
					  cairn_text_human(unseen, size));
			finding->advice = "cairn why with its PID, which breaks its memory down";
		} else {
			cairn_finding_say(finding, CAIRN_WRONG,
					  "there are no samples yet: less was allocated since sampling began than the period");
			finding->advice = "wait, or give it work";
		}
	} else if (cairn_check_has_samples(&profile)) {
		bool known = cairn_trailer_read(cairn_buffer_bytes(&body), &trailer);
		cairn_check_profile_coverage(diagnosis, &profile, known ? &trailer : NULL, finding);
	}
	cairn_profile_free(&profile);
	cairn_buffer_free(&body);
}
