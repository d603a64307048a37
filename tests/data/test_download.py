"""utils/download.py against a hub on loopback; a process of its own where one is killed."""

import contextlib
import functools
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
from pathlib import Path

import pytest

from tests.support.hub_server import HubServer
from tests.support.runs import PROJECT, environment, finish, run_here
from utils import download

ZIP, L1, L2 = "MMBench-GUI-OfflineImages.zip", "L1_annotations.json", "L2_annotations.json"
SECRET = "hf_thisIsTheSecretOfTheTests"
PICTURES = {
    "os_windows/a.png": b"windows a",
    "os_windows/b.png": b"windows b" * 1000,
    "os_mac/c.png": b"mac c",
    "os_ios/deep/d.png": b"ios d",
    "os_web/e.png": b"",
}
NEW = PICTURES | {"os_linux/new.png": b"new"}
L1_LINES = [
    {"index": number, "image_path": path, "platform": platform, "groups": [{}, {}, {}]}
    for number, (path, platform) in enumerate([("a.png", "os_windows"), ("os_mac/c.png", "os_mac")])
]
L2_LINES = [
    {"index": 0, "image_path": "os_web/e.png", "platform": "os_web"},
    {"index": 1, "image_path": "os_windows/b.png", "platform": "os_windows"},
]
CHUNK = 10 * 2**20  # what the library writes at a time
NOBODY = "http://127.0.0.1:9"  # where no server is
LINK = zipfile.ZipInfo("os_mac/link.png")
LINK.create_system, LINK.external_attr = 3, (stat.S_IFLNK | 0o777) << 16


def zip_of(members, prefix="", method=zipfile.ZIP_DEFLATED):
    """A zip of names (or ZipInfos) and contents; the same bytes whenever it is made."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns about duplicate names, which are on purpose
        for name, content in members.items() if isinstance(members, dict) else members:
            info = zipfile.ZipInfo(prefix + name) if isinstance(name, str) else name
            archive.writestr(info, content, compress_type=method)
    return sink.getvalue()


def published(pictures=PICTURES, prefix="MMBench-GUI/offline_images/", **how):
    lines = {L1: json.dumps(L1_LINES).encode(), L2: json.dumps(L2_LINES).encode()}
    return {ZIP: zip_of(pictures, prefix, **how), **lines}


def md5(data):
    return hashlib.md5(data).hexdigest()


def files_below(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


class Place:
    """A data root, the sums that hold there, and the command."""

    def __init__(self, tmp_path, files):
        self.tmp, self.root = tmp_path, tmp_path / "data"
        self.home = self.root / "MMBench-GUI"
        self.images, self.cwd = self.home / "offline_images", tmp_path / "cwd"
        self.cwd.mkdir()
        self.files, self.sums = files, tmp_path / "sums.json"
        self.sums.write_text(json.dumps({name: md5(data) for name, data in files.items()}))
        self.env = environment(
            HOME=str(tmp_path / "person"),
            HF_HOME=str(tmp_path / "hf"),
            HF_TOKEN="",
            LMUData=str(self.root),
            HF_HUB_OFFLINE="0",
            PYTHONUTF8="1",
        )

    def run(self, hub, *args, env=None, sums=True):
        """One run in this process."""
        env = self.env | {"HF_ENDPOINT": getattr(hub, "address", hub)} | (env or {})
        command = ["download.py", *(["--sums", str(self.sums)] if sums else []), *args]
        return run_here(download.main, command, self.cwd, env)

    def start(self, hub, *front, env=None, **more):
        """One run as a process; `front`: arguments of the interpreter instead of the program."""
        program = map(str, front or [PROJECT / "utils" / "download.py"])
        command = [sys.executable, *program, "--sums", str(self.sums)]
        env = self.env | {"HF_ENDPOINT": hub.address} | (env or {})
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=self.cwd, env=env, **pipes, **more)

    @contextlib.contextmanager
    def under_way(self):
        """A hub that holds back the end of its zip, and a process that has the rest of it."""
        with HubServer(self.files, stalls_after={ZIP: 22 * 2**20}) as server:
            # The library reads for ten seconds only, then it would fetch the rest anew.
            process = self.start(server, env={"HF_HUB_DOWNLOAD_TIMEOUT": "600"})
            parts, deadline = f".download/*{ZIP}.part", time.monotonic() + 120
            while sum(path.stat().st_size for path in self.home.glob(parts)) < 2 * CHUNK:
                assert time.monotonic() < deadline, "the transfer never came that far"
                time.sleep(0.02)
            try:
                yield server, process
            finally:
                process.kill()
                finish(process, 60)

    def pictures(self):
        return files_below(self.images)

    def run_by_hand(self, files):
        """A run without network on files that somebody put there."""
        self.home.mkdir(parents=True)
        for name, data in files.items():
            (self.home / name).write_bytes(data)
        return self.run(NOBODY)


@pytest.fixture
def data_root(tmp_path):
    return Place(tmp_path, published())


@pytest.fixture
def large(tmp_path):
    """The zip takes several chunks."""
    return Place(tmp_path, published(PICTURES | noise(), method=zipfile.ZIP_STORED))


def noise():
    return {"os_linux/noise.png": os.urandom(24 * 2**20)}


@pytest.fixture
def hub():
    with HubServer(published()) as server:
        yield server


def assert_one_message(done, *parts):
    assert (done.code, "Traceback" in done.output) == (2, False), done.output
    assert len([line for line in done.stderr.splitlines() if line.startswith("error: ")]) == 1
    assert [part for part in parts if part not in done.stderr] == [], done.stderr


def ranges(server):
    """What part was wanted by each transfer from the hub's storage."""
    return [
        transfer.headers.get("Range") for transfer in server.transfers(ZIP) if transfer.at_storage
    ]


def test_a_fresh_download_lays_out_the_data_root_and_sends_the_token_to_the_hub_only(
    data_root, hub
):
    # Other sums than the published ones are never used unseen.
    assert_one_message(data_root.run(hub, sums=False), "a9a4fd9eb1e4ae0355fee057bd55cbec")
    hub.requests.clear()
    done = data_root.run(hub, env={"HF_TOKEN": SECRET})
    assert done.code == 0, done.stderr
    assert f"compared with the sums in {data_root.sums}" in done.stderr
    assert data_root.pictures() == PICTURES
    assert [(data_root.home / name).read_bytes() for name in (L1, L2)] == [
        hub.files[L1],
        hub.files[L2],
    ]
    files_left = {
        path.name for path in data_root.home.rglob("*") if path.is_file()
    }  # nothing is under way
    assert files_left <= {Path(name).name for name in PICTURES} | {L1, L2, "unpacked.json", "lock"}
    heads = [
        (request.at_storage, {name.lower(): value for name, value in request.headers.items()})
        for request in hub.requests
        if request.name in hub.files
    ]
    sent = {(at_storage, head.get("authorization")) for at_storage, head in heads}
    assert sent == {(False, f"Bearer {SECRET}"), (True, None)}
    assert SECRET not in done.output
    assert not any(SECRET.encode() in data for data in files_below(data_root.tmp).values())
    out = " ".join(done.stdout.split())
    for counts in (
        "images 5 os_windows 2 os_mac 1 os_linux 0 os_ios 1 os_android 0 os_web 1",
        "L1 questions 6 on 2 images",
        "L2 instructions 2 on 2 images",
    ):
        assert counts in out
    command = "python evaluate.py --config configs/config_api_gpt.json --check"
    assert out.endswith(f"Next: LMUData={data_root.root} {command}")


def test_what_is_there_is_used_without_network_and_what_was_lost_is_brought_back(data_root, hub):
    data_root.run(hub)
    before = {path: path.stat().st_mtime_ns for path in data_root.home.rglob("*")}
    hub.requests.clear()
    done = data_root.run(hub)
    assert (done.code, hub.requests) == (0, [])
    assert "already there" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in data_root.home.rglob("*")} == before
    # As a copy of the data root has it.
    for path in data_root.images.rglob("*.png"):
        os.utime(path, (1, 1))
    hub.__exit__()
    assert "already there" in data_root.run(hub).stdout
    # A note that cannot be read costs time and nothing else.
    for content in ("", "{", "[]", '{"md5": 3, "sizes": {}}'):
        (data_root.home / ".download" / "unpacked.json").write_text(content)
        assert (data_root.run(hub).code, data_root.pictures()) == (0, PICTURES)
    (data_root.images / "os_mac/c.png").unlink()
    (data_root.images / "os_windows/a.png").write_bytes(b"WINDOWS A")  # found on this occasion
    inode = (data_root.images / "os_windows/b.png").stat().st_ino
    data_root.run(hub)
    assert data_root.pictures() == PICTURES
    assert (data_root.images / "os_windows/b.png").stat().st_ino == inode


LITTER = {
    "__MACOSX/offline_images/os_mac/._c.png": b"x",
    "os_mac/.DS_Store": b"x",
    "os_mac/Thumbs.db": b"x",
    "README.md": b"x",
    "os_android/": b"",  # a folder is no picture and not worth a word
}
NO_MAC = {name: data for name, data in PICTURES.items() if "os_mac" not in name}
PREFIXES = ("MMBench-GUI/offline_images/", "", "offline_images/", "./x y/")


@pytest.mark.parametrize(
    ("files", "code", "pictures", "expected_text"),
    [
        *((published(prefix=prefix), 0, PICTURES, []) for prefix in PREFIXES),
        (published(NEW), 0, NEW, [md5(published(NEW)[ZIP]), md5(published()[ZIP]), "warning"]),
        (published(PICTURES | LITTER, prefix=""), 0, PICTURES, ["skipped 4 members"]),
        (published(NO_MAC), 1, NO_MAC, ["missing          1 images", "    os_mac/c.png"]),
    ],
)
def test_files_put_there_by_hand_are_unpacked_without_network(
    data_root, files, code, pictures, expected_text
):
    done = data_root.run_by_hand(files)
    assert done.code == code, done.stderr
    assert data_root.pictures() == pictures
    assert (data_root.home / ZIP).exists()
    assert [part for part in expected_text if part not in done.output] == []
    assert "os_windows/a.png" not in done.stdout  # a bare file name of L1 counts as present


@pytest.mark.parametrize(
    ("arguments", "env", "dotenv", "expected"),
    [  # option, environment, file, home
        (["--data-root", "other"], {"LMUData": "from environment"}, "", "cwd/other"),
        ([], {"LMUData": "from environment"}, "LMUData='from file'", "cwd/from environment"),
        ([], {}, "LMUData='from file'", "cwd/from file"),
        ([], {}, "", "person/LMUData"),
    ],
)
def test_the_first_data_root_of_these_counts(data_root, hub, arguments, env, dotenv, expected):
    data_root.env.pop("LMUData")
    (data_root.cwd / ".env").write_text(dotenv + "\n")
    data_root.run(hub, *arguments, env=env)
    assert [path.parent for path in data_root.tmp.rglob(L1)] == [
        data_root.tmp / expected / "MMBench-GUI"
    ]


@pytest.mark.parametrize("ignores_ranges", [False, True])
def test_a_connection_that_closes_half_way_is_continued(large, ignores_ranges, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: None)
    cut = {ZIP: [15 * 2**20]}
    with HubServer(large.files, closes_after=cut, ignores_ranges=ignores_ranges) as server:
        done = large.run(server)
    assert done.code == 0, done.stderr
    assert ranges(server)[:2] == [None, f"bytes={CHUNK}-"]
    assert len(large.pictures()) == 6


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_transfer_that_was_stopped_is_continued_by_the_same_command(large, how):
    with large.under_way() as (server, process):
        # Nobody else may work in the folder meanwhile.
        assert_one_message(large.run(server), "another download")
        process.send_signal(how)
        stopped = finish(process, 60)
        if how == signal.SIGINT:
            assert (stopped.code, "Traceback" in stopped.stderr) == (130, False)
            assert "run the same command again" in stopped.stderr
        server.stalls_after.clear()
        server.requests.clear()
        done = large.run(server)
    assert done.code == 0, done.stderr
    [range_header] = ranges(server)
    assert int(range_header.removeprefix("bytes=").rstrip("-")) >= 2 * CHUNK
    assert large.pictures()["os_linux/noise.png"]


def test_the_part_of_an_older_zip_is_not_continued_with_a_newer_one(large):
    newer = {**large.files, ZIP: zip_of(NEW | noise(), method=zipfile.ZIP_STORED)}
    with large.under_way():
        pass
    large.sums.write_text(json.dumps({name: md5(data) for name, data in newer.items()}))
    with HubServer(newer) as server:
        assert large.run(server).code == 0
    assert [transfer.headers.get("Range") for transfer in server.transfers(ZIP)] == [None, None]


def test_a_connection_that_always_closes_is_given_up_with_one_message(data_root, hub, monkeypatch):
    hub.closes_after[ZIP] = [0] * 10
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert_one_message(data_root.run(hub), "failed", "same command again")
    assert len(hub.closes_after[ZIP]) == 4
    hub.closes_after.clear()
    assert data_root.run(hub).code == 0


def test_files_that_cannot_be_read_are_not_kept_accepted_or_not(data_root, hub):
    for content in (b"{", b"{}", b"[1]", b"\xff"):
        hub.files[L1] = content
        assert_one_message(data_root.run(hub, "--accept-changed"), L1)
        assert not (data_root.home / L1).exists()
    hub.files = published()
    for content in (b"no zip at all", b"", published()[ZIP][:-30]):
        hub.files[ZIP] = content
        assert_one_message(data_root.run(hub), "not a readable zip file", "It was removed")
        assert not [path for path in data_root.home.rglob("*") if path.name.endswith(ZIP)]
    hub.files = published()
    assert (data_root.run(hub).code, data_root.pictures()) == (0, PICTURES)


def test_a_changed_annotation_file_stops_before_the_pictures_unless_accepted_each_time(
    data_root, hub
):
    hub.files[L2] = b"[]"
    assert_one_message(data_root.run(hub), md5(b"[]"), md5(published()[L2]), "--accept-changed")
    assert hub.transfers(ZIP) == []
    hub.requests.clear()
    for _ in range(2):
        done = data_root.run(hub, "--accept-changed")
        assert done.code == 0, done.stderr
        assert md5(b"[]") in done.stderr
    assert (data_root.home / L2).read_bytes() == b"[]"
    assert (len(hub.transfers(L2)), len(ranges(hub))) == (1, 1)
    # What is not accepted is an error, left alone, and mended by removing the file.
    assert_one_message(data_root.run(hub), L2, md5(b"[]"), "remove it", "--accept-changed")
    assert (data_root.home / L2).read_bytes() == b"[]"
    (data_root.home / L2).unlink()
    hub.files = published()
    assert (data_root.run(hub).code, (data_root.home / L2).read_bytes()) == (0, hub.files[L2])


def test_a_changed_zip_is_laid_over_with_a_warning_that_has_both_sums_every_time(data_root, hub):
    data_root.run(hub)
    (data_root.home / ".download" / "unpacked.json").unlink()
    hub.requests.clear()
    changed = PICTURES | {"os_mac/c.png": b"MAC C"}  # of the same size
    hub.files[ZIP] = zip_of(changed)
    for done in (data_root.run(hub), data_root.run(hub)):
        assert done.code == 0
        sums = md5(hub.files[ZIP]), md5(published()[ZIP])
        assert [part for part in ("warning", *sums) if part not in done.stderr] == []
    assert data_root.pictures() == changed
    assert len(ranges(hub)) == 1


@pytest.mark.parametrize("pictures", [1, 3])
def test_an_unpacking_that_was_killed_is_finished_by_the_same_command(data_root, hub, pictures):
    script = [PROJECT / "tests/support/hub_killed.py", pictures, PROJECT / "utils/download.py"]
    assert finish(data_root.start(hub, *script)).code == -signal.SIGKILL
    done_then = [data_root.images / name for name in data_root.pictures() if name.endswith(".png")]
    assert len([path for path in done_then if not path.name.startswith(".")]) == pictures
    inodes = [path.stat().st_ino for path in done_then]
    hub.requests.clear()
    done = data_root.run(hub)
    assert (done.code, data_root.pictures()) == (0, PICTURES), done.stderr
    assert ranges(hub) == []  # it is there already
    assert [path.stat().st_ino for path in done_then] == inodes


@pytest.mark.parametrize(
    ("name", "status", "headers", "parts"),
    [
        *[
            (L1, status, {}, [f"not give {L1} (HTTP {status}, no HF_TOKEN is set)"])
            for status in (401, 403)
        ],
        (L1, 500, {}, ["500", "same command again"]),
        (L1, 200, {"ETag": '"x"'}, ["does not answer like the Hugging Face hub"]),
        (ZIP, 404, {"X-Error-Code": "EntryNotFound"}, [f"not give {ZIP} (HTTP 404", "HF_ENDPOINT"]),
    ],
)
def test_a_refusal_of_the_hub_is_one_message(data_root, hub, name, status, headers, parts):
    hub.refusals[name] = (status, headers)
    assert_one_message(data_root.run(hub), *parts)


@pytest.mark.parametrize(
    ("env", "parts"),
    [
        ({}, [f"the connection to {NOBODY} failed", "HF_ENDPOINT"]),
        ({"HF_ENDPOINT": "mirror"}, ["HF_ENDPOINT"]),
        ({"HF_ENDPOINT": "http://anna:geheim@127.0.0.1:9"}, ["127.0.0.1:9"]),
        ({"HF_ENDPOINT": "http://[::1"}, ["HF_ENDPOINT"]),
        ({"HF_TOKEN": "hf_schlüssel"}, ["HF_TOKEN"]),
    ],
)
def test_a_setting_that_cannot_work_is_one_message(data_root, env, parts):
    done = data_root.run(NOBODY, env=env)
    assert_one_message(done, *parts)
    assert "geheim" not in done.stderr


def test_offline_mode_and_a_data_root_that_cannot_be_written_are_one_message_each(data_root, hub):
    done = finish(data_root.start(hub, env={"HF_HUB_OFFLINE": "1"}))
    assert_one_message(done, "HF_HUB_OFFLINE is set")
    a_file = str(data_root.sums)
    assert_one_message(data_root.run(hub, env={"LMUData": a_file}), a_file, "--data-root")


def test_a_disk_that_fills_up_is_one_message_and_the_run_goes_on_later(large):
    limit = 2 * 2**20
    small = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, limit))
    with HubServer(large.files) as server:
        done = finish(large.start(server, preexec_fn=small))
        assert_one_message(done, "too large", "same command")
        server.requests.clear()
        assert large.run(server).code == 0
    assert ranges(server) == [f"bytes={limit}-"]


@pytest.mark.parametrize(
    ("member", "kept_name"),
    [
        ("os_mac/../../../escaped.png", None),
        ("/os_mac/escaped.png", "os_mac/escaped.png"),
        ("C:/os_mac/escaped.png", None),
        ("os_mac\\..\\escaped.png", None),
        (LINK, "os_mac/link.png"),
        ("b/os_mac/d.png", "os_mac/d.png"),
    ],
)
def test_no_member_of_a_zip_leads_out_of_the_image_folder(data_root, member, kept_name):
    before = set(files_below(data_root.tmp))
    archive = zip_of([*PICTURES.items(), (member, b"/etc/hostname")])
    done = data_root.run_by_hand(published() | {ZIP: archive})
    assert done.code == 0, done.stderr
    assert data_root.pictures() == PICTURES | ({kept_name: b"/etc/hostname"} if kept_name else {})
    assert ("skipped 1 members" in done.stdout) is (kept_name is None)
    assert all(
        name.startswith(("data/", "hf/")) for name in set(files_below(data_root.tmp)) - before
    )
    assert not any(path.is_symlink() for path in data_root.images.rglob("*"))


def encrypted():
    """A zip whose directory says so of a picture."""
    data = zip_of({"os_mac/a.png": b"x"})
    start = data.rindex(b"PK\x01\x02") + 8
    return data[:start] + b"\1" + data[start + 1 :]


STORED = zip_of({"os_mac/a.png": b"some picture"}, method=zipfile.ZIP_STORED)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (encrypted(), "is encrypted"),
        (STORED.replace(b"some", b"xxxx"), "os_mac/a.png"),  # of another CRC
        (zip_of({"pictures/a.png": b"x"}), "no member lies in one of the folders"),
    ],
)
def test_a_zip_that_is_not_what_it_states_is_one_message(data_root, content, reason):
    assert_one_message(data_root.run_by_hand(published() | {ZIP: content}), reason)
    assert not [name for name in data_root.pictures() if not Path(name).name.startswith(".")]
