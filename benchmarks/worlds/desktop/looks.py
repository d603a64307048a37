"""In which layouts the desktop is seen: where its panel is, its colours, its size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from utils.contracts import WH

SCREEN_WH: WH = (1280, 720)
CHANNELS = ".config/xfce4/xfconf/xfce-perchannel-xml"
REGISTRY = ".config/libreoffice/4/user/registrymodifications.xcu"
ICONS = b"<value>colibre</value>"  # of LibreOffice, in the usual home
PANEL = "xfce4-panel/panels/panel-1"


@dataclass(frozen=True, slots=True)
class DesktopLook:
    """A layout: the size of the screen, and settings in place of those of the usual home."""

    screen_wh: WH = SCREEN_WH
    settings: Mapping[str, str | int] = field(default_factory=dict)  # by channel and name
    office_icons: str = "colibre"


LOOKS = {
    "top": DesktopLook(),
    "dark": DesktopLook(
        settings={
            f"{PANEL}/position": "p=5;x=0;y=0",  # left
            f"{PANEL}/mode": 1,  # vertical
            "xsettings/Net/ThemeName": "Greybird-dark",
            "xsettings/Net/IconThemeName": "elementary-xfce-dark",
            "xfwm4/general/theme": "Greybird-dark",
            "xfce4-panel/plugins/plugin-4/mode": 2,  # the clock would set it by itself
        },
        office_icons="colibre_dark",
    ),
    "large": DesktopLook(
        screen_wh=(1920, 1080),
        settings={
            f"{PANEL}/position": "p=8;x=0;y=0",  # below
            f"{PANEL}/size": 40,
            f"{PANEL}/icon-size": 24,
            "xsettings/Xft/DPI": 120,
            "xsettings/Net/ThemeName": "Adwaita",
            "xfwm4/general/theme": "Default-hdpi",
        },
    ),
}
"""Layouts by name; the first is the usual one."""
USUAL = "top"


def look_of(seed: int) -> str:
    """Return the layout of all tasks under a seed: the usual one under 0, then the others in turn.

    One for all, so that the next desktop can be made ready before its task is known.
    """
    return [*LOOKS][seed % len(LOOKS)]


def changed_files(look: DesktopLook, home: Path) -> dict[str, bytes]:
    """Return the files of a home that a layout has otherwise, by path.

    Args:
        look: the layout.
        home: the home of the usual one.
    """
    by_channel: dict[str, dict[str, str | int]] = {}
    for key, value in look.settings.items():
        channel, _, name = key.partition("/")
        by_channel.setdefault(channel, {})[name] = value
    registry = (home / REGISTRY).read_bytes()
    icons = f"<value>{look.office_icons}</value>".encode()
    files = {REGISTRY: registry.replace(ICONS, icons)}
    for channel, settings in by_channel.items():
        path = f"{CHANNELS}/{channel}.xml"
        root = ElementTree.fromstring((home / path).read_bytes())
        for name, value in settings.items():
            _set(root, name.split("/"), value)
        files[path] = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return files


def _set(element: ElementTree.Element, names: list[str], value: str | int) -> None:
    for name in names:
        child = element.find(f"property[@name='{name}']")
        if child is None:
            child = ElementTree.SubElement(element, "property", {"name": name, "type": "empty"})
        element = child
    if element.get("type") == "empty":
        element.set("type", "int" if isinstance(value, int) else "string")
    element.set("value", str(value))
