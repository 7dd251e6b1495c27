#!/usr/bin/env bash
# The keeper's test with SIGKILL at 200 random moments.
KEEPER_ROUNDS=200 exec tests/e2e/keeper.t
