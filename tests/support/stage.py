"""One place for a run: a data root, a folder for the user's own modules, a work-dir, a server."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.bench import L1, L2, Place  # noqa: F401 - tests take the names from here, too
from tests.support.mock_server import MockServer, Reply, Request
from tests.support.runs import BOTH, PICTURES, Finished, api_model, evaluate, make_data

KEY = "test-key-123456"
API = api_model("{url}", key=KEY)
"""A model entry for the server; `{url}` is replaced when the config is written."""

TWELVE_L2_SAMPLES = [("os_web", (40, 30))] * 6  # and eighteen of L1


def right_answers(request: Request) -> Reply:
    """Answers everything that `make_data` asks with the default prompts as it should be."""
    return Reply("B" if "Question:" in request.text else "(0.2, 0.15)")


@dataclass(frozen=True)
class Stage(Place):
    """A folder of a test with everything that a run needs.

    Attributes:
        home: the current folder of the runs; config.json, data/, mine/ and out/ lie in it.
        server: answers the runs' requests.
    """

    home: Path
    server: MockServer
    OUTPUTS = "out"

    @classmethod
    def make(
        cls,
        home: Path,
        server: MockServer,
        pictures: Sequence[tuple[str, tuple[int, int]]] = PICTURES,
    ) -> Stage:
        """A stage with a data root; three pictures unless told otherwise."""
        make_data(home / "data", pictures)
        (home / "mine").mkdir()
        return cls(home, server)

    def module(self, source: str, name: str = "mymodel") -> None:
        """Writes a module of the user's."""
        # Rewritten within a second, it would be taken from its old bytecode.
        shutil.rmtree(self.home / "mine" / "__pycache__", ignore_errors=True)
        (self.home / "mine" / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")

    def config(self, config: Mapping[str, Any] | str, name: str = "config.json") -> Path:
        """Writes a config, `{url}` replaced by the server's address."""
        text = config if isinstance(config, str) else json.dumps(config)
        path = self.home / name
        path.write_text(text.replace("{url}", self.server.url), encoding="utf-8")
        return path

    def run(
        self, *arguments: str | Path, env: Mapping[str, str] | None = None, process: bool = False
    ) -> Finished:
        """Runs `evaluate.py` with these arguments only, on this stage's data root."""
        ours = {"LMUData": str(self.root), "PYTHONPATH": str(self.home / "mine")}
        return evaluate(*arguments, cwd=self.home, env={**ours, **(env or {})}, process=process)

    def evaluate(
        self,
        model: Mapping[str, Any],
        *arguments: str | Path,
        data: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        """Runs a config of these models and data sets (both by default) into `work_dir`."""
        path = self.config({"model": model, "data": BOTH if data is None else data})
        return self.run("--config", path, "--work-dir", self.work_dir, *arguments, env=env)

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

    def scores(self, dataset: str, model: str = "m") -> dict[str, Any]:
        """The score file of a model and data set, read."""
        return json.loads(super().scores(dataset, model))

    def answers(self, dataset: str, model: str = "m") -> list[dict[str, Any]]:
        """The answer records of a log, in the order of their samples' index."""
        found = super().answers(dataset, model)
        return sorted(found, key=lambda record: record["line"]["index"])

    def written(self) -> list[Path]:
        """Every file of the runs below the work-dir; the list of all runs tells the time."""
        found = (path for path in self.work_dir.rglob("*") if path.is_file())
        return sorted(path for path in found if path.parent != self.work_dir)


def l2_counts(scores: Mapping[str, Any]) -> dict[str, int]:
    """Sums over all blocks of an L2 score file."""
    names = ("Total num", "Correct num", "Wrong num", "Error format num")
    blocks = [block for kind in ("basic", "advanced") for block in scores.get(kind, {}).values()]
    return {name: sum(block[name] for block in blocks) for name in names}
