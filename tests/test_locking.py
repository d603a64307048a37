"""One writer per log, also where the file system has no locks."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys

import pytest

from utils import locking
from utils.errors import UserError


@pytest.fixture
def no_kernel_locks(monkeypatch):
    import fcntl

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)


def a_dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_lock_that_is_released_can_be_taken_again(tmp_path):
    locking.lock_or_refuse(tmp_path / "log").release()

    locking.lock_or_refuse(tmp_path / "log").release()


def test_without_kernel_locks_a_file_names_the_holder(tmp_path, no_kernel_locks):
    lock = locking.lock_or_refuse(tmp_path / "log")

    holder = json.loads((tmp_path / "log.heartbeat").read_text())
    lock.release()

    assert holder == {"host": socket.gethostname(), "pid": os.getpid()}
    assert not (tmp_path / "log.heartbeat").exists()


@pytest.mark.parametrize(
    ("holder", "silent_s"),
    [
        ({"host": "another-host", "pid": 1}, 0),
        ({"host": socket.gethostname(), "pid": os.getppid()}, 0),
    ],
)
def test_a_holder_that_lives_is_not_pushed_aside(tmp_path, no_kernel_locks, holder, silent_s):
    (tmp_path / "log.heartbeat").write_text(json.dumps(holder))

    with pytest.raises(UserError, match=f"process {holder['pid']}\\) is writing this log"):
        locking.lock_or_refuse(tmp_path / "log")


def test_a_holder_on_this_host_that_died_is_replaced(tmp_path, no_kernel_locks):
    holder = {"host": socket.gethostname(), "pid": a_dead_process()}
    (tmp_path / "log.heartbeat").write_text(json.dumps(holder))

    locking.lock_or_refuse(tmp_path / "log").release()


def test_a_holder_on_another_host_is_given_up_after_a_long_silence(tmp_path, no_kernel_locks):
    file = tmp_path / "log.heartbeat"
    file.write_text(json.dumps({"host": "another-host", "pid": 1}))
    long_ago = file.stat().st_mtime - locking.SILENT_S - 1
    os.utime(file, (long_ago, long_ago))

    locking.lock_or_refuse(tmp_path / "log").release()
