"""make-fleet.py send URL INSTANCES STACKS MINUTES: pushes snapshots of simulated instances to a collector, as fast as it takes them, and prints
seconds and snapshots. All instances run one program; a dump is one of 16 shapes, in which one stack of twenty changes from minute to minute.

make-fleet.py rows INSTANCES STACKS HOURS TENANT sqlite PATH | clickhouse URL: fills a store directly with whole snapshots, ten minutes apart;
stack 1 grows on the instances of release 2, which are every other one."""
import http.client, random, sqlite3, sys, threading, time, urllib.parse, urllib.request

PERIOD, START, SHAPES, STEP = 524288, 1_790_000_000, 16, 600


def shapes(stacks, minutes):
    """Dumps without their trailers, by shape and minute."""
    rng = random.Random(21)
    lines = ["@ " + " ".join(f"{0x400000 + rng.randrange(1 << 20):#x}" for _ in range(20)) for _ in range(stacks)]
    result = []
    for _ in range(SHAPES):
        counts, of_minute = [rng.randrange(1, 200) for _ in range(stacks)], []
        for _ in range(minutes):
            for k in rng.sample(range(stacks), stacks // 20):
                counts[k] = max(1, counts[k] + rng.choice((-2, -1, 1, 2)))
            body = "\n".join(f"{line}\n  t*: {n}: {n * 4096} [0: 0]" for line, n in zip(lines, counts))
            of_minute.append(f"heap_v2/{PERIOD}\n  t*: {sum(counts)}: {sum(counts) * 4096} [0: 0]\n{body}\n\nMAPPED_LIBRARIES:\n"
                             "00400000-00600000 r-xp 00000000 00:00 1 /srv/api\n# cairn trailer 1\n".encode())
        result.append(of_minute)
    return result


def send(url, instances, stacks, minutes):
    dumps, host = shapes(stacks, minutes), urllib.parse.urlparse(url).netloc
    begin, lock, failures = time.time(), threading.Lock(), []
    jobs = ((minute, instance) for minute in range(minutes) for instance in range(instances))

    def work():
        connection = http.client.HTTPConnection(host)
        while True:
            with lock:
                job = next(jobs, None)
            if job is None:
                return
            minute, instance = job
            tail = f"# cairn time {START + 60 * minute}.000000000\n# cairn pid {1000 + instance}\n# cairn start {START - 60}.000000000\n# cairn end\n"
            while True:
                connection.request("POST", f"/v1/snapshots?service=api&version={1 + instance % 2}&host=host-{instance}",
                                   dumps[instance % SHAPES][minute] + tail.encode())
                answer = connection.getresponse()
                answer.read()
                if answer.status == 202:
                    break
                failures.append(answer.status)
                time.sleep(0.2)

    threads = [threading.Thread(target=work) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    print(f"{time.time() - begin:.2f} {instances * minutes} {len(failures)}")


def tables(instances, stacks, hours, tenant):
    """Statements that both engines understand, apart from how numbers are counted: name, columns, and rows as tuples."""
    now = int(time.time()) // STEP * STEP
    times = [(now - STEP * (hours * 6 - 1 - k)) * 10**9 for k in range(hours * 6)]
    yield "frames", ((1 + k, "ab12", "/srv/api", k * 16, f"function_{k}\tapi.c\t{k}\t1\n", 0, now * 10**9) for k in range(stacks + 1))
    yield "stacks", ((1 + k, [1 + k, stacks + 1], now * 10**9) for k in range(stacks))
    yield "processes", ((1 + i, tenant, "big", str(1 + i % 2), f"host-{i}", 1000 + i, "/srv/api", "ab12", times[0] - 10**9, "", now * 10**9) for i in range(instances))
    rng = random.Random(7)
    noise = [1 + rng.gauss(0, 0.02) for _ in range(4096)]

    def samples():
        for i in range(instances):
            for t, at in enumerate(times):
                for k in range(stacks):
                    size = (20e6 + 1e6 * (k * 37 % 50)) * noise[(i * 131 + t * 17 + k * 7) % 4096]
                    if k == 0 and i % 2 == 1:
                        size += 2e6 * t
                    yield 1 + i, at, 1 + k, size, size / 4096, size / PERIOD, 0.0, 0.0

    yield "samples", samples()
    yield "snapshots", ((1 + i, at, 40e6 * stacks, 50e6 * stacks, 0.0, 0, float(PERIOD), 2, 0, "", 0) for i in range(instances) for at in times)


def fill(instances, stacks, hours, tenant, engine, place):
    count = 0
    if engine == "sqlite":
        store = sqlite3.connect(place)
        for name, rows in tables(instances, stacks, hours, tenant):
            rows = ((row[0], b"".join(x.to_bytes(8, "little") for x in row[1]), *row[2:]) for row in rows) if name == "stacks" else rows
            first = next(rows)
            store.execute(f"INSERT INTO {name} VALUES ({','.join('?' * len(first))})", first)
            store.executemany(f"INSERT INTO {name} VALUES ({','.join('?' * len(first))})", rows)
        store.commit()
        return
    for name, rows in tables(instances, stacks, hours, tenant):
        batch = []

        def flush():
            if batch:
                urllib.request.urlopen(f"{place}&query=" + urllib.parse.quote(f"INSERT INTO {name} FORMAT TabSeparated"), "".join(batch).encode()).read()
            batch.clear()

        for row in rows:
            batch.append("\t".join(str(x).replace("\t", "\\t").replace("\n", "\\n") for x in row) + "\n")
            count += 1
            if len(batch) == 500000:
                flush()
        flush()


if sys.argv[1] == "send":
    send(sys.argv[2], *map(int, sys.argv[3:6]))
else:
    fill(*map(int, sys.argv[2:6]), *sys.argv[6:8])
