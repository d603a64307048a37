"""The command line of `compare.py`."""

from __future__ import annotations

import argparse
import sys
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
from utils.errors import UserError
from utils.exit_codes import DONE, NOTHING_RUN
from utils.streams import outlive_readers

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

exit codes: 0 compared; 2 nothing was compared
"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(NOTHING_RUN, f"compare.py: {message}; see --help. Nothing was compared.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compares, prints, writes; the exit code."""
    outlive_readers()  # names and replies may be of any script
    given = _parsed(arguments)
    try:
        runs = read_runs(given.runs)
        published = read_published() if given.published else None
        found = compare(runs, all_pairs=given.all_pairs, published=published)
        print(as_text(found, flips=given.flips), end="")
        written = _write(found, given.output, given.format)
    except UserError as error:
        print("\n".join([*error.problems, "Nothing was compared."]), file=sys.stderr)
        return NOTHING_RUN
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
    add("--output", type=Path, default=Path(DEFAULT_OUTPUT), metavar="DIR",
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


def _write(comparison: Comparison, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Writes the files of the chosen formats.

    Raises:
        UserError: the folder cannot be written.
    """
    chosen = [item for name, files in FILES.items() if name in formats for item in files.items()]
    written = []
    try:
        for name, make in chosen:
            text = make(comparison)
            folder.mkdir(parents=True, exist_ok=True)
            # A reply may hold half a surrogate pair, which UTF-8 has no form for.
            data = text.encode("utf-8", "backslashreplace")
            temporary = folder / f".{name}.tmp"
            temporary.write_bytes(data)
            written.append(temporary.replace(folder / name))
    except OSError as error:
        raise UserError(
            f"--output {folder}: cannot be written: {error.strerror or error}; name another folder"
        ) from None
    return written
