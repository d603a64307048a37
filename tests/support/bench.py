"""A work-dir, a data root and a config that a test changes between real runs of `evaluate.py`."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Any

from tests.support.mock_server import MockServer, Request
from tests.support.runs import BOTH, Finished, evaluate, finish, run_folder, start

L1, L2 = "GUIContentUnderstanding", "GUIElementGrounding"
SCORES = {L1: "scores", L2: "score"}
FAILED_TEXT = "Failed to obtain answer via API."


@dataclass(frozen=True)
class Ran:
    """A finished run and what it asked the server."""

    finished: Finished
    requests: list[Request]

    @property
    def code(self) -> int:
        return self.finished.code

    @property
    def output(self) -> str:
        return self.finished.output

    @property
    def asked(self) -> dict[str, int]:
        """Number of requests by data set."""
        counts = {L1: 0, L2: 0}
        for request in self.requests:
            counts[dataset_of(request)] += 1
        return counts


class Place:
    """A folder with a work-dir, and what runs leave there."""

    home: Path
    OUTPUTS = "outputs"

    @property
    def work_dir(self) -> Path:
        """Where results go."""
        return self.home / self.OUTPUTS

    @property
    def root(self) -> Path:
        """The data root."""
        return self.home / "data"

    @property
    def annotations(self) -> Path:
        return self.root / "MMBench-GUI"

    def folder(self, model: str = "m") -> Path:
        """The newest run folder of a model: the one that the last run worked in."""
        return run_folder(self.work_dir, model)

    def log(self, dataset: str, model: str = "m") -> Path:
        return self.folder(model) / f"{model}_{dataset}.jsonl"

    def scores(self, dataset: str, model: str = "m") -> Any:
        """The score file as bytes."""
        return (self.folder(model) / f"{model}_{dataset}_{SCORES[dataset]}.json").read_bytes()

    def answers(self, dataset: str, model: str = "m") -> list[dict[str, Any]]:
        """The answer records of the log, in their order."""
        return answer_records(self.log(dataset, model))


@dataclass
class Bench(Place):
    """Everything that one command line of `evaluate.py` sees.

    Attributes:
        home: holds `data/`, `outputs/`, `code/` (importable) and `config.json`.
        server: what the models' requests arrive at.
        model: the config's "model" section.
        data: the config's "data" section.
        env: variables of the run besides `LMUData` and `PYTHONPATH`.
    """

    home: Path
    server: MockServer
    model: dict[str, Any]
    data: dict[str, Any] = field(default_factory=lambda: {name: {**BOTH[name]} for name in BOTH})
    env: dict[str, str] = field(default_factory=dict)

    @property
    def code(self) -> Path:
        return self.home / "code"

    def run(
        self, *arguments: str | Path, env: Mapping[str, str] | None = None, process: bool = False
    ) -> Ran:
        """One run to its end."""
        before = len(self.server.requests)
        finished = evaluate(
            *self._command(arguments), cwd=self.home, env=self._env(env), process=process
        )
        assert "Traceback" not in finished.output, finished.output
        return Ran(finished, self.server.requests[before:])

    def start(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Popen[str]:
        """A run that the test will interrupt."""
        return start(*self._command(arguments), cwd=self.home, env=self._env(env))

    def copy_to(self, home: Path) -> Bench:
        """The same bench in another folder, answers included."""
        shutil.copytree(self.home, home, symlinks=True, dirs_exist_ok=True)
        model, data = json.loads(json.dumps([self.model, self.data]))
        return Bench(home, self.server, model, data, dict(self.env))

    def sheet(self, dataset: str, suffix: str = "", model: str = "m") -> list[dict[str, Any]]:
        """The rows of a spreadsheet."""
        return read_sheet(self.folder(model) / f"{model}_{dataset}{suffix}.xlsx")

    def _command(self, arguments: tuple[str | Path, ...]) -> list[str | Path]:
        config = self.home / "config.json"
        config.write_text(json.dumps({"model": self.model, "data": self.data}))
        return ["--config", config, "--work-dir", self.work_dir, *arguments]

    def _env(self, extra: Mapping[str, str] | None) -> dict[str, str]:
        path = os.pathsep.join(filter(None, [str(self.code), os.environ.get("PYTHONPATH", "")]))
        own = {"LMUData": str(self.root), "PYTHONPATH": path}
        return {**own, **self.env, **(extra or {})}


def end_of(process: Popen[str], timeout_s: float = 60) -> tuple[int, str]:
    """Exit code of a process that is about to end, and everything printed."""
    ended = finish(process, timeout_s)
    assert "Traceback" not in ended.output
    return ended.code, ended.output


def dataset_of(request: Request) -> str:
    """Which data set a request of the made data belongs to; by its text."""
    return L1 if "Question " in request.text else L2


def told(output: str, what: str) -> list[int]:
    """What the summaries of a run say about a count, e.g. `8 of 9 answered` or `1 (11.1 %) failed`."""
    found = re.findall(rf"^ *(\d+) (?:of \d+ |\([\d.]+ %\) )?{what}", output, re.MULTILINE)
    return [int(count) for count in found]


def read_log_lines(path: Path) -> list[dict[str, Any]]:
    """All records of a log."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def answer_records(path: Path) -> list[dict[str, Any]]:
    """The records of answers in a log."""
    return [record for record in read_log_lines(path) if record["kind"] == "answer"]


def read_sheet(path: Path) -> list[dict[str, Any]]:
    """A spreadsheet as dicts by column; empty cells are None."""
    import openpyxl

    workbook = openpyxl.load_workbook(path)
    head, *rows = workbook.active.iter_rows(values_only=True)
    workbook.close()
    return [dict(zip(head, row, strict=True)) for row in rows]
