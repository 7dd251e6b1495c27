#!/usr/bin/env bash
# The dashboard and the alert rules in data/ use only metrics that the agent, the collector and the page really have.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
. tests/e2e/collector.sh
need curl python3 redis-server
MALLOC=prof:true start_redis jemalloc || broken 'redis does not start'
CONF=enable_heap_profiling:true,engine:cairn MALLOC=prof:false start_redis ledger || broken 'redis does not start'
"$cairn" store init -q "$store"
collect || broken 'no collector'
python3 tests/e2e/make-series.py "$scratch/dumps" grouped 1 12
sed -i 's/^# cairn limit .*/# cairn limit 5368709120/' "$scratch"/dumps/*.heap
post_all 'service=api%22%5C%0a&version=1&host=h1' "$scratch"/dumps/*.heap || broken 'a snapshot was not accepted'
last=$(ls -v "$scratch"/dumps/*.heap | tail -n 1)
at=$(sed -n 's/^# cairn time \([0-9]*\).*/\1/p' "$last")
sed "s/^# cairn time .*/# cairn time $((at + 600)).000000000/; s/^# cairn end\$/# cairn ended killed by signal 9\n# cairn end/; s/^# cairn pid .*/# cairn pid 77/" "$last" >"$scratch/killed.heap"
post_all 'service=gone&version=1&host=h2' "$scratch/killed.heap" || broken 'a snapshot was not accepted'
wait_for 60 emptied
port=$(free_port)
"$cairn" serve --no-token --store "$store" --keep 1000d --every 1s --listen "127.0.0.1:$port" >"$scratch/serve.log" 2>&1 &
children+=("$!")
page=http://127.0.0.1:$port
judged() { [ "$(curl -s "$page/metrics" | grep -c '^cairn_serve_live_bytes')" = 4 ] && curl -s "$page/metrics" | grep -q '^cairn_serve_limit_seconds'; }
wait_for 60 judged
ok $? 'the page has metrics of services and instances'
curl -s "$page/metrics" >"$scratch/page.metrics"
like "$(curl -s -o "$scratch/out" -w '%{content_type}' "$page/metrics")" 'text/plain; version=0.0.4*' 'as Prometheus wants them'
is "$(grep -c '^cairn_serve_growth_bytes_per_hour{kind="service",process="api[^"]*",program="api\\"\\\\[^"]*",host=""} [1-9]' "$scratch/page.metrics")" 1 'growth of a service, whose name is escaped'
is "$(awk '/^cairn_serve_killed/ { sum += $NF } END { print sum + 0 }' "$scratch/page.metrics")" 1 'one process was killed'
is "$(grep -c '^cairn_serve_limit_seconds{kind="process"' "$scratch/page.metrics")" 1 'when an instance reaches its limit'
for pid in "$pid_jemalloc" "$pid_ledger"; do
	curl -s --unix-socket "$sockets/$pid.sock" http://localhost/metrics
done >"$scratch/agent.metrics"
curl -s "$url/metrics" >"$scratch/collector.metrics"
python3 - "$scratch" <<'P' >"$scratch/unknown"
import json, re, sys
known = set()
for name in ("page", "agent", "collector"):
    known |= {re.match(r"[a-z_:]+", l).group() for l in open(f"{sys.argv[1]}/{name}.metrics") if re.match("[a-z]", l)}
    known |= {l.split()[2] for l in open(f"{sys.argv[1]}/{name}.metrics") if l.startswith("# TYPE")}
rules = "\n".join(l.split("expr:", 1)[1] for l in open("data/prometheus/cairn.rules.yml") if "expr:" in l)
board = json.load(open("data/grafana/cairn-fleet.json"))
exprs = [t["expr"] for p in board["panels"] for t in p["targets"] if "expr" in t] + [v["query"]["query"] for v in board["templating"]["list"] if v["type"] == "query"]
named = set(re.findall(r"\b(?:cairn|sys_jemalloc)_[a-z_]+", rules + "\n".join(exprs)))
print(len(named) >= 12, sorted(named - known))
P
is "$(cat "$scratch/unknown")" 'True []' 'every metric of the dashboard and the rules is one of them'
is "$(python3 -c 'import json; b = json.load(open("data/grafana/cairn-fleet.json")); print(len({p["id"] for p in b["panels"]}) == len(b["panels"]) > 8)')" True 'panels have numbers of their own'
if command -v promtool >/dev/null; then
	holds 'promtool finds nothing wrong with the rules' promtool check rules data/prometheus/cairn.rules.yml
	promtool check metrics <"$scratch/page.metrics" >"$scratch/lint" 2>&1
	is "$(grep -v 'metric names should\|no help\|counter\|unit' "$scratch/lint")" '' 'nor with the metrics'
fi
done_testing
