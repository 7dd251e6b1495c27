/* law_test.c - tails against values from tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/law.h"
#include "tap.h"

int main(void)
{
	is_near(cairn_law_normal_above(1.959964), 0.025, 1e-7, "the normal law");
	is_near(cairn_law_student_above(12.706205, 1), 0.025, 1e-8, "Student's law, one degree of freedom");
	is_near(cairn_law_student_above(2.570582, 5), 0.025, 1e-8, "five");
	is_near(cairn_law_student_above(-2.570582, 5), 0.975, 1e-8, "the other tail");
	is_near(cairn_law_student_above(1.959964, 1e7), 0.025, 1e-6, "very many are the normal law");
	is_near(cairn_law_student_above(7.173182, 5) / 4.1e-4, 1, 0.02, "far out");
	ok(cairn_law_student_above(INFINITY, 3) == 0 && cairn_law_student_above(-INFINITY, 3) == 1, "without bounds");
	ok(cairn_law_student_above(NAN, 3) == 1 && cairn_law_student_above(5, 0) == 1, "what cannot be known is no proof");
	is_near(cairn_law_student_quantile(0.025, 5), 2.570582, 1e-5, "and back");
	is_near(cairn_law_coin_above(10, 10), 1 / 1024.0, 1e-12, "ten heads of ten");
	is_near(cairn_law_coin_above(10, 8), 56 / 1024.0, 1e-12, "eight or more of ten");
	ok(cairn_law_coin_above(0, 0) == 1 && cairn_law_coin_above(3, 4) == 0, "none, and too many");
	return tap_done();
}
