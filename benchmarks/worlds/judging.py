"""The judgement of an episode: its verdict, the facts for its score, the columns of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.actions.dialects import better_parser
from benchmarks.matrics import Cost, TaskResult
from benchmarks.worlds.episode import EpisodeResult
from benchmarks.worlds.suites import has_layouts
from utils.contracts import Judgement, Line, Verdict
from utils.protocol import LAYOUTS

TASK_COLUMNS = ("task_id", "seed", "instruction", "platform", "category", "index")
"""Columns of a line that the per-sample file has, too."""


def judgement_of(
    line: Line,
    result: EpisodeResult,
    *,
    is_played: bool,
    feasible: bool | None,
    cost: Mapping[str, Any],
) -> Judgement:
    """Return a hit if the world is as the task asks for.

    Args:
        line: the task's.
        result: of the episode.
        is_played: False: it could not be played to its end.
        feasible: whether the task can be done; None: not known.
        cost: what the log says of it: "requests", "usage", "latency_s", "wall_s"; or nothing.
    """
    verdict = _verdict_of(result) if is_played else None
    better = ""
    if verdict is Verdict.UNPARSED:
        better = better_parser([step["reply"] for step in result.trajectory if not step["actions"]])
    counted = TaskResult(
        success=result.success,
        steps=result.step_count,
        platform=platform_of(line),
        category=line["category"],
        apps=tuple(line["apps"]),
        tier=line.get("tier"),
        partial=result.partial,
        feasible=feasible,
        end_reason=result.end_reason,
        actions=result.action_count,
        cost=_cost_of(cost),
    )
    shared = {
        "tier": counted.tier,
        "feasible": counted.feasible,
        "partial": counted.partial,
        "steps": counted.steps,
        "action_count": counted.actions,
        "ended": counted.end_reason,
    }
    columns = {
        **{name: line[name] for name in TASK_COLUMNS},
        **shared,
        "apps": ", ".join(line["apps"]),
        "success": int(result.success),
        "actions": result.text,
        "checks": "\n".join(_check_line(is_met, text) for is_met, text in result.checks),
    }
    facts = {
        **shared,
        "platform": counted.platform,
        "split": line["category"],
        "kind": None,
        "text": line["instruction"],
        "hit": int(result.success),
        "image": line["task_id"],  # what variants share, as questions share an image
        "task": line["task_id"],
        "apps": line["apps"],
        "cost": counted.cost and counted.cost._asdict(),
        "checks": result.checks,
        "trajectory": result.trajectory,
        "last_image": result.last_image,
    }
    return Judgement(verdict, counted, columns, facts, result.error, better)


def platform_of(line: Line) -> str:
    """Return the platform of a task; of web pages in the layout of one, that layout."""
    platform = str(line["platform"])
    return LAYOUTS[platform] if has_layouts(str(line["task_id"])) else platform


def _cost_of(fields: Mapping[str, Any]) -> Cost | None:
    if "requests" not in fields:
        return None
    usage = fields.get("usage") or {}
    return Cost(
        requests=fields["requests"],
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        seconds=fields["wall_s"],
        model_seconds=fields["latency_s"],
    )


def _verdict_of(result: EpisodeResult) -> Verdict:
    if result.success:
        return Verdict.HIT
    return Verdict.UNPARSED if result.end_reason == "unread" else Verdict.MISS


def _check_line(is_met: bool, text: str) -> str:
    return f"✓ {text}" if is_met else f"✗ {text}"
