"""OSWorld-G: targets on a Linux desktop, among them polygons and elements that are not there.

Files: `OSWorld-G.json` or `OSWorld-G_refined.json` (the same rows with other instructions),
`classification_result.json`. The official figure is the micro average over all 564 rows; points are
compared in pixels, and a refusal is right where both coordinates are negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.grounding import GroundingBenchmark, Layout, box_target
from benchmarks.grounding.rows import check_convention
from utils.contracts import Line
from utils.data_files import read_json
from utils.errors import UserError
from utils.geometry.targets import Target, are_numbers

REFUSAL = "refusal"
TYPES_BY_CATEGORY = {
    "text_matching": ("Label",),
    "element_recognition": ("Icon", "Image", "Button"),
    "layout_understanding": (
        "Tab",
        "Banner/Notification",
        "Accordion",
        "Pagination",
        "Toolbar",
        "Menu Bar",
        "Dropdown",
        "List",
        "Grid",
        "Tree View",
        "Dialog",
        "Panel",
        "Sidebar",
        "Drawer",
        "Window Hierarchy",
    ),
    "fine_grained_manipulation": (
        "Slider",
        "Stepper",
        "Divider",
        "Toggle",
        "Checkbox",
        "Radio",
        "Color Picker",
        "Date Picker",
        "Table",
        "Text Field/Input Box",
        "Search Bar",
        "Input Box",
        "Window Border",
    ),
}
CATEGORIES = (*TYPES_BY_CATEGORY, REFUSAL)
FILES = {"original": "OSWorld-G.json", "refined": "OSWorld-G_refined.json"}
CLASSIFICATION = "classification_result.json"


class OSWorldG(GroundingBenchmark):
    """One file of boxes x, y, width, height, polygons x0, y0, x1, y1, ... and refusals."""

    name = level = "OSWorldG"
    folder = "OSWorld-G"
    has_empty_boxes = True
    options: ClassVar = {"instructions": ("original", "refined")}
    modes = ("all", "bbox", "polygon", REFUSAL)
    mode_column = "box_type"
    compares_px = True
    with_refusals = True
    layout = Layout(
        groupings={"category": CATEGORIES, "box_type": ("bbox", "polygon", REFUSAL)},
        columns="category",
        rows=None,
        kinds=(),
        split="box_type",
    )
    expected_rows: ClassVar = {"all": 564, "bbox": 470, "polygon": 40, REFUSAL: 54}

    def files(self) -> Sequence[Path]:
        """Return the file of the rows, and that of their categories where it is there."""
        paths = [self.root / FILES[self.settings["instructions"]], self.root / CLASSIFICATION]
        return [path for path in paths if path.name != CLASSIFICATION or path.is_file()]

    def read_rows(self) -> Iterator[Line]:
        """Yield a row for each instruction."""
        path = self.files()[0]
        items = self.read_file(path.name)
        boxes = [row.get("box_coordinates") for row in items if row.get("box_type") == "bbox"]
        check_convention(path, boxes, "xywh")
        categories = self._published_categories()
        for item in items:
            target, problem = _target(item)
            yield {
                "id": item.get("id"),
                "image_path": item.get("image_path"),
                "image_size": item.get("image_size"),
                "instruction": item.get("instruction"),
                "target": target,
                "problem": problem,
                "kind": None,
                "box_type": item.get("box_type"),
                "category": _categories_of(item, categories),
                "platform": "linux",
                "app_name": None,
                "wording": self.settings["instructions"],
                "element_id": item.get("id"),
            }

    def labels_of(self, line: Line) -> Mapping[str, str | Sequence[str]]:
        """Return all categories of a row, which counts in each, and its type of box."""
        return {"category": line["category"], "box_type": str(line["box_type"])}

    def notes(self, samples: Any, bad: Any, mode: str) -> list[str]:
        """Say also where categories are not the published ones."""
        notes = super().notes(samples, bad, mode)
        if self._published_categories() is None:
            notes.append(
                f"{self.root / CLASSIFICATION} is not there, so categories are an approximation by "
                "GUI_types; the overall figure does not depend on them"
            )
        return notes

    def _published_categories(self) -> dict[str, list[str]] | None:
        path = self.root / CLASSIFICATION
        try:
            classified = read_json(path)["classified"]
            by_id: dict[str, list[str]] = {}
            for category in CATEGORIES:
                for row in classified.get(category, ()):
                    by_id.setdefault(row["id"], []).append(category)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"{path}: cannot be read ({type(error).__name__}: {error}); expected "
                '{"classified": {"text_matching": [{"id": ...}, ...], ...}}. Fetch it again, or '
                "remove it to group rows by GUI_types"
            ) from None
        return by_id


def _target(item: Line) -> tuple[dict[str, Any], str | None]:
    box_type: Any = item.get("box_type")
    numbers: Any = item.get("box_coordinates")
    if box_type == REFUSAL:
        return {}, None
    if box_type == "bbox":
        return box_target(numbers, "xywh")
    if box_type != "polygon":
        return {}, f"unknown box_type {box_type!r}; known are bbox, polygon and refusal"
    is_list = isinstance(numbers, list) and len(numbers) >= 6 and len(numbers) % 2 == 0
    if not is_list or not are_numbers(numbers, len(numbers)):
        return (
            {},
            f"a polygon must be x0, y0, x1, y1, ... of three corners or more: {numbers!r:.80}",
        )
    corners = tuple(zip(numbers[0::2], numbers[1::2], strict=True))
    return Target(polygons=(corners,)).as_json(), None


def _categories_of(item: Line, published: Mapping[str, list[str]] | None) -> list[str]:
    if published is not None:
        return list(published.get(str(item.get("id")), ()))
    if item.get("box_type") == REFUSAL:
        return [REFUSAL]
    types = set(item.get("GUI_types") or ())
    return [
        name
        for name, types_of_category in TYPES_BY_CATEGORY.items()
        if types & {*types_of_category}
    ]
