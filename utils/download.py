"""Fetch the published data set and lay it out as the evaluation expects it.

    LMUData=/data python utils/download.py
    LMUData=/data python utils/download.py ScreenSpotPro UIVision     # other grounding tables

Two annotation files and one zip with the images come from the Hugging Face hub, are compared with
the MD5 sums of the published files, and end in `<LMUData>/MMBench-GUI`. The same command goes on
after any interruption and does nothing where everything is there. What is under way lies in
`MMBench-GUI/.download`, and so does a note of what was unpacked.

Exit codes: 0 all there; 1 all there, but the annotations name images that are missing; 2 an error;
130 interrupted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import shutil
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

PROJECT_ROOT = Path(__file__).resolve().parent.parent
if __package__ in (None, ""):
    # Run as a script, Python puts `utils` itself in front, where `errors` or `config` would hide
    # packages of the same name; what belongs there is the project root.
    sys.path[:] = [str(PROJECT_ROOT), *(e for e in sys.path if e != str(PROJECT_ROOT / "utils"))]

if __name__ == "__main__":  # ahead of the imports that would end in a traceback
    from utils.starting import interruptible_imports, stop_unless_ready

    interruptible_imports()
    stop_unless_ready("dotenv", "filelock", "huggingface_hub", program="utils/download.py")

from utils.config.environment import load_dotenv_files
from utils.data_files import read_json
from utils.datasets.hub import Hub
from utils.datasets.table_downloads import BROKEN_ZIP, fetch_tables, listing, members_by_target
from utils.errors import UserError
from utils.geometry.images import data_root, expand_home
from utils.locks import file_lock
from utils.program import CONFIGS, DOWNLOAD, EVALUATE
from utils.protocol import L1_NAME, L2_NAME, PLATFORMS, PUBLISHED_MD5, ZIP_NAME
from utils.starting import imports_are_done

REPO_ID = "OpenGVLab/MMBench-GUI"
IMAGE_FOLDER, NOTE_NAME, LOCK_NAME = "offline_images", "unpacked.json", "lock"
_say = partial(print, flush=True)


@dataclass(frozen=True)
class Download:
    """One run: looks at what is there, fetches and unpacks the rest."""

    home: Path  # `<LMUData>/MMBench-GUI`
    work: Path  # the folder in it for what is under way
    accept_changed: bool
    md5: Mapping[str, str]  # the sums to compare with, by file name

    def run(self) -> None:
        """Bring everything that is missing; a complete data root is only read."""
        hub, note = Hub(REPO_ID), self._note()
        is_present = {name: (self.home / name).is_file() for name in (L1_NAME, L2_NAME)}
        sizes, images = note["sizes"], self.home / IMAGE_FOLDER
        is_unpacked = bool(sizes) and all(_size(images / name) == sizes[name] for name in sizes)
        is_done = is_unpacked and all(is_present.values())
        _say("Everything is already there." if is_done else f"{REPO_ID} → {self.home}")
        with nullcontext() if is_done else only_one(self.work):
            # The small files first: what is wrong with them is known before gigabytes are fetched.
            for name, is_there in is_present.items():
                self._settle_annotations(name, None if is_there else hub)
            if not is_unpacked:
                by_hand = self.home / ZIP_NAME
                is_there = by_hand.is_file()
                note = self._unpacked_from(by_hand if is_there else hub.fetch(ZIP_NAME, self.work))
        if note["md5"] != self.md5[ZIP_NAME]:
            _warn(
                f"warning: {ZIP_NAME} differs from the known one: MD5 {note['md5']}, expected "
                f"{self.md5[ZIP_NAME]}; scores may not be comparable with older ones."
            )

    def _note(self) -> dict[str, Any]:
        """The note on what was unpacked last: MD5 of the zip, and the size of each image."""
        try:
            note = json.loads((self.work / NOTE_NAME).read_text("ascii"))
            return {"sizes": dict(note["sizes"]), "md5": note["md5"] + ""}
        except (OSError, ValueError, TypeError, KeyError):
            return {"md5": "", "sizes": {}}

    def _settle_annotations(self, name: str, hub: Hub | None) -> None:
        """Check an annotation file, fetched first if a hub is given."""
        path = hub.fetch(name, self.work) if hub else self.home / name
        md5, expected = _md5(path), self.md5[name]
        difference = f"differs from the published file: MD5 {md5}, expected {expected}"
        if md5 != expected and not self.accept_changed:
            if hub:
                path.unlink()
            rest = "nothing was replaced." if hub else "to fetch it again, remove it."
            raise UserError(
                f"{path} {difference}; scores would not be comparable with published scores. To "
                f"use it anyway, run the same command with --accept-changed; {rest}"
            )
        if md5 != expected:
            _warn(f"warning: {name} is accepted although it {difference}")
        if hub:
            read_annotations(path)  # a broken file must not replace a good one
            path.replace(self.home / name)

    def _unpacked_from(self, path: Path) -> dict[str, Any]:
        """Unpack a zip and take a note of it; then nothing under way is needed any more."""
        _say(f"checking and unpacking {ZIP_NAME}")
        note: dict[str, Any] = {"md5": _md5(path)}
        try:
            with zipfile.ZipFile(path) as archive:
                note["sizes"] = unpack(archive, self.home / IMAGE_FOLDER)
        except BROKEN_ZIP as problem:
            advice = f"Remove {path} and run the same command to fetch it."
            if path.parent == self.work:
                path.unlink()
                advice = "It was removed; run the same command again to fetch it anew."
            raise UserError(f"{path}: not a readable zip file ({problem}). {advice}") from problem
        part = self.work / f"{NOTE_NAME}.part"
        part.write_text(json.dumps(note), encoding="ascii")
        part.replace(self.work / NOTE_NAME)
        for file in self.work.iterdir():
            if file.name not in (NOTE_NAME, LOCK_NAME):
                file.unlink()
        return note


def unpack(archive: zipfile.ZipFile, images: Path) -> dict[str, int]:
    """Write the images that are missing or differ, each under a temporary name until it is whole.

    Returns:
        The size of each image of the zip, by its path below `images`.
    """
    by_target = members_by_target(archive, image_of)
    if not by_target:
        folders = ", ".join(PLATFORMS)
        raise UserError(f"{archive.filename}: no member lies in one of the folders {folders}")
    for target, member in by_target.items():
        has_size = _size(images / target) == member.file_size
        if has_size and zlib.crc32((images / target).read_bytes()) == member.CRC:
            continue
        part = (images / target).with_name(".unpacking.part")
        part.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(member) as source, part.open("wb") as sink:
            shutil.copyfileobj(source, sink)
        part.replace(images / target)
    files = [member.filename for member in archive.infolist() if not member.is_dir()]
    if skipped := sum(not image_of(name) for name in files):
        _say(f"skipped {skipped} members of the zip that are not images of a platform")
    return {target: member.file_size for target, member in by_target.items()}


def image_of(name: str) -> str:
    """Return a member's path below the image folder, from its platform on; "": it is no image."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    # macOS adds `__MACOSX/.../os_mac/._a.png` twins, which look like images of a platform.
    is_litter = parts[-1].startswith(".") or parts[-1] == "Thumbs.db" or "__MACOSX" in parts
    if is_litter or ".." in parts or any(sign in name for sign in "\\:"):
        return ""
    platforms = [index for index, part in enumerate(parts[:-1]) if part in PLATFORMS]
    start = platforms[0] if platforms else len(parts)
    return "/".join(parts[start:])


def only_one(work: Path) -> AbstractContextManager[Any]:
    """Keep a second download out of the same folder; a killed one leaves no lock behind."""
    from filelock import Timeout

    work.mkdir(parents=True, exist_ok=True)
    try:
        return file_lock(work / LOCK_NAME, timeout_s=0).acquire()
    except Timeout:
        raise UserError(f"{work.parent}: another download into this folder is running.") from None


def read_annotations(path: Path) -> list[dict[str, Any]]:
    """Return the entries of an annotation file.

    Raises:
        UserError: it is no JSON, or no list of objects.
    """
    try:
        entries = read_json(path)
    except ValueError as problem:
        raise UserError(f"{path}: not valid JSON ({problem})") from problem
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UserError(f"{path}: expected a list of objects")
    return entries


def inventory(home: Path) -> tuple[list[str], int]:
    """A list of what is there, one line each, and the number of images that are missing."""

    def image_in(line: Mapping[str, Any]) -> str:  # L1 names it with or without the platform
        path = str(line.get("image_path") or "")
        return path if path.split("/")[0] in PLATFORMS else f"{line.get('platform')}/{path}"

    images = home / IMAGE_FOLDER
    present = {path.relative_to(images).as_posix() for path in images.rglob("[!.]*.*")}
    counts = Counter(path.split("/")[0] for path in present)
    l1, l2 = read_annotations(home / L1_NAME), read_annotations(home / L2_NAME)
    l1_images, l2_images = set(map(image_in, l1)), set(map(image_in, l2))
    questions = sum(len(line.get("groups") or ()) for line in l1)
    missing = sorted((l1_images | l2_images) - present)
    lines = [
        f"  images           {sum(counts[platform] for platform in PLATFORMS):,}",
        *(f"    {platform:<12}   {counts[platform]:,}" for platform in PLATFORMS),
        f"  L1 questions     {questions:,} on {len(l1_images):,} images",
        f"  L2 instructions  {len(l2):,} on {len(l2_images):,} images",
    ]
    if missing:
        lines.append(f"  missing          {len(missing):,} images of the annotations:")
        lines += [f"    {path}" for path in missing[:10]]
    return lines, len(missing)


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; None: that of the process."""
    parser = argparse.ArgumentParser(
        prog=DOWNLOAD,
        description=f"Fetch the data set {REPO_ID} from the Hugging Face hub, check it and unpack"
        " it into <LMUData>/MMBench-GUI. After an interruption, run it again: it continues.",
        epilog="HF_ENDPOINT (a mirror), HF_TOKEN and proxy variables work as in huggingface_hub."
        f" Without a network, put {L1_NAME}, {L2_NAME} and {ZIP_NAME} into <LMUData>/MMBench-GUI"
        " yourself, and run this command.",
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="data sets to fetch (default: MMBench-GUI)")
    add("--list", action="store_true", help="list the data sets, with sizes and licences")
    add(
        "--data-root",
        metavar="FOLDER",
        help="folder for the data (default: LMUData, else ~/LMUData)",
    )
    add(
        "--accept-changed",
        action="store_true",
        help="use annotation files even if they differ from the published ones",
    )
    # For the tests, whose small files have other sums. No variable, which could be forgotten.
    add("--sums", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def fetch(options: argparse.Namespace) -> int:
    """Bring the data set, print what is there, and return the exit code."""
    if options.list:
        _say(listing())
        return 0
    md5 = PUBLISHED_MD5
    root = expand_home(options.data_root) if options.data_root else data_root()
    if options.names:
        fetch_tables(options.names, root.absolute())
        return 0
    home = root.absolute() / "MMBench-GUI"
    if options.sums:
        md5 = read_json(options.sums)
        _warn(f"note: compared with the sums in {options.sums}, not with the published ones")
    Download(home, home / ".download", options.accept_changed, md5).run()
    lines, missing = inventory(home)
    next_step = (
        f"\nNext: LMUData={shlex.quote(str(home.parent))} {EVALUATE} --config "
        f"{CONFIGS}/config_api_gpt.json --check"
    )
    _say("\n".join(["", str(home), *lines, next_step]))
    return 1 if missing else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; 1: images are missing."""
    imports_are_done()
    options = read_options(argv)
    try:
        load_dotenv_files()
        return fetch(options)
    except UserError as mistake:
        _warn("\n".join(f"error: {problem}" for problem in mistake.problems))
    except OSError as problem:
        _warn(
            f"error: {problem.filename or 'the data root'}: {problem.strerror or problem}. Fix "
            "this, or choose another folder with --data-root, and run the same command again. "
            "Fetched files are kept."
        )
    except KeyboardInterrupt:
        _warn("\nStopped. Fetched files are kept; run the same command again to continue.")
        return 130
    return 2


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _warn(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
