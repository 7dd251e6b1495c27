/* collector_token.h - the token that a collector asks for: $CAIRN_COLLECTOR_TOKEN.
 *
 * It is not the variable of the agents' token, CAIRN_TOKEN, so that no agent gets the token of a tenant, and the collector not that of the
 * agents.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECTOR_TOKEN_H
#define CAIRN_FLEET_COLLECTOR_TOKEN_H

#include "base/error.h"

/* The header with the token GIVEN, or the variable's if that is NULL; NULL where there is no token. The caller frees it. */
char *cairn_collector_authorization(const char *given);

/* Adds to ERROR, about an answer of STATUS to a request with AUTHORIZATION, that the token of CAIRN_TOKEN was not sent. */
void cairn_collector_token_hint(int status, const char *authorization, struct cairn_error *error);

#endif
