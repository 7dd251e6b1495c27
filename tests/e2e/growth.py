"""growth.py CAIRN FOLDER KIND SIZE COMMAND...: how the cost of a command grows. Makes inputs of SIZE, 4 and 16 times SIZE in FOLDER, runs the
command on each ({} is the input, {n} the size), and prints instructions in millions, as callgrind counts them, peak memory in MB, and by how much
the second step of both is more than the first: 4 where they grow with the work, 16 where with its square. Fails where instructions are above 6, or
memory, of which a process needs some for itself, above 10; by less than 8 MB in all it does not grow. FOLDER has growth-host.c, compiled as "host".

KIND is stacks, depth, threads, modules, dumps, services or restarts (one dump of each in a folder), instances, processes (that are sampled), browsers (that follow a page), or libraries: there, the
command is a program that loads them. What it does itself grows with the square, so what the agent adds is compared with that."""
import os, re, shutil, socket, subprocess, sys, tempfile, time

cairn, folder, kind, size, command = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5:]
AGENT = dict(os.environ, LD_PRELOAD=os.path.dirname(cairn) + "/libcairn.so", CAIRN_CONF="enable_heap_profiling:true,period:16K")
PATIENCE_S = 600


def dump(path, stacks, depth=12, threads=1, modules=1, now=0, pid=99999999):
    """A heap_v2 dump of a process that is none here; the stacks are a tree with two callees for each function."""
    lines = ["heap_v2/524288", f"  t*: {stacks}: {stacks * 600000} [0: 0]"] + [f"  t{t}: 1: 600000 [0: 0] thread-{t}" for t in range(threads)]
    for k in range(stacks):
        lines.append("@ " + " ".join(f"{((k % modules) << 24) + 0x10000000 + (level << 16) + (k >> level):#x}" for level in range(depth)))
        lines.append(f"  t*: 1: {600000 + now * k} [0: 0]\n  t{k % threads}: 1: {600000 + now * k} [0: 0]")
    lines.append("\nMAPPED_LIBRARIES:")
    lines += [f"{(m << 24) + 0x10000000:x}-{(m << 24) + 0x10ffffff:x} r-xp 00000000 00:00 1 /srv/nowhere/lib{m}.so" for m in range(modules)]
    lines.append(f"# cairn trailer 1\n# cairn time {1790000000 + 600 * now}.000000000\n# cairn pid {pid}\n# cairn start 1789999000.000000000\n# cairn end\n")
    with open(path, "w") as out:
        out.write("\n".join(lines))


def make(n):
    path = f"{folder}/{kind}.{n}"
    if os.path.exists(path):
        return path
    if kind in ("stacks", "depth", "threads", "modules"):
        given = {"stacks": dict(stacks=n), "depth": dict(stacks=100, depth=n), "threads": dict(stacks=n, threads=n), "modules": dict(stacks=n, modules=n)}
        dump(path, **given[kind])
    elif kind == "dumps":
        os.mkdir(path)
        for i in range(n):
            dump(f"{path}/a.77.{i}.heap", 12, now=i)
    elif kind in ("services", "restarts"):
        os.mkdir(path)
        for i in range(n):
            prefix, pid = (f"s{i}", 77) if kind == "services" else ("a", 1000 + i)
            dump(f"{path}/{prefix}.{pid}.{i}.i{i}.heap", 3, now=i, pid=pid)
    elif kind == "instances":
        store = "sqlite:" + path
        subprocess.run([cairn, "store", "init", store], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([sys.executable, "tests/bench/make-fleet.py", "rows", "api", str(n), "20", "6", "3600", "sqlite", path, "samples"], check=True)
    elif kind == "libraries":
        os.mkdir(path)
        for i in range(n):
            shutil.copy(f"{folder}/library.so", f"{path}/{i}.so")
    elif kind == "browsers":
        return make_folder(path)
    return path


def make_folder(path):
    os.mkdir(path)
    dump(path + "/a.77.1.heap", 12)
    return path


def browse(server, page, n, path):
    """As many browsers as N follow the page; then a dump comes, and all of them are told."""
    def connect():
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE_S)
        client.connect(page)
        client.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return client
    while not os.path.exists(page):
        assert server.poll() is None, "the server ends"
        time.sleep(0.05)
    clients = [connect() for _ in range(n)]
    for client in clients:
        assert b"200 OK" in client.recv(65536), "a browser is refused"
    dump(path + "/new", 12, now=1)
    os.rename(path + "/new", path + "/a.77.2.heap")
    for client in clients:
        while b"a.77.2" not in (data := client.recv(65536)) and b"event" not in data:
            assert data, "a stream ends"
    server.terminate()


def run(argv, n, path, env):
    """What it prints."""
    page = tempfile.mktemp(dir=folder)
    with open(folder + "/out", "w") as out:
        child = subprocess.Popen([word.replace("{page}", page) for word in argv], stdout=out, stderr=subprocess.STDOUT, env=env)
        if kind == "browsers":
            browse(child, page, n, path)
        status = child.wait(PATIENCE_S)
    printed = open(folder + "/out", errors="replace").read()
    if status != 0:
        sys.exit(f"{' '.join(argv)} ends with {status}: {' '.join(printed.split())[-300:]}")
    return printed


def count(argv, n, path, env):
    printed = run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *argv], n, path, env)
    return int(re.search(r"Collected : (\d+)", printed)[1]) / 1e6


def cost(n):
    """Instructions in millions, peak memory in MB."""
    path, host = make(n), None
    if kind == "processes":
        host = subprocess.Popen([folder + "/host", "sampled", str(n)], env=AGENT, stdout=subprocess.PIPE)
        host.stdout.readline()
        path = str(host.pid)
    argv = [word.replace("{n}", str(n)).replace("{}", path) for word in command]
    env = dict(os.environ, XDG_CACHE_HOME=tempfile.mkdtemp(dir=folder))
    try:
        if kind == "libraries":
            return count(argv, n, path, env), count(argv, n, path, AGENT)
        memory = int(run([folder + "/host", "peak", cairn, *argv], n, path, env).split()[-1]) / 1024
        if kind == "browsers":
            os.unlink(path + "/a.77.2.heap")
        return count([cairn, *argv], n, path, env), memory
    finally:
        if host:
            host.kill()
            host.wait()


costs = [cost(size * times) for times in (1, 4, 16)]
if kind == "libraries":
    bare, with_agent = (costs[2][i] - costs[0][i] for i in (0, 1))
    print(f"{bare:.1f} million instructions more for {15 * size} more, with the agent {with_agent / bare:.2f} times that")
    sys.exit(with_agent > 2 * bare)
verdict = True
for name, of, most, still in (("million instructions", 0, 6, 0.5), ("MB", 1, 10, 8)):
    a, b, c = (entry[of] for entry in costs)
    factor = (c - b) / max(b - a, 1e-3)
    verdict &= factor <= most or c - a < still
    print(f"{a:.1f} {b:.1f} {c:.1f} {name}, " + ("no growth; " if c - a < still else f"factor {factor:.1f}; "), end="")
print()
sys.exit(not verdict)
