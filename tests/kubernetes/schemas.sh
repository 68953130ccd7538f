#!/bin/sh
# Each form of the manifests against the schemas of Kubernetes and prometheus-operator, and the dashboard's queries
# against the exporter's catalogue. The schemas are packages of npm, as package-lock.json has them, loaded once to $2.
# schemas.sh PATHPROOF FOLDER
set -eu
pathproof=$1 folder=$2 here=$(dirname "$0")
if ! command -v npm >/dev/null; then
    echo "skipped: npm is missing: install nodejs and npm"
    exit 77
fi
mkdir -p "$folder"
cp "$here/validate.mjs" "$folder"
if ! cmp -s "$here/package-lock.json" "$folder/loaded.json"; then
    cp "$here/package.json" "$here/package-lock.json" "$folder"
    if ! (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund) >"$folder/npm.log" 2>&1; then
        echo "skipped: npm cannot load the schemas: $(grep -m1 'npm error' "$folder/npm.log")"
        exit 77
    fi
    cp "$here/package-lock.json" "$folder/loaded.json"
fi
saw=$(mktemp)
trap 'rm -f "$saw"' EXIT
for options in "" "--allow drops" "--image r.example:5000/p@sha256:0123 --namespace nets"; do
    # A file that is no valid YAML, or of no schema, ends it here.
    "$pathproof" k8s manifest --client-node node-a --server-node 10.0.0.7 $options | node "$folder/validate.mjs" >"$saw"
    grep -q '"objects":\["Namespace/.*","Service/pathproof-server","Job/pathproof-server","Job/pathproof-inspector",' "$saw" ||
        { echo "not all is there:" "$(cat "$saw")"; exit 1; }
done
"$pathproof" k8s manifest --client-node node-a --server-node node-b --only preflight | node "$folder/validate.mjs" >"$saw"
grep -q '"Service/pathproof-preflight","Job/pathproof-preflight-server","Job/pathproof-preflight-pod","Job/pathproof-preflight-node"' "$saw" ||
    { echo "not all of the preflight is there:" "$(cat "$saw")"; exit 1; }
"$pathproof" k8s manifest --client-node node-a --server-node node-b | node "$folder/validate.mjs" >"$saw"
# What is no schema's is seen.
for wrong in s/readOnlyRootFilesystem/readOnlyRootFilesytem/ s/honorLabels/honourLabels/ s/backoffLimit:.*/backoffLimit:\ none/ \
    's/rate(/rat(e/' 's/expr: max by/expr: max bye/'; do
    if "$pathproof" k8s manifest --client-node node-a --server-node node-b | sed "$wrong" | node "$folder/validate.mjs" >/dev/null 2>&1; then
        echo "not seen: $wrong"
        exit 1
    fi
done
# pathproof_conntrack_COUNTER_total stands for the counters of the kernel.
"$pathproof" inspect export --help-metrics | sed -n 's/{.*//; /^pathproof_/p' >"$saw.known"
trap 'rm -f "$saw" "$saw.known"' EXIT
for metric in $(sed 's/.*"metrics":\[//; s/[]"}]//g; s/,/ /g' "$saw"); do
    grep -qx "$metric" "$saw.known" || case $metric in
        pathproof_conntrack_insert_failed_total | pathproof_conntrack_drop_total | pathproof_conntrack_early_drop_total | \
            pathproof_conntrack_clash_resolve_total) ;;
        *) echo "the dashboard or an alert asks for $metric, which no export has"; exit 1 ;;
    esac
done
