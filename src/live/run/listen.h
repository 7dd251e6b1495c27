/* listen.h - the sockets at which the processes of a tree find `cairn run`. They have names instead of files (abstract sockets), so that nothing
 * is left behind.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_RUN_LISTEN_H
#define CAIRN_LIVE_RUN_LISTEN_H

/* Listens at NAME for packets, without waiting. Returns -1 if that cannot be. */
int cairn_run_listen(const char *name);

#endif
