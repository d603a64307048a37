"""In which layouts the desktop is seen, and what a layout changes."""

import re
import shutil

from benchmarks.worlds.desktop import suite
from benchmarks.worlds.desktop.looks import CHANNELS, REGISTRY, DesktopLook, changed_files
from benchmarks.worlds.desktop.root import SKELETON

XSETTINGS = f"{CHANNELS}/xsettings.xml"


def test_three_seeds_in_a_row_show_a_task_in_all_layouts():
    looks = [task["look"] for task in suite.tasks("L3", range(4), ["calc_total"])]
    assert looks == ["top", "dark", "large", "top"]


def test_a_layout_with_other_icons_changes_them_alone_in_the_settings_of_libreoffice(tmp_path):
    shutil.copytree(SKELETON, tmp_path, dirs_exist_ok=True)
    usual = (SKELETON / REGISTRY).read_bytes()
    files = changed_files(DesktopLook(office_icons="colibre_dark"), tmp_path)
    assert files == {REGISTRY: usual.replace(b">colibre<", b">colibre_dark<")} != {REGISTRY: usual}


def test_a_layout_changes_its_settings_and_keeps_the_others(tmp_path):
    folder = tmp_path / CHANNELS
    folder.mkdir(parents=True)
    for name in ("xsettings", "xfce4-panel"):
        shutil.copy(SKELETON / CHANNELS / f"{name}.xml", folder)
    settings = {
        "xsettings/Net/ThemeName": "Adwaita",
        "xsettings/Xft/DPI": 120,
        "xfce4-panel/plugins/plugin-4/mode": 2,
    }
    registry = tmp_path / REGISTRY
    registry.parent.mkdir(parents=True)
    shutil.copy(SKELETON / REGISTRY, registry)
    files = changed_files(DesktopLook(settings=settings), tmp_path)
    [theme] = re.findall(rb'name="ThemeName" type="string" value="(.*?)"', files[XSETTINGS])
    assert theme == b"Adwaita" and b'name="DPI" type="int" value="120"' in files[XSETTINGS]
    assert b'name="IconThemeName" type="string" value="elementary-xfce"' in files[XSETTINGS]
    assert b'name="mode" type="int" value="2"' in files[f"{CHANNELS}/xfce4-panel.xml"]
    assert files[REGISTRY] == registry.read_bytes()
