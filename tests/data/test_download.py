"""utils/download.py as a process against a hub on loopback; the refusals of the unpacking in detail."""

import hashlib
import io
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import pytest

from tests.support.hub_server import HubServer
from utils.dataset import steps, unzip
from utils.dataset.receipt import Receipt
from utils.download import DOWNLOAD_COMMAND
from utils.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "utils" / "download.py"
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


def md5(data):
    return hashlib.md5(data).hexdigest()


def files_below(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


class Place:
    """A data root, the sums that hold there, and the command."""

    def __init__(self, tmp_path, files):
        self.tmp = tmp_path
        self.root = tmp_path / "data"
        self.home = self.root / "MMBench-GUI"
        self.images = self.home / "offline_images"
        self.cwd = tmp_path / "cwd"
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

    def command(self, *args, sums=True):
        given = ["--sums", str(self.sums)] if sums else []
        return [sys.executable, str(SCRIPT), *given, *args]

    def run(self, hub, *args, command=None, **more):
        env = self.env | {"HF_ENDPOINT": hub if isinstance(hub, str) else hub.address}
        return subprocess.run(
            command or self.command(*args),
            env=env | more.pop("env", {}),
            cwd=more.pop("cwd", self.cwd),
            capture_output=True,
            text=True,
            timeout=60,
            **more,
        )

    def pictures(self):
        return files_below(self.images)


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
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, done.stderr
    for part in parts:
        assert part in done.stderr


# ---- what a good run does


def test_a_fresh_download_lays_out_the_data_root(place, hub):
    done = place.run(hub)
    assert done.returncode == 0, done.stderr
    assert place.pictures() == PICTURES
    assert (place.home / L1).read_bytes() == hub.files[L1]
    assert (place.home / L2).read_bytes() == hub.files[L2]


def test_the_zip_and_temporary_files_are_gone_afterwards(place, hub):
    place.run(hub)
    left = {path.name for path in place.home.rglob("*") if path.is_file()}
    wanted = {Path(name).name for name in PICTURES} | {L1, L2, "receipt.json", "lock"}
    assert left <= wanted


def test_the_summary_counts_and_names_the_next_command(place, hub):
    out = " ".join(place.run(hub).stdout.split())
    assert "pictures 5 os_windows 2 os_mac 1 os_linux 0 os_ios 1 os_android 0 os_web 1" in out
    assert "L1 questions 6 on 2 pictures" in out
    assert "L2 instructions 2 on 2 pictures" in out
    assert out.endswith(
        f"Next: LMUData={place.root} python evaluate.py --config configs/config_api_gpt.json --check"
    )


def test_a_second_run_asks_and_writes_nothing(place, hub):
    place.run(hub)
    before = {path: path.stat().st_mtime_ns for path in place.home.rglob("*")}
    hub.seen.clear()
    done = place.run(hub)
    assert done.returncode == 0
    assert "there already" in done.stdout
    assert hub.seen == []
    assert {path: path.stat().st_mtime_ns for path in place.home.rglob("*")} == before


def test_a_second_run_needs_no_network(place, hub):
    place.run(hub)
    hub.__exit__()
    assert place.run(hub.address).returncode == 0


def test_a_copied_data_root_needs_no_network(place, hub, nowhere):
    with HubServer(published()) as alive:
        place.run(alive)
    for path in place.images.rglob("*.png"):
        os.utime(path, (1, 1))
    assert "there already" in place.run(nowhere).stdout


def test_a_lost_picture_is_brought_back_and_the_others_stay(place, hub):
    place.run(hub)
    (place.images / "os_mac/c.png").unlink()
    kept = (place.images / "os_windows/b.png").stat().st_ino
    done = place.run(hub)
    assert place.pictures() == PICTURES
    assert (place.images / "os_windows/b.png").stat().st_ino == kept
    assert "4 pictures were unpacked already" in done.stdout


def test_a_changed_picture_of_equal_size_is_noticed(place, hub):
    place.run(hub)
    (place.images / "os_mac/c.png").write_bytes(b"MAC C")
    place.run(hub)
    assert place.pictures() == PICTURES


def test_keep_zip_keeps_it_and_the_next_repair_needs_no_hub(place, hub, nowhere):
    with HubServer(published()) as alive:
        assert place.run(alive, "--keep-zip").returncode == 0
    assert (place.home / ZIP).read_bytes() == published()[ZIP]
    (place.images / "os_mac/c.png").unlink()
    assert place.run(nowhere).returncode == 0
    assert place.pictures() == PICTURES
    assert (place.home / ZIP).exists()


def test_files_put_there_by_hand_are_unpacked_without_network(place, nowhere):
    place.home.mkdir(parents=True)
    for name, data in published().items():
        (place.home / name).write_bytes(data)
    done = place.run(nowhere)
    assert done.returncode == 0, done.stderr
    assert place.pictures() == PICTURES
    assert (place.home / ZIP).exists()


def test_a_zip_by_hand_that_differs_is_used_with_a_warning_where_no_hub_answers(place, nowhere):
    place.home.mkdir(parents=True)
    other = published(PICTURES | {"os_linux/new.png": b"new"})
    for name, data in other.items():
        (place.home / name).write_bytes(data)
    done = place.run(nowhere)
    assert done.returncode == 0, done.stderr
    assert md5(other[ZIP]) in done.stderr
    assert md5(published()[ZIP]) in done.stderr
    assert "os_linux/new.png" in place.pictures()


@pytest.mark.parametrize("prefix", ["", "offline_images/", "MMBench-GUI/offline_images/", "./x y/"])
def test_the_layout_inside_the_zip_does_not_matter(tmp_path, prefix):
    files = published(prefix=prefix)
    place = Place(tmp_path, files)
    with HubServer(files) as server:
        assert place.run(server).returncode == 0
    assert place.pictures() == PICTURES


def test_litter_in_the_zip_is_skipped_and_reported(tmp_path):
    litter = {
        "__MACOSX/offline_images/os_mac/._c.png": b"x",
        "os_mac/.DS_Store": b"x",
        "os_mac/Thumbs.db": b"x",
        "README.md": b"x",
        "os_android/": b"",  # a folder is no picture and not worth a word
    }
    files = published(PICTURES | litter, prefix="")
    place = Place(tmp_path, files)
    with HubServer(files) as server:
        done = place.run(server)
    assert place.pictures() == PICTURES
    assert "skipped 4 members" in done.stdout
    assert "__MACOSX/offline_images/os_mac/._c.png" in done.stdout


def test_missing_pictures_are_named_and_change_the_exit_code(tmp_path):
    files = published({name: data for name, data in PICTURES.items() if "os_mac" not in name})
    place = Place(tmp_path, files)
    with HubServer(files) as server:
        done = place.run(server)
    assert done.returncode == 1
    assert "missing          1 pictures" in done.stdout
    assert "    os_mac/c.png" in done.stdout
    assert "os_windows/a.png" not in done.stdout  # a bare file name of L1 counts as present


# ---- where it reads its settings


def test_the_data_root_option_wins_over_the_environment(place, hub):
    place.run(hub, "--data-root", str(place.tmp / "other"))
    assert (place.tmp / "other/MMBench-GUI" / L1).exists()
    assert not place.root.exists()


@pytest.mark.parametrize(
    ("in_environment", "expected"),
    [({}, "from file"), ({"LMUData": "from environment"}, "from environment")],
)
def test_env_file_of_the_current_folder_is_read_and_the_environment_wins(
    place, hub, in_environment, expected
):
    place.env.pop("LMUData")
    (place.cwd / ".env").write_text("LMUData='from file'\n")
    place.run(hub, env=in_environment)
    assert (place.cwd / expected / "MMBench-GUI" / L1).exists()


def test_without_settings_the_data_root_is_in_the_home_folder(place, hub):
    place.env.pop("LMUData")
    place.run(hub)
    assert (place.tmp / "person/LMUData/MMBench-GUI" / L1).exists()


def test_it_runs_as_a_module(place, hub):
    command = [sys.executable, "-m", "utils.download", "--sums", str(place.sums)]
    assert place.run(hub, command=command, cwd=ROOT).returncode == 0


def test_help_and_the_import_for_the_hint_load_no_hub_library(place):
    code = (
        "import sys, utils.download as d; print(d.DOWNLOAD_COMMAND);"
        "sys.exit('huggingface_hub' in sys.modules or 'tqdm' in sys.modules)"
    )
    done = place.run("", command=[sys.executable, "-c", code], cwd=ROOT)
    assert done.returncode == 0
    assert done.stdout.strip() == DOWNLOAD_COMMAND
    assert "--sums" not in place.run("", command=place.command("--help", sums=False)).stdout


def test_other_sums_than_the_published_ones_are_never_used_unseen(place, hub):
    assert f"compared with the sums in {place.sums}" in place.run(hub).stderr
    done = place.run(hub, command=place.command("--data-root", str(place.tmp / "x"), sums=False))
    assert_one_message(done, "a9a4fd9eb1e4ae0355fee057bd55cbec")


# ---- the token


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


# ---- broken transfers


def bulky():
    return published(PICTURES | {"os_linux/noise.png": os.urandom(3 * 2**20)})


def test_a_connection_that_closes_half_way_is_continued_in_the_same_run(tmp_path):
    files = bulky()
    place = Place(tmp_path, files)
    with HubServer(files, closes_after={ZIP: [2**20]}) as server:
        done = place.run(server)
    assert done.returncode == 0, done.stderr
    assert [s.headers.get("Range") for s in server.transfers(ZIP) if s.at_storage] == [
        None,
        f"bytes={2**20}-",
    ]


def wait_for(process, text):
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"{text!r} never came")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_transfer_that_was_stopped_is_continued_by_the_same_command(tmp_path, how):
    files = bulky()
    place = Place(tmp_path, files)
    with HubServer(files, stalls_after={ZIP: 2 * 2**20}) as server:
        env = place.env | {"HF_ENDPOINT": server.address}
        with subprocess.Popen(
            place.command(), env=env, cwd=place.cwd, stderr=subprocess.PIPE, text=True
        ) as process:
            wait_for(process, ": 50 %")
            process.send_signal(how)
            rest = process.stderr.read()
        if how == signal.SIGINT:
            assert process.returncode == 130
            assert "run the same command again" in rest
            assert "Traceback" not in rest
        server.stalls_after.clear()
        server.seen.clear()
        done = place.run(server)
    assert done.returncode == 0, done.stderr
    (transfer,) = [s for s in server.transfers() if s.at_storage]
    assert int(transfer.headers["Range"].removeprefix("bytes=").rstrip("-")) >= 2**20
    assert place.pictures()["os_linux/noise.png"]


def test_a_connection_that_always_closes_is_given_up_with_one_message(place, hub):
    hub.closes_after[ZIP] = [0] * 10
    code = (
        "import sys, utils.dataset.hub as h, utils.download as d;"
        "h.RETRY_WAITS_S = (0, 0); sys.exit(d.main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "--sums", str(place.sums)]
    assert_one_message(place.run(hub, command=command, cwd=ROOT), "failed", "same command again")
    assert len(hub.closes_after[ZIP]) == 8
    hub.closes_after.clear()
    assert place.run(hub).returncode == 0


def test_a_hub_that_ignores_ranges_costs_a_new_transfer_and_no_damage(tmp_path):
    files = bulky()
    place = Place(tmp_path, files)
    with HubServer(files, closes_after={ZIP: [2**20]}, ignores_ranges=True) as server:
        done = place.run(server)
    assert done.returncode == 0, done.stderr
    assert len(place.pictures()) == 6


def test_the_part_of_an_older_zip_is_not_continued_with_a_newer_one(tmp_path):
    old, new = bulky(), bulky()
    place = Place(tmp_path, new)
    work = place.home / ".download"
    work.mkdir(parents=True)
    tag = hashlib.sha256(hashlib.sha256(old[ZIP]).hexdigest().encode()).hexdigest()[:16]
    (work / f"{tag}-{ZIP}.part").write_bytes(old[ZIP][:1000])
    with HubServer(new) as server:
        assert place.run(server).returncode == 0
    assert [s.headers.get("Range") for s in server.transfers(ZIP)] == [None, None]


def test_bytes_that_do_not_have_the_sum_of_the_hub_are_removed(place, hub):
    hub.wrong_bytes.add(ZIP)
    assert_one_message(place.run(hub), "damaged on the way")
    hub.wrong_bytes.clear()
    assert place.run(hub).returncode == 0
    assert place.pictures() == PICTURES


# ---- changed files


def test_a_changed_annotation_file_is_an_error_and_good_files_stay(place, hub):
    place.run(hub)
    before = files_below(place.home)
    hub.files[L1] = b"[]"
    hub.revisions = ("main", "newer")
    done = place.run(hub, "--revision", "newer")
    assert_one_message(done, L1, md5(b"[]"), md5(before[L1]), "--accept-changed")
    after = files_below(place.home)
    assert {name: after[name] for name in before if ".download" not in name} == {
        name: data for name, data in before.items() if ".download" not in name
    }
    assert "there already" in place.run(hub).stdout


def test_a_changed_annotation_file_stops_before_the_pictures(place, hub):
    hub.files[L2] = b"[]"
    assert_one_message(place.run(hub), L2)
    assert hub.transfers(ZIP) == []


@pytest.mark.parametrize("opaque", [False, True])
def test_accept_changed_takes_the_file_and_does_not_transfer_it_twice(place, hub, opaque):
    hub.opaque_tags = opaque
    hub.files[L2] = b"[]"
    assert place.run(hub).returncode == 2
    done = place.run(hub, "--accept-changed")
    assert done.returncode == 0, done.stderr
    assert (place.home / L2).read_bytes() == b"[]"
    assert md5(b"[]") in done.stderr
    assert place.run(hub, "--accept-changed").returncode == 0
    assert len(hub.transfers(L2)) == 1
    assert len([s for s in hub.transfers(ZIP) if s.at_storage]) == 1
    assert_one_message(place.run(hub), "--accept-changed")


@pytest.mark.parametrize("content", [b"{", b"{}", b"[1]", b"\xff"])
def test_an_accepted_file_must_still_be_a_list_of_objects(place, hub, content):
    place.run(hub)
    good = (place.home / L1).read_bytes()
    hub.files[L1] = content
    assert_one_message(place.run(hub, "--accept-changed"), L1)
    assert (place.home / L1).read_bytes() == good


def test_an_annotation_file_changed_by_hand_is_kept_beside(place, hub):
    place.run(hub)
    (place.home / L1).write_bytes(b"[]")
    done = place.run(hub)
    assert done.returncode == 0
    assert (place.home / L1).read_bytes() == hub.files[L1]
    assert (place.home / (L1 + ".old")).read_bytes() == b"[]"


def test_a_changed_zip_is_a_warning_with_both_sums_every_time(place, hub):
    hub.files[ZIP] = zip_of(PICTURES | {"os_linux/new.png": b"new"})
    for done in (place.run(hub), place.run(hub)):
        assert done.returncode == 0
        assert "warning" in done.stderr
        assert md5(hub.files[ZIP]) in done.stderr
        assert md5(published()[ZIP]) in done.stderr
    assert place.pictures()["os_linux/new.png"] == b"new"
    assert len([s for s in hub.transfers(ZIP) if s.at_storage]) == 1


def test_a_replaced_zip_of_another_revision_is_fetched_and_laid_over(place, hub):
    place.run(hub)
    hub.files[ZIP] = zip_of(PICTURES | {"os_mac/c.png": b"other mac"})
    hub.revisions = ("main", "newer")
    assert place.run(hub, "--revision", "newer").returncode == 0
    assert place.pictures()["os_mac/c.png"] == b"other mac"


# ---- killed while unpacking


@pytest.mark.parametrize("pictures", [1, 3])
def test_an_unpacking_that_was_killed_is_finished_by_the_same_command(place, hub, pictures):
    driver = [sys.executable, str(ROOT / "tests/support/hub_killed.py"), str(pictures)]
    killed = place.run(hub, command=[*driver, *place.command()[1:]])
    assert killed.returncode == -signal.SIGKILL
    done_then = [place.images / name for name in place.pictures()]
    assert len(done_then) == pictures
    inodes = [path.stat().st_ino for path in done_then]
    hub.__exit__()  # the zip is there already: not even the hub is needed
    done = place.run(hub.address)
    assert done.returncode == 0, done.stderr
    assert place.pictures() == PICTURES
    assert [path.stat().st_ino for path in done_then] == inodes


def test_a_second_download_into_the_same_folder_is_refused(tmp_path):
    files = bulky()
    place = Place(tmp_path, files)
    with HubServer(files, stalls_after={ZIP: 2 * 2**20}) as server:
        env = place.env | {"HF_ENDPOINT": server.address}
        with subprocess.Popen(
            place.command(), env=env, cwd=place.cwd, stderr=subprocess.PIPE, text=True
        ) as process:
            wait_for(process, ": 50 %")
            assert_one_message(place.run(server), "another download")
            process.kill()


# ---- one clear message


@pytest.mark.parametrize(
    ("name", "status", "headers", "parts"),
    [
        (L1, 404, {"X-Error-Code": "EntryNotFound"}, ["no file " + L1, "--revision"]),
        (L1, 404, {"X-Error-Code": "RepoNotFound"}, ["not there or not open to you"]),
        (L1, 401, {}, ["401", "no HF_TOKEN is set"]),
        (L1, 403, {"X-Error-Code": "GatedRepo"}, ["accept the conditions", "HF_TOKEN"]),
        (L1, 403, {}, ["403"]),
        (L1, 500, {}, ["500", "again later"]),
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


@pytest.mark.parametrize(
    "there", [[], ["data"], ["data/MMBench-GUI"], ["data/MMBench-GUI/.download"]]
)
def test_a_download_that_brings_nothing_leaves_nothing_behind(place, nowhere, there):
    for folder in there:
        (place.tmp / folder).mkdir(parents=True)

    result = place.run(nowhere)

    assert result.returncode == 2, result.stdout
    left = [path for path in place.tmp.glob("data/**/*") if path.name in (".download", "lock")]
    assert left == []
    assert place.root.exists() == bool(there)


def test_the_home_of_a_user_who_does_not_exist_is_one_message(place, nowhere):
    result = place.run(nowhere, env={"LMUData": "~nosuchuser/x"})

    assert (result.returncode, result.stderr) == (
        2, "error: LMUData ~nosuchuser/x: there is no user nosuchuser; write the folder in full\n"
    )  # fmt: skip
    assert not (place.cwd / "~nosuchuser").exists()


def test_a_refused_connection_is_one_message(place, nowhere):
    assert_one_message(place.run(nowhere), f"the connection to {nowhere} failed", "HF_ENDPOINT")


@pytest.mark.parametrize(
    ("env", "part"),
    [
        ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE"),
        ({"HF_ENDPOINT": "mirror"}, "HF_ENDPOINT"),
        ({"HF_ENDPOINT": "http://[::1"}, "HF_ENDPOINT"),
        ({"HF_TOKEN": "hf_schlüssel"}, "HF_TOKEN"),
    ],
)
def test_a_setting_that_cannot_work_is_one_message(place, hub, env, part):
    assert_one_message(place.run(hub, env=env), part)


def test_user_and_password_of_a_mirror_are_not_shown(place, nowhere):
    done = place.run(nowhere.replace("//", "//anna:geheim@"))
    assert_one_message(done, nowhere.removeprefix("http://"))
    assert "geheim" not in done.stderr


def test_a_data_root_that_is_a_file_is_one_message(place, hub):
    place.root.write_text("a file")
    assert_one_message(place.run(hub), "cannot be written", "--data-root")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_data_root_is_one_message(place, hub):
    place.root.mkdir(mode=0o500)
    assert_one_message(place.run(hub), "cannot be written", "--data-root")


def test_a_disk_that_fills_up_is_one_message_and_the_run_goes_on_later(tmp_path):
    files = bulky()
    place = Place(tmp_path, files)

    def small_files_only():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 * 2**20, 2 * 2**20))

    with HubServer(files) as server:
        done = place.run(server, preexec_fn=small_files_only)
        assert_one_message(done, "no room left", "same command")
        server.seen.clear()
        assert place.run(server).returncode == 0
    (transfer,) = [s for s in server.transfers() if s.at_storage]
    assert transfer.headers["Range"] == f"bytes={2 * 2**20}-"


def test_too_little_room_is_said_before_anything_is_written(tmp_path, monkeypatch):
    class Usage:
        free = 1000

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage)
    with pytest.raises(UserError, match=r"2.0 KiB needed to unpack, 1000 B free"):
        steps.require_room(tmp_path / "not" / "there", 2048, "unpack")


@pytest.mark.parametrize("content", [b"no zip at all", b"", published()[ZIP][:-30]])
def test_a_file_that_is_no_zip_is_one_message(place, hub, content):
    hub.files[ZIP] = content
    done = place.run(hub)
    assert done.returncode == 2
    assert "not a zip file that can be read" in done.stderr
    assert "Traceback" not in done.stderr
    hub.files = published()
    assert place.run(hub).returncode == 0  # the better file on the hub is found by itself


@pytest.mark.parametrize("content", ["", "{", "[]", '{"files": 3, "pictures": {}}'])
def test_a_broken_receipt_costs_time_and_nothing_else(place, hub, content):
    place.run(hub)
    (place.home / ".download" / Receipt.FILE_NAME).write_text(content)
    assert place.run(hub).returncode == 0
    assert place.pictures() == PICTURES


# ---- members that are refused


def linked(name):
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


UNSAFE = {
    "leads out of the folder": [("os_mac/../../../escaped.png", b"x")],
    "has an absolute path": [("/os_mac/escaped.png", b"x")],
    "has a drive letter": [("C:/os_mac/escaped.png", b"x")],
    "has a backslash": [("os_mac\\..\\escaped.png", b"x")],
    "has a control character": [("os_mac/a\nb.png", b"x")],
    "is a link": [(linked("os_mac/link.png"), "/etc/hostname")],
    "a second file for os_mac/C.png": [("a/os_mac/c.png", b"x"), ("b/os_mac/C.png", b"x")],
    "lies in a folder that is a file": [("os_mac/d", b"x"), ("os_mac/d/e.png", b"x")],
    "more than 100-fold": [("os_mac/zeros.png", bytes(80 * 2**20))],
    "name of this program's temporary file": [("os_mac/.unpacking.part", b"x")],
    "no member lies in one of the folders": [("pictures/a.png", b"x")],
}


@pytest.mark.parametrize("reason", UNSAFE)
def test_an_unsafe_zip_is_refused_and_nothing_is_unpacked(tmp_path, reason):
    bad = UNSAFE[reason]
    good = [] if "no member" in reason else [("os_mac/c.png", b"good")]
    files = published() | {ZIP: zip_of([*good[: "second" not in reason], *bad])}
    place = Place(tmp_path, files)
    before = files_below(tmp_path)
    with HubServer(files) as server:
        done = place.run(server)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert not place.images.exists()
    outside = {name for name in files_below(tmp_path) if not name.startswith(("data/", "hf/"))}
    assert outside == set(before)


def plan_of(tmp_path, data):
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    with unzip.opened(path) as archive:
        return unzip.make_plan(archive, path)


def unpack_all(tmp_path, data):
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    with unzip.opened(path) as archive:
        plan = unzip.make_plan(archive, path)
        unzip.unpack(archive, path, list(plan.pictures), tmp_path / "out", lambda _: None)


def test_an_encrypted_member_is_refused(tmp_path):
    data = bytearray(zip_of({"os_mac/a.png": b"x"}))
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 8] |= 1
    with pytest.raises(UserError, match="is encrypted"):
        plan_of(tmp_path, bytes(data))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("MAX_TOTAL_BYTES", 5, "more than the 5 that are accepted"),
        ("MAX_MEMBERS", 1, "2 members, more than the 1"),
    ],
)
def test_absurd_totals_are_refused(tmp_path, monkeypatch, name, value, reason):
    monkeypatch.setattr(unzip, name, value)
    with pytest.raises(UserError, match=reason):
        plan_of(tmp_path, zip_of({"os_mac/a.png": b"1234", "os_mac/b.png": b"1234"}))


def test_a_member_longer_than_it_states_ends_at_the_stated_size(tmp_path):
    data = bytearray(zip_of({"os_mac/a.png": bytes(2**20)}))
    directory = data.rindex(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = (10).to_bytes(4, "little")
    with pytest.raises(unzip.DamagedArchive):
        unpack_all(tmp_path, bytes(data))
    assert files_below(tmp_path / "out") == {}


def test_a_picture_with_another_crc_than_stated_is_not_put_in_place(tmp_path):
    data = zip_of({"os_mac/a.png": b"some picture"}, method=zipfile.ZIP_STORED)
    with pytest.raises(unzip.DamagedArchive, match=r"os_mac/a\.png"):
        unpack_all(tmp_path, data.replace(b"some picture", b"xxxx picture", 1))
    assert files_below(tmp_path / "out") == {}


def test_many_problems_are_cut_to_a_readable_number(tmp_path):
    with pytest.raises(UserError) as refused:
        plan_of(tmp_path, zip_of({f"../os_mac/{n}.png": b"x" for n in range(50)}))
    assert len(refused.value.problems) == 7
    assert "45 more problems" in refused.value.problems[5]
