/* push.h - `cairn symbols push`: the programs and debug files of a build, to a collector.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SYMBOLS_PUSH_H
#define CAIRN_CMD_SYMBOLS_PUSH_H

/* Uploads the COUNT files and folders in NAMES to the collector at TO. TOKEN may be NULL. Says what became of each; returns the exit
 * code. */
int cairn_symbols_push(const char *to, const char *token, int count, char **names);

#endif
