/* preload.c - starts the agent when libcairn.so is loaded by LD_PRELOAD or by `cairn attach`. Nothing of the host changes before sampling
 * is switched on; with `engine:jemalloc`, the agent starts only if a jemalloc is in use.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/attach.h"
#include "agent/host/start.h"
#include "process/facts.h"

#include <errno.h>
#include <stdlib.h>

/* Programs that change their privileges and then exec the service. libc ends a program that keeps its capabilities while it changes its
 * user, as setpriv does, if there is a second thread, which has not kept them; and unshare cannot make a user namespace with a second
 * thread. The service itself gets its agent after the exec. */
static bool is_launcher(const char *name)
{
	static const char *const launchers[] = {
		"setpriv", "runuser", "su", "sudo", "doas", "gosu", "su-exec", "chpst", "setuidgid", "s6-setuidgid", "capsh",
		"start-stop-daemon", "unshare", "nsenter", "bwrap", "firejail", "systemd-run",
	};
	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
		if (strcmp(name, launchers[i]) == 0)
			return true;
	return false;
}

__attribute__((constructor)) static void preloaded(void)
{
	if (atomic_load(&cairn_attached.state) == CAIRN_ATTACH_WANTED) {
		cairn_attach_start();
		return;
	}
	cairn_attach_close_library(); /* the command that loaded it has given up meanwhile */
	/* A program that is linked with the library starts the agent itself. */
	const char *preload = secure_getenv("LD_PRELOAD");
	if (!preload || !strstr(preload, "libcairn") || is_launcher(program_invocation_short_name))
		return;
	struct cairn_config config;
	struct cairn_error error;
	cairn_facts_program_loaded();
	cairn_config_default(&config);
	cairn_service_lock();
	cairn_service_start(&config, CAIRN_SERVICE_PRELOADED, &error);
	cairn_service_unlock();
}
