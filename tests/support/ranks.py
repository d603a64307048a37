"""Runs on several ranks, by torchrun or started one by one, of a tiny checkpoint without a GPU."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from tests.support.mock_server import MockServer
from tests.support.runs import PROJECT, Finished, environment, finish
from tests.support.stage import Stage, answer_records

PATIENCE_S = 600.0  # a busy machine imports torch in half a minute

# A preprocess function that stops after so many calls until the test opens the gate, a clock that
# may be ahead, and a home that may be rank 1's alone.
GATED = """
    import os, time
    from pathlib import Path
    from models.wrappers.local.wrapper import default_preprocess_function

    def preprocess(message, model, processor, **kwargs):
        # Counted where it is no part of the code: a changed global would be a changed setting.
        calls = int(os.environ.get("CALLS", "0")) + 1
        os.environ["CALLS"] = str(calls)
        most = int(os.environ.get("MOST_OF_RANK_" + os.environ.get("RANK", "0"), "1000000"))
        while calls > most and not Path(os.environ["GATE"]).exists():
            time.sleep(0.01)
        return default_preprocess_function(message, model, processor, **kwargs)
"""
SURROUNDINGS = """
    import datetime, os
    if os.environ.get("RANK") == "1":
        os.environ["HOME"] = os.environ.get("HOME_OF_RANK_1") or os.environ["HOME"]
        class Ahead(datetime.datetime):
            @classmethod
            def now(cls, tz=None):
                return super().now(tz) + datetime.timedelta(int(os.environ.get("DAYS_AHEAD_OF_RANK_1", 0)))
        datetime.datetime = Ahead
"""


class RankStage(Stage):
    """A stage of 25 samples whose runs are processes: one, or one for each rank."""

    @classmethod
    def of(cls, home: Path, server: MockServer, checkpoint: Path) -> RankStage:
        """With the checkpoint as its model `m`."""
        pictures = [("os_web", (112, 84 + 28 * number)) for number in range(5)]
        stage = cls.make(home, server, pictures, **gated(checkpoint))
        stage.module(GATED, "gated")
        stage.module(SURROUNDINGS, "sitecustomize")
        return stage

    @property
    def gate(self) -> Path:
        """While this file is missing, ranks that have a limit stop there."""
        return self.home / "gate"

    def start(
        self, *arguments: str | Path, ranks: int | None = None, env: Mapping[str, str] | None = None
    ) -> Popen[str]:
        """Starts a run: `ranks` of them by torchrun, or this process alone if None."""
        several = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
        command = [
            sys.executable,
            *(several if ranks else []),
            str(PROJECT / "evaluate.py"),
            *map(str, self._command(arguments)),
        ]
        variables = environment(**self._env({"GATE": str(self.gate), **(env or {})}))
        return Popen(command, cwd=self.home, env=variables, text=True, stdout=PIPE, stderr=PIPE)

    def run(self, *arguments: str | Path, ranks: int | None = None) -> Finished:
        """One run to its end."""
        return finish(self.start(*arguments, ranks=ranks))

    def answered(self, model: str = "m") -> Counter[str]:
        """The number of answers to each sample in all logs of a model, including those of ranks."""
        logs = self.work_dir.glob(f"{model}/T*/{model}_*.jsonl")
        records_by_log = [answer_records(log) for log in logs if "_samples" not in log.name]
        return Counter(record["key"] for records in records_by_log for record in records)

    def rank_logs(self) -> list[Path]:
        return sorted(self.work_dir.glob("*/T*/*.rank*"))

    def both_scores(self, folder: Path | None = None) -> dict[str, bytes]:
        """The score files of the only run folder."""
        [only] = self.work_dir.glob("m/T*")
        return super().both_scores(only)


def gated(checkpoint: str | Path) -> dict[str, Any]:
    """The entry of a checkpoint."""
    return {
        "model_path": str(checkpoint),
        "imp_type": "transformers",
        "generate_cfg": {"max_new_tokens": 6},
        "preprocess_function": "gated.preprocess",
    }


def wait_until(is_so: Callable[[], bool], process: Popen[str]) -> None:
    """Waits for something that a running process will bring about."""
    ends_s = time.monotonic() + PATIENCE_S
    while not is_so():
        if process.poll() is not None or time.monotonic() > ends_s:
            process.kill()
            raise AssertionError("".join(process.communicate()))
        time.sleep(0.05)


def process_of_rank(launcher: Popen[str], rank: int) -> int:
    """The process id of a rank that torchrun has started."""
    child_pids = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
    variables = {pid: Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") for pid in child_pids}
    [pid] = [pid for pid in child_pids if f"RANK={rank}".encode() in variables[pid]]
    return int(pid)


@contextmanager
def rank_variables(count: int) -> Iterator[list[dict[str, str]]]:
    """The variables that torchrun sets for each rank, with a store that this process hosts.

    Without torchrun, no rank is ended because another one has failed.
    """
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    common = {
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(store.port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "TORCHELASTIC_RUN_ID": "by-hand",
    }
    yield [{**common, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(count)]
    del store
