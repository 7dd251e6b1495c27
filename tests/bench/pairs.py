"""pairs.py PAIRS BARE... -- COMMAND...: the CPU time of two commands, run in pairs, the order within a pair turning each time. A command
may begin with NAME=VALUE, for its environment.

Prints the median of the ratios of the pairs, the quartiles around it, and the median CPU time of the first and of the difference in
milliseconds. What else the machine does changes from minute to minute, and the two of a pair have the same share of it."""
import os, statistics, sys

def run(command):
    """The CPU time of COMMAND and all that it waited for, in seconds."""
    child = os.fork()
    if child == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        while "=" in command[0]:
            name, value = command[0].split("=", 1)
            os.environ[name] = value
            command = command[1:]
        try:
            os.execvp(command[0], command)
        finally:
            os._exit(127)
    _, status, used = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}")
    return used.ru_utime + used.ru_stime

pairs = int(sys.argv[1])
at = sys.argv.index("--")
bare, other = sys.argv[2:at], sys.argv[at + 1:]
ratios, differences, times = [], [], []
for i in range(pairs):
    if i % 2:
        second, first = run(other), run(bare)
    else:
        first, second = run(bare), run(other)
    ratios.append(second / first)
    differences.append(1000 * (second - first))
    times.append(1000 * first)
low, _, high = statistics.quantiles(ratios, n=4) if pairs > 1 else [ratios[0]] * 3
print(f"{statistics.median(ratios):.4f} {low:.4f} {high:.4f} {statistics.median(times):.2f} {statistics.median(differences):.2f}")
