"""Builds `<run folder>/report/index.html` from the derived files of a run.

The samples are read once, one at a time; what the gallery lists goes to `data/rows_N.js`, what one
sample's view needs to `data/details_N.js` and `data/replies_N.js`, the rest to `data/summary_0.js`.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utils.contracts import Facts
from utils.report.data_files import Chunks, Hide, as_script
from utils.report.pictures import Pictures, ViewImage, place
from utils.report.privacy import path_hider, shown_name, without_absolute_paths
from utils.runs.finished import (
    ScoredFiles,
    open_samples,
    read_if_whole,
    read_manifest,
    scored_files,
)
from utils.scoring.sheets import to_json

REPORT_FOLDER = "report"
ASSETS = Path(__file__).parent / "assets"
ROWS_PER_FILE, DETAILS_PER_FILE, REPLIES_PER_FILE = 4000, 200, 500
FACETS = ("dataset", "platform", "split", "kind", "verdict", "status", "app")
REPLY_FIELDS = ("prediction", "raw", "reasoning")
ROW_FIELDS = ("index", "text", "box_frac", "point_frac")
NO_ANSWER = "no answer"


@dataclass
class Facet:
    """The values of a column that few values occur in, numbered as they come."""

    values: list[Any] = field(default_factory=list)
    _numbers: dict[Any, int] = field(default_factory=dict)

    def number(self, value: Any) -> int | None:
        """The number of a value; None has none."""
        if value is None:
            return None
        value = value if isinstance(value, str) else json.dumps(value)
        if value not in self._numbers:
            self._numbers[value] = len(self.values)
            self.values.append(value)
        return self._numbers[value]


@dataclass
class DataFiles:
    """The data files of a report while they are written."""

    folder: Path
    hide: Hide
    facets: dict[str, Facet] = field(default_factory=lambda: {name: Facet() for name in FACETS})
    rows: Chunks = field(init=False)
    details: Chunks = field(init=False)
    replies: Chunks = field(init=False)

    def __post_init__(self) -> None:
        def chunks(name: str, pack: Any, most: int) -> Chunks:
            return Chunks(self.folder, name, self.hide, pack, most)

        self.rows = chunks("rows", _columns, ROWS_PER_FILE)
        self.details = chunks("details", _with_text_table, DETAILS_PER_FILE)
        self.replies = chunks("replies", _columns, REPLIES_PER_FILE)

    def add(self, facts: Facts, dataset: str, picture: int | None) -> None:
        """One more sample."""
        named = {**facts, "dataset": dataset, "verdict": facts.get("verdict") or NO_ANSWER}
        row = {name: self.facets[name].number(named.get(name)) for name in FACETS}
        row |= {"picture": picture} | {name: facts.get(name) for name in ROW_FIELDS}
        self.rows.add(row, 120 + len(str(facts.get("text"))))
        reply = {name: facts.get(name) for name in REPLY_FIELDS}
        self.replies.add(reply, 40 + sum(len(str(text)) for text in reply.values()))
        left_out = {*FACETS, *ROW_FIELDS, *REPLY_FIELDS, "hit", "image"}
        detail = {name: value for name, value in facts.items() if name not in left_out}
        self.details.add(detail, 500 + len(str(facts.get("prompt"))))

    def close(self, summary: dict[str, Any]) -> None:
        """Writes what is left, and the summary with the places of everything."""
        for chunks in (self.rows, self.details, self.replies):
            chunks.close()
            summary[chunks.name] = chunks.firsts
        summary["facets"] = {name: facet.values for name, facet in self.facets.items()}
        text = as_script("summary", 0, self.hide(to_json(summary)))
        (self.folder / "summary_0.js").write_text(text, encoding="ascii")


def _columns(items: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [item[name] for item in items] for name in items[0]}


def _with_text_table(items: list[Facts]) -> dict[str, Any]:
    """Prompts share most of their texts; each is written once a file."""
    texts: dict[str, int] = {}
    samples = []
    for item in items:
        prompt = []
        for part in item.get("prompt") or ():
            text = texts.setdefault(str(part.get("value")), len(texts))
            prompt.append([part.get("role"), part.get("type"), text])
        samples.append({**item, "prompt": prompt})
    return {"texts": list(texts), "samples": samples}


def build_report(
    run_folder: Path, *, image_root: Path | None, cache: Path, embed_originals: bool = False
) -> Path:
    """Writes the report of a run; one from before is replaced when the new one is whole.

    Of a data set with full and partial files it shows the full ones; see `utils.runs.finished`.

    Args:
        run_folder: holds the samples and analysis files.
        image_root: what the samples' pictures are relative to; None if there are none here.
        cache: folder for view images, shared by the runs of a work-dir.
        embed_originals: put the pictures themselves into the report, too.

    Returns:
        The page.

    Raises:
        UserError: a samples file is of another version.
        OSError: the folder cannot be written.
    """
    target, fresh = run_folder / REPORT_FOLDER, run_folder / f".{REPORT_FOLDER}.tmp"
    shutil.rmtree(fresh, ignore_errors=True)  # what a kill left behind
    try:
        for name in ("data", "pictures"):
            (fresh / name).mkdir(parents=True)
        for asset in sorted(ASSETS.iterdir()):
            shutil.copyfile(asset, fresh / asset.name)
        _write_data(fresh, run_folder, image_root, cache, embed_originals)
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target / "index.html"


def _write_data(
    report: Path, run_folder: Path, image_root: Path | None, cache: Path, embed_originals: bool
) -> None:
    hide = path_hider([run_folder, cache.parent, image_root, Path.cwd()])
    files = DataFiles(report / "data", hide)
    summary: dict[str, Any] = {"format": 1, "run": run_folder.name, "datasets": []}
    with Pictures.open(image_root, cache) as pictures:
        first = 0
        shown = scored_files(run_folder)
        for scored in shown.values():
            data_set = _add_samples(scored, files, pictures)
            data_set["first"] = first
            first += data_set["samples"]
            summary["datasets"].append(data_set)
            summary["model"] = scored.model
        summary["samples"] = first
        summary["pictures"] = [
            _placed(name, made, report, embed_originals) for name, made in pictures.finished()
        ]
    manifest = read_manifest(run_folder, whole_only=False)
    summary["manifest"] = without_absolute_paths(manifest) or None
    files.close(summary)


def _add_samples(scored: ScoredFiles, files: DataFiles, pictures: Pictures) -> dict[str, Any]:
    """Adds the samples of one data set; what the summary says of them."""
    counts: Counter[str] = Counter()
    seen: set[int] = set()
    samples = 0
    with open_samples(scored.samples) as (_, rows):
        for facts in rows:
            number = pictures.number(facts["image"]) if facts.get("image") else None
            files.add(facts, scored.dataset, number)
            samples += 1
            status, verdict = facts.get("status"), facts.get("verdict")
            counts[str((verdict or NO_ANSWER) if status == "ok" else status)] += 1
            counts["hits"] += int(facts.get("hit") or 0)
            if number is not None:
                seen.add(number)
    analysis = read_if_whole(scored.analysis_file)  # the page does without a spoilt one
    analysis.pop("head", None)
    return {
        "name": scored.dataset, "level": scored.level, "partial": scored.is_partial,
        "samples": samples, "pictures": len(seen), "counts": dict(counts),
        "analysis": without_absolute_paths(analysis),
    }  # fmt: skip


def _placed(
    name: str, made: ViewImage | None, report: Path, embed_originals: bool
) -> dict[str, Any]:
    """Puts a view image into the report; what the page needs to know of it."""
    if made is None:
        return {"name": shown_name(name)}
    known: dict[str, Any] = {"name": shown_name(name), "wh": made.wh}
    for kind, file, ending in (("view", made.view, ""), ("thumb", made.thumb, "_small")):
        known[kind] = f"pictures/{made.name}{ending}.webp"
        place(file, report / known[kind])
    if embed_originals:
        known["original"] = f"pictures/{made.name}_full{made.source.suffix.lower()}"
        place(made.source, report / known["original"])
    return known
