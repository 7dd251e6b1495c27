/* label.h - the labels of a view's samples, and filters by label.
 *
 * In addition to the labels in the profile, a heap sample without a size has a derived label `bytes`, the mean size of its objects.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_LABEL_H
#define CAIRN_REPORT_LABEL_H

#include "base/json.h"
#include "report/view.h"

struct cairn_view_label {
	struct cairn_bytes key;
	struct cairn_bytes text; /* of a text label */
	bool is_number;
	int64_t number;
	struct cairn_bytes unit; /* of a number; may be empty */
};

/* Label number INDEX of the view's SAMPLE; returns false after the last. Borrowed from the profile. */
bool cairn_view_label(const struct cairn_view *view, size_t sample, size_t index, struct cairn_view_label *label);

/* The value of LABEL in readable form, or exactly if PLAIN; at most ROOM bytes with the terminator. Returns OUT. */
char *cairn_label_text(const struct cairn_view_label *label, bool plain, char *out, size_t room);

/* Adds the value as "text", or as "number" and "unit". */
void cairn_label_json(const struct cairn_view_label *label, struct cairn_json *json);

struct cairn_label_filter;

/* Compiles a tag filter, or fails with a message. Free with cairn_label_filter_free. */
struct cairn_label_filter *cairn_label_filter_compile(const char *text, struct cairn_error *error);
bool cairn_label_filter_match(const struct cairn_label_filter *filter, const struct cairn_view *view, size_t sample);
void cairn_label_filter_free(struct cairn_label_filter *filter);

#endif
