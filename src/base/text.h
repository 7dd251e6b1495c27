/* text.h - reading text: lines, numbers, sizes as people write them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_TEXT_H
#define CAIRN_BASE_TEXT_H

#include "base/bytes.h"

/* Takes the next line off REST, without its line end (LF or CR LF). False at the end. *COMPLETE, when asked for, says
 * whether the line had an end at all: the last line of a file cut short has none. */
bool cairn_text_line(struct cairn_bytes *rest, struct cairn_bytes *line, bool *complete);

struct cairn_bytes cairn_text_trim(struct cairn_bytes text);

/* Moves REST past the blanks and tabs at its start. */
void cairn_text_skip_blanks(struct cairn_bytes *rest);

/* Takes the next word, up to a blank or tab, off REST, and the blanks behind it. Empty at the end. */
struct cairn_bytes cairn_text_word(struct cairn_bytes *rest);

/* Takes the text before the next SEPARATOR, and the separator, off REST; everything if there is none. */
struct cairn_bytes cairn_text_field(struct cairn_bytes *rest, char separator);

/* An unsigned decimal number at the start of REST, which moves past it. False, and REST unmoved, where there is no digit or
 * the number does not fit. */
bool cairn_text_decimal(struct cairn_bytes *rest, uint64_t *value);

/* Hexadecimal digits at the start of REST, with or without 0x. The same rules. */
bool cairn_text_hex(struct cairn_bytes *rest, uint64_t *value);

/* The value of a hexadecimal digit, in either case; -1 for anything else. */
int cairn_text_hex_digit(char c);

/* Moves past PREFIX if REST starts with it. */
bool cairn_text_take(struct cairn_bytes *rest, const char *prefix);

/* All of TEXT as a size: a number and an optional K, M, G, T (powers of 1024, also KiB, kb, …) or B, in either case. */
bool cairn_text_size(const char *text, uint64_t *value);

/* All of TEXT as a span of time: a number and ms, s, m, h or d; seconds without. */
bool cairn_text_duration(const char *text, int64_t *ns);

/* All of TEXT as seconds with up to nine digits of fraction, in nanoseconds. */
bool cairn_text_seconds(struct cairn_bytes text, int64_t *ns);

/* All of TEXT as a date with an optional time of day, 2026-11-18, 2026-11-18T19:00 or 2026-11-18 19:00:30: local time, or UTC if Z
 * follows. */
bool cairn_text_date(const char *text, int64_t *ns);

/* All of TEXT as a share: a percentage such as 90%, or a number from 0 to 1. */
bool cairn_text_share(const char *text, double *share);

/* NS as a person reads it: "50 ms", "1.5 s", "10 min", "2.5 h", "3 days". Returns OUT, which holds at least 24 bytes. */
char *cairn_text_span(int64_t ns, char *out);

/* NS since 1970 as "2026-11-15 07:12:03 UTC". Returns OUT, which holds at least 24 bytes. */
char *cairn_text_utc(int64_t ns, char *out);

/* BYTES as a person reads it: "17 B", "1.5 KiB", "-3.2 MiB". Returns OUT, which holds at least 24 bytes. */
char *cairn_text_human(double bytes, char *out);

/* The order of two texts (A and B point to a const char *), for qsort. */
int cairn_text_compare(const void *a, const void *b);

/* How many single-letter edits, or swaps of two neighbours, turn A into B, up to a small limit; for "did you mean". */
unsigned cairn_text_distance(const char *a, const char *b);

#endif
