"""kubernetes.py FILE [SECRET...]: says what in FILE refers to something that is not there: neither in it, nor made by a command in its
comments, nor one of the SECRETs."""
import re
import sys
import yaml

text = open(sys.argv[1]).read()
things = [d for d in yaml.safe_load_all(text) if d]
known = {(d["kind"], d["metadata"]["name"]): d for d in things}
for name, key in re.findall(r"^# +kubectl create secret generic (\S+) --from-literal=(\w+)=", text, re.M):
    known.setdefault(("Secret", name), {}).setdefault("stringData", {})[key] = "made by hand"
secrets = set(sys.argv[2:])


def need(kind, name, where, key=None):
    if kind == "Secret" and name in secrets:
        return
    found = known.get((kind, name))
    if not found:
        print(f"{where}: no {kind} {name}")
    elif key and key not in found.get("stringData", {}):
        print(f"{where}: {kind} {name} has no {key}")


pods = {}
for d in things:
    where = f"{d['kind']} {d['metadata']['name']}"
    if d["kind"] not in ("Deployment", "DaemonSet"):
        continue
    template, spec = d["spec"]["template"], d["spec"]["template"]["spec"]
    pods[where] = template
    labels = template["metadata"]["labels"]
    if not d["spec"]["selector"]["matchLabels"].items() <= labels.items():
        print(f"{where}: selects other pods than its own")
    if "serviceAccountName" in spec:
        need("ServiceAccount", spec["serviceAccountName"], where)
    volumes = {v["name"]: v for v in spec.get("volumes", [])}
    for volume in volumes.values():
        if "persistentVolumeClaim" in volume:
            need("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"], where)
        for item in volume.get("secret", {}).get("items", []):
            need("Secret", volume["secret"]["secretName"], where, item["key"])
    for container in spec["containers"] + spec.get("initContainers", []):
        names = {e["name"] for e in container.get("env", [])}
        for variable in container.get("env", []):
            reference = variable.get("valueFrom", {}).get("secretKeyRef")
            if reference:
                need("Secret", reference["name"], where, reference["key"])
        for word in container.get("command", []):
            if "$(" in word and word.split("$(")[1].split(")")[0] not in names:
                print(f"{where}: {word} is no variable")
        for mount in container.get("volumeMounts", []):
            if mount["name"] not in volumes:
                print(f"{where}: no volume {mount['name']}")
        ports = {p["name"] for p in container.get("ports", [])}
        for probe in ("readinessProbe", "livenessProbe"):
            for way in ("tcpSocket", "httpGet"):
                port = container.get(probe, {}).get(way, {}).get("port")
                if isinstance(port, str) and port not in ports:
                    print(f"{where}: no port {port}")
for d in things:
    if d["kind"] != "Service":
        continue
    mine = [t for t in pods.values() if d["spec"]["selector"].items() <= t["metadata"]["labels"].items()]
    if not mine:
        print(f"Service {d['metadata']['name']} selects no pod")
    for port in d["spec"]["ports"]:
        if not any(p["name"] == port["targetPort"] for t in mine for c in t["spec"]["containers"] for p in c.get("ports", [])):
            print(f"Service {d['metadata']['name']}: no port {port['targetPort']}")
