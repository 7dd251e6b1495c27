#!/usr/bin/env bash
# How often the verdict over instances is right: simulated fleets with fresh seeds, FLEETS (100) of each kind with INSTANCES (1000), by their courses as
# in a large store; and a fifth as many fleets of a tenth of the instances, each instance judged for itself.
. tests/bench/lib.sh
fleets=${FLEETS:-100} instances=${INSTANCES:-1000}
heading 'Verdicts over instances (simulated services, two releases, uneven load; tests/bench/fleet_leaks.c says what the kinds are)'
"$build/tests/fleet-leaks" "$fleets" "$instances"
"$build/tests/fleet-leaks" $(((fleets + 4) / 5)) $((instances / 10))
