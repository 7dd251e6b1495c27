/* tap.h - a test program prints TAP and `prove` reads it.
 *
 * Use: int main(void) { test_this(); test_that(); return tap_done(); }
 * with checks inside: ok(condition, "what must hold"), is_int, is_text, is_near.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_TAP_H
#define CAIRN_TESTS_TAP_H

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int tap_count, tap_failures;

/* Whether ThreadSanitizer is at work: memory then has a shadow that is resident too, and signals come late. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TAP_THREAD_SANITIZER true
#endif
#endif
#if !defined(TAP_THREAD_SANITIZER)
#define TAP_THREAD_SANITIZER false
#endif

/* Whether AddressSanitizer is: every thread then has an alternate stack for signals. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TAP_ADDRESS_SANITIZER true
#endif
#endif
#if !defined(TAP_ADDRESS_SANITIZER)
#define TAP_ADDRESS_SANITIZER false
#endif

__attribute__((unused, format(printf, 4, 5))) static bool tap_check(bool good, const char *file, int line, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	printf("%sok %d - ", good ? "" : "not ", ++tap_count);
	vprintf(format, arguments);
	printf("\n");
	va_end(arguments);
	if (!good) {
		printf("# failed at %s:%d\n", file, line);
		tap_failures++;
	}
	fflush(stdout);
	return good;
}

/* fork(), or the end of the program: kill(-1, SIGKILL) would end every process. */
__attribute__((unused)) static pid_t tap_fork(void)
{
	pid_t child = fork();
	if (child < 0) {
		printf("Bail out! cannot fork: %s\n", strerror(errno));
		exit(1);
	}
	return child;
}

/* How often to do a thing: FEW times in `make check`, MANY in `make check-long`. */
__attribute__((unused)) static int tap_rounds(int few, int many)
{
	return getenv("CAIRN_LONG") ? many : few;
}

#define ok(condition, ...) tap_check((condition), __FILE__, __LINE__, __VA_ARGS__)

#define is_int(got, want, ...)                                                                                         \
	do {                                                                                                           \
		long long tap_got = (long long)(got), tap_want = (long long)(want);                                    \
		if (!tap_check(tap_got == tap_want, __FILE__, __LINE__, __VA_ARGS__))                                  \
			printf("#   got %lld, wanted %lld\n", tap_got, tap_want);                                      \
	} while (0)

#define is_near(got, want, slack, ...)                                                                                 \
	do {                                                                                                           \
		double tap_got = (got), tap_want = (want);                                                             \
		if (!tap_check(fabs(tap_got - tap_want) <= (slack), __FILE__, __LINE__, __VA_ARGS__))                  \
			printf("#   got %.17g, wanted %.17g\n", tap_got, tap_want);                                    \
	} while (0)

#define is_text(got, want, ...)                                                                                        \
	do {                                                                                                           \
		const char *tap_got = (got), *tap_want = (want);                                                       \
		if (!tap_check(tap_got && strcmp(tap_got, tap_want) == 0, __FILE__, __LINE__, __VA_ARGS__))            \
			printf("#   got '%s', wanted '%s'\n", tap_got ? tap_got : "(none)", tap_want);                 \
	} while (0)

#define like_text(got, part, ...)                                                                                      \
	do {                                                                                                           \
		const char *tap_got = (got), *tap_part = (part);                                                       \
		if (!tap_check(tap_got && strstr(tap_got, tap_part), __FILE__, __LINE__, __VA_ARGS__))                 \
			printf("#   '%s' is not in '%s'\n", tap_part, tap_got ? tap_got : "(none)");                   \
	} while (0)

__attribute__((unused)) static void tap_skip(const char *what, const char *reason)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_count, what, reason);
	const char *path = getenv("CAIRN_SKIPS");
	FILE *list = path ? fopen(path, "a") : NULL;
	if (list) {
		fprintf(list, "%s: %s: %s\n", program_invocation_short_name, what, reason);
		fclose(list);
	}
}

__attribute__((unused)) static int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failures != 0;
}

#endif
