/* context_test.c - the service name that a process publishes as OpenTelemetry's process context, sound or hostile.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/context.h"

#include "tap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published, address;
};

/* A Resource: an attribute of another kind, then service.name. */
static const char resource[] = "\x0a\x0c\x0a\x03pid\x12\x05\x18\xac\x9e\x80\x05"
			       "\x0a\x1a\x0a\x0cservice.name\x12\x0a\x0a\x08" "checkout" "\x10\x07";

static struct cairn_bytes whole(void)
{
	return (struct cairn_bytes){resource, sizeof resource - 1};
}

static void test_parse(void)
{
	char name[CAIRN_CONTEXT_NAME], wrapped[128], long_one[400];
	ok(cairn_context_parse(whole(), name), "a resource with a service");
	is_text(name, "checkout", "is read");
	wrapped[0] = 0x0a;
	wrapped[1] = (char)whole().length;
	memcpy(wrapped + 2, resource, whole().length);
	ok(cairn_context_parse((struct cairn_bytes){wrapped, whole().length + 2}, name), "a process context that has one");
	is_text(name, "checkout", "too");
	ok(!cairn_context_parse((struct cairn_bytes){"", 0}, name) && name[0] == 0, "nothing has none");
	unsigned found = 0;
	for (size_t i = 0; i < whole().length; i++)
		found += cairn_context_parse((struct cairn_bytes){resource, i}, name) && strcmp(name, "checkout") != 0;
	ok(found == 0, "cut anywhere, it has the whole name or none");
	unsigned random = 1;
	for (int i = 0; i < 20000; i++) {
		memcpy(wrapped, resource, sizeof resource);
		for (int j = 0; j < 3; j++) {
			random = random * 1664525 + 1013904223;
			wrapped[(random >> 8) % whole().length] = (char)(random >> 24);
		}
		cairn_context_parse((struct cairn_bytes){wrapped, whole().length}, name);
		if (strlen(name) >= sizeof name)
			break;
	}
	ok(strlen(name) < sizeof name, "any bytes are read without harm");
	/* 300 bytes of "\nä" in turn: longer than a name may be, with line ends. */
	size_t at = (size_t)sprintf(long_one, "\x0a\xc1\x02\x0a\x0cservice.name\x12\xb0\x02\x0a\xad\x02");
	for (int i = 0; i < 301; i++)
		long_one[at++] = "\n\xc3\xa4"[i % 3];
	ok(cairn_context_parse((struct cairn_bytes){long_one, at}, name) && strlen(name) <= CAIRN_CONTEXT_NAME - 1 && !strchr(name, '\n'),
	   "a name that is too long is cut, and on one line");
	ok((unsigned char)name[strlen(name) - 1] == 0xa4 || name[strlen(name) - 1] == ' ', "between characters");
}

static void test_mapping(void)
{
	char name[CAIRN_CONTEXT_NAME];
	ok(!cairn_context_service(getpid(), name) && name[0] == 0, "a process without a context has no service");
	int descriptor = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	ok(descriptor >= 0 && ftruncate(descriptor, 4096) == 0, "a memfd");
	struct header *header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
	close(descriptor);
	ok(!cairn_context_service(getpid(), name), "a mapping that is not written yet has none");
	*header = (struct header){"OTEL_CTX", 2, (uint32_t)whole().length, 1, (uintptr_t)resource};
	ok(cairn_context_service(getpid(), name), "published,");
	is_text(name, "checkout", "it is found");
	cairn_context_own(name);
	is_text(name, "checkout", "by those who ask often, too");
	header->published = 0;
	ok(!cairn_context_service(getpid(), name), "not while it is being changed");
	header->published = 2;
	header->version = 77;
	ok(!cairn_context_service(getpid(), name), "nor of a version nobody knows");
	header->version = 2;
	header->address = 16;
	ok(!cairn_context_service(getpid(), name), "an address that leads nowhere does no harm");
	header->address = (uintptr_t)resource;
	header->size = UINT32_MAX;
	ok(!cairn_context_service(getpid(), name), "nor a size that is too large");
	cairn_context_own(name);
	is_text(name, "checkout", "who need not have the newest");
	munmap(header, 4096);
	ok(!cairn_context_service(1 << 30, name), "a process that is not there has none");
}

int main(void)
{
	test_parse();
	test_mapping();
	return tap_done();
}
