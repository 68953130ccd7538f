// Reads manifests (YAML) from standard input and holds each against the schema of its kind: those of
// Kubernetes and of prometheus-operator. A key that no schema knows is refused too, as `kubectl apply
// --validate=strict` does. Prints what it saw as one JSON object: {"objects": ["Job/x", ...],
// "metrics": [names in the PromQL of dashboards and alerts]}. Ends with 1 where something is wrong.
import { readFileSync } from "node:fs";
import { parser } from "@prometheus-io/lezer-promql";
import { parseAllDocuments } from "yaml";

const operator = "monitoring.coreos.com";

// What is read of an object by name is known to its schema: the validators are code that was made of it.
function watched(value, seen, path) {
    if (value === null || typeof value !== "object") {
        return value;
    }
    return new Proxy(value, {
        get(target, key) {
            if (typeof key === "string" && Object.hasOwn(target, key)) {
                seen.add(`${path}/${key}`);
            }
            return watched(target[key], seen, `${path}/${String(key)}`);
        },
    });
}

function* keysOf(value, path) {
    if (value !== null && typeof value === "object") {
        for (const [key, part] of Object.entries(value)) {
            yield `${path}/${key}`;
            yield* keysOf(part, `${path}/${key}`);
        }
    }
}

async function wrongIn(object) {
    const { apiVersion, kind } = object;
    const group = apiVersion.split("/")[0];
    const home = group === operator ? "@kubernetes-models/prometheus-operator" : "kubernetes-models";
    const model = (await import(`${home}/${apiVersion}/${kind}`))[kind];
    const seen = new Set();
    const checked = new model(object);
    for (const key of Object.keys(checked)) {
        checked[key] = watched(checked[key], seen, `/${key}`);
        seen.add(`/${key}`);
    }
    try {
        checked.validate();
    } catch (error) {
        return [error.message];
    }
    return [...keysOf(object, "")].filter((path) => !seen.has(path)).map((path) => `${path} is in no schema`);
}

// The names of the metrics that a query asks for.
function metricsOf(query, where) {
    const metrics = [];
    parser.parse(query).iterate({
        enter(node) {
            if (node.type.isError) {
                throw new Error(`${where}: ${query}: no PromQL at ${node.from}`);
            }
            if (node.name === "VectorSelector") {
                const name = node.node.getChild("Identifier");
                metrics.push(query.slice(name.from, name.to));
            }
        },
    });
    return metrics;
}

const metricsOfDashboard = (dashboard) =>
    JSON.parse(dashboard).panels.flatMap(({ title, targets }) =>
        targets.flatMap(({ expr }) => metricsOf(expr.replaceAll("$__rate_interval", "5m"), `panel "${title}"`)),
    );
const metricsOfRules = (spec) =>
    spec.groups.flatMap(({ rules }) => rules.flatMap(({ alert, expr }) => metricsOf(expr, `alert ${alert}`)));

const objects = [];
const metrics = new Set();
const wrong = [];
for (const document of parseAllDocuments(readFileSync(0, "utf8"), { uniqueKeys: true })) {
    const [error] = document.errors;
    if (error) {
        throw error;
    }
    const object = document.toJS();
    const name = `${object.kind}/${object.metadata.name}`;
    objects.push(name);
    wrong.push(...(await wrongIn(object)).map((sentence) => `${name}: ${sentence}`));
    if (object.metadata.labels?.grafana_dashboard) {
        Object.values(object.data).flatMap(metricsOfDashboard).forEach((metric) => metrics.add(metric));
    }
    if (object.kind === "PrometheusRule") {
        metricsOfRules(object.spec).forEach((metric) => metrics.add(metric));
    }
}
console.log(JSON.stringify({ objects, metrics: [...metrics].sort() }));
wrong.forEach((sentence) => console.error(sentence));
process.exitCode = wrong.length === 0 ? 0 : 1;
