"""The command line of `compare.py`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from utils.comparing.comparison import Comparison, compare
from utils.comparing.csv_files import figures_csv, flips_csv
from utils.comparing.markdown import as_markdown
from utils.comparing.page import as_page
from utils.comparing.published import read_published
from utils.comparing.runs import read_runs
from utils.comparing.text import as_text
from utils.config.secret_filter import protect_output
from utils.errors import DONE, NOTHING_RUN, SOME_FAILED, UserError
from utils.images import chosen_folder

DEFAULT_OUTPUT = "./comparison"
FLIPS_ON_CONSOLE = 5
FORMATS = ("text", "markdown", "csv", "html")

Writer = Callable[[Comparison], str]
FILES: dict[str, dict[str, Writer]] = {
    "markdown": {"comparison.md": as_markdown},
    "csv": {"comparison.csv": figures_csv, "flips.csv": flips_csv},
    "html": {"comparison.html": as_page},
}

DESCRIPTION = """\
Puts finished runs side by side: leaderboards in the layout of the paper, paired differences on the
samples that both runs have, and the samples that one got right and the other missed.

A RUN is the folder of a run, the folder of a model (its newest run), or NAME=folder. The first one
is the baseline. Nothing is asked and no function of yours is run; what was scored is compared.
"""
EXAMPLES = """\
examples:
  python compare.py outputs/model-a outputs/model-b
  python compare.py old=outputs/m/T20260101_Gabc12345 new=outputs/m/T20260201_Gdef67890
  python compare.py outputs/my-model --published
      one's own scores above the published ones

exit codes: 0 compared; 1 compared, but not all files could be written; 2 nothing was compared
"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(NOTHING_RUN, f"compare.py: {message}; see --help. Nothing was compared.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compares, prints, writes; the exit code."""
    protect_output()  # names and replies may be of any script
    given = _parsed(arguments)
    try:
        output = _output(given)
        runs = read_runs(given.runs)
        published = read_published() if given.published else None
        found = compare(runs, all_pairs=given.all_pairs, published=published)
    except UserError as error:
        print("\n".join([*error.problems, "Nothing was compared."]), file=sys.stderr)
        return NOTHING_RUN
    print(as_text(found, flips=given.flips), end="")
    try:
        written = _write(found, output, given.format)
    except OSError as error:
        print(
            f"{error.filename or output}: cannot be written: {error.strerror or error}. The "
            f"comparison above stands; files are missing in --output {output}, name another folder",
            file=sys.stderr,
        )
        return SOME_FAILED
    if written:
        print(f"\nFiles: {', '.join(str(path) for path in written)}")
    return DONE


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog="compare.py",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("runs", nargs="+", metavar="RUN", help="folder of a run or of a model, or NAME=folder")
    add("--published", action="store_true", help="show the published results too, marked as such")
    add("--all-pairs", action="store_true", help="every pair of runs, not only with the first one")
    add("--format", nargs="+", choices=FORMATS, default=list(FORMATS), metavar="FORMAT",
        help=f"which files to write, of {', '.join(FORMATS)} (default all); text is always printed "
        "and has no file")  # fmt: skip
    add("--output", type=Path, metavar="DIR",
        help=f"where the files go (default {DEFAULT_OUTPUT})")  # fmt: skip
    add("--flips", type=_whole, default=FLIPS_ON_CONSOLE, metavar="N",
        help="how many flipped samples of each kind to print "
        f"(default {FLIPS_ON_CONSOLE})")  # fmt: skip
    given = parser.parse_args(arguments)
    if len(given.runs) == 1 and not given.published:
        parser.error("one run alone; name another one, or --published")
    return given


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text} is no whole number")
    return int(text)


def _output(given: argparse.Namespace) -> Path:
    """Where the files go.

    Raises:
        UserError: files are wanted, and none could be written there.
    """
    output = chosen_folder(given.output or DEFAULT_OUTPUT, by="--output")
    if not set(given.format) & set(FILES):
        return output
    if given.output:
        where, way_out = f"--output {given.output}: ", "name another folder"
    else:
        where = f"the files of the comparison go to {output}, which "
        way_out = "name another folder with --output DIR, or --format text for none"
    # os.path.exists takes a folder that may not be looked into for absent.
    candidates = (output, *output.absolute().parents)
    existing = next(path for path in candidates if os.path.exists(path))  # noqa: PTH110
    if not existing.is_dir():
        named = f"{existing} is" if given.output or existing != output else "is"
        raise UserError(f"{where}{named} a file; {way_out}")
    try:
        with tempfile.TemporaryFile(dir=existing):  # permission bits are no proof
            return output
    except OSError as error:
        raise UserError(
            f"{where}cannot be written ({error.strerror or error}); {way_out}"
        ) from None


def _write(comparison: Comparison, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Writes the files of the chosen formats, each under a temporary name until it is complete.

    Raises:
        OSError: one of them cannot be written.
    """
    chosen = [item for name, files in FILES.items() if name in formats for item in files.items()]
    written = []
    for name, make in chosen:
        # A reply may hold half a surrogate pair, which UTF-8 has no form for.
        data = make(comparison).encode("utf-8", "backslashreplace")
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f".{name}.tmp"
        try:
            temporary.write_bytes(data)
            written.append(temporary.replace(folder / name))
        finally:
            temporary.unlink(missing_ok=True)
    return written
