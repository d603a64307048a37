"""Published figures of a recipe's checkpoint beside one's own."""

import json

import pytest
from PIL import Image

from models.recipes import all_recipes
from models.recipes.sources import L2, LEADERBOARD, OSWORLD_G, SCREENSPOT_PRO, SCREENSPOT_V2
from tests.support.stage import L2 as L2_DATA_SET
from utils.datasets.published import (
    Figure,
    Source,
    checkpoint_names,
    figures_beside,
    lines_of,
    read_published,
)
from utils.findings import as_json, doubt_about, note, warning

MAI_UI = all_recipes()["mai_ui"].figures
ANALYSIS = {
    "averages": {
        "micro": {"value": 88.76, "low": 87.58, "high": 89.94},
        "Average accuracy": {"value": 88.0, "low": None, "high": None},
    }
}
URL = "http://127.0.0.1:8000/v1?model="


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        ({"imp_type": "openai", "model_path": f"{URL}Tongyi-MAI/MAI-UI-8B"}, ["MAI-UI-8B"]),
        ({"imp_type": "openai", "model_path": f"{URL}/data/MAI-UI-8B/"}, ["MAI-UI-8B"]),
        ({"imp_type": "openai", "model_path": "http://127.0.0.1:8000/v1"}, []),
        ({"imp_type": "vllm", "model_path": "Tongyi-MAI/MAI-UI-8B"}, ["MAI-UI-8B"]),
        (
            {
                "imp_type": "transformers",
                "model_path": "/hub/models--Tongyi-MAI--MAI-UI-8B/snapshots/0123abcd",
            },
            ["MAI-UI-8B"],
        ),
        (
            {"imp_type": "custom", "model_path": "mine.Served", "model_identity": "a/MAI-UI-8B"},
            ["MAI-UI-8B"],
        ),
        ({"imp_type": "custom", "model_path": "mine.Served"}, []),
    ],
)
def test_an_entry_names_its_checkpoint_by_the_last_part_of_a_path(entry, names):
    assert checkpoint_names(entry) == names


def test_figures_of_the_same_checkpoint_stand_beside_ones_own():
    section = figures_beside(MAI_UI, ["mai-ui-8b"], L2, ANALYSIS)
    assert lines_of(section) == [
        "published for MAI-UI-8B:",
        "   88.80  authors' report                yours 88.76 micro: -0.04, 0.1 standard errors;"
        " same rule",
        "   88.90  authors' README, transformers  yours 88.76 micro: -0.14, 0.2 standard errors;"
        " same rule",
        "   88.70  authors' README, vLLM          yours 88.76 micro: +0.06, 0.1 standard errors;"
        " same rule",
        "   88.81  ClawGUI-Eval d990d3e           yours 88.76 micro: -0.05, 0.1 standard errors;"
        " same rule",
        "  the published figures differ by up to 0.2 points",
    ]
    assert {row["model"] for row in section["family"]} == {"MAI-UI-2B", "MAI-UI-32B"}


@pytest.mark.parametrize("name", ["MAI-UI-8B-AWQ", "my-mai-ui-8b", "8B", ""])
def test_figures_of_a_checkpoint_that_is_not_named_are_not_compared(name):
    section = figures_beside(MAI_UI, [name], L2, ANALYSIS)
    assert section["rows"] == []
    assert len(section["family"]) == 7
    first, *lines = lines_of(section)
    assert first.startswith("published for the model family, as context; no source names ")
    assert lines[0] == "   82.60  MAI-UI-2B   authors' report, average not stated"
    assert len(lines) == 7 and not any("standard errors" in line for line in lines)


def test_single_replies_never_stand_beside_zoom():
    single, zoom = (
        figures_beside(MAI_UI, ["MAI-UI-8B"], SCREENSPOT_PRO, ANALYSIS, protocol)
        for protocol in ("single", "zoom")
    )
    assert [row["value"] for row in single["rows"]] == [65.7, 65.8, 64.07]
    assert [row["value"] for row in zoom["rows"]] == [71.9]
    assert lines_of(zoom)[0] == "published for MAI-UI-8B, zoom:"


@pytest.mark.parametrize(
    ("source", "end"),
    [
        (Source("a", "micro"), "yours 88.76 micro: -1.24, 2.1 standard errors; same rule"),
        (Source("a", "mean"), "yours 88.00 average: -2.00; same rule"),
        (Source("a"), "yours 88.76 micro: -1.24, 2.1 standard errors; average not stated"),
        (Source("a", "micro", "of 563 rows"), "standard errors; of 563 rows"),
        (Source("a", "without refusals"), "without refusals: you have no such figure"),
    ],
)
def test_a_figure_is_compared_with_the_same_average_and_says_what_differs(source, end):
    section = figures_beside(source.of("m", {L2: 90.0}), ["m"], L2, ANALYSIS)
    assert lines_of(section)[1].endswith(end)


def test_a_table_without_published_figures_says_nothing():
    assert figures_beside(MAI_UI, ["MAI-UI-8B"], "L1_annotations.json", ANALYSIS) is None


def rows_of_osworld_g(root):
    """The whole table in size: 564 rows on 47 images."""
    folder = root / "OSWorld-G"
    (folder / "images").mkdir(parents=True)
    rows = []
    for number in range(564):
        name = f"{number % 47}.png"
        if number < 47:
            Image.new("L", (100, 60), number).save(folder / "images" / name)
        row = {"id": str(number), "image_path": name, "instruction": f"the button {number}"}
        row |= {"image_size": [100, 60], "box_type": "bbox", "box_coordinates": [80, 10, 15, 20]}
        rows.append(row)
    (folder / "OSWorld-G.json").write_text(json.dumps(rows))


MODEL = """
    class Served:
        model_identity = "1"
        def generate(self, message, *, dataset_name):
            text = " ".join(part["value"] for part in message if part["type"] == "text")
            x = 870 if any(f"button {number}" in text for number in range(1, 4)) else 100
            return '{"coordinate": [%d,300]}' % x

    class Stuck(Served):
        def generate(self, message, *, dataset_name):
            return '{"coordinate": [100,300]}'
"""


@pytest.mark.parametrize(
    ("options", "identity", "is_beside"),
    [((), "Tongyi-MAI/MAI-UI-8B", True), (("--limit", "20"), "Tongyi-MAI/MAI-UI-8B", False)],
)
def test_a_run_on_the_whole_table_shows_the_published_figures(staged, options, identity, is_beside):
    stage = staged()
    rows_of_osworld_g(stage.root)
    stage.module(MODEL, name="mine_served")
    entry = {"recipe": "mai_ui", "imp_type": "custom", "model_path": "mine_served.Served"}
    entry |= {"model_identity": identity, "generate_cfg": {}}
    result = stage.evaluate({"m": entry}, *options, data={"OSWorldG": {}})
    assert result.code == 0, result.output
    assert ("published for MAI-UI-8B:" in result.stdout) is is_beside
    manifest = json.loads((stage.folder() / "manifest.json").read_text())
    section = manifest["datasets"]["OSWorldG"].get("published")
    if not is_beside:
        assert section is None
        return
    assert [row["value"] for row in section["rows"]] == [60.1, 63.23]
    assert section["rows"][1]["note"] == "of 563 of the 564 rows"
    report = (stage.folder() / "report" / "data" / "summary_0.js").read_text()
    assert "of 563 of the 564 rows" in report
    assert "vocaela/kv-ground @ 04cf530, README (2026-03-16): KV-Ground-8B" in report
    assert '"remark":"asked with a prompt for refusals"' in report


def test_a_run_that_an_audit_doubts_is_not_compared_and_says_why(staged):
    stage = staged()
    rows_of_osworld_g(stage.root)
    stage.module(MODEL, name="mine_served")
    entry = {"recipe": "mai_ui", "imp_type": "custom", "model_path": "mine_served.Stuck"}
    entry |= {"model_identity": "Tongyi-MAI/MAI-UI-8B", "generate_cfg": {}}
    result = stage.evaluate({"m": entry}, data={"OSWorldG": {}})
    assert "not compared, because an audit doubts your score: constant answer" in result.stdout
    assert "standard errors" not in result.stdout
    report = (stage.folder() / "report" / "data" / "summary_0.js").read_text()
    assert "not compared: an audit doubts your score" in report


# -- the recipes' figures -------------------------------------------------------------------------


def test_rows_of_the_leaderboard_are_those_of_the_published_table():
    published = read_published()
    tables = {SCREENSPOT_PRO: "ScreenSpotPro", SCREENSPOT_V2: "ScreenSpotV2"}
    for name, recipe in all_recipes().items():
        for figure in recipe.figures:
            if (figure.source, figure.protocol) == (LEADERBOARD.name, "single"):
                averages = published[tables[figure.table]]["average"]
                values = [cells["Overall"] for cells in averages.values()]
                assert figure.value in values, (name, figure)


def test_every_figure_is_of_a_known_table_and_in_percent():
    for name, recipe in all_recipes().items():
        assert len(set(recipe.figures)) == len(recipe.figures), name
        for figure in recipe.figures:
            assert isinstance(figure, Figure)
            assert 0 < figure.value < 100, (name, figure)
            assert figure.source, (name, figure)


def test_a_checkpoint_that_a_source_does_not_name_has_no_figure_of_its_own():
    for name in ("Qwen3-VL-8B-Instruct", "Qwen3-VL-8B-Thinking", "GTA1-7B", "GTA1-7B-2507"):
        recipe = all_recipes()["gta1" if name.startswith("GTA1") else "qwen3_vl"]
        for table in (L2, SCREENSPOT_PRO, OSWORLD_G):
            section = figures_beside(recipe.figures, [name], table, ANALYSIS)
            assert section is None or not section["rows"], name


def test_sample_data_have_no_published_figures_beside_them(staged):
    stage = staged()
    entry = {"recipe": "mai_ui", "model_path": "{url}?api_key=test-key-123456&model=MAI-UI-8B"}
    result = stage.evaluate({"m": entry}, data={L2_DATA_SET: {"mode": "all"}})
    assert "published" not in result.stdout


DOUBTS = {
    "coordinate_audit": ("coordinate_audit.other_frame", "coordinate audit"),
    "constant_answer": ("constant_answer", "constant answer"),
    "replies": ("replies.unparsed", ""),
    "parse_audit": ("parse_audit.doubtful", "parse audit"),
    "constant_ending": ("constant_ending", "constant ending"),
}


@pytest.mark.parametrize(("section", "code"), DOUBTS.items())
def test_a_score_that_an_audit_doubts_is_not_compared(section, code):
    finding = warning(code[0], "it is odd", topic=code[1])
    analysis = {**ANALYSIS, section: as_json({"title": "t", "findings": [finding]})}
    doubt = doubt_about(analysis)
    assert doubt == finding.headline
    beside = figures_beside(MAI_UI, ["mai-ui-8b"], L2, analysis, doubt=doubt)
    first, second, *rows, last = lines_of(beside)
    assert first == "published for MAI-UI-8B:"
    assert second == f"  not compared, because an audit doubts your score: {finding.headline}"
    assert len(rows) == 4 and last.startswith("  the published figures differ")
    assert all(row.endswith("not compared: an audit doubts your score") for row in rows)
    assert not any("own" in row or "standard_errors" in row for row in beside["rows"])


@pytest.mark.parametrize("section", ["letter_bias", "judge", "circular", "coverage"])
def test_what_doubts_no_official_figure_hinders_no_comparison(section):
    severe = note if section == "coverage" else warning
    finding = severe(section, "it is odd")
    assert doubt_about({section: as_json({"title": "t", "findings": [finding]})}) == ""
