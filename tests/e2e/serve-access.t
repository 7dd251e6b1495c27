#!/usr/bin/env bash
# Who may use `cairn serve`: every user can connect to a loopback port, so all but the empty page needs the token, in any of its forms.
. tests/e2e/lib.sh
. tests/e2e/serve.sh
python3 "$root/tests/e2e/make-series.py" dumps empty 1 4
unset CAIRN_PAGE_TOKEN
# A stranger: another user, if this is root. To one's own user a server with a random token shows what it has, so a token is chosen otherwise.
chosen=()
if [ "$(id -u)" = 0 ]; then
	chmod 777 "$scratch" && umask 000
	command=$(command -v curl)
	curl() { setpriv --reuid=65534 --regid=65534 --clear-groups "$command" "$@"; }
else
	chosen=(--token 0123456789abcdef0123456789abcdef)
fi
fresh() { curl -s -m 100 -o /dev/null -w '%{http_code}' "$base$1" "${@:2}"; } # without the token

# The random token.
serve "${chosen[@]}" dumps || broken 'cairn serve starts'
address=$(head -n 1 serve.out) token=$(sed 's/.*?token=//' <<<"$address") port=${base##*:}
like "$address" "http://127.0.0.1:$port/?token=????????????????????????????????" 'a token is in the address, also on loopback'
authorization=()
paths=(/api/processes '/api/series?since=0' /api/tree /api/leaks /api/bill /api/health /api/churn '/api/source?function=main' /api/allocator /api/doctor /api/page
	/api/events /metrics /api/nothing /api /nothing)
is "$(for path in "${paths[@]}"; do code "$path"; echo; done | sort | uniq -c | tr -s ' ')" " ${#paths[@]} 401" 'nothing answers without it'
is "$(for path in activate deactivate snapshot dump attach reset cpu; do post "/api/$path"; echo; done | sort | uniq -c | tr -s ' ')" ' 7 401' 'nor has anything an effect'
is "$(code /) $(code /page.js) $(code /favicon.ico)" '200 200 204' 'but the page, which contains nothing'
is "$(get / | grep -c "$token") $(get /page.js | grep -c "$token")" '0 0' 'also no token'
like "$(get /api/processes)" "*open the address that 'cairn serve' printed*" 'what is refused says what to do'
for wrong in "Bearer ${token%?}" "Bearer ${token}0" "Bearer ${token%?}g" "Basic $token" "$token" 'Bearer ' Bearer; do
	is "$(code /api/processes -H "Authorization: $wrong")" 401 "a wrong one: ${wrong/$token/TOKEN}"
done
is "$(code /api/processes -H "Authorization: Bearer $token") $(code /api/processes -H "Authorization: bearer $token")" '200 200' 'scripts send it as a header'
is "$(code "/metrics?token=$token") $(code "/api/series?since=0&token=$token") $(code "/metrics?token=${token%?}") $(code '/metrics?token=')" '200 200 401 401' \
	'or in the address'
is "$(tr '\0' ' ' <"/proc/$server/cmdline" | grep -c "$token")" 0 'it is not in the list of processes'

# A browser: one visit, then the cookie.
curl -s -D visit.head -o /dev/null -c jar "$address"
like "$(cat visit.head)" "HTTP/1.1 303*Location: ./"$'\r'"*" 'the first visit is sent on'
like "$(cat visit.head)" "*Set-Cookie: cairn-$port=*; Path=/; HttpOnly; SameSite=Strict"$'\r'"*" 'with a cookie for this port, which no script reads and no other site sends'
is "$(grep -c "$token" visit.head)" 0 'that is not the token'
like "$(cat visit.head)" '*Referrer-Policy: no-referrer*' 'and nobody hears where it came from'
like "$(curl -s -L -b jar -c jar -o /dev/null -w '%{http_code} %{url_effective}' "$address")" "200 $base/" 'one click opens the page'
is "$(code /api/processes -b jar) $(code /metrics -b jar) $(post /api/nothing -b jar)" '200 200 404' 'the cookie is as good'
is "$(code /api/nothing -X POST -b jar)" 403 'but effects need the header beside it'
is "$(post /api/nothing -b jar -H 'Origin: http://127.0.0.1:1') $(post /api/nothing -b jar -H 'Sec-Fetch-Site: same-site') $(code /api/processes -b jar -H 'Sec-Fetch-Site: same-site')" \
	'403 403 403' 'and a page of another port, to which a browser sends the cookie, too, is refused'
is "$(post /api/nothing -b jar -H "Origin: $base" -H 'Sec-Fetch-Site: same-origin')" 404 'our own is not'
cookie=$(sed -n "s/.*cairn-$port=\([0-9a-f]*\);.*/\1/p" visit.head)
is "$(code /api/processes -H "Cookie: a=b; cairn-$port=$cookie; c=d") $(code /api/processes -H "Cookie: cairn-1=$cookie") $(code /api/processes -H "Cookie: cairn-$port=${cookie%?}")" \
	'200 401 401' 'by its name and value'
is "$(code /api/processes -H "Cookie: cairn-$port=$token") $(code /api/processes -H "Authorization: Bearer $cookie") $(code "/api/processes?token=$cookie")" '401 401 401' \
	'a cookie is no token, nor the other way'
is "$(code /api/processes -H "Host: localhost:9000" -H "Cookie: cairn-9000=$cookie")" 200 'a forwarded port has a cookie of its own name'
is "$(code "/?token=${token%?}") $(code '/?token=') $(code "/?token=$token" -H 'Sec-Fetch-Site: cross-site')" '401 401 303' 'a wrong token is refused at the first visit, a link from elsewhere is not'
is "$(code "/?token=$token" -H 'Host: evil.example') $(code /api/processes -b jar -H 'Host: evil.example')" '403 403' 'a name that leads here is not ours'
own() { command curl -s -o /dev/null -w '%{http_code}' "$base$1" "${@:2}"; }
if [ "$(id -u)" = 0 ]; then
	is "$(own /api/processes) $(own /metrics) $(own /nothing)" '200 200 404' 'the user of the server needs no token to read'
	is "$(own /api/deactivate -X POST -H 'X-Cairn: 1') $(own /api/open -X POST -H 'X-Cairn: 1')" '401 401' 'but for effects'
	is "$(own /api/processes -H 'Authorization: Bearer wrong') $(own '/api/processes?token=wrong')" '401 401' 'and gets nothing with a wrong one'
	is "$(own /api/processes -H 'Host: evil.example') $(own /api/processes -H 'Origin: http://evil.example') $(own /api/processes -H 'Sec-Fetch-Site: cross-site')" \
		'403 403 403' 'nor does a page in its browser'
else
	skip 'the user of the server' 'root has strangers'
fi

# Several servers at once, on one host.
one=$address first_server=$server
serve dumps
curl -s -o /dev/null -b jar -c jar "$(head -n 1 serve.out)"
authorization=()
is "$(code /api/processes -b jar) $(curl -s -b jar -o /dev/null -w '%{http_code}' "${one%%\?*}api/processes")" '200 200' 'the cookies of two servers live beside each other'
is "$(code /api/processes -H "Authorization: Bearer $token")" 401 'each has a token of its own'
kill -INT $server $first_server
wait $server $first_server

# A token that was chosen.
serve --token secret-1 dumps

# A file that is dropped on the page.
printf 'main;serve;dropped_function 600\n' >dropped.folded
open_file() { get "/api/open?name=x" -X POST --data-binary "@$1" "${@:2}"; }
open_code() { open_file "$1" -o /dev/null -w '%{http_code}' "${@:2}"; }
is "$(curl -s -o /dev/null -w '%{http_code}' -X POST -H 'X-Cairn: 1' --data-binary @dropped.folded "$base/api/open")" 401 'a stranger opens no file'
is "$(open_code dropped.folded)" 403 'nor does a page of another site'
like "$(open_file dropped.folded -H 'X-Cairn: 1' --compressed | tr -d '\0')" '*dropped_function*' 'a profile in the body is answered with its tree'
head -c 5000 /dev/urandom >random.heap
is "$(open_code random.heap -H 'X-Cairn: 1')" 400 'what is none is refused'
like "$(open_file random.heap -H 'X-Cairn: 1')" '{*"error":"x: *' 'with the reason'
truncate -s 33M large.heap
is "$(open_code large.heap -H 'X-Cairn: 1' -H 'Expect:')" 413 'and what is too large'
like "$(head -n 1 serve.out)" 'http://127.0.0.1:*/?token=secret-1' 'a token that is given is the one'
is "$(fresh /api/processes) $(code /api/processes)" '401 200' 'it is asked for'
curl -s -o /dev/null -c jar "$base/?token=secret-1"
port=${base##*:}
kill -INT $server
wait $server
CAIRN_PAGE_TOKEN=secret-1 serve --listen "127.0.0.1:$port" dumps
is "$(fresh /api/processes) $(fresh /api/processes -b jar) $(tr '\0' ' ' <"/proc/$server/cmdline" | grep -c secret)" '401 200 0' \
	'from the environment, it is not in the list of processes; and a browser stays welcome'
is "$(code /api/processes -H 'Host: page.example')" 200 'who chooses a token may use any name'
kill -INT $server
wait $server
SSH_CONNECTION='192.0.2.7 50000 192.0.2.9 2222' USER=alice serve dumps
port=${base##*:}
holds 'in an SSH session the command that reaches it is printed' wait_for 10 grep -q "ssh -L $port:127.0.0.1:$port -p 2222 alice@192.0.2.9; " serve.err
kill -INT $server
wait $server
serve --listen 0.0.0.0:0 dumps
like "$(head -n 1 serve.out)" 'http://*/?token=????????????????????????????????' 'elsewhere than on loopback there is one, too'
is "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$(sed 's|.*:\([0-9]*\)/.*|\1|' serve.out)/api/processes")" 401 'which is asked for'
kill -INT $server
wait $server

# Without one.
serve --no-token dumps
is "$(grep -c token serve.out) $(code /api/processes) $(code /api/processes -H 'Host: evil.example') $(code /api/processes -H 'Origin: http://evil.example')" '0 200 403 403' \
	'--no-token: everybody here, but no page of another site'
kill -INT $server
wait $server
for wrong in '--no-token --token a' '--no-token --listen 0.0.0.0:0'; do
	timeout 20 "$cairn" serve $wrong dumps >out 2>err
	is "$? $(grep -c -- --no-token err)" '2 1' "$wrong"
done

# Grafana's questions.
"$cairn" store init -q sqlite:fleet.db
serve --store sqlite:fleet.db
ask() { "$1" /querier.v1.QuerierService/ProfileTypes -H 'Content-Type: application/json' -d '{}'; }
is "$(ask fresh) $(ask code)" '401 200' 'a data source of Grafana sends the token'
kill -INT $server
wait $server
done_testing
