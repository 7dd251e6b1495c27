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
	snprintf(out, 32, "%.0f", trunc(value) + 0.0);
	return out;
}

double cairn_number_percent(double value, double total)
{
	double percent = total != 0 ? 100 * value / total : 0;
	return fabs(percent) < 0.005 ? 0 : percent; /* and so never "-0.00" */
}
