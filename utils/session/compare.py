"""The command line of `compare.py`, and the comparison that a run of several models ends with."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from utils.comparing import headroom, training
from utils.comparing.files import figures_csv, flips_csv, wide_csv
from utils.comparing.headroom import Headroom
from utils.comparing.pairing import Comparison, compare
from utils.comparing.runs import ComparedRun, read_runs, without_work_dirs
from utils.comparing.tables import as_latex, as_markdown, with_columns
from utils.comparing.why import explain
from utils.comparing.words import as_text, closing_text
from utils.config.options import HelpShown, OneLineParser, not_negative
from utils.config.secret_filter import protect_output
from utils.datasets.published import read_published
from utils.errors import DONE, INTERRUPTED, NOTHING_RUN, SOME_FAILED, UserError, one_line_reason
from utils.geometry.images import expand_home
from utils.pages.all_runs import runs_compared
from utils.pages.by_step import write_by_step
from utils.pages.comparison import write_page
from utils.pages.portable import ZIP
from utils.program import COMPARE
from utils.scoring.sheets import write_json, write_text
from utils.starting import imports_are_done
from utils.store.folder import COMPARISONS, INDEX, safe_name, work_dir_problems
from utils.text import file_uri, printable

PARTIAL = "_partial"  # ends the folder of a comparison, as the names of partial files
FORMATS = ("text", "csv", "html")
PAPER = {"markdown": ("comparison.md", as_markdown), "latex": ("comparison.tex", as_latex)}
TABLES = {
    "comparison.csv": figures_csv,
    "comparison_wide.csv": wide_csv,
    "flips.csv": flips_csv,
}

DESCRIPTION = """\
Compares finished runs: their scores, the paired differences on common samples, and the samples that
only one of two runs got right. It uses the stored scores: it sends no request and runs none of your
functions. The first RUN is the baseline.

A RUN is one of these:
  the folder of a run
  the folder of a model: its newest run with all samples
  a work-dir: all models in it
  NAME=folder: a run or a model, under this name
"""
EXAMPLES = f"""\
examples:
  {COMPARE} outputs/model-a outputs/model-b
  {COMPARE} old=outputs/m/T20260101_Gabc12345 new=outputs/m/T20260201_Gdef67890
  {COMPARE} outputs/my-model --published
      shows your scores and published ones in the same table
  {COMPARE} outputs/local outputs/served --why
      shows for each sample what differs first: messages, image, settings, reply, ...
  {COMPARE} outputs --headroom
      shows the rows that all strong runs get right or miss, and doubtful rows
  {COMPARE} outputs --by-step
      shows the official figures of checkpoints over the steps of their training

exit codes:
  0    compared
  1    compared, but not all files could be written
  2    nothing was compared
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare runs, print and write the comparison; return the exit code."""
    imports_are_done()
    protect_output()  # names and replies may be of any script
    try:
        return _compare(arguments)
    except KeyboardInterrupt:
        print("Interrupted. Files may be missing: the same command writes them all.")
        return INTERRUPTED


def _compare(arguments: Sequence[str] | None) -> int:
    try:
        options = _parsed(arguments)
        if not options.runs:
            raise UserError(f"{COMPARE}: name the folders of two runs or more")
        output = expand_home(options.output)
        if options.by_step:
            return _over_steps(options, output)
        comparison, notes = _compared(options, output)
    except HelpShown:
        return DONE
    except UserError as error:
        for problem in [*error.problems, "Nothing was compared."]:
            print(printable(problem), file=sys.stderr)
        return NOTHING_RUN
    for note in notes:
        print(printable(note))
    print(as_text(comparison, flips=options.flips), end="")
    headrooms = headroom.headrooms_of(comparison.runs) if options.headroom else None
    if headrooms is not None:
        print(headroom.as_text(headrooms))
    try:
        _write_files(comparison, options, output, headrooms)
    except UserError as error:
        missing = f"files are missing in --output {output} ({error.__cause__})"
        print(f"The comparison above stands; {missing}; name another folder", file=sys.stderr)
        return SOME_FAILED
    return DONE


def _compared(options: argparse.Namespace, output: Path) -> tuple[Comparison, list[str]]:
    """Return the comparison that a command line asks for, and notes on what it leaves out.

    Raises:
        UserError: it cannot be made, or not be written.
    """
    problems = work_dir_problems(output, option="--output")
    if problems and set(options.format) != {"text"}:
        raise UserError(f"{problems[0]}, or none with --format text")
    if options.small_images and "html" not in options.format:
        raise UserError("--small-images needs the page: leave --format out, or add html")
    if options.columns and not set(options.format) & set(PAPER):
        raise UserError("--columns needs tables for papers: add --format markdown latex")
    paths, notes = without_work_dirs(options.runs)
    if len(paths) < 2 and not options.published:
        raise UserError(["only one run was named; name another one, or use --published", *notes])
    runs = read_runs(paths)
    published = read_published() if options.published else None
    comparison = compare(runs, all_pairs=options.all_pairs, published=published)
    with_columns(comparison.boards, options.columns)
    return comparison, notes


def _over_steps(options: argparse.Namespace, output: Path) -> int:
    """Print the figures of checkpoints over their steps, and write them as a table and a page.

    Raises:
        UserError: there are none, or an option does not go with them.
    """
    for name in (
        "published",
        "why",
        "headroom",
        "all_pairs",
        "intervals",
        "columns",
        "small_images",
    ):
        if getattr(options, name):
            raise UserError(f"--by-step cannot be combined with --{name.replace('_', '-')}")
    formats = set(options.format)
    if other := formats & set(PAPER):
        raise UserError(f"--by-step cannot be combined with --format {' '.join(sorted(other))}")
    problems = work_dir_problems(output, option="--output")
    if problems and formats != {"text"}:
        raise UserError(f"{problems[0]}, or none with --format text")
    checkpoints = training.read_training(options.runs)
    print(training.as_text(checkpoints), end="")
    if "csv" in formats:
        print(f"Table: {write_text(output / 'by_step.csv', training.as_csv(checkpoints))}")
    if "html" in formats:
        print(f"Page: {file_uri(write_by_step(checkpoints, output))}")
    return DONE


def _write_files(
    comparison: Comparison,
    options: argparse.Namespace,
    output: Path,
    headrooms: Sequence[Headroom] | None,
) -> None:
    """Write the files of a comparison, and print why the runs differ if that was asked for.

    Raises:
        UserError: a file cannot be written.
    """
    runs = comparison.runs
    replaced_runs = _other_runs_in(output, runs)
    if replaced_runs and set(options.format) != {"text"}:
        print(
            f"\n{output}: this comparison replaces the one of {' and '.join(replaced_runs)}. "
            "To keep several, name another folder with --output DIR"
        )
    files = _write_tables(comparison, options, output)
    if headrooms is not None and "csv" in options.format:
        files.append(output / headroom.FILE)
        write_json(files[-1], headroom.file_content(headrooms))
        wrong = headroom.wrong_in_all_csv(headrooms)
        files.append(write_text(output / headroom.WRONG_FILE, wrong))
    if options.why:
        for a, b in combinations(runs, 2):
            if options.all_pairs or a is runs[0]:
                explain(a, b, output if "csv" in options.format else None)
    if files:
        print(f"\nFiles: {', '.join(map(str, files))}")
    if "html" in options.format:
        page = write_page(
            comparison, output, small_images=options.small_images, headrooms=headrooms or ()
        )
        if options.small_images:
            archive = output / ZIP
            print(f"To send around: {archive} ({archive.stat().st_size / 1e6:.1f} MB)")
        print(f"Comparison: {file_uri(page)}")


def _write_tables(comparison: Comparison, options: argparse.Namespace, output: Path) -> list[Path]:
    """Write the tables that were asked for, and return their files."""
    files: list[Path] = []
    if "csv" in options.format:
        for name, make in TABLES.items():
            files.append(write_text(output / name, make(comparison)))
    for name, (file, make_table) in PAPER.items():
        if name in options.format:
            text = make_table(comparison, intervals=options.intervals, columns=options.columns)
            files.append(write_text(output / file, text))
    return files


def compare_after_run(
    folders: Sequence[Path], work_dir: Path, *, has_page: bool, is_part: bool
) -> None:
    """Print the scores of all models of a run, and their differences from the first one.

    All results are there already, so a failure here is one line of warning.

    Args:
        folders: of the runs.
        work_dir: gets the page.
        has_page: whether there is to be one.
        is_part: the scores above are of a part (`--limit`, `--only`).
    """
    try:
        runs = read_runs(folders)
        comparison = compare(runs)
        if is_part and any(not scored.is_partial for run in runs for scored in run.sets.values()):
            print(
                "\nThe scores above are of a part (--limit, --only). The comparison is of all "
                "samples of these runs:"
            )
        print(f"\n{closing_text(comparison)}")
        if has_page:
            page = write_page(comparison, work_dir / COMPARISONS / _folder_name(runs))
            print(f"All runs: {file_uri(work_dir / INDEX)}")
            print(f"Comparison: {file_uri(page)}")
    except Exception as error:  # noqa: BLE001  whatever it is, it may not cost the exit code
        print(f"warning: the models were not compared: {printable(one_line_reason(error))}")


def _folder_name(runs: Sequence[ComparedRun]) -> str:
    """Return the name of the comparison's folder; partial runs never replace whole ones."""
    name = safe_name("_vs_".join(run.model for run in runs))
    is_partial = any(scored.is_partial for run in runs for scored in run.sets.values())
    return name + PARTIAL if is_partial else name


def _other_runs_in(output: Path, runs: Sequence[ComparedRun]) -> list[str]:
    """Return the runs that a comparison in the folder is of; none where it is of these."""
    folders = [(output / folder).resolve() for folder in runs_compared(output, output)]
    if set(folders) == {run.path.resolve() for run in runs}:
        return []
    return ["/".join(folder.parts[-2:]) for folder in folders]


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = OneLineParser(
        prog=COMPARE.removeprefix("python "),
        description=DESCRIPTION,
        epilog=EXAMPLES,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "runs",
        nargs="*",
        metavar="RUN",
        help="folder of a run or of a model, work-dir, or NAME=folder",
    )
    add("--published", action="store_true", help="also show published results, marked as such")
    add("--why", action="store_true", help="also show why the runs differ, for each sample")
    add(
        "--headroom",
        action="store_true",
        help="also show rows that all strong runs get right or miss, and doubtful rows",
    )
    add(
        "--by-step",
        action="store_true",
        help="show figures of checkpoints over the steps of their training, instead of pairs",
    )
    add(
        "--all-pairs",
        action="store_true",
        help="compare every pair of runs, not only each run with the first",
    )
    add(
        "--format",
        nargs="+",
        choices=(*FORMATS, *PAPER),
        default=list(FORMATS),
        metavar="FORMAT",
        help=(
            f"files to write (default {' '.join(FORMATS)}; {' '.join(PAPER)} are tables for "
            "papers); text is always printed and has no file"
        ),
    )
    add("--intervals", action="store_true", help="tables for papers: show 95 %% intervals")
    add(
        "--columns",
        nargs="+",
        default=[],
        metavar="NAME",
        help=(
            "tables for papers: columns to show, in this order (average Web); a table with none of "
            "them is left out"
        ),
    )
    add(
        "--small-images",
        action="store_true",
        help="put small copies of the images into the page, and pack it as a zip to send around",
    )
    add(
        "--output",
        type=Path,
        default=Path("./comparison"),
        metavar="DIR",
        help="folder for the files (default ./comparison)",
    )
    add(
        "--flips",
        type=not_negative,
        default=5,
        metavar="N",
        help="flipped samples of each kind to print (default 5)",
    )
    return parser.parse_args(arguments)
