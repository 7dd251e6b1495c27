/* collector_token.c - reads the variable.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collector_token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *cairn_collector_authorization(const char *given)
{
	const char *token = given ? given : getenv("CAIRN_COLLECTOR_TOKEN");
	char *header = NULL;
	if (token && asprintf(&header, "Authorization: Bearer %s", token) < 0)
		cairn_out_of_memory(strlen(token));
	return header;
}

void cairn_collector_token_hint(int status, const char *authorization, struct cairn_error *error)
{
	size_t length = strlen(error->text);
	if (status == 401 && !authorization && getenv("CAIRN_TOKEN"))
		snprintf(error->text + length, sizeof error->text - length,
			 "; CAIRN_TOKEN is set, which is for agents only and was not sent");
}
