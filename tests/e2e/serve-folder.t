#!/usr/bin/env bash
# `cairn serve` on folders, without a browser: dumps that are written, replaced and damaged, runs of one program, what is shown of source files,
# a server that is killed, and a program that is written over while its names are read.
. tests/e2e/lib.sh
. tests/e2e/serve.sh

# A folder, of a process that has ended.
start_leaky || broken 'the demo service starts'
mkdir dumps
has_older() { "$cairn" top --json --older 1s "$pid" 2>&1 | grep -q '"flat"'; }
wait_for 20 has_older || broken 'some of its memory is older than a second'
for i in 1 2 3; do "$cairn" dump -o dumps/$i.heap "$pid" >/dev/null; done
kill -KILL "$pid"
serve dumps || broken 'cairn serve starts'
# Peak, slack, sizes and ages, as other commands have them.
wait_for 30 dumps_are 3
get /api/page >metrics.html
python3 "$root/tests/e2e/read-page.py" metrics.html >metrics.json
for what in peak:peak_space slack:slack_space alloc:alloc_space; do
	"$cairn" top --json "--${what%:*}" dumps/3.heap >top.json
	is "$(python3 -c 'import json, sys
page, top = json.load(open("metrics.json"))["values"][sys.argv[1]], json.load(open("top.json"))["total"]
print(top > 0 and abs(page - top) <= 2 + 1e-6 * top)' "${what#*:}")" True "the page counts ${what%:*} as cairn top does"
done
"$cairn" top --json --older 1s dumps/3.heap >top.json
is "$(python3 -c 'import json
page, top = json.load(open("metrics.json"))["ages"], json.load(open("top.json"))["total"]
print(top > 0 and abs(sum(bytes for age, bytes in page.items() if int(age) >= 2) - top) <= 20 + 1e-6 * top)')" True 'and ages as --older does'
is "$(python3 -c 'import json; print(json.load(open("metrics.json"))["sizes"].get("12", 0) > 0)')" True 'and knows how large sessions are'
"$cairn" churn --json dumps/3.heap >churn.json
"$cairn" rss --json dumps/3.heap >rss.json
is "$(python3 -c 'import json
facts, churn, rss = json.load(open("metrics.json"))["facts"], json.load(open("churn.json")), json.load(open("rss.json"))
print(len(churn["rows"]) > 0 and facts["churn"]["rows"] == churn["rows"][:60], rss["total"] > 0 and facts["bill"]["lines"] == rss["lines"])')" \
	'True True' 'a saved page has churn and the bill of the newest dump'
get "/api/page?at=$(get '/api/series?since=0' | field points.0.id)" >early.html
python3 "$root/tests/e2e/read-page.py" early.html >early.json
is "$(python3 -c 'import json; facts = json.load(open("early.json"))["facts"]; print("churn" in facts, "bill" in facts)')" 'False False' \
	'and one of an earlier dump has neither'
holds 'a folder has its process' wait_for 30 dumps_are 3
loaded() { [ "$(get /api/processes | field loading)" = False ]; }
holds 'all of it is read' wait_for 20 loaded
is "$(get /api/processes | field processes.0.state) $(get /api/processes | field processes.0.program)" 'dumps leaky' 'by what its dumps say'
key=$(get /api/processes | field processes.0.process)
cp "$(ls dumps/*.heap | head -n 1)" dumps/.part
sed -i 's/^# cairn time .*/# cairn time 1700000000.000000000/' dumps/.part
mv dumps/.part dumps/older.heap
holds 'a dump that is written later is shown' wait_for 30 dumps_are 4
sed '/^# cairn section samples/,/^# cairn trailer/{/^# cairn trailer/!d}' dumps/3.heap |
	sed 's/^# cairn time .*/# cairn time 1700000001.000000000/' >dumps/.part
mv dumps/.part dumps/plain.heap
{ printf 'heap_v2/32768\n  t*: 0: 0 [0: 0]\n'; sed -n '/^MAPPED_LIBRARIES/,/^# cairn section/{/^# cairn section/!p}' dumps/3.heap; sed -n '/^# cairn trailer/,$p' dumps/3.heap; } |
	sed 's/^# cairn time .*/# cairn time 1700000002.000000000/' >dumps/.part
mv dumps/.part dumps/nothing.heap
holds 'one that knows neither ages nor a peak, and one of nothing, are two more and no new beginning' wait_for 30 dumps_are 6
ln -s /etc/passwd dumps/link.heap
head -c 300 dumps/older.heap >dumps/cut.heap
printf 'heap_v2/\xff\xff\n@ 0x1\n' >dumps/broken.heap
mkfifo dumps/pipe.heap
cp "$cairn" dumps/program.heap
for i in 1 2 3 4 5 6; do # replaced and truncated while they are read
	cp dumps/older.heap "dumps/changing.heap"
	: >"dumps/changing.heap"
done
sleep 1
is "$(code /api/processes) $(code /api/tree)" '200 200' 'links, pipes, damaged and changing files do no harm'
kill -KILL $server
wait $server 2>/dev/null
rm dumps/pipe.heap dumps/changing.heap dumps/cut.heap dumps/broken.heap dumps/program.heap dumps/link.heap
serve dumps
holds 'a server that was killed and started again has everything again' wait_for 30 dumps_are 6
is "$(get /api/processes | field processes.0.process)" "$key" 'under the same key'
kill -INT $server
wait $server

# Runs of one program are one entry; what ran at the same time is another.
mkdir runs
python3 - <<'EOF'
def dump(name, pid, start, time, more=""):
    with open("runs/" + name, "w") as out:
        out.write("heap_v2/1\n  t*: 1: %d [0: 0]\n@ 0x1001 0x2001\n  t*: 1: %d [0: 0]\n\nMAPPED_LIBRARIES:\n" % (pid * 10, pid * 10))
        out.write("00001000-00003000 r-xp 00000000 00:00 1 /usr/bin/worker\n")
        out.write("# cairn trailer 1\n# cairn pid %d\n# cairn executable /usr/bin/worker\n# cairn host one\n" % pid)
        out.write("# cairn module 00001000-00003000 0 %s /usr/bin/worker\n" % ("bb22bb22" if pid == 102 else "aa11aa11")) # the last is another build
        out.write("# cairn start %d.0\n# cairn time %d.0\n%s# cairn end\n" % (start, time, more))
for i in range(3): # three lives, one after the other
    for j in range(3):
        dump("a%d%d.heap" % (i, j), 100 + i, 1700000000 + 1000 * i, 1700000100 + 1000 * i + 100 * j,
             "# cairn ended killed by the OOM killer\n" if j == 2 and i < 2 else "")
dump("b.heap", 200, 1700000000, 1700002500) # beside all of them
EOF
serve runs
all_runs() { get /api/processes | python3 -c 'import json, sys; assert sorted(p["dumps"] for p in json.load(sys.stdin)["processes"]) == [1, 9]'; }
holds 'three runs and one process beside them are two entries' wait_for 30 all_runs
get /api/processes >runs.json
group=$(python3 -c 'import json
p = [p for p in json.load(open("runs.json"))["processes"] if p["runs"] == 3][0]
print(p["process"], p["pid"], len(p["keys"]))')
like "$group" 'worker-102* 102 3' "which is called by its newest run: $group"
get "/api/series?process=${group%% *}" >runs.json
is "$(python3 -c 'import json; print([(r["pid"], r["dumps"], r["ended"]) for r in json.load(open("runs.json"))["runs"]])')" \
	"[(102, 3, ''), (101, 3, 'killed by the OOM killer'), (100, 3, 'killed by the OOM killer')]" 'each run has its last moment, and how it ended'
is "$(python3 -c 'import json; print([(m["kind"], m["text"]) for m in json.load(open("runs.json"))["marks"] if m["kind"] in ("restart", "deployment")])')" \
	"[('restart', 'restarted as process 101'), ('deployment', 'another build of the program')]" 'the timeline has a mark where another build begins'
old=$(get /api/processes | python3 -c 'import json, sys
print([k for p in json.load(sys.stdin)["processes"] for k in p["keys"] if k.startswith("worker-100")][0])')
is "$(get "/api/series?process=$old" | field process)" "${group%% *}" 'a link to an older run leads there'
kill -INT $server
wait $server

# A run that goes on beside the next one after all: it leaves their entry, and no key stands for two.
mkdir beside
beside() { # beside NAME PID START TIME
	printf 'heap_v2/1\n  t*: 1: 10 [0: 0]\n@ 0x1001 0x2001\n  t*: 1: 10 [0: 0]\n\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn pid %d\n# cairn executable /usr/bin/worker\n# cairn host one\n# cairn start %d.0\n# cairn time %d.0\n# cairn end\n' \
		"$2" "$3" "$4" >"beside/.$1" && mv "beside/.$1" "beside/$1"
}
beside a.heap 100 1700000000 1700000100
serve beside
entries() { [ "$(get /api/processes | python3 -c 'import json, sys; print(sorted(p["dumps"] for p in json.load(sys.stdin)["processes"]))')" = "$1" ]; }
holds 'one run' wait_for 30 entries '[1]'
beside b.heap 101 1700001000 1700001100
holds 'and the next one are one entry' wait_for 30 entries '[2]'
beside c.heap 100 1700000000 1700001200
holds 'until it turns out that the first one goes on' wait_for 30 entries '[1, 2]'
is "$(get /api/processes | python3 -c 'import json, sys; print(sorted(p["process"][:10] for p in json.load(sys.stdin)["processes"]))')" "['worker-100', 'worker-101']" \
	'then each has its own key'
kill -INT $server
wait $server

# A dump that is read while it is written is no process of its own, and comes when it is whole.
mkdir written
python3 - <<'EOF'
stacks = "".join("@ 0x%x 0x2001\n  t*: 1: 100 [0: 0]\n" % (4096 + i) for i in range(200))
with open("whole", "w") as out:
    out.write("heap_v2/1\n  t*: 200: 20000 [0: 0]\n" + stacks + "\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn pid 300\n# cairn executable /usr/bin/writer\n")
    out.write("# cairn start 1700000000.0\n# cairn time 1700000500.0\n# cairn end\n")
EOF
serve written
exec 8>written/slow.heap
head -c 3000 whole >&8
sleep 1.5 # several looks at the folder come in this time
tail -c +3001 whole | head -c 2000 >&8
sleep 1.5
tail -c +5001 whole >&8
exec 8>&-
holds 'a dump that is written slowly is shown when it is whole' wait_for 30 dumps_are 1
is "$(get /api/processes | python3 -c 'import json, sys; print([(p["program"], p["pid"], p["dumps"], p["total"]) for p in json.load(sys.stdin)["processes"]])')" \
	"[('writer', 300, 1, 20000)]" 'and leaves nothing else behind'
sed 's/pid 300/pid 301/; s/start 1700000000/start 1700000100/' whole >later
head -c 3000 later >written/.part
touch -d '+5 seconds' written/.part
mv written/.part written/ahead.heap
sleep 1.5
holds 'a part of one from a machine whose clock is ahead is no process either' entries '[1]'
cp later written/.part
mv written/.part written/ahead.heap
holds 'which comes when it is whole' wait_for 30 entries '[1, 1]'
rm written/ahead.heap
python3 - <<'EOF' &
import time
with open("written/service.log", "w") as log: # its end is an event that makes the server look
    log.write("a line of a log, which is no dump\n" * 30000)
with open("written/service.log", "a") as log:
    for _ in range(1200):
        log.write("another line\n")
        log.flush()
        time.sleep(0.1)
EOF
writer=$!
children+=($writer)
holds 'a log grows beside them' wait_for 30 test -s written/service.log
read_bytes() { awk '/rchar/ { print $2 }' /proc/$server/io; }
before=$(read_bytes) from=$SECONDS
sleep 6
looks=$((($(read_bytes) - before) / 1000000)) most=$((($SECONDS - from) / 10 + 2))
[ $looks -le $most ]
ok $? "and is not read again and again while it grows: $looks times of at most $most"
kill $writer
head -c 3000 whole >written/cut.heap
touch -d '-1 hour' written/cut.heap
holds 'one that is cut for good is shown as far as it goes' wait_for 30 entries '[1, 1, 1]'
kill -INT $server
wait $server

# More processes than there is room for: those that have ended, or have long written nothing, make room.
mkdir many
many() { # many FIRST LAST TIME: a dump each of processes of these numbers
	python3 - "$@" <<'EOF'
import os, sys
first, last, time = map(int, sys.argv[1:])
for pid in range(first, last + 1):
    with open("many/.part", "w") as out:
        out.write("heap_v2/1\n  t*: 1: 10 [0: 0]\n@ 0x1001 0x2001\n  t*: 1: 10 [0: 0]\n\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn pid %d\n" % pid)
        out.write("# cairn executable /usr/bin/many\n# cairn start 1700000000.0\n# cairn time %d.0\n# cairn end\n" % (time + pid))
    os.rename("many/.part", "many/%d.heap" % pid)
EOF
}
listed() { # listed: how many are listed, how many are not, and whether process $1 is among those that are
	get /api/processes | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(len(r["processes"]), r["unlisted_processes"], int(sys.argv[1]) in [p["pid"] for p in r["processes"]])' "$1"
}
listed_is() { [ "$(listed "$1")" = "$2" ]; }
many 1 260 1700000000
serve many
wait_for 6 listed_is 0 '256 4 False'
is "$(listed 0)" '256 4 False' 'of 260 processes 256 are listed, and the page is told how many are not'
many 301 301 1700000200
wait_for 6 listed_is 301 '256 5 False'
is "$(listed 301)" '256 5 False' 'those that go on make no room'
many 302 302 1700007000
wait_for 6 listed_is 302 '256 6 True'
is "$(listed 302)" '256 6 True' 'one that has written nothing for an hour does'
rm many/301.heap
wait_for 6 listed_is 302 '256 5 True'
is "$(listed 302)" '256 5 True' 'and what is no longer in the folder is forgotten'
is "$(code /api/tree)" 200 'all of which leaves the others alone'
kill -INT $server
wait $server

# A dump names source files; what is shown of them lies below --source-path, whatever the dump says.
mkdir -p sourced code/src outside
echo 'int inside;' >code/src/a.c
echo 'int secret;' >outside/secret.c
ln -s ../../outside code/src/link
ln -s a.c code/src/b.c
truncate -s 17M code/src/large.c
mkfifo code/src/pipe.c
python3 "$root/tests/e2e/make-sourced.py" sourced/one.pb.gz /build/src/a.c /build/src/b.c /etc/passwd ../../outside/secret.c /build/../outside/secret.c src/link/secret.c \
	"$scratch/outside/secret.c" outside/secret.c src/large.c src/pipe.c /proc/self/environ ..
sourced() { # sourced NUMBER: what is shown of the file of that number
	get "/api/source?function=at$1" | python3 -c 'import json, sys; r = json.load(sys.stdin)["routines"][0]; print(r["found"], r["lines"][0].get("code"))'
}
serve --source-path "$scratch/code" sourced
wait_for 30 dumps_are 1
is "$(sourced 0) $(sourced 1)" 'True int inside; True int inside;' 'source files below --source-path are found'
for i in 2 3 4 5 6 7 8 9 10 11; do
	is "$(sourced $i)" 'False None' "others are not, by an absolute path, by .., through a link, no file or too large: at$i"
done
kill -INT $server
wait $server
serve sourced
wait_for 30 dumps_are 1
is "$(sourced 6) $(sourced 7) $(sourced 2)" 'False None False None False None' 'and without --source-path none is, not even in the current folder'
kill -INT $server
wait $server
serve --source-path / sourced
wait_for 30 dumps_are 1
is "$(sourced 10) $(sourced 11)" 'False None False None' 'nor are those of the kernel, where everything is allowed'
kill -INT $server
wait $server

# Hostile names stay data.
python3 "$root/tests/e2e/make-hostile.py" hostile.heap 2>/dev/null
mkdir hostile
printf 'heap_v2/1\n  t*: 1: 1024 [0: 0]\n  t1: 1: 1024 [0: 0] <img src=x onerror=alert(1)>\n@ 0x1001\n  t*: 1: 1024 [0: 0]\n  t1: 1: 1024 [0: 0]\n\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn pid 7\n# cairn exe /tmp/<script>"evil"\n# cairn reason </script>\n# cairn time 1700000000.0\n# cairn end\n' >hostile/a.heap
serve hostile
holds 'a hostile dump is shown' wait_for 30 dumps_are 1
get /api/processes | field processes.0.process >hostile.key
is "$(grep -c '[<>"&]' hostile.key)" 0 'its key has no markup'
is "$(get "/api/series?since=0" | field marks.0.text)" '</script>' 'and its words are JSON'
kill -INT $server
wait $server
# A log that grows beside the dumps: it is looked at, but not read.
mkdir logged
printf 'heap_v2/1\n  t*: 1: 4096 [0: 0]\n@ 0x1001\n  t*: 1: 4096 [0: 0]\n\nMAPPED_LIBRARIES:\n' >logged/a.heap
echo 'a line of a log' >logged/service.log
truncate -s 400M logged/service.log
serve logged
holds 'dumps beside a large log are shown' wait_for 20 dumps_are 1
was_read() { awk '/^rchar/ { print int($2 / 1048576) }' "/proc/$server/io"; }
before=$(was_read)
for line in 1 2 3 4 5; do
	echo "line $line" >>logged/service.log
	sed "s/4096/$((4096 + line))/g" logged/a.heap >logged/.part && mv logged/.part "logged/b$line.heap"
	wait_for 20 dumps_are $((1 + line))
done
holds 'and so is each new one' dumps_are 6
[ $(($(was_read) - before)) -lt 100 ]
ok $? "while the log is not read: $(($(was_read) - before)) MiB were, of five times 400"
memory=$(awk '/^VmHWM/ { print int($2 / 1024) }' /proc/$server/status)
[ "$memory" -lt 200 ]
ok $? "nor kept: the server took $memory MiB"
sed 's/4096/9999/g' logged/a.heap >logged/.part && mv logged/.part logged/service.log
holds 'what becomes a dump is shown' wait_for 20 dumps_are 7
# More names change at once than are listed: then all files are looked at.
(cd logged && seq -f 'echo x >f%.0f' 3000 | sh && sed 's/4096/7777/g' a.heap >last.heap)
holds 'a dump among thousands of other files is found' wait_for 20 dumps_are 8
kill -INT $server
wait $server

# A program that is written over, as `cp` does it, while its names are read.
mkdir cut
python3 -c 'print(".text\n.globl main\nmain: ret\n" + "".join(f".globl f{i}\n.type f{i}, @function\nf{i}: ret\n.size f{i}, 1\n" for i in range(20000)) + ".section .note.GNU-stack")' >cut.s
cc -Wl,--build-id=none -o cut.whole cut.s || broken 'the program of many functions is built'
cp cut.whole cut.program
first=$(nm cut.whole | awk '$3 == "f0" { print $1 }')
python3 - <<'P' &
whole = open("cut.whole", "rb").read()
while True:
    with open("cut.program", "r+b", buffering=0) as file:
        file.truncate(4096)
        file.write(whole)
P
writer=$!
children+=("$writer")
export XDG_CACHE_HOME=$scratch/cut.cache
serve cut || broken 'cairn serve starts'
survived=0
processes_are() { [ "$(get /api/processes | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["processes"]))')" -ge "$1" ]; }
for i in 1 2 3; do
	python3 - "$i" "$scratch/cut.program" "$first" <<'P'
import sys
number, program, first = int(sys.argv[1]), sys.argv[2], 0x555555554000 + int(sys.argv[3], 16)
with open("cut/.part", "w") as out:
    out.write("heap_v2/1\n  t*: 20000: 20000 [0: 0]\n" + "".join(f"@ {first + k + 1:#x}\n  t*: 1: 1 [0: 0]\n" for k in range(20000)))
    out.write(f"\nMAPPED_LIBRARIES:\n555555554000-555555654000 r-xp 00000000 fe:00 1 {program}\n")
    out.write(f"# cairn trailer 1\n# cairn pid {100 + number}\n# cairn time {1700000000 + number}.0\n# cairn end\n")
P
	rm -rf "$XDG_CACHE_HOME"
	mv cut/.part "cut/$i.heap"
	wait_for 20 processes_are $i && [ "$(code /api/tree)" = 200 ] && survived=$((survived + 1))
done
kill "$writer"
is "$survived" 3 'a program that is cut short while its names are read ends no server'
kill -INT $server
wait $server
done_testing
