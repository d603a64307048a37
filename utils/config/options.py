"""The command line: what can be typed, and its help."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from utils.config.environment import chosen_folder
from utils.errors import NOTHING_RUN, UserError, did_you_mean

DEFAULT_WORK_DIR = "./outputs"

EXAMPLES = """\
examples:
  python evaluate.py --config configs/config_demo.json
      the embedded OCR baseline on the sample data (LMUData=sample_data)
  python evaluate.py --config configs/config_api_gpt.json --check
      everything short of a model call: config, functions, data, one prompt, number of requests
  python evaluate.py --config configs/config_api_gpt.json --limit 20 --api-nproc 16
      the first 20 samples of each data set; score files end in _partial
  python evaluate.py --config configs/config_local_uitars.json --data GUIElementGrounding
      one of the data sets of the config
  python evaluate.py --config configs/config_api_uitars.json --mode eval
      scores what is there, without a model

Interrupted or crashed? The same command asks only what is missing.
exit codes: 0 all done; 1 some sample or combination failed; 2 nothing was run; 130 interrupted
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The command line, typed; see `--help` for what each one does."""

    config: Path
    data: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    work_dir: Path = Path(DEFAULT_WORK_DIR)
    mode: str = "all"
    api_nproc: int | None = 4  # None: as many as the server takes
    retry: int = 5
    outage_s: float = 900.0
    wait_for_server_s: float = 0.0
    limit: int | None = None
    fresh: bool = False
    ignore: bool = False
    retry_refused: bool = False
    strict: bool = False
    check: bool = False
    ping: bool = False
    verbose: bool = False
    report: bool = True
    embed_originals: bool = False
    parity: Path | None = None
    arguments: tuple[str, ...] = ()  # as they were typed


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; the usage text would push it out of sight."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{self.prog}: {message}")

    def refuse(self, unknown: Sequence[str], *, has_config: bool) -> NoReturn:
        """Says what was probably meant by arguments that belong to no option.

        Raises:
            UserError: always.
        """
        names = [text.partition("=")[0] for text in unknown if text.startswith("-")]
        if names:  # the others are likely their values, which may be secret
            known = list(self._option_string_actions)
            self.error("; ".join(f"unknown option {n}{did_you_mean(n, known)}" for n in names))
        told = [f"{text} belongs to no option" for text in unknown]
        if not has_config:
            told[0] = f"{unknown[0]}: say --config {unknown[0]}"
        self.error("; ".join(told))


def parse_arguments(arguments: Sequence[str] | None = None) -> Options:
    """Reads the command line; exits with code 2 and one line if it is off."""
    try:
        return read_arguments(sys.argv[1:] if arguments is None else arguments)
    except UserError as error:
        sys.stderr.write(f"{error}; see --help. Nothing was run.\n")
        sys.exit(NOTHING_RUN)


def read_arguments(arguments: Sequence[str]) -> Options:
    """The options that some arguments stand for.

    Raises:
        UserError: one of them is off.
    """
    parser = _Parser(
        prog="evaluate.py",
        description="Measures how well a vision-language model understands graphical user "
        "interfaces (MMBench-GUI L1 and L2).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # --mod would silently mean --mode or --model
    )
    add = parser.add_argument
    add("--config", type=Path, metavar="FILE", help="the run, as JSON with comments (required)")
    add(
        "--data",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="only these data sets of the config",
    )
    add(
        "--model",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="only these models of the config",
    )
    add("--work-dir", type=Path, metavar="DIR",
        help=f"where results go (default: EVAL_WORK_DIR, else {DEFAULT_WORK_DIR})")  # fmt: skip
    add("--mode", choices=("all", "infer", "eval"), default="all",
        help="infer: ask only; eval: score what is there, without a model")  # fmt: skip
    add("--api-nproc", type=_nproc, default=4, metavar="N",
        help="requests in flight at once (default 4), or auto")  # fmt: skip
    add("--retry", type=_not_negative, default=5, metavar="N",
        help="attempts after the first for a failure in passing (default 5)")  # fmt: skip
    add("--outage", type=_seconds, default=900.0, metavar="S",
        help="how long a server may be away in the middle of a run (default 900)")  # fmt: skip
    add("--wait-for-server", type=_seconds, default=0.0, metavar="S",
        help="how long to wait for a server that is still loading (default 0)")  # fmt: skip
    add("--limit", type=_positive, metavar="N", help="the first N samples of each data set")
    add("--fresh", action="store_true", help="ask everything again, whatever is stored")
    add("--reuse", action="store_true", help="use stored answers that still fit (the default)")
    add("--ignore", action="store_true", help="do not ask failed samples again")
    add("--retry-refused", action="store_true",
        help="ask again what the server refused; answers stay")  # fmt: skip
    add("--strict", action="store_true", help="a bad sample stops the run before it starts")
    add("--check", action="store_true", help="everything short of a model call, then stop")
    add("--ping", action="store_true",
        help="with --check: also ask each model one question per data set")  # fmt: skip
    add("--parity", type=Path, metavar="FILE",
        help="another config (or the same, with two --model): the same samples through both, "
        "compared, and why they differ")  # fmt: skip
    add("--no-report", action="store_true", help="no report page beside the scores")
    add("--embed-originals", action="store_true",
        help="the report holds the pictures in full size, not only view images")  # fmt: skip
    add("--verbose", action="store_true", help="tracebacks of user functions, reasons by sample")
    add("--compare", nargs="+", metavar="RUN",
        help="instead of a run: finished runs side by side; see compare.py --help")  # fmt: skip
    given, unknown = parser.parse_known_args(arguments)
    if unknown:
        parser.refuse(unknown, has_config=given.config is not None)
    if given.config is None:
        parser.error("--config FILE is missing")
    if given.check and given.mode == "eval":
        parser.error("--check looks at what would be asked; --mode eval asks nothing")
    if given.ping and not given.check:
        parser.error("--ping goes with --check")
    if given.parity and (given.check or given.mode != "all"):
        parser.error("--parity asks and scores; it does not go with --check or --mode")
    if given.no_report and given.embed_originals:
        parser.error("--embed-originals is about the report, which --no-report leaves out")
    if given.fresh and given.reuse:
        parser.error("--fresh and --reuse exclude each other")
    if given.work_dir is not None:
        work_dir = chosen_folder(given.work_dir, by="--work-dir")
    else:
        default = os.environ.get("EVAL_WORK_DIR") or DEFAULT_WORK_DIR
        work_dir = chosen_folder(default, by="EVAL_WORK_DIR")
    return Options(
        config=given.config,
        data=tuple(dict.fromkeys(given.data)),
        model=tuple(dict.fromkeys(given.model)),
        work_dir=work_dir,
        mode=given.mode,
        api_nproc=given.api_nproc,
        retry=given.retry,
        outage_s=given.outage,
        wait_for_server_s=given.wait_for_server,
        limit=given.limit,
        fresh=given.fresh,
        ignore=given.ignore,
        retry_refused=given.retry_refused,
        strict=given.strict,
        check=given.check,
        ping=given.ping,
        verbose=given.verbose,
        report=not given.no_report,
        embed_originals=given.embed_originals,
        parity=given.parity,
        arguments=tuple(map(str, arguments)),
    )


def unknown_names(option: str, wanted: Sequence[str], known: Mapping[str, object]) -> list[str]:
    """Problems with names that `--model` or `--data` selects."""
    return [
        f"{option} {name}: not in the config{did_you_mean(name, list(known))}; "
        f"it has {', '.join(known) or 'none'}"
        for name in wanted
        if name not in known
    ]


def _positive(text: str) -> int:
    return int(_number(text, 1, whole=True))


def _not_negative(text: str) -> int:
    return int(_number(text, 0, whole=True))


def _seconds(text: str) -> float:
    return _number(text, 0, whole=False)


def _nproc(text: str) -> int | None:
    return None if text == "auto" else int(_number(text, 1, whole=True, otherwise=" or auto"))


def _number(text: str, least: int, *, whole: bool, otherwise: str = "") -> float:
    wanted = f"a {'whole ' if whole else ''}number from {least} up{otherwise}"
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected {wanted}, got {text!r}") from None
    if not least <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected {wanted}, got {text}")
    return number
