#!/usr/bin/env bash
# So many instances that the store chooses the call paths that are looked at: the verdict is the one that looking at everything gives.
. tests/e2e/lib.sh
. tests/e2e/large.sh
need python3
database=$scratch/fleet.db store=sqlite:$database
"$cairn" store init -q "$store"
check_large sqlite "$database"
before=$(fleet leaks --service day --json | of_json "$growing[:1]")

# One instance alone: it is judged for itself, because it differs from the others of its release.
python3 - "$database" <<'P'
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
instance, = store.execute("SELECT instance FROM processes WHERE service = 'day' AND host = 'host-8'").fetchone()
stack, first = store.execute("SELECT min(stack) + 300, min(hour) FROM hourly WHERE instance = ?", (instance,)).fetchone()
store.execute("UPDATE hourly SET bytes = bytes + 8000000 * (hour - ?) WHERE instance = ? AND stack = ?", (first, instance, stack))
store.commit()
P
is "$(fleet leaks --service day --json | of_json "$growing")" "[('function_0', 30, 30, '2', True), ('function_300', 1, 30, '1', False)]" \
	'one instance of sixty that leaks'

# Tables of an earlier version have no hours, and of those that came since the last ones only: what was before is read from the snapshots.
python3 - "$database" <<'P'
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
store.execute("DELETE FROM hourly WHERE hour < (SELECT max(hour) - 2 FROM hourly)")
store.execute("UPDATE settings SET value = 2 WHERE setting = 1")
store.commit()
P
like "$(fleet leaks --service day 2>&1)" "*'cairn store init STORE' brings them up to date*" 'tables of the second version'
holds 'are brought up to date' "$cairn" store init -q "$store"
is "$(fleet leaks --service day --json | of_json "$growing[:1]")" "$before" 'and name the same leak first'
done_testing
