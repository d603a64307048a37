"""Safe unpacking of the zip with the pictures: a plan first, then files. No network.

The archive comes from the internet and may have been replaced, so nothing in it is believed: the
whole list of members is judged before the first byte is written, and sizes are counted again while
writing, because the numbers in a zip are only claims.
"""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from utils.errors import UserError
from utils.protocol import PLATFORMS

# Far above the published set (some thousand screenshots), far below what would fill a disk.
MAX_TOTAL_BYTES = 64 * 2**30
MAX_MEMBERS = 200_000
# Screenshots are compressed already, so an archive that grows a hundredfold holds no screenshots.
# Judged for the archive as a whole: that also covers members that share the same compressed bytes.
MAX_GROWTH = 100
GROWTH_FREE_BYTES = 64 * 2**20

PART_NAME = ".unpacking.part"
_LITTER_NAMES = frozenset({".ds_store", "thumbs.db", "desktop.ini"})
_CHUNK_BYTES = 2**20
_SHOWN = 5


class DamagedArchive(UserError):
    """The archive cannot be read to the end; another copy of it may be fine."""


@dataclass(frozen=True)
class Picture:
    """One member to unpack, and its place below `offline_images`."""

    member: zipfile.ZipInfo
    target: PurePosixPath

    @property
    def size(self) -> int:
        return self.member.file_size

    @property
    def crc(self) -> int:
        return self.member.CRC


@dataclass(frozen=True)
class Plan:
    """What an archive holds: the pictures, and the members that are none."""

    pictures: tuple[Picture, ...]
    skipped: tuple[str, ...]


@contextmanager
def _damage_named(archive_path: Path, member_name: str = "") -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as problem:
        where = f", member {member_name!r}" if member_name else ""
        raise DamagedArchive(
            f"{archive_path}{where}: not a zip file that can be read ({problem})"
        ) from problem


@contextmanager
def opened(archive_path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive.

    Raises:
        DamagedArchive: it is no zip, or cut short.
    """
    with _damage_named(archive_path):
        archive = zipfile.ZipFile(archive_path)
    with archive:
        yield archive


def make_plan(archive: zipfile.ZipFile, archive_path: Path) -> Plan:
    """Judge every member and say what would be unpacked where. Writes nothing.

    A member belongs to the platform whose folder is first in its path, whatever stands in front:
    `offline_images/os_mac/a.png` and `os_mac/a.png` are the same picture.

    Raises:
        UserError: a member is unsafe, or the archive as a whole is; nothing was unpacked.
    """
    members = archive.infolist()
    problems = _whole_archive_problems(members, archive_path.stat().st_size)
    pictures: list[Picture] = []
    skipped: list[str] = []
    for member in members:
        reason = _unsafe_because(member)
        if reason:
            problems.append(f"member {member.orig_filename!r} {reason}")
            continue
        if member.is_dir():
            continue
        target = _target_of(member)
        if target is None:
            skipped.append(member.filename)
        else:
            pictures.append(Picture(member, target))
    problems += _clashes(pictures)
    if not problems and not pictures:
        problems.append(f"no member lies in one of the folders {', '.join(PLATFORMS)}")
    if problems:
        shown = [f"{archive_path}: {problem}" for problem in problems[:_SHOWN]]
        if len(problems) > _SHOWN:
            shown.append(f"{archive_path}: {len(problems) - _SHOWN} more problems like these")
        raise UserError([*shown, "Nothing was unpacked from this archive."])
    return Plan(tuple(pictures), tuple(skipped))


def _whole_archive_problems(members: list[zipfile.ZipInfo], archive_bytes: int) -> list[str]:
    if len(members) > MAX_MEMBERS:
        return [f"{len(members)} members, more than the {MAX_MEMBERS} that are accepted"]
    total = sum(member.file_size for member in members)
    if total > MAX_TOTAL_BYTES:
        return [f"{total} bytes when unpacked, more than the {MAX_TOTAL_BYTES} that are accepted"]
    if total > max(GROWTH_FREE_BYTES, MAX_GROWTH * archive_bytes):
        return [f"{archive_bytes} bytes become {total} when unpacked, more than {MAX_GROWTH}-fold"]
    return []


def _unsafe_because(member: zipfile.ZipInfo) -> str:
    # The raw name: zipfile cuts names at NUL and, on Windows, turns backslashes into slashes.
    name = member.orig_filename
    parts = name.split("/")
    if any(ord(letter) < 32 for letter in name):
        return "has a control character in its name"
    if "\\" in name:
        return "has a backslash in its name"
    if ":" in name:
        return "has a drive letter or colon in its name"
    if name.startswith("/"):
        return "has an absolute path"
    if ".." in parts:
        return "leads out of the folder"
    if PART_NAME in parts:
        return "has the name of this program's temporary file"
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a special file"
    if member.flag_bits & 0x1:
        return "is encrypted"
    return ""


def _target_of(member: zipfile.ZipInfo) -> PurePosixPath | None:
    parts = [part for part in member.filename.split("/") if part not in ("", ".")]
    # macOS adds `__MACOSX/.../os_mac/._a.png` twins, which look like pictures of a platform.
    if "__MACOSX" in parts or parts[-1].startswith("._") or parts[-1].lower() in _LITTER_NAMES:
        return None
    start = next((at for at, part in enumerate(parts) if part in PLATFORMS), None)
    if start is None or start == len(parts) - 1:
        return None
    return PurePosixPath(*parts[start:])


def _clashes(pictures: list[Picture]) -> list[str]:
    # Without regard to case: on macOS and Windows the second file would replace the first.
    seen: set[str] = set()
    problems: list[str] = []
    for picture in pictures:
        key = str(picture.target).casefold()
        if key in seen:
            problems.append(
                f"member {picture.member.filename!r}: a second file for {picture.target}"
            )
        seen.add(key)
    for picture in pictures:
        if any(str(parent).casefold() in seen for parent in picture.target.parents):
            problems.append(f"member {picture.member.filename!r} lies in a folder that is a file")
    return problems


def crc_of(path: Path) -> int:
    """CRC-32 of a file, as a zip states it."""
    crc = 0
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            crc = zlib.crc32(chunk, crc)
    return crc


def is_unpacked(picture: Picture, folder: Path) -> bool:
    """Whether the picture lies in the folder with the size and the CRC that the archive states."""
    path = folder / picture.target
    return path.is_file() and path.stat().st_size == picture.size and crc_of(path) == picture.crc


def unpack(
    archive: zipfile.ZipFile,
    archive_path: Path,
    pictures: list[Picture],
    folder: Path,
    on_bytes: Callable[[int], None],
) -> None:
    """Write pictures below a folder, each under a temporary name until it is complete.

    Killed at any moment, this leaves complete pictures and at most one `.unpacking.part`, which the
    next run overwrites. The temporary file lies in the folder of its picture, so that the renaming
    stays within one disk even where a platform's folder is a link to another.

    Args:
        archive: the open archive.
        archive_path: where it lies, for messages.
        pictures: the members to write, taken from a plan for this archive.
        folder: `offline_images`; made if it is not there.
        on_bytes: called with the number of bytes of each written piece.

    Raises:
        DamagedArchive: a member is cut short, has another CRC or size than stated, or an unknown
            compression.
        OSError: the disk is full or the folder cannot be written.
    """
    for picture in pictures:
        target = folder / picture.target
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.parent / PART_NAME
        try:
            with _damage_named(archive_path, picture.member.filename):
                _write_member(archive, picture, part, on_bytes)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def _write_member(
    archive: zipfile.ZipFile, picture: Picture, part: Path, on_bytes: Callable[[int], None]
) -> None:
    written = 0
    with archive.open(picture.member) as source, part.open("wb") as sink:
        while chunk := source.read(_CHUNK_BYTES):
            written += len(chunk)
            if written > picture.size:
                raise zipfile.BadZipFile(f"holds more than the {picture.size} bytes it states")
            sink.write(chunk)
            on_bytes(len(chunk))
    if written != picture.size:
        raise zipfile.BadZipFile(f"holds {written} bytes and states {picture.size}")
