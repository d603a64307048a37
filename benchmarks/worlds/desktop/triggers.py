"""Do in an unpacked root what the scripts of its packages would do, were they installed."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks.worlds.desktop.sandbox import maker_command
from utils.errors import UserError

VERSION = 1
"""Counts for the name of the folder: raised where what is done here makes another root."""
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
FILES = {
    "etc/passwd": ("root:x:0:0:root:/:/bin/false\nuser:x:1000:1000:User:/home/user:/bin/false\n"),
    "etc/group": "root:x:0:\nuser:x:1000:\n",
    "etc/hostname": "desktop\n",
    "etc/hosts": "127.0.0.1 localhost desktop\n",
    "etc/machine-id": "00000000000000000000000000000001\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "etc/timezone": "UTC\n",
}
LINKS = {
    "etc/localtime": "/usr/share/zoneinfo/UTC",
    f"{LIBRARIES[1:]}/libblas.so.3": "blas/libblas.so.3",
    f"{LIBRARIES[1:]}/liblapack.so.3": "lapack/liblapack.so.3",
}
"""What update-alternatives and the like would have made."""
COMMANDS = (
    ["/sbin/ldconfig"],
    ["localedef", "-i", "en_US", "-f", "UTF-8", "en_US.UTF-8"],
    ["glib-compile-schemas", "/usr/share/glib-2.0/schemas"],
    [f"{LIBRARIES}/gdk-pixbuf-2.0/gdk-pixbuf-query-loaders", "--update-cache"],
    [f"{LIBRARIES}/libgtk-3-0/gtk-query-immodules-3.0", "--update-cache"],
    [f"{LIBRARIES}/libgtk2.0-0/gtk-query-immodules-2.0", "--update-cache"],
    [f"{LIBRARIES}/glib-2.0/gio-querymodules", f"{LIBRARIES}/gio/modules"],
    ["update-mime-database", "/usr/share/mime"],
    ["update-desktop-database", "/usr/share/applications"],
    ["fc-cache", "-f"],
)
SLOW_PLUGINS = ("file-heif", "file-darktable", "file-rawtherapee", "file-raw-placeholder")
"""Of GIMP; each is asked at every start what it can do."""
HIDDEN_FROM_MENUS = (
    "exo-*.desktop",
    "xfce4-mail-reader.desktop",
    "xfce4-web-browser.desktop",
    "xfce4-terminal-emulator.desktop",
    "xfce4-file-manager.desktop",
    "xfce4-about.desktop",
    "xfce4-accessibility-settings.desktop",
    "xfce4-color-settings.desktop",
    "xfce4-mime-settings.desktop",
    "xfce-display-settings.desktop",
    "thunar-bulk-rename.desktop",
    "thunar-settings.desktop",
    "libreoffice-xsltfilter.desktop",
)
"""Entries of what is not there (a terminal, a browser), and of what would only lead astray."""


def run_triggers(root: Path) -> None:
    """Make caches, links and files that programs need.

    Raises:
        UserError: one of the programs for it fails.
    """
    for path, text in FILES.items():
        (root / path).write_text(text, encoding="utf-8")
    for path, target in LINKS.items():
        link = root / path
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    registry = root / "usr/lib/libreoffice/share/.registry"
    shutil.copytree(registry, root / "etc/libreoffice/registry", dirs_exist_ok=True)
    charmap = root / "usr/share/i18n/charmaps/UTF-8"
    charmap.write_bytes(gzip.decompress(charmap.with_suffix(".gz").read_bytes()))
    for name in SLOW_PLUGINS:
        shutil.rmtree(root / "usr/lib/gimp/2.0/plug-ins" / name, ignore_errors=True)
    for pattern in HIDDEN_FROM_MENUS:
        for entry in (root / "usr/share/applications").glob(pattern):
            entry.unlink()
    for folder in ("home/user", "run", "tmp", "proc", "dev", "task", "var/cache/fontconfig"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for command in COMMANDS:
        _run(root, command)
    for theme in sorted((root / "usr/share/icons").iterdir()):
        if (theme / "index.theme").is_file():
            _run(root, ["gtk-update-icon-cache", "-f", "-q", f"/usr/share/icons/{theme.name}"])


def _run(root: Path, command: Sequence[str]) -> None:
    result = subprocess.run(
        maker_command(command), cwd=root, env={}, capture_output=True, text=True, errors="replace"
    )
    if result.returncode and command[0] != "localedef":  # which warns about its own files
        why = result.stderr.strip()[-300:] or f"it ended with {result.returncode}"
        raise UserError(f"making the desktop: {command[0]} failed: {why}")
