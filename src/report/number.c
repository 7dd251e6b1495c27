/* number.c - printing values.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/number.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>

char *cairn_number_text(double value, bool human, char *out)
{
	if (human)
		return cairn_text_human(value, out);
	snprintf(out, 32, "%.0f", round(value) + 0.0);
	return out;
}

char *cairn_number_time(double nanoseconds, char *out)
{
	static const struct {
		double length;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (fabs(nanoseconds) >= units[i].length) {
			snprintf(out, 32, "%.2f %s", nanoseconds / units[i].length, units[i].name);
			return out;
		}
	snprintf(out, 32, "%.0f ns", nanoseconds + 0.0);
	return out;
}

double cairn_number_percent(double value, double total)
{
	double percent = total != 0 ? 100 * value / total : 0;
	return fabs(percent) < 0.005 ? 0 : percent; /* never "-0.00" */
}
