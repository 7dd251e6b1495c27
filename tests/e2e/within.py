"""within.py SECONDS MEGABYTES COMMAND...: runs it without its output, and prints its exit code. Says what it was if the command took more processor time or
more resident memory than that, or was ended by a signal."""
import resource
import subprocess
import sys

seconds, megabytes = int(sys.argv[1]), int(sys.argv[2])


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # spares the machine what would fail here anyway


code = subprocess.run(sys.argv[3:], stdout=subprocess.DEVNULL, preexec_fn=limit).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code if code >= 0 else f"signal {-code}", end="")
if used.ru_maxrss > megabytes << 10:
    print(f", {used.ru_maxrss >> 10} MB", end="")
print()
