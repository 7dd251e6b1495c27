#!/usr/bin/env bash
# How the cost of each command grows: instructions and peak memory at 1, 4 and 16 times the work (growth.py). `make check` looks at three, `make
# check-long` at all of them.
. tests/e2e/lib.sh
need cc python3 valgrind
cc=${CC:-cc}
$cc -O1 -w tests/e2e/growth-host.c -o "$scratch/host" -ldl || broken 'the host does not build'
printf '#include <stdlib.h>\nvoid *allocate(void) { return malloc(10000); }\n' >"$scratch/library.c"
$cc -O1 -w -shared -fPIC "$scratch/library.c" -o "$scratch/library.so" || broken 'the library does not build'

# grows KIND SIZE COMMAND...
grows() {
	python3 tests/e2e/growth.py "$cairn" "$scratch" "$@" >"$scratch/factors" 2>&1
	ok $? "cairn ${*:3}, $1 from $2 on: $(tail -n 1 "$scratch/factors")"
}
out=$scratch/written
grows stacks 200 top -q {}
grows dumps 50 timeline -q -o "$out.svg" {}
grows libraries 25 "$scratch/host" load {} {n}
is_long || done_testing

grows stacks 4000 top -q {} # and so that memory shows
for command in tree traces tags raw collapsed "flame -o $out.svg" "html -o $out.html" "pprof -o $out.pb.gz" "export --format speedscope -o $out.json" \
	"graph -o $out.dot" 'diff {}'; do
	grows stacks 500 $command -q {}
done
grows stacks 100 peek -q . {}
for command in top collapsed "flame -o $out.svg" "html -o $out.html"; do grows depth 100 $command -q {}; done
for command in top tags "html -o $out.html"; do grows threads 300 $command -q {}; done
for command in top raw; do grows modules 300 $command -q {}; done
for command in leaks dumps top "html -o $out.html" "timeline -o $out.svg"; do grows dumps 100 $command -q {}; done
for command in leaks top "html -o $out.html" "timeline -o $out.svg"; do grows restarts 250 $command -q {}; done
grows services 250 top -q {}
grows services 250 dumps {}
grows dumps 5 gallery -q {}
for question in services leaks 'diff --version 1..2' bill timeline top; do grows instances 10 fleet $question -q --service api --store sqlite:{} --from=-6h; done
grows processes 5 top -q --tree {}
grows browsers 4 serve -q --no-token --listen {page} {}

# Short programs that a sampled program starts: the middle of five runs of 300, with the agent and without, in turn.
python3 - "$cairn" >"$scratch/short" <<'P'
import statistics, subprocess, sys, time
loop = ["sh", "-c", "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done"]
def seconds(command):
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start
pairs = [(seconds(loop), seconds([sys.argv[1], "run", "--", *loop])) for _ in range(5)]
bare, sampled = (statistics.median(column) for column in zip(*pairs))
print(f"{sampled / bare:.2f} times the {bare / 300 * 1e3:.1f} ms of one without it"); sys.exit(sampled > 3 * bare)
P
ok $? "a short program in a sampled one takes at most 3 times as long: $(tail -n 1 "$scratch/short")"
done_testing
