"""Copies of imported files in the folder of an import, packed, without secrets."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

from utils.config.secret_filter import SecretFilter
from utils.errors import UserError
from utils.exchange.files import row_file, text_of

FOLDER = "source"
MOST_COPIED_BYTES = 256 << 20  # of one file: what is larger stays where it is


def copy_sources(folder: Path, paths: Sequence[Path], secrets: SecretFilter) -> None:
    """Copy text files into the folder of an import.

    Spreadsheets and archives stay where they are: their texts cannot be searched for secrets. The
    manifest has the checksum of all.
    """
    target = folder / FOLDER
    for number, path in enumerate(dict.fromkeys(paths), 1):
        if not path.is_file() or path.stat().st_size > MOST_COPIED_BYTES:
            continue
        try:
            kind = row_file(path).kind
        except UserError:  # a function of the user's has read it
            print(f"{path}: stays where it is; only JSON, JSON lines, CSV and TSV are copied")
            continue
        if kind in ("sheet", "zip"):
            continue
        try:
            target.mkdir(parents=True, exist_ok=True)
            prefix = f"{number}_" if len(paths) > 1 else ""
            name = f"{prefix}{path.name.removesuffix('.gz')}.gz"
            with (
                text_of(path, str(path)) as lines,
                gzip.open(target / name, "wt", errors="surrogateescape") as copy,  # torn lines, too
            ):
                for line in lines:
                    copy.write(secrets.clean(line))
        except (UserError, OSError, UnicodeError) as error:
            print(f"warning: {path}: not copied ({error})")
