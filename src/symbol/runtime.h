/* runtime.h - which code belongs to the runtime of a language, and which of its generated code is the program's own.
 *
 * A service in JavaScript, Java or Python allocates through its runtime: the native frames of V8, HotSpot or CPython, and the classes that
 * come with it. If the runtime has written the names of its generated code (perf_map.h), the function that its reader looks for is the
 * innermost one of the program itself.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_RUNTIME_H
#define CAIRN_SYMBOL_RUNTIME_H

#include <stdbool.h>

enum cairn_runtime_code {
	CAIRN_CODE_OTHER,   /* not a name as these runtimes write it */
	CAIRN_CODE_PROGRAM, /* the program's: "JS:*openSession /srv/app.js:2:21", "void Orders.open()", "py::open:/srv/app.py" */
	CAIRN_CODE_RUNTIME, /* the runtime's: "JS:*alloc node:buffer:390:8", "void java.util.zip.Deflater.<init>()", "Interpreter" */
};

/* Whose function NAME is, which stands in a perf map. */
enum cairn_runtime_code cairn_runtime_code(const char *name);

/* Whether the native code of the file at PATH is a runtime, or a library of the system that one may call. Extensions and add-ons are
 * neither. */
bool cairn_runtime_is_module(const char *path);

#endif
