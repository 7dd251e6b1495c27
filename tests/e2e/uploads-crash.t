#!/usr/bin/env bash
# An uploaded file that ends, holds up or bloats its reader: the collector stays, the snapshot has no names, and after the second time the
# build is passed over, and nothing else is.
. tests/e2e/lib.sh
. tests/e2e/collector.sh
need curl python3 gcc readelf nm
ulimit -c 0
"$cairn" store init -q "$store"
# Harms the process when it opens a file that is there and whose name begins as the first line in $CRASH_AT, under .build-id: the second
# line is `abort`, `hang`, or `eat`, which takes 600 MB for a moment and ends the process only if it does not get them.
cat >"$scratch/crash.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static void harm(const char *how)
{
	size_t size = 600 << 20;
	if (*how == 'h')
		pause();
	void *room = *how == 'e' ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
	if (room == MAP_FAILED)
		abort();
	munmap(room, size);
}
static void look(const char *path)
{
	char wanted[100] = "", how[100] = "";
	const char *at = strstr(path, "/.build-id/");
	FILE *file = at && access(path, F_OK) == 0 && getenv("CRASH_AT") ? fopen(getenv("CRASH_AT"), "r") : NULL;
	if (file && fgets(wanted, sizeof wanted, file) && strlen(wanted) > 4 && strncmp(at + 14, wanted + 2, strlen(wanted) - 3) == 0 && fgets(how, sizeof how, file))
		harm(how);
	if (file)
		fclose(file);
}
#define WRAP(name, before, own, pass)                                                     \
	int name(before const char *path, int flags, ...)                                 \
	{                                                                                 \
		va_list list;                                                             \
		va_start(list, flags);                                                    \
		int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;         \
		va_end(list);                                                             \
		look(path);                                                               \
		return ((int (*)(own const char *, int, ...))dlsym(RTLD_NEXT, #name))(pass path, flags, mode); \
	}
#define COMMA ,
WRAP(open, , , )
WRAP(open64, , , )
WRAP(openat, int folder COMMA, int COMMA, folder COMMA)
WRAP(openat64, int folder COMMA, int COMMA, folder COMMA)
C
gcc -shared -fPIC -o "$scratch/crash.so" "$scratch/crash.c" -ldl || broken 'gcc'
for name in evil slow fat good late once; do
	printf '#include <stdlib.h>\nvoid *volatile held;\n__attribute__((noinline)) void %s_function(void) { held = malloc(1000); held = malloc(1001); }\nint main(void) { %s_function(); }\n' $name $name >"$scratch/$name.c"
	gcc -g -O1 -Wl,--build-id=sha1 -o "$scratch/$name" "$scratch/$name.c" || broken 'gcc'
done
build_id() { readelf -n "$scratch/$1" | sed -n 's/.*Build ID: //p'; }
COLLECTOR_ENVIRONMENT=("CRASH_AT=$scratch/armed" "LD_PRELOAD=$scratch/crash.so")
arm() { printf '%s\n%s\n' "$(build_id "$1")" "$2" >"$scratch/armed"; } # arm PROGRAM HARM
push() { "$cairn" symbols push --to "$url" "$scratch/$1" >"$scratch/out" 2>"$scratch/err"; }
named() { "$cairn" fleet top --store "$store" --service "$1" --from 1789000000 2>"$scratch/notes" | grep -q "${1}_function"; }
send() { # send PROGRAM TIME
	python3 tests/e2e/make-dump.py "$scratch/$1" "$1_function" "/srv/nowhere/$1" "$2" >"$scratch/dump"
	post_all "service=$1&version=1&host=h1" "$scratch/dump"
}
refused() { [ "$(metric builds_refused_total)" = "$1" ]; }
failed() { [ "$(metric naming_failures_total)" -ge "$1" ]; }

launch_collector --naming-memory 300M --naming-time 1s
wait_for 20 is_healthy || broken 'no collector'
for name in evil slow fat good late; do send $name 1790000000; done
wait_for 20 stored 5
arm evil abort
push good
wait_for 20 named good
ok $? 'a program that does no harm'
push evil
wait_for 30 refused 1
ok $? 'one that ends its reader is read twice, and then no more'
like "$(cat "$scratch/collect.log")" "*reading the uploaded files of build $(build_id evil), among others, failed; each is tried alone*" 'as the collector says'
like "$(cat "$scratch/collect.log")" "*reading the uploaded files of build $(build_id evil) failed twice; they are no longer used*" 'and says why'
like "$(cat "$scratch/collect.log")" '*naming a snapshot ended by signal 6*' 'and how'
is "$(metric naming_failures_total)" 2 'and counts it'
arm slow hang
push slow
wait_for 30 refused 2
ok $? 'one that holds up its reader'
like "$(cat "$scratch/collect.log")" '*--naming-time is the limit*' 'and the limit is named'
arm fat eat
push fat
wait_for 30 refused 3
ok $? 'one that takes more memory than the child may'
holds 'the collector stays' is_healthy
for name in evil slow fat good; do send $name 1790000060; done
wait_for 20 stored 9
ok $? 'snapshots of all programs are stored'
is "$(for name in evil slow fat good; do named $name; echo $?; done | paste -sd' ')" '1 1 1 0' 'with addresses, and the harmless one with names'
holds 'the upload of a refused build is not asked for again' push evil
holds 'and does no harm' is_healthy

# Uploaded before its snapshot arrives: only that has no names.
arm late abort
push late
send late 1790000060
wait_for 20 stored 10
ok $? 'a snapshot whose naming fails is stored'
wait_for 20 failed 7
ok $? 'after it failed once more'
# What only happened to be there is in use again after its trial. A collector that died leaves its note.
printf '\n' >"$scratch/armed"
push once
stop
folder=$(basename "$(dirname "$(find "$spool/uploads" -name .build-id -type d)")")
launch_collector --uploads "$scratch/others"
wait_for 20 is_healthy
send once 1790000000
wait_for 20 stored 1
stop
printf '%s %s 0\n' "$folder" "$(build_id once)" >"$spool/uploads/.working.4242.1"
mkfifo "$spool/uploads/.working.fifo"
launch_collector
wait_for 20 is_healthy
ok $? 'a note that is no file is not waited for'
like "$(cat "$scratch/collect.log")" "*reading the uploaded files of build $(build_id once), among others, failed*" 'the note of a collector that died'
wait_for 20 named once
ok $? 'a build that was read when the collector died, and is not to blame, is in use again'
is "$(metric builds_refused_total)" 0 'and no other is refused'
is "$(find "$spool" -name '.working*' -type f | wc -l)" 0 'no note is left'
stop
done_testing
