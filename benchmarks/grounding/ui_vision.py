"""UI-Vision: elements of 83 desktop applications, asked for by name, by function and by place.

Files: `annotations/element_grounding/element_grounding_{basic,functional,spatial}.json`, boxes x1,
y1, x2, y2 in pixels. The official figure is the mean of the three splits; corners in the wrong
order are swapped. `basic` and `functional` ask for the same boxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from benchmarks.grounding import GroundingBenchmark, Layout, box_target
from benchmarks.grounding.rows import check_convention, expect_choice
from utils.contracts import Line

SPLITS = ("basic", "functional", "spatial")
SAME_ELEMENTS = ("basic", "functional")
APPLICATIONS = {
    "Education": (
        "anki",
        "zotero",
        "grassgis",
        "calibre",
        "audacity",
        "qgis",
        "openboard",
        "mendeley",
    ),
    "Browsers": (
        "brave",
        "chromium",
        "mozilla firefox",
        "duckduckgo",
    ),
    "Development": (
        "vscode",
        "atom",
        "freecad",
        "eclipse",
        "netbeans",
        "pycharm",
        "intellij idea",
        "brackets",
        "geany",
        "bluefish",
        "kdevelop",
        "komodo edit",
        "code::blocks",
        "qt creator",
        "arduino ide",
        "spyder",
        "ubuntu terminal",
        "conky",
        "bash",
        "gedit",
    ),
    "Productivity": (
        "libreoffice calc",
        "libreoffice draw",
        "libreoffice impress",
        "libreoffice writer",
        "draw.io",
        "joplin",
        "openproject",
        "affine",
        "zulip",
        "pdfedit",
        "onlyoffice calendar",
        "onlyoffice document editor",
        "onlyoffice forms",
        "onlyoffice pdf forms",
        "onlyoffice presentation",
        "onlyoffice spreadsheet",
        "nextcloud",
        "gnumeric",
        "simplenote",
        "cryptomator",
        "wekan",
        "7-zip",
        "gnucash",
        "bitwarden",
        "metabase",
        "jitsi",
        "flameshot",
        "nemo",
    ),
    "Creativity": (
        "blender",
        "gimp",
        "inkscape",
        "krita",
        "darktable",
        "fontforge",
        "musescore",
        "scribus",
        "openshot",
        "obs studio",
        "lightworks",
        "shotcut",
        "natron",
        "opentoonz",
        "wordpress",
    ),
    "Entertainment": (
        "vlc media player",
        "kodi",
        "element",
        "signal",
        "mastodon",
        "lemmy",
        "matrix",
        "emby",
    ),
}
"""By category, in lower case."""
CATEGORY = {name: category for category, names in APPLICATIONS.items() for name in names}
OTHER = "Other"


class UIVision(GroundingBenchmark):
    """Element grounding; the layout task is not part of it."""

    name = level = "UIVision"
    folder = "ui-vision"
    modes = ("all", *SPLITS)
    mode_column = "split"
    layout = Layout(
        groupings={
            "split": SPLITS,
            "category": (*APPLICATIONS, OTHER),
            "application": (),
            "element": (),
        },
        columns="category",
        rows="split",
        headline="rows",
        split="split",
    )
    expected_rows: ClassVar = {"all": 5479, "basic": 1772, "functional": 1772, "spatial": 1935}

    def files(self) -> Sequence[Path]:
        """Return a file for each split."""
        folder = self.root / "annotations" / "element_grounding"
        return [folder / f"element_grounding_{split}.json" for split in SPLITS]

    def read_rows(self) -> Iterator[Line]:
        """Yield a row for each instruction."""
        for split, path in zip(SPLITS, self.files(), strict=True):
            items = self.read_file(str(path.relative_to(self.root)))
            check_convention(path, [item.get("bbox") for item in items], "xyxy")
            for item in items:
                target, problem = box_target(item.get("bbox"), "xyxy", swaps=True)
                kind, application = item.get("element_type"), str(item.get("platform"))
                yield {
                    "image_path": item.get("image_path"),
                    "image_size": item.get("image_size"),
                    "instruction": item.get("prompt_to_evaluate"),
                    "target": target,
                    "problem": problem or expect_choice(kind, ("text", "icon"), "element_type"),
                    "kind": kind,
                    "split": split,
                    "category": CATEGORY.get(application.lower(), OTHER),
                    "application": application,
                    "element": item.get("category") or "none",
                    "platform": "desktop",
                    "app_name": application,
                    "wording": split if split in SAME_ELEMENTS else None,
                    "element_id": f"{item.get('image_path')} {item.get('bbox')}",
                }
