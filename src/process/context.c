/* context.c - finding the mapping, copying the payload, and the one attribute in it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/context.h"

#include "base/pages.h"
#include "base/peek.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "process/clock.h"
#include "process/proc.h"

#include <stdatomic.h>
#include <sys/uio.h>

enum { maps_most = 16 << 20, payload_most = 64 << 10, tries = 8, version_least = 1, version_most = 2 };

static const int64_t fresh_ns = 5 * CAIRN_SECOND_NS;

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published, address;
};

/* The first field of that number; empty where there is none. */
static struct cairn_bytes get_field(struct cairn_bytes message, uint64_t wanted)
{
	struct cairn_cursor in = cairn_cursor(message);
	for (struct cairn_protobuf_field field; cairn_protobuf_next(&in, &field);)
		if (field.id == wanted && field.wire == CAIRN_WIRE_BYTES)
			return field.bytes;
	return (struct cairn_bytes){"", 0};
}

/* The text of the attribute service.name among those of a Resource: field 1, each with a key (1) and a value (2) that has a text (1). */
static struct cairn_bytes find_service(struct cairn_bytes resource)
{
	struct cairn_cursor in = cairn_cursor(resource);
	for (struct cairn_protobuf_field attribute; cairn_protobuf_next(&in, &attribute);)
		if (attribute.id == 1 && attribute.wire == CAIRN_WIRE_BYTES &&
		    cairn_bytes_equal(get_field(attribute.bytes, 1), cairn_bytes_of("service.name")))
			return get_field(get_field(attribute.bytes, 2), 1);
	return (struct cairn_bytes){"", 0};
}

bool cairn_context_parse(struct cairn_bytes payload, char name[CAIRN_CONTEXT_NAME])
{
	struct cairn_bytes found = find_service(payload);
	if (found.length == 0) /* a ProcessContext: its field 1 is the resource */
		found = find_service(get_field(payload, 1));
	size_t kept = found.length < CAIRN_CONTEXT_NAME ? found.length : CAIRN_CONTEXT_NAME - 1;
	for (size_t i = 0; i < kept; i++)
		name[i] = (unsigned char)found.data[i] < ' ' || found.data[i] == 0x7f ? ' ' : found.data[i];
	while (kept > 0 && kept < found.length && ((unsigned char)found.data[kept] & 0xc0) == 0x80) /* not within a character */
		kept--;
	name[kept] = 0;
	return kept > 0;
}

static bool copy(int pid, uint64_t address, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Reads what is published at ADDRESS. What changes meanwhile is read again. */
static bool read_context(int pid, uint64_t address, char *room, char name[CAIRN_CONTEXT_NAME])
{
	for (int i = 0; i < tries; i++) {
		struct header before, after;
		if (!copy(pid, address, &before, sizeof before) || memcmp(before.signature, "OTEL_CTX", sizeof before.signature) != 0 ||
		    before.version < version_least || before.version > version_most || before.size > payload_most)
			return false;
		if (before.published == 0)
			continue;
		if (!copy(pid, before.address, room, before.size) || !copy(pid, address, &after, sizeof after))
			return false;
		if (memcmp(&before, &after, sizeof before) == 0)
			return cairn_context_parse((struct cairn_bytes){room, before.size}, name);
	}
	return false;
}

static bool is_context(const struct cairn_proc_map *map)
{
	return cairn_bytes_start_with(map->path, "/memfd:OTEL_CTX") || cairn_bytes_start_with(map->path, "[anon_shmem:OTEL_CTX]") ||
	       cairn_bytes_start_with(map->path, "[anon:OTEL_CTX]");
}

bool cairn_context_service(int pid, char name[CAIRN_CONTEXT_NAME])
{
	char path[CAIRN_PROC_PATH];
	bool found = false;
	name[0] = 0;
	int descriptor = cairn_peek_open(cairn_proc_path(path, pid == cairn_proc_own() ? 0 : pid, "maps"));
	if (descriptor < 0)
		return false;
	struct cairn_buffer maps = cairn_pages(maps_most);
	char *room = cairn_pages_map(payload_most);
	cairn_buffer_read(&maps, descriptor);
	close(descriptor);
	struct cairn_bytes rest = cairn_buffer_bytes(&maps), line;
	while (room && !found && cairn_text_line(&rest, &line, NULL)) {
		struct cairn_proc_map map;
		found = cairn_proc_map_parse(line, &map) && is_context(&map) && read_context(pid, map.start, room, name);
	}
	cairn_pages_unmap(room, payload_most);
	cairn_buffer_free(&maps);
	return found;
}

void cairn_context_own(char name[CAIRN_CONTEXT_NAME])
{
	static struct {
		_Atomic pid_t pid; /* a forked child has a name of its own */
		_Atomic int64_t time_ns;
		_Atomic uint64_t words[CAIRN_CONTEXT_NAME / sizeof(uint64_t)];
	} known;
	uint64_t words[CAIRN_CONTEXT_NAME / sizeof(uint64_t)];
	pid_t pid = cairn_proc_own();
	int64_t before = atomic_load(&known.time_ns), now = cairn_clock_ns();
	if ((now - before >= fresh_ns || atomic_load(&known.pid) != pid) && atomic_compare_exchange_strong(&known.time_ns, &before, now)) {
		memset(words, 0, sizeof words);
		cairn_context_service(pid, (char *)words);
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			atomic_store(&known.words[i], words[i]);
		atomic_store(&known.pid, pid);
	}
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		words[i] = atomic_load(&known.words[i]);
	memcpy(name, words, sizeof words);
	name[CAIRN_CONTEXT_NAME - 1] = 0;
}
