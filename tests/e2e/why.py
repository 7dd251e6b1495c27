# why.py - runs programs of known memory (why-host.c) on several allocators, and compares what `cairn why` says of each with what they know.
# why.py CAIRN HOST quick|all GROUP [ALLOCATOR=PRELOAD...]: prints a line for each run, and a summary. Without an allocator: glibc.
# GROUP is the folder of a control group with a limit, for page cache; "" leaves that out.
import json, os, signal, subprocess, sys, tempfile, time

cairn, host, which, group = sys.argv[1:5]
allocators = dict(argument.split("=", 1) for argument in sys.argv[5:]) or {"glibc": ""}

# The scenario, the size of an object, their number in each thread, threads, and the cause. "spike": what an allocator keeps of it decides.
# "arenas": free memory in eight arenas and more is the threads' on glibc, which alone has an arena for each.
programs = [
    ("mixed", 3000, 60000, 1, "retention"), ("mixed", 700, 200000, 1, "retention"), ("mixed", 9000, 20000, 1, "retention"),
    ("mixed", 30000, 5000, 1, "retention"), ("mixed", 2500, 20000, 4, "retention"),
    ("divided", 3000, 60000, 1, "retention"), ("divided", 700, 200000, 1, "retention"), ("divided", 200, 500000, 1, "retention"),
    ("spike", 500, 300000, 1, "spike"), ("spike", 4000, 40000, 1, "spike"), ("spike", 100000, 1500, 1, "spike"),
    ("top", 500, 300000, 1, "retention"), ("top", 60000, 2500, 1, "retention"),
    ("hoards", 1000, 30000, 6, "retention"), ("hoards", 4000, 4000, 12, "arenas"), ("arenas", 1500, 8000, 12, "arenas"),
    ("arenas", 400, 20000, 16, "arenas"),
    ("live", 100, 800000, 1, "live"), ("live", 700000, 150, 1, "live"), ("live", 1000, 30000, 4, "live"),
    ("cache", 900, 600000, 1, "live"), ("fill", 2000, 30000, 1, "cache"),
    ("leak", 2000, 20000, 1, "growth"), ("leak", 400, 80000, 1, "growth"),
    ("map", 65536, 2000, 1, "mappings"), ("maps", 1 << 20, 60, 1, "mappings"),
    ("stacks", 6 << 20, 0, 16, "threads"),
    ("huge", 2 << 20, 60, 1, "huge_pages"),
    ("tmpfs", 1 << 20, 120, 1, "tmpfs"),
    ("pages", 1 << 20, 200, 1, "page_cache"),
]
quick = [program for program in programs
         if program[:2] in (("mixed", 3000), ("top", 500), ("live", 100), ("map", 65536), ("huge", 2 << 20), ("tmpfs", 1 << 20))]
moving = {"leak": 6, "fill": 6, "maps": 2}  # seconds until they are judged
period = 16384


def await_file(name, process):
    while not os.path.exists(name) or not open(name).read().endswith("\n"):
        if process.poll() is not None:
            sys.exit("the program has ended: %d" % process.returncode)
        time.sleep(0.05)
    return [int(word) for word in open(name).read().split()]


def right_cause(cause, allocator, kept, files):
    if cause == "spike":
        return "retention" if kept > files + (4 << 20) else "files"  # what any process has of its own
    if cause == "arenas":
        return "threads" if allocator == "glibc" else "retention"
    return cause


def check_pins(why, pins, others):
    """Who keeps free memory, by the program's own count of the objects of each site."""
    named = {pin["name"]: pin for pin in why["pinned_by"]}
    cached = named.get("[freed objects in the allocator's caches]", {"bytes": 0})["bytes"]
    pinned = why["pinned_bytes"] - cached
    if pinned < 1e6:
        return []
    wrong = []
    if sum(pin["bytes"] for pin in named.values()) < 0.9 * why["pinned_bytes"]:
        wrong.append("pinned")
    for site, count in (("site_pin", pins), ("site_other", others)):
        found = next((pin["bytes"] for name, pin in named.items() if site in name), 0)
        if abs(found - pinned * count / max(1, pins + others)) > 0.1 * pinned:
            wrong.append("who")
    return wrong


def run(program, allocator, folder):
    scenario, size, count, threads, cause = program
    file = os.path.join(folder, "truth")
    for name in (file, file + ".2"):
        if os.path.exists(name):
            os.remove(name)
    command = [cairn, "run", "-q", "--period", str(period), "--", host, scenario, str(size), str(count), str(threads), file]
    environment = dict(os.environ, **({"LD_PRELOAD": allocators[allocator]} if allocators[allocator] else {}))
    inside = None
    if scenario == "pages":
        with open(file + ".data", "wb") as data:
            data.truncate(0)
            for _ in range(count):
                data.write(bytes(size))
            data.flush()
            os.fsync(data.fileno())
            os.posix_fadvise(data.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        inside = lambda: open(os.path.join(group, "cgroup.procs"), "w").write(str(os.getpid()))
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True, preexec_fn=inside) as process:
        try:
            pid, live, mapped, stacks, start, pins, others = await_file(file, process)
            time.sleep(moving.get(scenario, 0.4))
            why = json.loads(subprocess.run([cairn, "why", "--json", str(pid)], stdout=subprocess.PIPE, check=True).stdout)
            with open("/proc/%d/status" % pid) as status:
                files = next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssFile"))
            before = after = 0
            if scenario not in moving:
                os.kill(pid, signal.SIGUSR1)
                before, after = await_file(file + ".2", process)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    kept = before - start - live
    truth = {"live": min(live, before - start), "mappings": mapped, "threads": stacks or kept, "tmpfs": size * count,
             "huge_pages": live * 63 / 64, "page_cache": size * count, "retention": kept, "files": files}
    wrong = []
    right = right_cause(cause, allocator, kept, files)
    if why["cause"] != right:
        wrong.append("cause")
    reasons = {reason["cause"]: reason["bytes"] for reason in why["reasons"]}
    amount = reasons.get(right, 0)
    if right in ("retention", "threads") and not stacks:  # the caches and arenas of threads are free memory, too
        amount = reasons.get("retention", 0) + reasons.get("threads", 0)
    if scenario not in moving and abs(amount - truth[right]) > 0.1 * truth[right] + (1 << 20):
        wrong.append("amount")
    returned = before - after
    if scenario not in moving and abs(why["returnable_bytes"] - returned) > max(0.1 * returned, 1 << 20):
        wrong.append("returnable")
    if cause == "mappings" and "of it by site_map" not in why["sentence"]:
        wrong.append("mapper")
    if scenario in ("mixed", "divided", "top"):
        wrong += check_pins(why, pins, others)
    print("%-8s %-7s %7d x %6d x %2d  %-10s resident %5.0f M, %6.1f of %6.1f, returnable %6.1f, returned %6.1f, pinned %6.1f by %s  %s" % (
        allocator, scenario, size, count, threads, why["cause"], why["resident_bytes"] / 1e6, amount / 1e6, truth.get(right, 0) / 1e6,
        why["returnable_bytes"] / 1e6, returned / 1e6, why["pinned_bytes"] / 1e6,
        ", ".join("%s %.1f" % (pin["name"][:20], pin["bytes"] / 1e6) for pin in why["pinned_by"][:3]), " ".join(wrong)), flush=True)
    if wrong:
        print("    " + why["sentence"], "right: " + right, [(r["cause"], r["bytes"] >> 20) for r in why["reasons"]], why["notes"],
              flush=True)
    return wrong


with tempfile.TemporaryDirectory() as folder:
    chosen = [program for program in (quick if which == "quick" else programs) if group or program[0] != "pages"]
    results = [run(program, allocator, folder) for program in chosen for allocator in allocators]
failed = False
for what in ("cause", "amount", "returnable", "mapper", "pinned", "who"):
    right = sum(what not in wrong for wrong in results)
    print("%s: %d of %d right" % (what, right, len(results)))
    failed |= right < (1 if which == "quick" else 0.95) * len(results)
sys.exit(failed)
