"""The two ways to start a run: the command line, and a call from Python."""

from __future__ import annotations

import errno
import os
import shlex
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from utils.config.environment import load_dotenv_files
from utils.config.options import PROGRAM, HelpShown, Options, UsageError, parse_arguments
from utils.config.secret_filter import protect_output, quieten
from utils.engine.engine import Interrupted
from utils.engine.interrupt import end_like_ctrl_c
from utils.engine.ranks.group import Rank, rank_of, slurm_rank_of
from utils.engine.ranks.runs import rank_0_speaks, speak_of_errors_only
from utils.errors import DONE, INTERRUPTED, NOTHING_RUN, SOME_FAILED, UserError, problem_report
from utils.pages.all_runs import RUNNING, listed_runs, with_figures_so_far, write_index
from utils.program import EVALUATE
from utils.session.parity import plans_of, run_and_compare
from utils.session.plan import Plan
from utils.session.prepare import BenchmarkRoom, ModelRoom, prepare
from utils.session.runner import folders_with_answers, run_plan
from utils.starting import NOT_STARTED, imports_are_done
from utils.store.folder import drop_dead_links
from utils.store.load import RunResults, results_written
from utils.store.provenance import version_text
from utils.text import counted, file_uri

HOW_TO_DELETE = """\
To delete a run, delete its folder. The answers stored in it are lost; other runs keep theirs. Then
list the runs again:
  rm -r {folder}
  {evaluate} --runs --work-dir {work_dir}"""


def run_command(arguments: Sequence[str], benchmarks: BenchmarkRoom, models: ModelRoom) -> int:
    """Run the command line of `evaluate.py` and return its exit code."""
    imports_are_done()
    protect_output()
    rank: Rank | None = None
    try:
        with _long_names_as_problems():
            code = _run_nothing(arguments, models)
            if code is not None:
                return code
            load_dotenv_files()
            options = parse_arguments(arguments)
            code = _ask_nothing(options, benchmarks, models)
            if code is not None:
                return code
            rank = _begin(options)
            if rank is not None and not rank.slurm_step and _is_silent(options, rank):
                return DONE
            plans = _plans(options, benchmarks, models, rank)
    except HelpShown:
        return DONE
    except UsageError as error:
        print(error, file=sys.stderr)
        return NOTHING_RUN
    except UserError as error:
        if not rank_0_speaks(rank):
            print(problem_report(error.problems), file=sys.stderr)
        return NOTHING_RUN
    except KeyboardInterrupt:
        print(NOT_STARTED)
        return INTERRUPTED
    return _run(options, plans)


@contextmanager
def _long_names_as_problems() -> Iterator[None]:
    """Raise a UserError where the name of a file is longer than the file system allows."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        start = str(error.filename)[:80]
        raise UserError(f"{start}...: the name of a file or folder is too long") from None


def _is_silent(options: Options, rank: Rank) -> bool:
    """Whether a rank has nothing to do. Of the others, only rank 0 prints more than errors."""
    if rank.leads:
        return False
    if options.check or options.mode == "eval":
        return True
    speak_of_errors_only(rank)
    return False


def _run_nothing(arguments: Sequence[str], models: ModelRoom) -> int | None:
    """Do what needs no config and return the exit code; None: it is something else."""
    compared = [text.removeprefix("--compare=") for text in arguments if text != "--compare"]
    if compared != [*arguments]:
        return _compare(compared)
    if "--recipes" in arguments:
        return _show_recipes([text for text in arguments if text != "--recipes"], models)
    if "--version" in arguments:
        print(version_text())
        return DONE
    return None


def _ask_nothing(options: Options, benchmarks: BenchmarkRoom, models: ModelRoom) -> int | None:
    """Do what makes no request and return the exit code; None: it is something else.

    That is to list runs, look at one, export one, or import answers.

    Raises:
        UserError: that cannot be done.
    """
    if options.runs:
        return _list_runs(options, benchmarks, models)
    if options.look is not None:
        from utils.session.look import run_look  # a run has no use for it

        _begin(options)
        return run_look(options, benchmarks, models)
    if options.export:
        from utils.session.exporting import run_export  # a run has no use for it

        _begin(options)
        return run_export(options)
    if options.import_path is None:
        return None
    from utils.session.importing import run_import  # a run has no use for it

    _begin(options)
    return run_import(options, benchmarks, models)


def _show_recipes(names: Sequence[str], models: ModelRoom) -> int:
    """Print the table of all recipes, or all about those that are named."""
    try:
        if options := [name for name in names if name.startswith("-")]:
            raise UserError(f"{options[0]}: --recipes takes names of recipes and no other option")
        lines = models.recipe_lines(names)
    except UserError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return NOTHING_RUN
    print("\n".join(lines))
    return DONE


def _plans(
    options: Options, benchmarks: BenchmarkRoom, models: ModelRoom, rank: Rank | None
) -> list[Plan]:
    """The plans of a run; none where the config that the command stands for was only printed."""
    if options.is_typed:
        from utils.session.typed import config_to_print, with_typed_config  # of such runs alone

        options, notes = with_typed_config(options, benchmarks.LEVELS, models)
        for note in notes:  # what is printed is to be a config and nothing else
            print(note, file=sys.stderr if options.print_config else sys.stdout)
        if options.print_config:
            print(config_to_print(options, benchmarks.LEVELS))
            return []
    return plans_of(options, benchmarks, models, rank)


def _begin(options: Options) -> Rank | None:
    """Set up what this process prints and how it is interrupted; return its rank, if it has one."""
    if options.quiet:
        quieten()
    end_like_ctrl_c()
    return rank_of(os.environ) or slurm_rank_of(os.environ)


def _list_runs(options: Options, benchmarks: BenchmarkRoom, models: ModelRoom) -> int:
    """Write the list of all runs of a work-dir anew, and say how to delete one.

    Of runs that are going on it has the figures so far.

    Raises:
        UserError: there is no such folder, or it cannot be written.
    """
    work_dir = options.work_dir
    if not work_dir.is_dir():
        raise UserError(f"--work-dir {work_dir}: there is no such folder, so there are no runs")
    dead = drop_dead_links(work_dir)
    if dead:
        print(f"{counted(dead, 'link')} into deleted runs removed")
    runs = listed_runs(work_dir)
    so_far = {
        run.folder: _figures_so_far(work_dir / run.folder, options, benchmarks, models)
        for run in runs
        if run.state == RUNNING
    }
    for run in with_figures_so_far(runs, so_far):
        origin = f"  ({run.origin})" if run.origin else ""
        progress = f"  ({run.progress})" if run.progress else ""
        print(f"{run.state:<8} {work_dir / run.folder}{origin}{progress}")
    print(f"{counted(len(runs), 'run')}: {file_uri(write_index(work_dir, so_far))}")
    folder = work_dir / "MODEL" / "T20260101_Gab12cd34"
    print(
        HOW_TO_DELETE.format(
            evaluate=EVALUATE,
            folder=shlex.quote(str(folder)),
            work_dir=shlex.quote(str(work_dir)),
        )
    )
    return DONE


def _figures_so_far(
    folder: Path, options: Options, benchmarks: BenchmarkRoom, models: ModelRoom
) -> Mapping[str, Mapping[str, Any]]:
    from utils.session.so_far import figures_of_folder  # for runs that are going on alone

    return figures_of_folder(folder, options, benchmarks, models)


def _compare(arguments: Sequence[str]) -> int:
    from utils.session.compare import main as compare

    if os.environ.get("RANK", "0") != "0":  # under torchrun one comparison is enough
        return DONE
    return compare(arguments)


def _run(options: Options, plans: Sequence[Plan]) -> int:
    if not plans:
        return DONE
    rank = plans[0].rank
    if rank is not None and rank.slurm_step and _is_silent(options, rank):
        return DONE
    try:
        if options.check:
            from utils.session.checks.command import check  # a run has no use for it

            return check(plans[0])
        if len(plans) > 1:
            return run_and_compare(plans)
        code, _ = run_plan(plans[0])
        return code
    except (Interrupted, KeyboardInterrupt):
        advice = "There is no answer yet: the same command begins again."
        if any(folders_with_answers(plan) for plan in plans):
            advice = f"All answers are kept: {options.to_go_on}; --mode eval scores them."
        print(f"Interrupted. {advice}")
        return INTERRUPTED
    except UserError as error:
        print(problem_report(error.problems, ran=not options.check), file=sys.stderr)
        return NOTHING_RUN if options.check else SOME_FAILED


def run_for_caller(
    options: Options, benchmarks: BenchmarkRoom, models: ModelRoom
) -> list[RunResults]:
    """Run a config for a caller in Python; see `evaluate.run`."""
    if options.quiet:
        quieten()
    plan = prepare(options, benchmarks, models)
    _, outcomes = run_plan(plan)
    folders = list(
        dict.fromkeys(outcome.folder for outcome in outcomes if outcome.folder is not None)
    )
    problems = [problem for outcome in outcomes for problem in outcome.problems]
    if problems:  # all else was written and can be loaded
        if answer_folders := folders_with_answers(plan):
            problems.append(f"All answers are kept: {', '.join(map(str, answer_folders))}")
        raise UserError(problems)
    results = []
    for folder in folders:
        scored = [
            outcome.dataset
            for outcome in outcomes
            if outcome.is_scored and outcome.folder == folder
        ]
        results.append(results_written(folder.path, folder.model, scored))
    return results


@contextmanager
def errors_for_callers() -> Iterator[None]:
    """Take secrets out of errors; streams and hooks are the caller's again afterwards."""
    before = (sys.stdout, sys.stderr, sys.excepthook, threading.excepthook)
    try:
        with _long_names_as_problems():
            yield
    except UserError as error:
        clean = getattr(sys.stderr, "clean", str)
        raise type(error)([clean(problem) for problem in error.problems]) from None
    finally:
        sys.stdout, sys.stderr, sys.excepthook, threading.excepthook = before
