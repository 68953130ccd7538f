// Planned cells and what became of them: a stacked bar, with the reasons behind it.
import { Fragment } from "preact";
import { number, plural, Text } from "./format";
import { allCells, cellId, type Became, type Scenario } from "./model";
import { Fold } from "./parts";

const kOrder: Became[] = ["failed", "unstable", "without a verdict", "passed", "skipped", "not run", "not testable here"];
const kTones: Record<Became, string> = {
  "failed": "bad", "unstable": "bad", "without a verdict": "warn", "passed": "good", "skipped": "mute", "not run": "mute",
  "not testable here": "mute",
};

const kBeside: Became = "not testable here"; // fields of truth tables, which are no part of the plan

function countsOf(scenarios: Scenario[]): [Became, number][] {
  return kOrder.map((became): [Became, number] => [
    became,
    scenarios.flatMap((scenario) => scenario.coverage ?? [])
      .filter((part) => part.became === became)
      .reduce((sum, part) => sum + part.cells.length, 0),
  ]).filter((entry) => entry[1] > 0);
}

export function Coverage({ scenarios }: { scenarios: Scenario[] }) {
  const found = countsOf(scenarios);
  const counts = found.filter(([became]) => became !== kBeside);
  const beside = found.find(([became]) => became === kBeside)?.[1] ?? 0;
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  if (!all) {
    return null;
  }
  const text = `${number(all)} planned: ${counts.map(([became, count]) => `${number(count)} ${became}`).join(", ")}` +
    (beside ? `; ${number(beside)} ${kBeside}` : "");
  let left = 0;
  return (
    <div class="coverage">
      <svg role="img" aria-label={text} width="100%" height="10">
        {counts.map(([became, count]) => {
          const x = left;
          left += (100 * count) / all;
          return (
            <rect class={`part ${kTones[became]} ${became.split(" ")[0]}`} x={`${x}%`} y="0" width={`${(100 * count) / all}%`} height="10">
              <title>{`${count} ${became}`}</title>
            </rect>
          );
        })}
      </svg>
      <p>{text}</p>
    </div>
  );
}

export function CoverageReasons({ scenarios }: { scenarios: Scenario[] }) {
  return (
    <table class="data coveragetable">
      <thead><tr><th scope="col">scenario</th><th scope="col">planned, and what became of it</th><th scope="col">what did not pass, and why</th></tr></thead>
      <tbody>
        {scenarios.map((scenario) => {
          const ids = new Set(allCells(scenario).map((cell) => cell.id));
          const open = (scenario.coverage ?? []).filter((part) => part.became !== "passed");
          return (
            <tr>
              <th scope="row"><a href={`#${scenario.id}`}>{scenario.id}</a></th>
              <td><Coverage scenarios={[scenario]} /></td>
              <td>
                {open.length === 0 ? <span class="soft">nothing</span> : open.map((part) => (
                  <Fold title={<><b>{plural(part.cells.length, "cell")} {part.became}</b>{part.reason && <>: <Text>{part.reason}</Text></>}</>}>
                    <p class="id">
                      {part.cells.map((id, i) => (
                        <Fragment>{i > 0 && ", "}{ids.has(id) ? <a href={`#${cellId(scenario, { id } as never)}`}>{id}</a> : id}</Fragment>
                      ))}
                    </p>
                  </Fold>
                ))}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
