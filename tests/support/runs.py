"""Real runs of `evaluate.py`, on a small data root that the test makes."""

from __future__ import annotations

import datetime
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import IO, Any
from unittest import mock

from PIL import Image, ImageDraw

PROJECT = Path(__file__).resolve().parents[2]
BOTH = {"GUIContentUnderstanding": {"mode": "all"}, "GUIElementGrounding": {"mode": "all"}}
ONE_DAY = SimpleNamespace(datetime=mock.Mock(now=mock.Mock(return_value=datetime.datetime.now())))
"""The calendar by which runs in this process name their folders: no midnight comes between two."""
PICTURES = (("os_windows", (640, 360)), ("os_ios", (295, 639)), ("os_web", (400, 300)))


@dataclass(frozen=True)
class Finished:
    """A finished run."""

    code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """Everything that was printed."""
        return self.stdout + self.stderr


def environment(**extra: str) -> dict[str, str]:
    """This process's environment without variables that would change a run."""
    dropped = {
        "LMUData",
        "EVAL_WORK_DIR",
        "IMAGE_ROOT_DIR",
        "L2_USER_PROMPT",
        "L1_USE_WEIGHTED",
        "OPENAI_API_KEY",
        "SKIP_ERR",
    }
    kept_variables = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept_variables, "NO_PROXY": "127.0.0.1,localhost", "OMP_NUM_THREADS": "1", **extra}


def evaluate(
    *arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None, process: bool = False
) -> Finished:
    """Runs `python evaluate.py ...` to its end, in this process unless a process is what is tested.

    Variables that only the start of an interpreter or an import reads get a process, too.
    """
    variables = environment(**(env or {}))
    if process or _is_for_an_interpreter(env or {}):
        return run_process("evaluate.py", *arguments, cwd=cwd, env=variables)
    program = importlib.import_module("evaluate")
    return run_here(program.main, ["evaluate.py", *map(str, arguments)], cwd, variables)


def run_process(
    script: str, *arguments: str | Path, cwd: Path, env: Mapping[str, str], timeout_s: float = 600
) -> Finished:
    """Runs a script of the project to its end, in a process."""
    command = [sys.executable, str(PROJECT / script), *map(str, arguments)]
    result = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout_s
    )
    return Finished(result.returncode, result.stdout, result.stderr)


def _is_for_an_interpreter(env: Mapping[str, str]) -> bool:
    folders = filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
    return any((Path(folder) / "sitecustomize.py").exists() for folder in folders) or any(
        name == "OPENAI_LOG" or (name.startswith("PYTHON") and name != "PYTHONPATH") for name in env
    )


def run_here(
    main: Callable[[list[str]], int], command: list[str], cwd: Path, variables: Mapping[str, str]
) -> Finished:
    """Runs a program's `main` in this process."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with _as_in_a_process(command, cwd, variables, stdout, stderr):
        try:
            code = main(command[1:])
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except Exception:  # noqa: BLE001 - the interpreter would print it, too
            traceback.print_exc(file=stderr)
            code = 1
    return Finished(code, stdout.getvalue(), stderr.getvalue())


@contextmanager
def _as_in_a_process(
    command: list[str], cwd: Path, variables: Mapping[str, str], stdout: IO[str], stderr: IO[str]
) -> Iterator[None]:
    """Everything that a process has for itself, put back afterwards; user modules are forgotten."""
    environ, folder, modules = dict(os.environ), Path.cwd(), set(sys.modules)
    names = ("argv", "path", "stdout", "stderr", "excepthook", "dont_write_bytecode")
    before = {name: getattr(sys, name) for name in names}
    hook, on_sigterm = threading.excepthook, signal.getsignal(signal.SIGTERM)
    try:
        os.environ.clear()
        os.environ.update(variables)
        os.chdir(cwd)
        folders = filter(None, variables.get("PYTHONPATH", "").split(os.pathsep))
        sys.argv, sys.path = command, [str(PROJECT), *folders, *before["path"]]
        sys.stdout, sys.stderr, sys.dont_write_bytecode = stdout, stderr, True
        importlib.invalidate_caches()
        with (
            warnings.catch_warnings(),
            mock.patch("utils.store.folder.datetime", ONE_DAY),
            mock.patch("gc.unfreeze"),  # what pytest holds is no garbage of the run's
            mock.patch("gc.get_freeze_count", return_value=0),  # and all of the run's may be
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, value in before.items():
            setattr(sys, name, value)
        threading.excepthook = hook
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, on_sigterm)
        os.environ.clear()
        os.environ.update(environ)
        os.chdir(folder)
        for name in set(sys.modules) - modules:
            if _is_of_a_test(sys.modules[name]):
                del sys.modules[name]


def _is_of_a_test(module: ModuleType) -> bool:
    paths = [getattr(module, "__file__", None) or "", *map(str, getattr(module, "__path__", ()))]
    own_folders = (str(PROJECT), sys.prefix, sys.base_prefix, str(Path(sys.prefix).resolve()))
    return any(path and not path.startswith(own_folders) for path in paths)


def start(
    *arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Starts `python evaluate.py ...`; for tests that interrupt or kill it."""
    return subprocess.Popen(
        [sys.executable, str(PROJECT / "evaluate.py"), *map(str, arguments)],
        cwd=cwd,
        env=environment(**(env or {})),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[str], timeout_s: float = 600) -> Finished:
    """Waits for the end of a process that `start` has started."""
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate()
        raise AssertionError(f"still running after {timeout_s} s:\n{stdout}{stderr}") from None
    return Finished(process.returncode, stdout, stderr)


def make_data(root: Path, pictures: Sequence[tuple[str, tuple[int, int]]] = PICTURES) -> Path:
    """A data root in the published layout: per picture 3 L1 questions and 2 L2 instructions.

    The answer to every L1 question is B; every L2 target is the box (0.1, 0.1, 0.3, 0.2).
    """
    home = root / "MMBench-GUI"
    l1: list[dict[str, Any]] = []
    l2: list[dict[str, Any]] = []
    for number, (platform, wh) in enumerate(pictures):
        folder = home / "offline_images" / platform
        folder.mkdir(parents=True, exist_ok=True)
        picture = Image.new("RGB", wh, (240, 240, 200 + number % 50))
        box = [0.1 * wh[0], 0.1 * wh[1], 0.3 * wh[0], 0.2 * wh[1]]
        ImageDraw.Draw(picture).rectangle(box, fill=(20, 90, 10 * (number % 20)))
        name = f"pic{number}.png"
        picture.save(folder / name)
        common = {
            "index": number,
            "image_path": name,
            "image_size": list(wh),
            "platform": platform,
            "app_name": "App",
        }
        l1.append(
            {
                **common,
                "groups": [
                    {
                        "question": f"Question {number} {difficulty}?",
                        "options": {"A": "no", "B": "yes", "C": "maybe"},
                        "answer": "B",
                        "explanation": "because",
                        "difficulty": difficulty,
                    }
                    for difficulty in ("easy", "medium", "hard")
                ],
            }
        )
        for kind, grounding in (("text", "basic"), ("icon", "advanced")):
            l2.append(
                {
                    **common,
                    "index": len(l2),
                    "instruction": f"Click {grounding} target {number}.",
                    "bbox": [0.1, 0.1, 0.3, 0.2],
                    "data_type": kind,
                    "grounding_type": grounding,
                }
            )
    (home / "L1_annotations.json").write_text(json.dumps(l1))
    (home / "L2_annotations.json").write_text(json.dumps(l2))
    return root


def write_config(
    path: Path, *, model: Mapping[str, Any], data: Mapping[str, Any] | None = None
) -> Path:
    """A config file; `data` defaults to both data sets in mode all."""
    path.write_text(json.dumps({"model": model, "data": BOTH if data is None else data}))
    return path


def api_model(url: str, *, key: str = "test-key-123456", **entry: Any) -> dict[str, Any]:
    """A model entry for a server."""
    return {
        "model_path": f"{url}?api_key={key}&model=mock",
        "imp_type": "openai",
        "generate_cfg": {"max_tokens": 16, "temperature": 0},
        **entry,
    }


def run_folder(work_dir: Path, model: str) -> Path:
    """The run folder of a model that was written last."""
    folders = [
        path for path in (work_dir / model).iterdir() if path.is_dir() and not path.is_symlink()
    ]
    return max(folders, key=lambda path: path.stat().st_mtime_ns)
