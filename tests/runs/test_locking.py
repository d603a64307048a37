"""One writer per log, also where the file system has no locks."""

import errno
import fcntl
import json
import subprocess
import sys
import threading
from unittest import mock

import pytest

from tests.support.mock_server import MockServer
from tests.support.stage import L1, L2, Stage, end_of, some_right
from utils.errors import UserError
from utils.runs.folder import RunFolder, choosing
from utils.runs.log import lock_or_refuse, runs_of

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


def test_two_experiments_that_start_together_have_a_folder_each(tmp_path):
    with MockServer(some_right) as server:
        for attempt in range(3):
            stage = Stage.make(tmp_path / str(attempt), server, pictures=2)
            warm = {**stage.model["m"], "generate_cfg": {"max_tokens": 16, "temperature": 1}}
            cold = {"model": stage.model, "data": {L1: {"mode": "all"}}}
            configs = [
                stage.config(cold, "cold.json"),
                stage.config({"model": {"m": warm}, "data": {L2: {"mode": "all"}}}, "warm.json"),
            ]
            common = ("--work-dir", stage.work_dir, "--no-report")
            runs = [stage.start("--config", config, *common) for config in configs]
            assert [end_of(run)[0] for run in runs] == [0, 0]
            folders = sorted((stage.work_dir / "m").glob("T*"))
            manifests = [json.loads((folder / "manifest.json").read_text()) for folder in folders]
            temperatures = {
                tuple(manifest["datasets"]): manifest["config"]["model"]["m"]["generate_cfg"]
                for manifest in manifests
            }
            assert temperatures == {
                (L1,): {"max_tokens": 16, "temperature": 0},
                (L2,): {"max_tokens": 16, "temperature": 1},
            }
            numbers = [
                run.seq
                for folder in folders
                for log in folder.glob("m_*g.jsonl")
                for run in runs_of(log)
            ]
            assert sorted(numbers) == [1, 2]


def test_a_process_waits_until_another_one_has_begun_its_run(tmp_path):
    folder = RunFolder("m", tmp_path / "out" / "m" / "T20260101_Gaa")
    order = []

    def wait():
        with choosing(tmp_path / "out", "m"), folder.scoring():
            order.append("second")

    with choosing(tmp_path / "out", "m"), folder.scoring():
        waiting = threading.Thread(target=wait)
        waiting.start()
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]
