#!/usr/bin/env bash
# Cairn's own sampler on aarch64, under qemu: the agent is built for it, and a program that knows what it holds is sampled as it is, with
# whole stacks.
. tests/e2e/lib.sh
need aarch64-linux-gnu-gcc qemu-aarch64 python3
sysroot=/usr/aarch64-linux-gnu
sources=$(python3 - <<'P'
import re
text = open("src/meson.build").read()
for name in "shared_sources", "agent_sources":
    block = re.search(name + r" = (?:shared_sources \+ )?files\((.*?)\n\)", text, re.S).group(1)
    print(*("src/" + file for file in re.findall(r"'([^']+)'", block)), sep="\n")
P
)
# shellcheck disable=SC2086 # a list
aarch64-linux-gnu-gcc -O2 -g -std=gnu17 -D_GNU_SOURCE -DNDEBUG '-DCAIRN_VERSION="test"' -fPIC -fvisibility=hidden -ftls-model=initial-exec \
	-Wall -Werror -shared -Isrc -Iinclude $sources src/agent/host/preload.c -o "$scratch/libcairn.so" -pthread -ldl 2>"$scratch/err"
ok $? "the agent is built for aarch64"
sed 's/^/# /' "$scratch/err" | head -n 5
aarch64-linux-gnu-gcc -O1 -g -w -D_GNU_SOURCE tests/e2e/sampler-truth.c -o "$scratch/truth" -pthread -ldl
CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:16K timeout 600 qemu-aarch64 -L $sysroot -E "LD_PRELOAD=$scratch/libcairn.so" \
	"$scratch/truth" "$scratch/arm.heap" >"$scratch/out" 2>&1
is "$? $(tail -n 1 "$scratch/out")" "0 ready" "a program runs under qemu with it"
result=$("$cairn" top --json --errors -n 0 "$scratch/arm.heap" 2>/dev/null | python3 -c '
import json, sys
true = sum(float(p[3]) for p in (line.split() for line in open(sys.argv[1])) if p[:1] == ["site"])
profile = json.load(sys.stdin)
# All but what the threads hold for a moment comes from one place: the start of the program.
start = max(row["cum"] for row in profile["rows"])
share = start / profile["total"]
print(f"{start / true:.3f} of what it holds, {share:.4f} of all from the start of the program")
sys.exit(abs(start / true - 1) > 0.06 or share < 0.98)' "$scratch/out")
ok $? "and is sampled, with whole stacks: $result"
is "$(sed -n 's/^# cairn sampler.replaced //p' "$scratch/arm.heap")" 0 "no free was missed"
done_testing
