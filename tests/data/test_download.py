"""utils/download.py against a hub on loopback; a process of its own where one is killed."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import time
import warnings
import zipfile
from collections import namedtuple
from pathlib import Path
from unittest import mock

import pytest

from tests.support.hub_server import HubServer
from utils import download

ROOT = Path(__file__).resolve().parents[2]
ZIP, L1, L2 = "MMBench-GUI-OfflineImages.zip", "L1_annotations.json", "L2_annotations.json"
SECRET = "hf_thisIsTheSecretOfTheTests"
PICTURES = {
    "os_windows/a.png": b"windows a",
    "os_windows/b.png": b"windows b" * 1000,
    "os_mac/c.png": b"mac c",
    "os_ios/deep/d.png": b"ios d",
    "os_web/e.png": b"",
}
L1_LINES = [
    {"index": 0, "image_path": "a.png", "platform": "os_windows", "groups": [{}, {}, {}]},
    {"index": 1, "image_path": "os_mac/c.png", "platform": "os_mac", "groups": [{}, {}, {}]},
]
L2_LINES = [
    {"index": 0, "image_path": "os_web/e.png", "platform": "os_web"},
    {"index": 1, "image_path": "os_windows/b.png", "platform": "os_windows"},
]
CHUNK = 10 * 2**20  # what the library writes at a time
Done = namedtuple("Done", "returncode stdout stderr")


def zip_of(members, prefix="", method=zipfile.ZIP_DEFLATED):
    """A zip of names (or ZipInfos) and contents; the same bytes whenever it is made."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns about duplicate names, which are on purpose
        for name, content in members.items() if isinstance(members, dict) else members:
            info = zipfile.ZipInfo(prefix + name) if isinstance(name, str) else name
            archive.writestr(info, content, compress_type=method)
    return sink.getvalue()


def published(pictures=PICTURES, prefix="MMBench-GUI/offline_images/"):
    return {
        ZIP: zip_of(pictures, prefix),
        L1: json.dumps(L1_LINES).encode(),
        L2: json.dumps(L2_LINES).encode(),
    }


def bulky():
    return published(PICTURES | {"os_linux/noise.png": os.urandom(24 * 2**20)})


def md5(data):
    return hashlib.md5(data).hexdigest()


def files_below(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


class Place:
    """A data root, the sums that hold there, and the command."""

    def __init__(self, tmp_path, files):
        self.tmp, self.root = tmp_path, tmp_path / "data"
        self.home = self.root / "MMBench-GUI"
        self.images, self.cwd = self.home / "offline_images", tmp_path / "cwd"
        self.cwd.mkdir()
        self.sums = tmp_path / "sums.json"
        self.sums.write_text(json.dumps({name: md5(data) for name, data in files.items()}))
        names = ("PATH", "LANG", "SYSTEMROOT", "COVERAGE_PROCESS_START")
        self.env = {name: os.environ[name] for name in names if name in os.environ} | {
            "HOME": str(tmp_path / "person"),
            "HF_HOME": str(tmp_path / "hf"),
            "LMUData": str(self.root),
            "NO_PROXY": "127.0.0.1,localhost",
            "HF_TOKEN": "",
            "PYTHONUTF8": "1",
        }

    def arguments(self, *args, sums=True):
        return [*(["--sums", str(self.sums)] if sums else []), *args]

    def run(self, hub, *args, env=None, sums=True):
        """One run in this process."""
        env = self.env | {"HF_ENDPOINT": getattr(hub, "address", hub)} | (env or {})
        out, err = io.StringIO(), io.StringIO()
        with (
            mock.patch.dict(os.environ, env, clear=True),
            contextlib.chdir(self.cwd),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = download.main(self.arguments(*args, sums=sums))
        return Done(code, out.getvalue(), err.getvalue())

    def start(self, hub, *args, front=(), script=ROOT / "utils" / "download.py", **more):
        """One run as a process."""
        env = self.env | {"HF_ENDPOINT": hub.address} | more.pop("env", {})
        return subprocess.Popen(
            [sys.executable, *map(str, front), *([str(script)] if script else []), *self.arguments(*args)],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            **{"cwd": self.cwd, **more},
        )  # fmt: skip

    def pictures(self):
        return files_below(self.images)

    def by_hand(self, files):
        self.home.mkdir(parents=True)
        for name, data in files.items():
            (self.home / name).write_bytes(data)


def end_of(process):
    """What a started run came to."""
    out, err = process.communicate(timeout=60)
    return Done(process.returncode, out, err)


def wait_for_bytes(place, count):
    """Returns when so much of the zip has arrived; the hub holds the rest back."""
    for _ in range(3000):
        if sum(p.stat().st_size for p in place.home.glob(f".download/*{ZIP}.part")) >= count:
            return
        time.sleep(0.02)
    raise AssertionError("the transfer never came that far")


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path, published())


@pytest.fixture
def hub():
    with HubServer(published()) as server:
        yield server


@pytest.fixture
def nowhere(hub):
    hub.__exit__()
    return hub.address


def assert_one_message(done, *parts, code=2):
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("error: ")]) == 1
    for part in parts:
        assert part in done.stderr


def fetched(server, name=""):
    """The transfers from the hub's storage."""
    return [seen for seen in server.transfers(name) if seen.at_storage]


# -- what a good run does -------------------------------------------------------------------------


def test_a_fresh_download_lays_out_the_data_root_and_leaves_nothing_under_way(place, hub):
    done = place.run(hub)
    assert done.returncode == 0, done.stderr
    assert place.pictures() == PICTURES
    assert {name: (place.home / name).read_bytes() for name in (L1, L2)} == {
        name: hub.files[name] for name in (L1, L2)
    }
    left = {path.name for path in place.home.rglob("*") if path.is_file()}
    assert left <= {Path(name).name for name in PICTURES} | {L1, L2, "unpacked.json", "lock"}
    out = " ".join(done.stdout.split())
    assert "images 5 os_windows 2 os_mac 1 os_linux 0 os_ios 1 os_android 0 os_web 1" in out
    assert "L1 questions 6 on 2 images" in out
    assert "L2 instructions 2 on 2 images" in out
    assert out.endswith(
        f"Next: LMUData={place.root} python evaluate.py --config configs/config_api_gpt.json --check"
    )


def test_a_second_run_asks_and_writes_nothing(place, hub):
    place.run(hub)
    before = {path: path.stat().st_mtime_ns for path in place.home.rglob("*")}
    hub.seen.clear()
    done = place.run(hub)
    assert (done.returncode, hub.seen) == (0, [])
    assert "there already" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in place.home.rglob("*")} == before


def test_a_copied_data_root_needs_no_network(place, nowhere):
    with HubServer(published()) as alive:
        place.run(alive)
    for path in place.images.rglob("*.png"):
        os.utime(path, (1, 1))
    assert "there already" in place.run(nowhere).stdout


def test_a_lost_picture_is_brought_back_and_the_others_stay(place, hub):
    place.run(hub)
    (place.images / "os_mac/c.png").unlink()
    (place.images / "os_windows/a.png").write_bytes(b"WINDOWS A")  # found on this occasion
    kept = (place.images / "os_windows/b.png").stat().st_ino
    done = place.run(hub)
    assert place.pictures() == PICTURES
    assert (place.images / "os_windows/b.png").stat().st_ino == kept
    assert "3 images were unpacked already" in done.stdout


LITTER = {
    "__MACOSX/offline_images/os_mac/._c.png": b"x",
    "os_mac/.DS_Store": b"x",
    "os_mac/Thumbs.db": b"x",
    "README.md": b"x",
    "os_android/": b"",  # a folder is no picture and not worth a word
}
NEW = PICTURES | {"os_linux/new.png": b"new"}
NO_MAC = {name: data for name, data in PICTURES.items() if "os_mac" not in name}
MISSING = ["missing          1 images", "    os_mac/c.png"]


@pytest.mark.parametrize(("files", "code", "pictures", "shown"), [
    (published(), 0, PICTURES, []),
    *((published(prefix=prefix), 0, PICTURES, []) for prefix in ("", "offline_images/", "./x y/")),
    (published(NEW), 0, NEW, [md5(published(NEW)[ZIP]), md5(published()[ZIP]), "warning"]),
    (published(PICTURES | LITTER, prefix=""), 0, PICTURES, ["skipped 4 members", next(iter(LITTER))]),
    (published(NO_MAC), 1, NO_MAC, MISSING),
])  # fmt: skip
def test_files_put_there_by_hand_are_unpacked_without_network(
    place, nowhere, files, code, pictures, shown
):
    place.by_hand(files)
    done = place.run(nowhere)
    assert done.returncode == code, done.stderr
    assert place.pictures() == pictures
    assert (place.home / ZIP).exists()
    assert [part for part in shown if part not in done.stdout + done.stderr] == []
    assert "os_windows/a.png" not in done.stdout  # a bare file name of L1 counts as present


# -- where it reads its settings ------------------------------------------------------------------


def test_the_data_root_option_wins_over_the_environment(place, hub):
    place.run(hub, "--data-root", str(place.tmp / "other"))
    assert (place.tmp / "other/MMBench-GUI" / L1).exists()
    assert not place.root.exists()


@pytest.mark.parametrize(("dotenv", "env", "expected"), [
    ("LMUData='from file'", {}, "cwd/from file"),
    ("LMUData='from file'", {"LMUData": "from environment"}, "cwd/from environment"),
    (None, {}, "person/LMUData"),
])  # fmt: skip
def test_the_data_root_is_that_of_the_environment_of_env_files_or_in_the_home_folder(
    place, hub, dotenv, env, expected
):
    place.env.pop("LMUData")
    if dotenv:
        (place.cwd / ".env").write_text(dotenv + "\n")
    place.run(hub, env=env)
    assert (place.tmp / expected / "MMBench-GUI" / L1).exists()


def test_it_runs_as_a_module(place, hub):
    done = end_of(place.start(hub, front=["-m", "utils.download"], script=None, cwd=ROOT))
    assert done.returncode == 0, done.stderr


def test_help_loads_no_hub_library_and_hides_the_option_of_the_tests(place, hub):
    code = (
        "import sys, utils.download as d\n"
        "try: d.main(['--help'])\n"
        "except SystemExit: sys.exit('huggingface_hub' in sys.modules or 'tqdm' in sys.modules)"
    )
    done = end_of(place.start(hub, front=["-c", code], script=None, cwd=ROOT))
    assert done.returncode == 0, done.stderr
    assert "--accept-changed" in done.stdout
    assert "--sums" not in done.stdout


def test_other_sums_than_the_published_ones_are_never_used_unseen(place, hub):
    assert f"compared with the sums in {place.sums}" in place.run(hub).stderr
    done = place.run(hub, "--data-root", str(place.tmp / "x"), sums=False)
    assert_one_message(done, "a9a4fd9eb1e4ae0355fee057bd55cbec")


def test_the_token_goes_to_the_hub_only_and_is_never_shown(place, hub):
    done = place.run(hub, env={"HF_TOKEN": SECRET})
    assert done.returncode == 0
    sent = {
        (seen.at_storage, {k.lower(): v for k, v in seen.headers.items()}.get("authorization"))
        for seen in hub.seen
        if seen.name in hub.files
    }
    assert sent == {(False, f"Bearer {SECRET}"), (True, None)}
    assert SECRET not in done.stdout + done.stderr
    assert not any(SECRET.encode() in data for data in files_below(place.tmp).values())


# -- broken transfers -----------------------------------------------------------------------------


@pytest.mark.parametrize(("ignores_ranges", "second"), [(False, f"bytes={CHUNK}-"), (True, None)])
def test_a_connection_that_closes_half_way_is_continued_in_the_same_run(
    tmp_path, ignores_ranges, second
):
    files = bulky()
    place = Place(tmp_path, files)
    hub = HubServer(files, closes_after={ZIP: [15 * 2**20]}, ignores_ranges=ignores_ranges)
    with hub as server:
        done = place.run(server)
    assert done.returncode == 0, done.stderr
    ranges = [seen.headers.get("Range") for seen in fetched(server)]
    assert ranges[0] is None
    assert ranges[1] == f"bytes={CHUNK}-"
    assert len(place.pictures()) == 6


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_transfer_that_was_stopped_is_continued_by_the_same_command(tmp_path, how):
    files = bulky()
    place = Place(tmp_path, files)
    with HubServer(files, stalls_after={ZIP: 22 * 2**20}) as server:
        process = place.start(server)
        wait_for_bytes(place, 2 * CHUNK)
        process.send_signal(how)
        stopped = end_of(process)
        if how == signal.SIGINT:
            assert stopped.returncode == 130
            assert "run the same command again" in stopped.stderr
            assert "Traceback" not in stopped.stderr
        server.stalls_after.clear()
        server.seen.clear()
        done = place.run(server)
    assert done.returncode == 0, done.stderr
    [transfer] = fetched(server)
    assert int(transfer.headers["Range"].removeprefix("bytes=").rstrip("-")) >= 2 * CHUNK
    assert place.pictures()["os_linux/noise.png"]


def test_a_connection_that_always_closes_is_given_up_with_one_message(place, hub, monkeypatch):
    hub.closes_after[ZIP] = [0] * 10
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert_one_message(place.run(hub), "failed", "same command again")
    assert len(hub.closes_after[ZIP]) == 4
    hub.closes_after.clear()
    assert place.run(hub).returncode == 0


def test_the_part_of_an_older_zip_is_not_continued_with_a_newer_one(tmp_path):
    old, new = bulky(), bulky()
    place = Place(tmp_path, new)
    with HubServer(old, stalls_after={ZIP: 22 * 2**20}) as server:
        process = place.start(server)
        wait_for_bytes(place, 2 * CHUNK)
        process.kill()
        end_of(process)
    with HubServer(new) as server:
        assert place.run(server).returncode == 0
    assert [seen.headers.get("Range") for seen in server.transfers(ZIP)] == [None, None]


@pytest.mark.parametrize("content", [b"no zip at all", b"", published()[ZIP][:-30], None])
def test_a_zip_that_cannot_be_read_is_removed_and_fetched_anew_by_the_next_run(place, hub, content):
    if content is None:
        hub.wrong_bytes.add(ZIP)
    else:
        hub.files[ZIP] = content
    assert_one_message(place.run(hub), "not a zip file that can be read", "It was removed")
    hub.files, hub.wrong_bytes = published(), set()
    assert place.run(hub).returncode == 0
    assert place.pictures() == PICTURES


# -- changed files --------------------------------------------------------------------------------


def test_a_changed_annotation_file_is_an_error_and_good_files_stay(place, hub):
    place.run(hub)
    before = files_below(place.home)
    hub.files[L1] = b"[]"
    hub.revisions = ("main", "newer")
    done = place.run(hub, "--revision", "newer")
    assert_one_message(done, L1, md5(b"[]"), md5(before[L1]), "--accept-changed")
    assert files_below(place.home) == before
    assert "there already" in place.run(hub).stdout


def test_a_changed_annotation_file_stops_before_the_pictures(place, hub):
    hub.files[L2] = b"[]"
    assert_one_message(place.run(hub), L2)
    assert hub.transfers(ZIP) == []


def test_accept_changed_takes_the_file_and_says_so_each_time(place, hub):
    hub.files[L2] = b"[]"
    for _ in range(2):
        done = place.run(hub, "--accept-changed")
        assert done.returncode == 0, done.stderr
        assert md5(b"[]") in done.stderr
    assert (place.home / L2).read_bytes() == b"[]"
    assert (len(hub.transfers(L2)), len(fetched(hub))) == (1, 1)
    assert_one_message(place.run(hub), "--accept-changed")


@pytest.mark.parametrize("content", [b"{", b"{}", b"[1]", b"\xff"])
def test_an_accepted_file_must_still_be_a_list_of_objects(place, hub, content):
    place.run(hub)
    good = (place.home / L1).read_bytes()
    hub.files[L1], hub.revisions = content, ("main", "newer")
    assert_one_message(place.run(hub, "--accept-changed", "--revision", "newer"), L1)
    assert (place.home / L1).read_bytes() == good


def test_an_annotation_file_changed_by_hand_is_an_error_and_left_alone(place, hub):
    place.run(hub)
    (place.home / L1).write_bytes(b"[]")
    assert_one_message(place.run(hub), L1, md5(b"[]"), "remove it", "--accept-changed")
    assert (place.home / L1).read_bytes() == b"[]"
    (place.home / L1).unlink()
    assert place.run(hub).returncode == 0
    assert (place.home / L1).read_bytes() == hub.files[L1]


def test_a_changed_zip_is_a_warning_with_both_sums_every_time(place, hub):
    hub.files[ZIP] = zip_of(PICTURES | {"os_linux/new.png": b"new"})
    for done in (place.run(hub), place.run(hub)):
        assert done.returncode == 0
        assert "warning" in done.stderr
        assert md5(hub.files[ZIP]) in done.stderr
        assert md5(published()[ZIP]) in done.stderr
    assert place.pictures()["os_linux/new.png"] == b"new"
    assert len(fetched(hub)) == 1


def test_a_replaced_zip_of_another_revision_is_fetched_and_laid_over(place, hub):
    place.run(hub)
    hub.files[ZIP] = zip_of(PICTURES | {"os_mac/c.png": b"MAC C"})  # of the same size
    hub.revisions = ("main", "newer")
    assert place.run(hub, "--revision", "newer").returncode == 0
    assert place.pictures()["os_mac/c.png"] == b"MAC C"


# -- killed while unpacking; two at once ----------------------------------------------------------


@pytest.mark.parametrize("pictures", [1, 3])
def test_an_unpacking_that_was_killed_is_finished_by_the_same_command(place, hub, pictures):
    driver = [ROOT / "tests/support/hub_killed.py", pictures]
    assert end_of(place.start(hub, front=driver)).returncode == -signal.SIGKILL
    done_then = [place.images / name for name in place.pictures() if name.endswith(".png")]
    assert len([path for path in done_then if not path.name.startswith(".")]) == pictures
    inodes = [path.stat().st_ino for path in done_then]
    hub.__exit__()  # the zip is there already: not even the hub is needed
    done = place.run(hub.address)
    assert done.returncode == 0, done.stderr
    assert place.pictures() == PICTURES
    assert [path.stat().st_ino for path in done_then] == inodes


def test_a_second_download_into_the_same_folder_is_refused(tmp_path):
    files = bulky()
    place = Place(tmp_path, files)
    with HubServer(files, stalls_after={ZIP: 22 * 2**20}) as server:
        process = place.start(server)
        wait_for_bytes(place, 2 * CHUNK)
        assert_one_message(place.run(server), "another download")
        process.kill()
        end_of(process)


# -- one clear message ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "status", "headers", "parts"),
    [
        (L1, 404, {"X-Error-Code": "EntryNotFound"}, ["no file " + L1, "--revision"]),
        (L1, 404, {"X-Error-Code": "RepoNotFound"}, ["not there or not open to you"]),
        (L1, 401, {}, ["401", "no HF_TOKEN is set"]),
        (L1, 403, {"X-Error-Code": "GatedRepo"}, ["accept the conditions", "HF_TOKEN"]),
        (L1, 403, {}, ["403"]),
        (L1, 500, {}, ["500", "same command again"]),
        (L1, 200, {"ETag": '"x"'}, ["does not answer like a Hugging Face hub"]),
        (ZIP, 404, {"X-Error-Code": "EntryNotFound"}, ["no file " + ZIP]),
    ],
)
def test_a_refusal_of_the_hub_is_one_message(place, hub, name, status, headers, parts):
    hub.refusals[name] = (status, headers)
    assert_one_message(place.run(hub), *parts)


def test_an_unknown_revision_is_one_message_even_where_files_are_there(place, hub):
    place.run(hub)
    assert_one_message(place.run(hub, "--revision", "nope"), "no revision 'nope'")


@pytest.mark.parametrize(("env", "parts"), [
    ({}, ["the connection to http://127.0.0.1:", " failed", "HF_ENDPOINT"]),
    ({"HF_ENDPOINT": "mirror"}, ["HF_ENDPOINT"]),
    ({"HF_ENDPOINT": "http://[::1"}, ["HF_ENDPOINT"]),
    ({"HF_TOKEN": "hf_schlüssel"}, ["HF_TOKEN"]),
    ({"LMUData": "~nosuchuser/x"}, ["LMUData ~nosuchuser/x: there is no user nosuchuser; write the folder in full"]),
])  # fmt: skip
def test_a_setting_that_cannot_work_is_one_message(place, nowhere, env, parts):
    assert_one_message(place.run(nowhere, env=env), *parts)
    assert not (place.cwd / "~nosuchuser").exists()


def test_the_offline_mode_of_the_hub_is_one_message(place, hub):
    done = end_of(place.start(hub, env={"HF_HUB_OFFLINE": "1"}))
    assert_one_message(done, "HF_HUB_OFFLINE is set")


def test_user_and_password_of_a_mirror_are_not_shown(place, nowhere):
    done = place.run(nowhere.replace("//", "//anna:geheim@"))
    assert_one_message(done, nowhere.removeprefix("http://"))
    assert "geheim" not in done.stderr


def test_a_data_root_that_is_a_file_is_one_message(place, hub):
    place.root.write_text("a file")
    assert_one_message(place.run(hub), str(place.root), "--data-root")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_data_root_is_one_message(place, hub):
    place.root.mkdir(mode=0o500)
    assert_one_message(place.run(hub), str(place.root), "--data-root")


def test_a_disk_that_fills_up_is_one_message_and_the_run_goes_on_later(tmp_path):
    files = bulky()
    place = Place(tmp_path, files)

    def small_files_only():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 * 2**20, 2 * 2**20))

    with HubServer(files) as server:
        done = end_of(place.start(server, preexec_fn=small_files_only))
        assert_one_message(done, "too large", "same command")
        server.seen.clear()
        assert place.run(server).returncode == 0
    [transfer] = fetched(server)
    assert transfer.headers["Range"] == f"bytes={2 * 2**20}-"


def test_too_little_room_is_reported_before_anything_is_written(place, hub, monkeypatch):
    Usage = namedtuple("Usage", "free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(100))
    assert_one_message(place.run(hub), "needed to fetch", "0.0 MiB free")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"md5": 3, "sizes": {}}'])
def test_a_broken_note_costs_time_and_nothing_else(place, hub, content):
    place.run(hub)
    (place.home / ".download" / "unpacked.json").write_text(content)
    assert place.run(hub).returncode == 0
    assert place.pictures() == PICTURES


# -- odd zips -------------------------------------------------------------------------------------


def linked(name):
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(("member", "kept"), [
    ("os_mac/../../../escaped.png", None),
    ("/os_mac/escaped.png", "os_mac/escaped.png"),
    ("C:/os_mac/escaped.png", None),
    ("os_mac\\..\\escaped.png", None),
    (linked("os_mac/link.png"), "os_mac/link.png"),
    ("b/os_mac/c.png", "os_mac/c.png"),
])  # fmt: skip
def test_no_member_of_a_zip_leads_out_of_the_image_folder(place, nowhere, member, kept):
    place.by_hand(published() | {ZIP: zip_of([*PICTURES.items(), (member, b"/etc/hostname")])})
    before = files_below(place.tmp)
    done = place.run(nowhere)
    assert done.returncode == 0, done.stderr
    assert place.pictures() == PICTURES | ({kept: b"/etc/hostname"} if kept else {})
    assert ("skipped 1 members" in done.stdout) is (kept is None)
    new = set(files_below(place.tmp)) - set(before)
    assert all(name.startswith(("data/", "hf/")) for name in new)
    assert not any(path.is_symlink() for path in place.images.rglob("*"))


def encrypted():
    data = bytearray(zip_of({"os_mac/a.png": b"x"}))
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def longer_than_it_states():
    data = bytearray(zip_of({"os_mac/a.png": bytes(2**20)}))
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = (10).to_bytes(4, "little")
    return bytes(data)


def with_another_crc():
    data = zip_of({"os_mac/a.png": b"some picture"}, method=zipfile.ZIP_STORED)
    return data.replace(b"some picture", b"xxxx picture", 1)


@pytest.mark.parametrize(("content", "reason"), [
    (encrypted, "is encrypted"), (longer_than_it_states, "CRC"), (with_another_crc, "os_mac/a.png"),
    (lambda: zip_of({"pictures/a.png": b"x"}), "no member lies in one of the folders"),
])  # fmt: skip
def test_a_zip_that_is_not_what_it_states_is_one_message(place, nowhere, content, reason):
    place.by_hand(published() | {ZIP: content()})
    assert_one_message(place.run(nowhere), reason)
    assert not [name for name in place.pictures() if not Path(name).name.startswith(".")]
