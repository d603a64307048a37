"""The files that scoring derives from a log, as they lie in a run's folder.

Where a folder holds full and partial files of a data set, it stands for the full ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from utils.contracts import Facts
from utils.errors import UserError
from utils.protocol import noun_of
from utils.store.seals import file_of_another_scoring

MANIFEST_NAME = "manifest.json"
SAMPLES_SUFFIX = "_samples.jsonl"
SAMPLES_FORMAT = 1
CODE = "code"  # of a head: hashes of the user's modules that judge, by name


def no_score_text(entry: Mapping[str, Any]) -> str:
    """Say why a data set has no figures, by what the manifest says of it."""
    noun = noun_of(str(entry.get("level")))
    reason = entry.get("no_score") or f"most {noun}s have no answer"  # earlier versions do not say
    return f"no score: {reason}"


def changed_files(head: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The files of the user's that judge and differ between two scorings; "" if not known.

    A file that only one of them used is no other version of anything.

    Args:
        head: of the samples file or the analysis of a scoring.
        other: likewise, of the other one.
    """
    code, other_code = head.get(CODE), other.get(CODE)
    if not code or not other_code:
        return ""
    modules = [name for name in other_code if code.get(name, other_code[name]) != other_code[name]]
    return ", ".join(f"{name.replace('.', '/')}.py" for name in modules)


@dataclass(frozen=True, slots=True)
class ScoredFiles:
    """The derived files of one data set; the first four fields are those of the samples file."""

    dataset: str
    level: str
    model: str
    is_partial: bool
    samples: Path
    is_sealed: bool = False  # the manifest has its checksum, and that of the files beside it

    @property
    def analysis(self) -> dict[str, Any]:
        """Return tables and audits, by section; empty without such a file."""
        return read_json(self.beside("analysis"))

    @property
    def scores(self) -> dict[str, Any]:
        """Return the score object; empty if its file is gone."""
        return read_json(self.beside("score")) or read_json(self.beside("scores"))

    def facts(self) -> Iterator[Facts]:
        """Yield the samples in file order."""
        return islice(_lines(self.samples), 1, None)

    def rotations(self) -> Iterator[list[Facts]]:
        """Yield the rotations of each question, in file order; nothing without such a file."""
        path = self.beside("rotations", ".jsonl")
        rows = islice(_lines(path), 1, None) if path.exists() else ()
        return (list(rotations) for _, rotations in groupby(rows, itemgetter("question")))

    def problem(self, manifest: Mapping[str, Any]) -> str | None:
        """Say why these files may not be read together, if that is so.

        Args:
            manifest: of their folder.
        """
        results = map(self.beside, ("analysis", "score", "scores"))
        candidates = [self.samples, *results, self.beside("rotations", ".jsonl")]
        paths = [path for path in candidates if path.exists()]
        try:
            foreign = file_of_another_scoring(paths, manifest, is_sealed=self.is_sealed)
        except OSError as error:
            return f"{self.samples.parent}: {self.dataset} cannot be read: {error}"
        if foreign is None:
            return None
        return (
            f"{self.samples.parent}: a scoring of {self.dataset} was interrupted or still runs "
            f"({foreign.name} is not the file that {MANIFEST_NAME} names). Run evaluate.py with "
            "the same --config and --work-dir, and with --mode eval, which sends no requests"
        )

    def beside(self, kind: str, extension: str = ".json") -> Path:
        """Return the file of another kind ("analysis", "score") of the same samples."""
        stem, _, ending = self.samples.stem.rpartition("_samples")
        return self.samples.with_name(f"{stem}_{kind}{ending}{extension}")


def scored_files(folder: Path, *, newest: bool = False) -> dict[str, ScoredFiles]:
    """Return the data sets that a run's folder has scored samples of, by name, in order of level.

    Args:
        newest: of a full and a partial set take the one that was written last.
    """
    by_dataset: dict[str, ScoredFiles] = {}
    paths = samples_files_in(folder)
    if newest:
        paths.sort(key=lambda path: -path.stat().st_mtime_ns)
    for path in paths:
        head = next(_lines(path))
        dataset, level, model = (str(head[name]) for name in ("dataset", "level", "model"))
        is_sealed = bool(head.get("sealed"))
        by_dataset.setdefault(
            dataset, ScoredFiles(dataset, level, model, bool(head["partial"]), path, is_sealed)
        )
    return dict(sorted(by_dataset.items(), key=lambda item: item[1].level))


def whole_scorings(folder: Path, *, newest: bool = False) -> dict[str, ScoredFiles]:
    """Return the data sets as `scored_files` does, none of which mixes two scorings.

    Raises:
        UserError: one does, because a scoring was interrupted or is still going on.
    """
    files = scored_files(folder, newest=newest)
    manifest = read_json(folder / MANIFEST_NAME)
    problems = [scored.problem(manifest) for scored in files.values()]
    if any(problems):
        raise UserError([problem for problem in problems if problem])
    return files


def samples_files_in(folder: Path) -> list[Path]:
    """Return the samples files of a folder, full ones first."""
    return [*folder.glob(f"*{SAMPLES_SUFFIX}"), *folder.glob("*_samples_partial.jsonl")]


def _lines(path: Path) -> Iterator[Facts]:
    """Yield the head of a samples file, then its samples."""
    line_number = 0
    cure = "run --mode eval again"
    try:
        with path.open("rb") as file:  # split at \n only; all else is escaped
            for line_number, line in enumerate(file, start=1):
                values = json.loads(line)
                if line_number == 1 and (
                    not isinstance(values, dict) or values.get("format") != SAMPLES_FORMAT
                ):
                    raise UserError(f"{path}: is not a samples file of this version; {cure}")
                yield values
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise UserError(f"{path}: line {line_number} is cut off or damaged; {cure}") from None
    if line_number == 0:
        raise UserError(f"{path}: is empty; {cure}")


def read_json(path: Path, *, must_be_whole: bool = True) -> dict[str, Any]:
    """Return a JSON object; empty if there is no such file, or a broken one that need not be whole.

    Raises:
        UserError: it is there, must be whole, and cannot be read.
    """
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        value = error
    if not isinstance(value, dict) and must_be_whole:
        why = f"cannot be read: {value}" if isinstance(value, OSError) else "is not a JSON object"
        raise UserError(f"{path}: {why}; run --mode eval again")
    return value if isinstance(value, dict) else {}
