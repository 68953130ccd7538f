// The price of cures: what each cure does to failures that it is not for, and what it costs.
import { dateText, intervalText, number, plural, Text, withUnit } from "./format";
import type { Cost, Prices, Report, Scenario } from "./model";
import { Fold, Scroll, Table } from "./parts";

const kEffects: Record<string, [string, string]> = {
  "cures": ["good", "✓"], "breaks": ["bad", "✕"], "does not touch": ["mute", "·"], "not measured": ["warn", "?"],
  "does not apply": ["none", "–"],
};

const isPrice = (line: string) => /^Side effects? (of|not)\b/.test(line);

// A scenario's cure without, and with only, the lines that price it.
export const cureLines = (scenario: Scenario) => scenario.cure.split("\n").filter((line) => line && !isPrice(line));
export const priceLines = (scenario: Scenario) => scenario.cure.split("\n").filter(isPrice);

// The text without what stands in brackets that begin so.
function withoutBrackets(text: string, begins: RegExp): string {
  const at = text.search(begins);
  if (at < 0) {
    return text;
  }
  let depth = 0;
  let end = at;
  do {
    depth += text[end] === "(" ? 1 : text[end] === ")" ? -1 : 0;
    end += 1;
  } while (depth > 0 && end < text.length);
  return withoutBrackets(text.slice(0, at).trimEnd() + text.slice(end), begins);
}

// The first effect: "breaks snat-timestamps; 2 more".
function shortPrice(line: string): string {
  const text = withoutBrackets(line, /\((fails: |\d+ of its probes)/).replace(/^.*?, measured [^:]*: /, "").replace(/\.$/, "");
  const none = /^none was seen in (\d+) of/.exec(text);
  if (none) {
    return `no side effect seen in ${plural(Number(none[1]), "probe")}`;
  }
  const [first, ...others] = text.split("; ");
  return others.length ? `${first}; ${others.length} more` : first;
}

// The price of the cures that these lines name, in a few words; never silent: one that was not measured says so.
export function priceText(scenario: Scenario, cures: string[]): string {
  if (!scenario.cure) {
    return "–";
  }
  const codes = cures.flatMap((line) => [...line.matchAll(/`([^`]+)`/g)].map((match) => `\`${match[1]}\``));
  const told = priceLines(scenario).filter((line) => !/not measured/.test(line.split(":")[0]));
  const named = told.filter((line) => codes.some((code) => line.includes(code)));
  const prices = new Set((named.length ? named : told).map(shortPrice));
  return prices.size ? [...prices].join(". ") : "not measured: `--prices` measures it";
}

function EffectMatrix({ prices }: { prices: Prices }) {
  return (
    <Scroll label="What each cure does">
      <table class="data effects">
        <thead><tr><th scope="col">cure</th>{prices.probes.map((probe) => <th scope="col" class="condition" title={probe.text}>{probe.id}</th>)}</tr></thead>
        <tbody>
          {prices.cures.map((cure) => (
            <tr>
              <th scope="row"><Text>{cure.text}</Text></th>
              {prices.probes.map((probe) => {
                const cell = prices.cells.find((each) => each.cure === cure.id && each.probe === probe.id);
                const effect = cell?.effect ?? "does not apply";
                const [tone, symbol] = kEffects[effect] ?? ["mute", "·"];
                const title = [effect, cell && `without: ${cell.without}`, cell && `with: ${cell.with}`, cell?.reason].filter(Boolean).join("; ");
                return <td class={`seen ${tone}`} title={title}><span aria-hidden="true">{symbol}</span><span class="hidden">{effect}</span></td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

const measureText = (measure: Cost["more"]) =>
  measure.value === null ? "not measured"
    : withUnit(typeof measure.value === "number" ? number(measure.value) : String(measure.value), measure.unit) +
      (measure.interval ? ` (${intervalText(measure.interval, 1)})` : "");

function effectCounts(prices: Prices): string {
  return Object.keys(kEffects)
    .map((effect) => [effect, prices.cells.filter((cell) => cell.effect === effect).length] as const)
    .filter(([, count]) => count > 0)
    .map(([effect, count]) => `${count} ${effect}`).join(", ");
}

export function PricesSection({ report }: { report: Report }) {
  const prices = report.prices!;
  const breaking = prices.cells.filter((cell) => cell.effect === "breaks");
  const told = prices.costs.filter((cost) => cost.verdict === "costs" || cost.verdict === "saves");
  const others = prices.costs.filter((cost) => !told.includes(cost));
  const heads = ["cure", "load", "figure", "without", "with", "difference", "verdict"];
  const rows = (costs: Cost[]) => costs.map((cost) => [
    cost.cure, cost.load, cost.more.label, measureText(cost.without), measureText(cost.with), measureText(cost.more),
    cost.verdict === "not measured" ? `not measured: ${cost.more.note}` : cost.verdict,
  ]);
  const tools = Object.entries(prices.tools).map(([tool, version]) => (version.startsWith(tool) ? version : `${tool} ${version}`));
  return (
    <>
      <p class="lead">
        {plural(prices.cures.length, "cure")} on {plural(prices.probes.length, "probe")}, measured {dateText(prices.measured_at)} on Linux {prices.kernel}.
        Costs are medians of rounds that alternate, with 95 % intervals.
      </p>
      {breaking.length > 0 && (
        <ul class="breaks">
          {breaking.map((cell) => <li><b>✕ {cell.cure}</b> breaks {cell.probe}: <Text>{cell.with}</Text></li>)}
        </ul>
      )}
      {told.length > 0 && <><h3>What the cures cost and save</h3><Table label="What the cures cost and save" heads={heads} rows={rows(told)} /></>}
      {others.length > 0 && <Fold title={`${plural(others.length, "figure")} within noise or not measured`}><Table label="Other costs" heads={heads} rows={rows(others)} /></Fold>}
      <Fold title={`What each cure does to each failure: ${effectCounts(prices)}`}>
        <EffectMatrix prices={prices} />
        <p class="note">✓ cures ✕ breaks · does not touch ? not measured – does not apply</p>
      </Fold>
      <Fold title="Each effect, the loads and the tools">
        <Table label="Each effect" heads={["cure", "probe", "effect", "without", "with", "why"]}
          rows={prices.cells.filter((cell) => cell.effect !== "does not apply").map((cell) => [cell.cure, cell.probe, cell.effect, cell.without, cell.with, cell.reason])} />
        <ul>{prices.loads.map((load) => <li><code>{load.id}</code>: <Text>{load.text}</Text></li>)}</ul>
        <p class="note">{tools.join(", ")}</p>
      </Fold>
    </>
  );
}
