"""What make and pip install: one lock for all Pythons, permissive licences, wheels for everything."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from packaging import tags
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

PROJECT = Path(__file__).resolve().parents[1]
EXPORTED = [
    "requirements.txt",
    "requirements/core.txt",
    "requirements/demo.txt",
    "requirements/dev.txt",
    "requirements/dev_env.txt",
    "requirements/jupyterlab.txt",
    "requirements/live.txt",
    "requirements/local.txt",
]
LOCK = tomllib.loads((PROJECT / "uv.lock").read_text("utf-8"))
LOCKED = {canonicalize_name(package["name"]): package for package in LOCK["package"]}
PERMISSIVE = re.compile(
    r"(3-clause )?(0?bsd|mit|apache|isc|psf|zlib|cc0|python software foundation)"
    r"([- ](cmu|[23]-clause|1\.0|2\.0))?( software)?( licen[sc]e)?",
    re.IGNORECASE,
)
ACCEPTED = {
    "certifi": "MPL-2.0: a list of certificates, used as it is",
    "tqdm": "MPL-2.0 in part: asks that changes of its files are published, and we change none",
    "ui-tars": "its wheel says nothing; its repository has Apache-2.0",
}
PLATFORMS = {
    "Linux, x86-64": [f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)],
    "Linux, ARM": [f"manylinux_2_{minor}_aarch64" for minor in range(36, 16, -1)],
    "macOS": [*tags.mac_platforms((14, 0), "arm64")],
    "Windows": ["win_amd64"],
}
PYTHONS = [(3, 11), (3, 12), (3, 13), (3, 14)]


def pins(path):
    """The requirements in a file that pip installs from."""
    lines = (PROJECT / path).read_text("utf-8").splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


def versions(path):
    return {(canonicalize_name(pin.name), str(pin.specifier)) for pin in pins(path)}


def installed_by_the_demo():
    """The packages that `make demo` installs into this Python."""
    wanted = [
        pin for pin in pins("requirements/demo.txt") if not pin.marker or pin.marker.evaluate()
    ]
    return [canonicalize_name(pin.name) for pin in wanted]


def run(*command, cwd=PROJECT, **env):
    variables = {**os.environ, **env}
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True)


# -- the lock and what is exported from it ----------------------------------------------------------


def test_the_lock_fits_what_the_project_declares():
    checked = run(sys.executable, "-m", "uv", "lock", "--check", "--offline")
    assert checked.returncode == 0, checked.stderr


def test_the_lock_names_no_index_but_the_public_one():
    hosts = set(re.findall(r'https?://[^/"]+', (PROJECT / "uv.lock").read_text("utf-8")))
    assert hosts == {"https://pypi.org", "https://files.pythonhosted.org"}


def test_the_lock_of_the_tools_for_pages_names_no_registry_but_the_public_one():
    lock = json.loads((PROJECT / "package-lock.json").read_text("utf-8"))
    sources = [package["resolved"] for name, package in lock["packages"].items() if name]
    assert {urlsplit(source).netloc for source in sources} == {"registry.npmjs.org"}


@pytest.fixture
def copied(tmp_path):
    """The files that the export reads and writes, to be spoilt."""
    (tmp_path / "requirements").mkdir()
    for path in ["pyproject.toml", "uv.lock", "requirements/export.py", *EXPORTED]:
        shutil.copy(PROJECT / path, tmp_path / path)
    return tmp_path


def export(folder, *arguments):
    return run(sys.executable, "requirements/export.py", *arguments, cwd=folder)


def test_requirements_are_what_the_lock_says(copied):
    checked = export(copied, "--check")
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stderr


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("requirements/core.txt", "pillow==", "pillow>="),
        ("requirements/demo.txt", "rapidocr==", "rapidocr==9"),
        ("requirements/live.txt", "miniwob==", "# miniwob=="),
        ("requirements/dev_env.txt", "python_full_version < '3.11.5'", "python_version < '3.11'"),
        ("requirements.txt", "torch==", "\ntorch=="),
    ],
)
def test_a_file_that_was_edited_by_hand_is_named_and_written_anew(copied, path, before, after):
    original = (copied / path).read_text("utf-8")
    (copied / path).write_text(original.replace(before, after, 1))
    checked = export(copied, "--check")
    assert checked.returncode == 1
    assert checked.stdout.startswith(f"{path}: not what uv.lock says. Run `make lock`")
    assert export(copied).returncode == 0
    assert (copied / path).read_text("utf-8") == original


@pytest.mark.parametrize("path", EXPORTED)
def test_all_files_have_the_versions_of_the_development_environment(path):
    assert versions(path) <= versions("requirements/dev_env.txt")
    assert all(re.fullmatch(r"==[\w.]+", version) for _, version in versions(path))


@pytest.mark.parametrize("target", ["demo", "demo-live", "jupyterlab", "check", "test"])
@pytest.mark.parametrize("has_uv", [True, False], ids=["uv-on-PATH", "no-uv"])
def test_make_installs_the_locked_versions_and_removes_nothing(target, has_uv, tmp_path):
    shutil.copy(PROJECT / "Makefile", tmp_path)
    (tmp_path / "requirements").mkdir()
    for path in ("uv.lock", "requirements/dev_env.txt"):
        (tmp_path / path).touch()
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sh", "make", "python3", *["uv"] * has_uv):
        (tools / tool).symlink_to(shutil.which(tool) or sys.executable)
    planned = run("make", "-n", target, cwd=tmp_path, PATH=str(tools), MAKEFLAGS="").stdout
    uv = re.escape(str(tools / "uv")) if has_uv else r"\.venv/bin/uv"
    syncs = re.findall(r"^\S*uv sync .*", planned, re.MULTILINE)
    assert syncs
    for line in syncs:
        assert re.match(rf"{uv} sync --frozen --inexact ", line), line
    brought = ".venv/bin/python -m pip install .* uv -c requirements/dev_env.txt"
    assert bool(re.search(brought, planned)) is not has_uv
    assert len(re.findall("pip install", planned)) == (not has_uv)


# -- licences and wheels ------------------------------------------------------------------------------


def licences(name):
    """What a package says of its licence: an expression, or failing that its classifiers."""
    fields = metadata.metadata(name)
    expression = fields["License-Expression"] or fields["License"]
    if expression:
        return re.split(r" AND | OR ", expression)
    classifiers = [text.split(" :: ") for text in fields.get_all("Classifier") or ()]
    return [parts[-1] for parts in classifiers if parts[0] == "License"]


def is_permissive(texts):
    return bool(texts) and all(PERMISSIVE.fullmatch(text.strip()) for text in texts)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["MIT"], True),
        (["BSD-3-Clause", "0BSD", "CC0-1.0"], True),
        (["Apache Software License"], True),
        (["LGPL-3.0-or-later"], False),
        (["MIT", "GPL-2.0-only"], False),
        (["Mozilla Public License 2.0 (MPL 2.0)"], False),
        (["Apache-2.0 WITH Commons-Clause"], False),
        (["Other/Proprietary License"], False),
        (["MIT-like, see LICENSE"], False),
        ([], False),
    ],
)
def test_a_licence_is_permissive_where_all_of_its_parts_are(texts, expected):
    assert is_permissive(texts) is expected


def test_everything_that_make_demo_installs_has_a_permissive_licence():
    names = installed_by_the_demo()
    others = {name: licences(name) for name in names if not is_permissive(licences(name))}
    assert set(others) == set(ACCEPTED), others


def without_wheel(package):
    """The Pythons and platforms for which a package of the lock has no wheel."""
    files = [wheel["url"].rpartition("/")[2] for wheel in package.get("wheels", ())]
    offered = set().union(*[parse_wheel_filename(file)[3] for file in files])
    missing = []
    for python in PYTHONS:
        for platform, names in PLATFORMS.items():
            interpreter = f"cp{python[0]}{python[1]}"
            usable = {*tags.cpython_tags(python, platforms=names)}
            usable |= {*tags.compatible_tags(python, interpreter, names)}
            if not usable & offered:
                missing.append(f"{interpreter} on {platform}")
    return missing


def test_everything_that_make_demo_installs_has_wheels_for_all_pythons():
    missing = {name: without_wheel(LOCKED[name]) for name in installed_by_the_demo()}
    assert {name: gaps for name, gaps in missing.items() if gaps} == {}


@pytest.mark.parametrize(
    ("files", "gaps"),
    [
        ([], 16),  # a source only, as jsonyx was
        (["x-1-py3-none-any.whl"], 0),
        (["x-1-cp311-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"], 12),
        (["x-1-cp311-cp311-manylinux_2_28_x86_64.whl"], 15),
        (["x-1-py2-none-any.whl"], 16),
        (["x-1-cp312-cp312-win_amd64.whl", "x-1-cp313-cp313-macosx_11_0_arm64.whl"], 14),
    ],
)
def test_a_package_without_wheels_is_seen(files, gaps):
    wheels = [{"url": f"https://files.pythonhosted.org/packages/{file}"} for file in files]
    assert len(without_wheel({"wheels": wheels})) == gaps
