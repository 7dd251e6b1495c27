"""make-series.py FOLDER KIND SEED [DUMPS [SECONDS]]: a series of heap_v2 dumps with known truth, one every 10 minutes or so many seconds. An
object that is sampled stays so from dump to dump, as it does in a real process, and one in twenty objects is replaced between two dumps.

KIND is leak (one, beside a cache that fills, a sawtooth and steady paths), two-leaks, noise (steady paths only), restart (the leak over two
processes), weighed (the leak, with trailers that say what the process weighed and might weigh), grouped (the same, in a cgroup), healthy (as
weighed, without the leak), empty (as weighed, but sampling is off). The leak is
at 0x1000 and grows 36 MB an hour, the second one at 0x4000 and 24; the cache is at 0x2000, the sawtooth at 0x3000."""
import math, os, random, sys

folder, kind, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
count = int(sys.argv[4]) if len(sys.argv) > 4 else 24
random.seed(f"{kind} {seed}")
os.makedirs(folder, exist_ok=True)
PERIOD, START, STEP = 524288, 1_790_000_000, int(sys.argv[5]) if len(sys.argv) > 5 else 600


def hits(tries, p):
    """How many of so many tries succeed."""
    mean = tries * p
    return min(tries, max(0, round(random.gauss(mean, math.sqrt(mean * (1 - p)))))) if mean > 50 else sum(random.random() < p for _ in range(tries))


state = {}


def sampled(address, live, size, start):
    """How many samples the path at ADDRESS has, which holds so many bytes in objects of one size."""
    p, n = -math.expm1(-size / PERIOD), int(live // size)
    objects, seen = (0, 0) if start else state[address]
    gone = objects // 20 if n >= objects else objects - n
    seen -= hits(seen, gone / objects) if gone else 0
    seen += hits(n - (objects - gone), p)
    state[address] = n, seen
    return seen


paths = {0x10000 + 0x100 * k: (lambda i, b=random.uniform(5e6, 80e6): b, random.choice((4096, 16384, 65536))) for k in range(40)}
if kind not in ("noise", "healthy"):
    paths[0x1000] = (lambda i: 200e6 + 6e6 * i, 4096)
if kind != "noise":
    paths[0x2000] = (lambda i: 900e6 * (1 - math.exp(-i / 3)), 8192)
    paths[0x3000] = (lambda i: 300e6 + 200e6 * ((i % 4) / 3), 4096)
if kind == "two-leaks":
    paths[0x4000] = (lambda i: 100e6 + 4e6 * i, 16384)
for i in range(count):
    second = kind == "restart" and i >= count // 2
    pid, age = (5151, i - count // 2) if second else (4242, i)
    rows = [(a, size, sampled(a, f(age), size, age == 0)) for a, (f, size) in paths.items() if kind != "empty"]
    total, live = sum(n for _, _, n in rows), sum(n * size for _, size, n in rows)
    path = os.path.join(folder, f"svc.{pid}.{age}.m{age}.heap")
    with open(path, "w") as out:
        out.write(f"heap_v2/{PERIOD}\n  t*: {total}: {live} [0: 0]\n  t0: {total}: {live} [0: 0]\n")
        for a, size, n in rows:
            if n:
                out.write(f"@ {a:#x} 0xf000\n  t*: {n}: {n * size} [0: 0]\n  t0: {n}: {n * size} [0: 0]\n")
        out.write("\nMAPPED_LIBRARIES:\n")
        if kind in ("weighed", "grouped", "healthy", "empty"):
            weight = int(1.25 * sum(f(age) for f, _ in paths.values()))
            out.write(f"7f0000000000-7f0000001000 r-xp 00000000 00:00 1 /srv/svc\n# cairn trailer 1\n# cairn time {START + STEP * i}.000000000\n# cairn pid {pid}\n# cairn start {START - 60}.000000000\n"
                      f"# cairn smaps.rss {weight}\n# cairn limit {5 << 30}\n")
            out.write("# cairn group.usage 1000000\n# cairn end\n" if kind == "grouped" else "# cairn end\n")
    os.utime(path, (START + STEP * i,) * 2)
