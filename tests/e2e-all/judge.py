"""judge.py CAIRN LIBRARY HOST SECONDS RUNS KIND...: what the live page and `cairn leaks PID` say of processes that leak or do not.

Starts RUNS processes of each KIND (judge-host.c), one `cairn serve` for all, and asks both every 20 seconds, and 30 seconds after a leak
began. Prints every answer as JSON to the file answers, and a table at the end: how many asks were true and false alarms, in how many runs
the leak was found within 30 seconds and within 180, and in how many asks the two sentences were not the same: while the command runs,
the page is read again and again, and has to say its sentence at some time. Fails if a limit below is not kept."""
import json, os, re, subprocess, sys, time, urllib.request
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

cairn, library, host, seconds, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
kinds = sys.argv[6:]
BEGINS = {"leak": 0, "slow": 0, "leakspikes": 0, "late": 120, "percent": 0}
# What truly rises for a while: an alarm on it then is not wrong.
RISES = {"cache": ("fill_cache", 0, 140), "fifo": ("fill_cache", 0, 60), "random": ("fill_cache", 0, 60), "batch": ("build", 0, 0)}
PERIODS = ["512K", "64K"]

def start(kind, run):
    conf = f"enable_heap_profiling:true,engine:cairn,period:{PERIODS[run % len(PERIODS)]}"
    return subprocess.Popen([host, kind, str(run + 1)], env={**os.environ, "LD_PRELOAD": library, "CAIRN_CONF": conf},
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

class Subject:
    def __init__(self, kind, run):
        self.kind, self.run, self.process, self.began = kind, run, start(kind, run), time.time()
        self.times = [t for t in range(20, seconds + 1, 20)]
        if kind in BEGINS:
            self.times = sorted(set(self.times + [BEGINS[kind] + 30]))

def ask_leaks(subject):
    done = subprocess.run([cairn, "leaks", str(subject.process.pid)], capture_output=True, text=True)
    return done.stdout.split("\n")[0] if done.returncode == 0 else "failed: " + done.stderr.strip()

def ask_page():
    request = urllib.request.Request(base + "/api/processes", headers={"Authorization": "Bearer " + token})
    return {p["pid"]: p for p in json.load(urllib.request.urlopen(request, timeout=60))["processes"]}

def is_alarm(sentence):
    return bool(re.search(r"\bgrows?\b|keeps? growing", sentence)) and not re.search(r"nothing|too early|Steady|may ", sentence)

subjects = []
for run in range(runs):
    for kind in kinds:
        subjects.append(Subject(kind, run))
time.sleep(1.5)
serve = subprocess.Popen([cairn, "serve", "--listen", "127.0.0.1:0", *[str(s.process.pid) for s in subjects]], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
base, token = re.match(r"(http://[^/]*)/\?token=(\S+)", serve.stdout.readline()).groups()
answers = open("answers", "w")
rows = []

def ask(subject, at):
    pages, pid = [], subject.process.pid
    with ThreadPoolExecutor(1) as one:
        answer = one.submit(ask_leaks, subject)
        while True:
            done = answer.done()
            pages.append(ask_page().get(pid, {}))
            if done:
                break
            time.sleep(0.2)
    leaks, before, after = answer.result(), pages[0], pages[-1]
    agree = any(leaks == page.get("sentence") for page in pages)
    row = {"agree": agree, "kind": subject.kind, "run": subject.run, "at": at, "late_by": round(time.time() - subject.began - at, 1), "leaks": leaks, "page": before.get("sentence", ""),
           "page_kind": before.get("kind", ""), "after": after.get("sentence", ""), "limit_at": before.get("limit_at"), "dumps": before.get("dumps")}
    rows.append(row)
    answers.write(json.dumps(row) + "\n")
    answers.flush()

with ThreadPoolExecutor(8) as pool:
    due = sorted(((s.began + t, i, t) for i, s in enumerate(subjects) for t in s.times))
    futures = []
    for when, i, t in due:
        time.sleep(max(0, when - time.time()))
        futures.append(pool.submit(ask, subjects[i], t))
    for future in futures:
        future.result()
serve.terminate()
for subject in subjects:
    subject.process.kill()

def is_true(row, sentence):
    """Whether an alarm is about something that rises."""
    kind, at = row["kind"], row["at"]
    if kind in BEGINS:
        return at >= BEGINS[kind] and re.match(r"(leaky|busy)\b", sentence) is not None
    if kind in RISES:
        path, first, last = RISES[kind]
        return first <= at <= last and sentence.startswith(path)
    return False

table = defaultdict(lambda: defaultdict(int))
found = defaultdict(lambda: defaultdict(dict))
for row in rows:
    for who in ("leaks", "page"):
        if is_alarm(row[who]):
            right = is_true(row, row[who])
            table[row["kind"]][who + (" true" if right else " false")] += 1
            if right and row["kind"] in BEGINS:
                first = found[row["kind"]][who].setdefault(row["run"], row["at"] - BEGINS[row["kind"]])
                found[row["kind"]][who][row["run"]] = min(first, row["at"] - BEGINS[row["kind"]])
    table[row["kind"]]["asks"] += 1
    table[row["kind"]]["differ"] += not row["agree"]
print(f"{'kind':11} {'asks':>5} {'leaks true':>10} {'false':>5} {'page true':>10} {'false':>5} {'differ':>6}  found within 30 s, 180 s (leaks; page), of {runs}")
for kind in kinds:
    t = table[kind]
    line = f"{kind:11} {t['asks']:5} {t['leaks true']:10} {t['leaks false']:5} {t['page true']:10} {t['page false']:5} {t['differ']:6}"
    if kind in BEGINS:
        line += "  " + "; ".join(f"{sum(a <= 30 for a in found[kind][w].values())}, {sum(a <= 180 for a in found[kind][w].values())}" for w in ("leaks", "page"))
    print(line)

wrong = []
for kind in kinds:
    t = table[kind]
    for what in ("leaks false", "page false", "differ"):
        if t[what]:
            wrong.append(f"{kind}: {what} {t[what]}")
    for who in ("leaks", "page"):
        # A leak of 1 MiB/s within half a minute, one of 1 % of a busy path within three.
        within = {"leak": 30, "percent": 180}.get(kind)
        if within and seconds >= within and sum(a <= within for a in found[kind][who].values()) < runs:
            wrong.append(f"{kind}: not found by {who} within {within} s in every run")
print("\n".join(wrong) or "all limits are kept")
sys.exit(bool(wrong))
