"""Renders the sample and checks report.html as a browser and a strict parser see it.

check_page.py RENDER_SAMPLE SAMPLE.json
"""

import html.parser
import json
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom

VOID = {"meta", "link", "br"}
LOADING_ATTRIBUTES = {"src", "href", "srcset", "action", "data", "poster", "xlink:href"}


class Page(html.parser.HTMLParser):
    """The page as HTML: text, links, ids, nesting."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.links = []
        self.ids = []
        self.text = []
        self.data = []
        self.cells = 0

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.links += [values[name] for name in values if name in LOADING_ATTRIBUTES]
        if "id" in values:
            self.ids.append(values["id"])
        self.cells += tag == "td" and values.get("class", "").startswith("cell ")
        assert not any(name.startswith("on") for name in values), f"handler on {tag}"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        if "script" in self.open:
            self.data.append(data)
        elif "style" not in self.open and "title" not in self.open:
            self.text.append(data)


def collapsed(text):
    return " ".join(text.replace("`", "").split())


def check(page_text, run):
    xml.dom.minidom.parseString(page_text.encode())
    page = Page()
    page.feed(page_text)
    page.close()
    assert not page.open, page.open
    assert len(page.ids) == len(set(page.ids)), "an id stands twice"

    for link in page.links:
        inside = link.startswith("#") and link[1:] in page.ids
        assert inside or link in ("data:,", "report.json") or link.startswith("evidence/"), link
    style = re.search(r"<style>(.*?)</style>", page_text, re.S).group(1)
    assert "url(" not in style and "@import" not in style
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page_text)

    assert json.loads("".join(page.data)) == run, "the page does not hold its report"

    text = collapsed("".join(page.text))
    first = text[: text.index("Scenario " + run["scenarios"][0]["id"])]
    for said in [run["verdict"], *run["reasons"], run["evidence_class"], run["evidence_note"]]:
        assert collapsed(said) in first, f"not on the first screen: {said}"
    for scenario in run["scenarios"]:
        for name in ("title", "question", "verdict", "headline", "cause", "cure"):
            assert collapsed(scenario[name]) in text, scenario[name]
        for paragraph in scenario["explanation"]:
            assert collapsed(paragraph) in text, paragraph
        for cell in scenario["cells"] + scenario["controls"]:
            toggles = " · ".join(f"{axis}: {value}" for axis, value in cell["toggles"].items())
            where = text.find(collapsed(toggles))
            assert where >= 0, f"cell {cell['id']} is not on the page"
            assert collapsed(cell["reason"]) in text, cell["reason"]
            assert has_verdict(text, collapsed(toggles), cell["verdict"]), cell["id"]
        for proof in scenario["proofs"]:
            assert collapsed(proof["conclusion"]) in text
            for field in (field for row in proof["rows"] for field in row):
                assert collapsed(field) in text, field
        for bar in (bar for chart in scenario["charts"] for bar in chart["bars"]):
            assert bar["label"] in text
        for chart in scenario["charts"]:
            for shown in chart.get("curves", []) + chart.get("marks", []):
                assert shown["label"] in text
    for fact in (fact for group in run["environment"] for fact in group["facts"]):
        expected = {"read": fact["value"], "absent": "not present", "denied": "permission denied"}
        assert collapsed(f"{fact['name']} {expected[fact['status']]}") in collapsed_facts(page), fact
    assert run["repeat_command"] in text
    assert page.cells == 16, f"{page.cells} fields in the grid"


def collapsed_facts(page):
    # In the list a value follows its name without a blank between the elements.
    return collapsed(" ".join(page.text))


def has_verdict(text, toggles, verdict):
    """The verdict stands directly before or after the cell's toggles, wherever they are."""
    symbols = "✓✕!–? "
    for found in re.finditer(re.escape(toggles), text):
        after = text[found.end() : found.end() + 20].lstrip(symbols)
        before = text[max(0, found.start() - 40) : found.start()]
        if after.startswith(verdict) or verdict in before:
            return True
    return False


def main():
    render, sample = sys.argv[1:]
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([render, sample, out], check=True, stdout=subprocess.DEVNULL)
        with open(f"{out}/report.html", encoding="utf-8") as file:
            page = file.read()
        with open(f"{out}/report.json", encoding="utf-8") as file:
            run = json.load(file)
    check(page, run)
    # The checks can fail: a page that lost its verdict, a cell or its data is noticed.
    for damage in (
        page.replace("<h1>CONDITIONALLY QUALIFIED</h1>", "<h1></h1>"),
        page.replace("FAIL", "PASS"),
        page.replace('href="report.json"', 'href="https://example.com/x"'),
        page.replace("&lt;", "<").replace('"seed": 7216433971', '"seed": 1'),
        page.replace("</table>", "", 1),
    ):
        assert damage != page, "the damage changed nothing"
        try:
            check(damage, run)
        except Exception:
            continue
        raise AssertionError("a damaged page was accepted")
    print("report.html: well-formed, self-contained and complete")


main()
