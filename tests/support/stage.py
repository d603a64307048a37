"""One place for runs of `evaluate.py`: a data root, modules of the user's own, a config, a work-dir."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import Popen
from types import SimpleNamespace
from typing import Any

from tests.support.mock_server import MockServer, Reply, Request
from tests.support.runs import (
    BOTH,
    PICTURES,
    Finished,
    api_model,
    evaluate,
    finish,
    make_data,
    run_folder,
    start,
)

Pictures = int | Sequence[tuple[str, tuple[int, int]]]
L1, L2 = "GUIContentUnderstanding", "GUIElementGrounding"
SCORES = {L1: "scores", L2: "score"}
FAILED_TEXT = "Failed to obtain answer via API."
KEY = "test-key-123456"
API = api_model("{url}", key=KEY)
"""A model entry for the server; `{url}` is replaced when the config is written."""

NOBODY: Any = SimpleNamespace(url="http://127.0.0.1:9/v1", requests=[])
"""In the place of a server, for runs that ask none of this process."""

TWELVE_L2_SAMPLES = [("os_web", (40, 30))] * 6  # and eighteen of L1


def right_answers(request: Request) -> Reply:
    """Answers everything that `make_data` asks with the default prompts as it should be."""
    return Reply("B" if dataset_of(request) == L1 else "(0.2, 0.15)")


def some_right(request: Request) -> Reply:
    """Depends on the request alone; some right, some wrong."""
    if dataset_of(request) == L1:
        return Reply("B" if "1" in request.text else "A")
    return Reply("(0.2, 0.15)" if "basic" in request.text else "(0.9, 0.9)")


@dataclass(frozen=True)
class Ran(Finished):
    """A finished run and what it asked the server."""

    requests: list[Request]

    @property
    def asked(self) -> dict[str, int]:
        """Number of requests by data set."""
        datasets = [dataset_of(request) for request in self.requests]
        return {dataset: datasets.count(dataset) for dataset in (L1, L2)}


@dataclass
class Stage:
    """Everything that one command line of `evaluate.py` sees.

    Attributes:
        home: the current folder of the runs; config.json, data/, mine/ and out/ lie in it.
        server: answers the runs' requests.
        model: the config's "model" section.
        data: the config's "data" section.
        env: variables of the runs besides `LMUData` and `PYTHONPATH`.
    """

    home: Path
    server: MockServer
    model: dict[str, Any]
    data: dict[str, Any] = field(default_factory=lambda: {name: {**BOTH[name]} for name in BOTH})
    env: dict[str, str] = field(default_factory=dict)

    @classmethod
    def make(
        cls, home: Path, server: MockServer, pictures: Pictures = PICTURES, **entry: Any
    ) -> Stage:
        """A stage with a data root and the model `m`; `pictures`: or how many small ones."""
        small = [("os_web", (40, 30))]
        make_data(home / "data", small * pictures if isinstance(pictures, int) else pictures)
        stage = cls(home, server, {"m": api_model(server.url, **entry)})
        stage.code.mkdir()
        return stage

    @property
    def work_dir(self) -> Path:
        return self.home / "out"

    @property
    def root(self) -> Path:
        return self.home / "data"

    @property
    def annotations(self) -> Path:
        return self.root / "MMBench-GUI"

    def folder(self, model: str = "m") -> Path:
        """The newest run folder of a model: the one that the last run worked in."""
        return run_folder(self.work_dir, model)

    def log(self, dataset: str, model: str = "m") -> Path:
        return self.folder(model) / f"{model}_{dataset}.jsonl"

    def scores(self, dataset: str, model: str = "m") -> dict[str, Any]:
        """The score file of a model and data set, read."""
        path = self.folder(model) / f"{model}_{dataset}_{SCORES.get(dataset, 'score')}.json"
        scores: dict[str, Any] = json.loads(path.read_bytes())
        return scores

    def both_scores(self, folder: Path | None = None) -> dict[str, bytes]:
        """The bytes of the score files of model `m`."""
        names = {dataset: f"m_{dataset}_{name}.json" for dataset, name in SCORES.items()}
        return {d: ((folder or self.folder()) / name).read_bytes() for d, name in names.items()}

    def answers(self, dataset: str, model: str = "m") -> list[dict[str, Any]]:
        """The answer records of a log, in the order of their samples' index."""
        records = answer_records(self.log(dataset, model))
        return sorted(records, key=lambda record: record["line"]["index"])

    @property
    def code(self) -> Path:
        """The folder of the user's modules."""
        return self.home / "mine"

    def module(self, source: str, name: str = "mymodel") -> None:
        """Writes a module of the user's."""
        # Rewritten within a second, it would be taken from its old bytecode.
        shutil.rmtree(self.code / "__pycache__", ignore_errors=True)
        (self.code / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")

    def config(self, config: Mapping[str, Any] | str, name: str = "config.json") -> Path:
        """Writes a config, `{url}` replaced by the server's address."""
        text = config if isinstance(config, str) else json.dumps(config)
        path = self.home / name
        path.write_text(text.replace("{url}", self.server.url), encoding="utf-8")
        return path

    def run(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Ran:
        """One run to its end, of this stage's config unless the arguments name another one."""
        ran = self._run(arguments, env)
        assert "Traceback" not in ran.output, ran.output
        return ran

    def evaluate(
        self,
        model: Mapping[str, Any],
        *arguments: str | Path,
        data: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Ran:
        """Runs a config of these models and data sets (both by default), tracebacks or not."""
        self.model, self.data = dict(model), dict(BOTH if data is None else data)
        return self._run(arguments, env)

    def start(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Popen[str]:
        """A run that the test will interrupt."""
        return start(*self._command(arguments), cwd=self.home, env=self._env(env))

    def _run(self, arguments: Sequence[str | Path], env: Mapping[str, str] | None) -> Ran:
        before = len(self.server.requests)
        ran = evaluate(*self._command(arguments), cwd=self.home, env=self._env(env))
        return Ran(ran.code, ran.stdout, ran.stderr, self.server.requests[before:])

    def _command(self, arguments: Sequence[str | Path]) -> list[str | Path]:
        if "--config" in arguments:
            return [*arguments]
        config = self.config({"model": self.model, "data": self.data})
        return ["--config", config, "--work-dir", self.work_dir, *arguments]

    def _env(self, extra: Mapping[str, str] | None) -> dict[str, str]:
        variables = {"LMUData": str(self.root), "PYTHONPATH": str(self.code)}
        return {**variables, **self.env, **(extra or {})}

    def copy_to(self, home: Path) -> Stage:
        """The same stage in another folder, answers included."""
        shutil.copytree(self.home, home, symlinks=True, dirs_exist_ok=True)
        model, data = json.loads(json.dumps([self.model, self.data]))
        return replace(self, home=home, model=model, data=data, env=dict(self.env))

    def change_annotations(self, level: str, change: Callable[[list[Any]], None]) -> None:
        """Applies `change` to the list in an annotation file."""
        path = self.annotations / f"{level}_annotations.json"
        annotations = json.loads(path.read_text("utf-8"))
        change(annotations)
        path.write_text(json.dumps(annotations), encoding="utf-8")

    def picture(self, number: int) -> Path:
        """The file of a picture."""
        [path] = (self.annotations / "offline_images").rglob(f"pic{number}.png")
        return path

    def sheet(self, dataset: str, suffix: str = "", model: str = "m") -> list[dict[str, Any]]:
        """The rows of a spreadsheet as dicts by column; empty cells are None."""
        import openpyxl

        workbook = openpyxl.load_workbook(self.folder(model) / f"{model}_{dataset}{suffix}.xlsx")
        head, *rows = workbook.active.iter_rows(values_only=True)
        workbook.close()
        return [dict(zip(head, row, strict=True)) for row in rows]

    def written(self) -> list[Path]:
        """Every file of the runs below the work-dir; the list of all runs tells the time."""
        paths = (path for path in self.work_dir.rglob("*") if path.is_file())
        return sorted(path for path in paths if path.parent != self.work_dir)


def end_of(process: Popen[str], timeout_s: float = 240) -> tuple[int, str]:
    """Exit code of a process that is about to end, and everything printed."""
    finished = finish(process, timeout_s)
    assert "Traceback" not in finished.output
    return finished.code, finished.output


def dataset_of(request: Request) -> str:
    """The data set of a request of the made data, by its text."""
    return L1 if "Question" in request.text else L2


def told(output: str, what: str) -> list[int]:
    """The values of a count in the summaries of a run: `8 of 9 have a reply`, `1 (11.1 %) failed`."""
    counts = re.findall(rf"^ *(\d+) (?:of \d+ |\([\d.]+ %\) )?{what}", output, re.MULTILINE)
    return [int(count) for count in counts]


def l2_counts(scores: Mapping[str, Any]) -> dict[str, int]:
    """Sums over all blocks of an L2 score file."""
    names = ("Total num", "Correct num", "Wrong num", "Error format num")
    blocks = [block for kind in ("basic", "advanced") for block in scores.get(kind, {}).values()]
    return {name: sum(block[name] for block in blocks) for name in names}


def read_log_lines(path: Path) -> list[dict[str, Any]]:
    """All records of a log."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def answer_records(path: Path) -> list[dict[str, Any]]:
    """The records of answers in a log."""
    return [record for record in read_log_lines(path) if record["kind"] == "answer"]
