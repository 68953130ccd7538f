// Chooses the figures that tell a scenario's cells apart: three of up to thirty go into a cell's row.
import { firstSentence } from "./format";
import { allCells, fails, passesAsExpected, type Cell, type Measure, type Scenario } from "./model";

export interface KeyFigures {
  probes: string[];  // measures that are true or false: shown as marks, in one column
  numbers: string[]; // names of measures, the most telling first
  labels: Record<string, string>;
}

const isBad = (measure: Measure | undefined) =>
  measure !== undefined && (measure.value === false || (typeof measure.value === "number" && measure.value > 0));

const share = (cells: Cell[], name: string) =>
  cells.length ? cells.filter((cell) => isBad(cell.measures[name])).length / cells.length : 0;

// Ranks measures by how well they part cells that fail from cells that pass; what is the same everywhere tells nothing.
export function keyFigures(scenario: Scenario): KeyFigures {
  const cells = allCells(scenario);
  const failing = cells.filter(fails);
  const passing = cells.filter((cell) => cell.verdict === "PASS" && !passesAsExpected(cell));
  const labels: Record<string, string> = {};
  const values: Record<string, Set<unknown>> = {};
  const seen: Record<string, number> = {};
  const probes: string[] = [];
  const scores: [string, number][] = [];
  for (const cell of cells) {
    for (const [name, measure] of Object.entries(cell.measures)) {
      labels[name] = measure.label;
      (values[name] ??= new Set()).add(measure.value);
      seen[name] = (seen[name] ?? 0) + 1;
    }
  }
  for (const name of Object.keys(labels)) {
    const kinds = new Set([...values[name]].filter((value) => value !== null).map((value) => typeof value));
    if (kinds.has("boolean")) {
      probes.push(name);
      continue;
    }
    if (!kinds.has("number") || kinds.has("string") || values[name].size < 2) {
      continue;
    }
    const parted = failing.length ? share(failing, name) - share(passing, name) : 0;
    const hasInterval = cells.some((cell) => cell.measures[name]?.interval);
    scores.push([name, 2 * parted + seen[name] / cells.length + (hasInterval ? 0.75 : 0)]);
  }
  scores.sort((a, b) => b[1] - a[1]);
  return { probes, numbers: scores.map(([name]) => name), labels };
}

// Settings that every cell of the scenario has with the same value: they go to the caption.
export function constantSettings(cells: Cell[]): Record<string, string> {
  const [first, ...others] = cells;
  const same = Object.entries(first?.toggles ?? {}).filter(([axis, value]) =>
    others.every((cell) => cell.toggles[axis] === value));
  return cells.length > 1 ? Object.fromEntries(same) : {};
}

export interface Headline { measure: Measure; label: string }

// The one figure that a scenario is headed by: the worst bar of its chart, the most telling figure of its failing cell,
// or how many of its cells failed.
export function headlineFigure(scenario: Scenario): Headline | null {
  const cell = scenario.cells.find((each) => each.id === scenario.before_cell) ?? scenario.cells.find(fails);
  if (!cell) {
    return null;
  }
  const bars = scenario.charts.flatMap((chart) =>
    chart.bars.filter((bar) => bar.kind === "bad").map((bar) => ({ chart, bar })));
  bars.sort((a, b) => b.bar.value - a.bar.value);
  if (bars.length && bars[0].chart.unit === "%") {
    const { chart, bar } = bars[0];
    return {
      measure: { value: bar.value, unit: chart.unit, interval: bar.interval, label: bar.label, note: "" },
      label: `${lowerFirst(chart.title)} (${bar.label})`,
    };
  }
  const name = keyFigures(scenario).numbers.find((each) => isBad(cell.measures[each]));
  if (name) {
    return { measure: cell.measures[name], label: cell.measures[name].label };
  }
  return null;
}

// A headline of several experiments has a sentence for each: the one that names a cell that fails tells most.
export function tellingSentence(scenario: Scenario): string {
  const sentences = scenario.headline.split(/(?<=\.)\s+(?=[A-Z])/);
  const failing = scenario.cells.filter(fails);
  return sentences.find((sentence) => failing.some((cell) => sentence.includes(cell.id))) ?? firstSentence(scenario.headline);
}

// Keeps lines of the experiment that the sentence is about, where lines begin with one ("Late answer: ...").
export function linesAbout(lines: string[], sentence: string): string[] {
  const experiment = /^([^:]{3,40}): /.exec(sentence)?.[1];
  const about = experiment ? lines.filter((line) => line.startsWith(`${experiment}: `)) : [];
  return about.length ? about.map((line) => line.slice(experiment!.length + 2)) : lines;
}

// "Pairs that ..." in the middle of a sentence; "SNAT ..." stays.
function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text[0].toLowerCase() + text.slice(1) : text;
}
