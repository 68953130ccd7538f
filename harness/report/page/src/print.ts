// On paper: A4 or Letter, a running head with device and report id, the full edition or a summary. Nothing is closed.

import { useEffect, useState } from "preact/hooks";

export type Edition = "full" | "summary";
export type Paper = "A4" | "letter";

const quoted = (text: string) => `"${text.replace(/["\\]/g, "\\$&").replace(/[\n<]/g, " ")}"`;

const kHead = "font: 8pt system-ui, sans-serif; color: #444;";

// The running head is made of page margin boxes, which only a style sheet can fill.
export function setPaper(edition: Edition, paper: Paper, device: string, id: string): void {
  document.documentElement.dataset.edition = edition;
  const style = document.getElementById("paper") ?? document.head.appendChild(document.createElement("style"));
  style.id = "paper";
  style.textContent = `@page {
    size: ${paper}; margin: 20mm 15mm 17mm;
    @top-left { content: ${quoted(device)}; ${kHead} }
    @top-right { content: ${quoted(id ? `Report ${id}` : "Report without id")}; ${kHead} }
    @bottom-left { content: ${quoted(edition === "summary" ? "Summary edition" : "Full edition")}; ${kHead} }
    @bottom-right { content: counter(page) " of " counter(pages); ${kHead} }
  }`;
}

// "#print=summary,letter": what `--pdf` asks for.
export function paperFromHash(hash: string): { edition: Edition; paper: Paper } {
  const wanted = (/^#print=(.*)$/.exec(hash)?.[1] ?? "").split(",");
  return { edition: wanted.includes("summary") ? "summary" : "full", paper: wanted.includes("letter") ? "letter" : "A4" };
}

// Whether the page is being printed: what is drawn only where it is unfolded is drawn then.
export function usePrinting(): boolean {
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const begin = () => setPrinting(true);
    const end = () => setPrinting(false);
    addEventListener("beforeprint", begin);
    addEventListener("afterprint", end);
    return () => {
      removeEventListener("beforeprint", begin);
      removeEventListener("afterprint", end);
    };
  }, []);
  return printing;
}
