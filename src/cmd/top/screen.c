/* screen.c - the alternate screen of a terminal, without echo, for as long as it is open.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/top/screen.h"

#include "base/utf8.h"
#include "process/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static const char enter[] = "\033[?1049h\033[?25l", leave[] = "\033[?25h\033[?1049l";
static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGABRT};
enum { end_count = sizeof ends / sizeof *ends };

static struct termios before;
static struct sigaction old_ends[end_count], old_resize;
static volatile sig_atomic_t resized;

static void put(const char *text, size_t length)
{
	while (length > 0) {
		ssize_t put = write(STDOUT_FILENO, text, length);
		if (put < 0 && errno != EINTR)
			return;
		text += put > 0 ? put : 0;
		length -= put > 0 ? (size_t)put : 0;
	}
}

/* Safe in a signal handler. */
static void restore(void)
{
	put(leave, sizeof leave - 1);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

/* Ends the program as the signal would have done. */
static void end(int signal_number)
{
	restore();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void resize(int signal_number)
{
	(void)signal_number;
	resized = 1;
}

bool cairn_screen_open(struct cairn_error *error)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) != 0)
		return cairn_fail_usage(error, "--live needs a terminal; without it, 'cairn top' prints the table once");
	struct termios raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VSUSP] = _POSIX_VDISABLE; /* the shell would find the terminal as it is here */
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	struct sigaction action = {.sa_handler = end, .sa_flags = (int)SA_RESETHAND};
	sigfillset(&action.sa_mask);
	for (int i = 0; i < end_count; i++)
		sigaction(ends[i], &action, &old_ends[i]);
	sigaction(SIGWINCH, &(struct sigaction){.sa_handler = resize}, &old_resize);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	put(enter, sizeof enter - 1);
	return true;
}

void cairn_screen_close(void)
{
	restore();
	for (int i = 0; i < end_count; i++)
		sigaction(ends[i], &old_ends[i], NULL);
	sigaction(SIGWINCH, &old_resize, NULL);
}

struct cairn_screen_size cairn_screen_size(void)
{
	struct winsize size = {0};
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	return (struct cairn_screen_size){size.ws_row ? size.ws_row : 24, size.ws_col ? size.ws_col : 80};
}

void cairn_screen_fit(struct cairn_bytes text, struct cairn_screen_size size, struct cairn_buffer *out)
{
	unsigned row = 0, column = 0;
	for (size_t i = 0; i < text.length && row < size.rows; i++) {
		unsigned char byte = (unsigned char)text.data[i];
		const char *colour_end = byte == '\033' ? memchr(text.data + i, 'm', text.length - i) : NULL;
		if (byte == '\n') {
			if (++row < size.rows)
				cairn_buffer_byte(out, '\n');
			column = 0;
		} else if (colour_end) {
			size_t length = (size_t)(colour_end - (text.data + i)) + 1;
			cairn_buffer_append(out, text.data + i, length);
			i += length - 1;
		} else {
			column += (byte & 0xc0) != 0x80; /* the first byte of a character */
			if (column <= size.columns)
				cairn_buffer_byte(out, (char)byte);
		}
	}
}

void cairn_screen_show(struct cairn_bytes text)
{
	struct cairn_buffer shown = cairn_buffer(SIZE_MAX), fitted = cairn_buffer(SIZE_MAX), out = cairn_buffer(SIZE_MAX);
	cairn_utf8_show_coloured(&shown, text);
	cairn_screen_fit(cairn_buffer_bytes(&shown), cairn_screen_size(), &fitted);
	/* Ends a colour whose end was cut off. */
	const char *plain = fitted.length > 0 && memchr(fitted.data, '\033', fitted.length) ? "\033[0m" : "";
	cairn_buffer_text(&out, "\033[H");
	for (size_t i = 0; i < fitted.length; i++)
		if (fitted.data[i] == '\n')
			cairn_buffer_format(&out, "%s\033[K\n", plain);
		else
			cairn_buffer_byte(&out, fitted.data[i]);
	cairn_buffer_format(&out, "%s\033[J", plain);
	put(out.data, out.length);
	cairn_buffer_free(&shown);
	cairn_buffer_free(&fitted);
	cairn_buffer_free(&out);
}

enum cairn_screen_event cairn_screen_wait(int milliseconds)
{
	const int64_t end_ns = cairn_clock_ns() + milliseconds * CAIRN_MILLISECOND_NS;
	for (;;) {
		int64_t left = (end_ns - cairn_clock_ns()) / CAIRN_MILLISECOND_NS;
		struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
		int ready = left > 0 && !resized ? poll(&input, 1, (int)left) : 0;
		if (resized) {
			resized = 0;
			return CAIRN_SCREEN_RESIZED;
		}
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return CAIRN_SCREEN_WAITED;
		char key;
		ssize_t got = read(STDIN_FILENO, &key, 1);
		if (got == 0 || (got < 0 && errno != EINTR) || (got > 0 && (key == 'q' || key == 'Q')))
			return CAIRN_SCREEN_KEY_QUIT;
		if (got > 0 && key == ' ')
			return CAIRN_SCREEN_KEY_SPACE;
	}
}
