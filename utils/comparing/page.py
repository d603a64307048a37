"""The page of a comparison: `comparison.html`, with its scripts and data in `comparison_files/`.

It looks and is made as the report of a run (`utils/report`): data files that scripts show as text.
Images are those of the runs' reports; where those are missing, small ones are made of the samples
that flipped, if the images are here.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from utils.comparing import words
from utils.comparing.boards import Board
from utils.comparing.pairing import Comparison, Difference, Outcome, PairOfRuns, SamplePair
from utils.comparing.runs import ComparedRun
from utils.comparing.why import different_functions, different_settings
from utils.contracts import Facts
from utils.errors import UserError
from utils.images import image_root
from utils.protocol import unit_of
from utils.report.build import ASSETS as REPORT_ASSETS
from utils.report.build import pictures_of_report
from utils.report.data_files import Chunks, Facets, ToJson, columns, replaced_folder, write_script
from utils.report.pictures import Pictures
from utils.report.privacy import path_hider
from utils.report.run_facts import REPORT_FOLDER
from utils.scoring.sheets import write_text
from utils.text import format_number, format_share

PAGE, FILES_FOLDER, RUNS_FILE = "comparison.html", "comparison_files", "runs.json"
ASSETS = Path(__file__).parent / "assets"
SHARED = ("core.js", "stage.js", "page.css")  # of the report
FACETS = ("outcome", "dataset", "platform", "split", "kind", "app")
ROWS_PER_FILE, DETAILS_PER_FILE = 4000, 200


def write_page(comparison: Comparison, output: Path) -> Path:
    """Writes the page into a folder and returns it; replaces one from before when it is whole.

    Raises:
        UserError: the folder cannot be written.
    """
    try:
        with replaced_folder(output / FILES_FOLDER) as fresh:
            for asset in (*(REPORT_ASSETS / name for name in SHARED), *ASSETS.iterdir()):
                if asset.name != PAGE:
                    shutil.copyfile(asset, fresh / asset.name)
            _write_data(comparison, output, fresh)
            folders = [os.path.relpath(run.path, output) for run in comparison.runs]
            (fresh / RUNS_FILE).write_text(json.dumps(folders), "utf-8")
    except OSError as error:
        raise UserError(f"{output}: cannot write ({error.strerror or error})") from error
    return write_text(output / PAGE, (ASSETS / PAGE).read_text("utf-8"))


def _write_data(comparison: Comparison, output: Path, fresh: Path) -> None:
    runs, root = {run.label: run for run in comparison.runs}, _image_root()
    to_json = path_hider([*(run.path for run in comparison.runs), root, Path.cwd()])
    sides: dict[tuple[str, str], list[PairOfRuns]] = {}
    for pair in comparison.pairs:
        sides.setdefault((pair.baseline, pair.run), []).append(pair)
    ready = _images_of_reports(comparison.runs, output)
    made = Pictures(root, fresh / "pictures", fresh, ready=ready, below=f"{FILES_FOLDER}/")
    with closing(made) as images:
        matches = []
        for number, ((a, b), pairs) in enumerate(sides.items()):
            writer = _Samples(fresh / "data", str(number), to_json, images)
            ids = [report_ids(runs[label]) for label in (a, b)]
            for pair in pairs:
                for each in pair.samples:
                    writer.add(pair.dataset, each, ids)
            both = runs[a], runs[b]
            matches.append(
                {
                    "a": a,
                    "b": b,
                    "sets": [*map(_set, pairs)],
                    **writer.close(),
                    "settings": [*different_settings(*both), *different_functions(*both)],
                }
            )
        pictures = images.known()
    summary = {
        "runs": [_run(run, output) for run in comparison.runs],
        "summary": [*map(_board, comparison.summary)],
        "boards": [_board(board) for board in comparison.boards if board.split],
        "matches": matches,
        "notes": list(comparison.notes),
        "how": words.HOW_TO_READ,
        "pictures": pictures,
    }
    write_script(fresh / "data", "summary", 0, to_json(summary))


def _images_of_reports(runs: Sequence[ComparedRun], output: Path) -> dict[str, dict[str, Any]]:
    """Return the images that the runs' reports hold, by name.

    The later run's copy is the one that is shown; "others" are copies to fall back on, since a
    report may be moved or deleted after the page was written.
    """
    images: dict[str, dict[str, Any]] = {}
    for run in runs:
        report = run.path / REPORT_FOLDER
        for name, image in pictures_of_report(report).items():
            earlier = images.get(name)
            copies = [] if earlier is None else [earlier["view"], *earlier["others"]]
            images[name] = {
                **image,
                "view": _href(report / image["view"], output),
                "others": copies,
            }
    return images


def _image_root() -> Path | None:
    """What images are relative to; None where this machine has no such folder."""
    try:
        root = image_root()
    except UserError:
        return None
    return root if root.is_dir() else None


def report_ids(run: ComparedRun) -> dict[tuple[str, str], str]:
    """The name of each sample in the address of the run's report, by data set and key."""
    found: dict[tuple[str, str], str] = {}
    seen: Counter[str] = Counter()
    for dataset, scored in run.sets.items():
        for key, facts in scored.samples.items():
            index = "none" if facts.get("index") is None else str(facts["index"])
            name = "/".join(quote(part, safe="!'()*-._~") for part in (dataset, index))
            seen[name] += 1  # an index may occur twice: the later ones get a tail
            found[dataset, key] = name if seen[name] == 1 else f"{name}~{seen[name]}"
    return found


def _run(run: ComparedRun, output: Path) -> dict[str, Any]:
    asked = run.manifest.get("asking") or {}
    return {
        "label": run.label,
        "model": run.model,
        "folder": run.folder,
        "date": str(asked.get("started_at") or "")[:10],
        "report": _href(run.report, output) if run.report else None,
    }


def _href(file: Path, output: Path) -> str:
    """A link from the page to a file; relative, so that work-dir and comparison move together."""
    return quote(Path(os.path.relpath(file, output)).as_posix())


def _set(pair: PairOfRuns) -> dict[str, Any]:
    outcomes = [each.outcome for each in pair.samples]
    counts = {
        each: [outcomes.count(each), format_share(outcomes.count(each), len(outcomes) or 1)]
        for each in Outcome
    }
    return {
        "dataset": pair.dataset,
        "level": pair.level,
        "unit": unit_of(pair.level),
        "notes": list(pair.notes),
        "doubts": [(run.label, text) for run, text in pair.doubts],
        "headline": [*map(_figure, pair.headline)],
        "groups": [*map(_figure, pair.subgroups)],
        "outcomes": counts,
    }


def _figure(each: Difference) -> dict[str, Any]:
    found, (points, low, high) = each.paired, each.points
    p = each.p_value
    return {
        "name": words.group_text(each.group),
        "group": each.group,
        "samples": each.samples,
        "images": found.pictures,
        "a": format_number(each.baseline_pct),
        "b": format_number(each.run_pct),
        "text": words.difference_text(each),
        "points": points,
        "low": low,
        "high": high,
        "p": words.p_text(p),
        "is_clear": p is not None and p < 0.05,
        "only_a": found.only_second,
        "only_b": found.only_first,
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
    return {"dataset": board.dataset, "title": board.title, "columns": columns, "rows": rows}


class _Samples:
    """The data files with the samples of two runs."""

    def __init__(self, folder: Path, number: str, to_json: ToJson, images: Pictures) -> None:
        self._rows = Chunks(folder, f"rows{number}", to_json, columns, ROWS_PER_FILE)
        self._details = Chunks(folder, f"details{number}", to_json, list, DETAILS_PER_FILE)
        self._facets = Facets(FACETS)
        for each in Outcome:  # in their own order, also those that no sample has
            self._facets.number("outcome", each)
        self._images, self._count = images, 0

    def add(self, dataset: str, pair: SamplePair, ids: Sequence[Mapping[Any, str]]) -> None:
        """One more sample."""
        facts, both = pair.run, (pair.baseline, pair.run)
        named = {**facts, "dataset": dataset, "outcome": pair.outcome}
        is_flip = pair.outcome in (Outcome.ONLY_A, Outcome.ONLY_B)
        image, screen = facts.get("image"), None
        if "ended" in facts:  # an episode: what it came to, in the later run if it was played there
            screens = ((of.get("last_image"), name) for of, name in ((facts, "B"), (both[0], "A")))
            image, screen = next((each for each in screens if each[0]), (None, None))
        self._rows.add(
            self._facets.row(named)
            | {
                "text": facts.get("text"),
                "index": facts.get("index"),
                "picture": self._images.number(image, is_wanted=is_flip),
                "box": facts.get("box_frac"),
                "points": [each.get("point_frac") for each in both],
                "image_digests": [each.get("image_digest") for each in both],
                "verdicts": [_verdict(each) for each in both],
                "ids": [of.get((dataset, facts["key"])) for of in ids],
            }
        )
        self._details.add(
            {
                "options": facts.get("options"),
                "answer": facts.get("answer"),
                "wh": facts.get("file_wh"),
                "screen": screen,
                **{
                    name: [each.get(of) for each in both]
                    for name, of in (
                        ("chosen", "chosen"),
                        ("replies", "prediction"),
                        ("errors", "error"),
                        ("finish", "finish_reason"),
                    )
                },
            }
        )
        self._count += 1

    def close(self) -> dict[str, Any]:
        """Writes what is left; what the summary says of it."""
        for chunks in (self._rows, self._details):
            chunks.close()
        facets = self._facets.values()
        labels = {each: words.group_text(each) for each in facets["platform"]}
        return {
            "rows": self._rows.firsts,
            "details": self._details.firsts,
            "count": self._count,
            "facets": facets,
            "labels": labels,
        }


def _verdict(facts: Facts) -> str:
    return str(facts.get("verdict") if facts.get("status") == "ok" else facts.get("status"))
