#!/usr/bin/env python3
"""A hostile client: stranger.py MODE PORT [ARGUMENT...]. Each mode does one thing to the agent on 127.0.0.1:PORT and prints what came of it."""
import os, socket, struct, sys, threading, time

mode, port = sys.argv[1], int(sys.argv[2])
arguments = sys.argv[3:]


def dial(timeout=20, receive=0):
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
        client = dial(60)
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
elif mode == "idle":  # bytes on a kept-alive connection while uploads exhaust what there is for all
    kept = [dial() for _ in range(8)]
    for client in kept:
        client.sendall(get("/cairn/status"))
        client.recv(65536)
    results = []
    threads = [threading.Thread(target=upload, args=(60 << 20, results)) for _ in range(4)]
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
elif mode == "waits":  # COUNT SECONDS HOW: requests that wait, whose clients then leave
    clients = []
    for _ in range(int(arguments[0])):
        client = dial()
        client.sendall(get("/debug/pprof/heap?seconds=%s" % arguments[1], version=arguments[3] if len(arguments) > 3 else "1.1"))
        clients.append(client)
    time.sleep(1)
    for client in clients:
        reset(client) if arguments[2] == "reset" else client.close()
    print("left")
elif mode == "slow":  # COUNT PATH SECONDS: readers that take next to nothing
    clients = []
    for _ in range(int(arguments[0])):
        client = dial(receive=4096)
        client.sendall(get(arguments[1]))
        clients.append(client)
    time.sleep(float(arguments[2]))
    print(" ".join(sorted(status_of(client.recv(16)) for client in clients)))
    sys.stdout.flush()
    time.sleep(float(arguments[3]) if len(arguments) > 3 else 0)
else:
    sys.exit("no such mode: " + mode)
