/* file_test.c - what is opened, what is written to, and files that change meanwhile.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include "tap.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/time.h>

static char folder[] = "/tmp/cairn-file.XXXXXX";

/* The path of NAME in the folder; valid until the fourth call from now. */
static const char *in_folder(const char *name)
{
	static char paths[4][100];
	static unsigned next;
	char *path = paths[next++ % 4];
	snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}

static bool contains(const char *path, const char *text)
{
	struct cairn_file file;
	bool same = cairn_file_map(&file, path, NULL) && cairn_bytes_equal(file.bytes, cairn_bytes_of(text));
	cairn_file_close(&file);
	return same;
}

static void test_open(void)
{
	static const char *const refused[] = {"/proc/self/pagemap", "/proc/self/maps", "/sys/devices/system/cpu/online",
					      "/dev/null", "/dev/zero", "/proc/self/root/dev/zero"};
	struct cairn_error error;
	struct cairn_file file;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		ok(access(refused[i], F_OK) == 0 && !cairn_file_map(&file, refused[i], &error), "not read: %s", refused[i]);
		unlink(in_folder("link"));
		ok(symlink(refused[i], in_folder("link")) == 0 && !cairn_file_map(&file, in_folder("link"), &error), "nor through a link");
	}
	ok(mkfifo(in_folder("pipe"), 0600) == 0 && !cairn_file_map(&file, in_folder("pipe"), &error), "nor a pipe, which is not waited for");
	like_text(error.text, "is a pipe", "which is said");
	ok(!cairn_file_map(&file, folder, &error), "nor a folder");
	ok(!cairn_file_map(&file, in_folder("nothing"), &error) && errno == ENOENT, "nor what is not there");
	ok(cairn_file_write(in_folder("plain"), cairn_bytes_of("text"), &error) && contains(in_folder("plain"), "text"), "a file is read");
	ok(unlink(in_folder("link")) == 0 && symlink("plain", in_folder("link")) == 0 && contains(in_folder("link"), "text"), "through a link");
	ok(cairn_file_write(in_folder("empty"), cairn_bytes_of(""), &error) && contains(in_folder("empty"), ""), "an empty one, too");
	int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(cairn_file_map_at(&file, descriptor, "plain", &error) && cairn_bytes_equal(file.bytes, cairn_bytes_of("text")), "in an open folder");
	cairn_file_close(&file);
	ok(!cairn_file_map_at(&file, descriptor, "link", &error), "where no link is followed");
	close(descriptor);
}

/* The other side of a terminal remembers that somebody opened it. */
static void test_device(void)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct cairn_error error;
	struct cairn_file file;
	if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
		tap_skip("a device is not opened", "no terminal can be made");
		return;
	}
	struct pollfd look = {.fd = terminal, .events = POLLIN};
	ok(!cairn_file_map(&file, ptsname(terminal), &error), "a terminal is not read");
	ok(poll(&look, 1, 0) >= 0 && !(look.revents & POLLHUP), "nor opened");
	int opened = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
	close(opened);
	ok(opened >= 0 && poll(&look, 1, 0) >= 0 && (look.revents & POLLHUP), "or it would be seen here");
	close(terminal);
}

static void test_changes(void)
{
	const char *path = in_folder("changing");
	struct cairn_file file;
	struct cairn_error error;
	ok(cairn_file_write(path, cairn_bytes_of("first"), &error) && cairn_file_map(&file, path, &error), "a file is mapped");
	ok(cairn_file_is_intact(&file, path), "as it is");
	ok(cairn_file_write(path, cairn_bytes_of("second"), &error) && cairn_file_is_intact(&file, path), "another took its place: it is whole");
	cairn_file_close(&file);
	struct timeval then[2] = {{1000000000, 0}, {1000000000, 0}};
	ok(utimes(path, then) == 0 && cairn_file_map(&file, path, &error) && cairn_file_is_intact(&file, path), "a file of long ago");
	int descriptor = open(path, O_WRONLY | O_CLOEXEC);
	ok(write(descriptor, "S", 1) == 1 && !cairn_file_is_intact(&file, path), "written to: no more");
	close(descriptor);
	cairn_file_close(&file);
	ok(cairn_file_map(&file, path, &error) && truncate(path, 0) == 0 && !cairn_file_is_cut(&file), "cut short, but not read since");
	ok(((const volatile char *)file.bytes.data)[0] == 0 && cairn_file_is_cut(&file), "read since");
	cairn_file_close(&file);
}

/* As root: in a folder like /tmp, another user has put a link, a file and a pipe. */
static void test_strangers(void)
{
	enum { stranger = 65534 };
	struct cairn_error error;
	char all[64];
	snprintf(all, sizeof all, "%s", in_folder("all"));
	cairn_file_write(in_folder("precious"), cairn_bytes_of("precious"), NULL);
	if (geteuid() != 0) {
		tap_skip("another user's links", "only root can make them");
		return;
	}
	ok(mkdir(all, 0777) == 0 && chmod(all, 01777) == 0 && symlink("../precious", in_folder("all/link")) == 0 &&
		   symlink("link", in_folder("all/own")) == 0 && symlink("nothing", in_folder("all/loose")) == 0 &&
		   symlink("..", in_folder("all/up")) == 0 && mkfifo(in_folder("all/pipe"), 0666) == 0 &&
		   cairn_file_write(in_folder("all/file"), cairn_bytes_of("old"), NULL),
	   "a folder for all");
	ok(cairn_file_write(in_folder("all/link"), cairn_bytes_of("precious"), &error), "our own link is followed");
	static const char *const theirs[] = {"all/link", "all/loose", "all/up", "all/pipe", "all/file"};
	for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++)
		ok(lchown(in_folder(theirs[i]), stranger, stranger) == 0, "%s is another user's", theirs[i]);
	static const char *const refused[] = {"all/link", "all/loose", "all/up/precious", "all/pipe", "all/file", "all/own"};
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		ok(!cairn_file_write(in_folder(refused[i]), cairn_bytes_of("new"), &error), "%s: nothing is written", refused[i]);
		like_text(error.text, "of another user, in a folder where all may write", "for a reason");
	}
	ok(contains(in_folder("precious"), "precious") && contains(in_folder("all/file"), "old"), "nothing has changed");
	ok(access(in_folder("all/nothing"), F_OK) != 0, "nothing is new");
	ok(chmod(all, 0755) == 0 && cairn_file_write(in_folder("all/link"), cairn_bytes_of("new"), &error), "in another folder, it is");
	ok(contains(in_folder("precious"), "new"), "followed");
	ok(chmod(all, 01777) == 0 && chown(all, stranger, stranger) == 0 && cairn_file_write(in_folder("all/link"), cairn_bytes_of("2"), &error),
	   "nor is the folder's owner a stranger in it");
	ok(symlink("circle", in_folder("circle")) == 0 && !cairn_file_write(in_folder("circle"), cairn_bytes_of("x"), &error), "a circle");
	like_text(error.text, "too many links", "has an end");
	ok(!cairn_file_write(in_folder("plain/below"), cairn_bytes_of("x"), &error), "a file is no folder");
	like_text(error.text, "Not a directory", "which is said");
}

static atomic_bool stop;

/* Puts another user's link to the precious file, and takes it away again, as fast as can be. */
static void *swap(void *context)
{
	char *const *paths = context; /* of the link, and where it comes and goes */
	while (!atomic_load(&stop)) {
		unlink(paths[1]);
		if (link(paths[0], paths[1]) != 0 && errno != EEXIST)
			break;
	}
	return NULL;
}

/* As root: a stranger puts a link where there was nothing when the way was looked at. */
static void test_race(void)
{
	enum { stranger = 65534, rounds = 100, detours = 200 };
	pthread_t thread;
	char path[64], theirs[64], way[3000];
	if (geteuid() != 0) {
		tap_skip("a link that comes and goes", "only root can make it another user's");
		return;
	}
	snprintf(path, sizeof path, "%s", in_folder("swapped"));
	ok(mkdir(path, 0777) == 0 && chmod(path, 01777) == 0 && cairn_file_write(in_folder("precious"), cairn_bytes_of("precious"), NULL) &&
		   symlink("../precious", in_folder("theirs")) == 0 && lchown(in_folder("theirs"), stranger, stranger) == 0,
	   "a link that comes and goes");
	snprintf(path, sizeof path, "%s", in_folder("swapped/report"));
	snprintf(theirs, sizeof theirs, "%s", in_folder("theirs"));
	/* A long way gives the stranger time. */
	int length = snprintf(way, sizeof way, "%s/swapped", folder), written = 0;
	for (int i = 0; i < detours; i++)
		length += snprintf(way + length, sizeof way - (size_t)length, "/../swapped");
	snprintf(way + length, sizeof way - (size_t)length, "/report");
	pthread_create(&thread, NULL, swap, (char *[]){theirs, path});
	for (int i = 0; i < rounds; i++)
		written += cairn_file_write(way, cairn_bytes_of("report"), NULL);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	ok(contains(in_folder("precious"), "precious"), "of %d files, %d are written, and none where it leads", rounds, written);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	test_open();
	test_device();
	test_changes();
	test_race();
	test_strangers();
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command) == 0 ? tap_done() : 1;
}
