"""An agent that answers for a process which ends with its answer: argv[1] is the folder for its socket, argv[2] a dump to send."""
import os, re, socket, sys, time

folder, dump = sys.argv[1], open(sys.argv[2], "rb").read()
stat = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
life = f"{os.getpid()}.{stat[19]}.{open('/proc/sys/kernel/random/boot_id').read()[:8]}"
dump = re.sub(rb"(?m)^# cairn process .*$", b"# cairn process " + life.encode(), dump)
os.makedirs(folder, mode=0o700, exist_ok=True)
listener = socket.socket(socket.AF_UNIX)
listener.bind(f"{folder}/{os.getpid()}.sock")
listener.listen(8)
while True:
    peer, _ = listener.accept()
    request = peer.recv(65536)
    if not request:
        continue
    snapshot = b"/cairn/snapshot" in request
    body = dump if snapshot else b"state: active\n"
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body
    peer.sendall(answer[:-1] if snapshot else answer)
    if snapshot:
        # The last byte goes out as the process ends, so that nobody sees the end before the process has.
        parent = os.getpid()
        if os.fork() == 0:
            while os.getppid() == parent:
                time.sleep(0.01)
            peer.sendall(answer[-1:])
            os._exit(0)
        os._exit(0)
    peer.close()
