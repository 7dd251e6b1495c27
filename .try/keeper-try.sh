cd /work/wt/keeper; d=$(mktemp -d); gcc -O1 -g -pthread -o $d/truth /work/shared/accept/truth.c
build/cairn run -q --period 16K -- $d/truth $d/t leak 2 >/dev/null 2>&1 & run=$!
for _ in $(seq 50); do sleep 0.1; [ -s $d/t ] && break; done; sleep 0.3; pid=$(od -An -td8 -N8 $d/t | tr -d ' ')
mkdir $d/dumps
build/cairn watch --start false --grow 1T -o $d/dumps $pid >$d/watch.log 2>&1 & watch=$!
sleep 1.5; kill -9 $pid; wait $run; for _ in $(seq 50); do sleep 0.1; kill -0 $watch 2>/dev/null || break; done; kill $watch 2>/dev/null; wait $watch; echo code $?
cat $d/watch.log; ls -la $d/dumps; grep -a "# cairn" $d/dumps/*.heap | grep -v "cairn live\|cairn freed\|module" ; build/cairn dumps $d/dumps; build/cairn top $d/dumps | head; od -An -td8 -j64 -N8 $d/t
