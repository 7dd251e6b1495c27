/* service.h - finds the process of a service.
 *
 * A systemd unit is found by its control group, anything else by the name of its program. If there are several processes, it is the one
 * with an agent that has run longest: the others are its children, or the shell around it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_SERVICE_H
#define CAIRN_LIVE_SERVICE_H

#include "base/error.h"

/* The PID of service NAME; 0 if it does not run or none of its processes has an agent yet: PROBLEM then says which. With ANY, if none has
 * an agent, it is the one that has run longest. */
int cairn_service_process(const char *name, bool any, struct cairn_error *problem);

#endif
