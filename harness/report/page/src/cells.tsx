// Cells: one row each, failures open, the others folded; a row unfolds into every figure of its cell.
import { useState } from "preact/hooks";
import { usePrinting } from "./print";
import { constantSettings, keyFigures, type KeyFigures } from "./figures";
import { Figure, Mark, number, plural, Text } from "./format";
import {
  allCells, beforeAndAfter, cellId, findingId, lookOfCell, passesAsExpected, type Cell, type Scenario,
} from "./model";
import { Badge, Chips, Evidence, Fold, Measures } from "./parts";

const kMostCaptioned = 4;

function Probes({ cell, names }: { cell: Cell; names: string[] }) {
  const measured = names.filter((name) => name in cell.measures);
  if (!measured.length) {
    return <span class="missing">not measured</span>;
  }
  return (
    <ul class="marks">
      {measured.map((name) => {
        const { value, label, note } = cell.measures[name];
        const word = value === null ? "not measured" : value ? "got through" : "did not get through";
        return (
          <li title={note || word}>
            {typeof value === "boolean" ? <Mark yes={value} /> : <span class="mark none" aria-hidden="true">–</span>}
            {label}<span class="hidden">: {word}</span>
          </li>
        );
      })}
    </ul>
  );
}

// The runs of a cell: how many failed, which is shown, and whether a baseline expected that.
function Standing({ cell }: { cell: Cell }) {
  return (
    <>
      {cell.runs && <span class="word">failed {cell.runs.failed} of {cell.runs.n}, shown: repetition {cell.runs.kept}</span>}
      {cell.known && <span class="word" title={cell.known}>known</span>}
      {cell.new && <span class="word new">new</span>}
    </>
  );
}

function waiverText({ waiver }: Cell): string {
  return [waiver?.link, waiver?.approver && `accepted by ${waiver.approver}`, waiver?.until && `until ${waiver.until}`]
    .filter(Boolean).map((text) => `, ${text}`).join("");
}

const kRoles = { matrix: "", control: "control", cure: "cure", demonstration: "demonstration" };

interface RowProps {
  scenario: Scenario; cell: Cell; figures: KeyFigures;
  constant: Record<string, string>; // settings that the caption names
  numbers: string[];                // figures that have a column
  repeats?: boolean;                // its reason is that of the row above
}

function Row({ scenario, cell, figures, constant, numbers, repeats }: RowProps) {
  const [open, setOpen] = useState(false);
  const printing = usePrinting();
  const id = cellId(scenario, cell);
  const look = lookOfCell(cell);
  const hasChips = Object.keys(cell.toggles).some((axis) => !(axis in constant));
  return (
    <>
      <tr id={id} class={`cell ${look.tone}`}>
        <td class="state"><Badge look={look} /></td>
        <td class="what">
          <button type="button" class="unfold" aria-expanded={open} onClick={() => setOpen(!open)}>
            {kRoles[cell.role] && <span class="role">{kRoles[cell.role]}</span>}
            {hasChips ? <Chips values={cell.toggles} constant={constant} /> : <code>{cell.id}</code>}
          </button>
          {cell.cause && !passesAsExpected(cell) && <span class="word" id={findingId(scenario, cell)}>{cell.cause}</span>}
          <Standing cell={cell} />
          {cell.reason && <p class="reason">{repeats ? "as above" : <Text>{cell.reason}</Text>}</p>}
        </td>
        {figures.probes.length > 0 && <td><Probes cell={cell} names={figures.probes} /></td>}
        {numbers.map((name) => (
          <td class="number" data-label={figures.labels[name]}><Figure measure={cell.measures[name]} note={false} /></td>
        ))}
      </tr>
      {(open || printing) && (
        <tr class="all" id={`${id}:all`}>
          <td colSpan={2 + (figures.probes.length ? 1 : 0) + numbers.length}>
            <p class="id"><code>{id}</code>{cell.seconds != null && <> took {number(cell.seconds)} s</>}</p>
            {cell.known && <p><b>Known:</b> <Text>{cell.known}</Text>{waiverText(cell)}</p>}
            <Measures measures={Object.values(cell.measures)} />
            <Evidence files={cell.evidence} />
          </td>
        </tr>
      )}
    </>
  );
}

// The most telling figures that some of these cells have.
function shownNumbers(figures: KeyFigures, cells: Cell[]): string[] {
  return figures.numbers.filter((name) => cells.some((cell) => name in cell.measures)).slice(0, figures.probes.length ? 2 : 3);
}

type TableProps = Omit<RowProps, "cell" | "repeats" | "numbers"> & { cells: Cell[]; label: string };

// Columns that all of these cells have in common go to the caption; their rows name the rest.
function CellTable({ scenario, cells, figures, constant, label }: TableProps) {
  const shared = constantSettings(cells);
  const added = Object.fromEntries(Object.entries(shared).filter(([axis]) => !(axis in constant)));
  const numbers = shownNumbers(figures, cells);
  return (
    <table class="cells">
      <caption>
        <span class="hidden">{label}. </span>
        {Object.keys(added).length > 0 && <>In all of these: <Chips values={added} /></>}
      </caption>
      <thead>
        <tr>
          <th scope="col" class="state">state</th><th scope="col">settings</th>
          {figures.probes.length > 0 && <th scope="col" class="probes">probes</th>}
          {numbers.map((name) => <th scope="col" class="number">{figures.labels[name]}</th>)}
        </tr>
      </thead>
      <tbody>
        {cells.map((cell, i) => (
          <Row {...{ scenario, cell, figures, numbers }} constant={{ ...constant, ...shared }} repeats={i > 0 && cells[i - 1].reason === cell.reason} />
        ))}
      </tbody>
    </table>
  );
}

// "17 passed, 3 controls as expected, 8 skipped"
function quietText(cells: Cell[]): string {
  const counts = new Map<string, number>();
  for (const cell of cells) {
    const word = passesAsExpected(cell) ? "as expected" : cell.verdict === "SKIP" ? "skipped" : "passed";
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const controls = cells.filter((cell) => cell.role === "control").length;
  return [...counts].map(([word, count]) => `${number(count)} ${word}`).join(", ") +
    (controls ? ` (of them ${plural(controls, "control")})` : "");
}

export function Cells({ scenario }: { scenario: Scenario }) {
  const cells = allCells(scenario);
  if (!cells.length) {
    return <p class="empty">No cell was run.</p>;
  }
  const figures = keyFigures(scenario);
  const constant = constantSettings(cells);
  const loud = cells.filter((cell) => cell.verdict !== "PASS" && cell.verdict !== "SKIP");
  const quiet = cells.filter((cell) => !loud.includes(cell));
  const same = Object.entries(constant).slice(0, kMostCaptioned);
  return (
    <div class="block">
      <h4>Cells</h4>
      <p class="lead">
        {plural(cells.length, "cell")}{loud.length ? `, ${loud.length} open below` : ""}.
        {same.length > 0 && <> In all of them: {same.map(([axis, value]) => `${axis} ${value}`).join(", ")}.</>}
        {scenario.part && <> Only those that match <code>{scenario.part}</code> were run.</>}
      </p>
      {loud.length > 0 && <CellTable {...{ scenario, figures, constant }} cells={loud} label={`Cells of ${scenario.id} that did not pass`} />}
      {quiet.length > 0 && (
        <Fold title={quietText(quiet)}>
          <CellTable {...{ scenario, figures, constant }} cells={quiet} label={`Other cells of ${scenario.id}`} />
        </Fold>
      )}
    </div>
  );
}

const kRowsShown = 4;

// A cell that fails beside the same cell under the cure: the figures that differ, the most telling first.
export function BeforeAfter({ scenario }: { scenario: Scenario }) {
  const pair = beforeAndAfter(scenario);
  if (!pair) {
    return null;
  }
  const [before, after] = pair;
  const figures = keyFigures(scenario);
  const order = [...figures.probes, ...figures.numbers];
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  const names = Object.keys(before.measures)
    .filter((name) => before.measures[name].value !== after.measures[name]?.value)
    .sort((a, b) => rank(a) - rank(b));
  const rows = (some: string[]) => some.map((name) => (
    <tr>
      <th scope="row">{before.measures[name].label}</th>
      <td><Figure measure={before.measures[name]} note={false} /></td>
      <td><Figure measure={after.measures[name]} note={false} /></td>
    </tr>
  ));
  const changed = Object.fromEntries(Object.entries(after.toggles).filter(([axis, value]) => before.toggles[axis] !== value));
  const head = (
    <tr>
      <td></td>
      <th scope="col"><Badge look={lookOfCell(before)} /> before</th>
      <th scope="col"><Badge look={lookOfCell(after)} /> after</th>
    </tr>
  );
  return (
    <div class="block beforeafter">
      <h4>Before and after</h4>
      {Object.keys(changed).length > 0 && <p class="lead">Changed: <Chips values={changed} /></p>}
      <table class="compare"><thead>{head}</thead><tbody>{rows(names.slice(0, kRowsShown))}</tbody></table>
      {names.length > kRowsShown && (
        <Fold title={`${plural(names.length - kRowsShown, "further figure")} that changed`}>
          <table class="compare"><thead>{head}</thead><tbody>{rows(names.slice(kRowsShown))}</tbody></table>
        </Fold>
      )}
    </div>
  );
}
