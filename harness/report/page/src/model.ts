// The report as harness/report/report.schema.json describes it: only the fields that the page reads.

export interface Interval { low: number; high: number }
export type Value = number | string | boolean | null;
export interface Measure { value: Value; unit: string; interval: Interval | null; label: string; note: string }
export interface EvidenceFile { path: string; description: string; sha256?: string }
export interface Runs { n: number; failed: number; interval: Interval | null; kept: number }
export type CellVerdict = "PASS" | "FAIL" | "ERROR" | "SKIP" | "INCONCLUSIVE" | "UNSTABLE";
export interface Cell {
  id: string;
  toggles: Record<string, string>;
  role: "matrix" | "control" | "cure" | "demonstration";
  verdict: CellVerdict;
  reason: string;
  cause: string;
  known?: string;
  waiver?: { reason: string; link: string; approver: string; until: string };
  new?: boolean;
  runs?: Runs | null;
  seconds?: number | null;
  measures: Record<string, Measure>;
  evidence: EvidenceFile[];
}
export interface Proof { title: string; columns: string[]; rows: string[][]; conclusion: string }
export interface Bar { label: string; value: number; interval: Interval | null; kind: "good" | "bad" | "neutral" }
export interface Point { x: number; y: number; interval: Interval | null }
export interface Curve { label: string; points: Point[] }
export interface AxisMark { label: string; low: number; middle: number; high: number }
export interface Chart {
  title: string; unit: string; maximum: number; bars: Bar[]; x_label?: string; curves?: Curve[]; marks?: AxisMark[];
}
export type Observed = "right" | "wrong" | "by design" | "refused" | "no claim" | "not tested";
export interface Observation {
  observed: Observed; frames: number; wrong: number; names: string[]; cell: string; note: string;
}
export interface Erratum { id: string; title: string; workaround: string; source: string; certainty: string }
export interface TruthRow {
  offload: string; direction: string; expected: string; advertised: string; observed: Observation[]; finding: string;
  errata: Erratum[];
}
export interface TruthTable {
  title: string; device: string; conditions: string[]; rows: TruthRow[]; excluded: string;
}
export type Score = "yes" | "no" | "n/a";
export interface CalibrationRow {
  id: string; fault: string; detected: Score; named: Score; located: Score; given_name: string; changed: number;
  caught: number; note: string;
}
export interface Calibration {
  instrument: string; seed: number; faults: CalibrationRow[]; open_world: CalibrationRow[];
  judge_mutants: CalibrationRow[]; healthy_frames: number; false_alarms: number; pairs: number;
  pairs_both_named: number; pairs_masked: number; pairs_missed: number;
  confusion: { planted: string; given: string; count: number }[];
}
export type Became =
  "failed" | "unstable" | "without a verdict" | "skipped" | "not run" | "not testable here" | "passed";
export interface CoveragePart { became: Became; reason: string; cells: string[] }
export interface Scenario {
  id: string; title: string; question: string; verdict: string; part: string; headline: string; cause: string;
  cure: string; cure_shown: boolean; before_cell: string; after_cell: string; explanation: string[]; cells: Cell[];
  controls: Cell[]; proofs: Proof[]; charts: Chart[]; truth_tables: TruthTable[]; calibration: Calibration | null;
  unexplained: number; evidence: EvidenceFile[]; seconds: number; area?: string; planned?: string[];
  coverage?: CoveragePart[];
  repetitions?: { seed: number; verdict: string; headline: string }[]; kept?: number;
}
export interface Fact { name: string; value: string | null; status: "read" | "absent" | "denied"; source: string }
export interface FactGroup { title: string; facts: Fact[] }
export interface Area { area: string; verdict: string; sentence: string }
export interface Finding {
  scenario: string; area: string; state: "open" | "new" | "conditional" | "accepted"; headline: string; cause: string;
  cure: string; price: string;
}
// Read as the run began and as it ended; null: it was not there to be read then.
export interface Reading { name: string; unit: string; begin: number | null; end: number | null; source: string }
export interface Item {
  device: string; title: string; identity: Fact[]; firmware: { name: string; running: string; stored: string }[];
  driver: Fact[]; module: Fact[]; readings: Reading[];
}
export interface KernelMessage { seconds: number; kind: string; text: string; trace: string[]; subject: string; against: boolean }
export interface HostWatch {
  host: string; log: Fact["status"]; lines: number; lost: number; messages: KernelMessage[]; taint_before: number | null;
  taint_after: number | null; temperatures: Reading[];
}
export interface Preflight {
  checks: { outcome: "ok" | "doubt" | "BAD" | "fix" | "-"; of: string; what: string; found: string }[];
  ports: {
    host: string; name: string; device: string; driver: string; firmware: string; mac: string; addresses: string[];
    link_mbps: number; mtu: number; numa_node: number; pcie: string;
  }[];
  cables: { port: string; device: string; proof: string; found: string }[];
}
export interface PriceRow { id: string; text: string }
export interface PriceCell {
  id: string; cure: string; probe: string; effect: string; without: string; with: string; reason: string;
}
export interface Cost {
  id: string; cure: string; load: string; figure: string; verdict: string; without: Measure; with: Measure;
  more: Measure;
}
export interface Prices {
  kernel: string; version: string; tools: Record<string, string>; measured_at: string; seconds: number;
  cures: PriceRow[]; probes: PriceRow[]; loads: PriceRow[]; cells: PriceCell[]; costs: Cost[];
}
export interface Report {
  schema: string; verdict: string; meaning?: string; reasons: string[]; evidence_class: string; evidence_note: string;
  command: string; repeat_command: string; seed: number; lab: string; profile: string; version: string;
  started_at: string; seconds: number; environment: FactGroup[]; scenarios: Scenario[]; areas?: Area[]; id?: string;
  parties?: {
    laboratory: string; place: string; customer: string; operator: string; plan_id?: string; plan_revision?: string;
    received?: string; condition?: string;
  };
  ended_at?: string; issued_at?: string; amends?: { id: string; sha256: string; reason: string }; items?: Item[];
  meanwhile?: HostWatch[]; preflight?: Preflight; findings?: Finding[];
  options?: { command: string; [option: string]: unknown }; prices?: Prices;
}

export type Tone = "good" | "bad" | "warn" | "mute";
export interface Look { tone: Tone; symbol: string; word: string }

const kCellLooks: Record<CellVerdict, [Tone, string]> = {
  PASS: ["good", "✓"], FAIL: ["bad", "✕"], ERROR: ["warn", "!"], SKIP: ["mute", "–"], INCONCLUSIVE: ["warn", "?"],
  UNSTABLE: ["bad", "≈"],
};

// Whether some probe of the cell did not get through.
function hasFailedProbe(cell: Cell): boolean {
  return Object.values(cell.measures).some((measure) => measure.value === false);
}

// A cell that passes because a failure showed where it must: "PASS" over red crosses would mislead.
export function passesAsExpected(cell: Cell): boolean {
  return cell.verdict === "PASS" && (cell.role === "demonstration" || hasFailedProbe(cell));
}

export function lookOfCell(cell: Cell): Look {
  if (passesAsExpected(cell)) {
    return { tone: "mute", symbol: "=", word: "AS EXPECTED" };
  }
  const [tone, symbol] = kCellLooks[cell.verdict] ?? ["warn", "?"];
  return { tone, symbol, word: cell.verdict };
}

const kVerdictLooks: Record<string, [Tone, string]> = {
  "REPRODUCED": ["bad", "✕"], "DEFECT FOUND": ["bad", "✕"], "NOT REPRODUCED": ["good", "✓"],
  "NO DEFECT FOUND": ["good", "✓"], "EXPOSED": ["warn", "!"], "INCONCLUSIVE": ["warn", "?"], "NOT RUN": ["mute", "–"],
  "QUALIFIED": ["good", "✓"], "CONDITIONALLY QUALIFIED": ["warn", "!"], "NOT QUALIFIED": ["bad", "✕"],
  "INCOMPLETE": ["mute", "?"], "MEASURED": ["mute", "·"],
};

// The look of a verdict, a scenario's or a run's.
export function lookOf(verdict: string): Look {
  const [tone, symbol] = kVerdictLooks[verdict] ?? ["mute", "?"];
  return { tone, symbol, word: verdict };
}

export const fails = (cell: Cell) => cell.verdict === "FAIL" || cell.verdict === "UNSTABLE";
export const allCells = (scenario: Scenario) => [...scenario.cells, ...scenario.controls];
export const cellId = (scenario: Scenario, cell: Cell) => `${scenario.id}/${cell.id}`;
export const findingId = (scenario: Scenario, cell: Cell) => `${scenario.id}/${cell.id}/${cell.cause}`;

// Something went wrong, could not be told, or is a measurement and nothing else: the page shows it open.
export function needsAttention(scenario: Scenario): boolean {
  return ["REPRODUCED", "DEFECT FOUND", "INCONCLUSIVE", "MEASURED"].includes(scenario.verdict) ||
    scenario.unexplained > 0 ||
    scenario.cells.some(fails);
}

export const isFailure = (scenario: Scenario) =>
  scenario.verdict === "REPRODUCED" || scenario.verdict === "DEFECT FOUND";

// The verdict that heads the page: that of the run, or of the one scenario of a complete `repro`.
export function headlineVerdict(report: Report): string {
  const isRepro = report.options?.command === "repro" && report.scenarios.length > 0;
  return isRepro && report.verdict !== "INCOMPLETE" ? report.scenarios[0].verdict : report.verdict;
}

export function factOf(report: Report, group: string, fact: string): string {
  const found = report.environment.find((each) => each.title.startsWith(group));
  return found?.facts.find((each) => each.name === fact && each.status === "read")?.value ?? "";
}

export type State = Finding["state"];
export const kStates: Record<State, Look> = {
  open: { tone: "bad", symbol: "✕", word: "OPEN" },
  new: { tone: "bad", symbol: "✕", word: "NEW" },
  conditional: { tone: "warn", symbol: "!", word: "CONDITIONAL" },
  accepted: { tone: "mute", symbol: "✓", word: "ACCEPTED" },
};

// The scenarios that failed, those that need somebody first, as the report lists them.
export function failures(report: Report): [Scenario, State][] {
  const stateOf = (scenario: Scenario): State => (scenario.cure_shown ? "conditional" : "open");
  if (!report.findings) {
    return report.scenarios.filter(isFailure).map((scenario) => [scenario, stateOf(scenario)]);
  }
  return report.findings.flatMap((finding): [Scenario, State][] => {
    const scenario = report.scenarios.find((each) => each.id === finding.scenario);
    return scenario ? [[scenario, finding.state]] : [];
  });
}

// A cell that fails and the same cell cured: as the scenario names them, or the first pair one setting apart.
export function beforeAndAfter(scenario: Scenario): [Cell, Cell] | null {
  if (scenario.before_cell && scenario.after_cell) {
    const find = (id: string) => allCells(scenario).find((cell) => cell.id === id);
    const [before, after] = [find(scenario.before_cell), find(scenario.after_cell)];
    return before && after ? [before, after] : null;
  }
  for (const before of scenario.cells.filter(fails)) {
    const after = scenario.cells.find((cell) => cell.verdict === "PASS" && differences(before, cell) === 1);
    if (after) {
      return [before, after];
    }
  }
  return null;
}

// The number of settings in which two cells differ; -1 where they do not have the same settings.
function differences(a: Cell, b: Cell): number {
  const axes = Object.keys(a.toggles);
  if (axes.length !== Object.keys(b.toggles).length || axes.some((axis) => !(axis in b.toggles))) {
    return -1;
  }
  return axes.filter((axis) => a.toggles[axis] !== b.toggles[axis]).length;
}

// By area, as the run's verdicts are; within an area those that need attention first.
export function orderedScenarios(report: Report): Scenario[] {
  const areas = (report.areas ?? []).map((area) => area.area);
  const rank = (scenario: Scenario) => 2 * areas.indexOf(scenario.area ?? "") + (needsAttention(scenario) ? 0 : 1);
  return [...report.scenarios].sort((a, b) => rank(a) - rank(b));
}
