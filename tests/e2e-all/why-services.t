#!/usr/bin/env bash
# cairn why on services: redis after most keys were deleted, Python after a large list of small objects, MariaDB after a storm of
# connections, a Rust service after a burst on glibc and on mimalloc, and a worker of nginx under load.
. tests/e2e/lib.sh
need cc python3 redis-server nginx mariadbd rustc
check() { # check EXPRESSION: of JSON in the file one, as j
	python3 -c "import json, sys; j = json.load(open(sys.argv[1])); print({k: j[k] for k in j if k.endswith('bytes') or k in ('cause', 'sentence')}); sys.exit(not ($1))" "$scratch/one"
}
redis-server --port 0 --unixsocket "$scratch/redis.sock" --save '' --appendonly no --dir "$scratch" >/dev/null 2>&1 &
redis=$!
children+=($redis)
wait_for 60 test -S "$scratch/redis.sock"
cat >"$scratch/load.py" <<'P'
import socket, sys, time
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
answers = connection.makefile("rb")
for word in (b"SET key:%d " + b"x" * 300, b"DEL key:%d"):
    for start in range(0, 300000, 2000):
        numbers = [i for i in range(start, start + 2000) if word.startswith(b"SET") or i % 10]
        connection.sendall(b"".join(word % i + b"\r\n" for i in numbers))
        for _ in numbers:
            answers.readline()
time.sleep(3) # its tables shrink, and it counts ten times a second
connection.sendall(b"MEMORY STATS\r\n")
# What redis knows of its allocator itself.
wanted, name = {b"allocator.allocated": 0, b"allocator.active": 0}, None
while not all(wanted.values()):
    line = answers.readline().strip()
    if name and line.startswith(b":"):
        wanted[name] = int(line[1:])
    name = line if line in wanted else None
print(wanted[b"allocator.allocated"], wanted[b"allocator.active"])
P
read -r allocated active < <(python3 "$scratch/load.py" "$scratch/redis.sock")
"$cairn" why --json $redis >"$scratch/one" 2>"$scratch/err"
holds "redis: memory that its few keys keep, as it says itself ($allocated of $active bytes)" check "j['cause'] == 'retention' and abs(j['live_bytes'] / $allocated - 1) < 0.05 and abs((j['pinned_bytes'] + j['live_bytes'] + j['cached_bytes']) / $active - 1) < 0.05"
cat >"$scratch/list.py" <<'P'
import time
objects = [str(i) * 3 for i in range(1500000)]
kept = objects[::50]
del objects
print("ready", flush=True)
time.sleep(1000)
P
python3 "$scratch/list.py" >"$scratch/ready" &
children+=($!)
wait_for 60 grep -q ready "$scratch/ready"
"$cairn" why --json ${children[-1]} >"$scratch/one" 2>"$scratch/err"
holds "Python: the arenas of its own allocator, which it maps itself" check 'j["cause"] == "mappings" and j["mapped_bytes"] > 0.7 * j["resident_bytes"]'
PYTHONMALLOC=malloc python3 "$scratch/list.py" >"$scratch/ready" &
children+=($!)
wait_for 60 grep -q ready "$scratch/ready"
"$cairn" why --json ${children[-1]} >"$scratch/one" 2>"$scratch/err"
holds 'and with malloc in its place: free memory of glibc' check 'j["cause"] == "retention" and j["pinned_bytes"] + j["returnable_bytes"] > 0.5 * j["resident_bytes"]'

# MariaDB counts what its threads hold itself. glibc is asked to return what is said to be returnable.
as_nobody=(setpriv --reuid nobody --regid nogroup --clear-groups)
chmod 755 "$scratch"
install -d -o nobody "$scratch/maria" "$scratch/work"
"${as_nobody[@]}" mariadb-install-db --no-defaults --datadir="$scratch/maria" --auth-root-authentication-method=normal >/dev/null 2>&1
"${as_nobody[@]}" mariadbd --no-defaults --datadir="$scratch/maria" --socket="$scratch/work/maria.sock" --skip-networking --max-connections=400 \
	--thread-cache-size=0 >"$scratch/maria.out" 2>&1 &
maria=$! storm=()
children+=($maria)
wait_for 60 mariadb -u root --socket="$scratch/work/maria.sock" -e 'select 1'
query() { mariadb -u root --socket="$scratch/work/maria.sock" -BN -e "$1"; }
# In each session a thousand small variables, which go with it.
{
	for i in $(seq 1000); do echo "set @v$i = repeat('x', 1000 + $i);"; done
	echo "do get_lock(concat('session ', connection_id()), 0), sleep(2);"
} >"$scratch/session.sql"
for _ in $(seq 100); do
	mariadb -u root --socket="$scratch/work/maria.sock" <"$scratch/session.sql" >/dev/null &
	storm+=($!)
done
wait "${storm[@]}"
alone() { [ "$(query 'select count(*) from information_schema.processlist where command <> "Daemon"')" = 1 ]; }
wait_for 60 alone
"$cairn" attach -q $maria >/dev/null 2>"$scratch/err"
"$cairn" why --json $maria >"$scratch/one" 2>"$scratch/err"
holds 'MariaDB: the arenas of threads whose connections have ended' check 'j["cause"] == "threads" and "free memory in the arenas of threads" in j["sentence"] and j["returnable_bytes"] > 5e7 and j["live_bytes"] < 5e7'
"$cairn" why --try trim --yes --for 0 --json $maria >"$scratch/one" 2>"$scratch/err"
holds 'and malloc_trim returns what was said' check 'abs(j["returned_bytes"] / j["predicted_bytes"] - 1) < 0.1'
kill $maria

# A burst of requests in threads, of which one in sixteen leaves an entry; the service knows what it holds.
cat >"$scratch/burst.rs" <<'R'
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

extern "C" {
    #[cfg(mimalloc)]
    fn mi_malloc_aligned(size: usize, alignment: usize) -> *mut u8;
    #[cfg(mimalloc)]
    fn mi_free(p: *mut u8);
}
struct Counting;
static HELD: AtomicUsize = AtomicUsize::new(0);
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        #[cfg(mimalloc)]
        return mi_malloc_aligned(layout.size(), layout.align());
        #[cfg(not(mimalloc))]
        System.alloc(layout)
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        #[cfg(mimalloc)]
        return mi_free(p);
        #[cfg(not(mimalloc))]
        System.dealloc(p, layout)
    }
}
#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn handle(number: usize) -> Vec<u8> {
    vec![b'x'; 600 + number * 7919 % 3000]
}

fn main() {
    let workers: Vec<_> = (0..4)
        .map(|worker| std::thread::spawn(move || {
            let all: Vec<Vec<u8>> = (0..20000).map(|i| handle(i * 4 + worker)).collect();
            all.into_iter().enumerate().filter(|(i, _)| i % 16 == 0).map(|(_, entry)| entry).collect::<Vec<_>>()
        }))
        .collect();
    let kept: Vec<_> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
    let _ = System;
    println!("{} {}", HELD.load(Ordering::Relaxed), kept.len());
    std::thread::park();
}
R
for allocator in glibc mimalloc; do
	libraries=()
	[ $allocator = glibc ] || libraries=(-l mimalloc)
	rustc -O -g --cfg $allocator -A warnings "${libraries[@]}" -o "$scratch/burst" "$scratch/burst.rs" || broken 'the Rust service does not build'
	"$scratch/burst" >"$scratch/ready" 2>"$scratch/err" &
	children+=($!)
	wait_for 60 grep -q ' 4$' "$scratch/ready"
	read -r held _ <"$scratch/ready"
	"$cairn" why --json ${children[-1]} >"$scratch/one" 2>"$scratch/err"
	holds "Rust on $allocator: free memory, beside the $held bytes that it holds" check \
		"j['cause'] == 'retention' and 'that $allocator keeps' in j['sentence'] and 1 <= j['live_bytes'] / $held < 1.15 and j['free_bytes'] + j['live_bytes'] > 0.9 * j['resident_bytes'] and j['pinned_bytes'] > 1e7"
done

# Requests whose bodies a worker of nginx has in buffers; then these connections end.
cat >"$scratch/nginx.conf" <<C
daemon off; worker_processes 1; pid $scratch/work/nginx.pid; error_log $scratch/nginx.log;
events { worker_connections 2000; } http { access_log off; client_body_temp_path $scratch/work/b; proxy_temp_path $scratch/work/p;
fastcgi_temp_path $scratch/work/f; uwsgi_temp_path $scratch/work/u; scgi_temp_path $scratch/work/s; client_body_buffer_size 64k;
server { listen unix:$scratch/nginx.sock; location / { proxy_pass http://127.0.0.1:1; } } }
C
nginx -c "$scratch/nginx.conf" 2>"$scratch/err" &
nginx=$!
children+=($nginx)
wait_for 60 test -S "$scratch/nginx.sock"
cat >"$scratch/bodies.py" <<'P'
import socket, sys
connections = []
for _ in range(800):
    one = socket.socket(socket.AF_UNIX)
    one.connect(sys.argv[1])
    one.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65000\r\n\r\n" + 64000 * b"x")
    connections.append(one)
print("sent", flush=True)
sys.stdin.readline()
for one in connections:
    one.close()
last = socket.socket(socket.AF_UNIX)
last.connect(sys.argv[1])
last.sendall(b"GET / HTTP/1.0\r\n\r\n")
last.recv(100)
print("closed", flush=True)
P
mkfifo "$scratch/go"
python3 "$scratch/bodies.py" "$scratch/nginx.sock" <"$scratch/go" >"$scratch/ready" &
children+=($!)
exec 4>"$scratch/go"
wait_for 60 grep -q sent "$scratch/ready"
worker=$(pgrep -P $nginx)
holding() { "$cairn" why --json "$worker" >"$scratch/one" 2>"$scratch/err" && check 'j["live_bytes"] > 5e7'; }
wait_for 60 holding
holds 'a worker of nginx: the buffers of its connections' check 'j["cause"] == "live" and j["live_bytes"] > 0.8 * j["resident_bytes"]'
echo >&4
wait_for 60 grep -q closed "$scratch/ready"
"$cairn" why --json "$worker" >"$scratch/one" 2>"$scratch/err"
holds 'and after they have ended it holds next to nothing' check 'j["live_bytes"] < 5e6 and j["cause"] in ("files", "retention")'
kill $nginx
done_testing
