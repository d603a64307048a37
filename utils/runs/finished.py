"""What a finished run left in its folder: scored samples, analysis, scores, manifest.

Reports, comparisons and notebooks start from here; nothing of this runs a user's function or needs
the data. A folder may hold a full and a partial set of files of a data set: a full run removes the
partial set from before, so the partial one is a later `--limit`. A folder stands for the full one
all the same: five samples that somebody tried out take no result of thousands away. Only what a
call of `evaluate.run` returns, and what a run prints, is of the files that it has written itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.errors import UserError
from utils.runs.folder import last_start
from utils.scoring.samples import SAMPLES_SUFFIX, open_samples

MANIFEST_NAME, PARTIAL_MANIFEST_NAME = "manifest.json", "manifest_partial.json"

_SAMPLES_FILE = re.compile(
    rf"(?P<stem>.+){re.escape(SAMPLES_SUFFIX.removesuffix('.jsonl'))}(?P<partial>_partial)?\.jsonl"
)


@dataclass(frozen=True, slots=True)
class ScoredFiles:
    """The derived files of one data set in a run's folder.

    Attributes:
        dataset, level, model: as the head of the samples file has them.
        is_partial: they cover only a part (`--limit`, an unfinished run, one mode where a run over
            all modes was finished in the same folder).
        samples: one line each; see `utils.scoring.samples`.
    """

    dataset: str
    level: str
    model: str
    is_partial: bool
    samples: Path

    @property
    def analysis_file(self) -> Path:
        """Sections by name; a run from before there were any has none."""
        return self._beside("analysis")

    @property
    def analysis(self) -> dict[str, Any]:
        """What that file holds; empty without one."""
        return read_json(self.analysis_file)

    @property
    def scores(self) -> dict[str, Any]:
        """The score object; empty if its file is gone."""
        return read_json(self._beside("score")) or read_json(self._beside("scores"))

    def _beside(self, kind: str) -> Path:
        found = _SAMPLES_FILE.fullmatch(self.samples.name)
        assert found is not None  # that is how the file was found
        return self.samples.with_name(f"{found['stem']}_{kind}{found['partial'] or ''}.json")


def scored_files(folder: Path, *, newest: bool = False) -> dict[str, ScoredFiles]:
    """The data sets that a run's folder has scored samples of, by name.

    Args:
        newest: of a full and a partial set the one that was written last, which is what a call
            has just written; the full one otherwise.

    Raises:
        UserError: a samples file is of another version.
    """
    found: dict[str, ScoredFiles] = {}
    names = [path for path in folder.glob("*.jsonl") if _SAMPLES_FILE.fullmatch(path.name)]
    if newest:
        names.sort(key=lambda path: -path.stat().st_mtime_ns)
    else:
        names.sort(key=lambda path: (path.stem.endswith("_partial"), path.name))
    for path in names:
        with open_samples(path) as (head, _):
            files = ScoredFiles(
                str(head["dataset"]), str(head["level"]), str(head["model"]),
                bool(head["partial"]), path,
            )  # fmt: skip
        found.setdefault(files.dataset, files)
    return dict(sorted(found.items(), key=lambda item: item[1].level))


def find_run(path: Path) -> Path:
    """The folder of a run: `path` itself, or the newest run of the model whose folder it is.

    Raises:
        UserError: there is none, or nothing in it was scored.
    """
    if not path.exists():
        raise UserError(f"{path}: there is no such folder")
    if not path.is_dir():
        raise UserError(f"{path}: is a file; name the folder of the run")
    if _has_samples(path):
        # A model's folder may hold links to the newest files; the run itself lies below it.
        runs = [run for run in _runs_below(path) if _has_samples(run)]
        return max(runs, key=newest_start) if runs else path
    runs = _runs_below(path)
    scored = [run for run in runs if _has_samples(run)]
    if scored:
        return max(scored, key=newest_start)
    if runs or newest_start(path):
        raise UserError(
            f"{path}: has a log but no scored samples; run evaluate.py with the same --config, "
            "--work-dir and --mode eval, nothing is asked again"
        )
    models = [folder.name for folder in _folders(path) if _runs_below(folder)]
    if models:
        raise UserError(f"{path}: holds the runs of {', '.join(models)}; name one of them")
    raise UserError(
        f"{path}: is no folder of a run; expected <work-dir>/<model>/T<date>_G<commit>, or "
        "<work-dir>/<model> for its newest run"
    )


def newest_start(folder: Path) -> str:
    """When the newest run in a folder began, as its logs say; "" without a log."""
    # The folder of a model links to its newest logs.
    logs = (log for log in folder.glob("*.jsonl") if not log.is_symlink())
    return max(map(last_start, logs), default="")


def read_manifest(
    folder: Path, files: Mapping[str, ScoredFiles], *, whole_only: bool = True
) -> dict[str, Any]:
    """The manifest of some derived files of a folder; empty for a run without one.

    Full and partial files have one each; where both kinds are meant it is that of the full ones,
    and the entry of each data set is taken from its own.

    Args:
        files: by data set; none of them for a run that has only asked: the newest manifest then.
        whole_only: False takes a spoilt one for none.

    Raises:
        UserError: it is there and cannot be read.
    """
    read = read_json if whole_only else read_if_whole
    full, part = (read(folder / name) for name in (MANIFEST_NAME, PARTIAL_MANIFEST_NAME))
    if not part or not full:  # a folder from before there were two has one for all
        return full or part
    if not files:
        began = [str((each.get("asking") or {}).get("started_at")) for each in (full, part)]
        return part if began[1] > began[0] else full
    entries: dict[str, Any] = {}
    for name, each in files.items():
        own = (part if each.is_partial else full).get("datasets") or {}
        if name in own:
            entries[name] = own[name]
    whole = part if all(each.is_partial for each in files.values()) else full
    others = {name: entry for name, entry in (whole.get("datasets") or {}).items()
              if name not in files}  # fmt: skip
    return {**whole, "datasets": {**others, **entries}}


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; empty if there is no such file.

    Raises:
        UserError: it is there and cannot be read.
    """
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise UserError(f"{path}: is no JSON; run --mode eval again") from None
    if not isinstance(value, dict):
        raise UserError(f"{path}: is no JSON object; run --mode eval again")
    return value


def read_if_whole(path: Path) -> dict[str, Any]:
    """A JSON object that one can do without; empty where it is missing or spoilt."""
    try:
        return read_json(path)
    except UserError:
        return {}


def _has_samples(folder: Path) -> bool:
    return any(_SAMPLES_FILE.fullmatch(path.name) for path in folder.glob("*.jsonl"))


def _folders(path: Path) -> list[Path]:
    return sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.is_symlink())


def _runs_below(path: Path) -> list[Path]:
    found = _folders(path)
    return [each for each in found if newest_start(each) or _has_samples(each)]
