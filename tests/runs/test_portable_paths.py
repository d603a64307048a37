"""Folders of this machine in texts: one rule for the report, the manifest and the log's config."""

from __future__ import annotations

from pathlib import Path

import pytest

from utils.report.privacy import path_hider
from utils.runs.portable_paths import portable

BOTH = pytest.mark.parametrize("hide", [lambda text: path_hider([])(text), lambda text: portable({})(text)],
                               ids=["report", "manifest"])  # fmt: skip


@BOTH
@pytest.mark.parametrize(("text", "expected"), [
    ("/people/jane", "~"),
    ("/people/jane/x", "~/x"),
    ("see /people/jane.", "see ~."),
    ("/people/jane. Then", "~. Then"),
    ("a\n/people/jane/x", "a\n~/x"),
    ("a\t/people/jane/x", "a\t~/x"),
    ("--at=/people/jane:/people/jane/y", "--at=~:~/y"),
    ("“/people/jane/x”", "“~/x”"),
    ("→/people/jane", "→~"),
    ("in /people/jane’s", "in ~’s"),
    ("/people/janet/x", "/people/janet/x"),
    ("/people/jane-b/x", "/people/jane-b/x"),
    ("/people/jane.old/x", "/people/jane.old/x"),
    ("x/people/jane/y", "x/people/jane/y"),
])  # fmt: skip
def test_the_home_folder_is_hidden_as_a_whole_name_only(monkeypatch, hide, text, expected):
    monkeypatch.setenv("HOME", "/people/jane")

    assert hide(text) == expected


@BOTH
def test_a_home_that_is_a_link_is_hidden_where_it_leads_too(monkeypatch, tmp_path, hide):
    (tmp_path / "disk" / "jo").mkdir(parents=True)
    (tmp_path / "home").symlink_to(tmp_path / "disk" / "jo")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    assert hide(f"{tmp_path}/home/x and {tmp_path}/disk/jo/y") == "~/x and ~/y"


@BOTH
def test_a_home_that_is_the_root_hides_nothing(monkeypatch, hide):
    monkeypatch.setenv("HOME", "/")

    assert hide("/people/jane, a/b") == "/people/jane, a/b"


def test_a_page_shows_neither_a_folder_nor_where_its_link_leads(tmp_path):
    (tmp_path / "disk" / "out").mkdir(parents=True)
    (tmp_path / "out").symlink_to(tmp_path / "disk" / "out")

    hide = path_hider([tmp_path / "out", None, Path("/")])

    assert hide([f"{tmp_path}/out/m", f"{tmp_path}/disk/out/m", "/m"]) == ["…/m", "…/m", "/m"]


def test_paths_are_rewritten_whole_and_the_nearest_place_wins(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "jo")
    rewrite = portable({"$LMUData": tmp_path / "jo" / "data"})
    home = f"{tmp_path}/jo"

    assert rewrite({f"{home}/x": [f"--at={home}/data/L1.json", f"{home}hn/x", f"in {home}"]}) == {
        "~/x": ["--at=$LMUData/L1.json", f"{home}hn/x", "in ~"]
    }
