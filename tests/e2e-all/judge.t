#!/usr/bin/env bash
# The live page and `cairn leaks PID` say the same sentence at the same moment, raise no false alarm, and find leaks in time: six services
# for three minutes. doc/statistics.md has what more of them showed.
. tests/e2e/lib.sh
need cc python3
cc -O1 -g -w tests/e2e-all/judge-host.c -o "$scratch/host" -lm || broken 'the test host builds'
here=$PWD
cd "$scratch" || exit 1
python3 "$here/tests/e2e-all/judge.py" "$cairn" "$library" "$scratch/host" 180 1 leak percent double batch queue none >table 2>err
status=$?
sed 's/^/# /' table err
is $status 0 'the page and the command agree, without a false alarm, and find the leaks'
done_testing
