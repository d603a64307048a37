"""One writer per log, also where the file system has no locks."""

import errno
import fcntl
import json
import os
import subprocess
import sys
import threading
from unittest import mock

import pytest

from tests.support.mock_server import MockServer
from tests.support.runs import evaluate
from tests.support.stage import L1, L2, Stage, end_of, some_right
from utils.errors import UserError
from utils.store.folder import RunFolder, choosing
from utils.store.log import lock_or_refuse, runs_of

HOLD = """
import errno, fcntl, os, pathlib, sys
def refuse(*_): raise OSError(int(sys.argv[2]), "no")
if sys.argv[2] != "0": fcntl.flock = refuse
from utils.store.log import lock_or_refuse
lock = lock_or_refuse(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
os._exit(0)  # as after a kill: nothing is released
"""


@pytest.fixture(params=[0, errno.ENOSYS, errno.ENOLCK], ids=["lock", "ENOSYS", "ENOLCK"])
def refusal(request, monkeypatch):
    """What the file system says to locks, to this process and the other ones; 0: it has them."""
    if request.param:
        refuse_locks(monkeypatch, request.param)
    return request.param


def refuse_locks(monkeypatch, number):
    refused = OSError(number, os.strerror(number))
    monkeypatch.setattr(fcntl, "flock", mock.Mock(side_effect=refused))


@pytest.fixture
def hold(tmp_path, refusal):
    """Starts processes that take the lock and hold it until their input ends."""
    started = []

    def start():
        command = [sys.executable, "-c", HOLD, str(tmp_path / "log"), str(refusal)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        started.append(subprocess.Popen(command, text=True, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


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


WITHOUT_LOCKS = """
import errno, fcntl, os
def flock(*_): raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
fcntl.flock = flock
"""


def test_a_run_without_locks_says_so_once_and_leaves_no_marker(stage):
    stage.module(WITHOUT_LOCKS, "sitecustomize")
    for _ in range(2):
        ran = stage.run("--api-nproc", "8")
        assert (ran.code, ran.output.count("the file system has no locks")) == (0, 1), ran.output
        assert list(stage.work_dir.rglob("*.lock")) == []
    assert len(stage.server.requests) == 9 + 6
    assert "UserWarning" not in ran.output


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP])
@pytest.mark.parametrize("command", [(), ("--mode", "eval"), ("--runs",)])
def test_every_command_works_without_locks(number, command, stage, monkeypatch):
    assert stage.run().code == 0
    left_behind = [*stage.work_dir.rglob("*.lock"), *stage.work_dir.rglob(".*.lock")]
    for file in left_behind:
        os.utime(file, (0, 0))  # as they are when the work-dir is used on another machine
    refuse_locks(monkeypatch, number)
    if command == ("--runs",):
        ran = evaluate(*command, "--work-dir", stage.work_dir, cwd=stage.home)
    else:
        ran = stage.run(*command)
    assert (ran.code, bool(left_behind)) == (0, True), ran.output


@pytest.mark.parametrize("number", [errno.EIO, errno.EPERM, errno.EACCES])
def test_a_lock_that_fails_otherwise_is_no_file_system_without_locks(number, tmp_path, monkeypatch):
    refuse_locks(monkeypatch, number)
    with pytest.raises((OSError, UserError)):
        lock_or_refuse(tmp_path / "log")


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.EINVAL, 0),
        (errno.ENOTSUP, 0),
        (errno.ENOSYS, 0),
        (errno.EIO, 1),
        (errno.ENOSPC, 1),
    ],
)
def test_a_file_system_that_cannot_sync_is_no_full_or_broken_one(number, code, stage, monkeypatch):
    def fsync(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fsync)
    ran = stage.run()
    assert (ran.code, "cannot write" in ran.output) == (code, code == 1), ran.output


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
