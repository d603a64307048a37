"""The table, averages and groups of an analysis: the printed values, each with its interval."""

import random
import string
from pathlib import Path

import pytest

from benchmarks import BENCHMARK
from tests.support.clicks import columns_of
from tests.support.stage import L1, L2
from utils.analysis.intervals import interval
from utils.contracts import Sizes
from utils.scoring.console import render_averages, render_table

PLATFORMS = ("os_windows", "os_mac", "os_linux", "os_ios", "os_android", "os_web")
WEIGHTED = {"L1_USE_WEIGHTED": "1"}
WH = (1920, 1080)
KINDS = ("icon", "text", "text", "canvas", None)


def line_of(name, chance, split, platform):
    path = f"{platform}/{chance.randrange(25)}.png"
    line = {"platform": platform, "image_path": path, "image_size": list(WH)}
    if name == L1:
        letters = string.ascii_uppercase[: chance.choice([1, 2, 4, 4, 5])]
        return {
            **line,
            "question": "Which?",
            "options": dict.fromkeys(letters, "text"),
            "answer": "A",
            "difficulty": split,
        }
    x, top = chance.random() / 2, chance.random() / 2
    side = chance.choice([0, 0.01, 0.02, 0.05, 0.3])
    return {
        **line,
        "instruction": "Click.",
        "bbox": [x, top, x + side, top + side],
        "data_type": chance.choice(KINDS),
        "grounding_type": split,
    }


def judged_run(name, seed, splits, platforms, samples=300):
    """Outcomes and facts of a made run: hits, misses, replies nobody can read, failed requests."""
    chance, benchmark = random.Random(seed), BENCHMARK[name](Path("unused"), Path("unused"))
    outcomes, facts = [], []
    for _ in range(samples):
        line = line_of(name, chance, chance.choice(splits), chance.choice(platforms))
        right, wrong = ("A", "B") if name == L1 else (tuple(line["bbox"][:2]), (0.99, 0.99))
        parsed = chance.choice([right, right, wrong, None])
        reply = chance.choice(["text", "text", None]) if parsed is None else "text"
        judged = benchmark.judge_parsed(line, Sizes(file_wh=WH), parsed, reply)
        outcomes.append(judged.counted)
        facts.append(
            {
                "image": line["image_path"],
                "platform": line["platform"],
                **judged.facts,
                "prediction": reply,
                "verdict": judged.verdict,
            }
        )
    return benchmark, outcomes, facts


def sections_of(benchmark, facts, settings=None):
    return benchmark.sections(columns_of(facts), settings or {})


def figures_of_scores(name, scores):
    """Every figure of a score object, in percent, by row and column of the table."""
    if name == L1:
        figures = {}
        for split, block in scores.items():
            if isinstance(block, dict):
                figures[split, "Overall"] = block["level_score"]
                figures |= {
                    (split, platform): platform_scores["score"]
                    for platform, platform_scores in block.items()
                    if isinstance(platform_scores, dict)
                }
        return {
            cell_name: 100 * figure for cell_name, figure in figures.items() if figure is not None
        }
    figures = {("average", "Overall"): scores["Average accuracy"]}
    for split in ("basic", "advanced"):
        figures[split, "Overall"] = scores[f"{split.capitalize()} accuracy"]
        for platform, block in scores.get(split, {}).items():
            figures[split, platform] = block["Total accuracy"]
    for platform in {column for _, column in figures} - {"Overall"}:
        values = [figures.get((split, platform)) for split in ("basic", "advanced")]
        present_values = [value for value in values if value is not None]
        figures["average", platform] = (
            sum(present_values) / len(present_values) if present_values else None
        )
    return {cell_name: figure for cell_name, figure in figures.items() if figure is not None}


def figures_of_table(section):
    return {
        (row["name"], column): cell["value"]
        for row in section["rows"]
        for column, cell in zip(section["columns"], row["cells"], strict=True)
        if cell is not None and cell["value"] is not None
    }


RUNS = pytest.mark.parametrize(
    ("name", "splits", "platforms", "settings"),
    [
        (L1, ("easy", "medium", "hard"), PLATFORMS, {}),
        (L1, ("easy", "medium", "hard"), PLATFORMS, WEIGHTED),
        (L1, ("hard",), PLATFORMS[2:4], {}),
        (L1, ("medium", "easy"), PLATFORMS[::-1], WEIGHTED),
        (L2, ("basic", "advanced"), PLATFORMS, {}),
        (L2, ("advanced",), PLATFORMS[:2], {}),
        (L2, ("basic",), PLATFORMS[5:], {}),
    ],
)


@RUNS
@pytest.mark.parametrize("samples", [0, 1, 7, 300])
def test_the_table_holds_the_figures_of_the_score(name, splits, platforms, settings, samples):
    benchmark, outcomes, facts = judged_run(name, samples, splits, platforms, samples)
    scores = figures_of_scores(name, benchmark.summarise(outcomes, settings))
    table = sections_of(benchmark, facts, settings)["table"]
    assert figures_of_table(table) == pytest.approx(scores)


@pytest.mark.parametrize(
    ("name", "splits", "settings"),
    [
        (L1, ("easy", "medium", "hard"), {}),
        (L1, ("easy", "medium", "hard"), WEIGHTED),
        (L2, ("basic", "advanced"), {}),
    ],
)
def test_an_average_is_of_what_a_platform_has_where_it_lacks_a_split(name, splits, settings):
    benchmark, outcomes, facts = judged_run(name, 1, splits, ("os_mac", "os_ios"))
    _, web_outcomes, web_facts = judged_run(name, 2, splits[:1], ("os_web",))
    scores = figures_of_scores(name, benchmark.summarise([*outcomes, *web_outcomes], settings))
    sections = sections_of(benchmark, [*facts, *web_facts], settings)
    assert figures_of_table(sections["table"]) == pytest.approx(scores)
    cells = [cell for row in sections["table"]["rows"] for cell in row["cells"] if cell]
    for cell in [*cells, *sections["averages"].values()]:
        assert cell["low"] <= cell["value"] <= cell["high"]
    if name == L2:
        basic, _, average = (row["cells"][2] for row in sections["table"]["rows"])
        assert average == basic


@RUNS
def test_cells_of_ten_pictures_have_intervals_that_hold_them(name, splits, platforms, settings):
    benchmark, _, facts = judged_run(name, 5, splits, platforms)
    sections = sections_of(benchmark, facts, settings)
    cells = [cell for row in sections["table"]["rows"] for cell in row["cells"]]
    cells += [*sections["averages"].values()]
    cells += [cell for group in sections["groups"].values() for cell in group.values()]
    counted = [cell for cell in cells if cell is not None]
    assert len(counted) > 8
    for cell in counted:
        if cell["pictures"] < 10:
            assert (cell["low"], cell["high"]) == (None, None)
        else:
            assert 0 <= cell["low"] <= cell["value"] <= cell["high"] <= 100
            assert cell["high"] - cell["low"] > 1


def test_averages_of_l1_are_named_and_weigh_as_they_say():
    benchmark, _, facts = judged_run(L1, 1, ("easy", "hard"), ("os_mac", "os_web"))
    averages = sections_of(benchmark, facts)["averages"]

    def mean(**conditions):
        hits = [
            s["hit"] for s in facts if all(s[key] == label for key, label in conditions.items())
        ]
        return 100 * sum(hits) / len(hits)

    def by_platform(**conditions):
        return (mean(platform="os_mac", **conditions) + mean(platform="os_web", **conditions)) / 2

    assert {name: cell["value"] for name, cell in averages.items()} == pytest.approx(
        {
            "overall": mean(),
            "macro by platform": by_platform(),
            "macro by difficulty": (mean(split="easy") + mean(split="hard")) / 2,
            "easy": mean(split="easy"),
            "easy, macro by platform": by_platform(split="easy"),
            "hard": mean(split="hard"),
            "hard, macro by platform": by_platform(split="hard"),
        }
    )


def test_averages_of_l2_hold_those_of_the_score_file_and_null_where_there_is_nothing():
    benchmark, outcomes, facts = judged_run(L2, 2, ("basic", "advanced"), PLATFORMS)
    scores, averages = benchmark.summarise(outcomes, {}), sections_of(benchmark, facts)["averages"]
    basic = sections_of(benchmark, judged_run(L2, 2, ("basic",), PLATFORMS)[2])["averages"]
    protocol = [f"{name} accuracy" for name in ("Average", "Basic", "Advanced")]
    assert list(averages) == ["micro", "macro by platform", *protocol]
    assert [averages[x]["value"] for x in protocol] == pytest.approx([scores[x] for x in protocol])
    blocks = [block for split in ("basic", "advanced") for block in scores[split].values()]
    correct, total = (sum(b[key] for b in blocks) for key in ("Correct num", "Total num"))
    assert averages["micro"]["value"] == pytest.approx(100 * correct / total)
    assert basic["Advanced accuracy"] is None
    assert basic["Average accuracy"] == basic["Basic accuracy"]


def test_what_chance_reaches_follows_from_the_options_and_from_the_area_of_the_targets():
    benchmark, _, facts = judged_run(L1, 1, ("easy", "hard"), ("os_mac", "os_web"))
    for sample_facts in facts:
        sample_facts["options"] = dict.fromkeys(
            "ABCDE" if sample_facts["split"] == "easy" else "AB", "text"
        )
    easy = [sample_facts["split"] == "easy" for sample_facts in facts]
    overall = (20 * sum(easy) + 50 * easy.count(False)) / len(easy)
    chance = sections_of(benchmark, facts)["chance"]
    del chance["meaning"]
    assert chance == pytest.approx({"easy": 20, "hard": 50, "overall": overall})
    benchmark, _, facts = judged_run(L2, 2, ("basic", "advanced"), PLATFORMS)
    for sample_facts in facts:
        sample_facts["box_frac"] = (
            [0.1, 0.1, 0.3, 0.2] if sample_facts["split"] == "basic" else [0, 0, 0.2, 0.2]
        )
    assert sections_of(benchmark, facts)["chance"]["average"] == pytest.approx(3)


def test_an_interval_is_that_of_the_cells_own_samples_and_pictures_have_platforms():
    benchmark, _, facts = judged_run(L1, 3, ("easy", "hard"), ("os_mac", "os_web"))
    cell_samples = [s for s in facts if (s["split"], s["platform"]) == ("hard", "os_web")]
    expected = interval([s["hit"] for s in cell_samples], None, [s["image"] for s in cell_samples])
    cell = sections_of(benchmark, facts)["table"]["rows"][1]["cells"][1]
    bounds = [100 * expected.low, 100 * expected.high]
    assert [cell["low"], cell["high"]] == pytest.approx(bounds, abs=0.01)
    assert (cell["samples"], cell["pictures"]) == (
        len(cell_samples),
        len({s["image"] for s in cell_samples}),
    )
    # pictures of one name on two platforms are two
    benchmark, _, facts = judged_run(L2, 4, ("basic",), ("os_mac", "os_web"), 400)
    assert sections_of(benchmark, facts)["averages"]["micro"]["pictures"] == 50


@pytest.mark.parametrize(
    ("name", "splits", "own_groups"),
    [
        (L1, ["easy", "hard"], {}),
        (
            L2,
            ["basic", "advanced"],
            {
                "kind": ["icon", "text", "canvas", "none"],
                "target size": ["under 1.5 %", "1.5 to 3 %", "3 to 6 %", "6 % and more"],
            },
        ),
    ],
)
def test_the_groups(name, splits, own_groups):
    benchmark, _, facts = judged_run(name, 2, splits[::-1], ("os_web", "os_mac"))
    groups = sections_of(benchmark, facts)["groups"]
    group_labels = {name: list(group) for name, group in groups.items()}
    assert group_labels == {"platform": ["os_mac", "os_web"], "split": splits, **own_groups}
    if name == L2:
        assert groups["kind"]["canvas"]["value"] == 0  # as in the score: no kind that it knows


def cell(percent, low=None, high=None):
    return {"value": percent, "low": low, "high": high, "samples": 40, "pictures": 20}


NO_INTERVAL = ["no 95 % intervals in the table: fewer than 10 images per cell"]
HOW = "t · m · accuracy in %, 95 % intervals by image · n = 40"


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((36.4, 63.6), ["95 % 36.4–63.6"]),
        ((0.0, 7.05), ["95 % 0.0–7.1"]),
        ((99.25, 100.0), ["95 % 99.3–100.0"]),
        ((33.0, 34.0), ["95 % 33.0–34.0"]),
        ((None, None), NO_INTERVAL),
    ],
)
def test_intervals_stand_below_their_figures_rounded_half_up(bounds, expected):
    row = {"name": "average", "cells": [cell(50.0, *bounds)]}
    head, *lines = render_table({"title": "t", "columns": ["c"], "rows": [row]}, "m", 40).split(
        "\n"
    )
    assert [" ".join(line.split()) for line in lines[3:]] == expected
    assert head == (HOW if None not in bounds else HOW.replace(", 95 % intervals by image", ""))


def test_averages_are_named_in_one_line():
    micro, macro, easy = cell(50.0, 36.4, 63.6), cell(48.125), cell(1.0)
    section = {"micro": micro, "macro by platform": macro, "easy": easy}
    assert render_averages(section) == "averages: micro 50.00 (36.4–63.6), macro by platform 48.13"
