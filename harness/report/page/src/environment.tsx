// The environment: devices as one matrix with their differences, everything else by group. A value that could not be
// read says so; what is not present is folded.
import { plural } from "./format";
import type { Fact, FactGroup, Report } from "./model";
import { devicesOf } from "./overview";
import { Fold, Scroll } from "./parts";

function valueText(fact: Fact | undefined) {
  if (!fact) {
    return <span class="missing">not asked for</span>;
  }
  return fact.status === "read" ? fact.value
    : fact.status === "absent" ? <span class="missing">not present</span>
    : <span class="missing denied">permission denied</span>;
}

const keyOf = (fact: Fact | undefined) => (fact ? `${fact.status}:${fact.value ?? ""}` : "");

interface MatrixRow { name: string; facts: (Fact | undefined)[] }

function DeviceMatrix({ groups }: { groups: FactGroup[] }) {
  const names = [...new Set(groups.flatMap((group) => group.facts.map((fact) => fact.name)))];
  const rows: MatrixRow[] = names.map((name) => ({
    name,
    facts: groups.map((group) => group.facts.find((fact) => fact.name === name)),
  }));
  const isSame = (row: MatrixRow) => new Set(row.facts.map(keyOf)).size === 1;
  const isAbsent = (row: MatrixRow) => row.facts.every((fact) => fact?.status === "absent");
  const different = rows.filter((row) => !isSame(row));
  const same = rows.filter((row) => isSame(row) && !isAbsent(row));
  const absent = rows.filter((row) => isSame(row) && isAbsent(row));
  return (
    <>
      <h3>Devices under test</h3>
      {different.length > 0 && (
        <Fold title={<><b>{plural(different.length, "property", "properties")} in which they differ</b>: {different.slice(0, 4).map((row) => row.name).join(", ")}{different.length > 4 && ", ..."}</>}>
        <Scroll label="Where the devices differ">
          <table class="data devices">
            <thead><tr><th scope="col">where they differ</th>{groups.map((group) => <th scope="col">{group.title.replace("DUT device ", "")}</th>)}</tr></thead>
            <tbody>
              {different.map((row) => (
                <tr><th scope="row" title={row.facts.find(Boolean)?.source}>{row.name}</th>{row.facts.map((fact) => <td>{valueText(fact)}</td>)}</tr>
              ))}
            </tbody>
          </table>
        </Scroll>
        </Fold>
      )}
      {same.length > 0 && <Fold title={`${plural(same.length, "property", "properties")} ${groups.length > 1 ? "that all of them share" : "of the device"}`}><Facts facts={same.map((row) => row.facts[0]!)} /></Fold>}
      {absent.length > 0 && <Fold title={`${plural(absent.length, "property", "properties")} not present`}><p class="id">{absent.map((row) => row.name).join(", ")}</p></Fold>}
    </>
  );
}

export function Facts({ facts }: { facts: Fact[] }) {
  return (
    <dl class="facts">
      {facts.map((fact) => <div title={fact.source}><dt>{fact.name}</dt><dd>{valueText(fact)}</dd></div>)}
    </dl>
  );
}

export function Environment({ report }: { report: Report }) {
  const devices = devicesOf(report);
  const others = report.environment.filter((group) => !devices.includes(group));
  return (
    <>
      {devices.length > 0 && <DeviceMatrix groups={devices} />}
      <h3>Machine, kernel and tester</h3>
      {others.map((group) => {
        const absent = group.facts.filter((fact) => fact.status === "absent");
        const facts = group.facts.filter((fact) => fact.status !== "absent");
        return (
          <Fold title={<><b>{group.title}</b>{facts[0]?.value && <>: {facts[0].name} {facts[0].value}</>}{facts.length > 1 && ` and ${facts.length - 1} more`}</>}>
            <Facts facts={facts} />
            {absent.length > 0 && <p class="id">Not present: {absent.map((fact) => fact.name).join(", ")}</p>}
          </Fold>
        );
      })}
    </>
  );
}
