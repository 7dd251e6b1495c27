#!/usr/bin/env bash
# `cairn leaks PID` judges a dump that the live page of that process takes for it, so both say the same sentence at the same moment.
. tests/e2e/lib.sh
. tests/e2e/serve.sh
start_leaky || broken 'the demo service starts'
serve --every 1h "$pid" || broken 'the server starts'
wait_for 20 dumps_are 1 || broken 'the page has a dump'
before=$(get /api/processes | field processes.0.dumps)
said=$("$cairn" leaks "$pid" 2>leaks.err | head -n 1)
is "$(get /api/processes | field processes.0.dumps)" $((before + 1)) 'the page takes the dump that is judged'
is "$(get /api/processes | field processes.0.sentence)" "$said" 'and says the same'
like "$said" '?*' 'which is a sentence'
is "$(code "/api/newest?pid=1")" 404 'a process that it does not follow is not asked'
# Anybody can listen on such a name: whoever is not the process that it says is not heard.
kill $server
wait $server 2>/dev/null
python3 - $$ <<'P' &
import socket, sys, time
liar = socket.socket(socket.AF_UNIX)
liar.bind("\0cairn-page/" + sys.argv[1])
liar.listen()
open("lies", "w").close()
while True:
    one, _ = liar.accept()
    one.recv(4096)
    body = b"heap_v2/1\n  t*: 1: 77 [0: 0]\n"
    one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
P
liar=$!
children+=($liar)
wait_for 20 test -e lies || broken 'the stranger listens'
like "$("$cairn" leaks "$pid" 2>&1 | sed -n 2p)" "*leaky, 1 dump after *" 'a stranger on such a name is not believed'
done_testing
