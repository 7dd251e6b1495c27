/* error.c - composing error sentences.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static void compose(struct cairn_error *error, bool usage, const char *format, va_list arguments)
{
	error->usage = usage;
	vsnprintf(error->text, sizeof error->text, format, arguments);
}

bool cairn_fail(struct cairn_error *error, const char *format, ...)
{
	if (!error)
		return false;
	va_list arguments;
	va_start(arguments, format);
	compose(error, false, format, arguments);
	va_end(arguments);
	return false;
}

bool cairn_fail_usage(struct cairn_error *error, const char *format, ...)
{
	if (!error)
		return false;
	va_list arguments;
	va_start(arguments, format);
	compose(error, true, format, arguments);
	va_end(arguments);
	return false;
}

const char *cairn_errno_text(int code)
{
#if __GLIBC_PREREQ(2, 32)
	const char *text = strerrordesc_np(code);
#else
	const char *text = code >= 0 && code < sys_nerr ? sys_errlist[code] : NULL;
#endif
	return text ? text : "unknown error";
}

bool cairn_fail_errno(struct cairn_error *error, const char *format, ...)
{
	int code = errno;
	if (!error)
		return false;
	va_list arguments;
	va_start(arguments, format);
	compose(error, false, format, arguments);
	va_end(arguments);
	size_t used = strlen(error->text);
	snprintf(error->text + used, sizeof error->text - used, ": %s", cairn_errno_text(code));
	return false;
}

bool cairn_fail_within(struct cairn_error *error, const char *format, ...)
{
	if (!error)
		return false;
	struct cairn_error inner = *error;
	va_list arguments;
	va_start(arguments, format);
	int used = vsnprintf(error->text, sizeof error->text, format, arguments);
	va_end(arguments);
	if (used >= 0 && (size_t)used < sizeof error->text)
		snprintf(error->text + used, sizeof error->text - (size_t)used, "%s", inner.text);
	return false;
}

void cairn_out_of_memory(size_t size)
{
	fprintf(stderr, "cairn: out of memory (%zu bytes requested)\n", size);
	exit(3);
}
