"""Does an agent end its episodes in one way, whatever the task?"""

from __future__ import annotations

from collections import Counter

from utils.analysis.columns import AuditSettings, Row, SampleColumns, Section, percent
from utils.findings import Finding, warning
from utils.protocol import FEWEST_PICTURES

TITLE = "Constant ending: every episode ended in the same way"
LARGEST_SHARE = 0.8
GIVEN_UP, BY_AGENT = "fail", ("fail", "done", "answer")
"""Actions by which an agent ends an episode; `fail` says that the task cannot be done."""
ROW = "the most frequent ending"


def constant_ending(columns: SampleColumns, _settings: AuditSettings) -> Section:
    """Return the section: how often the most frequent ending of an agent's own is found.

    Endings are one if they are the same action in the same step, or all `fail`. It warns where
    four fifths of the episodes have one ending, over 10 tasks at least, and it is not right in
    most of them: such episodes say nothing about what the agent has seen.
    """
    columns = columns.answered()
    if not len(columns):
        return {"title": TITLE, "rows": [], "notes": ["No episode to look at."], "findings": []}
    endings = [
        _name_of(kind, steps)
        for kind, steps in zip(columns["ended"], columns["steps"], strict=True)
    ]
    given_up = [kind == GIVEN_UP for kind in columns["ended"]]
    counts = Counter(ending for ending in endings if ending)
    counts["`fail`"] = sum(given_up)
    ending, count = max(counts.items(), key=lambda item: item[1])
    is_frequent = given_up if ending == "`fail`" else [name == ending for name in endings]
    samples = columns.where(is_frequent)
    steps = set(samples["steps"])
    if ending == "`fail`" and len(steps) == 1:
        ending += f" in step {steps.pop()}"
    row: Row = {
        "name": ROW,
        "count": count,
        "ending": ending,
        "share": percent(count / len(columns)),
    }
    tasks = len(set(columns["task"]))
    findings: list[Finding] = []
    is_mostly_right = 2 * sum(samples["hit"]) > count
    if count >= LARGEST_SHARE * len(columns) and tasks >= FEWEST_PICTURES and not is_mostly_right:
        findings.append(
            warning(
                "constant_ending",
                f"{count} of {len(columns)} episodes end by {ending}, in {tasks} tasks",
                fix="look at some episodes: the agent may not see the screen, or its prompt may "
                "make it end at once. An agent earns this score without looking at the task",
                topic="constant ending",
                row=ROW,
            )
        )
    section: Section = {
        "title": TITLE,
        "rows": [row],
        "notes": [
            f"{len(columns)} episodes; an episode that reaches the step limit has no ending."
        ],
        "findings": findings,
        "at": {ROW: columns.spans(is_frequent)},
    }
    if tasks < FEWEST_PICTURES:
        section["clear"] = f"fewer than {FEWEST_PICTURES} tasks, too few to tell"
        section["is_undecided"] = not findings
    return section


def _name_of(kind: str, steps: int) -> str:
    """Return an ending of the agent's own with its step; "" for others."""
    return f"`{kind}` in step {steps}" if kind in BY_AGENT else ""
