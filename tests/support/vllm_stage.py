"""Runs of a checkpoint whose vLLM servers are stand-ins (`fake_vllm`), and what is left of them."""

from __future__ import annotations

import contextlib
import json
import os
import select
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.support import fake_vllm
from tests.support.stage import NOBODY, Stage, answer_records

SAMPLES = 15  # of both data sets
SECRETS = {"OPENAI_API_KEY": "sk-precious-openai-1", "WANDB_API_KEY": "precious-wandb-2"}


def weights_file(name: str) -> bytes:
    """A whole safetensors file without a tensor."""
    header = json.dumps({"__metadata__": {"name": name}}).encode()
    return len(header).to_bytes(8, "little") + header


def vllm_stage(home: Path) -> Stage:
    """Its model `m` is a checkpoint that the stand-in serves."""
    stage = Stage.make(home, NOBODY)
    for folder in ("checkpoint", "tmp"):
        (home / folder).mkdir()
    (home / "checkpoint" / "config.json").write_text("{}")
    (home / "checkpoint" / "model.safetensors").write_bytes(weights_file("one"))
    (home / "template.jinja").write_text("{{ messages }}")
    stage.model = {
        "m": {
            "model_path": "checkpoint",
            "imp_type": "vllm",
            "generate_cfg": {"max_tokens": 16, "temperature": 0},
        }
    }
    stage.env = {
        "VLLM_PYTHON": str(fake_vllm.install(home)),
        "TMPDIR": str(home / "tmp"),
        "FAKE_VLLM_NOTES": str(home / "vllm_notes.jsonl"),
        **SECRETS,
    }
    return stage


def acting(how: str) -> dict[str, str]:
    """Variables that say what the stand-in does."""
    return {"FAKE_VLLM": how}


def started(stage: Stage) -> list[dict[str, Any]]:
    """The notes of every server that was started."""
    return [note for note in fake_vllm.notes(stage.home) if "pids" in note]


def logs(stage: Stage) -> list[Path]:
    """The logs of servers that were kept."""
    return list((stage.home / "tmp").glob("vllm_*.log"))


def answers(stage: Stage) -> list[dict[str, Any]]:
    """The records of answers of all runs."""
    return [r for log in (stage.work_dir / "m").glob("T*/*.jsonl") for r in answer_records(log)]


def all_gone(stage: Stage) -> bool:
    """Whether the processes of all servers have ended."""
    return all_end([handle for note in started(stage) for handle in handles_of(note["pids"])])


def handles_of(pids: Iterable[int]) -> list[int]:
    """Of the processes among these that are there."""
    handles = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            handles.append(os.pidfd_open(pid))
    return handles


def all_end(handles: Sequence[int], timeout_s: float = 0) -> bool:
    """Whether all these processes end in time; zombies have."""
    return all(select.select([handle], [], [], timeout_s)[0] for handle in handles)
