"""Write a heap_v2 dump with many stacks: make-dump.py FILE STACKS DEPTH [PROGRAM]. Addresses are of PROGRAM's functions (the demo service's,
or made up), so that naming them is trivial work; the stacks share prefixes as real ones do."""
import random, sys

path, stacks, depth = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
program = sys.argv[4] if len(sys.argv) > 4 else "/nonexistent/service"
random.seed(1)
base, size = 0x555555554000, 0x100000
if len(sys.argv) > 4:
    import subprocess
    out = subprocess.run(["nm", "-n", "--defined-only", program], capture_output=True, text=True).stdout
    known = [int(l.split()[0], 16) for l in out.splitlines() if l.split()[1] in "tT"]
    size = max(size, max(known) + 0x1000 & ~0xfff)
    places = [base + a + random.randrange(1, 12) for a in known for _ in range(1 + 3000 // len(known))]
else:
    places = [base + 0x1000 + random.randrange(size - 0x1000) for _ in range(3000)]
chains = [[random.choice(places) for _ in range(depth)] for _ in range(200)]
with open(path, "w") as out:
    rows = []
    for i in range(stacks):
        chain = random.choice(chains)
        own = random.randrange(4, depth)
        stack = [random.choice(places) for _ in range(own)] + chain[own:]
        n = random.randrange(1, 50)
        rows.append((stack, n, n * random.choice((16, 48, 160, 1024, 4096))))
    total, bytes_ = sum(r[1] for r in rows), sum(r[2] for r in rows)
    out.write(f"heap_v2/1\n  t*: {total}: {bytes_} [0: 0]\n  t0: {total}: {bytes_} [0: 0] main\n")
    for stack, n, b in rows:
        out.write("@" + "".join(f" {a:#x}" for a in stack) + f"\n  t*: {n}: {b} [0: 0]\n  t0: {n}: {b} [0: 0]\n")
    out.write(f"\nMAPPED_LIBRARIES:\n{base:x}-{base + size:x} r-xp 00000000 fd:01 1 {program}\n")
