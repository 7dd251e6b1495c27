. tests/e2e/lib.sh
. tests/e2e/agent.sh
cd "$scratch"
${CC:-cc} -O1 -g -pthread "$root/examples/leaky/leaky.c" -o leaky -ljemalloc
MALLOC=prof:true,lg_prof_sample:14
python3 -c 'import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:])
print(child.pid, flush=True)
time.sleep(600)' env LD_PRELOAD="$library" MALLOC_CONF=$MALLOC CAIRN_CONF=dumps:$scratch/zombie,start:true ./leaky 60 >zombie.pid &
children+=($!)
date +%s; wait_for 20 sh -c 'ls zombie/*.heap' && kill -9 "$(cat zombie.pid)"; date +%s
wait_for 20 sh -c "grep -q . zombie.pid && grep -q '^State:.Z' /proc/\$(cat zombie.pid)/status"; echo $?
"$cairn" dumps zombie; cat zombie.pid; ps -o pid,stat,args | head
done_testing
