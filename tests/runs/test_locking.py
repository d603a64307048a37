"""One writer per log, also where the file system has no locks."""

import errno
import fcntl
import subprocess
import sys
from unittest import mock

import pytest

from utils.errors import UserError
from utils.runs.log import lock_or_refuse

HOLD = """
import errno, fcntl, os, pathlib, sys
def refuse(*_): raise OSError(errno.ENOSYS, "Function not implemented")
if sys.argv[2] == "marker": fcntl.flock = refuse
from utils.runs.log import lock_or_refuse
lock = lock_or_refuse(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
os._exit(0)  # as after a kill: nothing is released
"""


@pytest.fixture(params=["lock", "marker"])
def kind(request, monkeypatch):
    """How this process and the other ones lock."""

    if request.param == "marker":
        refused = OSError(errno.ENOSYS, "Function not implemented")
        monkeypatch.setattr(fcntl, "flock", mock.Mock(side_effect=refused))
    return request.param


@pytest.fixture
def hold(tmp_path, kind):
    """Starts processes that take the lock and hold it until their input ends."""
    started = []

    def start():
        command = [sys.executable, "-c", HOLD, str(tmp_path / "log"), kind]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        started.append(subprocess.Popen(command, text=True, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.filterwarnings("ignore")
def test_a_lock_is_refused_to_others_until_it_is_released_or_its_process_has_died(tmp_path, hold):
    for _ in range(2):
        lock = lock_or_refuse(tmp_path / "log")
        with pytest.raises(UserError, match="another process is writing this log"):
            lock_or_refuse(tmp_path / "log")  # not even this process gets in twice
        lock.release()
    holder = hold()
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(UserError, match="another process is writing this log"):
        lock_or_refuse(tmp_path / "log")
    holder.communicate()
    lock_or_refuse(tmp_path / "log").release()
    (tmp_path / "file").touch()  # what cannot be written is no lock held by others
    with pytest.raises(OSError, match=r"(?i)exists|not a directory"):
        lock_or_refuse(tmp_path / "file" / "log")


def test_of_processes_that_start_together_one_gets_in(hold):
    processes = [hold() for _ in range(3)]
    assert [process.stdout.readline() == "held\n" for process in processes].count(True) == 1
