// Numbers and sentences for people, as harness/report/text.cc writes them.
import type { ComponentChildren } from "preact";
import type { Interval, Measure } from "./model";

const kGrouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

// "99.95", "42,634", "0.0150": four significant digits for fractions, all digits for whole numbers.
export function number(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e15) {
    return kGrouped.format(value);
  }
  const magnitude = Math.abs(value);
  if (magnitude >= 1000) {
    return kGrouped.format(value);
  }
  if (magnitude < 1e-4) {
    return value.toPrecision(3);
  }
  return value.toPrecision(4).replace(/(\.\d*?[1-9])0+$|\.0+$/, "$1");
}

export const withUnit = (text: string, unit: string) => (unit ? `${text}\u00a0${unit}` : text);

export function intervalText(interval: Interval, value: number, unit = ""): string {
  const text = value === 0 ? `at most ${number(interval.high)}` : `${number(interval.low)}–${number(interval.high)}`;
  return withUnit(text, unit);
}

// "1 cure", "2 cures"
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${number(count)} ${count === 1 ? noun : many}`;
}

// Text with `words between backticks` as code elements.
export function Text({ children }: { children: string }) {
  const parts: ComponentChildren[] = children.split("`").map((part, i) => (i % 2 ? <code>{part}</code> : part));
  return <>{parts}</>;
}

export function Lines({ children }: { children: string }) {
  return <>{children.split("\n").filter(Boolean).map((line) => <p><Text>{line}</Text></p>)}</>;
}

export function valueText(measure: Measure): string {
  if (measure.value === null) {
    return "not measured";
  }
  if (typeof measure.value === "boolean") {
    return measure.value ? "yes" : "no";
  }
  return typeof measure.value === "number" ? withUnit(number(measure.value), measure.unit) : measure.value;
}

// A measured value with its interval; what was not measured says so, and a counted zero is a zero.
export function Figure({ measure, note = true }: { measure: Measure | undefined; note?: boolean }) {
  if (!measure || measure.value === null) {
    const why = measure?.note;
    return <span class="missing" title={why}>not measured{note && why ? <small class="note"><Text>{why}</Text></small> : null}</span>;
  }
  const { value, interval, unit } = measure;
  const mark = typeof value === "boolean" && <Mark yes={value} />;
  return (
    <span class="figure">
      {mark}{valueText(measure)}
      {interval && typeof value === "number" && <small title="95 % interval"> {intervalText(interval, value, value === 0 ? unit : "")}</small>}
      {note && measure.note && <small class="note"><Text>{measure.note}</Text></small>}
    </span>
  );
}

export function Mark({ yes }: { yes: boolean }) {
  return <span class={`mark ${yes ? "ok" : "no"}`} aria-hidden="true">{yes ? "✓" : "✕"}</span>;
}

// "2026-11-28 18:20:30 UTC"
export const dateText = (iso: string) => iso.replace("T", " ").replace(/Z$/, " UTC");

export function durationText(seconds: number): string {
  if (seconds < 120) {
    return `${number(Math.round(seconds * 10) / 10)} s`;
  }
  const minutes = Math.floor(seconds / 60);
  return `${minutes} min ${Math.round(seconds - 60 * minutes)} s`;
}

const kLongSentence = 260;

// Up to the end of the first sentence; a long one ends at a semicolon.
export function firstSentence(text: string): string {
  const line = text.split("\n")[0];
  const end = line.search(/\.(\s|$)/);
  const sentence = end < 0 ? line : line.slice(0, end + 1);
  const part = sentence.indexOf("; ");
  return sentence.length > kLongSentence && part > 0 ? `${sentence.slice(0, part)}.` : sentence;
}

// A sentence for a table: without what stands in brackets, and without the counts that follow a colon.
export function shortSentence(text: string): string {
  const sentence = firstSentence(text).replace(/\s*\([^()]*\)/g, "");
  const colon = sentence.indexOf(": ", 40);
  return colon > 0 && sentence.length > 120 ? `${sentence.slice(0, colon)}.` : sentence;
}
