"""Checksums of derived files that belong together, in the manifest, which is written last.

A scoring replaces several files, and a kill may come between any two of them. Every file that the
program reads back is compared with its checksum first, so files of two scorings are never mixed;
spreadsheets are for people, who may save them again, and have none.
The head of a samples file says whether it has one (`sealed`): those of older versions have none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

CHECKSUMS = "files"  # the section of the manifest: SHA-256 by file name
STAMP = "scoring.txt"  # in a report: of which scoring it is


def checksum_of(path: Path) -> str:
    """Return the SHA-256 of a file's content as hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksums_of(paths: Iterable[Path]) -> dict[str, str]:
    """Return the checksums of those files that exist, by name."""
    return {path.name: checksum_of(path) for path in paths if path.is_file()}


def file_of_another_scoring(
    paths: Iterable[Path], manifest: Mapping[str, Any], *, is_sealed: bool
) -> Path | None:
    """Return the first file that is not the one whose checksum the manifest has, if there is any.

    Args:
        paths: the files of one data set that exist, the samples file first.
        is_sealed: whether these files have checksums at all.
    """
    checksums = _checksums(manifest)
    files = list(paths)
    if not is_sealed and files and files[0].name not in checksums:
        return None
    for path in files:
        if checksums.get(path.name) != checksum_of(path):
            return path
    return None


def has_unfinished_scoring(folder: Path, written_ns: int, manifest: Mapping[str, Any]) -> bool:
    """Whether a file was replaced since the manifest was written at `written_ns`.

    Quick: only files that are newer than the manifest are read.
    """
    for name, checksum in _checksums(manifest).items():
        path = folder / name
        try:
            is_newer = path.stat().st_mtime_ns > written_ns
            if is_newer and checksum_of(path) != checksum:
                return True
        except OSError:  # deleted by hand; nothing is mixed
            continue
    return False


def stamp_of(manifest: Mapping[str, Any]) -> str:
    """Return a checksum over all these files, of which reports are made; empty without any."""
    checksums = _checksums(manifest)
    lines = [f"{checksums[name]}  {name}\n" for name in sorted(checksums)]
    return hashlib.sha256("".join(lines).encode()).hexdigest() if lines else ""


def merged(folder: Path, before: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, str]:
    """Return the section of a new manifest: what was written now and what else is still there.

    Args:
        before: the manifest from before.
        files: checksums of what was written now, by name.
    """
    earlier = {
        name: checksum for name, checksum in _checksums(before).items() if (folder / name).exists()
    }
    return {**earlier, **files}


def _checksums(manifest: Mapping[str, Any]) -> dict[str, str]:
    section = manifest.get(CHECKSUMS)
    return section if isinstance(section, dict) else {}
