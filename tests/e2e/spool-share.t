#!/usr/bin/env bash
# A collector whose store is away: one tenant fills the spool only up to its share, also across a restart, and the others can still send.
. tests/e2e/lib.sh
. tests/e2e/collector.sh
need curl
printf 'tok-a alpha\ntok-b beta\ntok-c gamma\n' >"$scratch/tokens"
store=clickhouse://127.0.0.1:9/none
{
	printf 'heap_v2/1\n  t*: 1: 1 [0: 0]\n'
	for i in $(seq 1000); do printf '@ 0x%x 0x1 0x2 0x3\n  t*: 1: 1 [0: 0]\n' "$i"; done
} >"$scratch/dump"
# send_as TOKEN SERVICE: the status of a snapshot
send_as() { status -H "Authorization: Bearer $1" --data-binary "@$scratch/dump" "$url/v1/snapshots?service=$2"; }
# fill TOKEN: sends until one is refused; prints how many were accepted, and the status of the last
fill() {
	local accepted=0 code
	while code=$(send_as "$1" x) && [ "$code" = 202 ] && [ "$accepted" -lt 100 ]; do accepted=$((accepted + 1)); done
	echo "$accepted $code"
}
size=$(wc -c <"$scratch/dump")
collect --spool-bytes $((size * 13)) --tokens "$scratch/tokens" || broken 'no collector'
is "$(fill tok-a)" '6 429' 'the first tenant has half of the spool, and then is told to wait'
like "$(cat "$scratch/answer")" '*this tenant has its share of the spool*try again later*' 'with the reason'
is "$(fill tok-b)" '3 429' 'the second has half of the rest'
stop
collect --spool-bytes $((size * 13)) --tokens "$scratch/tokens" || broken 'no collector'
is "$(send_as tok-a x) $(send_as tok-b x)" '429 429' 'a restart does not forget whose the snapshots are'
is "$(send_as tok-c x)" '202' 'and the third can send'
stop
rm -r "$spool"
printf 'tok-a alpha\ntok-b alpha\n' >"$scratch/tokens"
collect --spool-bytes $((size * 13)) --tokens "$scratch/tokens" || broken 'no collector'
is "$(fill tok-a)" '12 503' 'a tenant alone has all of it'
stop
done_testing
