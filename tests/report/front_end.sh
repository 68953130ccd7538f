#!/usr/bin/env bash
# Rebuilds the report's page from its locked packages, compares it with the bundle that is checked in, and tests it in Chromium.
#   front_end.sh PAGE_FOLDER RENDER_SAMPLE
# npm ci needs the network, or npm's cache of an earlier run; without both the test is skipped, and says so.
set -euo pipefail

page=$1
render=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "front_end.sh: $*" >&2
    exit 1
}

mkdir "$scratch/page"
cp -r "$page"/{package.json,package-lock.json,tsconfig.json,vite.config.ts,src} "$scratch/page"
cd "$scratch/page"
npm ci --ignore-scripts --prefer-offline --no-audit --no-fund >"$scratch/npm.log" 2>&1 || {
    cat "$scratch/npm.log" >&2
    echo "front_end.sh: skipped: npm cannot install what package-lock.json names; it needs registry.npmjs.org, or a cache that has it all" >&2
    exit 77
}
npm run --silent build
for piece in page.html data.html; do
    cmp "bundle/$piece" "$page/bundle/$piece" ||
        fail "$page/bundle/$piece is not what the sources give: run 'npm ci && npm run build' in $page and check it in"
done
echo "the bundle is what the sources give"

# The default run; the same with prices; and one whose texts are markup.
mkdir "$scratch/reports"
python3 - "$here" "$scratch/reports" <<'PYTHON'
import gzip, json, sys

here, out = sys.argv[1:]
load = lambda name: json.load(gzip.open(f"{here}/{name}.json.gz"))
default = load("default_run")
priced = dict(default, prices=load("prices"))
hostile = json.loads(json.dumps(default))
bad = "<img src=x onerror=alert(1)> </script><script>alert(2)</script> `code` javascript:alert(3)"
for scenario in hostile["scenarios"]:
    for key in ("title", "question", "headline", "cause", "cure"):
        scenario[key] = bad
    scenario["evidence"] = [{"path": "javascript:alert(4)", "description": bad}, {"path": "evidence/../../x", "description": bad}]
    for cell in scenario["cells"]:
        cell["reason"] = bad
        cell["toggles"] = {bad + axis: bad + value for axis, value in cell["toggles"].items()}
for group in hostile["environment"]:
    group["title"] = "DUT device " + bad
for name, report in (("default", default), ("priced", priced), ("hostile", hostile)):
    with open(f"{out}/{name}.json", "w") as file:
        json.dump(report, file)
PYTHON
for report in default priced hostile; do
    "$render" "$scratch/reports/$report.json" "$scratch/reports/$report" >/dev/null
done

browser=$(command -v chromium || command -v google-chrome) || fail "there is no chromium"
PAGE_PACKAGES=$scratch/page REPORTS=$scratch/reports CHROMIUM=$browser node --test "$here/page_test.mjs"
