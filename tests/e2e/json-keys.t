#!/usr/bin/env bash
# doc/formats.md has a section for each --json, with every member that the command writes.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need python3 cc curl

cat >"$scratch/documented.py" <<'P'
"""documented.py TITLE FILE: prints the members in the JSON of FILE that the section TITLE of doc/formats.md, and the one on members of every
report, do not name."""
import json, re, sys
title, file = sys.argv[1:]
sections = re.split(r"^#+ ", open("doc/formats.md", encoding="utf-8").read(), flags=re.M)
own = [s for s in sections if title in s.split("\n")[0] or ("fleet" in title and s.startswith("`cairn rss --json`"))] # lines of a bill
assert title in "".join(s.split("\n")[0] for s in own), "no section " + title
every = [s for s in sections if s.startswith("In every report")]
named = set(re.findall(r"`([a-z_0-9]+)`", "\n".join(own + every)))
def members(value): # of any depth; the members of `config` are the keys of CAIRN_CONF, which cairn(1) explains
    if isinstance(value, list):
        return set().union(*map(members, value))
    return set(value).union(*(members(list(v.values()) if k == "config" and isinstance(v, dict) else v) for k, v in value.items())) if isinstance(value, dict) else set()
text = open(file, encoding="utf-8").read()
answers = [json.loads(line) for line in text.splitlines()] if title.endswith("watch --json") else [json.loads(text)]
assert all(answer["version"] == 1 for answer in answers), "an answer without its version"
found = members(answers)
assert found, "no member at all"
print(*sorted(m for m in found if m not in named and re.sub("_(low|high)$", "", m) not in named))
P
# shown TITLE COMMAND...: its JSON has no member that the section does not name
shown() {
	local title=$1
	shift
	"$cairn" "$@" >"$scratch/json" 2>"$scratch/err"
	is "$(python3 "$scratch/documented.py" "$title" "$scratch/json" 2>&1 | tail -n 1)" '' "cairn ${*//"$scratch"\//}"
	[ -s "$scratch/json" ] || head -n 2 "$scratch/err" | sed 's/^/#   /'
}

${CC:-cc} -O2 -g -w -pthread examples/leaky/leaky.c -o "$scratch/leaky" || broken 'the demo service does not build'
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:32K "$scratch/leaky" 900 >"$scratch/out" 2>&1 &
pid=$!
children+=($pid)
dump=$scratch/one.heap
has_leaked() { "$cairn" dump -o "$dump" $pid && "$cairn" top "$dump" | grep remember_session; }
wait_for 20 has_leaked || broken 'the demo service is not sampled'
for command in top tree traces tags diff churn leaks; do
	operands=("$dump")
	[ $command != diff ] || operands=("$dump" "$dump")
	shown "cairn $command --json" $command --json "${operands[@]}"
	[ $command = churn ] || shown "cairn $command --json" $command --json --errors "${operands[@]}"
done
for command in peek list disasm; do shown "cairn $command --json" $command --json remember_session "$dump"; done
shown 'cairn rss --json' rss --json "$dump"
shown 'cairn rss --json' rss --json $pid
shown 'cairn rss --group --json' rss --json --group $pid
shown 'cairn why --json' why --json "$dump"
shown 'cairn why --json' why --json $pid
shown 'cairn why --json' why --json --try trim --for 0 $pid
shown 'cairn why --json' why --json --compare default --rounds 2 -- true
shown 'cairn doctor --json' doctor --json "$dump"
shown 'cairn doctor --json' doctor --json $pid
shown 'cairn status --json' status --json $pid
shown 'cairn ps --json' ps --json
shown 'cairn ps --json' ps --json --tree
shown 'cairn cache --json' cache --json
"$cairn" watch --json --time 1s --folder "$scratch/dumps" $pid >"$scratch/watched" 2>"$scratch/err" &
watcher=$!
children+=($watcher)
twice() { [ "$(grep -c '"dump"' "$scratch/watched")" -ge 2 ]; }
wait_for 20 twice
kill -KILL $pid
wait $watcher
is "$(python3 "$scratch/documented.py" 'cairn watch --json' "$scratch/watched" 2>&1 | tail -n 1)" '' 'cairn watch --json, up to the last moment'
shown 'cairn dumps --json' dumps --json "$scratch/dumps"
like "$(cat "$scratch/json")" '*"last_moments":\[{"name"*"last_moment":true*' 'with a last moment'
last=$(ls "$scratch"/dumps/*last*.heap)
shown 'cairn top --json' top --json "$last"
shown 'cairn timeline --json' timeline --json --history "$scratch/dumps"
python3 tests/e2e/make-series.py "$scratch/series" grouped 1 24
shown 'cairn leaks --json' leaks --json --errors "$scratch/series"
shown 'cairn timeline --json' timeline --json --errors "$scratch/series"

# The fleet.
. tests/e2e/collector.sh
"$cairn" store init -q "$store"
collect || broken 'no collector'
sent=0
for instance in 1 2; do
	for release in healthy weighed; do
		python3 tests/e2e/make-series.py "$scratch/$release$instance" $release $instance 24
		for file in "$scratch/$release$instance"/*.heap "$last"; do
			post_all "service=api&version=$release&host=$release-$instance" "$file" || broken 'a snapshot was not accepted'
			sent=$((sent + 1))
		done
	done
done
wait_for 60 stored $sent
for question in services kills leaks 'diff --version healthy..weighed' bill timeline; do
	title='cairn fleet ... --json'
	[ "$question" != timeline ] || title='cairn timeline --json'
	shown "$title" fleet $question --service api --store "$store" --from 1789000000 --json
done
done_testing
