#!/usr/bin/env bash
# How often the verdict over instances is right: simulated fleets with fresh seeds, FLEETS (100) of each kind: of INSTANCES (1000) for a planted leak
# and for none, of a tenth of that for all kinds.
. tests/bench/lib.sh
fleets=${FLEETS:-100} instances=${INSTANCES:-1000}
heading 'Verdicts over instances (simulated services, two releases, uneven load; tests/bench/fleet_leaks.c says what the kinds are)'
"$build/tests/fleet-leaks" "$fleets" $((instances / 10))
for kind in 'a leak of 2 MB/h' 'no leak'; do "$build/tests/fleet-leaks" "$fleets" "$instances" - "$kind"; done
