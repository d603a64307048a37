"""Making the desktop: packages by a list, checksums, unpacking, and what is said where it fails."""

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from benchmarks.worlds.desktop import packages, root, seccomp, template
from benchmarks.worlds.desktop.apps import APPLICATIONS
from benchmarks.worlds.desktop.home import OLD, read_home, write_files
from benchmarks.worlds.desktop.packages import MIRRORS, Package, fetch, listed_packages
from benchmarks.worlds.desktop.root import FOLDER, problems
from benchmarks.worlds.desktop.sandbox import LOADER
from benchmarks.worlds.desktop.template import make_template
from benchmarks.worlds.desktop.triggers import run_triggers
from benchmarks.worlds.desktop.unpack import unpack
from utils.contracts import WorldError
from utils.errors import UserError

RECORDING = """#!/bin/sh
[ -w . ] && echo "$*" >> commands
case "$*" in *FAILING*) echo "WHY" >&2; exit 3;; esac
exit 0
"""
"""In place of the loader that starts a sandbox: it writes down what was to be started."""
ROOT = {
    LOADER: RECORDING,
    "etc/hosts": "",
    "etc/localtime": ("link", "/usr/share/zoneinfo/Mars"),
    "var": None,
    "usr/lib/libreoffice/share/.registry/main.xcd": "settings",
    "usr/share/i18n/charmaps/UTF-8.gz": gzip.compress(b"all characters"),
    "usr/lib/gimp/2.0/plug-ins/file-heif/tool": "",
    "usr/lib/gimp/2.0/plug-ins/file-png/tool": "",
    "usr/share/applications/exo-terminal.desktop": "",
    "usr/share/applications/gimp.desktop": "",
    "usr/share/icons/Adwaita/index.theme": "",
    "usr/share/icons/plain/a.png": "",
    "usr/share/doc/a/copyright": "License: MIT\nSee /usr/share/common-licenses/GPL-2.\n",
}
"""What a root needs to be prepared."""


def deb(members):
    """A package with these members: a text, None for a folder, or ("link" or "hard", target)."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as files:
        for name, content in members.items():
            member = tarfile.TarInfo(f"./{name}")
            member.mode = 0o4755 if name.endswith(("tool", LOADER)) else 0o640
            if content is None:
                member.type = tarfile.DIRTYPE
                files.addfile(member)
            elif isinstance(content, tuple):
                member.type = tarfile.SYMTYPE if content[0] == "link" else tarfile.LNKTYPE
                member.linkname = content[1]
                files.addfile(member)
            else:
                data_of_file = content if isinstance(content, bytes) else content.encode()
                member.size = len(data_of_file)
                files.addfile(member, io.BytesIO(data_of_file))
    parts = {
        "debian-binary": b"2.0\n",
        "control.tar.gz": b"odd",
        "data.tar.gz": gzip.compress(data.getvalue()),
    }
    package = b"!<arch>\n"
    for name, content in parts.items():
        package += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        package += content + b"\n" * (len(content) % 2)
    return package


def entry(name, content, path):
    return Package(name, "1.0-1", hashlib.sha256(content).hexdigest(), len(content), path)


def test_the_list_has_each_package_once_with_its_checksum():
    packages = listed_packages()
    assert len({package.name for package in packages}) == len(packages) > 400
    assert all(len(package.sha256) == 64 and package.size > 0 for package in packages)
    assert all(package.path.startswith("pool/") for package in packages)
    assert {"libreoffice-calc", "gimp", "bubblewrap", "xvfb"} <= {
        package.name for package in packages
    }
    assert not {"python3", "perl", "bash"} & {package.name for package in packages}


def test_packages_are_fetched_from_mirrors_once_and_a_wrong_one_is_named(tmp_path, monkeypatch):
    content = deb({"usr/a": "x"})
    mirror = tmp_path / "mirror/pool"
    mirror.mkdir(parents=True)
    (mirror / "a.deb").write_bytes(content)
    monkeypatch.setenv(MIRRORS, f"file://{tmp_path}/nothing file://{tmp_path}/mirror")
    said = []
    package = entry("a", content, "pool/a.deb")
    folder = tmp_path / "fetched"
    assert fetch([package], folder, said.append) == len(content)
    assert fetch([package], folder, said.append) == 0 and len(said) == 1
    (folder / package.file_name).write_bytes(b"half")
    assert fetch([package], folder, said.append) == len(content)
    wrong = Package("b", "2.0-1", "0" * 64, len(content), "pool/a.deb")
    with pytest.raises(UserError, match=r"b 2\.0-1 was fetched, but its checksum"):
        fetch([wrong], folder, said.append)
    with pytest.raises(UserError, match=r"c 1\.0-1 cannot be fetched.*DESKTOP_MIRROR"):
        fetch([entry("c", b"", "pool/c.deb")], folder, said.append)


def test_without_apt_and_mirror_it_is_said_what_to_set(tmp_path, monkeypatch):
    monkeypatch.delenv(MIRRORS, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"no apt-get; set DESKTOP_MIRROR"):
        fetch([entry("a", b"x", "pool/a.deb")], tmp_path / "fetched", lambda text: None)


def test_packages_are_unpacked_without_rights_owners_and_documentation(tmp_path):
    archive = tmp_path / "a.deb"
    archive.write_bytes(
        deb(
            {
                "bin": None,
                "bin/tool": "#!",
                "usr/lib/x": "library",
                "usr/lib/y": ("hard", "./usr/lib/x"),
                "lib64/z": ("link", "../lib/x"),
                "usr/share/doc/a/copyright": "License: MIT",
                "usr/share/doc/a/changelog.gz": "long",
                "usr/share/man/man1/tool.1": "long",
            }
        )
    )
    root = tmp_path / "root"
    unpack([archive], root)
    assert (root / "bin").readlink().as_posix() == "usr/bin"
    assert (root / "usr/bin/tool").stat().st_mode & 0o7777 == 0o755
    assert (root / "usr/lib/x").stat().st_mode & 0o777 == 0o644
    assert (root / "usr/lib/y").read_text() == (root / "usr/lib64/z").read_text() == "library"
    assert (root / "usr/share/doc/a/copyright").is_file()
    assert not (root / "usr/share/doc/a/changelog.gz").exists()
    assert not (root / "usr/share/man").exists()


def test_what_is_no_package_is_named(tmp_path):
    archive = tmp_path / "a.deb"
    archive.write_bytes(b"no package")
    with pytest.raises(ValueError, match=r"a\.deb is no Debian package"):
        unpack([archive], tmp_path / "root")


def test_a_desktop_that_is_not_made_is_one_line_with_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    *refused, problem = problems()
    assert "make desktop" in problem or os.uname().machine != "x86_64"
    assert refused == [] or "user namespaces" in refused[0]


WITHOUT_NAMESPACES = """
import ctypes, sys
from benchmarks.worlds.desktop import seccomp
from benchmarks.worlds.desktop.__main__ import main
program = seccomp.program()
class Filter(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("program", ctypes.c_char_p)]
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(len(program) // 8, program))) == 0
sys.exit(main())
"""
"""What a plain container does: its filter refuses new namespaces."""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the filter is one for x86-64")
def test_where_namespaces_are_refused_it_is_said_before_anything_is_fetched(tmp_path):
    environment = {**os.environ, FOLDER: str(tmp_path), MIRRORS: f"file://{tmp_path}/nothing"}
    for arguments in (["--make"], []):
        result = subprocess.run(
            [sys.executable, "-c", WITHOUT_NAMESPACES, *arguments],
            env=environment,
            cwd=Path(root.__file__).parents[3],
            capture_output=True,
            text=True,
        )
        line = (result.stderr or result.stdout).splitlines()[0]
        assert "needs user namespaces" in line and "Operation not permitted" in line
        assert "in Docker: --security-opt" in line and "fetching" not in result.stdout
    assert not (tmp_path / "packages").exists()


def test_where_a_sandbox_fails_it_is_said_before_programs_run_in_it(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setattr(root, "refused_namespaces", str)
    monkeypatch.setattr(root, "NEEDED_MB", 0)
    monkeypatch.setattr(root.packages, "fetch", lambda *_: 0)
    monkeypatch.setattr(root, "unpack", lambda _, folder: folder.mkdir())
    monkeypatch.setattr(root.triggers, "run_triggers", lambda _: pytest.fail("was run"))
    command = ["sh", "-c", "echo bwrap: setting up uid map: Permission denied >&2; exit 1"]
    monkeypatch.setattr(root, "trial_command", lambda: command)
    monkeypatch.setattr(root, "identity", dict)
    with pytest.raises(UserError, match=r"user namespaces.*uid map.*in Docker: --security-opt"):
        root.make(lambda _: None)


def test_the_filter_of_system_calls_is_whole_instructions_that_end_with_a_permission():
    program = seccomp.program()
    assert len(program) % 8 == 0 and 0 < len(program) // 8 < 4096
    code, value = program[-8:-6], int.from_bytes(program[-4:], "little")
    assert code == b"\x06\x00" and value == seccomp.ALLOW


# -- preparing a root ------------------------------------------------------------------------------


@pytest.fixture
def prepared(tmp_path):
    """Unpacks the files of `ROOT`, prepares them; returns the root and the commands."""

    def prepare(failing="nothing", why=""):
        loader = RECORDING.replace("FAILING", failing).replace("WHY", why)
        archive = tmp_path / "a.deb"
        archive.write_bytes(deb(ROOT | {LOADER: loader}))
        folder = tmp_path / "root"
        unpack([archive], folder)
        run_triggers(folder)
        lines = (folder / "commands").read_text().splitlines()
        assert all("--unshare-all" in line for line in lines)
        return folder, [line.partition(" -- ")[2] for line in lines]

    return prepare


def test_a_root_has_what_the_scripts_of_its_packages_would_make(prepared):
    folder, commands = prepared()
    assert "user:x:1000:1000" in (folder / "etc/passwd").read_text()
    assert (folder / "etc/localtime").readlink().as_posix() == "/usr/share/zoneinfo/UTC"
    assert (folder / "etc/libreoffice/registry/main.xcd").read_text() == "settings"
    assert (folder / "usr/share/i18n/charmaps/UTF-8").read_bytes() == b"all characters"
    assert (folder / "home/user").is_dir() and (folder / "proc").is_dir()
    assert "fc-cache -f" in commands and "/sbin/ldconfig" in commands


def test_slow_plugins_and_entries_that_lead_astray_are_removed_and_no_others(prepared):
    folder, _ = prepared()
    plugins = (folder / "usr/lib/gimp/2.0/plug-ins").iterdir()
    entries = (folder / "usr/share/applications").iterdir()
    assert [path.name for path in plugins] == ["file-png"]
    assert [path.name for path in entries] == ["gimp.desktop"]


def test_icons_of_a_theme_are_indexed_and_those_of_no_theme_are_not(prepared):
    _, commands = prepared()
    made = [command for command in commands if command.startswith("gtk-update-icon-cache")]
    assert made == ["gtk-update-icon-cache -f -q /usr/share/icons/Adwaita"]


@pytest.mark.parametrize(
    ("why", "reason"), [("no fonts", "no fonts"), ("", "it ended with 3"), ("x" * 999, "x" * 300)]
)
def test_a_program_that_fails_is_named_with_the_reason(prepared, why, reason):
    with pytest.raises(UserError) as caught:
        prepared("fc-cache", why)
    assert str(caught.value) == f"making the desktop: fc-cache failed: {reason}"


def test_warnings_of_the_program_that_makes_locales_are_no_failure(prepared):
    _, commands = prepared("localedef", "a warning")
    assert commands[-1].startswith("gtk-update-icon-cache")


# -- making all of it ------------------------------------------------------------------------------


@pytest.fixture
def desktop(tmp_path, monkeypatch):
    """A desktop of two packages, to be fetched from a folder, whose home is made already."""
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    contents = {"a": deb(ROOT), "b": deb({"usr/bin/other": "#!"})}
    for name, content in contents.items():
        (mirror / f"{name}.deb").write_bytes(content)
    listed = tuple(entry(name, content, f"{name}.deb") for name, content in contents.items())
    monkeypatch.setattr(packages, "listed_packages", lambda: listed)
    monkeypatch.setattr(root.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(root.shutil, "disk_usage", lambda _: Room(free=10_000_000_000))
    monkeypatch.setenv(MIRRORS, f"file://{mirror}")
    monkeypatch.setenv(FOLDER, str(tmp_path / "desktop"))
    home = root.template_folder()
    home.mkdir(parents=True)
    (home / ".made").touch()
    return tmp_path / "desktop"


class Room:
    """The room of a disk, in bytes."""

    def __init__(self, free):
        self.free = free


def test_the_desktop_is_made_once_and_its_packages_are_not_kept(desktop):
    assert len(problems()) == 1 and not root.is_made()
    said = []
    root.make(said.append)
    assert root.is_made() and problems() == []
    assert not (desktop / "packages").exists() and not [*desktop.glob("*.part")]
    assert any(line.startswith("The desktop is made: ") for line in said)
    said.clear()
    root.make(said.append)
    assert said == [
        f"The desktop is made already: {desktop}",
        f"To remove all of it: rm -r {desktop}",
    ]


def test_what_an_earlier_list_has_made_stays_and_is_named(desktop):
    for name in ("root-1", "home-1"):
        (desktop / name).mkdir()
    said = []
    root.make(said.append)
    named = [line.rpartition(" ")[2] for line in said if line.startswith("Of an earlier list")]
    assert named == [str(desktop / "home-1"), str(desktop / "root-1")]
    assert (desktop / "root-1").is_dir()


def test_the_licences_of_each_package_are_listed(desktop):
    root.make(lambda text: None)
    lines = (root.root_folder() / "LICENCES.txt").read_text().splitlines()
    assert lines[-2:] == ["a 1.0-1: GPL-2, MIT", "b 1.0-1: see there"]


def test_a_desktop_is_readable_for_everybody_whatever_the_umask_is(desktop):
    before = os.umask(0o077)
    try:
        root.make(lambda text: None)
    finally:
        assert os.umask(before) == 0o077
    made = [path for path in root.root_folder().rglob("*") if not path.is_symlink()]
    closed = [path for path in made if not path.stat().st_mode & 0o004]
    assert len(made) > 30 and closed == []


def test_without_room_on_the_disk_nothing_is_fetched(desktop, monkeypatch):
    monkeypatch.setattr(root.shutil, "disk_usage", lambda _: Room(free=7_000_000))
    with pytest.raises(UserError, match=r"has 7 MB free, \d+ MB are needed.*DESKTOP_DIR"):
        root.make(lambda text: None)
    assert not (desktop / "packages").exists()


def test_a_machine_of_another_kind_is_named_before_anything_is_made(desktop, monkeypatch):
    monkeypatch.setattr(root.platform, "machine", lambda: "aarch64")
    [problem] = problems()
    assert problem.startswith("the desktop runs on Linux on x86-64 alone; this is ")
    with pytest.raises(UserError, match="x86-64 alone"):
        root.make(lambda text: None)
    assert not (desktop / "making.lock").exists()


def test_an_application_that_does_not_start_is_said_with_what_to_do(desktop, monkeypatch):
    def no_window(*folders):
        raise WorldError("Writer has no window", "")

    monkeypatch.setattr(root, "make_template", no_window)
    (root.template_folder() / ".made").unlink()
    with pytest.raises(UserError, match=r"home failed: Writer has no window\. Run it again"):
        root.make(lambda text: None)
    assert (root.root_folder() / "made.json").is_file()


@pytest.mark.parametrize(
    ("why", "expected"),
    [
        ("bwrap: Can't find source path x", "is not readable for everybody (bwrap: Can't find"),
        ("bwrap: execvp true: Permission denied", "set DESKTOP_DIR to another folder"),
        (
            "a line\nbwrap: No permissions",
            "needs user namespaces, and this machine refuses them (bwrap: No permissions)",
        ),
        ("", "refuses them (bwrap ended with 3)"),
    ],
)
def test_a_sandbox_that_does_not_work_is_said_with_what_to_change(desktop, why, expected):
    root.make(lambda text: None)
    loader = root.root_folder() / LOADER
    loader.write_text(RECORDING.replace("FAILING", "true").replace("WHY", why))
    [problem] = problems()
    assert expected in problem
    (root.template_folder() / ".made").unlink()
    with pytest.raises(UserError) as caught:
        root.make(lambda text: None)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("user", "variables", "expected"),
    [
        (0, {FOLDER: " /data/desktop "}, "/data/desktop"),
        (1000, {FOLDER: "~/desktop"}, "/home/user/desktop"),
        (0, {}, "/var/cache/mmbench-gui-desktop"),
        (1000, {}, "/home/user/.cache/mmbench-gui-desktop"),
        (1000, {"XDG_CACHE_HOME": "/caches"}, "/caches/mmbench-gui-desktop"),
    ],
)
def test_the_desktop_lies_where_it_is_wanted_else_among_caches(
    monkeypatch, user, variables, expected
):
    for name in (FOLDER, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/user", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(root.os, "geteuid", lambda: user)
    assert root.desktop_folder().as_posix() == expected


@pytest.mark.parametrize("is_nobody", [True, False])
def test_worlds_lie_where_whom_they_run_as_can_reach_them(desktop, monkeypatch, is_nobody):
    monkeypatch.setattr(root, "can_be_nobody", lambda: is_nobody)
    monkeypatch.setattr(root.tempfile, "tempdir", "/elsewhere")
    folder = root.worlds_folder()
    assert folder.as_posix() == (f"{desktop}/worlds" if is_nobody else "/elsewhere")
    assert folder.is_dir() is is_nobody


# -- homes -----------------------------------------------------------------------------------------


class RecordedSession:
    """A desktop whose applications open windows, and close them after some tries."""

    def __init__(self, tries):
        self.tries = tries
        self.x = self
        self.calls = []
        self.open = {}

    def __call__(self, root_folder, home, worlds):
        self.home = sorted(path.name for path in home.iterdir())
        return self

    def launch(self, command):
        [app] = [app for app in APPLICATIONS.values() if app.command == command]
        self.open[f"{app.window} 1"] = self.tries

    def wait_for_window(self, window):
        assert any(window in title for title in self.open)

    def press(self, *keys):
        self.open = {title: tries - 1 for title, tries in self.open.items() if tries > 1}

    def window_titles(self):
        return [*self.open]

    def settle(self, *seconds):
        pass

    def files(self):
        kept = {"Documents/": b"", ".config/a": b"x"}
        return kept | {".cache/b": b"x", ".config/libreoffice/4/.lock": b"x"}

    def start(self):
        self.calls.append("start")

    def flush(self):
        assert not self.open
        self.calls.append("flush")

    def close(self):
        self.calls.append("close")


@pytest.fixture
def template_of(tmp_path, monkeypatch):
    def make(session):
        monkeypatch.setattr(template, "Session", session)
        skeleton, target = tmp_path / "skeleton", tmp_path / "home"
        skeleton.mkdir(exist_ok=True)
        (skeleton / ".profile").touch()
        make_template(tmp_path, skeleton, target, tmp_path)
        return target

    return make


@pytest.mark.parametrize("tries", [1, 3])
def test_a_home_has_what_applications_leave_at_their_first_start_but_no_traces(template_of, tries):
    session = RecordedSession(tries)
    target = template_of(session)
    assert session.calls == ["start", "flush", "close"]
    assert {".profile", "Documents", "Desktop"} <= {*session.home}
    files = sorted(path.relative_to(target).as_posix() for path in target.rglob("*"))
    assert files == [".config", ".config/a", ".made", "Documents"]


def test_an_application_that_is_not_left_is_named_and_no_home_is_made(template_of, tmp_path):
    session = RecordedSession(1000)
    with pytest.raises(WorldError, match="LibreOffice Calc was not left; there are"):
        template_of(session)
    assert session.calls == ["start", "close"]
    assert not (tmp_path / "home").exists()


def test_files_of_a_task_are_written_alike_whoever_writes_them(tmp_path):
    files = {"Documents/": b"", "Documents/a.txt": b"one", "b/c.txt": b"two"}
    before = os.umask(0o077)
    try:
        write_files(tmp_path, files)
    finally:
        os.umask(before)
    entries = {path.relative_to(tmp_path).as_posix(): path.stat() for path in tmp_path.rglob("*")}
    modes = {name: entry.st_mode & 0o777 for name, entry in entries.items()}
    assert modes == {"Documents": 0o755, "b": 0o755, "Documents/a.txt": 0o644, "b/c.txt": 0o644}
    assert {entry.st_mtime for entry in entries.values()} == {OLD}
    assert (tmp_path / "b/c.txt").read_bytes() == b"two"


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home/user"
    folder.mkdir(parents=True)
    return folder


def test_a_home_is_read_with_its_folders_and_without_caches(tmp_path, home):
    files = {"b/": b"", "a.txt": b"one", ".config/c": b"two", ".config/pulse/d": b"x"}
    write_files(home, files | {".cache/e": b"x", "b/.cache/f": b"three"})
    assert read_home(tmp_path) == {
        ".config/": b"",
        ".config/c": b"two",
        "a.txt": b"one",
        "b/": b"",
        "b/.cache/": b"",
        "b/.cache/f": b"three",
    }


def test_what_leads_out_of_a_home_or_never_ends_is_named_and_not_read(tmp_path, home):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (home / "link").symlink_to(secret)
    (home / "folder").symlink_to(tmp_path)
    os.mkfifo(home / "pipe")
    files = read_home(tmp_path)
    assert files == {
        "folder": f"-> {tmp_path}".encode(),
        "link": f"-> {secret}".encode(),
        "pipe": b"no regular file",
    }


@pytest.mark.parametrize("link", ["home", "home/user"])
def test_a_home_that_is_a_link_is_not_followed(tmp_path, link):
    elsewhere = tmp_path / "elsewhere/user"
    elsewhere.mkdir(parents=True)
    (elsewhere / "secret.txt").write_text("secret")
    place = tmp_path / "inside" / link
    place.parent.mkdir(parents=True)
    place.symlink_to(elsewhere.parent if link == "home" else elsewhere)
    with pytest.raises(OSError, match=r"user|home"):
        read_home(tmp_path / "inside")


def test_files_that_vanish_while_a_home_is_read_are_left_out(tmp_path, home, monkeypatch):
    for name in ("a", "b", "c"):
        (home / name).write_text(name)
    stat = os.stat

    def vanish(path, **options):
        if path == "b":
            (home / "b").unlink()
        return stat(path, **options)

    monkeypatch.setattr("os.stat", vanish)
    assert read_home(tmp_path) == {"a": b"a", "c": b"c"}
