/* memfd.h - opening a memfd of another process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_ATTACH_MEMFD_H
#define CAIRN_LIVE_ATTACH_MEMFD_H

/* Opens descriptor NUMBER of process PID for reading and writing if it is a memfd called NAME; -1 where it is something else. The name alone
 * proves nothing: a process with mounts of its own can give a file of ours that name. What proves it is the file system, which nobody can
 * mount. */
int cairn_memfd_open(int pid, int number, const char *name);

#endif
