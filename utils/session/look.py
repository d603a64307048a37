"""`--look`: what a run comes to so far, whether it goes on, was stopped or has ended.

run folder → its logs as they are now, copied elsewhere → scored there with the run's own config
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, redirect_stdout, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from utils.config.options import Options, names_of_levels, unknown_names
from utils.contracts import question_of
from utils.engine.ranks import runs as ranks
from utils.errors import DONE, SOME_FAILED, UserError
from utils.geometry.images import expand_home
from utils.judging.judge import FOLDER as JUDGE
from utils.pages.all_runs import is_being_written, run_folders
from utils.protocol import ACTING, noun_of
from utils.scoring.console import duration, pace
from utils.session.evaluation import Evaluation
from utils.session.prepare import BenchmarkRoom, ModelRoom
from utils.session.result import Result
from utils.session.runner import finish_folders
from utils.session.score import rescore
from utils.session.so_far import LogOfRun, figures_of_folder, logged_evaluation, logs_in
from utils.store.folder import LOG_NAME, RANK_LOG, RunFolder, safe_name
from utils.store.index import LogIndex
from utils.store.log import RunLog
from utils.store.view import LogView
from utils.text import counted, format_share, local_time

MARK = ".look"  # in a folder of `--output`: copies, which the next look replaces
DERIVED = ("report", "export", "source", JUDGE)  # folders of a run that hold no screenshots
SILENT_S = 600.0  # a run that has written nothing for so long waits for something


def run_look(options: Options, benchmarks: BenchmarkRoom, models: ModelRoom) -> int:
    """Score what `--look` names as far as it has come; return the exit code.

    Raises:
        UserError: there is no such run, it has no such model or data set, or the folder of
            `--output` holds something else.
    """
    options = replace(options, data=names_of_levels(options.data, benchmarks.LEVELS))
    folders = _folders(options)
    logs = [log for folder in folders for log in logs_in(folder)]
    problems = [
        *unknown_names("--model", options.model, {log.model: None for log in logs}, "the run"),
        *unknown_names("--data", options.data, {log.dataset: None for log in logs}, "the run"),
    ]
    if problems:
        raise UserError(problems)
    if options.as_json:
        _print_json(folders, options, benchmarks, models)
        return DONE
    code = DONE
    with _copies(options, folders) as work_dir:
        for folder in folders:
            code = max(code, _look_at(folder, work_dir, options, benchmarks, models))
    return code


# -- which runs -----------------------------------------------------------------------------------


def _folders(options: Options) -> list[Path]:
    """The run folders to look at: what is named, or those of the newest command's models."""
    assert options.look is not None
    if options.look:
        path = expand_home(options.look)
        if not path.is_dir():
            raise UserError(f"--look {path}: there is no such folder")
        if logs_in(path):
            return [path]
        candidates = [entry for entry in path.glob("[TI]*") if not entry.is_symlink()]
        newest = _newest(candidates)
        if newest is not None:
            return [newest]
        raise UserError(
            f"--look {path}: holds no log of a run; expected <work-dir>/<model>/T<date>_G<commit>, "
            "or <work-dir>/<model> for its newest run"
        )
    if not options.work_dir.is_dir():
        raise UserError(f"--work-dir {options.work_dir}: there is no such folder, so no run")
    newest = _newest(run_folders(options.work_dir))
    if newest is None:
        raise UserError(f"--look: no log of a run below {options.work_dir}")
    return _of_one_command(newest, options.work_dir)


def _newest(folders: Iterator[Path] | Sequence[Path]) -> Path | None:
    """The folder whose log was written to last; None: none holds a log."""
    by_age = sorted(((_written_s(folder), folder) for folder in folders), reverse=True)
    return next((folder for written_s, folder in by_age if written_s and logs_in(folder)), None)


def _written_s(folder: Path) -> float:
    times = [0.0]
    for path in folder.glob("*.jsonl"):
        if LOG_NAME.fullmatch(path.name):
            with suppress(OSError):
                times.append(path.stat().st_mtime)
    return max(times)


def _of_one_command(newest: Path, work_dir: Path) -> list[Path]:
    """The newest folder of each model that the same command asks, in the order of the config."""
    begin = logs_in(newest)[0].begin
    config = begin.get("config") or {}
    folders: list[Path] = []
    for model in config.get("model") or {}:
        if model == begin["model"]:
            folders.append(newest)
            continue
        candidates = (work_dir / safe_name(model)).glob("T*")
        folder = _newest([folder for folder in candidates if not folder.is_symlink()])
        if folder is None:
            continue
        other = logs_in(folder)[0].begin
        if all(other.get(name) == begin.get(name) for name in ("arguments", "config_file")):
            folders.append(folder)
    return folders or [newest]


def _print_json(
    folders: Sequence[Path], options: Options, benchmarks: BenchmarkRoom, models: ModelRoom
) -> None:
    """Print what is known of the data sets of some run folders so far, as one JSON list."""
    runs: list[dict[str, Any]] = []
    with redirect_stdout(sys.stderr):  # what is said about configs
        for folder in folders:
            facts = figures_of_folder(folder, options, benchmarks, models)
            logs = logs_in(folder)
            runs.append({"model": logs[0].model, "folder": str(folder), "datasets": facts})
    print(json.dumps(runs, indent=1))


# -- copies ---------------------------------------------------------------------------------------


@contextmanager
def _copies(options: Options, folders: Sequence[Path]) -> Iterator[Path]:
    """A work-dir for copies: the folder of `--output`, else one that goes afterwards.

    Raises:
        UserError: the folder of `--output` is not one of earlier looks, and not empty.
    """
    if options.output is None:
        with tempfile.TemporaryDirectory(prefix="look-") as work_dir:
            yield Path(work_dir)
        return
    output = expand_home(options.output)
    is_used = output.exists() and (not output.is_dir() or any(output.iterdir()))
    if is_used and not (output / MARK).exists():
        raise UserError(
            f"--output {output}: holds something else than an earlier look; name a new folder"
        )
    if any(output.resolve().is_relative_to(folder.resolve()) for folder in folders):
        raise UserError(f"--output {output}: is in the folder of the run; name another one")
    try:
        output.mkdir(parents=True, exist_ok=True)
        (output / MARK).touch()
    except OSError as error:
        raise UserError(f"--output {output}: cannot be written ({error.strerror})") from None
    yield output


def _copy(folder: Path, home: Path, *, with_screens: bool) -> Path:
    """Copy the logs of a run as they are now into a folder of the same name; return that."""
    copy = home / folder.resolve().name
    for subfolder in (".", JUDGE):
        # Those of ranks first: when they are merged, the run's own log has what they held.
        paths = sorted(
            (folder / subfolder).glob("*.jsonl"),
            key=lambda path: RANK_LOG.fullmatch(path.name) is None,
        )
        for path in paths:
            is_rank_log = RANK_LOG.fullmatch(path.name) is not None
            is_log = subfolder == JUDGE or is_rank_log or bool(LogOfRun(path).runs)
            if is_log and not path.is_symlink():
                (copy / subfolder).mkdir(parents=True, exist_ok=True)
                with suppress(FileNotFoundError):  # the log of a rank goes when it is merged
                    shutil.copyfile(path, copy / subfolder / path.name)
    for entry in folder.iterdir() if with_screens else ():
        if entry.is_dir() and entry.name not in DERIVED and not entry.name.startswith("."):
            with suppress(FileExistsError):
                (copy / entry.name).symlink_to(entry.resolve(), target_is_directory=True)
    return copy


# -- scoring --------------------------------------------------------------------------------------


def _look_at(
    folder: Path, work_dir: Path, options: Options, benchmarks: BenchmarkRoom, models: ModelRoom
) -> int:
    """Score one run folder in a copy, and print what came of it; return the exit code."""
    logs = [
        log
        for log in logs_in(folder)
        if (not options.data or log.dataset in options.data)
        and (not options.model or log.model in options.model)
    ]
    if not logs:
        return DONE
    written_s = _written_s(folder)
    is_running = any(is_being_written(log.path, written_s) for log in logs_in(folder))
    copy = _copy(folder, work_dir / safe_name(logs[0].model), with_screens=bool(options.output))
    print(f'\nmodel "{logs[0].model}": {folder}')
    copy_options = replace(options, work_dir=work_dir, output=None)
    evaluations = [
        logged_evaluation(
            LogOfRun(copy / log.path.name), copy_options, benchmarks, models, log.config
        )
        for log in logs
    ]
    with ExitStack() as stack:
        outcomes = [
            outcome
            for evaluation in evaluations
            for outcome in _scored(
                evaluation, RunFolder(evaluation.name, copy), written_s, is_running=is_running
            )
        ]
        if outcomes and options.output is not None:
            stack.enter_context(RunFolder(logs[0].model, copy).scoring())
            finish_folders(copy_options, evaluations, outcomes, is_only_model=False)
    return SOME_FAILED if any(outcome.problems for outcome in outcomes) else DONE


def _scored(
    evaluation: Evaluation, copy: RunFolder, written_s: float, *, is_running: bool
) -> list[Result]:
    """Score one data set of a copy, and print how far it has come; nothing without an answer."""
    path = copy.log(evaluation.dataset)
    with closing(RunLog(path)) as log:
        ranks.adopt(copy, evaluation.dataset, log)
    with closing(LogView(path)) as view:
        answered = len(view.covered) - view.missing
        text = _progress_text(evaluation, view, path, written_s, is_running=is_running)
        print(f"{evaluation.dataset}: {text}")
    if not answered:
        return []
    with ExitStack() as locks:
        return rescore([evaluation], locks, copy.path.resolve() if copy.is_imported else None)


def _progress_text(
    evaluation: Evaluation, view: LogView, path: Path, written_s: float, *, is_running: bool
) -> str:
    """The progress of the newest run of a log, in words.

    Args:
        evaluation: the model and the data set.
        view: of the log.
        path: of the log.
        written_s: when the run last wrote, seconds since 1970.
        is_running: a process is writing to the logs of the run.
    """
    samples = len(view.covered)
    answered = samples - view.missing
    level, repeats = evaluation.benchmark.level, view.repeats
    # Of several answers to each question, those are counted that have all.
    noun = noun_of(level)
    if repeats > 1:
        noun = "task" if level in ACTING else "question"
    share = format_share(answered, samples or 1)
    text = f"{answered} of {counted(samples, noun)} ({share} %)"
    if repeats > 1:
        text += f" with all {repeats} answers"
    if view.end:
        return f"{text}; ended {local_time(str(view.end.get('ended_at')))}"
    silent_s = max(0.0, time.time() - written_s)
    last_answer = f"last answer {duration(silent_s)} ago"
    if not is_running:
        return f"{text}; stopped, {last_answer}: the same command continues from there"
    new = [answer for answer in LogIndex(path).answers if answer.seq == view.run.get("seq")]
    if not new:
        return f"{text}; not begun: this run has no answer to it yet"
    text += f"; running, {last_answer}"
    if silent_s > SILENT_S:
        return f"{text}: it waits"
    times = [datetime.fromisoformat(answer.asked_at) for answer in new if answer.asked_at]
    took_s = written_s - min(times).timestamp() if times else 0.0
    done = len({question_of(answer.key) for answer in new})
    return text + pace(done, took_s, view.missing)
