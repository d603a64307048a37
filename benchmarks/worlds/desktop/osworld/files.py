"""Read a folder of tasks in OSWorld's JSON; say of each that cannot be run here why.

A task is a file with an object that has `instruction` and `evaluator`, wherever in the folder. What
its `config` downloads, and what its evaluator compares with, lies beside it: no network is used. A
file is looked for by the last part of its address, or by the name that it gets, in `files/ID/` and
`files/` of the folder.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from benchmarks.worlds.desktop.apps import APPLICATIONS
from benchmarks.worlds.desktop.home import HOME
from benchmarks.worlds.desktop.osworld.metrics import METRICS
from utils.pyautogui_code import CodeError, actions_of_code

Task = dict[str, Any]
FILES = "files"  # the folder of what tasks load
PROGRAMS = {
    "gimp": "gimp",
    "thunar": "files",
    "nautilus": "files",
    "mousepad": "editor",
    "gedit": "editor",
    "evince": "pdf",
    "ristretto": "images",
    "eog": "images",
    "galculator": "calculator",
    "gnome-calculator": "calculator",
    "libreoffice --calc": "calc",
    "libreoffice --writer": "writer",
    "libreoffice --impress": "impress",
    "soffice --calc": "calc",
    "soffice --writer": "writer",
    "soffice --impress": "impress",
}
"""What `launch` may start, and which application that is here."""
OFFICES = ("libreoffice", "soffice")
GIMP_SETTINGS = ".config/GIMP/2.10"
PLAYED = ("key", "type", "wait")  # actions that may follow an episode
FUNCTIONS = ", ".join(["infeasible", *METRICS])


class UnsupportedError(Exception):
    """A task cannot be run here; the message says why."""


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """The tasks of a folder that can be run, and a line for each other one."""

    tasks: Sequence[Task] = ()
    refusals: Sequence[str] = field(default=())  # "ID: why"


def read_tasks(folder: Path) -> TaskFolder:
    """Read all tasks of a folder.

    Raises:
        OSError: the folder cannot be read.
    """
    tasks: list[Task] = []
    refusals: list[str] = []
    for path, content in _task_files(folder):
        name = str(content.get("id", path.stem))
        try:
            tasks.append(_task(name, path, content, folder))
        except UnsupportedError as error:
            refusals.append(f"{name}: {error}")
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            where = path.relative_to(folder)
            refusals.append(f"{name}: {where} is not in OSWorld's form ({error!r:.100})")
    return TaskFolder(tasks, refusals)


def _task_files(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is no folder")
    for path in sorted(folder.rglob("*.json")):
        if path.is_relative_to(folder / FILES):
            continue
        try:
            content = json.loads(path.read_bytes())
        except ValueError:
            continue
        if isinstance(content, dict) and {"instruction", "evaluator"} <= content.keys():
            yield path, content


def _task(name: str, path: Path, content: Mapping[str, Any], folder: Path) -> Task:
    own_files = _OwnFiles(folder, name)
    domain = path.parent.name if path.parent != folder else str(content.get("snapshot", "desktop"))
    apps = list(map(str, content.get("related_apps", [])))
    task: Task = {
        "id": name,
        "goal": str(content["instruction"]),
        "platform": "os_linux",
        "category": domain,
        "apps": apps,
        "level": "L4" if domain == "multi_apps" or len(apps) > 1 else "L3",
        "files": {},
        "open": [],
    }
    for step in content.get("config", []):
        _set_up(task, step["type"], step.get("parameters", {}), own_files)
    return {**task, **_evaluator(content["evaluator"], own_files)}


class _OwnFiles:
    """The files of a user that a task names."""

    def __init__(self, folder: Path, task_id: str) -> None:
        self._folder = folder
        self._places = (folder / FILES / task_id, folder / FILES)

    def find(self, *names: str) -> dict[str, str]:
        """Return the path of a file below the folder, and its hash, as tasks contain them."""
        file_names = [PurePosixPath(name.partition("?")[0]).name for name in names if name]
        for place in self._places:
            for name in file_names:
                if name and (place / name).is_file():
                    return self._described(place / name)
        raise UnsupportedError(
            f"{' or '.join(dict.fromkeys(file_names))} is not in {FILES}/ID/ or {FILES}/"
        )

    def local(self, path: str) -> dict[str, str]:
        """Return the path and the hash of the file at a path below the folder."""
        file = (self._folder / path).resolve()
        if not file.is_relative_to(self._folder.resolve()) or not file.is_file():
            raise UnsupportedError(f"{path} is no file in the folder")
        return self._described(file)

    def _described(self, file: Path) -> dict[str, str]:
        digest = hashlib.blake2b(file.read_bytes(), digest_size=12).hexdigest()
        return {"file": str(file.relative_to(self._folder.resolve())), "digest": digest}


# -- what there is at the start --------------------------------------------------------------------


def _set_up(task: Task, kind: str, parameters: Mapping[str, Any], own_files: _OwnFiles) -> None:
    match kind:
        case "download":
            for file in parameters["files"]:
                found = own_files.find(str(file["url"]), str(file["path"]))
                task["files"][_in_home(file["path"])] = found
        case "upload_file":
            for file in parameters["files"]:
                task["files"][_in_home(file["path"])] = own_files.local(str(file["local_path"]))
        case "open":
            task["open"].append(_opened(_in_home(parameters["path"])))
        case "launch":
            task["open"].append(_launched(parameters["command"]))
        case "sleep" | "activate_window":
            pass  # the world waits by itself; what was opened last is in front
        case _:
            raise UnsupportedError(f"config: {kind!r} cannot be done here")


def _in_home(path: str) -> str:
    """Return a path below the home."""
    home = PurePosixPath("/", HOME)
    full = PurePosixPath(path.replace("~", str(home), 1) if path.startswith("~") else path)
    if not full.is_relative_to(home) or ".." in full.parts or full == home:
        raise UnsupportedError(f"{path} is not in the home, {home}")
    return str(full.relative_to(home))


def _opened(path: str) -> str:
    if not path.endswith(tuple(ending for app in APPLICATIONS.values() for ending in app.endings)):
        raise UnsupportedError(f"config: no application opens {path}")
    return path


def _launched(command: str | Sequence[str]) -> str:
    words = shlex.split(command) if isinstance(command, str) else list(command)
    program = PurePosixPath(words[0]).name
    arguments = words[1:]
    if program in OFFICES:
        if arguments and not arguments[0].startswith("-"):
            return _opened(_in_home(arguments[0]))
        program = " ".join([program, *arguments[:1]])
        arguments = arguments[1:]
    app = PROGRAMS.get(program)
    if app is None or len(arguments) > 1 or any(word.startswith("-") for word in arguments):
        raise UnsupportedError(f"config: {shlex.join(words)!r:.80} cannot be launched here")
    return f"{app}:{_in_home(arguments[0])}" if arguments else app


# -- how it is judged ------------------------------------------------------------------------------


def _evaluator(evaluator: Mapping[str, Any], own_files: _OwnFiles) -> Task:
    """Return `feasible`, or `checks` with `conjunction` and what is done before judging."""
    functions = _listed(evaluator["func"])
    if functions == ["infeasible"]:
        return {"feasible": False}
    columns = [
        _listed(evaluator.get(name), len(functions)) for name in ("result", "expected", "options")
    ]
    conjunction = evaluator.get("conj", "and")
    if conjunction not in ("and", "or"):
        raise UnsupportedError(f"evaluator: conj {conjunction!r} is neither and nor or")
    checks = [
        _check(name, result, expected, options or {}, own_files)
        for name, result, expected, options in zip(functions, *columns, strict=True)
    ]
    actions = [
        action
        for step in evaluator.get("postconfig", [])
        for action in _last_actions(step["type"], step.get("parameters", {}))
    ]
    return {"checks": checks, "conjunction": conjunction, "actions": actions}


def _listed(value: Any, count: int = 1) -> list[Any]:
    return value if isinstance(value, list) else [value] * count


def _check(
    name: str,
    result: Mapping[str, Any] | None,
    expected: Mapping[str, Any] | None,
    options: Mapping[str, Any],
    own_files: _OwnFiles,
) -> Task:
    metric = METRICS.get(name)
    if metric is None:
        raise UnsupportedError(f"evaluator: the function {name!r} is none of {FUNCTIONS}")
    unknown = sorted(options.keys() - metric.options)
    if unknown:
        raise UnsupportedError(f"evaluator: {name} has an option {unknown[0]!r} that is unknown")
    check: Task = {"function": name, "path": _result_path(result or {}), "options": dict(options)}
    check |= _expected(name, expected, own_files)
    if metric.takes_rules and "expected" in check:
        raise UnsupportedError(f"evaluator: {name} expects rules, and no file")
    if not metric.takes_rules and "expected" not in check and not _asks_for_cells(options):
        raise UnsupportedError(f"evaluator: {name} compares with a file, and there is none")
    problem = metric.problem(check.get("rules", {}) if metric.takes_rules else options)
    if problem:
        raise UnsupportedError(f"evaluator: {name} with {problem} cannot be judged here")
    return check


def _asks_for_cells(options: Mapping[str, Any]) -> bool:
    """Whether the rules of a table say themselves what is expected."""
    kinds = {rule.get("type") for rule in options.get("rules", ())}
    return kinds == {"check_cell"}


def _expected(name: str, expected: Mapping[str, Any] | None, own_files: _OwnFiles) -> Task:
    """Return the `rules` or the file, `expected`, that a result is compared with; or neither."""
    if expected is None:
        return {}
    kind = expected.get("type")
    if kind == "rule":
        return {"rules": expected["rules"]}
    if kind not in ("cloud_file", "cache_file"):
        raise UnsupportedError(f"evaluator: {kind!r} cannot be expected here")
    if not isinstance(expected["path"], str):
        raise UnsupportedError(f"evaluator: {name} expects several files")
    return {"expected": own_files.find(expected["path"], expected.get("dest", ""))}


def _result_path(result: Mapping[str, Any]) -> str:
    kind = result.get("type")
    if kind == "gimp_config_file":
        return f"{GIMP_SETTINGS}/{result['file_name']}"
    if kind != "vm_file" or not isinstance(result["path"], str):
        raise UnsupportedError(f"evaluator: the result {kind!r} cannot be read here")
    return _in_home(result["path"])


def _last_actions(kind: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the actions between an episode and its judging, e.g. saving the document."""
    if kind in ("sleep", "activate_window"):
        return []
    command = parameters.get("command", [])
    is_code = isinstance(command, list) and len(command) == 3 and command[1] == "-c"
    if kind != "execute" or not is_code or not command[0].startswith("python"):
        raise UnsupportedError(f"evaluator: {kind!r} cannot be done before judging here")
    try:
        actions = actions_of_code(command[2], lambda x, y: (x, y))
    except CodeError as error:
        raise UnsupportedError(f"evaluator: its code cannot be read: {error}") from error
    for action in actions:
        if action["kind"] not in PLAYED:
            raise UnsupportedError(f"evaluator: {action['kind']!r} cannot be done before judging")
    return actions
