"""A log of inspect_ai, which its viewer, Scout and data frames read; needs the package.

Source: UKGovernmentBEIS/inspect_ai @ 499e615, log version 2. Repeats of a question are epochs. A
reply to a second request says nothing by itself, so runs with such requests are no logs. Nor are
imported points without replies.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from utils.contracts import Facts, repeat_of
from utils.errors import UserError
from utils.exchange.export.rows import error_of, id_of, is_answered
from utils.exchange.export.run import ExportedRun, ExportedSet
from utils.protocol import IMPORTED, SINGLE

NAME = "inspect"
TITLE = "a log of inspect_ai"
IS_FIGURE = False
IS_OF_ONE = True
SCORER, ACCURACY = "verdict", "accuracy"
RIGHT, WRONG = "C", "I"
STOP_REASONS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}


def takes(dataset: ExportedSet) -> bool:
    """Whether each answer is a reply that is readable alone: no episode, no second look."""
    return dataset.has_replies_alone


def file_name(run: ExportedRun) -> str:
    """The name of the file."""
    return f"{run.file_stem}_{run.sets[0].name}_inspect.json".replace("/", "_")


def content(run: ExportedRun) -> bytes:
    """The log as JSON.

    Raises:
        UserError: the package inspect_ai is not installed.
    """
    try:
        from inspect_ai.log import EvalLog, write_eval_log  # type: ignore[import-not-found]
    except ImportError:
        raise UserError(
            f"--export {NAME}: needs the package inspect_ai, which writes such logs: pip install "
            "inspect_ai"
        ) from None
    log = EvalLog.model_validate(_log(run, run.sets[0]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.json"
        write_eval_log(log, str(path), format="json")
        return path.read_bytes()


def next_steps(_run: ExportedRun, path: str) -> Sequence[str]:
    """The user's next steps with the file."""
    return [f"To look at it: inspect view --log-dir {Path(path).parent}"]


def _log(run: ExportedRun, dataset: ExportedSet) -> dict[str, Any]:
    """The log as plain data, which the package checks."""
    accuracy = sum(facts["hit"] for facts in dataset.samples) / max(1, len(dataset.samples))
    notes = run.notes(dataset) if dataset.headlines else dataset.why_no_figure
    metric = {"name": ACCURACY, "value": accuracy}
    mark = [IMPORTED] if run.imported is not None else []
    epochs = dataset.entry.get("repeats", 1)
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "created": run.made_at,
            "task": dataset.name,
            "dataset": {"name": dataset.table or dataset.name, "samples": len(dataset.samples)},
            "model": run.model,
            "config": {"epochs": epochs},
            "tags": mark,
            "metadata": {"notes": notes, IMPORTED: bool(mark), "evaluator": "MMBench-GUI"},
        },
        "results": {
            "total_samples": len(dataset.samples),
            "completed_samples": sum(map(is_answered, dataset.samples)),
            "scores": [{"name": SCORER, "scorer": SCORER, "metrics": {ACCURACY: metric}}],
        },
        "stats": {"started_at": run.made_at, "completed_at": run.made_at},
        "samples": [_sample(facts, run.model, dataset) for facts in dataset.samples],
    }


def _sample(facts: Facts, model: str, dataset: ExportedSet) -> dict[str, Any]:
    reply = dataset.reply_of(facts) or ""
    messages = _messages(facts)
    sample: dict[str, Any] = {
        "id": id_of(facts),
        "epoch": repeat_of(facts["key"]),
        "input": messages,
        "target": str(facts.get("answer") or facts.get("target") or facts.get("box_frac") or ""),
        "messages": messages,
        "output": {"model": model},
        "metadata": _metadata(facts, dataset),
    }
    if not is_answered(facts):
        sample["error"] = {"message": error_of(facts), "traceback": "", "traceback_ansi": ""}
        return sample
    message = {"role": "assistant", "content": reply, "source": "generate", "model": model}
    reason = STOP_REASONS.get(str(facts.get("finish_reason")), "unknown")
    sample["messages"] = [*messages, message]
    sample["output"] |= {"choices": [{"message": message, "stop_reason": reason}]}
    if usage := _usage(facts):
        sample["output"]["usage"] = usage
    answer = facts.get("chosen") or facts.get("point_frac")
    sample["scores"] = {
        SCORER: {"value": RIGHT if facts["hit"] else WRONG, "answer": str(answer or "")}
    }
    return sample


def _messages(facts: Facts) -> list[dict[str, str]]:
    """The messages of the prompt without images; of answers made elsewhere, the instruction."""
    messages = [
        {"role": str(message.get("role")), "content": str(message.get("value"))}
        for message in facts.get("prompt") or ()
        if message.get("type") == "text"
    ]
    return messages or [{"role": "user", "content": str(facts.get("text") or "")}]


def _metadata(facts: Facts, dataset: ExportedSet) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "key": facts["key"],
        "image_path": facts.get("image"),
        "instruction": facts.get("text"),
        "bbox": facts.get("box_frac"),
        "image_size": facts.get("file_wh"),
        "verdict": facts.get("verdict"),
        "protocol": dataset.entry.get("protocol", SINGLE),
        "options": facts.get("options"),
    }
    return {name: value for name, value in metadata.items() if value is not None}


def _usage(facts: Facts) -> dict[str, int]:
    usage = facts.get("usage") or {}
    names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
    return {names[name]: count for name, count in usage.items() if name in names and count}
