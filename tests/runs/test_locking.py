"""One writer per log, also where the file system has no locks."""

from __future__ import annotations

import errno
import subprocess
import sys
import time

import pytest

from utils.errors import UserError
from utils.runs.locking import lock_or_refuse

HOLD = """
import errno, fcntl, os, pathlib, sys
def refuse(*_): raise OSError(errno.ENOLCK, "No locks available")
if sys.argv[2] == "lease": fcntl.flock = refuse
from utils.runs.locking import lock_or_refuse
lock = lock_or_refuse(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
os._exit(0)  # as after a kill: nothing is released
"""
KINDS = ("lock", "lease")


@pytest.fixture(params=KINDS)
def kind(request, monkeypatch):
    """How this process and the other one lock."""
    import fcntl

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    if request.param == "lease":
        monkeypatch.setattr(fcntl, "flock", refuse)
    return request.param


@pytest.fixture
def holder(tmp_path, kind):
    """Another process that holds the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "log"), kind], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_lock_that_is_released_can_be_taken_again_and_leaves_no_lease(tmp_path, kind):
    for _ in range(2):
        lock_or_refuse(tmp_path / "log").release()

    assert list(tmp_path.glob("*.lease")) == []


def test_a_living_holder_is_not_pushed_aside(tmp_path, holder):
    with pytest.raises(UserError, match="another process is writing this log"):
        lock_or_refuse(tmp_path / "log")


def test_one_process_does_not_get_in_twice(tmp_path, kind):
    lock = lock_or_refuse(tmp_path / "log")

    with pytest.raises(UserError, match="another process is writing this log"):
        lock_or_refuse(tmp_path / "log")

    lock.release()


def test_a_holder_that_died_is_replaced_at_once(tmp_path, holder):
    holder.communicate()
    began_s = time.monotonic()

    lock_or_refuse(tmp_path / "log").release()

    assert time.monotonic() - began_s < 5


def test_a_folder_that_cannot_be_written_is_no_lock_held_by_others(tmp_path, kind):
    (tmp_path / "file").touch()

    with pytest.raises(OSError, match=r"(?i)exists|not a directory"):
        lock_or_refuse(tmp_path / "file" / "log")


@pytest.mark.parametrize("kind", ["lease"], indirect=True)
def test_of_processes_that_start_together_one_gets_in(tmp_path, kind):
    processes = [
        subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "log"), kind], text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(4)
    ]  # fmt: skip
    got_in = [process.stdout.readline() == "held\n" for process in processes]
    for process in processes:
        process.communicate()

    assert got_in.count(True) == 1
