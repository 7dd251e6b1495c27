#!/usr/bin/env bash
# The keeper's test with SIGKILL at many random moments: 40, or KEEPER_ROUNDS. The promise is 200.
KEEPER_ROUNDS=${KEEPER_ROUNDS:-40} exec tests/e2e/keeper.t
