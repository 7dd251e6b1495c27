/* file_limit.h - keeps a write beyond RLIMIT_FSIZE from ending the process.
 *
 * The kernel sends SIGXFSZ to a thread that makes a file, even a memfd, longer than the limit allows, and the call fails with EFBIG. Inside
 * somebody else's process only the second is wanted. To ask for the limit first would not do: another thread may set it meanwhile, and the
 * size of a dump is known late. So the signal is blocked for this thread while it writes, and taken back if it came.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_FILE_LIMIT_H
#define CAIRN_BASE_FILE_LIMIT_H

#include <signal.h>
#include <stdbool.h>

struct cairn_file_limit {
	sigset_t before;  /* the signals that the thread blocks */
	bool was_pending; /* SIGXFSZ was: it is not ours to take */
};

/* From here to the next call, writes of the calling thread fail with EFBIG and nothing else. Both are async-signal-safe; errno stays.
 * MAY_HAVE_FAILED: not all of them are known to have succeeded. */
void cairn_file_limit_enter(struct cairn_file_limit *limit);
void cairn_file_limit_leave(const struct cairn_file_limit *limit, bool may_have_failed);

#endif
