"""`<work-dir>/index.html`: all runs under a work-dir, the newest first.

It is made from what is small: each run's manifest, the names and times of its other files, and the
lists of runs that comparisons leave. No log is opened, so thousands of runs take under a second.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import os
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

from utils.errors import StopRun
from utils.protocol import AVERAGE, OVERALL, noun_of, official_order
from utils.report.run_facts import SAMPLE, data_kind
from utils.runs.derived import MANIFEST_NAME, NO_SCORE, read_json
from utils.runs.log import is_locked
from utils.runs.seals import STAMP, has_unfinished_scoring, stamp_of
from utils.scoring.sheets import write_text
from utils.text import counted, cut, format_interval, format_percent

INDEX = "index.html"
COMPARISONS = "comparisons"  # folder of those that runs of several models have made
RUNS_OF_COMPARISON = "comparison_files/runs.json"  # in the folder of each
STILL_RUNNING_S = 600.0  # where locks cannot be tried: so lately written, a log is of a run
LOCK_WAIT_S = 60.0
HERE = Path(__file__).parent
LONGEST_WHY = 60
LEAD = ' class="lead"'  # the first column of a data set; on a phone the only one, with its name
_RUN_FOLDER = re.compile(r"T\d{8}_G\w+", re.ASCII)
_LOG = re.compile(r".*(?<!_samples)(?<!_rotations)(?<!_partial)\.jsonl")


@dataclass
class ListedRun:
    """What the list says of one run."""

    model: str
    folder: str  # below the work-dir
    at: float  # when it ended or was last heard of, seconds since 1970
    state: str  # "whole", "partial", "stopped", "running"
    why: str  # the state in words
    datasets: Mapping[str, Mapping[str, Any]]  # as the manifest has them
    stopped: Mapping[str, Mapping[str, Any]]  # likewise
    unscored: Collection[str]  # data sets whose logs are newer than the scores
    has_report: bool
    comparisons: list[str] = field(default_factory=list)  # folders below the work-dir


def index_after_run(work_dir: Path) -> None:
    """Writes the page when a run ends, whatever has ended it.

    All results are there already, so what goes wrong is one line of warning.
    """
    try:
        if work_dir.is_dir():
            write_index(work_dir)
    except StopRun:  # as the run itself has said of its own files
        print(f"warning: {work_dir}: no list of all runs, for lack of space")
    except Exception as error:  # noqa: BLE001  whatever it is, it may not cost the exit code
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        print(f"warning: {work_dir}: no list of all runs ({why})")


def write_index(work_dir: Path) -> Path:
    """Writes the page and returns it; several runs may do so at once.

    Raises:
        StopRun: the folder cannot be written.
    """
    with _one_at_a_time(work_dir):  # the last one to look must be the last one to write
        return write_text(work_dir / INDEX, render_index(listed_runs(work_dir)))


@contextmanager
def _one_at_a_time(work_dir: Path) -> Iterator[None]:
    """Waits for another run to finish; without locks the page may lack a run until the next."""
    from filelock import FileLock, Timeout

    lock = FileLock(work_dir / f".{INDEX}.lock", timeout=LOCK_WAIT_S)
    with suppress(Timeout, OSError):
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


# -- reading ---------------------------------------------------------------------------------------


def listed_runs(work_dir: Path) -> list[ListedRun]:
    """All runs below a work-dir, the newest first."""
    found: dict[str, ListedRun] = {}
    for model in [*_entries(work_dir), *_linked_folders(work_dir)]:
        for folder in _entries(model.path):
            is_run = _RUN_FOLDER.fullmatch(folder.name)
            if is_run and (run := _listed(Path(folder.path))):
                found[run.folder] = run
    for comparison in _entries(work_dir / COMPARISONS):
        for name in runs_compared(Path(comparison.path), work_dir):
            if name in found:
                found[name].comparisons.append(f"{COMPARISONS}/{comparison.name}")
    return sorted(found.values(), key=lambda run: (-run.at, run.folder))


def _linked_folders(work_dir: Path) -> list[os.DirEntry[str]]:
    """Return the links of a work-dir that lead out of it: folders of models on another disk."""
    with os.scandir(work_dir) as entries:
        links = [entry for entry in entries if entry.is_symlink() and entry.is_dir()]
    home = work_dir.resolve()
    return [link for link in links if not Path(link.path).resolve().is_relative_to(home)]


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    """What a folder holds; nothing where it is none, links left out."""
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not entry.is_symlink()]
    except OSError:
        return []


def _listed(folder: Path) -> ListedRun | None:
    """One run; None where a folder holds neither a log nor a manifest."""
    files = {entry.name: entry for entry in _entries(folder)}
    times = {}
    for file, entry in files.items():
        if file == MANIFEST_NAME or _LOG.fullmatch(file):
            with suppress(OSError):
                times[file] = entry.stat().st_mtime
    if not times:
        return None
    written = times.pop(MANIFEST_NAME, 0.0)
    manifest = read_json(folder / MANIFEST_NAME, must_be_whole=False) if written else {}
    logged = max(times.values(), default=0.0)
    datasets, stopped = (_section(manifest.get(each)) for each in ("datasets", "stopped"))
    name = f"{folder.parent.name}/{folder.name}"
    of_log = {
        log: log.removeprefix(f"{folder.parent.name}_").removesuffix(".jsonl")
        for log in times
        if ".rank" not in log
    }
    ended = dict.fromkeys(sorted({*of_log.values()} - datasets.keys()), "aborted")
    ended |= {name: str(each.get("why")) for name, each in stopped.items()}
    is_open = logged > written + 1.0
    is_running = is_open and any(_is_being_written(folder / log, times[log]) for log in times)
    if not is_open and written and _is_torn(folder, manifest):
        ended["scores"] = "a scoring was interrupted; --mode eval does it again"
    unscored = [each for log, each in of_log.items() if times[log] > written + 1.0]
    state, why = _state(datasets, ended, is_open=is_open, is_running=is_running)
    at, model = _ended(manifest) or logged or written, manifest.get("model") or folder.parent.name
    known = datasets, stopped, unscored
    has_report = "report" in files and _is_of_this_scoring(folder / "report", manifest)
    return ListedRun(str(model), name, at, state, why, *known, has_report)


def _is_being_written(log: Path, written_at: float) -> bool:
    """Whether a process holds a log; a guess by its age where its lock cannot be tried."""
    if not log.with_name(f"{log.name}.lock").exists():
        return False
    try:
        return is_locked(log)
    except OSError:
        return time.time() - written_at < STILL_RUNNING_S


def _is_torn(folder: Path, manifest: Mapping[str, Any]) -> bool:
    written_ns = (folder / MANIFEST_NAME).stat().st_mtime_ns
    return has_unfinished_scoring(folder, written_ns, manifest)


def _is_of_this_scoring(report: Path, manifest: Mapping[str, Any]) -> bool:
    """Whether a report shows what the manifest tells of; those of older versions do not say."""
    expected = stamp_of(manifest)
    try:
        return not expected or (report / STAMP).read_text("ascii") == expected
    except (OSError, ValueError):
        return False


def _section(known: object) -> dict[str, dict[str, Any]]:
    """Of a manifest, by data set; empty where it is not as it should be."""
    is_known = isinstance(known, dict) and all(isinstance(each, dict) for each in known.values())
    return known if is_known else {}  # type: ignore[return-value]


def _ended(manifest: Mapping[str, Any]) -> float | None:
    asking = manifest.get("asking")
    try:
        return datetime.datetime.fromisoformat(asking["ended_at"]).timestamp()  # type: ignore[index]
    except (KeyError, TypeError, ValueError):
        return None


def _state(
    datasets: Mapping[str, Mapping[str, Any]],
    ended: Mapping[str, str],
    *,
    is_open: bool,
    is_running: bool,
) -> tuple[str, str]:
    """Whole, partial, stopped or running, and why; `is_open`: its log is newer than its scores."""
    if is_open and is_running:
        return "running", "it was writing to its log when this page was built"
    if is_open:
        return "stopped", "not finished: the same command continues from there"
    if ended:
        return "stopped", "; ".join(f"{name}: {why}" for name, why in ended.items())
    if missing := sum(each.get("missing") or 0 for each in datasets.values()):
        return "stopped", f"{missing} samples not queried yet: the same command queries them"
    parts = [name for name, each in datasets.items() if each.get("partial")]
    return ("partial", f"a part of {', '.join(parts)}") if parts else ("whole", "")


def runs_compared(comparison: Path, work_dir: Path) -> list[str]:
    """The runs of the comparison in a folder, by their folders below the work-dir, if any."""
    try:
        folders = json.loads((comparison / RUNS_OF_COMPARISON).read_bytes())
        home = os.path.realpath(work_dir)
        return [
            Path(os.path.relpath(os.path.realpath(comparison / each), home)).as_posix()
            for each in folders
        ]
    except (OSError, ValueError, TypeError):
        return []


# -- the page --------------------------------------------------------------------------------------


def render_index(runs: Sequence[ListedRun]) -> str:
    """The page; whatever a user, a model or a data set has named is escaped."""
    levels = {
        name: f"{each.get('level') or ''}"
        for run in runs
        for known in (run.stopped, run.datasets)
        for name, each in known.items()
    }
    columns: dict[str, list[str]] = {}
    for dataset in sorted(levels, key=lambda name: (levels[name], name)):
        found = {figure for run in runs for figure in _figures(run, dataset)}
        places = {each: (each not in (OVERALL, AVERAGE), official_order(each)) for each in found}
        columns[dataset] = sorted(found, key=places.__getitem__) or ["score"]
    heads, subheads = "", ""
    for dataset, figures in columns.items():
        name = f'{_text(levels[dataset])} <span class="quiet">{_text(dataset)}</span>'
        heads += f'<th scope="colgroup" colspan="{len(figures)}">{name}</th>'
        for place, figure in enumerate(figures):
            button = f'<button type="button">{_text(figure)}</button>'
            subheads += f'<th scope="col"{"" if place else LEAD}>{button}</th>'
    own = {kind: (HERE / f"all_runs.{kind}").read_text("utf-8") for kind in ("html", "css", "js")}
    style = (HERE / "assets" / "page.css").read_text("utf-8") + own["css"]
    return Template(own["html"]).substitute(
        style=style,
        script=own["js"],
        style_hash=_checksum(style),
        script_hash=_checksum(own["js"]),
        heads=heads,
        subheads=subheads,
        count=f"{len(runs):,} run{'' if len(runs) == 1 else 's'}",
        made=_when(time.time()),
        rows="\n".join(_row(run, columns, levels) for run in runs),
    )


def _figures(run: ListedRun, dataset: str) -> Mapping[str, Mapping[str, Any]]:
    return run.datasets.get(dataset, {}).get("figures") or {}


def _row(run: ListedRun, columns: Mapping[str, Sequence[str]], levels: Mapping[str, str]) -> str:
    folder = _text(run.folder.partition("/")[2])
    odd = sum(each.get("warnings") or 0 for each in run.datasets.values())
    warned = f' <span class="odd">{_to_report(run, counted(odd, "warning"))}</span>' if odd else ""
    samples = sum(each.get("samples") or 0 for each in run.datasets.values())
    drawn = " · sample data" * (SAMPLE in map(data_kind, run.datasets.values()))
    compared = (
        f'<a href="{_link(f"{each}/comparison.html")}">compared</a>' for each in run.comparisons
    )
    return "".join(
        [
            f'<tr><th scope="row">{_to_report(run, run.model)}',
            f'<span class="folder"><a href="{_link(run.folder)}/">{folder}</a>{drawn}</span></th>',
            f'<td><span class="state is-{run.state}" title="{_text(run.why)}">{run.state}</span>',
            f"{warned}</td>",
            *(_cells(run, *each, levels[each[0]]) for each in columns.items()),
            f'<td class="lead" data-of="samples">{samples or "–"}</td>',
            f'<td data-value="{run.at:.0f}">{_when(run.at)}</td>',
            f"<td>{' '.join(compared)}</td></tr>",
        ]
    )


def _to_report(run: ListedRun, text: str) -> str:
    page = f"{run.folder}/report/index.html"
    return f'<a href="{_link(page)}">{_text(text)}</a>' if run.has_report else _text(text)


def _cells(run: ListedRun, dataset: str, figures: Sequence[str], level: str) -> str:
    """The figures of one data set, or why it has none."""
    entry, found = run.datasets.get(dataset, {}), _figures(run, dataset)
    noun, of = noun_of(level), f' data-of="{_text(level or dataset)}"'
    statuses = entry.get("statuses") or {}
    total, failed = sum(statuses.values()), sum(statuses.values()) - statuses.get("ok", 0)
    if not found:
        instead, title = "not scored" if entry else "", ""
        if dataset in run.stopped:
            why = str(run.stopped[dataset].get("why"))
            instead = f"stopped: {_text(cut(why, LONGEST_WHY))}"
            title = f' title="{_text(why)}"'
        elif 2 * failed > total:  # of rotations and turns, too
            instead = f"{failed} of {total} requests failed"
        elif entry.get("figures") == {}:
            instead = NO_SCORE.format(noun)
        return f'<td class="lead none"{of} colspan="{len(figures)}"{title}>{instead}</td>'
    old = "its log has grown since then" if dataset in run.unscored else ""
    if dataset in run.stopped and not entry.get("missing"):  # else it may be what was answered
        old = f"the last one stopped: {run.stopped[dataset].get('why')}"
    cells, signs = "", "‡" * bool(entry.get("partial")) + "§" * bool(old)
    mark = f"<i>{signs}</i>" if signs else ""
    for figure in figures:
        cell = found.get(figure, {})
        told = f"{cell.get('samples')} {noun}s, 95 % interval {format_interval(cell) or 'unknown'}"
        told += f"; from an earlier scoring: {old}" if old else ""
        value = f"{format_percent(cell['value'])}{mark}" if cell else "–"
        cells += (
            f'<td{"" if cells else LEAD + of} title="{_text(told) if cell else ""}">{value}</td>'
        )
    return cells


def _when(at: float) -> str:
    return f"{datetime.datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M}"


def _text(text: str) -> str:
    """A text in which a browser finds no markup, also within an attribute."""
    return escape("".join(char if char.isprintable() else "�" for char in text))


def _link(path: str) -> str:
    return escape(quote(path))


def _checksum(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
