/* preload.c - what happens when libcairn.so is loaded by LD_PRELOAD: the agent starts where there is a jemalloc in use, and
 * nothing at all happens anywhere else, so that a shell which merely passes the variable on takes no notice.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/start.h"

#include <stdlib.h>

__attribute__((constructor)) static void preloaded(void)
{
	/* A program that is linked with the library starts it itself. */
	const char *preload = secure_getenv("LD_PRELOAD");
	if (!preload || !strstr(preload, "libcairn"))
		return;
	struct cairn_config config;
	struct cairn_error error;
	cairn_config_default(&config);
	pthread_mutex_lock(&cairn_agent.life);
	cairn_service_start(&config, true, &error);
	pthread_mutex_unlock(&cairn_agent.life);
}
