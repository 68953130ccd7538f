// Shows the data that the page holds. Where that goes wrong, the plain page stays.
import { options, render } from "preact";
import { followHash } from "./links";
import type { Report } from "./model";
import { ReportPage } from "./shell";
import "./page.css";

const kReport = /^pathproof-report\//;

function show(data: { schema?: string }): boolean {
  const root = document.createElement("div");
  root.id = "page";
  document.body.append(root);
  if (kReport.test(data.schema ?? "")) {
    render(<ReportPage report={data as Report} />, root);
    return true;
  }
  root.remove();
  return false;
}

// State changes are drawn at once: a click is answered in the same frame.
options.debounceRendering = (draw) => draw();

const data = document.getElementById("data");
if (data && show(JSON.parse(data.textContent!))) {
  document.documentElement.classList.add("upgraded");
  addEventListener("hashchange", followHash);
  addEventListener("DOMContentLoaded", () => {
    document.getElementById("plain")?.remove();
    followHash();
  });
}
