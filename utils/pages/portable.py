"""The zip of a comparison that is sent around."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from utils.scoring.sheets import whole_file

ZIP = "comparison.zip"
NOT_SENT = "runs.json"  # leads to folders of this machine


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
