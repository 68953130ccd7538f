// The small parts that sections share.
import type { ComponentChildren } from "preact";
import { Figure, Text } from "./format";
import type { EvidenceFile, Look, Measure } from "./model";

export function Badge({ look }: { look: Look }) {
  return <span class={`badge ${look.tone}`}><span aria-hidden="true">{look.symbol}</span> {look.word}</span>;
}

// A table that a reader may scroll sideways where it is wider than the page.
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return <div class="scroll" tabIndex={0} role="region" aria-label={label}>{children}</div>;
}

export function Table({ label, heads, rows }: { label: string; heads: string[]; rows: ComponentChildren[][] }) {
  return (
    <Scroll label={label}>
      <table class="data">
        <thead><tr>{heads.map((head) => <th scope="col"><Text>{head}</Text></th>)}</tr></thead>
        <tbody>{rows.map((row) => <tr>{row.map((field) => <td>{typeof field === "string" ? <Text>{field}</Text> : field}</td>)}</tr>)}</tbody>
      </table>
    </Scroll>
  );
}

export function Fold(props: { title: ComponentChildren; class?: string; open?: boolean; children: ComponentChildren }) {
  return <details class={props.class} open={props.open}><summary>{props.title}</summary>{props.children}</details>;
}

export function Chips({ values, constant = {} }: { values: Record<string, string>; constant?: Record<string, string> }) {
  const shown = Object.entries(values).filter(([axis]) => !(axis in constant));
  return <span class="chips">{shown.map(([axis, value]) => <span class="chip" title={axis}><i>{axis}</i> {value}</span>)}</span>;
}

// A path below the folder of the report: a link to it cannot leave that folder or name a scheme.
const isLinkable = (path: string) => /^[\w.-][\w./-]*$/.test(path) && !path.includes("..");

export function Evidence({ files }: { files: EvidenceFile[] }) {
  if (!files.length) {
    return null;
  }
  return (
    <ul class="evidence">
      {files.map((file) => (
        <li>{isLinkable(file.path) ? <a href={file.path}>{file.path}</a> : <code>{file.path}</code>} <Text>{file.description}</Text>{file.sha256 && <small class="hash"> SHA-256 {file.sha256}</small>}</li>
      ))}
    </ul>
  );
}

// Counted zeros say that something did not happen: they are there, on one line, apart from what was not measured.
export function Measures({ measures }: { measures: Measure[] }) {
  const zeros = measures.filter((measure) => measure.value === 0 && !measure.interval && !measure.note);
  const others = measures.filter((measure) => !zeros.includes(measure));
  return (
    <>
      {others.length > 0 && (
        <dl class="measures">
          {others.map((measure) => <div><dt>{measure.label}</dt><dd><Figure measure={measure} /></dd></div>)}
        </dl>
      )}
      {zeros.length > 0 && <p class="zeros"><b>Counted, and zero:</b> {zeros.map((measure) => measure.label).join(", ")}</p>}
    </>
  );
}

export interface SectionProps { id: string; title: string; lead?: ComponentChildren; children: ComponentChildren }
export function Section({ id, title, lead, children }: SectionProps) {
  return (
    <section class="page" id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {lead && <p class="lead">{lead}</p>}
      {children}
    </section>
  );
}
