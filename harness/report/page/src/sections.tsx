// The sections of a report's page, in their order. A new section is a module and a row here.
import type { ComponentChildren } from "preact";
import { Certificate } from "./certificate";
import { CoverageReasons } from "./coverage";
import { Environment } from "./environment";
import { Meanwhile } from "./meanwhile";
import { orderedScenarios, type Report } from "./model";
import { Lab } from "./preflight";
import { PricesSection } from "./prices";
import { ScenarioSection } from "./scenario";

export interface PageSection {
  id: string;
  title: string;
  // Nothing where the report has no data for it: the section is then left out, in the navigation too.
  render(report: Report): ComponentChildren | null;
  // Printed in the summary edition.
  inSummary?: boolean;
}

// Meanings of the scenarios' verdicts, those that occur.
function Words({ report }: { report: Report }) {
  const verdicts = new Set(report.scenarios.map((scenario) => scenario.verdict));
  const truths = ["DEFECT FOUND", "NO DEFECT FOUND"].filter((word) => verdicts.has(word)).length;
  const words: string[] = [];
  if (["REPRODUCED", "NOT REPRODUCED", "EXPOSED"].some((word) => verdicts.has(word))) {
    words.push("A scenario sets up a known failure on purpose and looks whether this system shows it: REPRODUCED means that it does.");
  }
  if (verdicts.has("EXPOSED")) {
    words.push("EXPOSED means that it happens here and harmed nobody.");
  }
  if (truths) {
    words.push("A truth table looks for whatever is wrong: DEFECT FOUND means that some frame was.");
  }
  return <p class="lead">{words.join(" ")}</p>;
}

function Repeat({ report }: { report: Report }) {
  return (
    <>
      <pre>{report.repeat_command}</pre>
      <dl class="meta">
        <div><dt>as typed</dt><dd><code>{report.command}</code></dd></div>
        <div><dt>seed</dt><dd><code>{report.seed}</code></dd></div>
      </dl>
      <p class="note">The whole result is in <a href="report.json">report.json</a> beside this page, and in this page itself.</p>
    </>
  );
}

export const kSections: PageSection[] = [
  {
    id: "certificate", title: "What was tested", inSummary: true,
    render: (report) => <Certificate report={report} />,
  },
  {
    id: "lab", title: "The lab, as it was checked before the run",
    render: (report) => report.preflight && <Lab report={report} />,
  },
  {
    id: "scenarios", title: "Scenarios",
    render: (report) => report.scenarios.length > 0 && (
      <><Words report={report} />{orderedScenarios(report).map((scenario) => <ScenarioSection scenario={scenario} />)}</>
    ),
  },
  {
    id: "meanwhile", title: "What happened meanwhile",
    render: (report) => (report.meanwhile?.length ?? 0) > 0 && <Meanwhile report={report} />,
  },
  {
    id: "prices", title: "The price of cures",
    render: (report) => report.prices && <PricesSection report={report} />,
  },
  {
    id: "coverage", title: "Coverage", inSummary: true,
    render: (report) => report.scenarios.some((scenario) => scenario.coverage) && <CoverageReasons scenarios={report.scenarios} />,
  },
  {
    id: "environment", title: "Environment",
    render: (report) => report.environment.length > 0 && <Environment report={report} />,
  },
  { id: "repeat", title: "How to repeat this run", inSummary: true, render: (report) => <Repeat report={report} /> },
];

