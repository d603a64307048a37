"""What makes a comparison fit to be sent around: small copies of its images, and a zip."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from utils.report.pictures import view_image
from utils.scoring.sheets import whole_file

ZIP = "comparison.zip"
NOT_SENT = "runs.json"  # leads to folders of this machine


def with_small_copies(
    pictures: Sequence[Mapping[str, Any]], names: Collection[str], page: Path, folder: Path
) -> list[dict[str, Any]]:
    """Return images with small copies in the page's files in place of those of the reports.

    Args:
        pictures: what the page knows of its images.
        names: of the images that are copied; of the others there is none.
        page: will be the page.
        folder: below that of the page's files; gets the copies.
    """

    def copied(picture: Mapping[str, Any]) -> dict[str, Any]:
        if "others" not in picture:  # there is none, or it was made for this page
            return dict(picture)
        result = {name: picture[name] for name in picture if name not in ("view", "others")}
        sources = [picture["view"], *picture["others"]] if picture["name"] in names else []
        for source in sources:
            with suppress(OSError):  # its report is gone
                copy, _ = view_image(page.parent / unquote(source), folder, small=True)
                return {**result, "view": f"{below}/{copy.name}"}
        return result

    below = f"{page.stem}_files/{folder.name}"
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(copied, pictures))


def write_zip(page: Path, files: Path) -> Path:
    """Put a page and its files into a zip beside it; return the zip."""
    target = page.with_name(ZIP)
    with whole_file(target) as temporary, ZipFile(temporary, "w", ZIP_DEFLATED) as archive:
        for file in [page, *sorted(files.rglob("*"))]:
            if file.is_file() and file.name != NOT_SENT:
                name = Path(page.stem) / file.relative_to(page.parent)
                is_image = file.parent.name == "pictures"
                archive.write(file, name, ZIP_STORED if is_image else ZIP_DEFLATED)
    return target
