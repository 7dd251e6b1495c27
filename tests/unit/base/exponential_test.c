/* exponential_test.c - against libm.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/exponential.h"
#include "tap.h"

#include <math.h>

int main(void)
{
	double worst = 0;
	for (double value = 1e-300; value < 1e300; value *= 1.37)
		worst = fmax(worst, fabs(cairn_exponential_log(value) - log(value)) / fmax(1, fabs(log(value))));
	for (double value = 0x1p-53; value <= 1; value += 0x1p-16)
		worst = fmax(worst, fabs(cairn_exponential_log(value) - log(value)) / fmax(1, fabs(log(value))));
	ok(worst < 1e-14, "the logarithm is libm's to %.1e", worst);
	worst = 0;
	for (double value = 1e-18; value < 100; value *= 1.01)
		worst = fmax(worst, fabs(cairn_exponential_chance(value) / -expm1(-value) - 1));
	ok(worst < 1e-13, "1 - exp(-x) is libm's to %.1e, relative, also where x is small", worst);
	ok(cairn_exponential_chance(0) == 0, "nothing is seen of nothing");
	ok(cairn_exponential_chance(1e9) == 1 && cairn_exponential_chance(INFINITY) == 1, "everything is seen of what is large");
	return tap_done();
}
