"""Rows with an id of their own, and details that a benchmark adds, on the pages of a run."""

import json
import shutil

from tests.support.mock_server import MockServer, Reply
from tests.support.runs import PICTURES, environment, run_here
from tests.support.stage import Stage
from utils.session.compare import main as compare

OWN = """
    from dataclasses import replace
    from benchmarks.answers import AnswerBenchmark

    class Menus(AnswerBenchmark):
        folder = "menus"

        def read_rows(self):
            for item in self.read_file("rows.json"):
                yield {"image_path": item.pop("image"), **item}

        @staticmethod
        def default_parse(response, meta):
            return None if "no idea" in response else response

        def is_right(self, line, answer):
            return answer == line["answer"]

        def judge_parsed(self, line, sizes, parsed, reply):
            judged = super().judge_parsed(line, sizes, parsed, reply)
            return replace(judged, facts={**judged.facts, "details": {"credit": 0.25}})
"""
ROWS = [
    {"id": row_id, "image": "a.png", "question": f"Price {number}?", "answer": "7"}
    for number, row_id in enumerate(["dish-1", 1, None])
]


def test_a_rows_own_id_stands_beside_its_number_on_all_pages(open_tab, tmp_path):
    with MockServer(lambda request: Reply("7" if "0" in request.text else "no idea")) as server:
        stage = Stage.make(tmp_path, server, PICTURES)
        (stage.root / "menus/images").mkdir(parents=True)
        shutil.copy(stage.picture(0), stage.root / "menus/images/a.png")
        (stage.root / "menus/rows.json").write_text(json.dumps(ROWS))
        stage.module(OWN, "own")
        stage.data = {"Menus": {"benchmark": "own.Menus"}}
        stage.run()
        server.answer = lambda request: Reply("8")
        stage.model["n"] = stage.model["m"]
        stage.run("--model", "n")
    report = stage.folder() / "report/index.html"
    names = ["0 (id dish-1)", "1", "2"]  # an id that is the number says nothing more
    tab = open_tab(report, address="#/samples")
    assert tab.texts(".card .number") == [f"#{name}" for name in names]
    tab = open_tab(report, address="#/sample/Menus/0")
    assert tab.text("#sample-title") == "Menus sample 0 (id dish-1)"
    facts = dict(zip(tab.texts("#facts dt"), tab.texts("#facts dd"), strict=True))
    assert (facts["Credit"], facts["Id"]) == ("0.25", "dish-1")
    folders = [str(stage.work_dir / name) for name in "mn"]
    compared = run_here(compare, ["compare.py", *folders], stage.home, environment())
    assert "[#0 (id dish-1)]" in compared.stdout
    tab = open_tab(stage.home / "comparison/comparison.html", address="#/sample/Menus/0")
    assert tab.text("#sample-title") == "Menus sample 0 (id dish-1)"
