/* fixture.h - a view from a few lines of folded text, or from any other profile.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_REPORT_FIXTURE_H
#define CAIRN_TESTS_REPORT_FIXTURE_H

#include "profile/read.h"
#include "report/view.h"
#include "tap.h"

struct fixture {
	struct cairn_profile profile;
	struct cairn_view view;
	struct cairn_error error;
	bool good;
};

/* FIXTURE stays where it is until fixture_free: the view points into it. */
__attribute__((unused)) static bool fixture_make(struct fixture *fixture, const char *text, const struct cairn_view_options *options)
{
	static const struct cairn_view_options plain;
	*fixture = (struct fixture){0};
	cairn_profile_init(&fixture->profile);
	bool read = cairn_profile_read(&fixture->profile, cairn_bytes_of(text), "test", &(struct cairn_read_options){.split_threads = true},
				       &fixture->error);
	fixture->good = read && cairn_view_make(&fixture->view, &fixture->profile, options ? options : &plain, &fixture->error);
	return fixture->good;
}

__attribute__((unused)) static void fixture_free(struct fixture *fixture)
{
	cairn_view_free(&fixture->view);
	cairn_profile_free(&fixture->profile);
}

/* The stacks of the view, "a;b 3|a 1", root first. */
__attribute__((unused)) static const char *fixture_stacks(struct fixture *fixture)
{
	static char text[1024];
	text[0] = '\0';
	for (size_t i = 0; i < fixture->view.sample_count; i++) {
		size_t depth;
		const uint32_t *stack = cairn_view_stack(&fixture->view, i, &depth);
		if (i)
			strcat(text, "|");
		while (depth-- > 0) {
			strcat(text, cairn_view_name(&fixture->view, stack[depth]).data);
			strcat(text, depth ? ";" : "");
		}
		sprintf(text + strlen(text), " %.0f", cairn_view_value(&fixture->view, i));
	}
	return text;
}

#endif
