"""What a sandbox is started with, and how it ends; a script of the test runs in place of it."""

import os
import select
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.worlds.desktop import sandbox as module
from benchmarks.worlds.desktop.sandbox import (
    LOADER,
    NOBODY,
    Sandbox,
    bound,
    give_to_sandbox,
    identity,
    maker_command,
    private,
    trial_command,
)
from utils.contracts import WorldError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the desktop runs on Linux")

PATIENCE_S = 30
RECORDING = """#!/bin/sh
echo "$*" > command
cat /proc/$$/environ > environment
cat "/proc/self/fd/$5" > arguments
echo > ready
read -r line
echo "$line" > input
echo "it has ended"
exit 3
"""
"""In place of the loader that starts a sandbox: it ends with the first line that it is sent."""
FAMILY = """#!/bin/sh
sh -c 'echo > ready; read -r line; true'
"""
"""The same with a child, as the shell in a sandbox is one."""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Starts a script as a sandbox, as the user of the test; waits until it is ready."""
    monkeypatch.setattr(module, "identity", dict)
    sandboxes = []

    def start(script):
        root = tmp_path / "root"
        loader = root / LOADER
        loader.parent.mkdir(parents=True)
        loader.write_text(script)
        loader.chmod(0o755)
        os.mkfifo(root / "ready")
        ready = os.open(root / "ready", os.O_RDONLY | os.O_NONBLOCK)
        sandboxes.append(Sandbox(root, bound("/x", Path("/y z")), {"NAME": "a b"}, "echo script"))
        assert is_readable(ready)
        os.close(ready)
        return sandboxes[-1], root

    yield start
    for sandbox in sandboxes:
        sandbox.end()


def is_readable(file):
    """Waits for something to read; of a process, for its end."""
    return bool(select.select([file], [], [], PATIENCE_S)[0])


def test_paths_of_the_host_and_variables_stand_in_no_command_line(start):
    _, root = start(RECORDING)
    command = (root / "command").read_text()
    assert "usr/bin/bwrap --args" in command and "echo script" in command
    assert "/y z" not in command and "a b" not in command
    arguments = (root / "arguments").read_text()
    assert "\0--ro-bind\0/y z\0/x\0--setenv\0NAME\0a b\0--seccomp\0" in arguments
    assert arguments.endswith("\0--remount-ro\0/") and "\0--unshare-user\0" in arguments


def test_nothing_of_the_environment_of_the_host_is_handed_on(start):
    _, root = start(RECORDING)
    assert (root / "environment").read_bytes() == b""


def test_a_line_arrives_and_after_the_end_the_last_words_are_known(start):
    sandbox, root = start(RECORDING)
    assert sandbox.is_running and sandbox.output() == ""
    process = os.pidfd_open(sandbox.pids()[0])
    sandbox.send("one 'two'")
    assert is_readable(process)
    os.close(process)
    assert not sandbox.is_running
    assert (root / "input").read_text() == "one 'two'\n"
    with pytest.raises(WorldError, match="a sandbox has ended") as caught:
        sandbox.send("three")
    assert caught.value.trace == "it has ended\n"


def test_the_root_of_a_sandbox_is_that_of_the_shell_in_it(start):
    sandbox, _ = start(FAMILY)
    _, shell = sandbox.pids()
    assert sandbox.inside() == Path(f"/proc/{shell}/root")


def test_without_a_shell_there_is_no_root_yet(start):
    sandbox, _ = start(RECORDING)
    assert sandbox.inside() is None


def test_the_end_of_a_sandbox_is_that_of_all_in_it(start):
    sandbox, _ = start(FAMILY)
    processes = [os.pidfd_open(pid) for pid in sandbox.pids()]
    assert len(processes) == 2
    sandbox.end()
    assert all(map(is_readable, processes)) and not sandbox.is_running
    sandbox.end()
    for process in processes:
        os.close(process)


ALL = "         0          0 4294967295\n"
ALONE = "         0       1000          1\n"  # root of a namespace, and nobody else
TWO = f"{ALONE}         1     100000      65536\n"


@pytest.mark.parametrize(
    ("user", "users", "groups", "is_nobody"),
    [
        (0, ALL, ALL, True),
        (0, TWO, TWO, True),
        (0, ALONE, ALL, False),
        (0, ALL, ALONE, False),
        (1000, ALL, ALL, False),
    ],
)
def test_what_root_starts_runs_as_nobody_where_there_is_somebody_else(
    monkeypatch, user, users, groups, is_nobody
):
    maps = {"/proc/self/uid_map": users, "/proc/self/gid_map": groups}
    monkeypatch.setattr(module.os, "geteuid", lambda: user)
    monkeypatch.setattr(
        module, "Path", lambda path: SimpleNamespace(read_text=lambda encoding: maps[path])
    )
    owners = []
    monkeypatch.setattr(module.os, "chown", lambda *call: owners.append(call))
    give_to_sandbox("folder")
    assert owners == [("folder", NOBODY, NOBODY)] * is_nobody
    assert identity().get("user") == (NOBODY if is_nobody else None)
    assert identity().get("extra_groups", []) == []


def test_a_root_that_is_being_made_may_be_written_to_and_one_that_is_tried_may_not():
    making, trial = maker_command(["fc-cache", "-f"]), trial_command()
    assert making[-3:] == ["--", "fc-cache", "-f"] and trial[-2:] == ["--", "true"]
    assert making[making.index("/") - 2] == "--bind"
    assert trial[trial.index("/") - 2] == "--ro-bind"
    assert {"--unshare-all", "--die-with-parent"} <= {*making} & {*trial}
    assert "--disable-userns" in trial


def test_folders_of_the_host_are_read_only_unless_they_are_to_be_written():
    assert bound("/x", Path("/y")) == ["--ro-bind", "/y", "/x"]
    assert bound("/x", Path("/y"), writable=True) == ["--bind", "/y", "/x"]
    assert private("/x", 2) == ["--size", str(2 << 20), "--tmpfs", "/x"]
