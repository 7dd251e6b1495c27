/* selector.h - labels of processes in a store, and selectors in the syntax of Prometheus: {service_name="api", version=~"4[12]"}.
 *
 * A process has the labels service_name, version, host and instance (HOST:PID), and those that its sender gave it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_SELECTOR_H
#define CAIRN_FLEET_SERVE_SELECTOR_H

#include "base/pattern.h"
#include "store/store.h"

enum { CAIRN_SELECTOR_MATCHERS = 16,
       CAIRN_LABEL_SIZE = 512 };

struct cairn_selector {
	struct cairn_matcher {
		char name[128], value[CAIRN_LABEL_SIZE];
		bool negated;
		struct cairn_pattern *pattern; /* NULL for a plain value */
	} matchers[CAIRN_SELECTOR_MATCHERS];
	size_t count;
};

/* Adds the matchers in TEXT to SELECTOR, which is all zeroes to begin with; all of them must match. Free it even if this fails. */
bool cairn_selector_parse(struct cairn_selector *selector, const char *text, struct cairn_error *error);
void cairn_selector_free(struct cairn_selector *selector);

bool cairn_selector_matches(const struct cairn_selector *selector, const struct cairn_store_process *process);

/* Stores the label NAME of PROCESS in OUT, which has CAIRN_LABEL_SIZE bytes; "" if it has none. */
void cairn_label_get(const struct cairn_store_process *process, const char *name, char *out);

/* Stores the name of label NUMBER of PROCESS in OUT, which has CAIRN_LABEL_SIZE bytes. Returns false after the last. */
bool cairn_label_name(const struct cairn_store_process *process, size_t number, char *out);

#endif
