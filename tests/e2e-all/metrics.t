#!/usr/bin/env bash
# /metrics in the eyes of Prometheus, of a service with and without anything to show.
. tests/e2e/lib.sh
need redis-server curl python3 promtool
. tests/e2e/agent.sh

start_redis sampled
load "$port_sampled"
has_samples "$url_sampled" "it is sampled"
MALLOC=prof:false start_redis bare
for url in "$url_sampled" "$url_bare"; do
	curl -s "$url/metrics" >"$scratch/metrics"
	promtool check metrics <"$scratch/metrics" >"$scratch/complaints" 2>&1
	ok $? "promtool accepts $(grep -vc '^#' "$scratch/metrics") metrics"
	sed 's/^/#   /' "$scratch/complaints"
done
done_testing
