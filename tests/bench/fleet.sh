#!/usr/bin/env bash
# How often the verdict over instances is right: simulated fleets of INSTANCES (1000), FLEETS (5) of each kind, fresh seeds.
. tests/bench/lib.sh
heading 'Verdicts over instances (simulated services, two releases, uneven load; tests/bench/fleet_leaks.c says what the kinds are)'
"$build/tests/fleet-leaks" "${FLEETS:-5}" "${INSTANCES:-1000}"
