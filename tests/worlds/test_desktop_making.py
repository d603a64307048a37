"""Making the desktop: packages by a list, checksums, unpacking, and what is said where it fails."""

import gzip
import hashlib
import io
import os
import tarfile

import pytest

from benchmarks.worlds.desktop import seccomp
from benchmarks.worlds.desktop.packages import MIRRORS, Package, fetch, listed_packages
from benchmarks.worlds.desktop.root import FOLDER, problems
from benchmarks.worlds.desktop.unpack import unpack
from utils.errors import UserError


def deb(members):
    """A package with these members: a text, None for a folder, or ("link" or "hard", target)."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as files:
        for name, content in members.items():
            member = tarfile.TarInfo(f"./{name}")
            member.mode = 0o4755 if name.endswith("tool") else 0o640
            if content is None:
                member.type = tarfile.DIRTYPE
                files.addfile(member)
            elif isinstance(content, tuple):
                member.type = tarfile.SYMTYPE if content[0] == "link" else tarfile.LNKTYPE
                member.linkname = content[1]
                files.addfile(member)
            else:
                member.size = len(content)
                files.addfile(member, io.BytesIO(content.encode()))
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
    [problem] = problems()
    assert "make desktop" in problem or os.uname().machine != "x86_64"


def test_the_filter_of_system_calls_is_whole_instructions_that_end_with_a_permission():
    program = seccomp.program()
    assert len(program) % 8 == 0 and 0 < len(program) // 8 < 4096
    code, value = program[-8:-6], int.from_bytes(program[-4:], "little")
    assert code == b"\x06\x00" and value == seccomp.ALLOW
