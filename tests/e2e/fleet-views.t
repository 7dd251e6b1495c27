#!/usr/bin/env bash
# The views of a store that are shaped like Coroot's tables, in SQLite.
. tests/e2e/lib.sh
need curl python3 gcc
. tests/e2e/collector.sh
. tests/e2e/views.sh
cluster=() folded=Stack
sql() { python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as database:
    for row in database.execute(sys.argv[2]): print("\t".join(map(str, row)))' "$scratch/fleet.db" "$1"; }
"$cairn" store init -q "$store"
check_views
is "$(sql "SELECT DISTINCT Labels FROM profiling_samples WHERE ServiceName = 'shown' ORDER BY Labels LIMIT 1")" 'instance=h1:4242&version=1&zone=a%20b%26c&pod=p1' 'labels are a query string'
sql "INSERT OR REPLACE INTO settings VALUES (6, 99)"
sql 'DROP VIEW profiling_stacks'
"$cairn" store init -q "$store"
is "$(sql "SELECT count(*) FROM sqlite_master WHERE name = 'profiling_stacks'")" 0 'views of a later version are left to it'
done_testing
