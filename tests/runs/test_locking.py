"""One writer per log, also where the file system has no locks."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from utils.errors import UserError
from utils.runs import locking


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

    assert (holder["host"], holder["pid"]) == (socket.gethostname(), os.getpid())
    assert list(tmp_path.glob("*heartbeat*")) == []


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


@pytest.fixture
def holder_file(tmp_path):
    file = tmp_path / "log.heartbeat"
    file.write_text(json.dumps({"host": socket.gethostname(), "pid": a_dead_process()}))
    return file


def test_one_process_does_not_get_in_twice(tmp_path, no_kernel_locks):
    lock = locking.lock_or_refuse(tmp_path / "log")

    with ThreadPoolExecutor(1) as other, pytest.raises(UserError, match=f"process {os.getpid()}"):
        other.submit(locking.lock_or_refuse, tmp_path / "log").result()

    lock.release()
    locking.lock_or_refuse(tmp_path / "log").release()


def test_a_holder_that_died_with_the_number_of_this_process_is_replaced(tmp_path, no_kernel_locks):
    holder = {"host": socket.gethostname(), "pid": os.getpid()}  # as in every start of a container
    (tmp_path / "log.heartbeat").write_text(json.dumps(holder))

    locking.lock_or_refuse(tmp_path / "log").release()


def test_a_file_that_is_being_written_is_somebodys(tmp_path, no_kernel_locks):
    (tmp_path / "log.heartbeat").touch()

    with pytest.raises(UserError, match="another process is writing this log"):
        locking.lock_or_refuse(tmp_path / "log")


def test_a_dead_holder_that_another_process_has_just_replaced_is_left_alone(
    tmp_path, no_kernel_locks, holder_file, monkeypatch
):
    created = locking._created

    def overtaken(file, content):
        if file.name.endswith(".takeover"):
            holder_file.write_text(json.dumps({"host": "another-host", "pid": 1}))
        return created(file, content)

    monkeypatch.setattr(locking, "_created", overtaken)

    with pytest.raises(UserError, match="another-host, process 1"):
        locking.lock_or_refuse(tmp_path / "log")

    assert json.loads(holder_file.read_text())["host"] == "another-host"
    assert [path.name for path in tmp_path.glob("*heartbeat*")] == ["log.heartbeat"]


def test_a_take_over_that_was_killed_in_the_middle_blocks_nobody_for_long(
    tmp_path, no_kernel_locks, holder_file
):
    gate = tmp_path / "log.heartbeat.takeover"
    gate.touch()

    with pytest.raises(UserError, match="another process is writing this log"):
        locking.lock_or_refuse(tmp_path / "log")
    long_ago = gate.stat().st_mtime - locking.SILENT_S - 1
    os.utime(gate, (long_ago, long_ago))
    locking.lock_or_refuse(tmp_path / "log").release()

    assert list(tmp_path.glob("*heartbeat*")) == []


def test_a_holder_that_was_taken_for_dead_leaves_its_successor_the_lock(tmp_path, no_kernel_locks):
    lock = locking.lock_or_refuse(tmp_path / "log")
    successor = json.dumps({"host": "another-host", "pid": 1})
    (tmp_path / "log.heartbeat").write_text(successor)

    lock.release()

    assert (tmp_path / "log.heartbeat").read_text() == successor


def race(log, start, ends):
    """Takes the lock together with others; says whether it got in, and keeps it until all said."""
    start.wait()
    try:
        locking.HeartbeatLock(log)
        ends.send(True)
    except UserError:
        ends.send(False)
    start.wait()


@pytest.mark.parametrize("is_stale", [False, True])
def test_of_processes_that_start_together_one_gets_in(tmp_path, request, is_stale):
    if is_stale:
        request.getfixturevalue("holder_file")
    context = multiprocessing.get_context("fork")
    start, pipes = context.Barrier(6), [context.Pipe() for _ in range(6)]
    processes = [
        context.Process(target=race, args=(tmp_path / "log", start, end)) for _, end in pipes
    ]
    for process in processes:
        process.start()

    got_in = [pipe.recv() for pipe, _ in pipes]

    for process in processes:
        process.join()
    assert got_in.count(True) == 1
