"""Runs that must stop: a wrong key, an impatient user, a full disk, a kill between two steps."""

import errno
import itertools
import os
import signal
import threading

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.stage import L1, L2, Stage, end_of, read_log_lines, some_right
from utils.errors import StopRun
from utils.scoring.sheets import Together

HIDDEN = (".view_images", ".index.html.lock")
IN_FLIGHT, SAMPLES = 64, 75
HANG_S, PATIENCE_S = 600, 120  # whoever waits for what hangs loses his patience before
PICTURES = SAMPLES // 5


def answers(stage):
    """All answers of all logs; every line must be whole."""
    records = []
    for log in stage.work_dir.rglob("T*/*.jsonl"):
        content = log.read_bytes()
        assert content == b"" or content.endswith(b"\n")
        records += read_log_lines(log)
    return [record for record in records if record["kind"] == "answer"]


def contents(stage):
    """Everything in the work-dir by its name; links by where they lead."""
    paths = [path for path in stage.work_dir.rglob("*") if path.is_file() or path.is_symlink()]
    return {str(path): path.read_bytes() if path.is_file() else path.readlink() for path in paths}


def half_written(stage):
    """Files under a name that is not theirs for good."""
    hidden = [path for path in stage.work_dir.rglob(".*") if path.name not in HIDDEN]
    return [path.name for path in hidden if path.suffix != ".lock"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """After a run that nothing happened to."""
    with MockServer(some_right) as server:
        stage = Stage.make(tmp_path_factory.mktemp("undisturbed"), server, PICTURES)
        assert stage.run("--api-nproc", "8").code == 0
        yield stage


@pytest.fixture
def goes_on(finished):
    """Checks that the same command asks only what is not there, and scores as if undisturbed."""

    def check(stage, nproc="8"):
        kept_answers = answers(stage)
        again = stage.run("--api-nproc", nproc)
        assert (again.code, len(again.requests)) == (0, SAMPLES - len(kept_answers)), again.output
        assert stage.both_scores() == finished.both_scores()
        assert len({r["key"] for r in answers(stage)}) == len(answers(stage)) == SAMPLES

    return check


@pytest.fixture
def released():
    event = threading.Event()
    yield event
    event.set()


def test_a_wrong_key_ends_the_run_though_others_hang(staged, released, goes_on):
    arrived, waited_for = threading.Barrier(IN_FLIGHT), []

    def answer(request):
        if arrived.wait(PATIENCE_S) % 2:  # they are all sent before the first of them is answered
            return Reply(status=401, body=b'{"error": {"message": "bad key"}}')
        if not released.wait(PATIENCE_S):
            waited_for.append(request)
        return Reply(reset=True)

    stage = staged(answer=answer, pictures=PICTURES)
    ran = stage.run("--api-nproc", str(IN_FLIGHT))
    assert waited_for == []
    assert (ran.code, len(ran.requests), ran.output.count("bad key")) == (1, IN_FLIGHT, 1)
    assert ("Answers so far are kept" in ran.output, answers(stage)) == (False, [])  # of none
    released.set()
    stage.server.answer = some_right
    goes_on(stage)


@pytest.mark.parametrize(
    ("by", "option", "how"),
    [
        ("two interrupts", [], "the same command"),
        ("SIGTERM", ["--fresh"], "the same command without --fresh"),
    ],
)
def test_a_run_is_ended_though_everything_hangs_and_keeps_what_came(
    by, option, how, staged, released, goes_on
):
    arrived = itertools.count(1)

    def answer(request):
        if next(arrived) > 5:
            released.wait(HANG_S)
        return some_right(request)

    stage = staged(answer=answer, pictures=PICTURES)
    process = stage.start("--api-nproc", str(IN_FLIGHT), *option)
    stage.server.wait_for(IN_FLIGHT + 5)  # nobody asks on before his answer is in the log
    if by == "SIGTERM":
        process.terminate()
    else:
        process.send_signal(signal.SIGINT)
        assert any("Stopping after the requests in flight" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
    code, output = end_of(process, PATIENCE_S)
    assert (code, len(answers(stage))) == (130, 5), output
    assert f"{how} continues from here" in output
    released.set()
    goes_on(stage)


@pytest.mark.parametrize(
    ("status", "nproc", "requests"), [(503, "1", 6), (429, "4", 9)], ids=["away", "rate-limited"]
)
def test_an_interrupt_during_a_long_wait_ends_the_run(status, nproc, requests, staged):
    arrived, busy = itertools.count(1), Reply(status=status, headers={"retry-after": str(HANG_S)})

    def answer(request):
        return busy if next(arrived) > 5 else some_right(request)

    stage = staged(answer=answer, pictures=PICTURES)
    process = stage.start("--api-nproc", nproc)
    stage.server.wait_for(requests)
    process.send_signal(signal.SIGINT)
    code, output = end_of(process, PATIENCE_S)
    assert (code, len(answers(stage))) == (130, 5), output


# No file may grow beyond the limit. SIGXFSZ is ignored by Python.
FULL_DISK = """
import os, resource, sys
if "FULL_AT" in os.environ:
    sys.dont_write_bytecode = True  # it would be cut off at the limit, and stay
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(os.environ["FULL_AT"]), hard))
"""
MAKE_ROOM = "free some space and run the same command again"


@pytest.mark.parametrize(
    ("limit", "nproc"), [(100, "1"), (9_000, "16"), (20_011, "1"), (30_000, "16")]
)
def test_a_full_disk_stops_the_run_and_the_same_command_goes_on(limit, nproc, staged, goes_on):
    stage = staged(answer=some_right, pictures=PICTURES)
    stage.module(FULL_DISK, "sitecustomize")  # which every process loads
    ran = stage.run("--api-nproc", nproc, env={"FULL_AT": str(limit)})
    assert (ran.code, ran.output.count("cannot write")) == (1, 1), ran.output
    assert MAKE_ROOM in ran.stderr
    assert len(ran.requests) - len(answers(stage)) <= 2 * int(nproc)
    goes_on(stage, nproc)


def test_a_network_disk_that_names_a_full_quota_at_the_end_alone_is_believed(staged, monkeypatch):
    def fsync(_number):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    stage = staged(answer=some_right, pictures=1)
    monkeypatch.setattr(os, "fsync", fsync)  # all that is written before is taken
    ran = stage.run()
    assert (ran.code, MAKE_ROOM in ran.stderr) == (1, True)
    assert list(stage.work_dir.rglob("*.xlsx")) == []  # answers that may be lost are not scored


@pytest.mark.parametrize("limit", [0, 1000, 6000])
def test_a_disk_too_full_for_the_results_leaves_those_from_before(limit, tmp_path, finished):
    stage = finished.copy_to(tmp_path)
    stage.module(FULL_DISK, "sitecustomize")
    before = contents(stage)
    ran = stage.run("--mode", "eval", env={"FULL_AT": str(limit)})
    assert ran.code == 1, ran.output
    # One for each data set, since the other's might fit; a manifest of nothing new is not written.
    assert [ran.stderr.count(text) for text in ("cannot write", MAKE_ROOM)] == [2, 2]
    assert "Traceback" not in ran.output
    assert contents(stage) == before
    assert stage.run("--mode", "eval").code == 0
    assert stage.both_scores() == finished.both_scores()


KILLED = """
import os, pathlib, signal
replace = pathlib.Path.replace
def deadly(self, target):
    if str(target).endswith(os.environ.get("KILLED_AT", "?")):
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(self, target)
pathlib.Path.replace = deadly
"""


@pytest.mark.parametrize(
    "kill_point",
    [
        f"/m_{L1}.xlsx",
        f"m_{L1}_exact_matching_result.xlsx",
        f"m_{L2}_score.json",
        f"out/m/m_{L1}_scores.json",
        f"out/m/m_{L2}.jsonl",
    ],
)
def test_a_kill_before_a_derived_file_gets_its_name_is_made_good(kill_point, staged, goes_on):
    stage = staged(answer=some_right, pictures=PICTURES)
    stage.module(KILLED, "sitecustomize")
    killed = stage.run("--api-nproc", "8", env={"KILLED_AT": kill_point})
    assert killed.code == -signal.SIGKILL, killed.output
    assert len(answers(stage)) == SAMPLES
    assert half_written(stage) != []  # all files of a scoring are written before one gets its name
    goes_on(stage)  # with nothing asked
    assert half_written(stage) == []


def test_an_interrupted_run_speaks_of_kept_answers_only_where_there_are_some(staged):
    was_asked, let_go = threading.Event(), threading.Event()

    def answer(request):
        was_asked.set()
        let_go.wait(PATIENCE_S)
        return Reply(status=418)

    stage = staged(answer=answer, pictures=1)
    process = stage.start("--api-nproc", "1")
    was_asked.wait(PATIENCE_S)
    process.send_signal(signal.SIGINT)
    let_go.set()
    code, output = end_of(process, PATIENCE_S)
    assert (code, "kept" in output) == (130, False)
    assert "Interrupted. There is no answer yet: the same command begins again." in output


@pytest.mark.parametrize(
    ("number", "cure"),
    [
        (errno.ENOSPC, "free some space and run the same command again"),
        (errno.EDQUOT, "free some space and run the same command again"),
        (errno.EIO, "mend that and run the same command again"),
        (errno.EACCES, "mend that and run the same command again"),
    ],
)
def test_only_a_full_disk_is_cured_by_space(number, cure, tmp_path):
    with (
        pytest.raises(StopRun) as stopped,
        Together() as together,
        together.file(tmp_path / "a.json"),
    ):
        raise OSError(number, os.strerror(number))
    expected = f"a.json: cannot write ({os.strerror(number)}). The log is complete; {cure}"
    assert str(stopped.value).endswith(expected)


def test_a_file_that_is_missing_for_another_one_is_named(tmp_path):
    with (
        pytest.raises(StopRun) as stopped,
        Together() as together,
        together.file(tmp_path / "a.json"),
    ):
        (tmp_path / "log.jsonl").read_bytes()
    text = str(stopped.value)
    expected = f"a.json: not written: {tmp_path / 'log.jsonl'}: No such file or directory. "
    assert expected in text and "space" not in text
