// The auditor's questions: what was tested, by whom, by which plan and with what.
import { Facts } from "./environment";
import { dateText, durationText, number, withUnit } from "./format";
import { factOf, type Fact, type FactGroup, type Item, type Reading, type Report } from "./model";
import { devicesOf } from "./overview";
import { Table } from "./parts";

const kIdentity = ["driver", "driver version", "firmware", "bus", "PCI ids", "PCIe link"];

function identityText(group: FactGroup): string {
  return group.facts
    .filter((fact) => kIdentity.includes(fact.name) && fact.status === "read")
    .map((fact) => `${fact.name} ${fact.value}`)
    .join(", ");
}

const valueOf = (facts: Fact[], name: string) => facts.find((fact) => fact.name === name && fact.status === "read")?.value ?? "";

// "Intel E810-C": maker and model, as far as they were read.
export const productOf = (item: Item) => [valueOf(item.identity, "maker"), valueOf(item.identity, "model")].filter(Boolean).join(" ");

const amount = (value: number | null, unit: string) => (value === null ? "not read" : withUnit(number(value), unit));

export function Readings({ label, readings }: { label: string; readings: Reading[] }) {
  if (!readings.length) {
    return null;
  }
  return (
    <Table label={label} heads={["reading", "as the run began", "as it ended", "source"]}
      rows={readings.map((each) => [each.name, amount(each.begin, each.unit), amount(each.end, each.unit), each.source])} />
  );
}

function ItemBlock({ item }: { item: Item }) {
  const firmware = item.firmware.map((part): Fact => ({
    name: `firmware ${part.name}`,
    value: part.stored && part.stored !== part.running ? `${part.running} (${part.stored} stored: a restart is pending)` : part.running,
    status: "read",
    source: "devlink",
  }));
  const facts = [...item.identity, ...firmware, ...item.driver, ...item.module];
  const absent = facts.filter((fact) => fact.status === "absent");
  return (
    <div class="item">
      <h3>{item.title || item.device}{productOf(item) && `: ${productOf(item)}`}</h3>
      <Facts facts={facts.filter((fact) => fact.status !== "absent")} />
      {absent.length > 0 && <p class="id">Not present: {absent.map((fact) => fact.name).join(", ")}</p>}
      <Readings label={`Readings of ${item.device}`} readings={item.readings} />
    </div>
  );
}

export function Certificate({ report }: { report: Report }) {
  const { parties, amends } = report;
  const items = report.items ?? [];
  const described = new Set(items.map((item) => item.title));
  const plan = [parties?.plan_id, parties?.plan_revision && `revision ${parties.plan_revision}`].filter(Boolean).join(", ");
  const rows: [string, string | undefined][] = [
    ["Report", report.id],
    ["Laboratory", parties?.laboratory],
    ["Place", parties?.place],
    ["Customer", parties?.customer],
    ["Operator", parties?.operator],
    ["Test plan", plan],
    ["Item received", parties?.received],
    ["Item's condition", parties?.condition],
    ["Performed", `${dateText(report.started_at)}${report.ended_at ? ` to ${dateText(report.ended_at)}` : ""}, took ${durationText(report.seconds)}`],
    ["Issued", report.issued_at && dateText(report.issued_at)],
    ...devicesOf(report).filter((group) => !described.has(group.title))
      .map((group): [string, string] => [group.title, identityText(group)]),
    ["Kernel", factOf(report, "Kernel", "release")],
    ["CPU", factOf(report, "CPU", "model")],
    ["Lab", `${report.lab}: ${report.evidence_class} evidence`],
    ["Tested with", ["pathproof " + report.version, factOf(report, "Software", "DPDK")].filter(Boolean).join(", ")],
    ["Seed", String(report.seed)],
  ];
  return (
    <>
      {amends && <p class="amends"><b>This report takes the place of report {amends.id}</b>: {amends.reason} <small>SHA-256 of its report.json {amends.sha256}</small></p>}
      <dl class="meta">
        {rows.filter(([, value]) => value).map(([name, value]) => <div><dt>{name}</dt><dd>{value}</dd></div>)}
      </dl>
      {items.map((item) => <ItemBlock item={item} />)}
      <p class="note">
        This report relates only to the items tested. Cells and figures are results of measurement; causes, cures and
        prices are conclusions from them.
      </p>
    </>
  );
}
