// The offload matrix - what the profile expects, what the driver says, what the wire showed - and the calibration of the
// instrument that looked.
import { number, plural, Text } from "./format";
import {
  allCells, cellId, type Calibration, type CalibrationRow, type Observation, type Observed, type Scenario, type TruthRow,
  type TruthTable,
} from "./model";
import { Fold, Scroll, Table } from "./parts";

const kLooks: Record<Observed, [string, string]> = {
  "right": ["good", "✓"], "wrong": ["bad", "✕"], "by design": ["info", "◐"], "refused": ["mute", "⊘"],
  "no claim": ["mute", "○"], "not tested": ["none", "–"],
};

function Field({ seen, scenario }: { seen: Observation | undefined; scenario: Scenario }) {
  const observed = seen?.observed ?? "not tested";
  const [tone, symbol] = kLooks[observed];
  const wrong = observed === "wrong";
  const text = seen?.frames ? `${plural(seen.frames, "frame")} judged` : "no frame judged";
  const title = [observed, seen?.names.join(", "), text, seen?.note].filter(Boolean).join(": ");
  const cell = allCells(scenario).find((each) => each.id === seen?.cell);
  const mark = <><span aria-hidden="true">{symbol}</span><span class="hidden">{observed}</span>{wrong && <small>{seen!.names[0]}{seen!.names.length > 1 && ` +${seen!.names.length - 1}`}<br />{number(seen!.wrong)} of {number(seen!.frames)}</small>}</>;
  return <td class={`seen ${tone}`} title={title}>{cell ? <a href={`#${cellId(scenario, cell)}`}>{mark}</a> : mark}</td>;
}

const isWrong = (row: TruthRow) => row.observed.some((seen) => seen.observed === "wrong") || row.finding !== "";

interface MatrixProps { table: TruthTable; rows: TruthRow[]; scenario: Scenario; label: string }

function MatrixTable({ table, rows, scenario, label }: MatrixProps) {
  return (
    <Scroll label={label}>
      <table class="data truth">
        <thead>
          <tr><th scope="col">offload</th><th scope="col">profile</th><th scope="col">driver</th>
            {table.conditions.map((condition) => <th scope="col" class="condition"><Text>{condition}</Text></th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              <th scope="row">{row.offload} <small>{row.direction}</small></th>
              <td>{row.expected || <span class="missing">not said</span>}</td><td>{row.advertised || "–"}</td>
              {table.conditions.map((_, i) => <Field seen={row.observed[i]} scenario={scenario} />)}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

// Frames judged, by what was observed: what a folded matrix says in one line.
function tally(rows: TruthRow[]): string {
  const counts = new Map<Observed, number>();
  for (const seen of rows.flatMap((row) => row.observed)) {
    counts.set(seen.observed, (counts.get(seen.observed) ?? 0) + 1);
  }
  return (Object.keys(kLooks) as Observed[]).filter((each) => counts.has(each))
    .map((each) => `${counts.get(each)} ${each}`).join(", ");
}

export function OffloadMatrix({ table, scenario }: { table: TruthTable; scenario: Scenario }) {
  const wrong = table.rows.filter(isWrong);
  const all = (
    <>
      <p class="note"><Text>{table.device}</Text>. What the profile expects, what the driver says, what the wire showed.</p>
      <MatrixTable table={table} rows={table.rows.filter((row) => !wrong.includes(row))} scenario={scenario} label={`${table.title}, ${wrong.length ? "further rows" : "all rows"}`} />
      <p class="note">✓ right ✕ wrong, with its name ◐ left unfinished by design ⊘ refused ○ no claim made – not tested. <Text>{table.excluded}</Text></p>
    </>
  );
  const others = table.rows.length - wrong.length;
  return (
    <div class="block matrix">
      {wrong.length > 0 && (
        <>
          <h4><Text>{table.title}</Text></h4>
          <MatrixTable table={table} rows={wrong} scenario={scenario} label={`${table.title}, what is wrong`} />
          <ul class="rowfindings">
            {wrong.map((row) => (
              <li><code>{row.offload}</code> <Text>{row.finding}</Text>
                {row.errata.map((erratum) => (
                  <p class="note"><b>{erratum.id}</b> <Text>{erratum.title}</Text> <small>{erratum.certainty}</small> Workaround: <Text>{erratum.workaround}</Text> <small><Text>{erratum.source}</Text></small></p>
                ))}
              </li>
            ))}
          </ul>
        </>
      )}
      {others > 0 && <Fold title={<><b><Text>{table.title}</Text></b>: {plural(others, wrong.length ? "further row" : "row")}, {tally(table.rows.filter((row) => !wrong.includes(row)))}</>}>{all}</Fold>}
    </div>
  );
}

const scoreOf = (rows: CalibrationRow[], score: "detected" | "named" | "located") => {
  const applying = rows.filter((row) => row[score] !== "n/a");
  return `${applying.filter((row) => row[score] === "yes").length} of ${applying.length}`;
};

function CalibrationRows({ title, rows }: { title: string; rows: CalibrationRow[] }) {
  if (!rows.length) {
    return null;
  }
  return (
    <Fold title={`${title} (${rows.length})`}>
      <Table label={title} heads={["id", "planted", "detected", "named", "located", "name given", "frames changed", "frames caught", "note"]}
        rows={rows.map((row) => [row.id, row.fault, row.detected, row.named, row.located, row.given_name, number(row.changed), number(row.caught), row.note])} />
    </Fold>
  );
}

export function CalibrationBlock({ calibration }: { calibration: Calibration }) {
  const { faults, open_world, judge_mutants } = calibration;
  const lines: [string, string][] = [
    ["planted defects detected", scoreOf(faults, "detected")],
    ["named with exactly their name", scoreOf(faults, "named")],
    ["located in exactly the cells they can show in", scoreOf(faults, "located")],
    ["false alarms in healthy frames", `${number(calibration.false_alarms)} in ${number(calibration.healthy_frames)}`],
    ["defects without a name that came out UNKNOWN", scoreOf(open_world, "named")],
    ["pairs of a Tx and an Rx defect: both named, masked and said so, missed",
      `${calibration.pairs_both_named}, ${calibration.pairs_masked}, ${calibration.pairs_missed} of ${calibration.pairs}`],
    ["broken judges that the healthy run unmasked", scoreOf(judge_mutants, "detected")],
  ];
  return (
    <Fold title={`Calibration of the instrument: ${lines[0][1]} planted defects detected, ${calibration.false_alarms} false alarms in ${number(calibration.healthy_frames)} healthy frames`}>
      <p class="note"><Text>{calibration.instrument}</Text> Each planted defect ran alone through the same matrix and the same judge (seed {calibration.seed}).</p>
      <dl class="measures">{lines.map(([name, value]) => <div><dt>{name}</dt><dd><span class="figure">{value}</span></dd></div>)}</dl>
      <CalibrationRows title="Planted defects" rows={faults} />
      <CalibrationRows title="Defects that no name is known for" rows={open_world} />
      <CalibrationRows title="The judge itself broken" rows={judge_mutants} />
      {calibration.confusion.length > 0 && (
        <Fold title="Confusion matrix: planted mechanism and name given">
          <Table label="Confusion matrix" heads={["planted", "named", "times"]}
            rows={calibration.confusion.map((each) => [each.planted, each.given, number(each.count)])} />
        </Fold>
      )}
    </Fold>
  );
}
