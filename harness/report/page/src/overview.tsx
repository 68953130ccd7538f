// The first screen: which device, the verdict, why, the verdicts by subject and the findings that matter.
import { Coverage } from "./coverage";
import { headlineFigure, linesAbout, tellingSentence } from "./figures";
import { Figure, plural, shortSentence, Text } from "./format";
import { factOf, failures, headlineVerdict, kStates, lookOf, type FactGroup, type Report, type Scenario, type State } from "./model";
import { Badge } from "./parts";
import { productOf } from "./certificate";
import { cureLines, priceText } from "./prices";

const kFindingsShown = 3;

export function devicesOf(report: Report): FactGroup[] {
  return report.environment.filter((group) => group.title.startsWith("DUT device "));
}

// "eth0, vx, d0": the names of the devices under test, each once.
export function deviceNames(report: Report): string {
  const names = devicesOf(report).map((group) => group.title.replace("DUT device ", "").split(/[ (]/)[0]);
  return [...new Set(names)].join(", ");
}

// "veth": the drivers of the devices under test, each once.
export function driverNames(report: Report): string {
  const drivers = devicesOf(report).map((group) =>
    group.facts.find((fact) => fact.name === "driver" && fact.status === "read")?.value ?? "");
  return [...new Set(drivers.filter(Boolean))].join(", ");
}

const kSubjects: Record<string, string> = {
  physical: "of this hardware, driver and kernel",
  virtual: "of the software path, on virtual devices",
  simulated: "of a simulated path",
};

function Finding({ scenario, state }: { scenario: Scenario; state: State }) {
  const figure = headlineFigure(scenario);
  const about = tellingSentence(scenario);
  const cause = linesAbout(scenario.cause.split("\n"), about)[0];
  const cures = linesAbout(cureLines(scenario), about);
  return (
    <tr>
      <td class="big">{figure ? <Figure measure={figure.measure} note={false} /> : <span class="missing">no figure</span>}
        {figure && <small>{figure.label}</small>}</td>
      <th scope="row"><a href={`#${scenario.id}`}>{scenario.title}</a> {state !== "conditional" && <Badge look={kStates[state]} />}
        <p>{cause ? <Text>{shortSentence(cause)}</Text> : "The cause was not named."}</p></th>
      <td data-label="Cure">{cures.length ? cures.map((line) => <p><Text>{shortSentence(line)}</Text></p>) : "None was found."}
        <small class={scenario.cure_shown ? "good" : "warn"}>{scenario.cure_shown ? "✓ shown in this run" : "! not shown in this run"}</small></td>
      <td data-label="Price"><Text>{priceText(scenario, cures)}</Text></td>
    </tr>
  );
}

function Findings({ report }: { report: Report }) {
  const sorted = failures(report);
  if (!sorted.length) {
    return null;
  }
  const rest = sorted.slice(kFindingsShown);
  return (
    <section class="findings" aria-labelledby="findings-title">
      <h2 id="findings-title">{sorted.length > kFindingsShown ? "The findings that matter most" : "Findings"}</h2>
      <table class="findings">
        <thead><tr><th scope="col">measured</th><th scope="col">finding, and its cause</th><th scope="col">cure</th><th scope="col">price of the cure</th></tr></thead>
        <tbody>{sorted.slice(0, kFindingsShown).map(([scenario, state]) => <Finding {...{ scenario, state }} />)}</tbody>
      </table>
      {rest.length > 0 && (
        <p class="note">Also: {rest.map(([scenario], i) => <>{i > 0 && ", "}<a href={`#${scenario.id}`}>{scenario.title}</a></>)}.</p>
      )}
    </section>
  );
}

function Areas({ report }: { report: Report }) {
  return (
    <ul class="areas" aria-label="Verdicts by subject">
      {(report.areas ?? []).map(({ area, verdict, sentence }) => {
        const look = lookOf(verdict);
        const scenarios = report.scenarios.filter((scenario) => scenario.area === area);
        return (
          <li class={look.tone}>
            <h2>{area}</h2><Badge look={look} />
            <p><Text>{sentence}</Text></p>
            <Coverage scenarios={scenarios} />
          </li>
        );
      })}
    </ul>
  );
}

export function Overview({ report }: { report: Report }) {
  const look = lookOf(headlineVerdict(report));
  const drivers = driverNames(report);
  const models = (report.items ?? []).map((item) => productOf(item)).filter(Boolean);
  const subject = kSubjects[report.evidence_class] ?? "";
  return (
    <section class="overview" id="verdict" aria-labelledby="verdict-title">
      <p class="device">
        <b>{deviceNames(report) || "No device"}</b>{models.length > 0 && ` ${[...new Set(models)].join(", ")}`}{drivers && ` (${drivers})`}
        {" · "}Linux {factOf(report, "Kernel", "release") || "not read"}
        {report.profile && ` · profile ${report.profile}`} · lab {report.lab}
      </p>
      <div class={`verdict ${look.tone}`}>
        <span class="sign" aria-hidden="true">{look.symbol}</span>
        <div>
          <h1 id="verdict-title">{look.word} <span>{subject}</span></h1>
          {report.meaning && <p>{report.meaning}</p>}
        </div>
      </div>
      <Areas report={report} />
      <Findings report={report} />
      <details class="why"><summary>Why this verdict: {plural(report.reasons.length, "reason")}</summary>
        <ul>{report.reasons.map((reason) => <li><Text>{reason}</Text></li>)}</ul>
      </details>
      <p class="note evidenceclass"><b>Evidence class: {report.evidence_class}.</b> <Text>{report.evidence_note}</Text></p>
    </section>
  );
}
