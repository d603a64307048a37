"""Replays of the scoring files, through `Benchmark.judge` and `Benchmark.summarise`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks import BENCHMARK
from benchmarks.base import Benchmark
from benchmarks.matrics import OptionResult, score_content_understanding, score_element_grounding
from models import api_gpt, api_uitars
from tests.conformance.parsers import gpt_departure
from tests.conformance.support import Case, Departs, Replay, World, equal
from utils.contracts import Judgement, Sizes
from utils.misc import parser_response_into_coordinates

NOWHERE = Path("not-used")  # judging needs no files
L1 = BENCHMARK["GUIContentUnderstanding"](NOWHERE, NOWHERE)
L2 = BENCHMARK["GUIElementGrounding"](NOWHERE, NOWHERE)

POINT_PARSERS = {
    "point": parser_response_into_coordinates,
    "uitars": api_uitars.parse_grounding_response,
    "gpt": api_gpt.parse_grounding_response,
}

# Replies that the reference read back from its spreadsheet as another text: what they say.
REPLIES_AS_GIVEN_L1: dict[str, str | None] = {"NA": None, "=A": "A"}
REPLIES_AS_GIVEN_L2: dict[str, tuple[float, float] | None] = {"=(0.61, 0.18)": (0.61, 0.18)}


def _judged_l1(row: Mapping[str, Any], reply: str) -> Judgement:
    line = {key: row[key] for key in ("options", "answer", "difficulty", "platform")}
    return L1.judge(line, Sizes(), reply, L1.default_parse, {})


def _l1_sample_departs(case: Case) -> Departs | None:
    row = case.input
    if "prediction_as_stored" not in row:
        return None
    letter = REPLIES_AS_GIVEN_L1[row["prediction"]]
    hit = letter == row["answer"]
    return Departs(
        {
            "hit": int(hit),
            "parsed_prediction": str(letter),
            "options_num": len(row["options"]),
            "log": f"Match Log: Parsed option is {letter} {'and' if hit else 'while'} "
            f"groundtruth option is {row['answer']}.",
        }
    )


def _l1_set(case: Case, world: World) -> Any:
    """Hits as judged here; scores with the stored text in the place of a reply that was changed.

    So every number of the reference is reproduced, and the difference is that text alone.
    """
    rows = case.input["rows"]
    stored = [row.get("prediction_as_stored", row["prediction"]) for row in rows]
    counted = [_judged_l1(*pair).counted for pair in zip(rows, stored, strict=True)]
    return {
        "score": L1.summarise(counted, {}),
        "score_weighted": L1.summarise(counted, {"L1_USE_WEIGHTED": "1"}),
        "hits": [_judged_l1(row, row["prediction"]).columns["hit"] for row in rows],
    }


def _l1_set_departs(case: Case) -> Departs | None:
    hits = list(case.expected["hits"])
    changed = [n for n, row in enumerate(case.input["rows"]) if "prediction_as_stored" in row]
    for number in changed:
        row = case.input["rows"][number]
        hits[number] = int(REPLIES_AS_GIVEN_L1[row["prediction"]] == row["answer"])
    return Departs({**case.expected, "hits": hits}) if changed else None


def _null_for_nan(case: Case) -> Departs | None:
    """Scores that were not a number are null, and what averages over them leaves them out."""
    scores = _without_nan(case.expected)
    if equal(scores, case.expected):
        return None
    for level in scores.values():
        if isinstance(level, dict):
            counted = [
                (block["score"], block["sample_num"])
                for block in level.values()
                if isinstance(block, dict) and block["score"] is not None
            ]
            number, total = sum(n for _, n in counted), sum(score * n for score, n in counted)
            level["level_score"] = total / number if number else None
    return Departs(scores)


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


def _l1_score(rows: Sequence[Mapping[str, Any]], *, weighted: bool) -> Any:
    results = [
        OptionResult(r["difficulty"], r["platform"], bool(r["hit"]), r["options_num"]) for r in rows
    ]
    return score_content_understanding(results, weighted=weighted)


def _judged_l2(row: Mapping[str, Any], parser: str) -> Judgement:
    columns = ("bbox", "image_size", "platform", "data_type", "grounding_type")
    line = {key: row[key] for key in columns}
    line |= {"image_path": "os_web/x.png", "instruction": "Click it."}
    sizes = Sizes(file_wh=tuple(row["picture_size"]))
    return L2.judge(line, sizes, row["prediction"], POINT_PARSERS[parser], {})


def _l2_sample(case: Case, world: World) -> Any:
    columns = _judged_l2(case.input, case.input["parser"]).columns
    return {
        "match": columns["match"],
        "is_wrong_format": columns["is_wrong_format"],
        "point": columns["pred_bbox"],
        "bbox_used": columns["parsed_bbox(format:x1,y1,x2,y2)"],
    }


def _l2_sample_departs(case: Case) -> Departs | None:
    box, point = _box_departure(case.input), _point_departure(case.input, case.input["parser"])
    if box is None and point is None:
        return None
    used_box = case.expected["bbox_used"] if box is None else box
    used_point = case.expected["point"] if point is None else point.expected
    return Departs(_outcome(used_box, used_point))


def _box_departure(row: Mapping[str, Any]) -> list[float] | None:
    """A box whose -1 hides that it is normalised."""
    others = [value for value in row["bbox"] if value != -1]
    if len(others) == 4 or not others or max(others) > 1:
        return None
    return [0 if value == -1 else value for value in row["bbox"]]


def _point_departure(row: Mapping[str, Any], parser: str) -> Departs | None:
    """A reply that says something else here than in the reference."""
    if "prediction_as_stored" in row:
        departure: Departs | None = Departs(REPLIES_AS_GIVEN_L2[row["prediction"]])
    else:
        departure = gpt_departure(row["prediction"]) if parser == "gpt" else None
    if departure is None or departure.expected is None:
        return departure
    x, y = departure.expected
    width, height = row["picture_size"] if x > 1 or y > 1 else (1, 1)
    return Departs([x / width, y / height])


def _outcome(box: Sequence[float], point: Sequence[float] | None) -> dict[str, Any]:
    hit = point is not None and box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]
    return {"match": int(hit), "is_wrong_format": point is None, "point": point, "bbox_used": box}


def _l2_set(case: Case, world: World) -> Any:
    """Outcomes as judged here; the score with the reference's outcome where this project departs.

    So every number of the reference is reproduced, and the difference is those rows alone.
    """
    rows, parser = case.input["rows"], case.input["parser"]
    if case.is_crash:
        return _loaded(rows, world)
    judged = [_judged_l2(row, parser) for row in rows]
    outcomes = zip(case.expected["matches"], case.expected["wrong_format"], strict=True)
    counted = [
        (*judgement.counted[:3], -1 if wrong else match)
        if _departs(row, parser)
        else judgement.counted
        for row, judgement, (match, wrong) in zip(rows, judged, outcomes, strict=True)
    ]
    return {
        "score": L2.summarise(counted, {}),
        "matches": [judgement.columns["match"] for judgement in judged],
        "wrong_format": [judgement.columns["is_wrong_format"] for judgement in judged],
    }


def _departs(row: Mapping[str, Any], parser: str) -> bool:
    return _box_departure(row) is not None or _point_departure(row, parser) is not None


def _l2_set_departs(case: Case) -> Departs | None:
    parser = case.input["parser"]
    departing = [(n, row) for n, row in enumerate(case.input["rows"]) if _departs(row, parser)]
    if case.is_crash or not departing:
        return None
    matches, wrong_format = list(case.expected["matches"]), list(case.expected["wrong_format"])
    for number, row in departing:
        box, point = _box_departure(row), _point_departure(row, parser)
        columns = _judged_l2(row, parser).columns  # a set has no points: taken as judged here
        used_box = box or columns["parsed_bbox(format:x1,y1,x2,y2)"]
        outcome = _outcome(used_box, point.expected if point else columns["pred_bbox"])
        matches[number], wrong_format[number] = outcome["match"], outcome["is_wrong_format"]
    return Departs({**case.expected, "matches": matches, "wrong_format": wrong_format})


def _loaded(rows: Sequence[Mapping[str, Any]], world: World) -> str:
    """What loading says of samples that cannot be scored: they are named before the first call."""
    benchmark = data_set(
        world.folder,
        "GUIElementGrounding",
        [
            {**row, "index": number, "image_path": "x.png", "instruction": "Click it."}
            for number, row in enumerate(rows)
        ],
    )
    for row in rows:
        path = benchmark.image_root / row["platform"] / "x.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("1", tuple(row["picture_size"])).save(path)
    samples, bad = benchmark.load("all")
    return f"{len(samples)} to ask; " + "; ".join(map(str, bad))


def data_set(folder: Path, name: str, annotations: Sequence[Mapping[str, Any]]) -> Benchmark:
    """A benchmark on a data root that holds just these annotations, no pictures."""
    benchmark = BENCHMARK[name](folder, folder / "offline_images")
    benchmark.annotation_file.write_text(json.dumps(annotations), encoding="utf-8")
    return benchmark


def _names_the_box(got: Any, expected: Any) -> bool:
    """Crashes of the reference are described in words: nothing is asked, the box is named."""
    if isinstance(expected, str):
        return isinstance(got, str) and got.startswith("0 to ask; ") and "outside the image" in got
    return equal(got, expected)


REPLAYS = {
    "l1_eval_samples.json": Replay(
        lambda case, world: _judged_l1(case.input, case.input["prediction"]).columns,
        _l1_sample_departs,
    ),
    "l1_eval_sets.json": Replay(_l1_set, departs=_l1_set_departs),
    "l1_score_normal.json": Replay(
        lambda case, world: _l1_score(case.input, weighted=False), _null_for_nan
    ),
    "l1_score_weighted.json": Replay(
        lambda case, world: _l1_score(case.input, weighted=True), _null_for_nan
    ),
    "l2_eval_samples.json": Replay(_l2_sample, departs=_l2_sample_departs),
    "l2_eval_sets.json": Replay(_l2_set, departs=_l2_set_departs, same=_names_the_box),
    "l2_score.json": Replay(lambda case, world: score_element_grounding(case.input)),
}
