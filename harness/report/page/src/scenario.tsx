// One scenario: headline number, one sentence, chart, before and after, cause and cure, then cells and what proves it.
import { BeforeAfter, Cells } from "./cells";
import { Charts } from "./charts";
import { headlineFigure, tellingSentence } from "./figures";
import { durationText, Figure, firstSentence, Lines, number, plural, Text } from "./format";
import { isLadder, Ladder } from "./ladder";
import { lookOf, needsAttention, type Proof, type Scenario } from "./model";
import { Badge, Evidence, Fold, Table } from "./parts";
import { cureLines, priceLines } from "./prices";
import { CalibrationBlock, OffloadMatrix } from "./truth";

function CauseAndCure({ scenario }: { scenario: Scenario }) {
  if (!scenario.cause && !scenario.cure) {
    return null;
  }
  return (
    <div class="block conclusion" role="group" aria-label="Conclusions from the measurement">
      <div>
        <h4>Cause</h4>
        {scenario.cause ? <Lines>{scenario.cause}</Lines> : <p>Not named.</p>}
      </div>
      <div>
        <h4>Cure</h4>
        {scenario.cure ? cureLines(scenario).map((line) => <p><Text>{line}</Text></p>) : <p>None was found.</p>}
        <p class={`shown ${scenario.cure_shown ? "good" : "warn"}`}>
          {scenario.cure_shown ? "✓ Shown in this run: it was applied and the failure was gone." : "! Not shown in this run."}
        </p>
        {priceLines(scenario).map((line) => <p class="price"><Text>{line}</Text></p>)}
      </div>
    </div>
  );
}

function ProofBlock({ proof }: { proof: Proof }) {
  return (
    <div class="proof">
      <h4><Text>{proof.title}</Text></h4>
      {isLadder(proof) ? <Ladder proof={proof} /> : <Table label={proof.title} heads={proof.columns} rows={proof.rows} />}
      {proof.conclusion && <p class="note"><Text>{proof.conclusion}</Text></p>}
    </div>
  );
}

function Proofs({ scenario }: { scenario: Scenario }) {
  const ladders = scenario.proofs.filter(isLadder);
  const tables = scenario.proofs.filter((proof) => !isLadder(proof));
  return (
    <>
      {ladders.length > 0 && (
        <Fold title={ladders.length === 1 ? "Packet by packet: one flow on every wire that it crosses" : `Packet by packet: ${ladders.length} flows on every wire that they cross`}>
          {ladders.map((proof) => <ProofBlock proof={proof} />)}
        </Fold>
      )}
      {tables.length > 0 && (
        <Fold title={`Proof: ${tables.length === 1 ? firstSentence(tables[0].title).replace(/\.$/, "") : plural(tables.length, "table")}`}>
          {tables.map((proof) => <ProofBlock proof={proof} />)}
        </Fold>
      )}
    </>
  );
}

function Repetitions({ scenario }: { scenario: Scenario }) {
  if (!scenario.repetitions?.length) {
    return null;
  }
  return (
    <Fold title={`${plural(scenario.repetitions.length, "repetition")}; cause, cure and charts are of repetition ${scenario.kept}`}>
      <ol class="repetitions">
        {scenario.repetitions.map((one) => (
          <li><Badge look={lookOf(one.verdict)} /> seed <code>{one.seed}</code>: <Text>{one.headline}</Text></li>
        ))}
      </ol>
    </Fold>
  );
}

function Head({ scenario }: { scenario: Scenario }) {
  const figure = headlineFigure(scenario);
  const sentence = tellingSentence(scenario);
  const isWhole = scenario.headline.length - sentence.length < 40;
  return (
    <header class={`head ${lookOf(scenario.verdict).tone}`}>
      {figure && <p class="big"><Figure measure={figure.measure} note={false} /><small>{figure.label}</small></p>}
      <div>
        <p class="headline"><Text>{isWhole ? scenario.headline : sentence}</Text></p>
        {!isWhole && <Fold class="more" title="the whole finding"><p><Text>{scenario.headline}</Text></p></Fold>}
        <p class="question">Asked: <Text>{scenario.question}</Text></p>
      </div>
    </header>
  );
}

function Body({ scenario }: { scenario: Scenario }) {
  return (
    <>
      <Head scenario={scenario} />
      <div class={scenario.charts.filter((chart) => chart.curves?.length).length > 1 ? "columns wide" : "columns"}>
        <div>
          <Charts charts={scenario.charts} />
          <BeforeAfter scenario={scenario} />
        </div>
        <CauseAndCure scenario={scenario} />
      </div>
      {scenario.truth_tables.map((table) => <OffloadMatrix table={table} scenario={scenario} />)}
      <Cells scenario={scenario} />
      <Proofs scenario={scenario} />
      {scenario.explanation.length > 0 && (
        <Fold title="How it comes about">{scenario.explanation.map((text) => <p><Text>{text}</Text></p>)}</Fold>
      )}
      {scenario.calibration && <CalibrationBlock calibration={scenario.calibration} />}
      <Repetitions scenario={scenario} />
      <p class={scenario.unexplained ? "foot warn" : "foot"}>
        {scenario.unexplained === 0 ? "No loss or wrong answer stayed without a cause."
          : `${number(scenario.unexplained)} lost or wrong answers could not be joined to a cause.`}
        {" "}The scenario took {durationText(scenario.seconds)}.
      </p>
      <Evidence files={scenario.evidence} />
    </>
  );
}

// A scenario that found nothing wrong is one line, which unfolds.
export function ScenarioSection({ scenario }: { scenario: Scenario }) {
  const look = lookOf(scenario.verdict);
  const title = <h3><span class="title">{scenario.title}</span> <code>{scenario.id}</code> <Badge look={look} /></h3>;
  if (needsAttention(scenario)) {
    return <section class={`scenario ${look.tone}`} id={scenario.id} aria-label={scenario.title}>{title}<Body scenario={scenario} /></section>;
  }
  return (
    <section class={`scenario quiet ${look.tone}`} id={scenario.id} aria-label={scenario.title}>
      <details>
        <summary>{title}<p><Text>{firstSentence(scenario.headline)}</Text></p></summary>
        <Body scenario={scenario} />
      </details>
    </section>
  );
}
