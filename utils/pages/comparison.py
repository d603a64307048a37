"""Writes the page of a comparison: `comparison.html`, its scripts and data in `comparison_files/`.

It looks and is made as the report of a run: data files that scripts show as text.
Images are those of the runs' reports; where those are missing, those of samples that the runs
differ in are made, if the images are here. A page that is to be sent around (`small_images`) has
small copies of these images alone, and no link to a report.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from utils.comparing import words
from utils.comparing.boards import BY_RULE, Board
from utils.comparing.headroom import RULE, Headroom
from utils.comparing.pairing import Comparison, Difference, PairOfRuns, PairOutcome, SamplePair
from utils.comparing.ranking import Ranking, rankings_of
from utils.comparing.runs import ComparedRun, answers_to, right_text
from utils.comparing.why import different_functions, different_rules, different_settings
from utils.contracts import Facts
from utils.errors import UserError
from utils.geometry.images import image_root
from utils.pages.data_files import (
    Chunks,
    SampleFiles,
    ToJson,
    columns,
    replaced_folder,
    write_script,
)
from utils.pages.pictures import Pictures
from utils.pages.portable import ZIP, write_zip
from utils.pages.privacy import path_hider
from utils.pages.report import CORE, area_of, pictures_of_report, shown_target
from utils.protocol import title_of
from utils.scoring.sheets import write_text
from utils.store.run_facts import REPORT_FOLDER
from utils.store.seals import stamp_of
from utils.text import (
    format_difference,
    format_interval,
    format_number,
    format_percent,
    format_share,
    local_time,
)

PAGE, FILES_FOLDER, RUNS_FILE = "comparison.html", "comparison_files", "runs.json"
ASSETS = CORE.with_name("comparison")
FACETS = ("outcome", "dataset", "platform", "split", "kind", "tier", "app")
FIELDS_OF_SIDES = {
    "chosen": "chosen",
    "answered": "answered",
    "replies": "prediction",
    "errors": "error",
    "finish": "finish_reason",
}
"""Names in the page's details and in the samples files; each has a value for A and one for B."""
DIFFERING = (PairOutcome.ONLY_A, PairOutcome.ONLY_B, PairOutcome.APART)
ROWS_PER_FILE, DETAILS_PER_FILE = 4000, 200
MADE = "Made on {}. After a later scoring, compare the runs again."


def write_page(
    comparison: Comparison,
    output: Path,
    *,
    small_images: bool = False,
    headrooms: Sequence[Headroom] = (),
) -> Path:
    """Write the page into a folder and return it; it replaces one from before when it is whole.

    With `small_images` there is a zip beside it. `headrooms` are shown below the differences.

    Raises:
        UserError: the folder cannot be written.
    """
    try:
        with replaced_folder(output / FILES_FOLDER) as fresh:
            for asset in (*CORE.iterdir(), *ASSETS.iterdir()):
                if asset.name != PAGE:
                    shutil.copyfile(asset, fresh / asset.name)
            _write_data(comparison, output, fresh, headrooms, small_images=small_images)
            stamps = {
                os.path.relpath(run.path, output): stamp_of(run.manifest) for run in comparison.runs
            }
            (fresh / RUNS_FILE).write_text(json.dumps(stamps), "utf-8")
        (output / ZIP).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{output}: cannot write ({error.strerror or error})") from error
    page = write_text(output / PAGE, (ASSETS / PAGE).read_text("utf-8"))
    if small_images:
        write_zip(page, output / FILES_FOLDER)
    return page


def _write_data(
    comparison: Comparison,
    output: Path,
    fresh: Path,
    headrooms: Sequence[Headroom],
    *,
    small_images: bool,
) -> None:
    doubtful = {(headroom.dataset, row.key) for headroom in headrooms for row in headroom.doubtful}
    root = _image_root()
    to_json = path_hider([*(run.path for run in comparison.runs), root, Path.cwd()])
    ready = _images_of_reports(comparison.runs)
    prefix = f"{FILES_FOLDER}/"
    with closing(
        Pictures(root, fresh / "pictures", fresh, small=small_images, ready=ready, prefix=prefix)
    ) as images:
        matches, links = _write_matches(comparison, fresh / "data", to_json, images, doubtful)
        pictures = [_linked(picture, output, small_images=small_images) for picture in images.all()]
    runs = [_run(run, output) for run in comparison.runs]
    if small_images:
        runs = [{**run, "report": None} for run in runs]
    summary = {
        "runs": runs,
        "summary": [_board(board) for board in comparison.summary],
        "boards": [_board(board) for board in comparison.boards if board.split and not board.rule],
        "by_rule": _by_rule(comparison),
        "rankings": [],
        "headrooms": [_headroom(headroom, links) for headroom in headrooms],
        "matches": matches,
        "notes": [*comparison.notes, MADE.format(local_time(time.time()))],
        "how": words.HOW_TO_READ,
        "outcomes": list(PairOutcome),
        "pictures": pictures,
    }
    if comparison.has_many:
        summary["rankings"] = [_ranking(ranking) for ranking in rankings_of(comparison)]
        summary["how"] = words.HOW_TO_READ_MANY
    write_script(fresh / "data", "summary", 0, to_json(summary))


def _write_matches(
    comparison: Comparison,
    folder: Path,
    to_json: ToJson,
    images: Pictures,
    doubtful: Collection[tuple[str, str]],
) -> tuple[list[dict[str, Any]], dict[tuple[str, str], str]]:
    """Write the samples of every two runs.

    Args:
        comparison: of the runs.
        folder: for the files.
        to_json: makes their content.
        images: of the page.
        doubtful: data set and key of samples that have an image in any case.

    Returns:
        What the summary says of each two, and where on the page each doubtful sample is.
    """
    links: dict[tuple[str, str], str] = {}
    runs = {run.label: run for run in comparison.runs}
    pairs_by_runs: dict[tuple[str, str], list[PairOfRuns]] = {}
    for pair in comparison.pairs:
        if pair.is_in_full:
            pairs_by_runs.setdefault((pair.baseline, pair.run), []).append(pair)
    matches: list[dict[str, Any]] = []
    for number, ((a, b), pairs) in enumerate(pairs_by_runs.items()):
        files = SampleFiles(
            FACETS,
            Chunks(folder, f"rows{number}", to_json, columns, ROWS_PER_FILE),
            Chunks(folder, f"details{number}", to_json, list, DETAILS_PER_FILE),
        )
        for outcome in PairOutcome:  # in their own order, also those that no sample has
            files.number("outcome", outcome)
        ids = [report_ids(runs[label]) for label in (a, b)]
        for pair in pairs:
            for sample in pair.samples:
                name = (pair.dataset, str(sample.run["key"]))
                is_needed = sample.outcome in DIFFERING or name in doubtful
                _add_sample(files, pair.dataset, sample, ids, images, is_needed=is_needed)
                if name in doubtful and name in ids[1]:
                    query = f"?pair={number + 1}" if number else ""
                    links.setdefault(name, f"#/sample/{ids[1][name]}{query}")
        rows, details = files.close()
        facets = files.facets()
        settings = different_settings(runs[a], runs[b])
        functions = different_functions(runs[a], runs[b])
        matches.append(
            {
                "a": a,
                "b": b,
                "sets": [
                    {
                        **_set(pair),
                        "rules": _rule_words(runs[a], runs[b], pair.dataset),
                        "split_name": runs[b].sets[pair.dataset].table.get("split_name"),
                    }
                    for pair in pairs
                ],
                "rows": rows,
                "details": details,
                "count": files.count,
                "facets": facets,
                "labels": {name: words.group_text(name) for name in facets["platform"]},
                "settings": [*different_rules(runs[a], runs[b]), *settings, *functions],
            }
        )
    return matches, links


def _images_of_reports(runs: Sequence[ComparedRun]) -> dict[str, dict[str, Any]]:
    """Return the images that the runs' reports hold, by name; the files of the later run first."""
    images: dict[str, dict[str, Any]] = {}
    for run in runs:
        report = run.path / REPORT_FOLDER
        for name, image in pictures_of_report(report).items():
            files = [report / image.pop("view"), *images.get(name, {}).get("files", [])]
            images[name] = {**image, "files": files}
    return images


def _linked(picture: Mapping[str, Any], output: Path, *, small_images: bool) -> dict[str, Any]:
    """Return an image with links to its files in reports, unless the page is sent around.

    "others" are there to fall back on: a report may be moved or deleted after the page was written.
    """
    linked = dict(picture)
    links = [_href(file, output) for file in linked.pop("files", ())]
    if links and not small_images:
        linked |= {"view": links[0], "others": links[1:]}
    return linked


def _image_root() -> Path | None:
    """The folder that images are relative to; None where this machine has no such folder."""
    try:
        root = image_root()
    except UserError:
        return None
    return root if root.is_dir() else None


def report_ids(run: ComparedRun) -> dict[tuple[str, str], str]:
    """Return the name of each sample in the address of the run's report, by data set and key."""
    ids: dict[tuple[str, str], str] = {}
    counts: Counter[str] = Counter()
    for dataset, scored in run.sets.items():
        for key, facts in scored.samples.items():
            index = "none" if facts.get("index") is None else str(facts["index"])
            name = "/".join(quote(part, safe="!'()*-._~") for part in (dataset, index))
            answers = [answer.get("repeat") for answer in answers_to(facts)]
            # An index may occur twice, and has as many answers: all but the first have a tail.
            number = counts[name] + answers.index(facts.get("repeat")) + 1
            ids[dataset, key] = name if number == 1 else f"{name}~{number}"
            counts[name] += len(answers)
    return ids


def _run(run: ComparedRun, output: Path) -> dict[str, Any]:
    asking = run.manifest.get("asking") or {}
    return {
        "label": run.label,
        "model": run.model,
        "folder": run.folder,
        "date": str(asking.get("started_at") or "")[:10],
        "report": _href(run.report, output) if run.report else None,
        "partial": [scored.level for scored in run.sets.values() if scored.is_partial],
    }


def _href(file: Path, output: Path) -> str:
    """Return a link from the page to a file; relative, so that both can move together."""
    return quote(Path(os.path.relpath(file, output)).as_posix())


def _set(pair: PairOfRuns) -> dict[str, Any]:
    counts = Counter(sample.outcome for sample in pair.samples)
    total = len(pair.samples) or 1
    return {
        "dataset": pair.dataset,
        "level": pair.level,
        "unit": pair.unit,
        "notes": list(pair.notes),
        "doubts": [(run.label, text) for run, text in pair.doubts],
        "headline": [_figure(difference) for difference in pair.headline],
        "groups": [_figure(difference) for difference in pair.subgroups],
        "outcomes": {
            outcome: [counts[outcome], format_share(counts[outcome], total)]
            for outcome in PairOutcome
        },
    }


def _rule_words(a: ComparedRun, b: ComparedRun, dataset: str) -> dict[str, Any] | None:
    """The rules of recorded steps in words, and the rule of each run's score; else None."""
    words_of_runs = [run.sets[dataset].rule_words for run in (a, b)]
    if not all(words_of_runs):
        return None
    words_of_a, words_of_b = words_of_runs
    return {
        "scores": [words_of_a["score"], words_of_b["score"]],
        "rules": {**words_of_a["rules"], **words_of_b["rules"]},
        "verdicts": {**words_of_a["verdicts"], **words_of_b["verdicts"]},
    }


def _figure(difference: Difference) -> dict[str, Any]:
    paired = difference.paired
    points, low, high = difference.points
    p = difference.p_value
    return {
        "name": words.group_text(difference.group),
        "group": difference.group,
        "field": difference.field,
        "samples": difference.samples,
        "images": paired.pictures,
        "a": format_number(difference.baseline_pct),
        "b": format_number(difference.run_pct),
        "text": format_difference(points, low, high),
        "points": points,
        "low": low,
        "high": high,
        "p": words.p_text(p),
        "is_clear": difference.is_clear,
        "only_a": paired.only_second,
        "only_b": paired.only_first,
    }


def _ranking(ranking: Ranking) -> dict[str, Any]:
    board = ranking.board
    rows = [
        {
            "name": run.row.name,
            "mark": run.row.mark,
            "is_published": run.row.is_published,
            "is_baseline": run.row.name == ranking.baseline,
            "others": [format_percent(run.row.score(name)) for name in board.others],
            "value": format_percent(run.row.score(board.main)),
            "interval": format_interval(run.row.cells.get(board.main)),
            "difference": None if run.difference is None else _figure(run.difference),
            "better_than": run.better_than,
            "worse_than": run.worse_than,
        }
        for run in ranking.runs
    ]
    return {
        "title": board.title,
        "level": ranking.level,
        "main": words.group_text(board.main),
        "others": [words.group_text(name) for name in board.others],
        "has_all_pairs": ranking.has_all_pairs,
        "notes": ranking.notes,
        "rows": rows,
    }


def _headroom(headroom: Headroom, links: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """The headroom of a data set in the summary; `links` lead to its doubtful rows."""
    return {
        "title": title_of(headroom.level, headroom.dataset),
        "rows": headroom.rows,
        "strong": list(headroom.strong),
        "rule": RULE,
        "shares": [[name, share.count, *share.cells] for name, share in headroom.shares],
        "runs": [
            [one.run.label, one.rows, *one.all_rows.cells, *one.without_doubtful.cells]
            for one in headroom.runs
        ],
        "doubtful": [
            {
                "link": links.get((headroom.dataset, row.key)),
                "image": row.facts.get("image"),
                "text": row.facts.get("text"),
                "answer": row.answer,
                "seen_by": list(row.seen_by),
                "right": list(row.right),
            }
            for row in headroom.doubtful
        ],
    }


def _board(board: Board) -> dict[str, Any]:
    rows = [
        {
            "name": row.name,
            "mark": row.mark,
            "is_published": row.is_published,
            "cells": [
                words.cell_text(row.cells.get(column)).split("\n") for column in board.columns
            ],
        }
        for row in board.rows
    ]
    columns = [words.group_text(column) for column in board.columns]
    return {
        "dataset": board.dataset,
        "title": board.title,
        "columns": columns,
        "rows": rows,
    }


def _by_rule(comparison: Comparison) -> list[dict[str, Any]]:
    """Of each data set with several rules a table: a row for each rule, with what it asks for."""
    tables: list[dict[str, Any]] = []
    for dataset, boards in words.boards_by_rule(comparison.boards).items():
        labels = [row.name for row in boards[0].rows]
        runs = [run for run in comparison.runs if run.label in labels]
        rule_words: dict[str, str] = {}
        for run in runs:
            rule_words |= run.sets[dataset].rules["words"]
        figures = [board.split.removesuffix(BY_RULE).strip() for board in boards]
        tables.append(
            {
                "title": title_of(runs[0].sets[dataset].level, dataset),
                "runs": labels,
                "figures": figures,
                "notes": [
                    f"{run.label}: the score is by {run.sets[dataset].table['scored_by']}."
                    for run in runs
                ],
                "rows": [
                    {
                        "rule": rule,
                        "words": rule_words[rule],
                        "cells": [
                            [format_percent(row.score(rule)) for row in board.rows]
                            for board in boards
                        ],
                    }
                    for rule in boards[0].columns
                ],
            }
        )
    return tables


def _add_sample(
    files: SampleFiles,
    dataset: str,
    pair: SamplePair,
    ids: Sequence[Mapping[Any, str]],
    images: Pictures,
    *,
    is_needed: bool,
) -> None:
    """Write a sample of two runs.

    Args:
        files: of the page.
        dataset: that it is of.
        pair: the sample in both runs.
        ids: names of samples in the report of A and of B, by data set and key.
        images: of the page.
        is_needed: it has an image even where no report has it.
    """
    facts = pair.run
    sides = (pair.baseline, pair.run)
    image, screen = _image_of(pair)
    target = shown_target(facts)
    row = {
        "text": pair.text,
        "index": facts.get("index"),
        "id": facts.get("id"),
        "picture": images.number(image, is_needed=is_needed),
        "box": target["box_frac"],
        "target": target["target"],
        "declined": [bool(side.get("declined")) for side in sides],
        "points": [side.get("point_frac") for side in sides],
        "image_digests": [side.get("image_digest") for side in sides],
        "verdicts": [_verdict(side) for side in sides],
        "ids": [ids_of_run.get((dataset, facts["key"])) for ids_of_run in ids],
    }
    details = {
        "options": facts.get("options"),
        "answer": facts.get("answer"),
        "expected": facts.get("expected"),
        "wh": facts.get("file_wh"),
        "screen": screen,
        "right": [right_text(side) for side in sides],
        "step": _step(pair) if "step" in facts else None,
        "sent": [side.get("sent_wh") for side in sides],
        "judge": [(side.get("judge") or {}).get("choice") for side in sides],
    }
    for name, field in FIELDS_OF_SIDES.items():
        details[name] = [side.get(field) for side in sides]
    files.add({**facts, "dataset": dataset, "outcome": pair.outcome}, row, details)


def _step(pair: SamplePair) -> dict[str, Any]:
    """A recorded step with the actions of both runs, and what each rule says of them."""
    a, b = pair.baseline["step"], pair.run["step"]
    areas = {rule[0]: area_of(rule) for rule in (*a["rules"], *b["rules"])}
    verdicts = [{rule[0]: rule[1] for rule in step["rules"]} for step in (a, b)]
    points = [point for point in b["points"] if point["mark"] == "R"]
    for letter, step in zip(words.LETTERS, (a, b), strict=True):
        points += [
            {**point, "name": point["name"].replace("answer", f"{letter}'s action"), "mark": letter}
            for point in step["points"]
            if point["mark"] != "R"
        ]
    return {
        "recorded": b["recorded"],
        "answers": [a["answer"], b["answer"]],
        "apart": [a.get("apart"), b.get("apart")],
        "doubts": b.get("doubts") or [],
        "rules": [
            [name, *(verdicts_of_run.get(name) for verdicts_of_run in verdicts), area]
            for name, area in areas.items()
        ],
        "points": points,
    }


def _image_of(pair: SamplePair) -> tuple[str | None, str | None]:
    """Return the image of a sample, and for an episode the run that it is of: "B" or "A"."""
    if "ended" not in pair.run:
        return pair.run.get("image"), None
    for facts, letter in ((pair.run, "B"), (pair.baseline, "A")):
        if facts.get("last_image"):
            return facts["last_image"], letter
    return None, None


def _verdict(facts: Facts) -> str:
    return str(facts.get("verdict") if facts.get("status") == "ok" else facts.get("status"))
