"""Renew the list of packages that the desktop is made of, by the apt sources of this machine.

    python -m tools.desktop_packages            # writes benchmarks/worlds/desktop/packages.txt

The list has exact versions and checksums, so a new one makes a new desktop: screens and stored
episodes change with it. Run it on the release that the list is of (Debian 12).
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from benchmarks.worlds.desktop.packages import LIST, Package, apt_options

WANTED = [
    "base-files",
    "bubblewrap",
    "dash",
    "coreutils",
    "libc-bin",
    "locales",
    "libfaketime",
    "xvfb",
    "xkb-data",
    "x11-xkb-utils",
    "dbus-daemon",
    "dbus-bin",
    "xfwm4",
    "xfce4-panel",
    "xfdesktop4",
    "xfce4-settings",
    "xfconf",
    "libxfconf-0-3",
    "libreoffice-calc",
    "libreoffice-writer",
    "libreoffice-impress",
    "libreoffice-gtk3",
    "libreoffice-style-colibre",
    "gimp",
    "thunar",
    "mousepad",
    "evince",
    "ristretto",
    "galculator",
    "fontconfig",
    "fonts-dejavu-core",
    "fonts-liberation2",
    "fonts-crosextra-carlito",
    "poppler-data",
    "adwaita-icon-theme",
    "elementary-xfce-icon-theme",
    "hicolor-icon-theme",
    "gnome-themes-extra",
    "greybird-gtk-theme",
    "dconf-gsettings-backend",
    "gsettings-desktop-schemas",
    "desktop-file-utils",
    "shared-mime-info",
    "libgdk-pixbuf2.0-bin",
    "libglib2.0-bin",
    "libgtk-3-bin",
    "librsvg2-common",
    "libcanberra-gtk3-module",
]
UNUSED = re.compile(
    r"(lib)?perl.*|lib.*-perl|(lib)?python3.*|libllvm\d+|libz3-4|libgl1-mesa-dri|gnupg.*|gpg.*|dirmngr"
    r"|pinentry-.*|dpkg|debconf|adduser|passwd|ucf|usrmerge|init-system-helpers|sensible-utils"
    r"|emacsen-common|dictionaries-common|dbus|dbus-user-session|libflite1|p7zip.*|procps|tar|graphviz"
)
"""Dependencies that nothing here runs: interpreters, installers, keys, graphics drivers."""
FIELDS = ("Package", "Version", "SHA256", "Size", "Filename")


def resolved() -> list[Package]:
    """Return the wanted packages with all that they need, by name."""
    with tempfile.TemporaryDirectory() as folder:
        options = apt_options(Path(folder))
        subprocess.run(["apt-get", *options, "-qq", "update"], check=True)
        install = ["apt-get", *options, "-qq", "-y", "--print-uris", "install", *WANTED]
        lines = subprocess.run(install, check=True, capture_output=True, text=True).stdout
        names = [line.split()[1].partition("_")[0] for line in lines.splitlines()]
        names = [name for name in names if not UNUSED.fullmatch(name)]
        show = ["apt-cache", *options, "show", "--no-all-versions", *names]
        text = subprocess.run(show, check=True, capture_output=True, text=True).stdout
    packages = []
    for paragraph in text.split("\n\n"):
        fields = dict(re.findall(r"^(\S+): (.*)$", paragraph, re.MULTILINE))
        if "Filename" in fields:
            name, version, sha256, size, path = (fields[field] for field in FIELDS)
            packages.append(Package(name, version, sha256, int(size), path))
    return sorted(packages)


def main() -> None:
    packages = resolved()
    LIST.write_text("".join(f"{package}\n" for package in packages), encoding="utf-8")
    print(f"{len(packages)} packages, {sum(p.size for p in packages) / 1e6:.0f} MB: {LIST}")


if __name__ == "__main__":
    main()
