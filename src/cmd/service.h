/* service.h - from the name of a service to the process that is it now.
 *
 * A systemd unit is found by its control group, anything else by the name of its program. Of several processes it is the one
 * that has run longest among those with an agent: the others are its children, or the shell around it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SERVICE_H
#define CAIRN_CMD_SERVICE_H

#include "base/error.h"

/* The PID of service NAME; 0 when it does not run, or none of its processes has an agent yet: PROBLEM then says which. ANY: the one that has
 * run longest will do, where none has an agent. */
int cairn_service_process(const char *name, bool any, struct cairn_error *problem);

#endif
