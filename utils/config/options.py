"""The command line: what can be typed, and its help. `evaluate.run` takes the same options."""

# ruff: noqa: RUF009 - `_option` is a field

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from utils.errors import NOTHING_RUN, UserError, did_you_mean
from utils.images import chosen_folder

DEFAULT_WORK_DIR = "./outputs"
SEVERAL: dict[str, Any] = {"nargs": "+", "action": "extend"}

EXAMPLES = """\
examples:
  python evaluate.py --config configs/config_demo.json
      the embedded OCR baseline on the sample data (LMUData=sample_data)
  python evaluate.py --config configs/config_api_gpt.json --check
      everything short of a model call: config, functions, data, one prompt, number of requests
  python evaluate.py --config configs/config_api_gpt.json --limit 20 --api-nproc 16
      20 samples of each data set; score files end in _partial
  python evaluate.py --config configs/config_api_uitars.json --mode eval
      scores what is there, without a model

Interrupted or crashed? The same command queries only what is missing.
exit codes: 0 all done; 1 some sample or combination failed; 2 nothing was run; 130 interrupted
"""


def _number(text: str, least: int, *, whole: bool = True, otherwise: str = "") -> float:
    """What an option takes, for `argparse`."""
    wanted = f"a {'whole ' if whole else ''}number from {least} up{otherwise}"
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected {wanted}, got {text!r}") from None
    if not least <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected {wanted}, got {text}")
    return number


_positive = partial(_number, least=1)
not_negative = partial(_number, least=0)
_seconds = partial(_number, least=0, whole=False)


def _nproc(text: str) -> float | None:
    return None if text == "auto" else _number(text, 1, otherwise=" or auto")


def _option(
    default: Any, text: str, metavar: str = "", convert: Callable[[str], Any] = str, **how: Any
) -> Any:
    """A field, with what `add_argument` gets; without a metavar it is a switch."""
    if metavar:
        how |= {"metavar": metavar, "type": convert}
    elif not how:
        how = {"action": "store_false" if default else "store_true"}
    return field(default=default, metadata={"help": text, **how})


@dataclass(frozen=True, slots=True)
class Options:
    """The command line, typed; each field is an option (but for `arguments`: as they were typed).

    `outage_s` is `--outage`, and `report`, a switch that is on, `--no-report`.
    """

    config: Path = _option(Path(), "the run, as JSON with comments (required)", "FILE", Path)
    data: tuple[str, ...] = _option((), "only these data sets of the config", "NAME", **SEVERAL)
    model: tuple[str, ...] = _option((), "only these models of the config", "NAME", **SEVERAL)
    work_dir: Path = _option(Path("outputs"), "where results go (default: EVAL_WORK_DIR, else "
                             f"{DEFAULT_WORK_DIR})", "DIR", Path)  # fmt: skip
    mode: str = _option("all", "infer: query only; eval: score what is there, without a model",
                        choices=("all", "infer", "eval"))  # fmt: skip
    api_nproc: int | None = _option(4, "requests in flight (default 4), or auto", "N", _nproc)
    retry: int = _option(5, "retries for transient errors (default 5)", "N", not_negative)
    outage_s: float = _option(
        900.0, "how long a server may be unreachable during a run (default 900)", "S", _seconds
    )
    wait_for_server_s: float = _option(
        0.0, "how long to wait for a server that is still loading (default 0)", "S", _seconds
    )
    limit: int | None = _option(None, "N samples of each data set", "N", _positive)
    fresh: bool = _option(False, "query everything again, whatever is stored")
    reuse: bool = _option(False, "use stored answers that still fit (the default)")
    ignore: bool = _option(False, "do not query failed samples again")
    retry_refused: bool = _option(False, "query again what the server refused; answers stay")
    strict: bool = _option(False, "a bad sample stops the run before it starts")
    check: bool = _option(False, "everything short of a model call, then stop")
    ping: bool = _option(False, "with --check: also query each model once per data set")
    parity: Path | None = _option(
        None, "another config (or the same, with two --model): the same samples through both, "
        "compared, and why they differ", "FILE", Path,
    )  # fmt: skip
    report: bool = _option(True, "no report page beside the scores")
    embed_originals: bool = _option(False, "the report holds the images in full size too")
    verbose: bool = _option(False, "tracebacks of user functions, reasons by sample")
    arguments: tuple[str, ...] = ()


_OPTIONS = {each.name.removesuffix("_s"): each for each in fields(Options) if each.metadata}


def _conflict(o: Options) -> str | None:
    """Why two of the options do not go together."""
    conflicts = (
        (o.check and o.mode == "eval", "--check is about queries; --mode eval makes none"),
        (o.ping and not o.check, "--ping goes with --check"),
        (o.parity and (o.check or o.mode != "all"), "--parity does not go with --check or --mode"),
        (o.embed_originals and not o.report, "--embed-originals does not go with --no-report"),
        (o.fresh and o.reuse, "--fresh and --reuse exclude each other"),
    )
    return next((why for is_one, why in conflicts if is_one), None)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; the usage text would push it out of sight."""

    outcome = "Nothing was run."

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{self.prog}: {message}")

    def refuse(self, unknown: Sequence[str], *, has_config: bool) -> NoReturn:
        """Says what was probably meant by arguments that belong to no option."""
        names = [text.partition("=")[0] for text in unknown if text.startswith("-")]
        # Where there are options among them, the others are likely their values: maybe secret.
        wrong = [f"unknown option {n}{did_you_mean(n, self._option_string_actions)}" for n in names]
        wrong = wrong or [f"{text} belongs to no option" for text in unknown]
        if not names and not has_config:
            wrong[0] = f"{unknown[0]}: say --config {unknown[0]}"
        self.error("; ".join(wrong))


def parse_arguments(arguments: Sequence[str] | None = None) -> Options:
    """Reads the command line; exits with code 2 and one line if it is off."""
    try:
        return _options(list(map(str, sys.argv[1:] if arguments is None else arguments)))
    except UserError as error:
        sys.stderr.write(f"{error}; see --help. Nothing was run.\n")
        sys.exit(NOTHING_RUN)


def options_of(config: str | Path, given: Mapping[str, Any]) -> Options:
    """The options of a call of `evaluate.run`, checked as those of the command line are.

    Args:
        given: the command line's, `-` as `_`: texts and numbers, lists for `data` and `model`,
            True and False for a switch; None for the default.

    Raises:
        UserError: there is no such option, or its value does not fit.
    """
    known = sorted(set(_OPTIONS) - {"config", "check", "ping", "parity"})  # these bring no results
    typed = [f"--config={config}"]
    for name, value in given.items():
        if name not in known:
            hint = did_you_mean(name, known) or f"; there are {', '.join(known)}"
            raise UserError(f"run(): unknown option {name!r}{hint}")
        flag, is_on = _flag(name), _OPTIONS[name].default is True
        if isinstance(value, bool):
            typed += [flag] if value != is_on else []
        elif value is not None:
            values = value if isinstance(value, (list, tuple)) else [value]
            typed += [f"{flag}={each}" for each in values]
    return _options(typed)


def _flag(name: str) -> str:
    """`--work-dir`; of a switch that is on the opposite, `--no-report`."""
    no = "no-" if _OPTIONS[name].default is True else ""
    return f"--{no}{name.replace('_', '-')}"


def _options(typed: Sequence[str]) -> Options:
    parser = Parser(
        prog="evaluate.py",
        description="Measures how well a vision-language model understands graphical user "
        "interfaces (MMBench-GUI L1 and L2).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,  # --mod would silently mean --mode or --model
    )
    for name, option in _OPTIONS.items():
        parser.add_argument(_flag(name), dest=option.name, **option.metadata)
    compare = "instead of a run: finished runs side by side; see compare.py --help"
    parser.add_argument("--compare", nargs="+", metavar="RUN", help=compare)
    namespace, unknown = parser.parse_known_args(typed)
    given = vars(namespace)
    if unknown:
        parser.refuse(unknown, has_config="config" in given)
    if "config" not in given:
        parser.error("--config FILE is missing")
    by = "--work-dir" if "work_dir" in given else "EVAL_WORK_DIR"
    work_dir = given.get("work_dir") or os.environ.get("EVAL_WORK_DIR") or DEFAULT_WORK_DIR
    given |= {key: tuple(dict.fromkeys(given.get(key, ()))) for key in ("data", "model")}
    given |= {"work_dir": chosen_folder(work_dir, by=by), "arguments": tuple(typed)}
    options = Options(**given)
    if why := _conflict(options):
        parser.error(why)
    return options


def unknown_names(option: str, wanted: Sequence[str], known: Mapping[str, object]) -> list[str]:
    """Problems with names that `--model` or `--data` selects."""
    return [
        f"{option} {name}: not in the config{did_you_mean(name, list(known))}; "
        f"it has {', '.join(known) or 'none'}"
        for name in wanted
        if name not in known
    ]
