#!/usr/bin/env bash
# An uploaded file that ends the collector when it is read: after the second time its build is passed over, and nothing else is.
. tests/e2e/lib.sh
. tests/e2e/collector.sh
need curl python3 gcc readelf nm
ulimit -c 0
"$cairn" store init -q "$store"
# Ends the process when it opens a file that is there and whose name begins as the line in $CRASH_AT, under .build-id.
cat >"$scratch/crash.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void look(const char *path)
{
	char wanted[100] = "";
	const char *at = strstr(path, "/.build-id/");
	FILE *file = at && access(path, F_OK) == 0 && getenv("CRASH_AT") ? fopen(getenv("CRASH_AT"), "r") : NULL;
	if (file && fgets(wanted, sizeof wanted, file) && strlen(wanted) > 4 && strncmp(at + 14, wanted + 2, strlen(wanted) - 3) == 0)
		abort();
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
for name in evil good late; do
	printf '#include <stdlib.h>\nvoid *volatile held;\n__attribute__((noinline)) void %s_function(void) { held = malloc(1000); held = malloc(1001); }\nint main(void) { %s_function(); }\n' $name $name >"$scratch/$name.c"
	gcc -g -O1 -Wl,--build-id=sha1 -o "$scratch/$name" "$scratch/$name.c" || broken 'gcc'
done
build_id() { readelf -n "$scratch/$1" | sed -n 's/.*Build ID: //p'; }
COLLECTOR_ENVIRONMENT=("CRASH_AT=$scratch/armed" "LD_PRELOAD=$scratch/crash.so")
ended() { ! kill -0 "$collector" 2>/dev/null; }
push() { "$cairn" symbols push --to "$url" "$scratch/$1" >"$scratch/out" 2>"$scratch/err"; }
named() { "$cairn" fleet top --store "$store" --service "$1" --from 1789000000 2>"$scratch/notes" | grep -q "${1}_function"; }
send() { # send PROGRAM TIME
	python3 tests/e2e/make-dump.py "$scratch/$1" "$1_function" "/srv/nowhere/$1" "$2" >"$scratch/dump"
	post_all "service=$1&version=1&host=h1" "$scratch/dump"
}

launch_collector
wait_for 20 is_healthy || broken 'no collector'
for name in evil good late; do send $name 1790000000; done
wait_for 20 stored 3
build_id evil >"$scratch/armed"
push good
wait_for 20 named good
ok $? 'a program that does no harm'
push evil
wait_for 20 ended
ok $? 'one that ends the collector when it is read'
wait "$collector" 2>/dev/null
launch_collector
wait_for 20 ended
ok $? 'is read once more after the restart, alone'
wait "$collector" 2>/dev/null
like "$(cat "$scratch/collect.log")" "*crashed while it read the uploaded files of build $(build_id evil)*" 'as the collector says'
launch_collector
wait_for 20 is_healthy
ok $? 'after the second time the collector stays'
like "$(cat "$scratch/collect.log")" "*crashed twice while it read the uploaded files of build $(build_id evil); they are no longer used*" 'and says why'
is "$(metric builds_refused_total)" 1 'and counts it'
passed() { [ "$(metric naming_passes_total)" -ge 1 ]; }
wait_for 20 passed
send evil 1790000060
send good 1790000060
wait_for 20 stored 2
ok $? 'snapshots of both programs are stored'
is "$(named evil; echo $?) $(named good; echo $?)" '1 0' 'one with addresses, one with names'
holds 'its upload is not asked for again' push evil
holds 'and does no harm' is_healthy

# What only happened to be there is in use again after its trial.
build_id late >"$scratch/armed"
push late
wait_for 20 ended
wait "$collector" 2>/dev/null
: >"$scratch/armed"
mkfifo "$scratch/spool/uploads/.working.fifo"
launch_collector
wait_for 20 is_healthy
ok $? 'a note that is no file is not waited for'
wait_for 20 named late
ok $? 'a build that was read when the collector ended, and is not to blame, is in use again'
is "$(metric builds_refused_total)" 0 'and no other is refused'
is "$(find "$scratch/spool" -name '.working*' -type f | wc -l)" 0 'no note is left'
stop
done_testing
