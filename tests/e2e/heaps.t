#!/usr/bin/env bash
# Heaps of other allocators than glibc's, preloaded and linked in, read from outside: against a program that knows what it holds.
. tests/e2e/lib.sh
need cc python3
build() { # build NAME COMPILER [ARGUMENT...]
	local name=$1
	shift
	"$@" -O1 -g -w -D_GNU_SOURCE -pthread -o "$scratch/$name" || broken "the test host does not build: $name"
}
build host ${CC:-cc} tests/e2e/heaps-host.c
build host-musl musl-gcc tests/e2e/heaps-host.c
build host-musl-static musl-gcc -static tests/e2e/heaps-host.c
reads() { # reads NAME ALLOCATOR HOST [PRELOAD]
	local name=$1
	shift
	holds "$name" python3 tests/e2e/heaps.py "$cairn" "$1" "$scratch/$2" "${3:-}"
}
folder=/usr/lib/$(${CC:-cc} -print-multiarch)
reads 'glibc' glibc host
reads 'jemalloc, preloaded' jemalloc host "$folder/libjemalloc.so.2"
reads 'mimalloc, preloaded' mimalloc host "$folder/libmimalloc.so.2"
reads "gperftools' tcmalloc, preloaded" tcmalloc host "$folder/libtcmalloc_minimal.so.4"
reads 'musl' musl host-musl
reads 'musl, static' musl host-musl-static
build host-jemalloc ${CC:-cc} tests/e2e/heaps-host.c "$folder/libjemalloc.a" -lm -lstdc++
reads 'jemalloc inside the program' jemalloc host-jemalloc
build host-tcmalloc ${CC:-cc} tests/e2e/heaps-host.c "$folder/libtcmalloc_minimal.a" -lm -lstdc++
reads 'tcmalloc inside the program' tcmalloc host-tcmalloc
strip "$scratch/host-jemalloc"
reads 'the same without symbols' jemalloc host-jemalloc
# A library with mimalloc's functions and another layout: memory from the system, which no reader knows.
cat >"$scratch/other.c" <<'C'
#include <stddef.h>
#include <sys/mman.h>
void *mi_malloc(size_t size)
{
	size_t *p = mmap(NULL, size + 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*p = size + 16;
	return p + 2;
}
void mi_free(void *p) { if (p) munmap((size_t *)p - 2, ((size_t *)p)[-2]); }
void *mi_calloc(size_t n, size_t size) { return mi_malloc(n * size); }
void *mi_realloc(void *p, size_t size) { mi_free(p); return mi_malloc(size); }
int mi_version(void) { return 30711; }
C
cat >"$scratch/user.c" <<'C'
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
void *mi_malloc(size_t size);
int main(void)
{
	int code = memfd_create("code", 0); /* below the program, as Cairn's own */
	if (ftruncate(code, 4096) || mmap((void *)0x10000000, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, code, 0) == MAP_FAILED)
		return 1;
	memset(mi_malloc(60000000), 1, 60000000);
	printf("%d\n", getpid());
	fflush(stdout);
	pause();
}
C
${CC:-cc} -O1 -shared -fPIC -o "$scratch/libmimalloc-other.so" "$scratch/other.c" && ${CC:-cc} -w -D_GNU_SOURCE -o "$scratch/user" "$scratch/user.c" "$scratch/libmimalloc-other.so" && ${CC:-cc} -O1 -w -D_GNU_SOURCE -o "$scratch/inside" "$scratch/user.c" "$scratch/other.c" || broken 'the other library'
unread() { # unread NAME PROGRAM COMMAND...: runs PROGRAM by COMMAND
	local name=$1 program=$2
	shift 2
	rm -f "$scratch/ready"
	(cd "$scratch" && LD_LIBRARY_PATH=$scratch exec "$@" "$scratch/$program") >"$scratch/ready" 2>/dev/null &
	children+=($!)
	wait_for 60 grep -q '[0-9]' "$scratch/ready"
	"$cairn" why "$(cat "$scratch/ready")" >"$scratch/why" 2>/dev/null
	like "$(head -n 1 "$scratch/why")" '5?.? MiB of the * resident is in mimalloc 3.7.11, whose heap cannot be read.' \
		"what it holds is not said to be mapped by the program: $name"
}
unread 'without an agent' user env
like "$(cat "$scratch/why")" '*note: mimalloc: 3.7.11 in libmimalloc-other.so cannot be read: its version, or how it was built, is unknown (known: 2.0.3 to 2.4, 3.0 to 3.6)*' \
	'an allocator that cannot be read is named'
unread 'which an agent sees to map it' user "$cairn" run -q --
unread 'inside the program' inside env
done_testing
