"""Writes `<work-dir>/index.html`: all runs under a work-dir, the newest first.

It reads what is small: each run's manifest, the names and times of its other files, and the lists
of runs that comparisons leave. No log is opened, so thousands of runs take under a second.
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
from contextlib import suppress
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from utils.errors import StopRun, one_line_reason
from utils.locks import file_lock
from utils.protocol import (
    AVERAGE,
    IMPORTED,
    MADE_ELSEWHERE,
    OVERALL,
    noun_of,
    official_order,
)
from utils.scoring.sheets import write_text
from utils.store.derived import MANIFEST_NAME, no_score_text, read_json
from utils.store.find import is_import
from utils.store.folder import COMPARISONS, INDEX, LOG_NAME, RANK_LOG
from utils.store.log import is_locked
from utils.store.logged_config import (
    FUNCTION_CODE,
    changed_code,
    changed_settings,
    entry_of_run,
)
from utils.store.run_facts import (
    REPORT_FOLDER,
    SAMPLE,
    data_kind,
    failed_requests,
    rows_note,
)
from utils.store.seals import STAMP, has_unfinished_scoring, stamp_of
from utils.text import counted, cut, format_interval, format_percent, local_time

RUNS_OF_COMPARISON = "comparison_files/runs.json"  # in the folder of each
STILL_RUNNING_S = 600.0  # where locks cannot be tried: a log this young is being written
LOCK_WAIT_S = 60.0
ASSETS = Path(__file__).parent / "assets"
LONGEST_REASON = 60  # characters of why a data set was stopped
MOST_SETTINGS = 3  # of a run that differ from those of the newest one
LEAD_CLASS = 'class="lead"'  # first column of a data set, on a phone the only one
RUNNING = "running"  # the state of a run whose log is being written
_RUN_FOLDER = re.compile(r"[TI]\d{8}_G\w+", re.ASCII)  # I: answers made elsewhere


@dataclass(frozen=True)
class ListedComparison:
    """One comparison in the list."""

    folder: str  # below the work-dir
    outdated: Sequence[str]  # models that were scored again since


@dataclass
class ListedRun:
    """One run in the list."""

    model: str
    folder: str  # below the work-dir
    last_active_s: float  # when it ended or last wrote, seconds since 1970
    state: str  # "whole", "partial", "stopped", RUNNING
    reason: str  # the state in words
    datasets: Mapping[str, Mapping[str, Any]]  # as the manifest has them
    stopped: Mapping[str, Mapping[str, Any]]  # likewise
    unscored: Collection[str]  # data sets whose logs are newer than the scores
    has_report: bool
    stamp: str  # of its scoring; "" of older versions
    origin: str = ""  # "answers made elsewhere" of an import
    comparisons: list[ListedComparison] = field(default_factory=list)
    progress: str = ""  # of a run that is going on, where it was scored so far: "120 of 300"
    entry: Mapping[str, Any] = field(default_factory=dict)  # of the model in the run's config
    other_settings: Sequence[str] = ()  # that differ from the newest run of this model

    def figures(self, dataset: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the official figures of a data set by name; empty where it was not scored."""
        return self.datasets.get(dataset, {}).get("figures") or {}


def index_after_run(work_dir: Path) -> None:
    """Write the page when a run ends, whatever has ended it.

    All results are there already, so a failure here is one line of warning.
    """
    try:
        if work_dir.is_dir():
            write_index(work_dir)
    except StopRun:  # the run has reported its own files in the same way
        print(f"warning: {work_dir}: no list of all runs, for lack of space")
    except Exception as error:  # noqa: BLE001  whatever it is, it may not cost the exit code
        print(f"warning: {work_dir}: no list of all runs ({one_line_reason(error)})")


def write_index(
    work_dir: Path, so_far: Mapping[str, Mapping[str, Mapping[str, Any]]] = MappingProxyType({})
) -> Path:
    """Write the page and return it; several runs may do so at once.

    Args:
        work_dir: of the runs.
        so_far: as in `with_figures_so_far`.

    Raises:
        StopRun: the folder cannot be written.
    """
    from filelock import Timeout

    # The last one to look must be the last one to write; without, a run may be missing for now.
    lock = file_lock(work_dir / f".{INDEX}.lock", timeout_s=LOCK_WAIT_S)
    with suppress(Timeout, OSError):
        lock.acquire()
    try:
        runs = with_figures_so_far(listed_runs(work_dir), so_far)
        return write_text(work_dir / INDEX, render_index(runs))
    finally:
        lock.release()


# -- reading ---------------------------------------------------------------------------------------


def listed_runs(work_dir: Path) -> list[ListedRun]:
    """Return all runs below a work-dir, the newest first."""
    runs: dict[str, ListedRun] = {}
    for folder in run_folders(work_dir):
        run = _listed(folder)
        if run is not None:
            runs[run.folder] = run
    for folder in sorted((work_dir / COMPARISONS).glob("*")):
        stamps = runs_compared(folder, work_dir)
        compared = [runs[name] for name in stamps if name in runs]
        outdated = [run.model for run in compared if stamps[run.folder] not in ("", run.stamp)]
        for run in compared:
            run.comparisons.append(ListedComparison(f"{COMPARISONS}/{folder.name}", outdated))
    newest_first = sorted(runs.values(), key=lambda run: (-run.last_active_s, run.folder))
    newest: dict[str, ListedRun] = {}
    for run in newest_first:
        if not run.origin:  # of answers made elsewhere no settings are known
            newest_of_model = newest.setdefault(run.model, run)
            run.other_settings = _other_settings(newest_of_model, run)
    return newest_first


def _other_settings(newest: ListedRun, run: ListedRun) -> list[str]:
    """The settings of a run that differ from those of the newest run of its model."""
    if not newest.entry or not run.entry:
        return []
    changed = changed_settings(newest.entry, run.entry)
    for dataset in newest.datasets.keys() & run.datasets.keys():
        code = [side.datasets[dataset].get(FUNCTION_CODE) or {} for side in (newest, run)]
        changed += changed_code(code[0], code[1])
    return list(dict.fromkeys(changed))


def with_figures_so_far(
    runs: Sequence[ListedRun], so_far: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> list[ListedRun]:
    """Return a list of runs in which those that are going on have their figures so far.

    Args:
        runs: all of them.
        so_far: what the manifest would say of each data set, by name, by the folder of the run.
    """
    listed: list[ListedRun] = []
    for run in runs:
        facts = so_far.get(run.folder)
        if facts and run.state == RUNNING:
            samples = sum(entry["samples"] for entry in facts.values())
            answered = samples - sum(entry["missing"] for entry in facts.values())
            run = replace(
                run,
                datasets={**run.datasets, **facts},
                unscored=[name for name in run.unscored if name not in facts],
                progress=f"{answered:,} of {samples:,}",
                reason=f"{answered:,} of {samples:,} samples had an answer when this page was "
                "built; the figures cover these samples",
            )
        listed.append(run)
    return listed


def run_folders(work_dir: Path) -> Iterator[Path]:
    """Yield the folders of all runs below a work-dir; a model's folder may be on another disk."""
    home = work_dir.resolve()
    for model in work_dir.iterdir():
        if model.is_symlink() and model.resolve().is_relative_to(home):
            continue  # a second name
        for folder in model.glob("[TI]*"):
            if _RUN_FOLDER.fullmatch(folder.name) and not folder.is_symlink():
                yield folder


def _listed(folder: Path) -> ListedRun | None:
    """Return the run of a folder; None where it holds neither a log nor a manifest."""
    written_at = _modified_at(folder / MANIFEST_NAME)
    log_times: dict[str, float] = {}
    for log in folder.glob("*.jsonl"):
        modified_at = _modified_at(log) if LOG_NAME.fullmatch(log.name) else None
        if modified_at is not None:
            log_times[log.name] = modified_at
    if written_at is None and not log_times:
        return None
    manifest = read_json(folder / MANIFEST_NAME, must_be_whole=False)
    datasets = _section(manifest, "datasets")
    stopped = _section(manifest, "stopped")
    dataset_of_log = {
        log: log.removeprefix(f"{folder.parent.name}_").removesuffix(".jsonl")
        for log in log_times
        if not RANK_LOG.fullmatch(log)
    }
    scored_at = (written_at or 0.0) + 1.0  # the manifest is written after the logs
    is_open = max(log_times.values(), default=0.0) > scored_at
    is_running = is_open and any(
        is_being_written(folder / log, modified_at) for log, modified_at in log_times.items()
    )
    reasons = dict.fromkeys(sorted({*dataset_of_log.values()} - datasets.keys()), "aborted")
    reasons |= {name: str(entry.get("why")) for name, entry in stopped.items()}
    if not is_open and written_at and _is_torn(folder, manifest):
        reasons["scores"] = "a scoring was interrupted; --mode eval repeats it"
    state, reason = _state(datasets, reasons, is_open=is_open, is_running=is_running)
    return ListedRun(
        model=str(manifest.get("model") or folder.parent.name),
        folder=f"{folder.parent.name}/{folder.name}",
        last_active_s=_ended_at(manifest) or max(log_times.values(), default=written_at or 0.0),
        state=state,
        reason=reason,
        datasets=datasets,
        stopped=stopped,
        unscored=[name for log, name in dataset_of_log.items() if log_times[log] > scored_at],
        has_report=_has_report(folder, manifest),
        stamp=stamp_of(manifest),
        entry=entry_of_run(manifest, str(manifest.get("model"))),
        origin=MADE_ELSEWHERE if IMPORTED in manifest or is_import(folder) else "",
    )


def _modified_at(file: Path) -> float | None:
    """Return when a file was last written; None where it is missing."""
    try:
        return file.stat().st_mtime
    except OSError:
        return None


def is_being_written(log: Path, written_at: float) -> bool:
    """Whether a process holds a log; a guess by its age where no lock can be tried."""
    if not log.with_name(f"{log.name}.lock").exists():
        return False
    try:
        return is_locked(log)
    except OSError:
        return time.time() - written_at < STILL_RUNNING_S


def _is_torn(folder: Path, manifest: Mapping[str, Any]) -> bool:
    written_ns = (folder / MANIFEST_NAME).stat().st_mtime_ns
    return has_unfinished_scoring(folder, written_ns, manifest)


def _has_report(folder: Path, manifest: Mapping[str, Any]) -> bool:
    """Whether a run has a report of the manifest's scoring; older versions do not say."""
    report = folder / REPORT_FOLDER
    expected = stamp_of(manifest)
    try:
        return report.is_dir() and (not expected or (report / STAMP).read_text("ascii") == expected)
    except (OSError, ValueError):
        return False


def _section(manifest: Mapping[str, Any], name: str) -> dict[str, dict[str, Any]]:
    """Return a section of a manifest by data set; empty where it is not as it should be."""
    section = manifest.get(name)
    if isinstance(section, dict) and all(isinstance(entry, dict) for entry in section.values()):
        return section
    return {}


def _ended_at(manifest: Mapping[str, Any]) -> float | None:
    asking = manifest.get("asking")
    try:
        return datetime.datetime.fromisoformat(asking["ended_at"]).timestamp()  # type: ignore[index]
    except (KeyError, TypeError, ValueError):
        return None


def _state(
    datasets: Mapping[str, Mapping[str, Any]],
    reasons: Mapping[str, str],
    *,
    is_open: bool,
    is_running: bool,
) -> tuple[str, str]:
    """Return the state of a run and its reason.

    Args:
        datasets: of the manifest.
        reasons: why data sets were stopped, by name.
        is_open: its log is newer than its scores.
        is_running: a process is writing to its log.
    """
    if is_running:
        return RUNNING, "the run was writing to its log when this page was built"
    if is_open:
        return "stopped", "not finished: the same command continues"
    if reasons:
        return "stopped", "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    missing = sum(entry.get("missing") or 0 for entry in datasets.values())
    if missing:
        return "stopped", f"{missing} samples not queried yet: the same command queries them"
    partial = [name for name, entry in datasets.items() if entry.get("partial")]
    if partial:
        return "partial", f"only a part of {', '.join(partial)}"
    without_answer = sum(map(_without_answer, datasets.values()))
    if without_answer:
        return "partial", f"{counted(without_answer, 'sample')} without an answer in the import"
    return "whole", ""


def _without_answer(entry: Mapping[str, Any]) -> int:
    """The number of samples that an import has no row for; 0 for runs."""
    return (entry.get(IMPORTED) or {}).get("missing") or 0


def runs_compared(comparison: Path, work_dir: Path) -> dict[str, str]:
    """Return the runs of the comparison in a folder, by their folders below the work-dir.

    Each has the stamp of the scoring that was compared; "" in comparisons of older versions.
    """
    try:
        folders = json.loads((comparison / RUNS_OF_COMPARISON).read_bytes())
        stamps = folders if isinstance(folders, dict) else dict.fromkeys(folders, "")
        home = os.path.realpath(work_dir)
        paths = {folder: os.path.realpath(comparison / folder) for folder in stamps}
        return {
            Path(os.path.relpath(path, home)).as_posix(): str(stamps[folder])
            for folder, path in paths.items()
        }
    except (OSError, ValueError, TypeError):
        return {}


# -- the page --------------------------------------------------------------------------------------


def render_index(runs: Sequence[ListedRun]) -> str:
    """Return the page; names of users, models and data sets are escaped."""
    levels = _levels(runs)
    columns = {
        dataset: _figure_names(runs, dataset)
        for dataset in sorted(levels, key=lambda name: (levels[name], name))
    }
    heads: list[str] = []
    subheads: list[str] = []
    for dataset, figures in columns.items():
        name = _text(levels[dataset])
        if dataset != levels[dataset]:
            name += f' <span class="quiet">{_text(dataset)}</span>'
        heads.append(f'<th scope="colgroup" colspan="{len(figures)}">{name}</th>')
        for position, figure in enumerate(figures):
            lead = "" if position else f" {LEAD_CLASS}"
            button = f'<button type="button">{_text(figure)}</button>'
            subheads.append(f'<th scope="col"{lead}>{button}</th>')
    page, own_style, script = (
        (ASSETS / "list" / f"all_runs.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
    )
    style = (ASSETS / "core" / "page.css").read_text("utf-8") + own_style
    return Template(page).substitute(
        style=style,
        script=script,
        style_hash=checksum(style),
        script_hash=checksum(script),
        heads="".join(heads),
        subheads="".join(subheads),
        count=f"{len(runs):,} {'run' if len(runs) == 1 else 'runs'}",
        made=local_time(time.time()),
        rows="\n".join(_row(run, columns, levels) for run in runs),
    )


def _levels(runs: Sequence[ListedRun]) -> dict[str, str]:
    """Return the level of each data set that some run was scored on or stopped in."""
    levels: dict[str, str] = {}
    for run in runs:
        for name, entry in (*run.stopped.items(), *run.datasets.items()):
            levels[name] = str(entry.get("level") or "")
    return levels


def _figure_names(runs: Sequence[ListedRun], dataset: str) -> list[str]:
    """Return the names of a data set's figures, the main one first: it is all that a phone shows.

    That is the one over everything; of episodes, the success rate with the most steps.
    """
    names = sorted({name for run in runs for name in run.figures(dataset)}, key=official_order)
    if not names:
        return ["score"]
    rates = [name for name in names if name.startswith("SR ")]
    main = (OVERALL, AVERAGE, *rates[-1:])
    return sorted(names, key=lambda name: name not in main)


def _row(run: ListedRun, columns: Mapping[str, Sequence[str]], levels: Mapping[str, str]) -> str:
    folder = _text(run.folder.partition("/")[2])
    kinds = {data_kind(entry) for entry in run.datasets.values()}
    note = " · sample data" if SAMPLE in kinds else ""
    if run.other_settings:
        title = "settings that differ from those of the newest run of this model"
        names = ", ".join(run.other_settings[:MOST_SETTINGS])
        more = ", …" if len(run.other_settings) > MOST_SETTINGS else ""
        note += f' · <span title="{title}">other {_text(names)}{more}</span>'
    if run.origin:
        note += f' · <span class="odd">{_text(run.origin)}</span>'
    warning_count = sum(
        (entry.get("warnings") or 0) + bool(rows_note(entry)) for entry in run.datasets.values()
    )
    warnings = ""
    if warning_count:
        link = _report_link(run, counted(warning_count, "warning"))
        texts = [text for entry in run.datasets.values() for text in entry.get("warned") or ()]
        rows = filter(None, map(rows_note, run.datasets.values()))
        texts += [f"{text} of the published files" for text in rows]
        title = f' title="{_text(chr(10).join(texts))}"' if texts else ""
        warnings = f' <span class="odd"{title}>{link}</span>'
    samples = sum(entry.get("samples") or 0 for entry in run.datasets.values())
    last_active = local_time(run.last_active_s)
    comparisons = [_comparison_link(comparison) for comparison in run.comparisons]
    cells = [
        f'<th scope="row">{_report_link(run, run.model)}'
        f'<span class="folder"><a href="{_link(run.folder)}/">{folder}</a>{note}</span></th>',
        f'<td><span class="state is-{run.state}" title="{_text(run.reason)}">{run.state}</span>'
        f"{f' {run.progress}' if run.progress else ''}{warnings}</td>",
    ]
    for dataset, figures in columns.items():
        cells.append(_cells(run, dataset, figures, levels[dataset]))
    cells += [
        f'<td class="lead" data-of="samples">{samples or "–"}</td>',
        f'<td data-value="{run.last_active_s:.0f}" title="{last_active}">'
        f"{last_active.partition(' UTC')[0]}</td>",
        f"<td>{' '.join(comparisons)}</td>",
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _comparison_link(comparison: ListedComparison) -> str:
    """Return the link to a comparison, marked where it shows what is no longer so."""
    link = f'<a href="{_link(f"{comparison.folder}/comparison.html")}">compared</a>'
    if not comparison.outdated:
        return link
    title = (
        f"older than the last scoring of {', '.join(comparison.outdated)}. To renew it, run "
        f"compare.py in this folder with these runs and --output {comparison.folder}"
    )
    return f'<span class="odd" title="{_text(title)}">{link} §</span>'


def _report_link(run: ListedRun, text: str) -> str:
    """Return a text that leads to the run's report, if it has one."""
    if not run.has_report:
        return _text(text)
    return f'<a href="{_link(f"{run.folder}/report/index.html")}">{_text(text)}</a>'


def _cells(run: ListedRun, dataset: str, figures: Sequence[str], level: str) -> str:
    """Return the cells of one data set: its figures, or why it has none."""
    noun = noun_of(level)
    lead = f'data-of="{_text(level or dataset)}"'
    if not run.figures(dataset):
        return _cell_without_figures(run, dataset, f'{lead} colspan="{len(figures)}"')
    reason = _why_earlier(run, dataset)
    signs = _signs(run.datasets.get(dataset, {}), is_earlier=bool(reason))
    mark = f"<i>{signs}</i>" if signs else ""
    how = _how_asked(run.datasets.get(dataset, {}))
    scored_by = run.datasets.get(dataset, {}).get("scored_by")
    cells: list[str] = []
    for figure in figures:
        attributes = "" if cells else f" {LEAD_CLASS} {lead}"
        cell = run.figures(dataset).get(figure)
        if not cell:
            cells.append(f'<td{attributes} title="">–</td>')
            continue
        interval = format_interval(cell)
        title = f"{cell.get('samples')} {noun}s, 95 % interval {interval or 'unknown'}"
        if rows := rows_note(run.datasets.get(dataset, {})):
            title += f", {rows} of the published files"
        if reason:
            title += f"; from an earlier scoring: {reason}"
        value = format_percent(cell["value"])
        bounds = f"<small>{interval}</small>" if interval else ""
        if how and not cells:
            bounds += f'<small class="odd">{_text(how)}</small>'
        if scored_by and not cells:
            bounds += f'<small class="scored-by">{_text(scored_by)}</small>'
        score = "" if cell["value"] is None else f' data-score="{cell["value"]}"'
        cells.append(f'<td{attributes}{score} title="{_text(title)}">{value}{mark}{bounds}</td>')
    return "".join(cells)


def _why_earlier(run: ListedRun, dataset: str) -> str:
    """The reason why figures are from an earlier scoring; "": they are of all that was answered."""
    is_missing = run.datasets.get(dataset, {}).get("missing")
    if dataset in run.stopped and not is_missing:  # else it may be what was answered
        return f"the last scoring stopped: {run.stopped[dataset].get('why')}"
    return "the log has grown since then" if dataset in run.unscored else ""


def _signs(entry: Mapping[str, Any], *, is_earlier: bool) -> str:
    """The signs behind each figure of a data set, as the page's legend explains them."""
    is_sample = data_kind(entry) == SAMPLE
    is_part = entry.get("partial") or is_sample or rows_note(entry) or _without_answer(entry)
    signs = "‡" if is_part else ""
    return f"{signs}§" if is_earlier else signs


def _how_asked(entry: Mapping[str, Any]) -> str:
    """The protocol where samples were not asked once each: `zoom ×3`."""
    repeats = f"×{entry['repeats']}" if entry.get("repeats") else ""
    circular = "circular" if entry.get("circular") else ""
    return " ".join(filter(None, [entry.get("protocol"), circular, repeats]))


def _cell_without_figures(run: ListedRun, dataset: str, attributes: str) -> str:
    """Return the one cell of a data set without figures, with the reason."""
    entry = run.datasets.get(dataset, {})
    failed, requests = failed_requests(entry)  # of rotations and turns, too
    text = "not scored" if entry else ""
    if dataset in run.stopped:
        reason = str(run.stopped[dataset].get("why"))
        text = f"stopped: {_text(cut(reason, LONGEST_REASON))}"
        attributes += f' title="{_text(reason)}"'
    elif 2 * failed > requests:
        text = f"{failed} of {requests} requests failed"
    elif entry.get("figures") == {}:
        text = _text(no_score_text(entry))
    return f'<td class="lead none" {attributes}>{text}</td>'


def _text(text: str) -> str:
    """Return a text in which a browser finds no markup, also within an attribute."""
    return escape("".join(char if char.isprintable() else "�" for char in text))


def _link(path: str) -> str:
    return escape(quote(path))


def checksum(text: str) -> str:
    """The hash of an inline style or script, as a page's security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
