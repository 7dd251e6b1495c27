# why.py - runs programs of known memory (why-host.c) on several allocators, and compares what `cairn why` says of each with what they know.
# why.py CAIRN HOST quick|all [ALLOCATOR=PRELOAD...]: prints a line for each run, and a summary. Without an allocator: glibc.
import json, os, signal, subprocess, sys, tempfile, time

cairn, host, which = sys.argv[1:4]
allocators = dict(argument.split("=", 1) for argument in sys.argv[4:]) or {"glibc": ""}

# The scenario, the size of an object, their number in each thread, threads, and the causes that are right.
threaded = {"threads", "retention"}
programs = [
    ("mixed", 3000, 60000, 1, {"retention"}), ("mixed", 700, 200000, 1, {"retention"}), ("mixed", 9000, 20000, 1, {"retention"}),
    ("mixed", 200, 500000, 1, {"retention"}), ("mixed", 30000, 5000, 1, {"retention"}), ("mixed", 2500, 20000, 4, threaded),
    ("mixed", 600, 60000, 3, threaded),
    ("spike", 500, 300000, 1, None), ("spike", 4000, 40000, 1, None), ("spike", 100000, 1500, 1, None),
    ("top", 500, 300000, 1, {"retention"}), ("top", 4000, 40000, 1, {"retention"}), ("top", 60000, 2500, 1, {"retention"}),
    ("hoards", 1000, 30000, 6, threaded), ("hoards", 4000, 4000, 12, threaded), ("arenas", 1500, 8000, 12, threaded),
    ("arenas", 400, 20000, 16, threaded),
    ("live", 100, 800000, 1, {"live"}), ("live", 5000, 20000, 1, {"live"}), ("live", 700000, 150, 1, {"live"}), ("live", 1000, 30000, 4, {"live"}),
    ("cache", 900, 600000, 1, {"live", "cache"}), ("cache", 4000, 100000, 1, {"live", "cache"}),
    ("leak", 2000, 20000, 1, {"growth"}), ("leak", 400, 80000, 1, {"growth"}),
    ("map", 1 << 20, 100, 1, {"mappings"}), ("map", 65536, 2000, 1, {"mappings"}),
    ("stacks", 6 << 20, 0, 16, {"threads"}),
    ("huge", 2 << 20, 60, 1, {"huge_pages"}),
    ("tmpfs", 1 << 20, 120, 1, {"tmpfs"}),
]
quick = [programs[i] for i in (0, 10, 17, 25, 28, 29)]


def await_file(name, process):
    while not os.path.exists(name) or not open(name).read().endswith("\n"):
        if process.poll() is not None:
            sys.exit("the program has ended: %d" % process.returncode)
        time.sleep(0.05)
    return [int(word) for word in open(name).read().split()]


def run(program, allocator, folder):
    scenario, size, count, threads, right = program
    file = os.path.join(folder, "truth")
    for name in (file, file + ".2"):
        if os.path.exists(name):
            os.remove(name)
    command = [cairn, "run", "-q", "--period", "16K", "--", host, scenario, str(size), str(count), str(threads), file]
    environment = dict(os.environ, **({"LD_PRELOAD": allocators[allocator]} if allocators[allocator] else {}))
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            pid, live, mapped, stacks = await_file(file, process)
            time.sleep(6 if scenario == "leak" else 0.4)
            why = json.loads(subprocess.run([cairn, "why", "--json", str(pid)], stdout=subprocess.PIPE, check=True).stdout)
            before = after = 0
            if scenario != "leak":
                os.kill(pid, signal.SIGUSR1)
                before, after = await_file(file + ".2", process)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    named = sum(pin["bytes"] for pin in why["pinned_by"])
    wrong = []
    if right is None:  # what the allocator has left of a spike depends on it
        right = {"retention"} if why["resident_bytes"] > 20e6 else {why["cause"]}
    if why["cause"] not in right:
        wrong.append("cause")
    returned = before - after
    if abs(why["returnable_bytes"] - returned) > max(0.1 * returned, 2 << 20) and scenario != "leak":
        wrong.append("returnable")
    if why["pinned_bytes"] > 4e6 and named < 0.9 * why["pinned_bytes"]:
        wrong.append("pinned")
    if scenario == "mixed" and why["pinned_bytes"] > 4e6 and not any("site_pin" in pin["name"] for pin in why["pinned_by"][:2]):
        wrong.append("who")
    print("%-8s %-7s %7d x %6d x %2d  %-10s resident %5.0f M, returnable %6.1f, returned %6.1f, pinned %6.1f, named %6.1f  %s" % (
        allocator, scenario, size, count, threads, why["cause"], why["resident_bytes"] / 1e6, why["returnable_bytes"] / 1e6, returned / 1e6,
        why["pinned_bytes"] / 1e6, named / 1e6, " ".join(wrong)), flush=True)
    if wrong:
        print("    " + why["sentence"], [(r["cause"], r["bytes"] >> 20) for r in why["reasons"]], why["notes"], flush=True)
    return wrong


with tempfile.TemporaryDirectory() as folder:
    results = [(program, allocator, run(program, allocator, folder)) for program in (quick if which == "quick" else programs) for allocator in allocators]
total = len(results)
for what, least in (("cause", 0.95), ("returnable", 0.95), ("pinned", 0.95), ("who", 0.95)):
    right = sum(what not in wrong for _, _, wrong in results)
    print("%s: %d of %d right" % (what, right, total))
    if right < (total if which == "quick" else least * total):
        sys.exit(1)
