"""The packages that the desktop is made of: a list with checksums, and the way to fetch them."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from utils.errors import UserError

LIST = Path(__file__).with_name("packages.txt")
RELEASE = "Debian 12 (bookworm), amd64"
MIRRORS = "DESKTOP_MIRROR"
"""Names addresses to fetch from, separated by spaces, in place of the apt sources of the host."""
AT_ONCE = 100  # packages in one call of apt
CHUNK = 1 << 20
TIMEOUT_S = 60


@dataclass(frozen=True, order=True, slots=True)
class Package:
    """A line of the list."""

    name: str
    version: str
    sha256: str
    size: int  # bytes
    path: str  # below the address of a mirror: "pool/main/..."

    def __str__(self) -> str:
        return f"{self.name} {self.version} {self.sha256} {self.size} {self.path}"

    @property
    def file_name(self) -> str:
        """The name of its file in the folder of fetched packages."""
        return f"{self.sha256[:16]}-{self.name}.deb"


@functools.cache
def listed_packages() -> tuple[Package, ...]:
    """Return the packages of the list."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines]
    return tuple(Package(row[0], row[1], row[2], int(row[3]), row[4]) for row in rows)


def fetch(packages: Sequence[Package], folder: Path, say: Callable[[str], None]) -> int:
    """Fetch those packages that do not lie in a folder yet; return how many bytes that were.

    A fetch that was interrupted goes on with the packages that are not there.

    Raises:
        UserError: a package cannot be had, or is not the one of the list.
    """
    missing = [package for package in packages if not _is_right(package, folder)]
    if not missing:
        return 0
    size = sum(package.size for package in missing)
    mirrors = os.environ.get(MIRRORS, "").split()
    source = ", ".join(mirrors) if mirrors else "the apt sources of this machine"
    say(f"fetching {len(missing)} packages, {size / 1e6:.0f} MB, from {source}")
    folder.mkdir(parents=True, exist_ok=True)
    if mirrors:
        for package in missing:
            _fetch_from_mirrors(package, mirrors, folder)
    else:
        _fetch_by_apt(missing, folder)
    for package in missing:
        if not _is_right(package, folder):
            raise UserError(
                f"{package.name} {package.version} was fetched, but its checksum is not that of "
                f"{LIST.name}; delete {folder} and try again, or set {MIRRORS} to another mirror"
            )
    return size


def _is_right(package: Package, folder: Path) -> bool:
    file = folder / package.file_name
    if not file.is_file() or file.stat().st_size != package.size:
        return False
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == package.sha256


# -- from a mirror ---------------------------------------------------------------------------------


def _fetch_from_mirrors(package: Package, mirrors: Sequence[str], folder: Path) -> None:
    errors = []
    for mirror in mirrors:
        address = f"{mirror.rstrip('/')}/{package.path}"
        try:
            with urllib.request.urlopen(address, timeout=TIMEOUT_S) as response:
                _save(response, folder / package.file_name)
        except (urllib.error.URLError, OSError, ValueError) as error:
            errors.append(f"{address}: {error}")
        else:
            return
    raise UserError(
        f"{package.name} {package.version} cannot be fetched: {'; '.join(errors)}. "
        f"Set {MIRRORS} to a mirror that has it (an archive of Debian's snapshots has all versions)"
    )


def _save(response: IO[bytes], file: Path) -> None:
    part = file.with_suffix(".part")
    with part.open("wb") as target:
        shutil.copyfileobj(response, target, CHUNK)
    part.replace(file)


# -- by apt ----------------------------------------------------------------------------------------


def apt_options(folder: Path) -> list[str]:
    """Return the options by which apt keeps all that it writes in a folder: no rights are needed.

    Its sources and keys are those of the host; it knows of no installed package.
    """
    for name in ("lists/partial", "archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    status = folder / "status"
    status.touch()
    values = {
        "Dir::State": folder,
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": status,
        "Dir::Cache": folder,
        "Debug::NoLocking": 1,
        "APT::Install-Recommends": 0,
        "APT::Architecture": "amd64",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
    }
    return [text for name, value in values.items() for text in ("-o", f"{name}={value}")]


def _fetch_by_apt(packages: Sequence[Package], folder: Path) -> None:
    if shutil.which("apt-get") is None:
        raise UserError(
            f"this machine has no apt-get; set {MIRRORS} to mirrors of Debian and of its security "
            f"updates, or of their snapshots, which have the packages of {RELEASE}"
        )
    options = apt_options(folder / "apt")
    _run_apt(["apt-get", *options, "-qq", "update"], folder)
    for begin in range(0, len(packages), AT_ONCE):
        part = packages[begin : begin + AT_ONCE]
        names = [f"{package.name}={package.version}" for package in part]
        _run_apt(["apt-get", *options, "-qq", "download", *names], folder)
        for package in part:
            for file in folder.glob(f"{package.name}_*.deb"):
                file.replace(folder / package.file_name)


def _run_apt(command: Sequence[str], folder: Path) -> None:
    result = subprocess.run(
        command, cwd=folder, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True
    )
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if line.startswith("E:")]
        why = "; ".join(lines[:3]) or result.stderr.strip()[-300:]
        raise UserError(
            f"apt cannot fetch the packages of {RELEASE}: {why}. "
            "Where the sources of this machine are of another release, or have newer versions, "
            f"set {MIRRORS} to mirrors of Debian and of its security updates, or of their snapshots"
        )
