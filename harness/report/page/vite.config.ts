// Bundles the page into two pieces with slots, which harness/report/html.cc fills:
//   page.html: <!--title-->, <!--data--> (data.html, or nothing) and <!--plain-->, the page as it reads without scripts
//   data.html: <!--json--> and the script that shows it
// Style and script stand inside, in CDATA comments, so that the page is well-formed XML too. The content security
// policy names the script by its hash: nothing that a report's texts could smuggle in would run.
import { createHash } from "node:crypto";
import { defineConfig, type Plugin } from "vite";

function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      let script = "";
      let style = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") {
          script += file.code;
        } else if (name.endsWith(".css")) {
          style += file.source;
        }
        delete bundle[name];
      }
      for (const text of [script, style]) {
        if (/]]>|<\/(script|style)|\)embedded"/i.test(text)) {
          throw new Error("the bundle holds a sequence that would end the element around it");
        }
      }
      const inline = (text: string) => `/*<![CDATA[*/\n${text.trim()}\n/*]]>*/`;
      const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
      const main = inline(script);
      const policy = `default-src 'none'; script-src ${hash(main)}; style-src 'unsafe-inline'; img-src data:`;
      const source = [
        "<!DOCTYPE html>",
        '<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head><meta charset="utf-8"/>',
        `<meta http-equiv="Content-Security-Policy" content="${policy}"/>`,
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        '<meta name="color-scheme" content="light dark"/><link rel="icon" href="data:,"/>',
        "<title><!--title--></title>",
        `<style>${inline(style)}</style>`,
        `</head><body><!--data--><main class="plain" id="plain"><!--plain--></main></body></html>`,
        "",
      ].join("\n");
      // Before the plain page, so that a browser which runs it never shows the plain one. A page without data has no
      // script and stays plain.
      this.emitFile({ type: "asset", fileName: "page.html", source });
      this.emitFile({
        type: "asset",
        fileName: "data.html",
        source:
          `<script type="application/json" id="data">\n<!--json--></script>\n<script>${main}</script>\n`,
      });
    },
  };
}

export default defineConfig({
  plugins: [oneFile()],
  build: {
    target: "es2021",
    outDir: "bundle",
    emptyOutDir: true,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    rollupOptions: { input: "src/main.tsx", output: { inlineDynamicImports: true } },
  },
});
