"""The config file of a run: its typed form, and everything that can be wrong with it.

`read_config` never stops at the first problem. Each problem is one line,
`<config path as given>: <key path>: <what is wrong>`, and nothing heavy is imported to find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from utils.config import rules
from utils.config.endpoint import is_nearly_url, is_url, parse_endpoint
from utils.config.rules import Finding, kind_of
from utils.config.schema import IMP_TYPES, DataEntry, ModelEntry, RunConfig, validate
from utils.config.secret_filter import SecretFilter, mask_config
from utils.config.text import ConfigTextError, PlainConfig, key_path, read_plain
from utils.errors import UserError, did_you_mean, listed
from utils.functions.signatures import FunctionRef, Kind
from utils.import_utils import path_problem

__all__ = [
    "ConfigReading", "DataEntry", "FunctionRef", "ModelEntry", "RunConfig", "read_config",
    "redacted_dump",
]  # fmt: skip

T = TypeVar("T")
L1_NAME = "GUIContentUnderstanding"
SERVERS = ("openai", "vllm")  # imp_types that are asked through an API
L1_KEYS = ("match_mode", "circular")


@dataclass
class ConfigReading:
    """What came of reading a config.

    Attributes:
        config: the typed config; None if there are problems.
        models, data: every entry that the file names; None for one with problems of its own.
        problems: one line each, in file order.
        warnings: one line each.
        function_refs: the functions it names, also where other parts have problems.
        texts: key path and text of each string value, `${NAME}` still in it; for `secrets_in`.
    """

    config: RunConfig | None = None
    models: dict[str, ModelEntry | None] = field(default_factory=dict)
    data: dict[str, DataEntry | None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    function_refs: list[FunctionRef] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list, repr=False)


def read_config(
    path: Path,
    *,
    datasets: Mapping[str, Sequence[str]],
    planned: Mapping[str, str],
    environ: Mapping[str, str],
) -> ConfigReading:
    """Reads a config file and finds everything that is wrong with it.

    Args:
        path: the file, as the user gave it; problems begin with it.
        datasets: known data sets and their modes.
        planned: data sets that are known but not available yet, each with a sentence that says so.
        environ: the environment, `.env` included; replaces `${NAME}`.
    """
    reading = ConfigReading()
    try:
        plain = read_plain(_read_text(path), environ)
    except (UserError, ConfigTextError) as error:
        reading.problems.append(f"{path}: {error}")
        return reading
    reading.texts = plain.texts
    reading.problems += [f"{path}: {problem}" for problem in plain.problems]
    reader = _Reader(path, plain, datasets, planned, reading)
    reader.read()
    return reading


def redacted_dump(config: RunConfig, secret_filter: SecretFilter) -> dict[str, Any]:
    """The config as plain data for records and manifests, without secrets."""
    # Masked by its place too: a key such as "test" is too common for the filter.
    dump = mask_config(config.model_dump(mode="json"))
    return secret_filter.clean_object(dump)  # type: ignore[no-any-return]


def _read_text(path: Path) -> str:
    """The file's text.

    Raises:
        UserError: there is no such file, or it cannot be read as text.
    """
    try:
        _refuse_other_files(path)
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise UserError(f"there is no such file{_near_file(path)}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UserError(f"is not UTF-8 text (line {line}); save it as UTF-8") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise UserError(f"cannot be read: {getattr(error, 'strerror', error)}") from None


def _refuse_other_files(path: Path) -> None:
    if path.is_dir():
        inside = sorted(str(file) for file in path.glob("*.json"))
        raise UserError(
            "is a folder, not a file" + (f"; it has {listed(inside)}" if inside else "")
        )
    beside = [path.with_suffix(".json"), path.with_name(path.name + ".json")]
    twin = next((file for file in beside if file != path and file.is_file()), None)
    if twin is not None and (path.suffix == ".py" or not path.exists()):
        raise UserError(f"config files are JSON, and there is {twin}: use --config {twin}")
    if path.suffix == ".py" and path.exists():
        raise UserError("is a Python file; config files are JSON, see the folder configs")


def _near_file(path: Path) -> str:
    if not path.parent.is_dir():
        return f", not even the folder {path.parent}"
    names = {file.name: file for file in sorted(path.parent.glob("*.json"))}
    return did_you_mean(path.name, names)


class _Reader:
    """Goes through the plain object once; everything it finds ends in the reading."""

    def __init__(
        self,
        path: Path,
        plain: PlainConfig,
        datasets: Mapping[str, Sequence[str]],
        planned: Mapping[str, str],
        reading: ConfigReading,
    ) -> None:
        self._path, self._plain, self._out = path, plain, reading
        self._datasets, self._planned = datasets, planned

    def read(self) -> None:
        whole = self._plain.value
        if not isinstance(whole, dict):
            self._problem((), f'the file must hold an object {{ "model": ..., "data": ... }}, not '
                              f"{kind_of(whole)}")  # fmt: skip
            return
        for name in whole:
            if name not in ("model", "data"):
                hint = did_you_mean(name, ("model", "data")) or "; known are model and data"
                self._problem((name,), f"unknown key{hint}")
        for name, raw in self._section(whole, "model", "model"):
            self._out.models[name] = self._if_sound(self._model, name, raw)
        for name, raw in self._section(whole, "data", "data set"):
            self._out.data[name] = self._if_sound(self._dataset, name, raw)
        if not self._out.problems:
            self._out.config = RunConfig(
                path=self._path,
                model={n: entry for n, entry in self._out.models.items() if entry is not None},
                data={n: entry for n, entry in self._out.data.items() if entry is not None},
                warnings=tuple(self._out.warnings),
            )

    def _if_sound(self, read: Callable[[str, Any], T | None], name: str, raw: Any) -> T | None:
        """An entry, or None if reading it added to the problems."""
        before = len(self._out.problems)
        entry = read(name, raw)
        return entry if len(self._out.problems) == before else None

    def _problem(self, place: tuple[str | int, ...], what: str) -> None:
        at = f"{key_path(*place)}: " if place else ""
        self._out.problems.append(f"{self._path}: {at}{what}")

    def _section(
        self, whole: Mapping[str, Any], name: str, member: str
    ) -> Iterable[tuple[str, Any]]:
        section = whole.get(name)
        if section is None:
            self._problem((name,), f"is missing; it must name at least one {member}")
        elif not isinstance(section, dict):
            self._problem((name,), f"must be an object {{ }}, not {kind_of(section)}")
        elif not section:
            self._problem((name,), f"is empty; it must name at least one {member}")
        else:
            return section.items()
        return ()

    # ---- models ----

    def _model(self, name: str, raw: Any) -> ModelEntry | None:
        if not name.strip():
            self._problem(("model", name), "a model needs a name")
        if not isinstance(raw, dict):
            self._problem(("model", name), f"must be an object {{ }}, not {kind_of(raw)}")
            return None
        entry = {key: value for key, value in raw.items() if value is not None}
        no_scheme = entry.get("imp_type") is None and is_nearly_url(entry.get("model_path"))
        imp_type = self._imp_type_of(name, entry)
        model, findings = validate(ModelEntry, entry)
        if no_scheme:
            what = (
                "looks like the address of a server, and must begin with http:// or https:// then"
            )
            findings.append((("model_path",), what))
        if imp_type is not None:
            findings += rules.misplaced_findings(entry, imp_type)
            findings += self._generate_findings(entry, imp_type)
            findings += self._path_findings(name, entry, imp_type)
        if isinstance(entry.get("kwargs"), dict):
            findings += rules.kwargs_findings(entry["kwargs"])
        findings += self._prompt_findings(entry)
        self._report(("model", name), raw, findings)
        self._collect_refs(name, entry, imp_type)
        return model

    def _imp_type_of(self, name: str, entry: dict[str, Any]) -> str | None:
        """The kind of model, also entered into `entry`; None where that is unknown or to come."""
        given = entry.get("imp_type")
        if is_url(entry.get("model_path")):
            if given in IMP_TYPES and given not in ("openai", "api"):
                place = key_path("model", name, "imp_type")
                self._out.warnings.append(
                    f'{self._path}: {place}: "{given}" is not used, since model_path is a URL: '
                    'the model is asked as "openai"'
                )
            if given in (None, *IMP_TYPES):
                entry["imp_type"] = given = "openai"
        elif given is None and (
            self._has_unset("model", name, "model_path")
            or "model_path" not in entry
            or is_nearly_url(entry["model_path"])
        ):
            entry["imp_type"] = "openai"  # may be a URL; the path is the problem to report
            return None
        return "openai" if given == "api" else given if given in IMP_TYPES else None

    def _has_unset(self, *place: str) -> bool:
        return key_path(*place) in self._plain.unset

    def _generate_findings(self, entry: Mapping[str, Any], imp_type: str) -> list[Finding]:
        findings: list[Finding] = []
        if imp_type in SERVERS and find_spec("openai") is None:
            findings.append(
                (("imp_type",), "API models need the package openai: pip install openai")
            )
        if not isinstance(entry.get("generate_cfg"), dict):
            return findings
        if imp_type in SERVERS:
            findings += rules.api_generate_findings(entry["generate_cfg"])
        elif imp_type == "transformers":
            findings += rules.local_generate_findings(entry)
        elif imp_type == "custom":
            findings += rules.custom_generate_findings(entry["generate_cfg"])
        return findings

    def _path_findings(
        self, name: str, entry: Mapping[str, Any], imp_type: str
    ) -> Iterable[Finding]:
        path = entry.get("model_path")
        if not isinstance(path, str) or self._has_unset("model", name, "model_path"):
            return
        if not path.strip():
            yield ("model_path",), "is empty"
        elif imp_type == "custom" and (problem := path_problem(path)):
            yield ("model_path",), f"must be the dotted path of a class: {problem}"
        elif imp_type == "openai":
            try:
                warnings = parse_endpoint(path).warnings
            except UserError as error:
                yield ("model_path",), str(error)
                return
            place = key_path("model", name, "model_path")
            self._out.warnings += [f"{self._path}: {place}: {warning}" for warning in warnings]

    def _prompt_findings(self, entry: Mapping[str, Any]) -> Iterable[Finding]:
        prompts = entry.get("custom_prompt")
        if not isinstance(prompts, dict):
            return
        for dataset in prompts:
            if dataset not in self._datasets and dataset not in self._planned:
                yield ("custom_prompt", dataset), self._unknown_dataset(dataset)

    def _collect_refs(self, name: str, entry: Mapping[str, Any], imp_type: str | None) -> None:
        kwargs = entry.get("kwargs")
        keywords = tuple(kwargs) if isinstance(kwargs, dict) else ()
        passed = ("dataset_name", *(word for word in keywords if word not in rules.RESERVED_KWARGS))
        local = imp_type == "transformers"
        if imp_type == "custom" and not path_problem(str(entry.get("model_path", ""))):
            generate = entry.get("generate_cfg")
            self._ref(
                ("model", name, "model_path"), entry["model_path"], "custom-class", local=True,
                keywords=tuple(generate) if isinstance(generate, dict) else (),
                init_keywords=keywords,
            )  # fmt: skip
        pre, post = ("model", name, "preprocess_function"), ("model", name, "postprocess_function")
        self._ref(pre, entry.get(pre[-1]), "preprocess", local=local, keywords=passed)
        if local:
            passed = (*passed, "input_length")
        self._ref(post, entry.get(post[-1]), "postprocess", local=local, keywords=passed)
        prompts = entry.get("custom_prompt")
        for dataset, dotted in (prompts if isinstance(prompts, dict) else {}).items():
            place = ("model", name, "custom_prompt", dataset)
            self._ref(place, dotted, "prompt", local=local)

    def _ref(
        self,
        place: tuple[str, ...],
        dotted: Any,
        kind: Kind,
        *,
        local: bool = False,
        keywords: tuple[str, ...] = (),
        init_keywords: tuple[str, ...] = (),
    ) -> None:
        if isinstance(dotted, str) and dotted and not self._has_unset(*place):
            self._out.function_refs.append(
                FunctionRef(
                    str(self._path), key_path(*place), dotted, kind, local, keywords, init_keywords
                )
            )

    # ---- data sets ----

    def _dataset(self, name: str, raw: Any) -> DataEntry | None:
        if name in self._planned:
            self._problem(("data", name), self._planned[name])
            return None
        if name not in self._datasets:
            self._problem(("data", name), self._unknown_dataset(name))
        if not isinstance(raw, dict):
            self._problem(("data", name), f"must be an object {{ }}, not {kind_of(raw)}")
            return None
        findings: list[Finding] = []
        entry = {key: value for key, value in raw.items() if value is not None}
        for key in L1_KEYS:
            if name != L1_NAME and entry.pop(key, None) is not None:
                findings.append(((key,), f"only for {L1_NAME}; leave it out"))
        data, wrong = validate(DataEntry, entry)
        findings += wrong
        mode, modes = entry.get("mode"), self._datasets.get(name, ())
        if isinstance(mode, str) and name in self._datasets and mode not in modes:
            hint = did_you_mean(mode, modes)
            listing = f" {name} has the modes" if hint else f"; {name} has the modes"
            findings.append((("mode",), f'unknown mode "{mode}"{hint}{listing} {listed(modes)}'))
        self._report(("data", name), raw, findings)
        place = ("data", name, "parse_function")
        self._ref(place, entry.get("parse_function"), "parse")
        return data

    def _unknown_dataset(self, name: str) -> str:
        known = list(self._datasets)
        return "unknown data set" + (did_you_mean(name, known) or f"; known are {listed(known)}")

    def _report(
        self, place: tuple[str, ...], raw: Mapping[str, Any], findings: Iterable[Finding]
    ) -> None:
        order = {key: index for index, key in enumerate(raw)}
        for path, what in sorted(findings, key=lambda found: order.get(str(found[0][0]), -1)):
            self._problem((*place, *path), what)
