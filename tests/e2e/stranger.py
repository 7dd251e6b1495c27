#!/usr/bin/env python3
"""A hostile client: stranger.py MODE PORT [ARGUMENT...]. Each mode does one thing to the agent on 127.0.0.1:PORT and prints what came of it."""
import os, socket, struct, sys, threading, time

mode, port = sys.argv[1], int(sys.argv[2])
arguments = sys.argv[3:]


def dial(timeout=100, receive=0):
    client = socket.socket()
    if receive:  # before connect: it bounds the window
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    client.settimeout(timeout)
    client.connect(("127.0.0.1", port))
    return client


def get(path, *headers, version="1.1"):
    return "".join(line + "\r\n" for line in ("GET %s HTTP/%s" % (path, version), "Host: localhost", *headers, "")).encode()


def post(path, length):
    return ("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (path, length)).encode()


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def status_of(answer):
    return answer.split(b" ", 2)[1].decode() if answer.startswith(b"HTTP/") else "none"


def upload(size, results):
    """Sends a body of SIZE bytes and notes the status, or that the connection was lost."""
    try:
        client = dial(200)
        client.sendall(post("/debug/prof/mem/symbol", size))
        piece = b"x" * (1 << 20)
        try:
            for _ in range(size >> 20):
                client.sendall(piece)
        except OSError:
            pass  # refused early: the answer says why
        results.append(status_of(client.recv(4096)))
        client.close()
    except OSError as error:
        results.append("lost: %s" % error)


def uploads(count, size):
    results = []
    threads = [threading.Thread(target=upload, args=(size, results)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


if mode == "uploads":  # COUNT MEGABYTES: that many at once
    print(" ".join(sorted(uploads(int(arguments[0]), int(arguments[1]) << 20))))
elif mode == "idle":  # MEGABYTES: bytes on a kept-alive connection while uploads exhaust what there is for all
    kept = [dial() for _ in range(8)]
    for client in kept:
        client.sendall(get("/cairn/status"))
        client.recv(65536)
    results = []
    threads = [threading.Thread(target=upload, args=(int(arguments[0]) << 20, results)) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for client in kept:
            try:
                client.send(b"G")
            except OSError:
                pass
        time.sleep(0.01)
    print(" ".join(sorted(results)))
elif mode == "waits":  # COUNT HOW [VERSION]: requests that wait for an hour, whose clients then leave, or stay until standard input ends
    clients = []
    for _ in range(int(arguments[0])):
        client = dial()
        client.sendall(get("/debug/pprof/heap?seconds=3600", version=arguments[2] if len(arguments) > 2 else "1.1"))
        clients.append(client)
    if arguments[1] == "stay":
        print("here", flush=True)
        sys.stdin.read()
    for client in clients:
        reset(client) if arguments[1] == "reset" else client.close()
    print("left")
elif mode == "leave":  # PATH SECONDS|FILE: one that leaves while its request is worked on: after a while, or once FILE is there
    client = dial()
    client.sendall(get(arguments[0]))
    if arguments[1].startswith("/"):
        while not os.path.exists(arguments[1]):
            time.sleep(0.01)
    else:
        time.sleep(float(arguments[1]))
    client.close()
    print("left")
elif mode == "slow":  # COUNT PATH: readers that take the beginning of the answer and no more; until standard input ends
    clients, answers = [], []
    for _ in range(int(arguments[0])):
        client = dial(receive=4096)
        client.sendall(get(arguments[1]))
        clients.append(client)
        answers.append(client.recv(4096))
    print(" ".join(sorted(set(status_of(answer) for answer in answers))), flush=True)
    refusals = [answer.decode() for answer in answers if status_of(answer) == "503"]
    if refusals:
        print(refusals[0].replace("\r\n", " "), flush=True)
    sys.stdin.read()
elif mode == "half":  # a client that closes its own side and waits gets its answer, after the interim one that asks whether it is there
    client = dial()
    client.sendall(get("/debug/pprof/heap?seconds=1"))
    client.shutdown(socket.SHUT_WR)
    answer = b""
    while part := client.recv(65536):
        answer += part
    interim, _, rest = answer.partition(b"\r\n\r\n")
    print(status_of(interim), status_of(rest))
elif mode == "attacks":  # whatever else comes to mind, a few times each; each must leave the agent answering
    def attack(name, act, times=8):
        statuses = set()
        for _ in range(times):
            client = dial()
            try:
                act(client)
            except OSError:
                pass
            try:
                client.settimeout(0.2)
                statuses.add(status_of(client.recv(100)))
            except OSError:
                statuses.add("none")
            if client.fileno() >= 0:
                reset(client)
        client = dial()
        client.sendall(get("/cairn/status", "Connection: close"))
        print("%s: %s, then %s" % (name, " ".join(sorted(statuses)), status_of(client.recv(100))), flush=True)

    def reset_mid_body(client):
        client.sendall(post("/debug/prof/mem/symbol", 30 << 20) + b"x" * 100000)
        reset(client)

    def continue_and_vanish(client):
        client.sendall(post("/debug/prof/mem/symbol", 1 << 20)[:-2] + b"Expect: 100-continue\r\n\r\n")

    def chunks_for_ever(client):
        client.sendall(b"POST /debug/prof/mem/gdump HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(200):
            client.sendall(b"1000;" + b"e" * 4000 + b"\r\n" + b"x" * 4096 + b"\r\n")

    def extension_for_ever(client):
        client.sendall(b"POST /debug/prof/mem/gdump HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1;")
        for _ in range(100):
            client.sendall(b"e" * 10000)

    attack("a head without end", lambda client: client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 10000))
    attack("a line without end", lambda client: client.sendall(b"GET /" + b"x" * 100000))
    attack("requests that are not read", lambda client: [client.send(get("/cairn/status") * 100) for _ in range(50)], 5)
    attack("a reset in a body", reset_mid_body)
    attack("a body that was asked for and never comes", continue_and_vanish)
    attack("chunks without end", chunks_for_ever)
    attack("a chunk extension without end", extension_for_ever, 5)
    attack("a length and chunks", lambda client: client.sendall(post("/cairn/activate", 5)[:-2] + b"Transfer-Encoding: chunked\r\n\r\n"))
    attack("half a request, half-closed", lambda client: (client.sendall(b"GET / HTTP/1.1\r\nHo"), client.shutdown(socket.SHUT_WR)))
    attack("an upload whose sender vanishes", lambda client: client.sendall(post("/debug/prof/mem/symbol", 100000) + b"x" * 100000), 10)
else:
    sys.exit("no such mode: " + mode)
