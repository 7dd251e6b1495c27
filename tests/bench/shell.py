"""How long each command of `cairn shell` takes: shell.py CAIRN DUMP COMMAND... The median of five; what is printed goes to a pipe."""
import os, statistics, subprocess, sys, tempfile, time

cairn, dump, *commands = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    shell = subprocess.Popen([cairn, "shell", os.path.abspath(dump)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder)

    def seconds(command):
        start = time.monotonic()
        shell.stdin.write(f"{command}\nend-of-answer\n".encode())
        shell.stdin.flush()
        while b"'end-of-answer'" not in shell.stdout.readline():
            pass
        return time.monotonic() - start

    seconds("top1")  # the profile is read before the first answer
    for command in commands:
        took = statistics.median(seconds(command) for _ in range(5))
        print(f"{command:<44} {took:9.3f} s  {'met' if took < 0.1 else 'NOT MET'}")
    shell.stdin.close()
    shell.wait()
