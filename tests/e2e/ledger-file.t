#!/usr/bin/env bash
# ledger:PATH: the ledger in a file, which is a source of its own and becomes a dump at the next start, whatever the disk does.
. tests/e2e/lib.sh
need cc python3 curl
. tests/e2e/agent.sh
${CC:-cc} -O1 -g -w -D_GNU_SOURCE tests/e2e/keeper-host.c -o "$scratch/host" -pthread || broken 'the test host does not build'
mkdir -p "$scratch/dumps"

# has_bytes NUMBER: the host holds so much by now. From the start it is 18 MB; less has too few samples to compare.
has_bytes() { [ "$(od -An -td8 -N8 "$scratch/truth" | tr -d ' ')" -ge "$1" ]; }
# start LEDGER MODE [CONF]: the host, sampled, with its ledger in that file; sets pid
start() {
	rm -f "$scratch/truth" "$scratch/truth.go"
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:4K,ledger:$1${3:+,$3} \
		"$scratch/host" "$scratch/truth" "$2" >/dev/null 2>&1 &
	pid=$!
	children+=($pid)
	wait_for 30 has_bytes 18000000 && wait_for 30 fact ledger bytes
}
end() {
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
}
# fact KEY...: a member of the status
fact() {
	curl -s --max-time 20 --unix-socket "$sockets/$pid.sock" http://localhost/cairn/status | python3 -c 'import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1:]: value = value[key]
print(value)' "$@"
}
# compare SOURCE: the live bytes of `hold` there against the truth, within a tenth
compare() {
	"$cairn" top --json "$1" >"$scratch/top.json" || return 1
	python3 - "$scratch/top.json" "${2:-$scratch/truth}" <<'P'
import json, struct, sys
got = next((r["cum"] for r in json.load(open(sys.argv[1]))["rows"] if r["name"] == "hold"), 0)
true = struct.unpack("=q", open(sys.argv[2], "rb").read(8))[0]
print("true %d, there %d" % (true, got)); sys.exit(not true * 0.9 < got < true * 1.1)
P
}

file=$scratch/service.ledger
start "$file" churn "dumps:$scratch/dumps"
is "$(fact ledger file) $(fact ledger problem)" "$file None" "the ledger is in the file"
is "$(stat -c %s-%a "$file")" "$((16 << 20))-600" "all of it, for this user alone"
sleep 0.5
first=$pid
end
holds "after a SIGKILL the file is a source" compare "$file"
holds "for other commands, too" "$cairn" flame -o "$scratch/left.svg" "$file"
"$cairn" jeprof --raw "$scratch/host" "$file" >"$scratch/raw" 2>/dev/null
is "$(grep -c '^--- symbol$\|^heap profile: ' "$scratch/raw")" 2 "jeprof --raw writes it as text"
like "$("$cairn" jeprof --text "$scratch/raw" 2>/dev/null)" '*hold*' "that can be read without the program"
pid_of() { "$cairn" top --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])'; }
is "$(pid_of "$file")" "$first" "it says of which process it is"
cp "$scratch/truth" "$scratch/truth.first"
start "$file" churn "dumps:$scratch/dumps"
is "$(ls "$scratch/dumps" | grep -c 'last.heap$')" 1 "the next start makes a dump of it"
holds "which is right" compare "$scratch/dumps" "$scratch/truth.first"
like "$("$cairn" dumps "$scratch/dumps" | sed -n 3p)" \
	"last moment of process $first, found in the ledger at the next start: *.last.heap" "and is listed first"
is "$(pid_of "$file")" "$pid" "the ledger begins afresh, and can be read while the process runs"

# A second process of the same configuration
second_of=$pid
start "$file" churn "dumps:$scratch/dumps"
like "$(fact ledger problem)" "the ledger $file is another process's" "a second process does without the file"
end
pid=$second_of
holds "the first goes on" fact ledger file
end

# What is no ledger stays
echo precious >"$scratch/precious"
start "$scratch/precious" churn
like "$(fact ledger problem)" "$scratch/precious is left as it is: not a ledger*" "a file that is no ledger is refused"
end
is "$(cat "$scratch/precious")" precious "and left as it is"
ln -s "$scratch/precious" "$scratch/link"
start "$scratch/link" churn
like "$(fact ledger problem)" "the ledger $scratch/link cannot be opened*" "so is a symbolic link"
end

# A disk that is full
if [ "$(id -u)" = 0 ] && mkdir "$scratch/disk" && mount -t tmpfs -o size=20m tmpfs "$scratch/disk" 2>/dev/null; then
	trap 'end_children; umount -l "$scratch/disk"; rm -rf "$scratch"' EXIT
	start "$scratch/disk/ledger" churn
	head -c 30000000 /dev/zero >"$scratch/disk/filler" 2>/dev/null
	before=$(fact ledger taken)
	taken_more() { [ "$(fact ledger taken)" -gt $((before + 2000)) ]; }
	holds "on a disk that is full the host goes on and is sampled" wait_for 60 taken_more
	end
	cp "$scratch/truth" "$scratch/truth.full"
	holds "its ledger is right" compare "$scratch/disk/ledger" "$scratch/truth.full"
	start "$scratch/disk/ledger" churn
	like "$(fact ledger problem)" "no space left*" "the next start cannot write its dump, and says so"
	is "$(fact ledger file)" None "it keeps its ledger in memory"
	end
	holds "the previous ledger is still there" compare "$scratch/disk/ledger" "$scratch/truth.full"
	rm "$scratch/disk/filler"
	start "$scratch/disk/ledger" churn "keep_free:0"
	is "$(fact ledger file)" "$scratch/disk/ledger" "with room for the dump but not for a second ledger, the old one makes room"
	is "$(ls "$scratch/disk" | tr '\n' ' ' | sed 's/[0-9-]*\.last/DATE.last/')" \
		"DATE.last.heap ledger " "the dump is there, a ledger is, and nothing else"
	end
else
	skip 'a full disk' 'only root can mount one'
fi
done_testing
