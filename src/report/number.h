/* number.h - formats values in reports.
 *
 * An estimate has a fraction, which is dropped, as jeprof does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_NUMBER_H
#define CAIRN_REPORT_NUMBER_H

#include <stdbool.h>

/* VALUE in binary units when HUMAN, else as an integer. Returns OUT, which holds at least 32 bytes. */
char *cairn_number_text(double value, bool human, char *out);

/* A time: "25.51 s", "340 ns". Returns OUT, as above. */
char *cairn_number_time(double nanoseconds, char *out);

/* VALUE in percent of TOTAL; 0 if TOTAL is 0. */
double cairn_number_percent(double value, double total);

#endif
