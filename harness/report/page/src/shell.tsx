// The parts that stay in sight: the bar with device, verdict, search, theme and print, and the navigation by area.
import { useEffect, useState } from "preact/hooks";
import { headlineVerdict, lookOf, orderedScenarios, type Report } from "./model";
import { deviceNames, Overview } from "./overview";
import { Badge, Section } from "./parts";
import { paperFromHash, setPaper, type Edition, type Paper } from "./print";
import { Search } from "./search";
import { kSections, type PageSection } from "./sections";

const kThemes = ["auto", "light", "dark"] as const;

function ThemeSwitch() {
  const [theme, setTheme] = useState(0);
  const choose = () => {
    const next = (theme + 1) % kThemes.length;
    setTheme(next);
    document.documentElement.dataset.theme = kThemes[next];
  };
  return <button type="button" onClick={choose} aria-label={`Colours: ${kThemes[theme]}. Change`}>◐ {kThemes[theme]}</button>;
}

function PrintMenu({ report }: { report: Report }) {
  const print = (edition: Edition, paper: Paper) => {
    setPaper(edition, paper, runningHead(report), report.id ?? "");
    window.print();
  };
  return (
    <details class="menu">
      <summary>Print</summary>
      <div>
        {(["summary", "full"] as const).flatMap((edition) => (["A4", "letter"] as const).map((paper) => (
          <button type="button" onClick={() => print(edition, paper)}>{edition === "full" ? "Full" : "Summary"}, {paper === "A4" ? "A4" : "Letter"}</button>
        )))}
      </div>
    </details>
  );
}

const runningHead = (report: Report) => `${headlineVerdict(report)} · ${deviceNames(report) || report.lab} · pathproof`;

function Navigation({ report, sections }: { report: Report; sections: PageSection[] }) {
  const scenarios = orderedScenarios(report);
  const areas = [...new Set(scenarios.map((scenario) => scenario.area ?? "scenarios"))];
  return (
    <nav aria-label="Sections">
      <ul>
        <li><a href="#verdict">Verdict and findings</a></li>
        {sections.map((section) => (
          <li>
            <a href={`#${section.id}`}>{section.title}</a>
            {section.id === "scenarios" && areas.map((area) => (
              <ul aria-label={area}>
                <li class="area">{area}</li>
                {scenarios.filter((scenario) => (scenario.area ?? "scenarios") === area).map((scenario) => {
                  const look = lookOf(scenario.verdict);
                  return (
                    <li><a href={`#${scenario.id}`} title={`${scenario.title}: ${scenario.verdict}`}>
                      <span class={`dot ${look.tone}`} aria-hidden="true">{look.symbol}</span> {scenario.id}<span class="hidden">: {scenario.verdict}</span>
                    </a></li>
                  );
                })}
              </ul>
            ))}
          </li>
        ))}
      </ul>
    </nav>
  );
}

export function ReportPage({ report }: { report: Report }) {
  const drawn = kSections.map((section) => ({ section, content: section.render(report) })).filter(({ content }) => content);
  useEffect(() => {
    const { edition, paper } = paperFromHash(location.hash);
    setPaper(edition, paper, runningHead(report), report.id ?? "");
  }, [report]);
  return (
    <>
      <a class="skip" href="#content">Skip to the report</a>
      <header class="bar">
        <a class="wordmark" href="#verdict">pathproof</a>
        <span class="which">{deviceNames(report)} <Badge look={lookOf(headlineVerdict(report))} /></span>
        <Search report={report} />
        <ThemeSwitch />
        <PrintMenu report={report} />
      </header>
      <div class="frameof">
        <details class="navmenu"><summary>Sections</summary><Navigation report={report} sections={drawn.map(({ section }) => section)} /></details>
        <aside><Navigation report={report} sections={drawn.map(({ section }) => section)} /></aside>
        <main id="content" tabIndex={-1}>
          <Overview report={report} />
          {drawn.map(({ section, content }) => (
            <div class={section.inSummary ? "section insummary" : "section"}><Section id={section.id} title={section.title}>{content}</Section></div>
          ))}
          <p class="end">End of report{report.id ? ` ${report.id}` : ""}.</p>
        </main>
      </div>
    </>
  );
}
