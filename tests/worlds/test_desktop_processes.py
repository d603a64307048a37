"""What is known of the processes of a world: their families, names, work and memory."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from benchmarks.worlds.desktop.processes import (
    children,
    cpu_seconds,
    is_busy,
    name_of,
    resident_bytes,
    waiting_seconds,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the desktop runs on Linux")


@pytest.fixture
def started():
    """Starts programs that repeat their input and wait for more, and ends them."""
    processes = []

    def start(program="cat"):
        process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        processes.append(process)
        process.stdin.write(b"begin\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"begin\n"  # now it is that program
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def gone(started):
    """The number of a process that has ended."""
    process = started()
    process.kill()
    process.wait()
    return process.pid


@pytest.fixture
def stopped(started):
    """The number of a process that is stopped, and so does nothing."""
    pid = started().pid
    os.kill(pid, signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)
    return pid


def test_children_of_every_thread_are_found(started):
    processes = [started()]
    is_over, is_started = threading.Event(), threading.Event()

    def start_and_wait():
        processes.append(started())
        is_started.set()
        is_over.wait()

    thread = threading.Thread(target=start_and_wait)
    thread.start()
    try:
        is_started.wait()
        assert {process.pid for process in processes} <= {*children(os.getpid())}
        assert [*children(processes[0].pid)] == []
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize("name", ["cat", "a) R (b", "ünder"])
def test_a_process_has_the_name_of_its_program(started, tmp_path, name):
    program = tmp_path / name
    program.symlink_to(shutil.which("cat"))
    assert name_of(started(str(program)).pid) == name


def test_a_process_that_waits_is_not_busy_whatever_it_is_called(started, tmp_path):
    program = tmp_path / "a) R 1"
    program.symlink_to(shutil.which("cat"))
    pid = started(str(program)).pid
    os.kill(pid, signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)
    assert not is_busy([pid])


def test_one_busy_process_is_enough(stopped):
    assert is_busy([stopped, os.getpid()])
    assert not is_busy([stopped])
    assert not is_busy([])


def test_memory_of_processes_is_added_up(started):
    pids = [started().pid for _ in range(2)]
    for pid in pids:  # so that their memory stays as it is
        os.kill(pid, signal.SIGSTOP)
        os.waitpid(pid, os.WUNTRACED)
    first, second = (resident_bytes([pid]) for pid in pids)
    assert first > 0 and second > 0
    assert resident_bytes(pids) == first + second
    assert resident_bytes([os.getpid()]) > 5 << 20


def test_processor_time_is_that_of_user_and_system_together(stopped):
    times = os.times()
    before = times.user + times.system
    own = cpu_seconds([os.getpid()], os.sysconf("SC_CLK_TCK"))
    times = os.times()
    assert before - 0.05 <= own <= times.user + times.system + 0.05
    assert own > 0.1 > cpu_seconds([stopped]) >= 0
    assert cpu_seconds([os.getpid()], 1) > 50 * own  # ticks, taken for seconds


def test_waiting_for_a_processor_is_added_up(started):
    pids = [started().pid for _ in range(2)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
        os.waitpid(pid, os.WUNTRACED)
    files = [Path(f"/proc/{pid}/schedstat") for pid in pids]
    if not files[0].exists():
        pytest.skip("this kernel does not count it")
    waited_ns = [int(file.read_text().split()[1]) for file in files]
    assert [waiting_seconds([pid]) for pid in pids] == [ns / 1e9 for ns in waited_ns]
    assert waiting_seconds(pids) == sum(waited_ns) / 1e9


def test_of_a_process_that_is_gone_nothing_is_known_and_nothing_fails(gone):
    assert [*children(gone)] == [] and name_of(gone) == ""
    assert not is_busy([gone])
    assert resident_bytes([gone]) == cpu_seconds([gone]) == waiting_seconds([gone]) == 0
    assert is_busy([gone, os.getpid()])
    assert resident_bytes([gone, os.getpid()]) > 0
