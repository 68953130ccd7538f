// Hosts during the run: kernel messages, taint, temperatures.
import { Readings } from "./certificate";
import { number, plural } from "./format";
import type { HostWatch, KernelMessage, Report } from "./model";
import { Fold } from "./parts";

function taintText({ taint_before: before, taint_after: after }: HostWatch): string {
  if (before === null || after === null) {
    return "Its taint could not be read.";
  }
  return before === after ? `Its taint stayed ${before}.` : `Its taint went from ${before} to ${after}.`;
}

function logText(host: HostWatch): string {
  if (host.log !== "read") {
    return host.log === "denied" ? "Its kernel's log may not be read: what it logged is not known." : "It has no kernel log to read.";
  }
  return `Its kernel logged ${plural(host.lines, "line")}` +
    (host.lost ? `, of which ${number(host.lost)} were overwritten before they were read` : "") + ".";
}

function Message({ message }: { message: KernelMessage }) {
  return (
    <li class={message.against ? "against" : ""}>
      <code>{`+${number(Math.round(message.seconds * 10) / 10)} s`}</code> <b>{message.kind}</b>{message.subject && ` of ${message.subject}`}: {message.text}
      {message.against && <strong> Speaks against what is tested.</strong>}
      {message.trace.length > 0 && <Fold title={plural(message.trace.length, "further line")}><pre>{message.trace.join("\n")}</pre></Fold>}
    </li>
  );
}

function Host({ host }: { host: HostWatch }) {
  const loud = host.messages.filter((message) => message.against);
  const quiet = host.messages.filter((message) => !message.against);
  return (
    <>
      <h3>{host.host}</h3>
      <p class="note">{logText(host)} {host.messages.length === 0 && host.log === "read" && "None of it bears on the network or on the kernel's health. "}{taintText(host)}</p>
      {loud.length > 0 && <ul class="messages">{loud.map((message) => <Message message={message} />)}</ul>}
      {quiet.length > 0 && <Fold title={`${plural(quiet.length, "message")} that speak against nothing that is tested`}><ul class="messages">{quiet.map((message) => <Message message={message} />)}</ul></Fold>}
      {host.temperatures.length > 0 && <Fold title={plural(host.temperatures.length, "temperature")}><Readings label={`Temperatures of ${host.host}`} readings={host.temperatures} /></Fold>}
    </>
  );
}

export const Meanwhile = ({ report }: { report: Report }) => <>{report.meanwhile!.map((host) => <Host host={host} />)}</>;
