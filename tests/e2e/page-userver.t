#!/usr/bin/env bash
# userver's "Memory profiling a production service", step by step, against redis-server, which runs on jemalloc as userver's services
# do; server::handlers::Jemalloc is the preloaded agent.
. tests/e2e/lib.sh
need redis-server redis-cli redis-benchmark curl python3
. tests/e2e/page.sh
follow 004
mkdir tmp build build/services build/samples
program=$(readlink -f "$(command -v redis-server)")
for name in build/services/userver-sample build/samples/userver-sample; do ln -s "$program" "$name"; done
export XDG_RUNTIME_DIR=$scratch
dumps=$scratch/page/tmp

# The page names the variable, then says "start your service". Sets $pid and the ports, and makes some work.
service_starts() {
	monitor=$(free_port) redis=$(free_port)
	says "$1"
	(eval "export $(sed "s|/tmp/|$dumps/|" <<<"$1")" && LD_PRELOAD=$library CAIRN_TOOL=$cairn CAIRN_CONF=listen:127.0.0.1:$monitor \
		exec build/services/userver-sample --port "$redis" --save '' --dir "$scratch" >"$scratch/service.log" 2>&1) &
	pid=$!
	children+=("$pid")
	says 'Start your service'
	wait_for 20 redis-cli -p "$redis" ping && answers "localhost:$monitor/cairn/status"
	is "$?" 0 "the service starts with $1"
	here=("s/localhost:1188/localhost:$monitor/")
}
work() { timeout 60 redis-benchmark -p "$redis" -n 20000 -r 100000 -d 200 -t set,lpush -q >/dev/null; }
stop() { kill "$pid"; wait "$pid" 2>/dev/null; }
# The page shows what each command answers in the line behind it.
page_answers() {
	page "$1"
	local shown=${text#*$'\n'}
	is "$said" "$(sed 's/^ *//; q' <<<"$shown" | sed "s/^prof/  prof/")" "$1: $(sed 's/^ *//; q' <<<"$shown")"
}

# A running service.
says '## How to profile a running service'
service_starts 'MALLOC_CONF="prof:true,prof_active:false,lg_prof_sample:14,prof_prefix:/tmp/jeprof-SERVICE"'
page_answers 'curl -X POST localhost:1188/service/jemalloc/prof/enable'
page_answers "curl -s -X POST localhost:1188/service/jemalloc/prof/stat | grep ' prof.active:'"
work
page_answers 'curl -X POST localhost:1188/service/jemalloc/prof/dump'
dump=$(ls "$dumps"/jeprof-SERVICE.*.heap)
like "$dump" "$dumps/jeprof-SERVICE.$pid.*.m*.heap" 'the dump is where prof_prefix says'
page_answers 'curl -X POST localhost:1188/service/jemalloc/prof/disable'
page_answers "curl -s -X POST localhost:1188/service/jemalloc/prof/stat | grep ' prof.active:'"
stop

# From the start.
says '## How to profile at service start'
service_starts 'MALLOC_CONF="prof:true,prof_active:true,lg_prof_sample:14,prof_prefix:/tmp/jeprof-SERVICE"'
page_answers "curl -s -X POST localhost:1188/service/jemalloc/prof/stat | grep ' prof.active:'"
work
page_answers 'curl -X POST localhost:1188/service/jemalloc/prof/dump'
dump=$(ls "$dumps/jeprof-SERVICE.$pid".*.heap)
like "$dump" "$dumps/jeprof-SERVICE.$pid.*.m*.heap" 'the dump is where prof_prefix says'
page_answers 'curl -X POST localhost:1188/service/jemalloc/prof/disable'
page_answers "curl -s -X POST localhost:1188/service/jemalloc/prof/stat | grep ' prof.active:'"
stop

# The dump. No jeprof is installed: ours is on PATH. Nobody looks at the PDF here, so gnome-open is left out.
says '## How to analyse the dump'
says 'apt install libjemalloc-dev'
here=("s|/tmp/jeprof.5503.1.m1.heap|$dump|")
page_pdf 'jeprof --show_bytes --pdf build/services/userver-sample /tmp/jeprof.5503.1.m1.heap> prof.pdf' prof.pdf
page 'jeprof --show_bytes --text --cum build/samples/userver-sample /tmp/jeprof.5503.1.m1.heap'
like "$(cat "$scratch/errors")" "Using local file build/samples/userver-sample.
Using local file $dump.*" "$name: it says which files it uses"
like "$said" 'Total: [0-9]* B*%*%*%*main*' 'and prints the top'

# FAQ: the one error it has. The answer begins as the page says; what follows is the reason, which the page has to explain.
says '`mallctl() returned error: '
says 'directory specified in `prof_prefix`'
text='MALLOC_CONF="prof:true,prof_prefix:/tmp/nowhere/jeprof-SERVICE" Start your service'
service_starts 'MALLOC_CONF="prof:true,prof_prefix:/tmp/nowhere/jeprof-SERVICE"'
said=$(curl -s -X POST "localhost:$monitor/service/jemalloc/prof/dump")
like "$said" "mallctl() returned error: *$dumps/nowhere does not exist*" 'where the folder of prof_prefix is missing, the answer names it'
mkdir "$dumps/nowhere"
is "$(curl -s -X POST "localhost:$monitor/service/jemalloc/prof/dump")" OK "and the page's answer helps: the folder is made"
stop

# The page's variable in a service without jemalloc, which Cairn's own engine profiles: it means the same.
${CC:-cc} -O2 -g "$root/tests/hosts/steady.c" -o steady || broken 'the service builds'
without_jemalloc() { # without_jemalloc true|false: with prof_active so
	monitor=$(free_port)
	rm -f ready
	MALLOC_CONF=prof:true,prof_active:$1,lg_prof_sample:14,prof_prefix:$dumps/jeprof-SERVICE LD_PRELOAD=$library CAIRN_TOOL=$cairn \
		CAIRN_CONF=listen:127.0.0.1:$monitor ./steady ready &
	pid=$!
	children+=("$pid")
	wait_for 20 test -s ready && answers "localhost:$monitor/cairn/status"
}
active() { curl -s -X POST "localhost:$monitor/service/jemalloc/prof/stat" | grep ' prof.active:'; }
without_jemalloc false
is "$(active)" '  prof.active: false' 'without jemalloc: prof_active:false leaves it off'
is "$(curl -s -X POST "localhost:$monitor/service/jemalloc/prof/enable") $(active)" 'OK   prof.active: true' 'until it is enabled'
stop
without_jemalloc true
is "$(active)" '  prof.active: true' 'without jemalloc: prof_active:true is on from the start'
is "$(curl -s -X POST "localhost:$monitor/service/jemalloc/prof/dump")" OK 'a dump'
dump=$(ls "$dumps/jeprof-SERVICE.$pid".*.heap)
like "$dump" "$dumps/jeprof-SERVICE.$pid.*.m*.heap" 'is where prof_prefix says'
is "$(sed -n 's/^# cairn period //p' "$dump")" 16384 'and its period is that of lg_prof_sample'
done_testing
