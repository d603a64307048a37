"""The command line: what can be typed, and its help. `evaluate.run` takes the same options."""

# ruff: noqa: RUF009 - `_option` is a field

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from utils.coordinates import Frame
from utils.errors import UserError
from utils.geometry.images import expand_home
from utils.program import EVALUATE
from utils.text import did_you_mean, listed

PROGRAM = EVALUATE.removeprefix("python ")
CALL = "run()"  # how messages name a call from Python, and a config that it holds
NOT_FROM_PYTHON = (
    *("check", "ping", "parity", "compare", "runs", "recipes", "version"),
    *("import_path", "as_name", "import_order", "duplicates", "anyway"),
    *("export", "output", "imported_too", "task_id", "look", "as_json"),
)
OF_IMPORTS = ("as_name", "format", "frame", "import_order", "duplicates")
"""Fields of options that are about `--import`."""
OF_EXPORTS = ("imported_too", "task_id")
"""Fields of options that are about `--export`."""
WITH_EXPORTS = (*OF_EXPORTS, "export", "output", "data", "anyway", "quiet", "verbose", "work_dir")
WITH_LOOK = ("look", "output", "as_json", "work_dir", "data", "model", "quiet", "verbose")
"""Fields of options that go with `--look`."""
NOT_OF_IMPORTS = (
    *("fresh", "limit", "parity", "ping", "retry_judge", "retry_refused", "ignore"),
    *("endpoint", "checkpoint", "model_glob", "log_to", "run_folder"),
)
GROUPS = {
    "config": "What to run",
    "endpoint": "Without a config",
    "mode": "Steps of a run",
    "api_nproc": "Speed and failures",
    "reuse": "Stored answers",
    "report": "Output",
    "import_path": "Instead of a run: score the answers of another program (docs/exchange.md)",
    "export": "Instead of a run: hand results on (docs/exporting.md)",
    "parity": "Instead of a run",
}
"""Headings of `--help`, by the field of the first option below each."""
TRACKERS = ("wandb", "mlflow", "tensorboard")
FLAGS = {"report": "--no-report", "import_path": "--import", "as_name": "--as", "as_json": "--json"}
SEVERAL: dict[str, Any] = {"nargs": "+", "action": "extend"}

EXAMPLES = f"""\
examples:
  {EVALUATE} --config configs/config_api_gpt.json --check
      checks config, functions, data and images; shows a prompt and counts the requests
  {EVALUATE} --config configs/config_api_gpt.json --limit 20 --api-nproc 16
      runs 20 samples of each data set; the names of the score files end in _partial
  {EVALUATE} --recipe qwen3_vl --endpoint http://127.0.0.1:8000/v1 --data NAME
      runs without a config file; --print-config prints the config of such a run

Interrupted or crashed? The same command queries only the missing samples.

exit codes:
  0    all done
  1    a sample, model or data set failed
  2    nothing was run
  130  interrupted
"""


def not_negative(text: str, least: int = 0, kind: Callable[[str], float] = int) -> float:
    """Return a number that an option takes; for `argparse`."""
    with suppress(ValueError):
        number = kind(text)
        if least <= number < float("inf"):
            return number
    number_kind = "whole number" if kind is int else "number"
    raise argparse.ArgumentTypeError(f"expected a {number_kind} of at least {least}, got {text!r}")


def _nproc(text: str) -> float | None:
    return None if text == "auto" else not_negative(text, 1)


_positive = partial(not_negative, least=1)
_seconds = partial(not_negative, kind=float)


def _option(
    default: Any,
    text: str,
    metavar: str | tuple[str, ...] = "",
    convert: Callable[[str], Any] = str,
    **how: Any,
) -> Any:
    """Return a field with what `add_argument` gets; without a metavar it is a switch."""
    if metavar:
        how |= {"metavar": metavar, "type": convert}
    elif not how:
        how = {"action": "store_false" if default else "store_true"}
    return field(default=default, metadata={"help": text, **how})


@dataclass(frozen=True, slots=True)
class Options:
    """Each field is an option: `outage_s` is `--outage`; `report`, which is on, `--no-report`."""

    config: Path = _option(
        Path(),
        "file that describes the run: JSON with comments (or: --endpoint, --checkpoint)",
        "FILE",
        Path,
    )
    data: tuple[str, ...] = _option(
        (), "run these data sets (default: all of the config)", "NAME", **SEVERAL
    )
    model: tuple[str, ...] = _option(
        (), "run these models (default: all of the config)", "NAME", **SEVERAL
    )
    model_glob: str | None = _option(
        None,
        "run every checkpoint folder that matches, with the settings of the config's model",
        "PATTERN",
    )
    only: tuple[str, ...] = _option(
        (), "run only rows with these labels, such as platform=os_web", "GROUPING=LABEL", **SEVERAL
    )
    limit: int | None = _option(None, "run only N samples of each data set", "N", _positive)
    seeds_from: str | None = _option(
        None, "live tasks: use four seeds made from TEXT instead of the seeds of the config", "TEXT"
    )
    set: tuple[str, ...] = _option(
        (),
        "change the config for this run, such as model.x.generate_cfg.temperature=0.2",
        "KEY=VALUE",
        **SEVERAL,
    )
    work_dir: Path = _option(
        Path("outputs"),
        "folder for the results (default: EVAL_WORK_DIR, else ./outputs)",
        "DIR",
        Path,
    )
    endpoint: str | None = _option(None, "address of a server", "URL")
    name: str | None = _option(None, "with --endpoint: name of the model on the server", "NAME")
    checkpoint: str | None = _option(None, "checkpoint: a folder, or org/name on the hub", "PATH")
    vllm: bool = _option(False, "with --checkpoint: serve the checkpoint with vLLM")
    recipe: str | None = _option(
        None,
        "recipe of the model family (default: by the model's name); "
        "with --import: recipe that reads the replies",
        "NAME",
    )
    print_config: bool = _option(False, "print the config of this command, then stop")
    mode: str = _option(
        "all",
        "all: query and score (default); infer: only query; eval: only score",
        choices=("all", "infer", "eval"),
    )
    run_folder: Path | None = _option(
        None, "with --mode eval: score this run folder (default: the newest)", "FOLDER", Path
    )
    check: bool = _option(
        False, "check config, functions, data and images, then stop; no request is sent"
    )
    ping: bool = _option(False, "with --check: also send one request for each model and data set")
    strict: bool = _option(
        False, "do not start the run if a sample is bad (default: leave that sample out)"
    )
    api_nproc: int | None = _option(
        4, "requests in flight at each server: a number (default 4) or auto", "N", _nproc
    )
    worlds: int | None = _option(
        None, "live episodes in parallel (default: by the number of cores)", "N", _positive
    )
    retry: int = _option(5, "retries after a transient error (default 5)", "N", not_negative)
    outage_s: float = _option(
        900.0, "seconds to wait for a server that stopped answering (default 900)", "S", _seconds
    )
    wait_for_server_s: float = _option(
        0.0, "seconds to wait for a server that is still loading (default 0)", "S", _seconds
    )
    reuse: bool = _option(False, "reuse stored answers to unchanged requests (the default)")
    fresh: bool = _option(False, "query all samples again; reuse no stored answer")
    ignore: bool = _option(False, "do not query failed samples again")
    retry_refused: bool = _option(False, "query refused samples again; stored answers are kept")
    retry_server: tuple[str, ...] = _option(
        (),
        "query again the samples that this server answered (host or host:port)",
        "HOST",
        **SEVERAL,
    )
    retry_judge: bool = _option(
        False, "query the judge again about all replies; the model's answers are kept"
    )
    report: bool = _option(True, "write no report page")
    small_images: bool = _option(False, "put small copies of the images into the report")
    doubtful: Path | None = _option(
        None,
        "with --mode eval: a second figure without the rows of this file, which "
        "compare.py --headroom writes (doubtful_rows.json)",
        "FILE",
        Path,
    )
    log_to: tuple[str, ...] = _option(
        (),
        "also send the figures to a tracker, during the run and after it: "
        "wandb, mlflow or tensorboard (docs/results.md)",
        "TRACKER",
        choices=TRACKERS,
        **SEVERAL,
    )
    verbose: bool = _option(
        False, "show tracebacks of user functions, and the error of each sample"
    )
    quiet: bool = _option(False, "print only warnings and problems")
    import_path: Path | None = _option(
        None,
        "file or folder with the answers",
        "FILE",
        Path,
    )
    as_name: str = _option("", "with --import: name of the model that gave the answers", "NAME")
    format: str = _option(
        "",
        "with --import: format of the answers, or dotted path of a function that reads them",
        "NAME",
    )
    frame: str = _option(
        "",
        "with --import: unit of the coordinates: fractions, pixels, per_mille or another "
        "(docs/exchange.md)",
        "UNIT",
        choices=tuple(frame.value for frame in Frame),
    )
    import_order: Path | None = _option(
        None, "with --import: file with the sample ids, in the order of the rows", "FILE", Path
    )
    duplicates: str = _option(
        "",
        "with --import: answer to score if a sample has two different ones",
        choices=("first", "last"),
    )
    anyway: bool = _option(
        False,
        "with --import: score even if many rows have another instruction than their sample; "
        "with --export: export a figure even if an audit doubts it",
    )
    export: tuple[str, ...] = _option(
        (),
        "write the finished run RUN in the form of another tool",
        ("FORM", "RUN"),
        nargs=2,
    )
    output: Path | None = _option(
        None,
        "with --export: file to write (default: in the run folder); with --look: folder to write",
        "FILE",
        Path,
    )
    imported_too: bool = _option(
        False, "with --export: export imported answers, too; the file marks them as imported"
    )
    task_id: str = _option("", "with --export: id of the leaderboard's task on the hub", "ID")
    parity: Path | None = _option(
        None,
        "run this config and another one (or two --model of one), and show where they differ",
        "FILE",
        Path,
    )
    runs: bool = _option(False, "write the list of all runs in the work-dir again")
    look: str | None = _option(
        None,
        "show the figures so far of a run in progress (default: the newest run)",
        "RUN",
        nargs="?",
        const="",
    )
    as_json: bool = _option(False, "with --look: print figures and counts as JSON")
    arguments: tuple[str, ...] = ()  # as they were typed
    content: str | None = None  # JSON that stands for the config file
    from_python: bool = field(default=False, compare=False)  # a caller gets problems as an error

    @property
    def is_typed(self) -> bool:
        """Whether --endpoint or --checkpoint replaces a config file."""
        return self.endpoint is not None or self.checkpoint is not None

    @property
    def config_text(self) -> bytes:
        """The content of the config file."""
        return self.config.read_bytes() if self.content is None else self.content.encode()

    @property
    def to_go_on(self) -> str:
        """The advice on continuing a stopped run; with `--fresh` it would begin again."""
        command = "the same command without --fresh" if self.fresh else "the same command"
        return f"{command} continues from here"


class UsageError(UserError):
    """A command line that cannot be read; one line says what is wrong and how to get help."""


class HelpShown(Exception):
    """`--help` was printed, so there is nothing left to do."""


class OneLineParser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage text, and never ends the process."""

    def error(self, message: str) -> NoReturn:
        """Raise the error for the caller to print."""
        raise UserError(f"{self.prog}: {message}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End reading after `--help` was printed."""
        raise HelpShown


def parse_arguments(arguments: Sequence[str]) -> Options:
    """The options of a command line.

    Raises:
        UsageError: it is off.
        HelpShown: it asked for help, which has been printed.
    """
    try:
        values = _typed_values(arguments)
        if not values.keys() & {
            "config",
            "endpoint",
            "checkpoint",
            "runs",
            "import_path",
            "export",
            "look",
        }:
            raise UserError(
                f"{PROGRAM}: --config FILE is missing (or --endpoint URL, --checkpoint PATH)"
            )
        return _checked(PROGRAM, values, arguments=tuple(arguments))
    except UserError as error:
        raise UsageError(f"{error}; see --help. Nothing was run.") from None


def options_of(config: str | Path | Mapping[str, Any], keywords: Mapping[str, Any]) -> Options:
    """The options of a call of `evaluate.run`, checked as those of the command line are.

    Args:
        config: the file, or what such a file would hold.
        keywords: options with `_` for `-`: texts and numbers, lists for `data` and `model`, True
            and False for a switch; None for the default.

    Raises:
        UserError: an option is off.
    """
    content = None
    if isinstance(config, Mapping):
        content, config = _as_json(config), CALL
    values: dict[str, Any] = {"config": Path(config)}
    typed = [f"--config={config}"]
    option_by_name = {option.name.removesuffix("_s"): option for option in fields(Options)}
    for name, value in keywords.items():
        if name in NOT_FROM_PYTHON:
            raise UserError(f"{CALL}: {name} returns no results; use it on the command line")
        if name in ("endpoint", "name", "checkpoint", "vllm", "recipe", "print_config"):
            raise UserError(
                f"{CALL}: {name} is no option here; set the model in the config (a file or a dict)"
            )
        if name not in option_by_name or not option_by_name[name].metadata:
            options = [name for name, option in option_by_name.items() if option.metadata]
            raise UserError(f"{CALL}: unknown option {name}{did_you_mean(name, options)}")
        if value is not None:
            values[option_by_name[name].name] = _converted(option_by_name[name], name, value)
            typed += _as_typed(option_by_name[name], value)
    return _checked(CALL, values, arguments=tuple(typed), content=content, from_python=True)


def _converted(option: Field[Any], name: str, value: Any) -> Any:
    """A value given in Python, as the command line would have it."""
    what = f"{CALL}: {name}={value!r}"
    settings = option.metadata
    if "type" not in settings and "choices" not in settings and "nargs" not in settings:
        if isinstance(value, bool):
            return value
        raise UserError(f"{what}: {name} must be True or False")
    if isinstance(value, bool):
        raise UserError(f"{what}: {name} takes a value, or None for its default")
    values = value if isinstance(value, (list, tuple)) else [value]
    if any(one not in settings.get("choices", values) for one in values):
        raise UserError(f"{what}: must be one of {listed(settings['choices'])}")
    if "nargs" in settings:
        return tuple(map(str, values))
    try:
        return settings.get("type", str)(str(value))
    except argparse.ArgumentTypeError as error:
        raise UserError(f"{what}: {error}") from None


def _as_typed(option: Field[Any], value: Any) -> list[str]:
    """The arguments of a command line that stand for a value given in Python."""
    flag = _flag(option.name.removesuffix("_s"))
    if isinstance(value, bool):
        return [flag] if value is not option.default else []
    items = value if isinstance(value, (list, tuple)) else [value]
    return [f"{flag}={item}" for item in items]


def _as_json(config: Mapping[str, Any]) -> str:
    try:
        return json.dumps(config, default=os.fspath)
    except (TypeError, ValueError) as error:
        raise UserError(f"{CALL}: the config must hold only what JSON can hold: {error}") from None


def _flag(name: str) -> str:
    return FLAGS.get(name, f"--{name.replace('_', '-')}")


def _typed_values(typed: Sequence[str]) -> dict[str, Any]:
    """The options of a command line by field, without those that were left out."""
    parser = OneLineParser(
        prog=PROGRAM,
        usage=f"{PROGRAM} --config FILE [options]",
        description="Measures how well a vision-language model understands graphical user "
        "interfaces (MMBench-GUI and others).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,  # --mod would silently mean --mode or --model
    )
    flags = {
        _flag(option.name.removesuffix("_s")): option
        for option in fields(Options)
        if option.metadata
    }
    group: argparse._ActionsContainer = parser
    for flag, option in flags.items():
        if option.name in GROUPS:
            group = parser.add_argument_group(GROUPS[option.name])
        group.add_argument(flag, dest=option.name, **option.metadata)
    group.add_argument("--version", action="store_true", help="print the version")
    group.add_argument(
        "--recipes",
        nargs="*",
        metavar="NAME",
        help="list the recipes of model families, or show the named ones in full",
    )
    group.add_argument(
        "--compare",
        nargs="+",
        metavar="RUN",
        help="compare finished runs; see compare.py --help",
    )
    namespace, unknown = parser.parse_known_args(typed)
    if names := [text.partition("=")[0] for text in unknown if text.startswith("-")]:
        # The others are likely their values, which may be secret.
        problems = [f"unknown option {name}{did_you_mean(name, flags)}" for name in names]
        parser.error("; ".join(problems))
    if unknown:
        parser.error(
            f"{unknown[0]}: does not belong to any option; name a config with --config FILE"
        )
    return vars(namespace)


def _host_of(server: str) -> str:
    """The `host:port` of a server, as answers have it, from that or from an address."""
    return server.rpartition("://")[2].partition("/")[0].rpartition("@")[2].lower()


def _checked(program: str, values: Mapping[str, Any], **more: Any) -> Options:
    """The options with these values, by field; `more` is what nobody types.

    Raises:
        UserError: two of them do not go together.
    """
    work_dir = values.get("work_dir") or os.environ.get("EVAL_WORK_DIR") or "outputs"
    if values.get("run_folder") is not None:  # <work-dir>/<model>/T<date>_G<commit>
        values = {**values, "run_folder": expand_home(values["run_folder"]).resolve()}
        work_dir = values["run_folder"].parent.parent
    lists = {
        key: tuple(dict.fromkeys(values.get(key, ())))
        for key in ("data", "model", "retry_server", "log_to")
    }
    lists["retry_server"] = tuple(map(_host_of, lists["retry_server"]))
    changes = tuple(values.get("set", ()))
    only = tuple(values.get("only", ()))
    options = Options(
        **{
            **values,
            **lists,
            **more,
            "set": changes,
            "only": only,
            "work_dir": expand_home(work_dir),
        }
    )
    problems = [
        *_typed_problems(options),
        (
            options.check and options.mode == "eval",
            "--check cannot be combined with --mode eval, which sends no requests",
        ),
        (options.ping and not options.check, "--ping needs --check"),
        (
            options.parity and (options.check or options.mode != "all"),
            "--parity cannot be combined with --check or --mode",
        ),
        (
            options.small_images and not options.report,
            "--small-images cannot be combined with --no-report",
        ),
        (options.quiet and options.verbose, "--quiet and --verbose cannot be combined"),
        (options.fresh and options.reuse, "--fresh and --reuse cannot be combined"),
        (
            options.retry_judge and (options.check or options.mode != "all"),
            "--retry-judge cannot be combined with --check or --mode, which query no judge",
        ),
        (
            options.doubtful is not None and options.mode != "eval",
            "--doubtful works only with --mode eval",
        ),
        (
            options.run_folder is not None and options.mode != "eval",
            "--run-folder works only with --mode eval",
        ),
        (
            options.run_folder is not None and "work_dir" in values,
            "--run-folder cannot be combined with --work-dir, because it lies in one",
        ),
        *_wrong_with_import(options),
        *_wrong_with_export(options),
        *_wrong_with_look(options),
    ]
    for is_wrong, why in problems:
        if is_wrong:
            raise UserError(f"{program}: {why}")
    return options


def _typed_problems(options: Options) -> list[tuple[bool, str]]:
    """Checks of the options of a run without a config file: whether violated, and the message."""
    has_file = options.config != Path() and not options.is_typed
    return [
        (
            options.config != Path() and options.is_typed,
            "--config cannot be combined with --endpoint or --checkpoint: choose one of the three",
        ),
        (
            options.endpoint is not None and options.checkpoint is not None,
            "--endpoint and --checkpoint cannot be combined",
        ),
        (options.name is not None and options.endpoint is None, "--name needs --endpoint"),
        (options.vllm and options.checkpoint is None, "--vllm needs --checkpoint"),
        (
            options.is_typed and not options.data,
            "--data NAME is missing: name a data set (docs/config.md lists them)",
        ),
        (options.is_typed and options.parity is not None, "--parity needs --config"),
        (
            has_file and options.recipe is not None and options.import_path is None,
            '--recipe cannot be combined with --config; set "recipe" in the model\'s entry',
        ),
        (has_file and options.print_config, "--print-config needs --endpoint or --checkpoint"),
    ]


def _options_set(options: Options) -> Iterator[tuple[str, str]]:
    """Yield the field and the flag of each option of the command line that is not its default."""
    for option in fields(Options):
        if option.metadata and getattr(options, option.name) != option.default:
            yield option.name, _flag(option.name.removesuffix("_s"))


def _wrong_with_import(options: Options) -> Iterator[tuple[bool, str]]:
    """Yield what does not go with `--import`, and what goes with it alone; and whether it is so."""
    is_import = options.import_path is not None
    for name, flag in _options_set(options):
        if name in OF_IMPORTS:
            yield not is_import, f"{flag} works only with --import"
        elif name in NOT_OF_IMPORTS:
            yield is_import, f"{flag} cannot be combined with --import, which queries no model"
    yield is_import and options.mode == "infer", "--mode infer cannot be combined with --import"
    has_both = bool(options.recipe) and bool(options.config.name)
    why = '--recipe cannot be combined with --import --config; set "recipe" in the model\'s entry'
    yield has_both, why


def _wrong_with_export(options: Options) -> Iterator[tuple[bool, str]]:
    """Yield what does not go with `--export`, and what goes with it alone; and whether it is so."""
    is_export = bool(options.export)
    for name, flag in _options_set(options):
        if name in OF_EXPORTS:
            yield not is_export, f"{flag} works only with --export"
        elif name not in WITH_EXPORTS:
            yield is_export, f"{flag} cannot be combined with --export, which runs nothing"
    is_output_alone = options.output is not None and not is_export and options.look is None
    yield is_output_alone, "--output works only with --export or --look"
    is_alone = not is_export and options.import_path is None
    yield options.anyway and is_alone, "--anyway works only with --import or --export"


def _wrong_with_look(options: Options) -> Iterator[tuple[bool, str]]:
    """Yield what does not go with `--look`, and whether it is so."""
    yield options.as_json and options.look is None, "--json works only with --look"
    is_json_to_file = options.as_json and options.output is not None
    yield is_json_to_file, "--output cannot be combined with --json, which writes no file"
    for name, flag in _options_set(options) if options.look is not None else ():
        yield (
            name not in WITH_LOOK,
            f"{flag} cannot be combined with --look, which queries no model",
        )


def names_of_levels(requested: Sequence[str], levels: Mapping[str, str]) -> tuple[str, ...]:
    """Return data sets by their full names where `--data` named a level.

    Args:
        requested: what `--data` says.
        levels: full names of data sets by their levels.
    """
    return tuple(levels.get(name.upper(), name) for name in requested)


def unknown_names(
    option: str,
    requested: Sequence[str],
    defined: Mapping[str, object],
    place: str = "the config",
) -> list[str]:
    """Return names that a config lacks; of one without any at all that is said elsewhere.

    Args:
        option: that names them.
        requested: the names.
        defined: the names that there are.
        place: that has them, in words.
    """
    has = f"{place} has {', '.join(defined)}"
    return [
        f"{option} {name}: not in {place}{did_you_mean(name, defined)}; {has}"
        for name in requested
        if defined and name not in defined
    ]
