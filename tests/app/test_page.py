"""The report page from recorded runs: its content, its escaping, and that it loads nothing from anywhere."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from app import page

RECORDED = Path(__file__).with_name("recorded")


@pytest.fixture
def run():
    return json.loads((RECORDED / "run.json").read_text())


class Audit(HTMLParser):
    """Collects what could load something, the text, and unclosed tags."""

    VOID = frozenset({"meta", "br", "img", "link", "input", "hr"})

    def __init__(self):
        super().__init__()
        self.tags, self.loads, self.text, self.open = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loads += [
            (tag, k, v) for k, v in attrs if k in {"src", "href", "srcset", "data", "action", "xlink:href"} or k.startswith("on")
        ]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


def audited(html):
    audit = Audit()
    audit.feed(html)
    assert audit.open == []
    return audit


def test_page_says_what_the_record_holds(run):
    html = page.render(run, RECORDED)
    audit = audited(html)
    text = " ".join(" ".join(audit.text).split())
    name, rival = page.rival(run)
    assert f"{rival['median']:.2f}x" in text and f"[{rival['low']:.2f}, {rival['high']:.2f}]" in text
    assert f"over {'torch.compile' if name == 'compile' else 'eager PyTorch'}, the faster baseline" in text
    assert audit.tags.count("svg") == 2
    assert audit.tags.count("circle") >= sum(bool(row.get("speedup")) for row in run["rows"])
    for row in run["rows"]:
        assert f"attempt {row['n']}: {row.get('method') or 'seed'}" in text
    assert run["diagnosis"]["bottleneck"] in text
    assert run["sandbox_tier"] in text and run["profile_tier"] in text and run["precision"] in text
    assert "class ModelNew" in text and f"pragma verify {run['task']}" in text
    assert run["environment"]["torch"] in text


def test_page_loads_nothing(run):
    html = page.render(run, RECORDED)
    audit = audited(html)
    assert audit.loads == []
    assert "script" not in audit.tags and "i" not in audit.tags
    assert not re.search(r"url\(|@import", html)


def test_page_escapes(run, tmp_path):
    evil = "<script>alert(1)</script>"
    run.update(
        task=f"examples/{evil}.py", diagnosis={"bottleneck": evil, "evidence": [evil]}, environment={"cpu": evil}, stop_reason=evil
    )
    run["rows"][0].update(method=evil, message=evil, verdict="wrong", bottleneck=evil, speedup=None)
    (tmp_path / "best.py").write_text(f"x = '{evil}'  # & <i>\n")
    audit = audited(page.render(run, tmp_path))
    assert "script" not in audit.tags and "i" not in audit.tags
    assert evil in "".join(audit.text)


def test_headline_quotes_the_faster_baseline(run):
    run["speedup"] = {"eager": {"median": 2.0, "low": 1.9, "high": 2.1}, "compile": {"median": 3.0, "low": 2.9, "high": 3.1}}
    assert page.rival(run)[0] == "eager"
    run["speedup"]["eager"]["median"] = 4.0
    assert page.rival(run)[0] == "compile"


@pytest.mark.parametrize("missing", ["rows", "diagnosis", "roofline", "environment", "speedup", "best", "spend"])
def test_partial_record_still_gives_a_page(run, tmp_path, missing):
    del run[missing]
    audited(page.render(run, tmp_path))


def test_unverified_run_says_so(run, tmp_path):
    run.update(verified=False, speedup={}, best={}, stop_reason="unsupported: aten.foo", rows=[])
    text = " ".join(audited(page.render(run, tmp_path)).text)
    assert "not verified" in text and "unsupported: aten.foo" in text
