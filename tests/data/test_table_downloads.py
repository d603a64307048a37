"""Fetching the grounding tables from a hub on loopback."""

import io
import json
import zipfile

import pytest

from tests.support.github_server import GitHubServer
from tests.support.hub_server import HubServer
from utils import download


@pytest.fixture
def hub(monkeypatch):
    """A hub that has what a test gives it."""
    with HubServer({}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        yield server


def fetch(root, *names):
    return download.main([*names, "--data-root", str(root)])


def test_annotations_and_images_go_where_the_benchmark_reads_them(hub, tmp_path):
    hub.files |= {
        "annotations/word_macos.json": b"[{}]",
        "images/word_mac/a.png": b"a",
        "README.md": b"not needed",
    }
    assert fetch(tmp_path, "ScreenSpotPro") == 0
    folder = tmp_path / "ScreenSpot-Pro"
    assert (folder / "annotations" / "word_macos.json").read_bytes() == b"[{}]"
    assert (folder / "images" / "word_mac" / "a.png").read_bytes() == b"a"
    assert not (folder / "README.md").exists()
    assert json.loads((folder / ".revision.json").read_text()) == {"commit": hub.commit}
    before = len(hub.transfers("a.png"))
    assert fetch(tmp_path, "ScreenSpotPro") == 0
    assert len(hub.transfers("a.png")) == before


def test_a_zip_of_images_is_unpacked(hub, tmp_path):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("screenspotv2_image/pc_a.png", b"a")
        archive.writestr("__MACOSX/._pc_a.png", b"litter")
    hub.files |= {
        "screenspot_web_v2.json": b"[{}]",
        "screenspotv2_image.zip": sink.getvalue(),
    }
    assert fetch(tmp_path, "ScreenSpotV2") == 0
    folder = tmp_path / "ScreenSpot-v2"
    assert [path.name for path in (folder / "screenspotv2_image").iterdir()] == ["pc_a.png"]
    assert json.loads((folder / ".revision.json").read_text()) == {"commit": hub.commit}
    before = len(hub.transfers(".zip"))
    assert fetch(tmp_path, "ScreenSpotV2") == 0
    assert len(hub.transfers(".zip")) == before  # unpacked already


def test_a_table_that_is_not_on_the_hub_says_how_to_get_it(tmp_path, capsys):
    assert fetch(tmp_path, "ScreenSpot") == 2
    error = capsys.readouterr().err
    assert str(tmp_path / "ScreenSpot") in error
    assert "njucckevin/SeeClick" in error


@pytest.fixture
def github(monkeypatch):
    """A server that has what a test gives it, in the form of GitHub's."""
    with GitHubServer() as server:
        monkeypatch.setenv("GITHUB_API_URL", server.address)
        monkeypatch.setenv("GITHUB_RAW_URL", f"{server.address}/raw")
        yield server


def test_a_table_on_github_is_fetched_and_what_is_there_stays(github, tmp_path):
    github.files |= {
        "benchmark/OSWorld-G.json": b"[{}]",
        "benchmark/images/a b.png": b"a",
        "README.md": b"not needed",
    }
    assert fetch(tmp_path, "OSWorldG") == 0
    folder = tmp_path / "OSWorld-G"
    assert (folder / "OSWorld-G.json").read_bytes() == b"[{}]"
    assert (folder / "images" / "a b.png").read_bytes() == b"a"
    assert not (folder / "README.md").exists()
    assert json.loads((folder / ".revision.json").read_text()) == {"commit": github.commit}
    (folder / "OSWorld-G.json").unlink()
    github.fetched.clear()
    assert fetch(tmp_path, "OSWorldG") == 0
    assert github.fetched == ["benchmark/OSWorld-G.json"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"README.md": b"moved"}, "xlang-ai/OSWorld-G has no folder benchmark/ any more"),
        ({"benchmark/a.png": b"version https://git-lfs.github.com"}, "stored in Git LFS"),
        ({"benchmark/a.png": None}, "HTTP 404. Run the same command again"),
    ],
)
def test_what_github_cannot_give_is_one_message(files, message, github, tmp_path, capsys):
    github.files |= files
    assert fetch(tmp_path, "OSWorldG") == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_an_unknown_name_is_named_before_anything_is_fetched(tmp_path, capsys):
    assert fetch(tmp_path, "ScreenSpotPro", "Screenspot") == 2
    assert "Screenspot: no such data set; known are ScreenSpot," in capsys.readouterr().err


def test_the_list_names_sizes_and_licences(capsys):
    assert download.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert any("ScreenSpotV2" in line and "1.3 GB, Apache-2.0" in line for line in lines)
