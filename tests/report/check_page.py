"""Renders the sample and checks report.html as a browser without scripts and a strict parser see it.

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
    """The page as HTML: text of the plain page, links, data, nesting."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.links = []
        self.text = []
        self.data = []
        self.script_types = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.links += [values[name] for name in values if name in LOADING_ATTRIBUTES]
        assert not any(name.startswith("on") for name in values), f"handler on {tag}"
        if tag == "script":
            self.script_types.append(values.get("type", ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        if "script" in self.open:
            if self.script_types[-1] == "application/json":
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
    assert page.script_types == ["application/json", ""], page.script_types
    assert page.links == ["data:,"], page.links
    style = re.search(r"<style>(.*?)</style>", page_text, re.S).group(1)
    assert "url(" not in style and "@import" not in style
    assert json.loads("".join(page.data)) == run, "the page does not hold its report"

    # A paragraph's text runs on behind inline elements; the fields of a list or table stand apart.
    text = collapsed("".join(page.text)) + " " + collapsed(" ".join(page.text))
    first = text[: text.index("Scenarios")]
    for said in [run["verdict"], *run["reasons"], run["evidence_class"], run["evidence_note"]]:
        assert collapsed(said) in first, f"not before the scenarios: {said}"
    for scenario in run["scenarios"]:
        for name in ("title", "question", "verdict", "headline", "cause", "cure"):
            for line in scenario[name].split("\n"):
                assert collapsed(line) in text, line
        for paragraph in scenario["explanation"]:
            assert collapsed(paragraph) in text, paragraph
        for cell in scenario["cells"] + scenario["controls"]:
            toggles = " · ".join(f"{axis}: {value}" for axis, value in cell["toggles"].items())
            assert has_verdict(text, collapsed(toggles), cell["verdict"]), cell["id"]
            assert collapsed(cell["reason"]) in text, cell["reason"]
            for measure in cell["measures"].values():
                assert collapsed(measure["label"]) in text, measure["label"]
        for proof in scenario["proofs"]:
            assert collapsed(proof["conclusion"]) in text
            for field in (field for row in proof["rows"] for field in row):
                assert collapsed(field) in text, field
        for chart in scenario["charts"]:
            for shown in chart["bars"] + chart.get("curves", []):
                assert shown["label"] in text
    for fact in (fact for group in run["environment"] for fact in group["facts"]):
        expected = {"read": fact["value"], "absent": "not present", "denied": "permission denied"}
        assert collapsed(f"{fact['name']} {expected[fact['status']]}") in text, fact
    assert run["repeat_command"] in text


def has_verdict(text, toggles, verdict):
    """The verdict stands directly before the cell's settings."""
    for found in re.finditer(re.escape(toggles), text):
        if verdict in text[max(0, found.start() - 40) : found.start()]:
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
    plain = page.index('<main class="plain"')
    for damage in (
        page[:plain] + page[plain:].replace("CONDITIONALLY QUALIFIED", "QUALIFIED"),
        page[:plain] + page[plain:].replace("FAIL", "PASS"),
        page.replace("</body>", '<a href="https://example.com/x">x</a></body>'),
        page.replace('"seed":7216433971', '"seed":1', 1),
        page.replace("</table>", "", 1),
    ):
        assert damage != page, "the damage changed nothing"
        try:
            check(damage, run)
        except Exception:
            continue
        raise AssertionError("a damaged page was accepted")
    print("report.html: well-formed, self-contained and complete without scripts")


main()
