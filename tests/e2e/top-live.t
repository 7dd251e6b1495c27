#!/usr/bin/env bash
# `cairn top --live`: a table that fills the terminal and is made anew, and a terminal that is left as it was whatever ends it.
. tests/e2e/lib.sh
need python3
cat >"$scratch/drive.py" <<'P'
"""Runs a command on a terminal of 12 rows and 60 columns, in steps, and prints what is said of each."""
import fcntl, os, pty, re, select, signal, struct, sys, termios
command, stacks = sys.argv[1:3]
def size(fd, rows, columns): fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
class Run:
    def __init__(self):
        self.near, self.far = pty.openpty()
        size(self.near, 12, 60)
        self.before = termios.tcgetattr(self.far)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.far, termios.TIOCSCTTY, 0)
            for fd in 0, 1, 2: os.dup2(self.far, fd)
            os.environ.update(TERM="xterm")
            os.execv(command, [command, "top", "--live", stacks])
        self.text = ""
    def until(self, pattern):
        while not re.search(pattern, self.text, re.S):
            if not select.select([self.near], [], [], 60)[0]: raise SystemExit("nothing more after " + repr(self.text[-300:]))
            self.text += os.read(self.near, 65536).decode(errors="replace")
        seen, self.text = self.text, ""
        return seen
    def end(self):
        self.until(r"\x1b\[\?25h\x1b\[\?1049l")
        status = os.waitpid(self.pid, 0)[1]
        same = termios.tcgetattr(self.far) == self.before
        os.close(self.near); os.close(self.far)
        return f"{'exit %d' % os.WEXITSTATUS(status) if os.WIFEXITED(status) else signal.Signals(os.WTERMSIG(status)).name}, {'as it was' if same else 'changed'}"
frame = r"\x1b\[H.*\x1b\[J"
one = Run()
seen = one.until(frame)
print("first", seen.startswith("\x1b[?1049h\x1b[?25l") and "cache" in seen)
print("fits", seen.count("\n") <= 11 and all(len(re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", line)) <= 60 for line in seen.split("\r\n")))
with open(stacks, "a") as out: out.write("main;newcomer 5000\n")
print("again", "newcomer" in one.until(r"newcomer.*\x1b\[J"))
size(one.near, 4, 60)
seen = one.until(frame)
print("smaller", seen.count("\n") <= 3)
os.write(one.near, b"q")
print("quit", one.end())
for name in "SIGTERM", "SIGINT", "SIGHUP":
    one = Run()
    seen = one.until(frame)
    os.kill(one.pid, getattr(signal, name))
    print(name, one.end())
one = Run()
one.until(frame)
os.remove(stacks)
os.write(one.near, b" ")
seen = one.until(r"cairn: [^\r]*\r\n")
print("gone", re.search(r"1049l.*cairn: .*" + re.escape(os.path.basename(stacks)), seen, re.S) is not None)
P
folded() { printf 'main;serve;%s 600\nmain;serve;session 300\n' cache >"$scratch/live.folded"; for i in $(seq 30); do echo "main;function_number_$i;with_a_name_of_many_characters_that_goes_on_$i $i"; done >>"$scratch/live.folded"; }
folded
python3 "$scratch/drive.py" "$cairn" "$scratch/live.folded" >"$scratch/said" 2>&1
said() { sed -n "s/^$1 //p" "$scratch/said"; }
is "$(said first)" True 'the table is on a screen of its own'
is "$(said fits)" True 'no line is longer than the terminal is wide, and nothing scrolls'
is "$(said again)" True 'it is made anew'
is "$(said smaller)" True 'and drawn for another size of the terminal'
is "$(said quit)" 'exit 0, as it was' 'q quits, and the terminal is as it was'
for name in SIGTERM SIGINT SIGHUP; do
	is "$(said $name)" "$name, as it was" "so it is after $name, of which the command dies"
done
is "$(said gone)" True 'a source that goes away ends it, and the reason is on the screen of before'
grep -v ' ' "$scratch/said" | sed 's/^/# /'
folded
"$cairn" top --live "$scratch/live.folded" </dev/null >"$scratch/out" 2>"$scratch/err"
is $? 2 'without a terminal it is refused'
is "$(cat "$scratch/err" "$scratch/out")" "cairn: --live needs a terminal; without it, 'cairn top' prints the table once" 'in one sentence'
"$cairn" top --live --json "$scratch/live.folded" >"$scratch/out" 2>&1
is $? 2 'and with --json'
done_testing
