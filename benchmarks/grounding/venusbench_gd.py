"""VenusBench-GD: six tasks on screens of the web, phones and desktops, in English and Chinese.

Files: inclusionAI/VenusBench-GD, `instruction/<task>.json`, boxes x1, y1, x2, y2 in pixels. Rule:
inclusionAI/UI-Venus, a scorer after ScreenSpot-Pro's; the official figure is the micro average over
all 6,166 rows. A refusal is right where both coordinates are negative and the row has no box.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from benchmarks.base import BadSample, text_problem
from benchmarks.grounding import GroundingBenchmark, Layout, box_target
from benchmarks.grounding.rows import check_convention
from utils.contracts import Line, Sample
from utils.text import counted

FILES = {
    "element": ("element_grounding.json",),
    "spatial": ("spatial_grounding.json",),
    "visual": ("visual_grounding.json",),
    "reasoning": ("reasoning_grounding.json", "reason_grounding.json"),
    "functional": ("functional_grounding.json",),
    "refusal": ("refusal_spatial.json", "refusal_grounding.json"),
}
"""By task, under the names of the authors' page and, where they differ, of the hub."""
TASKS = tuple(FILES)
REFUSAL = "refusal"
BASIC = ("element", "spatial", "visual")
TEXTS = {"en": ("instruction",), "cn": ("instruction_zh", "instruction_cn")}
NO_BOX = [-1, -1, -1, -1]
NO_BOXES: tuple[Any, ...] = (None, [], NO_BOX, [0, 0, 0, 0])
"""Boxes that mean "nothing to click" in a row of refusals. A reply of (0, 0) is no refusal."""
UNKNOWN = "none"  # a label that a row does not have; a grouping of which no row has one is left out


class VenusBenchGD(GroundingBenchmark):
    """Six files, a task each. `refusals` is the rule by which a row asks for a refusal.

    "box": it has no box, as the authors' scorer has it; "file": it stands in the file of refusals.
    """

    name = level = "VenusBenchGD"
    folder = "VenusBench-GD"
    has_empty_boxes = True
    with_refusals = True
    options: ClassVar = {"language": ("en", "cn"), "refusals": ("box", "file")}
    modes = ("all", *TASKS)
    mode_column = "task"
    layout = Layout(
        groupings={
            "task": TASKS,
            "tier": ("basic", "advanced"),
            "group": (),
            "application": (),
            "platform": ("web", "mobile", "desktop"),
            "platform and application": (),
            "element": (),
        },
        columns="task",
        rows=None,
        split="task",
        averages=("task", "platform"),
    )
    expected_rows: ClassVar = {"all": 6166}

    def files(self) -> Sequence[Path]:
        """Return a file for each task, under the first of its names that is there."""
        folder = self.root / "instruction"
        paths = [[folder / name for name in names] for names in FILES.values()]
        return [next(filter(Path.is_file, names), names[0]) for names in paths]

    def read_rows(self) -> Iterator[Line]:
        """Yield a row for each instruction."""
        for task, path in zip(TASKS, self.files(), strict=True):
            items = self.read_file(f"instruction/{path.name}")
            boxes = [item.get("bbox") for item in items]
            check_convention(path, [box for box in boxes if box != NO_BOX], "xyxy")
            for number, item in enumerate(items):
                yield self._row(task, number, item)

    def _row(self, task: str, number: int, item: Line) -> Line:
        column = next(
            (name for name in TEXTS[self.settings["language"]] if name in item),
            TEXTS[self.settings["language"]][0],
        )
        box: Any = item.get("bbox")
        has_box = box not in NO_BOXES if task == REFUSAL else box != NO_BOX
        is_refusal = task == REFUSAL if self.settings["refusals"] == "file" else not has_box
        target, problem = ({}, None) if is_refusal else box_target(box, "xyxy")
        platform, application = _place(item)
        return {
            "id": item.get("id"),
            "image_path": item.get("img_filename"),
            "image_size": item.get("img_size"),
            "instruction": item.get(column),
            "target": target,
            "problem": text_problem(item, column) or problem,
            "kind": item.get("ui_type"),
            "task": task,
            "tier": "basic" if task in BASIC else "advanced",
            "group": item.get("group") or UNKNOWN,
            "application": application,
            "platform": platform,
            "platform and application": f"{platform}, {application}",
            "element": item.get("label") or UNKNOWN,
            "app_name": application,
            "has_box": has_box,
            "wording": self.settings["language"],
            "element_id": f"{task} {item.get('id') or number}",
        }

    def notes(self, samples: Sequence[Sample], bad: Sequence[BadSample], mode: str) -> list[str]:
        """Say also where the two rules of refusals differ."""
        notes = super().notes(samples, bad, mode)
        refusals = [sample for sample in samples if sample.line["task"] == REFUSAL]
        boxes = sum(bool(sample.line["has_box"]) for sample in refusals)
        if boxes and self.settings["refusals"] == "box":
            rows = counted(len(refusals), "row")
            notes.append(
                f"{boxes} of {rows} in the file of refusals have a box. As in the authors' "
                'scorer, a click in it is right; with "refusals": "file", only a refusal is right'
            )
        return notes


def _place(item: Line) -> tuple[str, str]:
    """Platform and application of a row: its own, else the folders of its image."""
    folders: tuple[Any, ...] = PurePosixPath(str(item.get("img_filename"))).parts[:-1]
    platform = item.get("platform") or (folders[0] if folders else UNKNOWN)
    application = item.get("application") or (folders[1] if len(folders) > 1 else UNKNOWN)
    return str(platform), str(application)
