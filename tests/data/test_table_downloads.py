"""Fetching the grounding tables from a hub on loopback."""

import io
import json
import random
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


def test_a_file_that_has_changed_is_fetched_again_though_it_is_as_long(github, tmp_path):
    github.files |= {"benchmark/a.json": b"old", "benchmark/b.json": b"same"}
    assert fetch(tmp_path, "OSWorldG") == 0
    github.files["benchmark/a.json"], github.commit = b"new", "e" * 40
    github.fetched.clear()
    assert fetch(tmp_path, "OSWorldG") == 0
    assert github.fetched == ["benchmark/a.json"]
    folder = tmp_path / "OSWorld-G"
    assert (folder / "a.json").read_bytes() == b"new"
    assert json.loads((folder / ".revision.json").read_text()) == {"commit": github.commit}


def test_files_below_a_hidden_folder_are_counted(github, tmp_path, capsys):
    github.files |= {"benchmark/a.json": b"[{}]", "benchmark/images/a.png": b"a"}
    assert fetch(tmp_path / ".cache" / "data", "OSWorldG") == 0
    assert "OSWorldG: 2 files are there" in capsys.readouterr().out


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
    assert len(lines) == 13
    assert any("ScreenSpotV2" in line and "1.3 GB, Apache-2.0" in line for line in lines)


# -- recorded steps ---------------------------------------------------------------------------


def test_steps_of_android_control_come_from_github_and_images_keep_their_episodes(
    hub, github, tmp_path
):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("AndroidControl_images/1/screenshot_0.png", b"a")
        archive.writestr("AndroidControl_images/2/screenshot_0.png", b"b")
    hub.files |= {"AndroidControl_images.zip": sink.getvalue(), "other.zip": b"not needed"}
    name = "UI-S1/evaluation/dataset/android_control_evaluation_std.jsonl"
    github.files |= {name: b"{}", "README.md": b"not needed"}
    assert fetch(tmp_path, "AndroidControl") == 0
    folder = tmp_path / "AndroidControl"
    assert (folder / "android_control_test.jsonl").read_bytes() == b"{}"
    assert (folder / "images" / "1" / "screenshot_0.png").read_bytes() == b"a"
    assert (folder / "images" / "2" / "screenshot_0.png").read_bytes() == b"b"
    assert json.loads((folder / ".revision.json").read_text()) == {"commit": hub.commit}
    before = len(hub.transfers(".zip")), len(github.fetched)
    assert fetch(tmp_path, "AndroidControl") == 0
    assert (len(hub.transfers(".zip")), len(github.fetched)) == before


def test_steps_that_moved_are_one_message(hub, github, tmp_path, capsys):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("1/screenshot_0.png", b"a")
    hub.files["AndroidControl_images.zip"] = sink.getvalue()
    github.files["UI-S1/evaluation/dataset/thought.jsonl"] = b"{}"
    assert fetch(tmp_path, "AndroidControl") == 2
    assert "android_control_evaluation_std.jsonl any more" in capsys.readouterr().err


def test_annotations_of_odyssey_are_fetched_and_the_rest_is_said(hub, tmp_path, capsys):
    hub.files |= {
        "annotations/1.json": b"{}",
        "splits/random_split.json": b"{}",
        "screenshots.z01": b"not fetched",
    }
    assert fetch(tmp_path, "GUIOdyssey") == 0
    folder = tmp_path / "GUIOdyssey"
    assert (folder / "annotations" / "1.json").is_file()
    assert (folder / "splits" / "random_split.json").is_file()
    assert not (folder / "screenshots.z01").exists()
    assert "unpack them into screenshots/" in capsys.readouterr().out


def test_cagui_is_fetched_where_its_benchmark_reads_it(hub, tmp_path):
    hub.files |= {
        "CAGUI_agent/domestic/1/1.json": b"[]",
        "CAGUI_agent/domestic/1/1_0.jpeg": b"a",
        "CAGUI_grounding/cap.jsonl": b"not needed",
    }
    assert fetch(tmp_path, "CAGUI") == 0
    folder = tmp_path / "CAGUI"
    assert (folder / "CAGUI_agent" / "domestic" / "1" / "1_0.jpeg").read_bytes() == b"a"
    assert not (folder / "CAGUI_grounding").exists()


@pytest.mark.parametrize(
    ("name", "words"), [("AITZ", "IMNearth/CoAT"), ("AgentNetBench", "xlang-ai/OpenCUA")]
)
def test_what_is_fetched_by_hand_says_from_where(name, words, tmp_path, capsys):
    assert fetch(tmp_path, name) == 2
    error = capsys.readouterr().err
    assert str(tmp_path / name) in error and words in error


# -- damaged zips -----------------------------------------------------------------------------

TEXT = b"text that packs well " * 400


def zipped(members, method=zipfile.ZIP_DEFLATED):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return sink.getvalue()


def first_block(value):
    """The beginning of the compressed data of the first member, overwritten."""

    def damage(content):
        start = 30 + len("images/a.png")
        return content[:start] + value + content[start + len(value) :]

    return damage


def encrypted(content):
    """Every member says that it needs a password."""
    local, listed = content.index(b"PK\3\4"), content.index(b"PK\1\2")
    flagged = bytearray(content)
    flagged[local + 6] |= 1
    flagged[listed + 8] |= 1
    return bytes(flagged)


def cut_inside(content):
    """The list at its end is whole; what it points at is not."""
    listed = content.index(b"PK\1\2")
    return content[: listed - 4000] + b"\0" * 4000 + content[listed:]


DAMAGES = {
    "another kind of block": first_block(b"\xff"),
    "no block at all": first_block(b"\0" * 8),
    "other bytes": lambda content: content.replace(TEXT[:40], b"\1" * 40),
    "its list is missing": lambda content: content[:-30],
    "a password": encrypted,
    "no zip": lambda content: b"<html>not found</html>",
    "zeros at its end": cut_inside,
}


def published_zip(content):
    return {"screenspot_web_v2.json": b"[{}]", "screenspotv2_image.zip": content}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_zip_is_removed_and_fetched_anew(name, hub, tmp_path, capsys):
    method = zipfile.ZIP_STORED if name == "other bytes" else zipfile.ZIP_DEFLATED
    noise = random.Random(4).randbytes(9000)
    good = zipped([("images/a.png", TEXT), ("images/b.png", noise)], method)
    bad = DAMAGES[name](good)
    assert bad != good
    hub.files |= published_zip(bad)
    assert fetch(tmp_path, "ScreenSpotV2") == 2
    error = capsys.readouterr().err
    assert "not a readable zip file" in error and "It was removed" in error
    assert "Traceback" not in error
    folder = tmp_path / "ScreenSpot-v2"
    assert list((folder / ".download").iterdir()) == []
    hub.files |= published_zip(good)
    assert fetch(tmp_path, "ScreenSpotV2") == 0
    images = folder / "screenspotv2_image"
    assert {file.name: file.read_bytes() for file in images.iterdir()} == {
        "a.png": TEXT,
        "b.png": noise,
    }


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"\0" + content[1:],
        lambda content: content[:-1] + b"\1",
        lambda content: content[: len(content) // 2] * 2,
        lambda content: bytes(len(content)),
        lambda content: content[::-1],
    ],
)
def test_a_zip_that_is_not_what_the_hub_has_is_removed(damage, tmp_path, monkeypatch, capsys):
    good = zipped([("images/a.png", TEXT)])
    sums = {name: HubServer(published_zip(good)).etag(name) for name in published_zip(good)}
    with HubServer(published_zip(damage(good + b"\0" * (len(good) % 2)))) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        monkeypatch.setattr(server, "etag", sums.__getitem__)
        assert fetch(tmp_path, "ScreenSpotV2") == 2
        error = capsys.readouterr().err
        assert "screenspotv2_image.zip: the fetched file is damaged (SHA-256 " in error
        assert sums["screenspotv2_image.zip"] in error
        assert list((tmp_path / "ScreenSpot-v2" / ".download").iterdir()) == []
        server.files |= published_zip(good)
        assert fetch(tmp_path, "ScreenSpotV2") == 0


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([("x/1.png", b"a"), ("y/1.png", b"b")], "x/1.png and y/1.png differ"),
        ([("1.png", b"a"), ("z/1.png", b"")], "1.png and z/1.png differ"),
        ([("x/1.png", b"a"), ("x/2.png", b"b"), ("y/z/2.png", b"c")], "x/2.png and y/z/2.png"),
        ([("x/1.png", b"a"), ("../1.png", b"b")], "x/1.png and ../1.png differ"),
        ([("x/1.png", b"a"), ("/1.png", b"b")], "x/1.png and /1.png differ"),
    ],
)
def test_two_members_that_would_become_one_image_are_an_error(members, said, hub, tmp_path, capsys):
    hub.files |= published_zip(zipped(members))
    assert fetch(tmp_path, "ScreenSpotV2") == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "ScreenSpot-v2" / "screenspotv2_image").exists()


@pytest.mark.parametrize(
    "members",
    [
        [("x/1.png", b"a"), ("y/1.png", b"a")],
        [("x/1.png", b"a"), ("__MACOSX/x/1.png", b"b")],
        [("x/1.png", b"a"), ("x/._1.png", b"b")],
        [("x/1.png", b"a"), ("x/1.png/", b"")],
        [("x/1.png", b"b"), ("x/1.png", b"a")],  # an updated zip: the last one counts
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_copy_or_litter_beside_an_image_does_no_harm(members, hub, tmp_path):
    hub.files |= published_zip(zipped(members))
    assert fetch(tmp_path, "ScreenSpotV2") == 0
    images = tmp_path / "ScreenSpot-v2" / "screenspotv2_image"
    assert [(file.name, file.read_bytes()) for file in images.iterdir()] == [("1.png", b"a")]
