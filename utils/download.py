"""Fetch the published data set and lay it out as the evaluation expects it.

    LMUData=/data python utils/download.py

Two annotation files and one zip with the pictures come from the Hugging Face hub, are compared
with the sums of the published files, and end in `<LMUData>/MMBench-GUI`. The same command goes on
after any interruption and does nothing where everything is there. What is under way, and a receipt
of what was done, lie in `MMBench-GUI/.download`.

Exit codes: 0 all there; 1 all there, but the annotations name pictures that are missing; 2 an
error; 130 interrupted.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parent.parent
if __package__ in (None, ""):
    # Run as a script, Python puts `utils` itself in front, where `errors` or `config` would hide
    # packages of the same name; what belongs there is the project root.
    sys.path[:] = [str(PROJECT_ROOT), *(e for e in sys.path if e != str(PROJECT_ROOT / "utils"))]

if __name__ == "__main__":  # ahead of the imports that would end in a traceback
    from utils.errors import stop_unless_ready

    stop_unless_ready("dotenv", "filelock", "huggingface_hub", "tqdm", program="utils/download.py")

from utils.config.environment import at_home, chosen_folder, load_dotenv_files
from utils.dataset.hub import DEFAULT_REVISION
from utils.dataset.inventory import take_inventory
from utils.dataset.steps import (
    L1_NAME,
    L2_NAME,
    PUBLISHED_MD5,
    REPO_ID,
    SET_FOLDER,
    ZIP_NAME,
    Download,
    Order,
    only_one,
    say,
    say_aside,
)
from utils.errors import UserError
from utils.images import data_root
from utils.scoring.streams import outlive_readers

DOWNLOAD_COMMAND = "LMUData=<folder> python utils/download.py"

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_WRITING = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)


def published_or(sums: Path | None) -> Mapping[str, str]:
    """The MD5 sums to compare with: those of the published files, or those in a JSON file."""
    if sums is None:
        return PUBLISHED_MD5
    given = json.loads(sums.read_text(encoding="utf-8"))
    say_aside(f"note: compared with the sums in {sums}, not with those of the published files")
    return {name: str(given[name]) for name in PUBLISHED_MD5}


def chosen_data_root(option: str | None) -> Path:
    """The option, else LMUData, else `~/LMUData`; absolute.

    Raises:
        UserError: it lies in the home of nobody.
    """
    if option:
        return chosen_folder(option, by="--data-root").absolute()
    return data_root().absolute()


def explained(problem: OSError, home: Path) -> str:
    """A failed file operation as one message."""
    where = problem.filename or home
    if problem.errno in _NO_ROOM:
        return (
            f"{where}: no room left ({problem.strerror}). Make room and run the same command again;"
            " it goes on from there."
        )
    if problem.errno in _NO_WRITING:
        return (
            f"{where}: cannot be written ({problem.strerror}). Choose another folder with LMUData"
            " or --data-root."
        )
    return (
        f"{where}: {problem.strerror or problem}. Run the same command again once this is mended."
    )


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python utils/download.py",
        description=f"Fetch the data set {REPO_ID} from the Hugging Face hub, check it and unpack"
        f" it into <LMUData>/{SET_FOLDER}. Run it again after an interruption: it goes on.",
        epilog="HF_ENDPOINT (a mirror), HF_TOKEN and proxy variables work as in huggingface_hub."
        f" Without network, put {L1_NAME}, {L2_NAME} and {ZIP_NAME} into <LMUData>/{SET_FOLDER}"
        " by hand and run this to unpack them.",
    )
    parser.add_argument(
        "--data-root", metavar="FOLDER", help="instead of LMUData (default: ~/LMUData)"
    )
    parser.add_argument(
        "--revision", default=DEFAULT_REVISION, help="branch, tag or commit (default: %(default)s)"
    )
    parser.add_argument(
        "--accept-changed",
        action="store_true",
        help="take annotation files that differ from the published ones",
    )
    parser.add_argument(
        "--keep-zip",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="keep the zip once it is unpacked (default: remove it, unless you put it there)",
    )
    # For the tests, whose small files have other sums. An option and no variable: a forgotten
    # variable or a stray .env could switch the check off unseen, an option is typed and reported.
    parser.add_argument("--sums", type=Path, help=argparse.SUPPRESS)
    return parser


def obey(order: Order) -> int:
    """Bring the data set and say what is there; the exit code."""
    download = Download(order)
    if download.is_done():
        download.warn_about_zip()
        say("Everything is there already; nothing was fetched.")
    else:
        say(f"{REPO_ID} → {order.home}")
        with only_one(order.work):
            Download(order).run()
    inventory = take_inventory(order.images, order.home / L1_NAME, order.home / L2_NAME)
    say("\n".join(["", str(order.home), *inventory.lines()]))
    elsewhere = os.environ.get("IMAGE_ROOT_DIR")
    if elsewhere and at_home(elsewhere).is_dir():
        say(f"Note: IMAGE_ROOT_DIR is set: pictures will be read from {elsewhere} instead.")
    root = shlex.quote(str(order.data_root))
    command = "python evaluate.py --config configs/config_api_gpt.json --check"
    say(f"\nNext: LMUData={root} {command}")
    return 1 if inventory.missing else 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command line.

    Args:
        argv: arguments without the program's name; those of the process if None.
    """
    outlive_readers()
    options = arguments().parse_args(argv)
    home = Path(SET_FOLDER)
    try:
        load_dotenv_files()
        order = Order(
            data_root=chosen_data_root(options.data_root),
            revision=options.revision,
            accept_changed=options.accept_changed,
            keep_zip=options.keep_zip,
            md5=published_or(options.sums),
        )
        home = order.home
        return obey(order)
    except UserError as mistake:
        for problem in mistake.problems:
            say_aside(f"error: {problem}")
        return 2
    except OSError as problem:
        say_aside(f"error: {explained(problem, home)}")
        return 2
    except KeyboardInterrupt:
        say_aside(
            "\nStopped. What has arrived is kept; run the same command again,"
            " it goes on from there."
        )
        return 130


if __name__ == "__main__":
    sys.exit(main())
