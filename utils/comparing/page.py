"""The page of a comparison: `comparison.html`, with its scripts and data in `comparison_files/`.

It looks and is made as the report of a run (`utils/report`): data files that scripts show as text.
Images are those of the runs' reports; where those are missing, small ones are made of the samples
that flipped, if the images are here.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from utils.comparing import words
from utils.comparing.boards import Board
from utils.comparing.files import write_text
from utils.comparing.pairing import Comparison, Difference, Outcome, PairOfRuns, SamplePair
from utils.comparing.runs import ComparedRun, counted
from utils.comparing.why import different_settings
from utils.contracts import Facts
from utils.errors import UserError
from utils.images import image_root
from utils.protocol import shown, shown_share
from utils.report.build import ASSETS as REPORT_ASSETS
from utils.report.build import REPORT_FOLDER, pictures_of_report
from utils.report.data_files import Chunks, ToJson, as_script
from utils.report.pictures import view_image
from utils.report.privacy import path_hider, shown_name

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
    target, fresh = output / FILES_FOLDER, output / f".{FILES_FOLDER}.tmp"
    shutil.rmtree(fresh, ignore_errors=True)  # what a kill left behind
    try:
        (fresh / "data").mkdir(parents=True)
        for asset in (*(REPORT_ASSETS / name for name in SHARED), *ASSETS.iterdir()):
            if asset.name != PAGE:
                shutil.copyfile(asset, fresh / asset.name)
        _write_data(comparison, output, fresh)
        folders = [os.path.relpath(run.path, output) for run in comparison.runs]
        (fresh / RUNS_FILE).write_text(json.dumps(folders), "utf-8")
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    except OSError as error:
        raise UserError(f"{output}: cannot write ({error.strerror or error})") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return write_text(output / PAGE, (ASSETS / PAGE).read_text("utf-8"))


def _write_data(comparison: Comparison, output: Path, fresh: Path) -> None:
    runs = {run.label: run for run in comparison.runs}
    roots = [*(run.path for run in comparison.runs), image_root_if_any(), Path.cwd()]
    to_json = path_hider(roots)
    sides: dict[tuple[str, str], list[PairOfRuns]] = {}
    for pair in comparison.pairs:
        sides.setdefault((pair.baseline, pair.run), []).append(pair)
    images = Images(comparison.runs, output, fresh)
    matches = []
    for number, ((a, b), pairs) in enumerate(sides.items()):
        writer = _Samples(fresh / "data", str(number), to_json, images)
        ids = [report_ids(runs[label]) for label in (a, b)]
        for pair in pairs:
            for each in pair.samples:
                writer.add(pair.dataset, each, ids)
        differ = different_settings(runs[a], runs[b])
        matches.append({
            "a": a, "b": b, "sets": [_set(pair) for pair in pairs], "settings": differ,
            **writer.close(),
        })  # fmt: skip
    summary = {
        "runs": [_run(run, output) for run in comparison.runs],
        "summary": [*map(_board, comparison.summary)],
        "boards": [*map(_board, comparison.boards)],
        "matches": matches, "notes": list(comparison.notes), "how": words.HOW_TO_READ,
        "pictures": images.known(),
    }  # fmt: skip
    script = as_script("summary", 0, to_json(summary))
    (fresh / "data" / "summary_0.js").write_text(script, encoding="ascii")


def image_root_if_any() -> Path | None:
    """What images are relative to; None where this machine has no such folder."""
    try:
        root = image_root()
    except UserError:
        return None
    return root if root.is_dir() else None


def report_ids(run: ComparedRun) -> dict[tuple[str, str], str]:
    """The name of each sample in the address of the run's report, by data set and key."""
    found: dict[tuple[str, str], str] = {}
    taken: set[str] = set()
    escape = partial(quote, safe="!'()*-._~")
    for dataset, scored in run.sets.items():
        for key, facts in scored.samples.items():
            index = facts.get("index")
            base = f"{escape(dataset)}/{escape('none' if index is None else str(index))}"
            name, again = base, 2
            while name in taken:  # an index may occur twice: the later ones get a tail
                name, again = f"{base}~{again}", again + 1
            taken.add(name)
            found[dataset, key] = name
    return found


def _run(run: ComparedRun, output: Path) -> dict[str, Any]:
    page = run.path / REPORT_FOLDER / "index.html"
    asked = run.manifest.get("asking") or {}
    return {
        "label": run.label, "model": run.model, "folder": run.folder,
        "date": str(asked.get("started_at") or "")[:10],
        "report": _href(page, output) if page.is_file() else None,
    }  # fmt: skip


def _href(file: Path, output: Path) -> str:
    """A link from the page to a file; relative, so that work-dir and comparison move together."""
    return quote(Path(os.path.relpath(file, output)).as_posix())


def _set(pair: PairOfRuns) -> dict[str, Any]:
    outcomes = [each.outcome for each in pair.samples]
    counts = {each: [outcomes.count(each), shown_share(outcomes.count(each), len(outcomes) or 1)]
              for each in Outcome}  # fmt: skip
    return {
        "dataset": pair.dataset, "level": pair.level, "notes": list(pair.notes),
        "headline": [*map(_figure, pair.headline)], "groups": [*map(_figure, pair.subgroups)],
        "outcomes": counts, "common": counted(pair.common),
    }  # fmt: skip


def _figure(each: Difference) -> dict[str, Any]:
    found, (points, low, high) = each.paired, each.points
    p = each.p_value
    return {
        "name": words.group_text(each.group), "group": each.group, "samples": each.samples,
        "images": found.pictures, "a": shown(each.baseline_pct),
        "b": shown(each.run_pct), "text": words.difference_text(each),
        "p": words.p_text(p), "is_clear": p is not None and p < 0.05,
        "points": points, "low": low, "high": high,
        "only_a": found.only_second, "only_b": found.only_first,
    }  # fmt: skip


def _board(board: Board) -> dict[str, Any]:
    rows = [
        {"name": row.name, "mark": row.mark, "is_published": row.is_published,
         "cells": [words.cell_text(row.cells.get(column)).split("\n") for column in board.columns]}
        for row in board.rows
    ]  # fmt: skip
    columns = [words.group_text(column) for column in board.columns]
    return {"dataset": board.dataset, "title": board.title, "columns": columns, "rows": rows}


class _Samples:
    """The data files with the samples of two runs."""

    def __init__(self, folder: Path, number: str, to_json: ToJson, images: Images) -> None:
        self._rows = Chunks(folder, f"rows{number}", to_json, _columns, ROWS_PER_FILE)
        self._details = Chunks(folder, f"details{number}", to_json, list, DETAILS_PER_FILE)
        # Outcomes in their own order, also those that no sample has.
        self._facets: dict[str, dict[str, int]] = {name: {} for name in FACETS}
        self._facets["outcome"] = {each: place for place, each in enumerate(Outcome)}
        self._images, self._count = images, 0

    def add(self, dataset: str, pair: SamplePair, ids: Sequence[Mapping[Any, str]]) -> None:
        """One more sample."""
        facts, both = pair.run, (pair.baseline, pair.run)
        named = {**facts, "dataset": dataset, "outcome": pair.outcome}
        row = {name: self._number(name, named.get(name)) for name in FACETS}
        is_flip = pair.outcome in (Outcome.ONLY_A, Outcome.ONLY_B)
        image = facts.get("last_image") or facts.get("image")  # of an episode: what it came to
        self._rows.add(row | {
            "text": facts.get("text"), "index": facts.get("index"),
            "picture": self._images.number(image, is_flip=is_flip),
            "box": facts.get("box_frac"), "points": [each.get("point_frac") for each in both],
            "verdicts": [_verdict(each) for each in both],
            "ids": [of.get((dataset, facts["key"])) for of in ids],
        })  # fmt: skip
        self._details.add({
            "options": facts.get("options"), "answer": facts.get("answer"),
            "wh": facts.get("file_wh"),
            **{name: [each.get(of) for each in both] for name, of in (
                ("chosen", "chosen"), ("replies", "prediction"), ("errors", "error"),
                ("finish", "finish_reason"))},
        })  # fmt: skip
        self._count += 1

    def _number(self, facet: str, value: Any) -> int | None:
        values = self._facets[facet]
        return None if value is None else values.setdefault(str(value), len(values))

    def close(self) -> dict[str, Any]:
        """Writes what is left; what the summary says of it."""
        for chunks in (self._rows, self._details):
            chunks.close()
        facets = {name: list(values) for name, values in self._facets.items()}
        labels = {each: words.group_text(each) for each in self._facets["platform"]}
        return {"rows": self._rows.firsts, "details": self._details.firsts,
                "count": self._count, "facets": facets, "labels": labels}  # fmt: skip


def _columns(items: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [item[name] for item in items] for name in items[0]}


def _verdict(facts: Facts) -> str:
    return str(facts.get("verdict") if facts.get("status") == "ok" else facts.get("status"))


class Images:
    """The images of a comparison, numbered as they come.

    Args:
        runs: in whose reports images are looked for, the later one first.
        output: the page's folder.
        fresh: gets images that no report has, as "pictures/…".
    """

    def __init__(self, runs: Iterable[ComparedRun], output: Path, fresh: Path) -> None:
        self._ready: dict[str, dict[str, Any]] = {}
        for run in runs:
            report = run.path / REPORT_FOLDER
            for name, known in pictures_of_report(report).items():
                self._ready[name] = {**known, "view": _href(report / known["view"], output)}
        self._root, self._folder = image_root_if_any(), fresh / "pictures"
        self._numbers: dict[str, int] = {}
        self._wanted: set[str] = set()

    def number(self, image: str | None, *, is_flip: bool) -> int | None:
        """The number of an image; one of a flipped sample is worth to be made."""
        if image is None:
            return None
        if is_flip and shown_name(image) not in self._ready:
            self._wanted.add(image)
        return self._numbers.setdefault(image, len(self._numbers))

    def known(self) -> list[dict[str, Any]]:
        """By number: name, size and files, or the name alone of one without a file."""
        made: dict[str, Future[dict[str, Any]]] = {}
        if self._root is not None and self._wanted:
            self._folder.mkdir()
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                made = {image: pool.submit(self._make, self._root / image, shown_name(image))
                        for image in self._wanted}  # fmt: skip
        return [
            made[image].result() if image in made else
            self._ready.get(shown_name(image), {"name": shown_name(image)})
            for image in self._numbers
        ]  # fmt: skip

    def _make(self, source: Path, name: str) -> dict[str, Any]:
        try:
            view, wh = view_image(source, self._folder)
        except OSError:
            return {"name": name}
        return {"name": name, "wh": wh, "view": f"{FILES_FOLDER}/pictures/{view.name}"}
