#!/usr/bin/env bash
# Our unwinder in jemalloc's hook: what is in the dumps, what the status says, the depth limit, the budget, and turning it off.
. tests/e2e/lib.sh
need gcc curl python3
[ -e "$library" ] || broken 'no libcairn.so'
jemalloc=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" { print $NF; exit }')
[ -n "$jemalloc" ] || broken 'no libjemalloc.so.2 here'
gcc -O2 -g -fomit-frame-pointer tests/bench/stack.c -o "$scratch/stack"
prof=prof:true,prof_active:true,lg_prof_sample:0,prof_final:true,prof_prefix:$scratch/dump

# stacks CAIRN_CONF PROGRAM: the folded stacks of a dump at exit, with every frame
stacks() {
	rm -f "$scratch"/dump.*
	LD_PRELOAD="$library ${3-$jemalloc}" CAIRN_CONF=$1 MALLOC_CONF=$prof "$2" 30 >/dev/null
	"$cairn" collapsed --all-frames --binary "$2" "$scratch"/dump.*.heap 2>/dev/null | grep keep_under | head -n 1
}
all=$(stacks '' "$scratch/stack")
is "$(grep -o 'keep_under' <<<"$all" | wc -l)" 31 'all frames of the caller are there'
is "$(sed 's/.*keep_under;//; s/ [0-9]*$//' <<<"$all" | tr ';' '\n' | wc -l)" 1 'and exactly one of the allocator'
stock=$(stacks unwinder:jemalloc "$scratch/stack")
holds 'with unwinder:jemalloc there are several' [ "$(sed 's/.*keep_under;//; s/ [0-9]*$//' <<<"$stock" | tr ';' '\n' | wc -l)" -gt 1 ]
is "$(sed 's/\(.*keep_under\);.*/\1/' <<<"$all")" "$(sed 's/\(.*keep_under\);.*/\1/' <<<"$stock")" 'the rest of the stack is the same'
cut=$(stacks depth:12 "$scratch/stack")
is "$(grep -o ';' <<<"$cut" | wc -l)" 11 'depth:12 gives twelve frames'
like "$cut" 'cairn_stack_is_truncated;*' 'the outermost says that it was cut'

static=$(ls /usr/lib/*/libjemalloc.a 2>/dev/null | head -n 1)
if [ -n "$static" ] && gcc -O2 -g tests/bench/stack.c -o "$scratch/static" "$static" -pthread -ldl -lm -lstdc++ 2>/dev/null; then
	all=$(stacks '' "$scratch/static" '')
	is "$(grep -o 'keep_under' <<<"$all" | wc -l)" 31 'jemalloc linked in: all frames of the caller'
	is "$(sed 's/.*keep_under;//; s/ [0-9]*$//' <<<"$all" | tr ';' '\n' | wc -l)" 1 'and exactly one of the allocator'
	# realloc ends in a jump: not it but what it jumped to is on the stack.
	cat >"$scratch/grow.c" <<'C'
#include <stdlib.h>
__attribute__((noinline)) static void *grown_by_realloc(void *old, size_t size)
{
	char *new = realloc(old, size);
	if (new)
		*new = 1;
	return new;
}
int main(void) { void *kept = NULL; for (size_t i = 1; i < 100; i++) kept = grown_by_realloc(kept, i * 3000); return kept == NULL; }
C
	gcc -O1 -g "$scratch/grow.c" -o "$scratch/grow" "$static" -pthread -ldl -lm -lstdc++
	rm -f "$scratch"/dump.*
	LD_PRELOAD=$library MALLOC_CONF=$prof "$scratch/grow"
	"$cairn" collapsed --all-frames "$scratch"/dump.*.heap 2>/dev/null | grep grown_by_realloc >"$scratch/folded"
	like "$(head -n 1 "$scratch/folded")" '*main;grown_by_realloc;do_rallocx *' 'a stack through realloc ends in the allocator'
	! grep -qE 'cairn|backtrace' "$scratch/folded"
	ok $? 'and has no frame of our own'
	(sed -n '/^MAPPED_LIBRARIES:/,$p' "$scratch"/dump.*.heap
		sed -n 's/^@ //p' "$scratch"/dump.*.heap | tr ' ' '\n' | sort -u) >"$scratch/asked"
	is "$("$cairn" symbols - <"$scratch/asked" | grep -cE '_default|rallocx')" 0 \
		'the symbol endpoint calls all of jemalloc malloc, which stock jeprof strips'
	holds 'and names the callers' grep -q grown_by_realloc <("$cairn" symbols - <"$scratch/asked")
	# Without names, nothing of the allocator is known, but the hook's own frame is.
	strip -o "$scratch/bare" "$scratch/grow"
	rm -rf "$scratch"/dump.* "$XDG_CACHE_HOME" # which has names by its build-id
	LD_PRELOAD=$library MALLOC_CONF=$prof "$scratch/bare"
	holds 'a stripped program has stacks' grep -q '^@ 0x' "$scratch"/dump.*.heap
	! "$cairn" collapsed --all-frames "$scratch"/dump.*.heap 2>/dev/null | grep -E 'bare' | grep -qE 'backtrace|libcairn'
	ok $? 'of a stripped program neither'
else
	skip 'jemalloc linked in' 'no libjemalloc.a here'
fi

command -v redis-server >/dev/null || { skip 'status and budget' 'no redis-server here'; done_testing; }
port=$(free_port) agent=$(free_port)
LD_PRELOAD=$library CAIRN_CONF=listen:127.0.0.1:$agent,budget:0.01% MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:6 redis-server --port "$port" --save '' --dir "$scratch" >/dev/null 2>&1 &
pid=$!
children+=($pid)
wait_for 20 redis-cli -p "$port" ping && wait_for 20 curl -sf "http://127.0.0.1:$agent/cairn/status"
while redis-benchmark -p "$port" -n 500 -r 100000 -t set -q >/dev/null 2>&1; do sleep 0.1; done &
children+=($!)
# look: the status as it is now, of which field shows members
look() { curl -s "http://127.0.0.1:$agent/cairn/status" >"$scratch/status"; }
field() { python3 -c "import json, sys; print(json.load(open('$scratch/status'))$1)"; }
moved() { look && [ "$(field "['cost']['period_changes']")" -gt 0 ]; }
look
is "$(field "['unwinder']['name']")" cairn 'the status names the unwinder'
holds 'a cost above the budget moves the period' wait_for 60 moved
# Where it was: 64, unless it has moved again before this looked.
[ "$(field "['cost']['period_changes']")" -gt 1 ] || is "$(field "['cost']['previous_period']")" 64 'from where it was'
holds 'to a longer one' [ "$(field "['period']")" -gt "$(field "['cost']['previous_period']")" ]
is "$(field "['reset_at'] == None")" False 'and the samples of before are gone, as the status says'
holds 'no stack was incomplete' [ "$(field "['unwinder']['no_code']")" = 0 ]
metrics=$(curl -s "http://127.0.0.1:$agent/metrics")
for name in cairn_stacks_total cairn_stack_seconds cairn_profiling_cpu_share cairn_period_changes_total; do like "$metrics" "*$name*" "/metrics has $name"; done
done_testing
