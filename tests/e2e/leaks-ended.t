#!/usr/bin/env bash
# When a limit will be reached is foretold for a process that runs, and not for one that was killed.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc python3
${CC:-cc} -O2 -g -pthread examples/leaky/leaky.c -o "$scratch/leaky" -ljemalloc || exit 1
mkdir "$scratch/dumps"
LD_PRELOAD=$library CAIRN_CONF=dumps:$scratch/dumps,time:200ms,distance:0,keep_count:100 MALLOC_CONF=prof:true,lg_prof_sample:14 "$scratch/leaky" 900 >/dev/null 2>&1 &
pid=$!
children+=($pid)
leaks() { "$cairn" leaks --json "$scratch/dumps" 2>/dev/null | python3 -c 'import json, sys; print("hours_to_limit" in json.load(sys.stdin))'; }
foretold() { said=$("$cairn" leaks "$scratch/dumps" 2>/dev/null) && [[ $said == *'is used up in'* ]] && [ "$(leaks)" = True ]; }
# Enough of them that the next one does not change the verdict.
twenty() { [ "$(ls "$scratch/dumps" | wc -l)" -ge 20 ]; }
wait_for 60 twenty
wait_for 60 foretold
ok $? 'while it runs, when the limit is reached'
like "$said" '*at this rate * is used up in *' 'and in words'
kill -KILL $pid
wait $pid 2>/dev/null
is "$(leaks)" False 'after a kill it is not foretold'
holds 'nor in words' bash -c '! grep -qE "is (reached|used up)" <<<"$1"' x "$("$cairn" leaks "$scratch/dumps" 2>/dev/null)"
like "$("$cairn" leaks --limit 100G "$scratch/dumps" 2>/dev/null)" '*at this rate the --limit of 100.0 GiB is reached in *' 'unless it is asked for'
done_testing
