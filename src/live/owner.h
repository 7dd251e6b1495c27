/* owner.h - whether a process is ours, so that the page may show any file that its dumps name.
 *
 * The page's source tab reads the files that debug information names. A process of our user with our root directory can read them itself.
 * Any other, such as one in a container, could make the page show files that it cannot read; for it, the search for source files is
 * confined (report/source_file.h). All runs of a service share one archive of dumps, so one run that was foreign confines it for good.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_OWNER_H
#define CAIRN_LIVE_OWNER_H

enum cairn_serve_owner {
	CAIRN_OWNER_UNKNOWN, /* no run yet, or the last one could not be examined: confined until the next run */
	CAIRN_OWNER_OWN,     /* all runs whose dumps are kept have our user and our root directory */
	CAIRN_OWNER_FOREIGN, /* some run had another user or root directory */
};

/* Examines the run with that PID. UNKNOWN if it cannot be examined, as when it has just ended. */
enum cairn_serve_owner cairn_serve_owner_of(int pid);

/* The owner of all runs, after BEFORE, once a run was found to be of NEXT. */
enum cairn_serve_owner cairn_serve_owner_add(enum cairn_serve_owner before, enum cairn_serve_owner next);

#endif
