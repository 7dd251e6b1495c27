#!/usr/bin/env bash
# How often verdicts, rates, forecasts and intervals are right, on simulated services with fresh seeds; SEEDS (200) of each kind.
. tests/bench/lib.sh
heading 'Statistics (simulated services, sampled by jemalloc'"'"'s rule; doc/statistics.md says what the kinds are)'
"$build/tests/statistics" "${SEEDS:-200}"
heading 'Intervals (95 %; how often they hold the truth)'
"$build/tests/intervals" "${SEEDS:-200}"
heading 'Verdicts from one dump (simulated services, sampled by Cairn'"'"'s own engine)'
"$build/tests/ages" "${SEEDS:-200}"
