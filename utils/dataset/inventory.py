"""What lies in a data root: pictures per platform, questions, and the pictures that are missing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from utils.errors import UserError
from utils.protocol import PLATFORMS

_SHOWN = 10


@dataclass(frozen=True)
class Inventory:
    """Counts for people, and the missing pictures in full."""

    pictures: Mapping[str, int]
    l1_questions: int
    l1_pictures: int
    l2_instructions: int
    l2_pictures: int
    missing: tuple[str, ...]

    def lines(self) -> list[str]:
        lines = [f"  pictures         {sum(self.pictures.values()):,}"]
        lines += [f"    {platform:<12}   {count:,}" for platform, count in self.pictures.items()]
        lines += [
            f"  L1 questions     {self.l1_questions:,} on {self.l1_pictures:,} pictures",
            f"  L2 instructions  {self.l2_instructions:,} on {self.l2_pictures:,} pictures",
        ]
        if self.missing:
            lines.append(f"  missing          {len(self.missing):,} pictures of the annotations:")
            lines += [f"    {path}" for path in self.missing[:_SHOWN]]
            if len(self.missing) > _SHOWN:
                lines.append(f"    and {len(self.missing) - _SHOWN:,} more")
        return lines


def take_inventory(images: Path, l1_path: Path, l2_path: Path) -> Inventory:
    """Count what is there.

    Args:
        images: the folder `offline_images`.
        l1_path: the annotation file of L1.
        l2_path: that of L2.

    Raises:
        UserError: an annotation file is broken.
    """
    on_disk = {platform: _files_below(images, platform) for platform in PLATFORMS}
    l1, l2 = read_annotations(l1_path), read_annotations(l2_path)
    l1_named, l2_named = {_picture_of(line) for line in l1}, {_picture_of(line) for line in l2}
    groups = [line.get("groups") for line in l1]
    there = set().union(*on_disk.values())
    return Inventory(
        pictures={platform: len(paths) for platform, paths in on_disk.items()},
        l1_questions=sum(len(group) for group in groups if isinstance(group, list)),
        l1_pictures=len(l1_named),
        l2_instructions=len(l2),
        l2_pictures=len(l2_named),
        missing=tuple(sorted((l1_named | l2_named) - there)),
    )


def read_annotations(path: Path) -> list[dict[str, object]]:
    """The entries of an annotation file.

    Raises:
        UserError: no JSON, or no list of objects.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise UserError(f"{path}: no valid JSON ({problem})") from problem
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UserError(f"{path}: expected a list of objects")
    return entries


def _files_below(images: Path, platform: str) -> set[str]:
    return {
        path.relative_to(images).as_posix()
        for path in (images / platform).rglob("*")
        if not path.name.startswith(".") and path.is_file()
    }


def _picture_of(line: Mapping[str, object]) -> str:
    # L1 names its pictures with or without the platform's folder in front.
    path = str(line.get("image_path") or "")
    return path if path.split("/")[0] in PLATFORMS else f"{line.get('platform')}/{path}"
