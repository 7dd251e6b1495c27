#!/usr/bin/env bash
# cairn watch says what its dumps show, in the words of cairn leaks: once for each new verdict, as text and as JSON.
. tests/e2e/lib.sh
need python3
. tests/e2e/agent.sh
cd "$scratch"
${CC:-cc} -O1 -g -DLEAKY_REST_US=3000 -pthread "$root/examples/leaky/leaky.c" -o leaky -ljemalloc 2>log || broken 'no jemalloc to link with'
LD_PRELOAD=$library MALLOC_CONF=prof:true,lg_prof_sample:14 ./leaky 900 >/dev/null 2>&1 &
leaky=$!
children+=($leaky)
wait_for 20 "$cairn" status $leaky

mkdir json text quiet
"$cairn" watch --json --time 1s --distance 500ms -o json $leaky >json.out 2>json.err &
json=$!
"$cairn" watch --time 1s --distance 500ms -o text $leaky >text.out 2>text.err &
text=$!
"$cairn" watch --quiet --time 1s --distance 500ms -o quiet $leaky >quiet.out 2>quiet.err &
quiet=$!
children+=($json $text $quiet)
grows() { grep -q '"event":"verdict".*"verdict":"growing"' json.out && grep -q '  growing: ' text.out; }
wait_for 60 grows
ok $? "a leak is called growing while it is watched"
kill -INT $json $text $quiet
wait $json
is $? 0 'the watcher ends with 0'
wait $text $quiet
cat >check.py <<'P'
import glob, json, os, subprocess, sys
events = [json.loads(line) for line in open('json.out')]
verdicts = [e for e in events if e['event'] == 'verdict']
# How evenly a busy machine lets it run may change the verdict after that.
growing, last = [e for e in verdicts if e['verdict'] == 'growing'][-1], verdicts[-1]
assert growing['name'] in growing['summary'] and 'growing' in growing['summary'] and growing['dumps'] >= 3, growing
assert last['pid'] == int(sys.argv[2]) and last['program'] == 'leaky', last
keys = [(e['verdict'], e.get('name')) for e in verdicts]
assert all(a != b for a, b in zip(keys, keys[1:])), keys
# Of the dumps that it was about: the last ones may have come while they were judged, or after that.
dumps = sorted(glob.glob('json/*.heap'), key=os.path.getmtime)
for count in range(last['dumps'], max(last['dumps'] - 3, 3), -1):
    answer = subprocess.run([sys.argv[1], 'leaks', '--json', *dumps[:count]], capture_output=True, text=True).stdout
    leaks = json.loads(answer)
    if leaks['verdict'] == last['verdict']:
        break
assert leaks['verdict'] == last['verdict'], (leaks['summary'], last)
head = lambda text: text.split(', by ')[0]
assert head(leaks['summary']).split(' and ')[0].split(' keep')[0] == head(last['summary']).split(' and ')[0].split(' keep')[0]
P
holds 'as JSON: the word, the call path and the sentence of cairn leaks, once for each new verdict' python3 check.py "$cairn" $leaky
like "$(grep '  growing: ' text.out | tail -n 1)" "20*-*-* *:*:*  leaky $leaky  growing: * keep*growing, by * (* sure)*" 'as text: time, process, word, sentence'
is "$(cat quiet.out)" '' '--quiet says nothing of it'

# Nor while sampling is off, whatever the memory does.
mkdir blind
LD_PRELOAD=$library MALLOC_CONF=prof:true,prof_active:false ./leaky 900 >/dev/null 2>&1 &
blind=$!
children+=($blind)
wait_for 20 "$cairn" status $blind
"$cairn" watch --json --time 1s --distance 500ms -o blind $blind >blind.out 2>blind.err &
watch=$!
children+=($watch)
four_dumps() { [ "$(grep -c '"event":"dump"' blind.out)" -ge 4 ]; }
wait_for 60 four_dumps
ok $? 'a process that is not sampled is watched'
kill -INT $watch
wait $watch
is "$(grep -c verdict blind.out)" 0 'but there is no verdict on it'

# Nothing is said of two dumps, nor with --once.
mkdir two once
"$cairn" watch --json --time 1h --start true -o two --for 2s $leaky >two.out 2>&1
is "$(grep -c verdict two.out)" 0 'one dump is no verdict'
"$cairn" watch --json --once -o once $leaky >once.out 2>&1
is "$(grep -c verdict once.out)" 0 'nor is --once'
done_testing
