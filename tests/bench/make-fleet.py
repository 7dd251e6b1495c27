"""make-fleet.py send URL INSTANCES STACKS MINUTES: pushes snapshots of simulated instances to a collector, as fast as it takes them, and prints
seconds, snapshots, how many were refused and had to be sent again, and the mean size of one. All instances run one program; a dump is one of
16 shapes, in which one stack of twenty changes from minute to minute. Dumps travel compressed, as `cairn watch` sends them.

make-fleet.py rows SERVICE INSTANCES STACKS HOURS STEP sqlite PATH | clickhouse URL [samples]: fills a store with what SERVICE left there: whole
snapshots STEP seconds apart, and what each stack held each hour. Function 0 grows by 2 MB an hour on the instances of release 2, which are every other
one, for a load of 1; loads are from 1 to 2.8. The table `samples` is filled only where that is asked for: the verdict over many instances and hours
does not read it. $FLEET_NOW is the end of the time, for stores that have to be alike."""
import gzip, hashlib, http.client, os, random, sqlite3, sys, threading, time, urllib.parse, urllib.request

PERIOD, START, SHAPES, HOUR, DEPTH = 524288, 1_790_000_000, 16, 3600, 12


def shapes(stacks, minutes):
    """Dumps without the end of their trailers, compressed, by shape and minute."""
    rng = random.Random(21)
    # Stacks are a tree of twenty levels: each call is made from two places, so that there are twice as many places as stacks.
    places = [[0x400000 + rng.randrange(1 << 20) for _ in range(0, stacks, 1 << min(level, 20))] for level in range(20)]
    lines = ["@ " + " ".join(f"{places[level][k >> level]:#x}" for level in range(20)) for k in range(stacks)]
    result = []
    for _ in range(SHAPES):
        counts, of_minute = [rng.randrange(1, 200) for _ in range(stacks)], []
        for _ in range(minutes):
            for k in rng.sample(range(stacks), stacks // 20):
                counts[k] = max(1, counts[k] + rng.choice((-2, -1, 1, 2)))
            body = "\n".join(f"{line}\n  t*: {n}: {n * 4096} [0: 0]" for line, n in zip(lines, counts))
            of_minute.append(gzip.compress(f"heap_v2/{PERIOD}\n  t*: {sum(counts)}: {sum(counts) * 4096} [0: 0]\n{body}\n\nMAPPED_LIBRARIES:\n"
                                           "00400000-00600000 r-xp 00000000 00:00 1 /srv/api\n# cairn trailer 1\n".encode(), 1))
        result.append(of_minute)
    return result


def send(url, instances, stacks, minutes):
    dumps, host = shapes(stacks, minutes), urllib.parse.urlparse(url).netloc
    begin, lock, failures, sizes = time.time(), threading.Lock(), [], [0]
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
            body = dumps[instance % SHAPES][minute] + gzip.compress(tail.encode(), 1)
            sizes[0] += len(body)
            while True:
                connection.request("POST", f"/v1/snapshots?service=api&version={1 + instance % 2}&host=host-{instance}", body)
                answer = connection.getresponse()
                answer.read()
                if answer.status == 202:
                    break
                failures.append(answer.status)
                time.sleep(0.2)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    print(f"{time.time() - begin:.2f} {instances * minutes} {len(failures)} {sizes[0] / instances / minutes:.0f}")


def number(seed, text):
    """As the store numbers things (src/store/rows.c)."""
    return int.from_bytes(hashlib.sha256(seed.to_bytes(8, "little") + text).digest()[:8], "little") & (1 << 63) - 1


def tables(service, instances, stacks, hours, step):
    """The small tables, name and rows as tuples; and what their numbers begin with, those of the releases, and the times."""
    tenant = number(1, b"")
    of_service = number(number(3, tenant.to_bytes(8, "little")), service.encode())
    cohorts = [number(of_service, version) for version in (b"1", b"2")]
    base, first = number(5, service.encode()) >> 20, int(os.environ.get("FLEET_NOW") or time.time()) - 5 - HOUR * hours
    times = range(first, first + HOUR * hours + 1, step)
    used = times[-1] * 10**9
    frames = [(base + (level << 20) + (k >> level), "ab12", "/srv/api", (level << 20) + (k >> level) * 16, f"function_{k}\tapi.c\t{k}\t1\n"
               if level == 0 else f"caller_{level}_{k >> level}\tapi.c\t{k}\t1\n", 0, used) for level in range(DEPTH) for k in range(0, stacks, 1 << level)]
    small = [
        ("frames", frames),
        ("stacks", [(base + k, [base + (level << 20) + (k >> level) for level in range(DEPTH)], used) for k in range(stacks)]),
        ("processes", [(base + i, tenant, service, str(1 + i % 2), f"host-{i}", 1000 + i, "/srv/api", "ab12", (first - 1) * 10**9, "", used)
                       for i in range(instances)]),
        ("snapshots", ((base + i, at * 10**9, 40e6 * stacks, 50e6 * stacks, 0.0, 0, float(PERIOD), 2, 0, "", 0, 0, 0, 0)
                       for i in range(instances) for at in times)),
    ]
    return small, base, cohorts, times


def value(i, k, t, hours, whole):
    """What stack K of instance I holds at time T, after HOURS, as an expression that both engines compute alike; WHOLE cuts a fraction off."""
    load = f"(1 + ({i} * 7 % 10) / 5.0)"
    noise = f"(0.95 + 0.1 * (({i} * 131 + {t} * 17 + {k} * 7) * 2654435761 % 4294967296) / 4294967296.0)"
    held = whole(f"(20000000 + 1000000 * ({k} * 37 % 50)) * {load} * {noise}")
    return f"{held} + (CASE WHEN {k} = 0 AND {i} % 2 = 1 THEN {whole(f'{2000000 * hours:.0f} * {load}')} ELSE 0 END)"


def total(i, whole):
    """What instance I holds, about."""
    return whole(f"45000000000 * (1 + ({i} * 7 % 10) / 5.0)")


def columns(times, base, cohort, instance, stack, k, whole, with_samples):
    """What to insert, time by time: a table and the columns of a row of it."""
    for t, at in enumerate(times):
        held = value(instance, k, t, (at - times[0]) / HOUR, whole)
        if t == 0 or at // HOUR != times[t - 1] // HOUR:
            yield "hourly", f"{base} + {instance}, {cohort}, {at // HOUR}, {stack}, {at * 10**9}, {held}, {total(instance, whole)}, 4096.0"
        if with_samples:
            yield "samples", f"{base} + {instance}, {at * 10**9}, {stack}, {held}, ({held}) / 4096.0, ({held}) / {PERIOD}.0, 0.0, 0.0"


def fill_sqlite(path, small, base, cohorts, times, instances, stacks, with_samples):
    store = sqlite3.connect(path)
    for name, rows in small:
        for row in rows:
            row = (row[0], b"".join(x.to_bytes(8, "little") for x in row[1]), row[2]) if name == "stacks" else row
            store.execute(f"INSERT INTO {name} VALUES ({','.join('?' * len(row))})", row)
    for release, cohort in enumerate(cohorts):
        for table, row in columns(times, base, cohort, "i", f"{base} + k", "k", lambda x: f"CAST({x} AS INTEGER)", with_samples):
            store.execute(f"""WITH RECURSIVE stack(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM stack WHERE k < {stacks - 1}),
place(i) AS (SELECT {release} UNION ALL SELECT i + 2 FROM place WHERE i < {instances - 2})
INSERT INTO {table} SELECT {row} FROM stack, place""")
    store.commit()


def fill_clickhouse(url, small, base, cohorts, times, instances, stacks, with_samples):
    def ask(statement, data=None):
        urllib.request.urlopen(f"{url}&query=" + urllib.parse.quote(statement) if data else url, data or statement.encode()).read()

    for name, rows in small:
        batch = []
        for row in rows:
            batch.append("\t".join(str(x).replace("\t", "\\t").replace("\n", "\\n") for x in row) + "\n")
            if len(batch) == 200000:
                ask(f"INSERT INTO {name} FORMAT TabSeparated", "".join(batch).encode())
                batch.clear()
        if batch:
            ask(f"INSERT INTO {name} FORMAT TabSeparated", "".join(batch).encode())
    half = instances // 2
    for release, cohort in enumerate(cohorts):
        i, k = f"(number % {half} * 2 + {release})", f"intDiv(number, {half})"
        for table, row in columns(times, base, cohort, i, f"{base} + {k}", k, lambda x: f"toUInt64({x})", with_samples):
            ask(f"INSERT INTO {table} SELECT {row} FROM numbers({half * stacks})")


if sys.argv[1] == "send":
    send(sys.argv[2], *map(int, sys.argv[3:6]))
else:
    instances, stacks, hours, step = map(int, sys.argv[3:7])
    fill = fill_sqlite if sys.argv[7] == "sqlite" else fill_clickhouse
    fill(sys.argv[8], *tables(sys.argv[2], instances, stacks, hours, step), instances, stacks, "samples" in sys.argv[9:])
