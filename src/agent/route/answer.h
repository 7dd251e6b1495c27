/* answer.h - answers of several families' handlers: snapshots, refusals, and the output of the cairn command.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_ROUTE_ANSWER_H
#define CAIRN_AGENT_ROUTE_ANSWER_H

#include "agent/route/route.h"
#include "agent/work/agent.h"
#include "base/json.h"

/* `{"error": TEXT}`, with a second key `cause` if CAUSE is not empty. */
void cairn_answer_error(struct cairn_call *call, int status, const char *text, const char *cause);

/* The state of profiling as other systems mean it, and below CAIRN_PROFILER_INACTIVE its CAUSE. It is that of the engine in use. But where
 * that is Cairn's, though nobody asked for it, and does not see the service's memory (cairn_sampler_warn), it is that of the service's own
 * jemalloc, which has to be started with prof:true: a profile without the service would be taken for its profile. */
enum cairn_profiler_state cairn_answer_state(struct cairn_call *call, struct cairn_error *cause);

/* Whether there is a profiler that could be active; if not, its STATE and the reason, as cairn_answer_state has them. */
bool cairn_answer_can_profile(struct cairn_call *call, enum cairn_profiler_state *state, struct cairn_error *cause);

/* A snapshot taken after the call arrived, or NULL with the reason. If the memory for answers is used up, the call is answered with a
 * 503, whatever the handler fills in. */
struct cairn_snapshot *cairn_answer_take(struct cairn_call *call, struct cairn_error *error);

/* Answers with SNAPSHOT unchanged; the response holds it from now on. */
void cairn_answer_snapshot(struct cairn_call *call, struct cairn_snapshot *snapshot, const char *type);

/* Answers with the file DESCRIPTOR (base/descriptor.h), a dump, which the response owns from now on. The file is not read into memory. */
void cairn_answer_file(struct cairn_call *call, int descriptor);

/* Appends the output of `cairn ARGUMENTS…` for the file INPUT to the body, with BASE as its /dev/fd/3 (-1 for none). Returns 200, or the
 * status of the failure: 501 if there is no cairn command, 504 if it took too long, 500 otherwise. If its answer does not fit in the
 * memory for answers, the call is answered with a 503, whatever the handler fills in. */
int cairn_answer_render(struct cairn_call *call, const char *const *arguments, int input, int base, const char *type,
			struct cairn_error *error);

/* The same for TEXT, passed in a scratch file. */
int cairn_answer_render_text(struct cairn_call *call, const char *const *arguments, struct cairn_bytes text, const char *type,
			     struct cairn_error *error);

/* The same for untrusted TEXT: /dev/fd/3 is this process's memory map and modules, for --only-modules. The command must not open a file
 * just because TEXT names it. */
int cairn_answer_render_upload(struct cairn_call *call, const char *const *arguments, struct cairn_bytes text, const char *type,
			       struct cairn_error *error);

/* What the receivers of pprof profiles take by default, and what ?max_samples= and ?max_bytes= say instead; 0 is no limit. */
#define CAIRN_PPROF_SAMPLES "16000"
#define CAIRN_PPROF_BYTES "4194304"
struct cairn_pprof_limits {
	char samples[24], bytes[24];
};

/* Reads them from the query of CALL; answers 400 and returns false where they are no numbers. */
bool cairn_pprof_limits(struct cairn_call *call, struct cairn_pprof_limits *limits);

/* Adds them to the COUNT arguments of `cairn pprof`, up to four, and returns how many there are then. */
size_t cairn_pprof_limit_arguments(const struct cairn_pprof_limits *limits, const char **arguments, size_t count);

/* jemalloc's own statistics; OPTIONS as for malloc_stats_print. Returns false if it fails. */
bool cairn_answer_stats(struct cairn_call *call, const char *options);

#endif
