"""The steps of a download: what is there, what has to be fetched, in which order it is replaced.

The two annotation files come first: they are small, and what is wrong with them (a changed file, a
refused token) is known before gigabytes of pictures are on their way.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from utils.dataset.hub import DEFAULT_REVISION, Hub, Remote, Unreachable
from utils.dataset.inventory import read_annotations
from utils.dataset.progress import ByteProgress, in_units
from utils.dataset.receipt import FileNote, PictureNote, Receipt, etag_fits, md5_of
from utils.dataset.unzip import DamagedArchive, is_unpacked, make_plan, opened, unpack
from utils.errors import UserError

REPO_ID = "OpenGVLab/MMBench-GUI"
SET_FOLDER = "MMBench-GUI"
IMAGE_FOLDER = "offline_images"
ZIP_NAME = "MMBench-GUI-OfflineImages.zip"
L1_NAME = "L1_annotations.json"
L2_NAME = "L2_annotations.json"
PUBLISHED_MD5: Mapping[str, str] = {
    ZIP_NAME: "8a34d69f0e9c0c450a48bfc1c90b65d5",
    L1_NAME: "a9a4fd9eb1e4ae0355fee057bd55cbec",
    L2_NAME: "a2e042302ac389299873a857b7370a35",
}
LOCK_NAME = "lock"


@dataclass(frozen=True)
class Order:
    """What the command line and the environment ask for."""

    data_root: Path
    revision: str
    accept_changed: bool
    keep_zip: bool
    md5: Mapping[str, str]

    @property
    def home(self) -> Path:
        return self.data_root / SET_FOLDER

    @property
    def images(self) -> Path:
        return self.home / IMAGE_FOLDER

    @property
    def work(self) -> Path:
        return self.home / ".download"


class Download:
    """One run: looks at what is there, fetches and unpacks the rest."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.receipt = Receipt.load(order.work)
        self.hub = Hub(REPO_ID, order.revision)

    def is_done(self) -> bool:
        """Whether everything is there; reads only, so it works on a read-only data root too."""
        if not self._suffices(ZIP_NAME) or not self._pictures_are_intact():
            return False
        return all(
            self._suffices(name)
            and self._md5_at(self.order.home / name, name) == self.order.md5[name]
            for name in (L1_NAME, L2_NAME)
        )

    def run(self) -> None:
        """Bring everything that is missing.

        Raises:
            UserError: what to do is in the message; what has arrived is kept.
        """
        for name in (L1_NAME, L2_NAME):
            self._settle_annotations(name)
        self._settle_pictures()
        self.receipt.save(self.order.work)
        self._clean_up()

    def warn_about_zip(self) -> None:
        """Say that the pictures are not those of the known zip, if so."""
        note = self.receipt.files.get(ZIP_NAME)
        if note is not None and note.md5 != self.order.md5[ZIP_NAME]:
            say_aside(
                f"warning: {ZIP_NAME} differs from the one that is known: MD5 {note.md5}, expected"
                f" {self.order.md5[ZIP_NAME]}. The publishers have replaced it once before; scores"
                " may not compare with older ones."
            )

    def _settle_annotations(self, name: str) -> None:
        place = self.order.home / name
        expected = self.order.md5[name]
        md5 = self._md5_at(place, name)
        if md5 == expected and self._suffices(name):
            self._note(name, place, md5, self._etag_noted(name))
            return
        remote = self._ask_if_possible(name, there=md5 is not None)
        arrived = place
        if remote is not None and (md5 is None or not self._is_that(place, name, remote)):
            arrived, md5 = self._fetch(remote)
        assert md5 is not None  # a file that is not there is fetched or has raised
        if md5 != expected and not self.order.accept_changed:
            raise UserError(
                f"{name} ({self._source(remote)}) differs from the published one: MD5 {md5},"
                f" expected {expected}. Questions may have changed, scores would not compare with"
                " published ones. To use it anyway, run the same command with --accept-changed;"
                " nothing was replaced."
            )
        if md5 != expected:
            say_aside(f"warning: {name}: changed file accepted, MD5 {md5}, expected {expected}")
        if arrived != place:
            read_annotations(arrived)  # a broken file must not replace a good one
            self._set_aside(place, name)
            arrived.replace(place)
        self._note(name, place, md5, remote.etag if remote else "")
        self.receipt.save(self.order.work)

    def _source(self, remote: Remote | None) -> str:
        if remote is None:
            return f"in {self.order.home}"
        return f"on the hub at revision {self.order.revision}, commit {remote.commit[:8]}"

    def _ask_if_possible(self, name: str, *, there: bool) -> Remote | None:
        """The hub's state of a file; None if one of this revision is there and no way to the hub.

        Machines without network get their files by hand; those cannot be compared with the hub.
        """
        try:
            return self.hub.ask(name)
        except Unreachable as problem:
            if not there or self._revision_noted(name) != self.order.revision:
                raise
            say_aside(f"warning: what is there could not be compared with the hub: {problem}")
            return None

    def _set_aside(self, place: Path, name: str) -> None:
        """Keep a file that neither this program nor the publishers wrote: it may be hand work."""
        note = self.receipt.files.get(name)
        if place.is_file() and (note is None or not note.is_of(place)):
            aside = place.with_name(place.name + ".old")
            place.replace(aside)
            say(f"{place} was another file; it is now {aside.name}")

    def _settle_pictures(self) -> None:
        note = self.receipt.files.get(ZIP_NAME)
        if note is not None and self._pictures_are_intact() and self._zip_is_still(note):
            self.warn_about_zip()
            return
        zip_path = self._find_zip()
        self.warn_about_zip()
        try:
            self._unpack(zip_path)
        except UserError as refused:
            raise UserError([*refused.problems, self._give_up_on(zip_path, refused)]) from refused
        if zip_path.parent == self.order.work and self.order.keep_zip:
            kept = self.order.home / ZIP_NAME
            if kept.exists():  # another one, put there by hand
                kept = kept.with_name(zip_path.name)
            zip_path.replace(kept)
            say(f"kept {kept}")

    def _zip_is_still(self, note: FileNote) -> bool:
        if self._suffices(ZIP_NAME):
            return True
        remote = self._ask_if_possible(ZIP_NAME, there=True)
        return remote is None or remote.etag == note.etag

    def _give_up_on(self, zip_path: Path, refused: UserError) -> str:
        # Without its note the next run asks the hub, which may have a better one by then.
        note = self.receipt.files.pop(ZIP_NAME)
        self.receipt.save(self.order.work)
        if zip_path.parent != self.order.work:
            return f"Remove {zip_path} to have it fetched."
        sound = note.md5 == self.order.md5[ZIP_NAME] or etag_fits(zip_path, note.etag) is True
        if isinstance(refused, DamagedArchive) and not sound:
            zip_path.unlink()
            return "It was removed; run the same command again to fetch it anew."
        return "It is as the hub has it; --revision names an older or newer state."

    def _find_zip(self) -> Path:
        """The zip to unpack: put there by hand, left by an earlier run, or fetched now."""
        by_hand = self.order.home / ZIP_NAME
        if self._suffices(ZIP_NAME):
            note = self.receipt.files.get(ZIP_NAME)
            for path in (by_hand, *sorted(self.order.work.glob(f"*-{ZIP_NAME}"))):
                if note is not None and note.is_of(path):
                    return path
        if by_hand.is_file():
            md5 = self._md5_shown(by_hand, ZIP_NAME)
            etag = ""
            usable = md5 == self.order.md5[ZIP_NAME] and self._suffices(ZIP_NAME)
            if not usable:
                remote = self._ask_if_possible(ZIP_NAME, there=True)
                etag = remote.etag if remote else ""
                usable = remote is None or self._is_that(by_hand, ZIP_NAME, remote)
            if usable:
                self._note_zip(by_hand, md5, etag)
                return by_hand
            say(f"{by_hand} is not the file on the hub; it is left alone")
        remote = self.hub.ask(ZIP_NAME)
        path, md5 = self._fetch(remote)
        self._note_zip(path, md5, remote.etag)
        return path

    def _note_zip(self, path: Path, md5: str, etag: str) -> None:
        # Before the unpacking: a run that is killed in there finds the zip without asking the hub
        # and without reading gigabytes for a sum. The pictures' notes spoke of another zip.
        self._note(ZIP_NAME, path, md5, etag)
        self.receipt.pictures = {}
        self.receipt.save(self.order.work)

    def _fetch(self, remote: Remote) -> tuple[Path, str]:
        work = self.order.work
        work.mkdir(parents=True, exist_ok=True)
        part = remote.part_in(work)
        there = sum(
            path.stat().st_size
            for path in (part, part.with_name(part.name + ".part"))
            if path.exists()
        )
        require_room(work, (remote.size or 0) - there, f"fetch {remote.name}")
        with ByteProgress(f"fetching {remote.name}", remote.size) as progress:
            path = self.hub.fetch(remote, work, progress.add)
        md5 = self._md5_shown(path, remote.name)
        if md5 != self.order.md5[remote.name] and etag_fits(path, remote.etag) is False:
            path.unlink()
            raise UserError(
                f"{remote.name} was damaged on the way: it does not have the sum that the hub"
                " states. It was removed; run the same command again."
            )
        return path, md5

    def _is_that(self, path: Path, name: str, remote: Remote) -> bool:
        if remote.size is not None and path.stat().st_size != remote.size:
            return False
        fits = etag_fits(path, remote.etag)
        if fits is None:  # the hub's tag is no sum: all there is to go by is what it was last time
            note = self.receipt.files.get(name)
            return note is not None and note.etag == remote.etag and note.is_of(path)
        return fits

    def _md5_at(self, path: Path, name: str) -> str | None:
        if not path.is_file():
            return None
        note = self.receipt.files.get(name)
        return note.md5 if note is not None and note.is_of(path) else md5_of(path)

    def _md5_shown(self, path: Path, name: str) -> str:
        with ByteProgress(f"checking {name}", path.stat().st_size) as progress:
            return md5_of(path, progress.add)

    def _note(self, name: str, path: Path, md5: str, etag: str) -> None:
        self.receipt.files[name] = FileNote.of(path, md5, etag, self.order.revision)

    def _suffices(self, name: str) -> bool:
        """Whether what is there, if it is good, need not be compared with what the hub has now."""
        return not self.order.accept_changed and self._revision_noted(name) == self.order.revision

    def _revision_noted(self, name: str) -> str:
        note = self.receipt.files.get(name)
        return note.revision if note is not None else DEFAULT_REVISION

    def _etag_noted(self, name: str) -> str:
        note = self.receipt.files.get(name)
        return note.etag if note is not None else ""

    def _pictures_are_intact(self) -> bool:
        return bool(self.receipt.pictures) and all(
            note.is_of(self.order.images / target) for target, note in self.receipt.pictures.items()
        )

    def _unpack(self, zip_path: Path) -> None:
        images = self.order.images
        with opened(zip_path) as archive:
            plan = make_plan(archive, zip_path)
            missing = [picture for picture in plan.pictures if not is_unpacked(picture, images)]
            needed = sum(picture.size for picture in missing)
            require_room(images, needed, f"unpack {ZIP_NAME}")
            if missing:
                with ByteProgress(f"unpacking {len(missing)} files", needed) as progress:
                    unpack(archive, zip_path, missing, images, progress.add)
        if len(missing) < len(plan.pictures):
            say(f"{len(plan.pictures) - len(missing)} pictures were unpacked already")
        if plan.skipped:
            some = ", ".join(plan.skipped[:3]) + (", ..." if len(plan.skipped) > 3 else "")
            say(f"skipped {len(plan.skipped)} members of the zip that are no pictures: {some}")
        self.receipt.pictures = {
            str(picture.target): PictureNote.of(images / picture.target, picture.crc)
            for picture in plan.pictures
        }

    def _clean_up(self) -> None:
        for path in self.order.work.iterdir():
            if path.is_file() and path.name not in (Receipt.FILE_NAME, LOCK_NAME):
                path.unlink()


@contextmanager
def only_one(work: Path) -> Iterator[None]:
    """Keep a second download out of the same folder; a killed one leaves no lock behind.

    A download that has brought nothing leaves no folder behind that was not there before.
    """
    from filelock import FileLock, Timeout  # comes with huggingface_hub

    made = [folder for folder in work.parents if not folder.exists()]
    work.mkdir(parents=True, exist_ok=True)
    lock = FileLock(work / LOCK_NAME)
    try:
        lock.acquire(timeout=0)
    except Timeout as taken:
        raise UserError(f"{work.parent}: another download into this folder is running.") from taken
    except NotImplementedError:  # a network disk without locks: two at once are unlikely there too
        pass
    try:
        yield
    finally:
        is_empty = [path.name for path in work.iterdir()] == [LOCK_NAME]
        if is_empty:
            (work / LOCK_NAME).unlink()  # still held, so nobody else relies on it
        lock.release()
        if is_empty:
            with suppress(OSError):  # something has come into one of them
                for folder in (work, *made):
                    folder.rmdir()


def require_room(folder: Path, needed: int, purpose: str) -> None:
    """Stop before the disk is full rather than when it is.

    Raises:
        UserError: fewer bytes are free than needed.
    """
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(
            f"{folder}: {in_units(needed)} needed to {purpose}, {in_units(free)} free. Make room,"
            " or choose another folder with LMUData or --data-root; what has arrived is kept."
        )


def say(line: str) -> None:
    print(line, flush=True)


def say_aside(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
