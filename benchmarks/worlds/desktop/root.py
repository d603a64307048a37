"""The folder of the desktop: where it lies, whether it is made, and how it is made."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from benchmarks.worlds.desktop import packages, triggers
from benchmarks.worlds.desktop.sandbox import (
    can_be_nobody,
    identity,
    refused_namespaces,
    trial_command,
)
from benchmarks.worlds.desktop.template import make_template
from benchmarks.worlds.desktop.unpack import unpack
from utils.contracts import WorldError
from utils.errors import UserError

FOLDER = "DESKTOP_DIR"
"""Names the folder in which all of it lies, in place of the one of caches."""
SKELETON = Path(__file__).with_name("skeleton")
TEMPLATE_VERSION = 1
"""Raised where the home that episodes begin with is made in another way."""
MADE, TEMPLATE_MADE = "made.json", ".made"
MAKE = "make desktop"
NEEDED_MB = 2600


def desktop_folder() -> Path:
    """Return the folder of all desktops that were made."""
    named = os.environ.get(FOLDER, "").strip()
    if named:
        return Path(named).expanduser()
    if os.geteuid() == 0:
        return Path("/var/cache/mmbench-gui-desktop")  # what runs in it is not root, and reads it
    caches = os.environ.get("XDG_CACHE_HOME", "").strip() or "~/.cache"
    return Path(caches).expanduser() / "mmbench-gui-desktop"


def _digest(*parts: bytes) -> str:
    return hashlib.blake2b(b"\0".join(parts), digest_size=6).hexdigest()


def list_digest() -> str:
    """Return a hash of the list of packages and of what is done to them."""
    return _digest(packages.LIST.read_bytes(), str(triggers.VERSION).encode())


def template_digest() -> str:
    """Return a hash of what the home of every episode is made from."""
    files = sorted(path for path in SKELETON.rglob("*") if path.is_file())
    contents = [part for path in files for part in (path.name.encode(), path.read_bytes())]
    return _digest(list_digest().encode(), str(TEMPLATE_VERSION).encode(), *contents)


def root_folder() -> Path:
    """Return the folder of the unpacked packages of the list."""
    return desktop_folder() / f"root-{list_digest()}"


def template_folder() -> Path:
    """Return the folder of the home that every episode begins with."""
    return desktop_folder() / f"home-{template_digest()}"


def worlds_folder() -> Path:
    """Return the folder of the worlds' folders; the user of the worlds must have access to it."""
    if not can_be_nobody():
        return Path(tempfile.gettempdir())
    folder = desktop_folder() / "worlds"
    folder.mkdir(exist_ok=True)
    return folder


def is_made() -> bool:
    """Whether the desktop is complete."""
    return (root_folder() / MADE).is_file() and (template_folder() / TEMPLATE_MADE).is_file()


def problems() -> list[str]:
    """All that keeps the desktop from running on this machine, one line each with what to do."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return [f"the desktop runs on Linux on x86-64 alone; this is {platform.platform()}"]
    if not is_made():
        line = f"the desktop is not made; run: {MAKE} (313 MB to fetch, 1.1 GB on disk)"
        why = refused_namespaces()
        return [_what_to_change(why), line] if why else [line]
    why = _why_no_sandbox(root_folder())
    return [why] if why else []


def _why_no_sandbox(root: Path) -> str:
    """Try a sandbox in a root; return what to change where it does not work."""
    result = subprocess.run(
        trial_command(),
        cwd=root,
        env={},
        capture_output=True,
        text=True,
        **identity(),
    )
    if result.returncode == 0:
        return ""
    why = result.stderr.strip().splitlines()[-1:] or [f"bwrap ended with {result.returncode}"]
    if "source path" in why[0] or "execvp" in why[0]:
        folder = desktop_folder()
        return f"{folder} is not readable for everybody ({why[0]}); set {FOLDER} to another folder"
    return _what_to_change(why[0])


def _what_to_change(why: str) -> str:
    return (
        f"the desktop needs user namespaces, and this machine refuses them ({why}); in Docker: "
        "--security-opt seccomp=unconfined --security-opt systempaths=unconfined; on Ubuntu: "
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0; elsewhere: "
        "sysctl user.max_user_namespaces=15000"
    )


# -- making it -------------------------------------------------------------------------------------


def make(say: Callable[[str], None] = print) -> None:
    """Fetch, unpack and prepare the desktop; do nothing where it is made already.

    What was fetched stays until the root is made: a make that was interrupted goes on.

    Raises:
        UserError: it cannot be made here.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise UserError(problems())
    folder = desktop_folder()
    if not is_made():
        umask = os.umask(0o022)  # what runs in it may be somebody else, and reads all of it
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(folder / "making.lock"):  # of two that are started together, one waits
                _make_missing(say)
        finally:
            os.umask(umask)
    else:
        say(f"The desktop is made already: {folder}")
    for path in _older(folder):
        say(f"Of an earlier list; if nothing uses it any more: rm -r {path}")
    say(f"To remove all of it: rm -r {folder}")


def _make_missing(say: Callable[[str], None]) -> None:
    begin = time.monotonic()
    refused = refused_namespaces()
    if refused:  # before 313 MB are fetched for nothing
        raise UserError(_what_to_change(refused))
    if not (root_folder() / MADE).is_file():
        _make_root(say)
    why = _why_no_sandbox(root_folder())
    if why:
        raise UserError(why)
    if not (template_folder() / TEMPLATE_MADE).is_file():
        say("making the home that every episode begins with: starting each application once")
        try:
            make_template(root_folder(), SKELETON, template_folder(), worlds_folder())
        except WorldError as error:
            raise UserError(
                f"making the home failed: {error}. Run it again: what is there already stays; on a "
                "machine that is very busy a program may not come in time"
            ) from error
    made = (root_folder(), template_folder())
    size = sum(path.lstat().st_size for part in made for path in part.rglob("*"))
    say(
        f"The desktop is made: {desktop_folder()}, {size / 1e9:.2f} GB, in "
        f"{time.monotonic() - begin:.0f} s\n"
        f"Licences of its {len(packages.listed_packages())} packages: "
        f"{root_folder() / 'LICENCES.txt'}"
    )


def _make_root(say: Callable[[str], None]) -> None:
    folder = desktop_folder()
    free_mb = shutil.disk_usage(folder).free / 1e6
    if free_mb < NEEDED_MB:
        raise UserError(
            f"{folder} has {free_mb:.0f} MB free, {NEEDED_MB} MB are needed to make the desktop; "
            f"set {FOLDER} to a folder with more room"
        )
    fetched = folder / "packages"
    packages.fetch(packages.listed_packages(), fetched, say)
    part = root_folder().with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    archives = [fetched / package.file_name for package in packages.listed_packages()]
    say(f"unpacking {len(archives)} packages")
    unpack(archives, part)
    why = _why_no_sandbox(part)
    if why:
        raise UserError(why)
    say("preparing them: caches, fonts, schemas")
    triggers.run_triggers(part)
    (part / "LICENCES.txt").write_text(_licences(part), encoding="utf-8")
    (part / MADE).write_text(json.dumps({"packages": len(archives)}), encoding="utf-8")
    part.replace(root_folder())
    shutil.rmtree(fetched)


def _older(folder: Path) -> list[Path]:
    """Return the folders of earlier package lists; a run of an earlier version may use them."""
    kept = {root_folder(), template_folder()}
    return sorted(path for name in ("root-*", "home-*") for path in {*folder.glob(name)} - kept)


def _licences(root: Path) -> str:
    """Return a line for each package: its version, and the licences that its copyright names."""
    lines = ["Licences of the packages, by the names in usr/share/doc/PACKAGE/copyright.", ""]
    for package in packages.listed_packages():
        file = root / "usr/share/doc" / package.name / "copyright"
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        names = set(re.findall(r"^License: *(\S[^\n]*)", text, re.MULTILINE))
        names |= set(re.findall(r"/usr/share/common-licenses/([\w.+-]*\w)", text))
        lines.append(f"{package.name} {package.version}: {', '.join(sorted(names)) or 'see there'}")
    return "\n".join(lines) + "\n"
