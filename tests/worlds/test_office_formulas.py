"""Formulas of sheets have the same values in the page and in the checks."""

import pytest

from benchmarks.worlds.office.server import LOOKS, Office
from benchmarks.worlds.office.tasks.formulas import cell_text

INPUTS = {
    "H1": "EUR",
    "H2": "120",
    "H3": "35.5",
    "H4": "=H2*2",
    "H5": "-0.125",
    "H6": "12 pieces",
    "H8": "1,850",
    "H9": "=I9",
    "I9": "=H9",
}
FORMULAS = (
    "=1+2*3-4/2",
    "=(1+2)*-3",
    "=10/4",
    "=1/3",
    "=2/3*-1",
    "=1/0",
    "=0/5-0",
    "=.5*4",
    "=1.*2",
    "=H1",
    "=H1+H2",
    "=H6+1",
    "=H7",
    "=H8*2",
    "=sum(h2:h4)",
    "= SUM( H2 : H4 )",
    "=SUM(H4:H2)",
    "=SUM(H1:I8)",
    "=SUM(H2,H3,5)",
    "=SUM(H2;H3;5)",
    "=SUM($H$2:H$4)+$H3",
    "=COUNT(H1:H8)",
    "=AVERAGE(H2:H4)",
    "=AVERAGE(A50:B60)",
    "=MIN(H2:H5)+MAX(H2:H5)",
    "=MAX(A50:B60)",
    "=ROUND(H3)",
    "=ROUND(H5,2)",
    "=ROUND(-2.5)",
    "=ROUND(H3/3,2)",
    "=H9",
    "=SUM(H1:H9)",
    "=SUMME(H2:H4)",
    "=NOTHING",
    "=SUM(H2:H4",
    "=SUM(H2:)",
    "=SUM()",
    "=1 2",
    "=",
    "=H2H3",
    "=1+",
    "=H2+H3+H4",
    "=--H2",
    "=120000*120000",
    "=H2/7",
)


@pytest.fixture
def sheet_cells(chromium):
    """What each cell of the first sheet shows, with the formulas in column J."""
    written = {**INPUTS, **{f"J{row}": text for row, text in enumerate(FORMULAS, 1)}}
    cells = [{"sheet": "Expenses", "cell": cell, "value": text} for cell, text in written.items()]
    with Office() as office:
        task = {"apps": ["sheets"], "setup": {"add": {"cells": cells}}}
        episode = office.new_episode(task)
        tab = chromium.open(episode.url, episode.url, LOOKS["web"].viewport_wh)
        tab.page.locator('[data-t="sheets.cell"][data-k="J1"]').wait_for(timeout=120_000)
        tab.settle()
        rows = episode.before["cells"].values()
        stored = {row["cell"]: row["value"] for row in rows if row["sheet"] == "Expenses"}
        texts = tab.page.eval_on_selector_all(
            '[data-t="sheets.cell"]', "all => all.map(each => [each.dataset.k, each.textContent])"
        )
        yield stored, dict(texts)


def test_the_checks_work_out_formulas_as_the_page_does(sheet_cells):
    stored, on_page = sheet_cells
    worked_out = {text: cell_text(stored, f"J{row}") for row, text in enumerate(FORMULAS, 1)}
    assert {text: on_page[f"J{row}"] for row, text in enumerate(FORMULAS, 1)} == worked_out
