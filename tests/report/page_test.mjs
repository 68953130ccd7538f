// report.html in Chromium: what a reader sees, on every width, on paper, with the keyboard, and without scripts.
// Run by front_end.sh, which renders the reports:
//   PAGE_PACKAGES  folder whose node_modules has playwright-core and axe-core
//   REPORTS        folder with default/, priced/ and hostile/, each with a report.html
//   CHROMIUM       the browser
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";

const { PAGE_PACKAGES, REPORTS, CHROMIUM } = process.env;
const require = createRequire(`${PAGE_PACKAGES}/package.json`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const kWidths = [400, 768, 1280, 1920, 2560];
const file = (report) => `${REPORTS}/${report}/report.html`;
const dataOf = (report) => JSON.parse(readFileSync(`${REPORTS}/${report}/report.json`, "utf8"));

let browser;
let scratch;
before(async () => {
  scratch = mkdtempSync(`${tmpdir()}/pathproof-page-`);
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
});
after(async () => {
  await browser?.close();
  rmSync(scratch, { recursive: true, force: true });
});

// A page whose errors and requests are kept: it may ask for nothing but itself.
async function open(report, options = {}) {
  const { width = 1280, height = 800, hash = "", ...more } = options;
  const context = await browser.newContext({ viewport: { width, height }, ...more });
  const page = await context.newPage();
  page.setDefaultTimeout(120000);
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.problems.push(message.text()));
  page.on("dialog", (dialog) => { page.problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) {
      page.problems.push(`request: ${request.url()}`);
    }
  });
  await page.goto(pathToFileURL(file(report)).href + hash);
  return page;
}

async function close(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

// The best of some tries, in ms, from an action to the frame after it: other work of the machine only adds to it.
async function best(page, action, tries = 5) {
  let least = Infinity;
  for (let i = 0; i < tries; ++i) {
    least = Math.min(least, await page.evaluate(async (source) => {
      const act = new Function(`return (${source})`)();
      const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      await frame();
      const begun = performance.now();
      act();
      await frame();
      return performance.now() - begun;
    }, action.toString()));
  }
  return least;
}

const height = (page) => page.evaluate(() => document.documentElement.scrollHeight);

describe("the first screen", () => {
  test("says which device, which verdicts, and the findings with cause, cure and price", async () => {
    const page = await open("default");
    const report = dataOf("default");
    const bottom = async (selector) => {
      const box = await page.locator(selector).first().boundingBox();
      return box.y + box.height;
    };
    assert.match(await page.textContent("h1"), /CONDITIONALLY QUALIFIED/);
    assert.match(await page.textContent(".device"), /eth0.*veth.*Linux 6\./);
    assert.equal(await page.locator(".areas > li").count(), report.areas.length);
    assert.equal(await page.locator("table.findings tbody tr").count(), 3);
    for (const part of ["h1", ".device", ".areas", "table.findings tbody tr:nth-child(2)"]) {
      assert.ok(await bottom(part) <= 800, `${part} ends at ${await bottom(part)} px`);
    }
    for (const row of await page.locator("table.findings tbody tr").all()) {
      assert.match(await row.textContent(), /shown in this run/);
      assert.notEqual((await row.locator("td").last().textContent()).trim(), "");
    }
    assert.match(await page.title(), /^CONDITIONALLY QUALIFIED of DUT device eth0/);
    await close(page);
  });

  test("paints within a second, and answers within a tenth of one", async (t) => {
    let paint = Infinity;
    for (let i = 0; i < 4; ++i) {
      const page = await open("priced");
      await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
      paint = Math.min(paint, await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
      await close(page);
    }
    const page = await open("priced");
    const times = {
      fold: await best(page, () => document.querySelectorAll(".scenario details > summary")[2].click()),
      cell: await best(page, () => document.querySelector(".unfold").click()),
      theme: await best(page, () => document.querySelector(".bar button").click()),
      search: await best(page, () => {
        const input = document.querySelector(".search input");
        input.value += input.value ? "" : "race";
        input.dispatchEvent(new Event("input", { bubbles: true }));
      }),
      link: await best(page, () => { location.hash = location.hash === "#prices" ? "#snat-race" : "#prices"; }),
    };
    await close(page);
    t.diagnostic(`first paint ${Math.round(paint)} ms; ${Object.entries(times).map(([what, ms]) => `${what} ${Math.round(ms)} ms`).join(", ")}`);
    assert.ok(paint < 1000, `first paint after ${paint} ms`);
    for (const [what, ms] of Object.entries(times)) {
      assert.ok(ms < 100, `${what}: ${ms} ms`);
    }
  });
});

describe("the whole page", () => {
  test("is short while all but failures is closed, and small", async (t) => {
    const page = await open("default");
    const high = await height(page);
    const size = Math.max(...["default", "priced"].map((report) => statSync(file(report)).size));
    t.diagnostic(`${high} px at 1280; ${Math.round(size / 1000)} kB`);
    assert.ok(high <= 9000, `${high} px high`);
    assert.ok(size < 1.5e6, `${size} bytes`);
    await close(page);
  });

  test("never scrolls sideways", async () => {
    for (const width of kWidths) {
      const page = await open("priced", { width });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${wide} px wide at ${width}`);
      await close(page);
    }
  });

  test("has each cell, fact and sentence of the report", async () => {
    const page = await open("priced");
    const report = dataOf("priced");
    const ids = new Set(await page.$$eval("[id]", (all) => all.map((each) => each.id)));
    const text = (await page.textContent("#page")).replace(/\s+/g, " ");
    for (const scenario of report.scenarios) {
      assert.ok(ids.has(scenario.id), scenario.id);
      for (const cell of [...scenario.cells, ...scenario.controls]) {
        assert.ok(ids.has(`${scenario.id}/${cell.id}`), cell.id);
      }
      for (const said of [scenario.title, scenario.question, ...scenario.explanation, ...scenario.cause.split("\n"), ...scenario.cure.split("\n")]) {
        assert.ok(text.includes(said.replaceAll("`", "").replace(/\s+/g, " ").trim()), said);
      }
    }
    for (const fact of report.environment.flatMap((group) => group.facts)) {
      assert.ok(text.includes(fact.name), fact.name);
    }
    for (const cost of report.prices.costs) {
      assert.ok(text.includes(cost.more.label), cost.more.label);
    }
    assert.equal(await page.locator("#plain").count(), 0);
    const twice = await page.$$eval("[id]", (all) => all.map((each) => each.id).filter((id, i, ids) => ids.indexOf(id) !== i));
    assert.deepEqual(twice, []);
    await close(page);
  });

  test("shows failures open, and passes in less room than one failure", async () => {
    const page = await open("default");
    for (const row of await page.locator("tr.cell.bad").all()) {
      assert.ok(await row.isVisible());
    }
    assert.equal(await page.locator("tr.cell.good:visible").count(), 0);
    const folded = await page.locator("#vxlan-checksum .block > details").first().boundingBox();
    const failure = await page.locator("#vxlan-checksum tr.cell.bad").first().boundingBox();
    assert.ok(folded.height < failure.height);
    await close(page);
  });

  test("says AS EXPECTED over failed probes, and tells zero from not measured", async () => {
    const page = await open("default");
    const row = page.locator('[id="vxlan-checksum/vx-tx-on.udpcsum.no-nat.eth0-tx-on.wire-leaves-partial"]');
    assert.match(await row.textContent(), /AS EXPECTED/);
    assert.doesNotMatch(await row.textContent(), /PASS/);
    const shown = await page.$$eval("td.number .figure, td.number .missing", (all) => all.map((each) => each.textContent));
    assert.ok(shown.some((text) => /^0/.test(text)), "a zero");
    assert.ok(shown.some((text) => text === "not measured"), "what was not measured");
    await close(page);
  });

  test("draws intervals, axis titles and the offload matrix", async () => {
    const page = await open("default");
    assert.ok(await page.locator("#dns-race svg .whisker").count() >= 8);
    assert.ok(await page.locator("#dns-race svg .axis").count() >= 2);
    assert.ok(await page.locator("#offload-truth td.seen.bad").count() >= 1);
    assert.ok((await page.locator("svg[role=img]").evaluateAll((all) => all.filter((each) => !each.getAttribute("aria-label")).length)) === 0);
    await close(page);
  });
});

describe("a reader", () => {
  test("finds ids from the keyboard, and lands on what was folded", async () => {
    const page = await open("default");
    // The page listens to keys once it has been painted.
    const searches = () => page.evaluate(() => document.activeElement?.tagName === "INPUT");
    for (let tenths = 0; tenths < 100 && !(await searches()); ++tenths) {
      await page.keyboard.press("/");
      await page.waitForTimeout(100);
    }
    await page.keyboard.type("cure.random");
    await page.waitForSelector("[role=option]");
    assert.match(await page.locator("[role=option][aria-selected=true]").textContent(), /snat-race\/cure\.random-fully/);
    await page.keyboard.press("Enter");
    const cell = page.locator('[id="snat-race/cure.random-fully"]');
    assert.ok(await cell.isVisible());
    assert.equal(new URL(page.url()).hash, "#snat-race/cure.random-fully");
    const box = await cell.boundingBox();
    assert.ok(box.y > 40 && box.y < 800, `the cell stands at ${box.y} px`);
    await page.keyboard.press("/");
    await page.keyboard.type("nothing has this");
    assert.match(await page.locator("[role=listbox]").textContent(), /Nothing here/);
    await close(page);
  });

  test("follows a link from outside to a cell that is folded", async () => {
    const page = await open("default", { hash: "#dns-race/late-answer.200ms" });
    assert.ok(await page.locator('[id="dns-race/late-answer.200ms"]').isVisible());
    await close(page);
  });

  test("unfolds a cell with the keyboard into all its figures", async () => {
    const page = await open("default");
    const button = page.locator("#vxlan-checksum .unfold").first();
    await button.focus();
    assert.equal(await button.getAttribute("aria-expanded"), "false");
    await page.keyboard.press("Enter");
    assert.equal(await button.getAttribute("aria-expanded"), "true");
    const cell = dataOf("default").scenarios.find((each) => each.id === "vxlan-checksum").cells.find((each) => each.verdict === "FAIL");
    const all = await page.locator("tr.all").first().textContent();
    for (const measure of Object.values(cell.measures)) {
      assert.ok(all.includes(measure.label), measure.label);
    }
    await close(page);
  });

  test("keeps the navigation in sight, and can skip it", async () => {
    const page = await open("default");
    await page.evaluate(() => scrollTo(0, 4000));
    assert.ok((await page.locator("header.bar").boundingBox()).y === 0);
    assert.ok((await page.locator("aside").boundingBox()).y < 80);
    await page.evaluate(() => scrollTo(0, 0));
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the report");
    await close(page);
  });

  for (const [colorScheme, width] of [["light", 1280], ["dark", 1280], ["light", 400]]) {
    test(`with a screen reader or poor sight: axe-core finds nothing (${colorScheme}, ${width} px)`, async () => {
      const page = await open("priced", { colorScheme, width, bypassCSP: true });
      const audit = async () => (await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }))).violations
        .map((each) => `${each.id}: ${each.help}: ${each.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(" | ")}`);
      await page.evaluate(axe);
      assert.deepEqual(await audit(), []);
      await page.evaluate(() => {
        document.querySelectorAll("details").forEach((each) => { each.open = true; });
        [...document.querySelectorAll(".unfold")].slice(0, 3).forEach((each) => each.click());
      });
      assert.deepEqual(await audit(), []);
      await close(page);
    });
  }

  test("without scripts reads all of it", async () => {
    const page = await open("priced", { javaScriptEnabled: false });
    const report = dataOf("priced");
    const text = (await page.locator("#plain").innerText()).replace(/\s+/g, " ");
    assert.ok(await page.locator("#plain").isVisible());
    assert.match(text, /^CONDITIONALLY QUALIFIED/);
    for (const scenario of report.scenarios) {
      for (const said of [scenario.title, scenario.headline, ...scenario.cause.split("\n")]) {
        assert.ok(text.includes(said.replaceAll("`", "").replace(/\s+/g, " ").trim()), said);
      }
    }
    await close(page);
  });

  test("is safe from texts that are markup", async () => {
    const page = await open("hostile");
    assert.match(await page.textContent("#page"), /<img src=x onerror=alert\(1\)>/);
    assert.equal(await page.locator("img").count(), 0);
    assert.equal(await page.locator('a[href^="javascript"]').count(), 0);
    assert.equal(await page.locator('a[href*=".."]').count(), 0);
    await close(page);
  });
});

describe("on paper", () => {
  // Points: ISO 216 and ANSI Y14.1.
  const kPapers = { A4: [595, 842], letter: [612, 792] };

  async function print(hash) {
    const path = `${scratch}/page.pdf`;
    const page = await open("default", { hash });
    await page.pdf({ path, preferCSSPageSize: true, printBackground: true });
    await close(page);
    const info = execFileSync("pdfinfo", [path], { encoding: "utf8" });
    return {
      pages: Number(/Pages:\s+(\d+)/.exec(info)[1]),
      size: /Page size:\s+([\d.]+) x ([\d.]+)/.exec(info).slice(1).map((side) => Math.round(Number(side))),
      text: execFileSync("pdftotext", ["-layout", path, "-"], { encoding: "utf8" }),
    };
  }

  for (const [paper, size] of Object.entries(kPapers)) {
    test(`${paper}: the full edition has a running head, and nothing is closed`, async (t) => {
      const printed = await print(`#print=full,${paper}`);
      t.diagnostic(`${printed.pages} pages`);
      for (const side of [0, 1]) {
        assert.ok(Math.abs(printed.size[side] - size[side]) <= 1, `${printed.size}`);
      }
      const { id, scenarios } = dataOf("default");
      const sheets = printed.text.split("\f").slice(0, printed.pages);
      for (const [i, sheet] of sheets.entries()) {
        assert.ok(sheet.includes(`Report ${id}`), `page ${i + 1} has no report id`);
        assert.ok(sheet.includes(`${i + 1} of ${printed.pages}`), `page ${i + 1} is not numbered`);
        assert.match(sheet, /eth0, vx/);
      }
      const text = printed.text.replace(/\s+/g, "");
      for (const scenario of scenarios) {
        for (const cell of [...scenario.cells, ...scenario.controls]) {
          assert.ok(text.includes(`${scenario.id}/${cell.id}`.replace(/\s+/g, "")), cell.id);
        }
      }
      assert.ok(text.includes("F47"), "the calibration's rows are closed");
    });

    test(`${paper}: the summary edition has at most 4 pages`, async (t) => {
      const printed = await print(`#print=summary,${paper}`);
      t.diagnostic(`${printed.pages} pages`);
      assert.ok(printed.pages <= 4, `${printed.pages} pages`);
      assert.match(printed.text, /CONDITIONALLY QUALIFIED/);
      assert.match(printed.text, /What was tested/);
      assert.match(printed.text, /Summary edition/);
    });
  }

  test("is light, whatever the screen is", async () => {
    const page = await open("default", { colorScheme: "dark" });
    await page.emulateMedia({ media: "print" });
    const [ink, paper] = await page.evaluate(() => {
      const style = getComputedStyle(document.body);
      return [style.color, style.backgroundColor];
    });
    assert.equal(ink, "rgb(0, 0, 0)");
    assert.equal(paper, "rgb(255, 255, 255)");
    await close(page);
  });
});
