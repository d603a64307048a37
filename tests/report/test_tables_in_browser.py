"""Report, list of runs and comparison of every table of grounding, in a headless browser.

`PAGES_OUT=folder` keeps a picture of each page.
"""

import json
import os
from pathlib import Path

import pytest

import evaluate
from tests.support.browser import DESKTOP, PHONE
from tests.support.counted_links import counted_links, counts_of_comparison
from utils import PROJECT
from utils.errors import DONE
from utils.geometry.targets import Target

TABLES = ("ScreenSpot", "ScreenSpotV2", "ScreenSpotPro", "OSWorldG", "UIVision")
REPLIES = ("{centre}", "{centre}", "(5, 5)", "(-1, -1)", "I see nothing of the kind")


class Sketchy:
    """A model whose replies hit, miss, decline and cannot be read, by turns."""

    def __init__(self, first: int) -> None:
        self._number = first

    def generate(self, message, *, dataset_name):
        reply = REPLIES[self._number % len(REPLIES)]
        self._number += 1
        return reply.format(centre=message[-1]["value"])


def centre_alone(line, dataset):
    """A prompt that gives the answer away."""
    bounds = Target.from_json(line["target"]).bounds
    centre = (-1, -1)
    if bounds is not None:
        x1, y1, x2, y2 = bounds
        centre = ((x1 + x2) / 2, (y1 + y2) / 2)
    return [
        {"role": "user", "type": "image", "value": line["image_path"]},
        {"role": "user", "type": "text", "value": str(centre)},
    ]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    data = {name: {} for name in TABLES}
    data["OSWorldG refined"] = {"benchmark": "OSWorldG", "instructions": "refined"}
    entry = {
        "imp_type": "custom",
        "model_path": f"{__name__}.Sketchy",
        "custom_prompt": dict.fromkeys(data, f"{__name__}.centre_alone"),
    }
    config = {
        "model": {
            name: {**entry, "kwargs": {"first": first}}
            for first, name in enumerate(("first", "second"))
        },
        "data": data,
    }
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMUData", str(PROJECT / "sample_data"))
        patch.delenv("IMAGE_ROOT_DIR", raising=False)
        arguments = ["--config", str(path), "--work-dir", str(folder / "outputs")]
        assert evaluate.main(arguments) == DONE
    return folder / "outputs"


def pages_of(outputs):
    """The addresses that are looked at, by page."""
    report = next(outputs.glob("first/T*/report/index.html"))
    comparison = next(outputs.glob("comparisons/*/comparison.html"))
    samples = [f"#/samples?dataset={name.replace(' ', '%20')}" for name in TABLES]
    details = [f"#/sample/{name}/0" for name in TABLES] + ["#/sample/OSWorldG/9"]
    return {
        report: ["#/overview", *samples, *details],
        comparison: ["#/overview", samples[3], *details],
        outputs / "index.html": [""],
    }


@pytest.mark.parametrize(("scheme", "viewport"), [("light", DESKTOP), ("dark", PHONE)])
def test_axe_finds_nothing_on_pages_of_the_tables(outputs, open_tab, scheme, viewport):
    violations = {}
    for page, addresses in pages_of(outputs).items():
        tab = open_tab(page, color_scheme=scheme, viewport=viewport)
        for address in addresses:
            if address:
                tab.go(address)
            tab.run("for (const each of document.querySelectorAll('details')) each.open = true")
            violations[page.name, address] = tab.findings()
            assert tab.run("document.documentElement.scrollWidth") <= viewport["width"]
            keep(tab, f"{page.parent.name}{address}-{scheme}-{viewport['width']}")
    assert {page_name: rules for page_name, rules in violations.items() if rules} == {}


def test_every_count_of_a_table_leads_to_exactly_its_samples(outputs, open_tab):
    links = counted_links(open_tab(next(outputs.glob("first/T*/report/index.html"))))
    assert [link for link in links if link.is_wrong] == []
    of_cells = [link.href for link in links if link.kind == "scores"]
    assert {name for name in TABLES if any(name in href for href in of_cells)} == {*TABLES}


def test_every_count_of_a_comparison_leads_to_exactly_its_samples(outputs, open_tab):
    counts = counts_of_comparison(open_tab(next(outputs.glob("comparisons/*/comparison.html"))))
    assert [link for link in counts if link.is_wrong] == []
    assert len(counts) > 30


def keep(tab, name):
    folder = os.environ.get("PAGES_OUT")
    if folder:
        file = "".join(letter if letter.isalnum() else "_" for letter in name)
        tab.page.screenshot(path=Path(folder) / f"{file}.png", full_page=True)
