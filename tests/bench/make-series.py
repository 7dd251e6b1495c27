"""make-series.py FOLDER DUMPS STACKS DEPTH PROGRAM: many dumps of one process, ten minutes apart: the stacks share prefixes as real ones do, their samples
persist from dump to dump, one in ten changes a little, and three grow all the time. Addresses are of PROGRAM's functions."""
import os, random, subprocess, sys

folder, dumps, stacks, depth, program = sys.argv[1], *map(int, sys.argv[2:5]), os.path.abspath(sys.argv[5])
random.seed(1)
os.makedirs(folder, exist_ok=True)
base, size, period, start = 0x555555554000, 0x100000, 524288, 1_790_000_000
symbols = subprocess.run(["nm", "-n", "--defined-only", program], capture_output=True, text=True).stdout.splitlines()
known = [int(line.split()[0], 16) for line in symbols if line.split()[1] in "tT"]
places = [base + a + random.randrange(1, 12) for a in known for _ in range(1 + 3000 // len(known))]
chains = [[random.choice(places) for _ in range(depth)] for _ in range(200)]
rows = []
for _ in range(stacks):
    chain, own = random.choice(chains), random.randrange(4, depth)
    addresses = [random.choice(places) for _ in range(own)] + chain[own:]
    rows.append(["@" + "".join(f" {a:#x}" for a in addresses), random.randrange(1, 50), random.choice((16, 48, 160, 1024, 4096))])
for dump in range(dumps):
    for row in random.sample(rows, stacks // 10):
        row[1] = max(0, row[1] + random.choice((-2, -1, 1, 2)))
    for row in rows[:3]:
        row[1] += 2
    total, live = sum(r[1] for r in rows), sum(r[1] * r[2] for r in rows)
    path = os.path.join(folder, f"svc.4242.{dump}.m{dump}.heap")
    with open(path, "w") as out:
        out.write(f"heap_v2/{period}\n  t*: {total}: {live} [0: 0]\n  t0: {total}: {live} [0: 0] main\n")
        for stack, n, object_size in rows:
            if n:
                out.write(f"{stack}\n  t*: {n}: {n * object_size} [0: 0]\n  t0: {n}: {n * object_size} [0: 0]\n")
        out.write(f"\nMAPPED_LIBRARIES:\n{base:x}-{base + size:x} r-xp 00000000 fd:01 1 {program}\n")
    os.utime(path, (start + 600 * dump,) * 2)
