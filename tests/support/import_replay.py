"""Imports every file of a folder and compares what comes of it with counts made elsewhere.

    python -m tests.support.import_replay FOLDER [--keep FOLDER] [--only TEXT]

`expected.json` in the folder has the counts by file. The rows of the tables lie in
`samples/basis` as their authors have them, those of `real/` in `real/sspro_rows.json.gz`. Per file
it prints what is equal and what differs. The exit status is 0 if all is equal, 1 if anything
differs or fails, 2 if there is nothing to replay.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import evaluate
from utils.exchange.sources import open_import

TABLES = {
    "l1": "GUIContentUnderstanding",
    "l2": "GUIElementGrounding",
    "sspro": "ScreenSpotPro",
    "ssv2": "ScreenSpotV2",
    "osg": "OSWorldG",
    "osg_refined": "OSWorldG refined",
    "uivision": "UIVision",
}
COUNTS = {  # of the file expected.json: names in the section of the analysis
    "unknown": "unknown",
    "matched": "matched",
    "missing": "missing",
    "repeated, the same": "repeated",
    "repeated, another reply": "answered otherwise",
    "other instruction": "asked otherwise",
    "other box (over 1 px)": "other box px",
    "other image size": "other image wh",
    "torn lines": "torn",
    "no answer": "no answer",
    "rows of the table": "samples",
    "right": "right",
    "without a point": "nothing read",
    "right by the stored points": "right by the points of the file",
    "right by the file's own verdicts": "right by the file",
    "verdicts that differ": "verdicts that differ",
}
LAST = "right, the last of repeated rows"
NOT_COMPARED = {"table", "note", "rows in the file"}
BETTER_READER = re.compile(r'coordinates\.parse_(\w+)", which reads the file.s points')
OWN_THINKING = "grounding_think"  # in replies of MAI-UI, which answers per mille


@dataclass
class Result:
    """The result of an import: its exit code, its output, its files."""

    code: int
    text: str
    analysis: Mapping[str, Any] = field(default_factory=dict)
    samples: list[dict[str, Any]] = field(default_factory=list)
    scores: Mapping[str, Any] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)

    @property
    def counts(self) -> Mapping[str, int]:
        """The counts of the section on the import."""
        return (self.analysis.get("imported") or {}).get("counts") or {}


def import_file(path: Path, work_dir: Path, *options: str) -> Result:
    """Import a file in this process and read what it has written."""
    output = io.StringIO()
    arguments = ["--import", str(path), "--work-dir", str(work_dir), "--no-report", *options]
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = evaluate.main(arguments)
    folders = sorted(work_dir.glob("*/I*"))
    result = Result(code, output.getvalue(), folders=folders)
    for folder in folders:
        for file in folder.glob("*_analysis*.json"):
            result.analysis = json.loads(file.read_text("utf-8"))
        for file in folder.glob("*_score*.json"):
            result.scores = json.loads(file.read_text("utf-8"))
        for file in folder.glob("*_samples*.jsonl"):
            lines = file.read_text("utf-8").splitlines()[1:]
            result.samples = [json.loads(line) for line in lines]
    return result


def reader_of(path: Path) -> list[str]:
    """The options that say how the replies of a file are read, by what is in the first ones."""
    imported = open_import(path, "")
    if imported.world:
        return []
    answers = imported.sources[0].first_answers()
    if any(OWN_THINKING in (answer.reply or "") for answer in answers):
        return ["--frame", "per_mille"]
    if any(answer.point is not None and answer.frame is None for answer in answers):
        return ["--frame", "fractions"]
    return []


def differences(expected: Mapping[str, Any], result: Result) -> tuple[list[str], list[str]]:
    """The names of counts that are equal, and what differs, in words."""
    equal: list[str] = []
    different: list[str] = []
    counts = result.counts
    actual: dict[str, Any] = {
        name: counts.get(count_name, 0) for name, count_name in COUNTS.items() if name in expected
    }
    if "rows in the file" in expected:
        actual["rows in the file"] = counts.get("rows", 0) + counts.get("torn", 0)
    if "cells" in expected:
        actual["cells"] = cells_of(result.samples)
    if "without refusals" in expected:
        present = [facts for facts in result.samples if facts["split"] != "refusal"]
        actual["without refusals"] = [sum(facts["hit"] for facts in present), len(present)]
    for name, value in actual.items():
        if value == expected[name]:
            equal.append(name)
        else:
            different.append(f"{name}: expected {expected[name]}, found {value}")
    return equal, different


def cells_of(samples: list[dict[str, Any]]) -> dict[str, list[int]]:
    """Right answers and samples by part of the table."""
    cells: dict[str, list[int]] = {}
    for facts in samples:
        cell = cells.setdefault(str(facts["split"]), [0, 0])
        cell[0] += facts["hit"]
        cell[1] += 1
    return dict(sorted(cells.items()))


def world_differences(expected: Mapping[str, Any], result: Result) -> tuple[list[str], list[str]]:
    """The same of a folder of episodes."""
    counts = result.scores.get("counts") or {}
    actual: dict[str, Any] = {}
    if "must not be unpickled" in expected:
        refused = expected["must not be unpickled"]
        actual["episodes"] = counts.get("episodes", 0) + result.counts.get("refused", 0)
        actual["must not be unpickled"] = {
            name: calls
            for name, calls in refused.items()
            if all(
                f"{name}: is refused" in result.text and call.replace(" ", ".") in result.text
                for call in calls
            )
        }
        ends = Counter(str(facts["verdict"]) for facts in result.samples)
        kinds = {"success": ends["hit"], "failure": ends["miss"]}
        nan = [name for name in expected["of the others"] if name.startswith("NaN")]
        actual["of the others"] = {**kinds, **dict.fromkeys(nan, ends["None"])}
    else:
        actual = {
            "episodes": counts.get("episodes"),
            "with a score": counts.get("scored"),
            "unreadable score": counts.get("unreadable score"),
            "unfinished": counts.get("without a score"),
            "sum of scores": result.scores.get("sum_of_scores"),
            "theirs": (result.scores.get("as OSWorld counts") or 0) / 100,
            "of all episodes": (result.scores.get("mean_score") or 0) / 100,
            "domains": result.scores.get("domains"),
        }
    equal = [name for name, value in actual.items() if _is_equal(value, expected.get(name))]
    different = [
        f"{name}: expected {expected.get(name)}, found {value}"
        for name, value in actual.items()
        if name not in equal
    ]
    return equal, different


def _is_equal(value: Any, expected: Any) -> bool:
    if isinstance(value, float) and isinstance(expected, float):
        return abs(value - expected) < 1e-9
    return bool(value == expected)


def replay(
    folder: Path, name: str, expected: Mapping[str, Any], work: Path
) -> tuple[list[str], list[str]]:
    """Import a file of a folder; return what is equal and what differs."""
    path = folder / name
    if "table" not in expected:
        return world_differences(expected, import_file(path, work / "world"))
    options = reader_of(path)
    answers = open_import(path, "").sources[0].first_answers()
    if not any(answer.image or answer.instruction or answer.prompt for answer in answers):
        options += ["--data", TABLES[expected["table"]]]
    if any(answer.place is not None for answer in answers):
        options += ["--import-order", str(_order(folder, work))]
    before: list[str] = []
    if expected.get("repeated, another reply"):
        stopped = import_file(path, work / "stopped", *options)
        if stopped.code != 2 or stopped.folders:
            before.append(f"two replies to one row: exit code {stopped.code}, {stopped.folders}")
        options += ["--duplicates", "first", "--anyway"]
    result = import_file(path, work / "first", *options)
    better = BETTER_READER.search(result.text)
    if better is not None and "--frame" not in options:
        result = import_file(path, work / "better", *options, "--frame", better[1])
    if not result.samples:
        return [], [*before, f"exit code {result.code}: {result.text.strip()[-2000:]}"]
    equal, different = differences(expected, result)
    if LAST in expected:
        options[options.index("first")] = "last"
        last = import_file(path, work / "last", *options)
        right = last.counts.get("right")
        if right == expected[LAST]:
            equal.append(LAST)
        else:
            different.append(f"{LAST}: expected {expected[LAST]}, found {right}")
    return equal, [*before, *different]


def _order(folder: Path, work: Path) -> Path:
    """A file with the ids of the rows in the order of the mirror, here that of another sample."""
    details = json.loads((folder / "samples/sspro_json/MAI-UI-8B.json").read_text("utf-8"))[
        "details"
    ]
    work.mkdir(parents=True, exist_ok=True)
    path = work / "order.txt"
    path.write_text("\n".join(row["id"] for row in details), "utf-8")
    return path


@contextlib.contextmanager
def data_root_of(folder: Path, name: str, work: Path) -> Iterator[None]:
    """Have `LMUData` name the rows that a file of a folder is about."""
    root = folder / "samples" / "basis"
    rows = folder / "real" / "sspro_rows.json.gz"
    if name.startswith("real/") and rows.is_file():
        root = work / "real_rows"
        file = root / "ScreenSpot-Pro" / "annotations" / "rows.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.decompress(rows.read_bytes()))
    before = {name: os.environ.get(name) for name in ("LMUData", "IMAGE_ROOT_DIR")}
    os.environ["LMUData"] = str(root)  # noqa: SIM112 - its own name
    os.environ.pop("IMAGE_ROOT_DIR", None)
    try:
        yield
    finally:
        for variable, value in before.items():
            os.environ.pop(variable, None)
            if value is not None:
                os.environ[variable] = value


def main(arguments: list[str] | None = None) -> int:
    """Replay a folder; print and return what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, help="where results stay")
    parser.add_argument("--only", default="", help="files whose names hold this text")
    options = parser.parse_args(arguments)
    file = options.folder / "expected.json"
    if not file.is_file():
        print(f"{file}: there is no such file")
        return 2
    cases = json.loads(file.read_text("utf-8"))
    cases = {name: case for name, case in cases.items() if options.only in name}
    failures = 0
    with tempfile.TemporaryDirectory() as temporary:
        base = (options.keep or Path(temporary)).absolute()
        for number, (name, expected) in enumerate(cases.items()):
            work = base / f"{number:03}"
            with data_root_of(options.folder.absolute(), name, work):
                equal, different = replay(options.folder.absolute(), name, expected, work)
            failures += bool(different)
            print(f"{'differs' if different else 'equal  '} {name}: {len(equal)} counts equal")
            for line in different:
                print(f"    {line}")
    print(f"{len(cases) - failures} of {len(cases)} files equal")
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
