# clickhouse.sh - sourced by tests and benchmarks that need a ClickHouse server: Debian's, on loopback. The caller has `scratch` and `free_port`.

# clickhouse_start FOLDER MEMORY [USER PASSWORD [HTTP TCP INTERSERVER [XML]]]: starts a server that keeps everything in FOLDER and whose queries
# have MEMORY bytes; XML is added to its configuration. Sets clickhouse_pid and clickhouse_http, its port, and returns when it answers.
clickhouse_start() {
	local folder=$1 memory=$2 user=${3:-default} password=${4:-} tcp inter
	clickhouse_http=${5:-$(free_port)} tcp=${6:-$(free_port)} inter=${7:-$(free_port)}
	mkdir -p "$folder/data" "$folder/tmp"
	cat >"$folder/config.xml" <<X
<yandex><logger><level>warning</level><log>$folder/log</log><errorlog>$folder/err</errorlog></logger><listen_host>127.0.0.1</listen_host>
<http_port>$clickhouse_http</http_port><tcp_port>$tcp</tcp_port><interserver_http_port>$inter</interserver_http_port>
<interserver_http_host>127.0.0.1</interserver_http_host><path>$folder/data/</path><tmp_path>$folder/tmp/</tmp_path>
<users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size>${8:-}</yandex>
X
	cat >"$folder/users.xml" <<X
<yandex><profiles><default><max_memory_usage>$memory</max_memory_usage></default></profiles><users><$user><password>$password</password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></$user></users><quotas><default></default></quotas></yandex>
X
	(cd "$folder" && exec clickhouse-server --config-file=config.xml) >"$folder/out" 2>&1 &
	clickhouse_pid=$!
	local tries
	for tries in $(seq 3000); do
		curl -sf "http://127.0.0.1:$clickhouse_http/ping" >/dev/null && return
		kill -0 "$clickhouse_pid" 2>/dev/null || break
		sleep 0.2
	done
	tail -n 5 "$folder/err" "$folder/out" >&2
	return 1
}

# clickhouse_ask DATABASE STATEMENT [CURL-OPTION...]
clickhouse_ask() {
	local database=$1 statement=$2
	shift 2
	curl -s "http://127.0.0.1:$clickhouse_http/?database=$database" "$@" --data-binary "$statement"
}
