/* runtime.c - names of generated code as Node.js, HotSpot and CPython write them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/runtime.h"

#include "base/path.h"

#include <stddef.h>
#include <string.h>

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool starts_with_any(const char *text, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (starts_with(text, prefixes[i]))
			return true;
	return false;
}
#define STARTS_WITH_ANY(text, prefixes) starts_with_any(text, prefixes, sizeof(prefixes) / sizeof *(prefixes))

/* "JS:*open /srv/app.js:2:21": a kind, a mark for the compiler, the function and its place. */
static enum cairn_runtime_code node_code(const char *name)
{
	static const char *const of_scripts[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
	static const char *const of_v8[] = {"Builtin:", "Stub:", "BytecodeHandler:", "RegExp:", "Handler:"};
	if (STARTS_WITH_ANY(name, of_v8))
		return CAIRN_CODE_RUNTIME;
	if (!STARTS_WITH_ANY(name, of_scripts))
		return CAIRN_CODE_OTHER;
	const char *place = strchr(name, ' ');
	return place && (starts_with(place, " node:") || starts_with(place, " internal/")) ? CAIRN_CODE_RUNTIME : CAIRN_CODE_PROGRAM;
}

/* "py::open:/srv/app.py": modules of the standard library are in the folder of the interpreter's version, installed packages below it. */
static enum cairn_runtime_code python_code(const char *name)
{
	if (!starts_with(name, "py::"))
		return CAIRN_CODE_OTHER;
	const char *library = strstr(name, "/lib/python3");
	bool installed = library && (strstr(library, "/site-packages/") || strstr(library, "/dist-packages/"));
	return strstr(name, ":<frozen ") || (library && !installed) ? CAIRN_CODE_RUNTIME : CAIRN_CODE_PROGRAM;
}

/* "long java.util.zip.Deflater.init(int, int)", or perf-map-agent's "Ljava/util/zip/Deflater;::init". Adapters and stubs have neither
 * form. */
static enum cairn_runtime_code java_code(const char *name)
{
	static const char *const packages[] = {"java.", "javax.", "jdk.", "sun.", "com.sun."};
	static const char *const folders[] = {"Ljava/", "Ljavax/", "Ljdk/", "Lsun/", "Lcom/sun/"};
	static const char *const stubs[] = {"Interpreter", "StubRoutines", "call_stub", "I2C/C2I", "vtable chunks", "itable"};
	if (STARTS_WITH_ANY(name, stubs))
		return CAIRN_CODE_RUNTIME;
	if (name[0] == 'L' && strstr(name, ";::"))
		return STARTS_WITH_ANY(name, folders) ? CAIRN_CODE_RUNTIME : CAIRN_CODE_PROGRAM;
	const char *parameters = strchr(name, '('), *class_name = name;
	for (const char *at = name; parameters && at < parameters; at++)
		class_name = *at == ' ' ? at + 1 : class_name;
	if (!parameters || class_name == name || !memchr(class_name, '.', (size_t)(parameters - class_name)))
		return CAIRN_CODE_OTHER;
	return STARTS_WITH_ANY(class_name, packages) ? CAIRN_CODE_RUNTIME : CAIRN_CODE_PROGRAM;
}

enum cairn_runtime_code cairn_runtime_code(const char *name)
{
	enum cairn_runtime_code code = node_code(name);
	if (code == CAIRN_CODE_OTHER)
		code = python_code(name);
	return code == CAIRN_CODE_OTHER ? java_code(name) : code;
}

bool cairn_runtime_is_module(const char *path)
{
	static const char *const programs[] = {"node", "libnode", "python3", "libpython3", "libjvm.so"};
	static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
	const char *base = cairn_base_name(path);
	return STARTS_WITH_ANY(base, programs) || strstr(path, "/jvm/") || strstr(path, "/lib-dynload/") ||
	       (STARTS_WITH_ANY(path, folders) && starts_with(base, "lib"));
}
