"""Runs that must stop: a wrong key, an impatient user, a full disk, a kill between two steps."""

import signal
import threading
import time
from contextlib import contextmanager

import pytest

from tests.support.bench import L1, L2, Bench, dataset_of, end_of, read_log_lines
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model, make_data

HIDDEN = (".view_images", ".index.html.lock")
IN_FLIGHT = 64
SAMPLES = 75


def reply(request):
    """Depends on the request alone; some right, some wrong."""
    if dataset_of(request) == L1:
        return Reply("B" if "1" in request.text else "A")
    return Reply("(0.2, 0.15)" if "basic" in request.text else "(0.9, 0.9)")


def bench_in(home, server, pictures=SAMPLES // 5):
    make_data(home / "data", [("os_web", (40, 30))] * pictures)
    return Bench(home, server, {"m": api_model(server.url)})


@contextmanager
def bench_with(home, answer=reply, **site):
    """A bench whose server gives these answers; `sitecustomize` is loaded by its processes."""
    with MockServer(answer) as server:
        bench = bench_in(home, server)
        if site:
            put_in(bench, **site)
        yield bench, server


def put_in(bench, *, sitecustomize):
    bench.code.mkdir()
    (bench.code / "sitecustomize.py").write_text(sitecustomize)


def answers(bench):
    """All answers of all logs; every line must be whole."""
    found = []
    for log in bench.work_dir.rglob("T*/*.jsonl"):
        content = log.read_bytes()
        assert content == b"" or content.endswith(b"\n")
        found += read_log_lines(log)
    return [record for record in found if record["kind"] == "answer"]


def score_files(bench):
    return {dataset: bench.scores(dataset) for dataset in (L1, L2)}


def contents(bench):
    """Everything in the work-dir by its name; links by where they lead."""
    paths = [path for path in bench.work_dir.rglob("*") if path.is_file() or path.is_symlink()]
    return {str(path): path.read_bytes() if path.is_file() else path.readlink() for path in paths}


def half_written(bench):
    """Files under a name that is not theirs for good."""
    return [path.name for path in bench.work_dir.rglob(".*") if path.name not in HIDDEN]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """After a run that nothing happened to."""
    with bench_with(tmp_path_factory.mktemp("undisturbed")) as (bench, _):
        assert bench.run("--api-nproc", "8").code == 0
        yield bench


@pytest.fixture
def goes_on(finished):
    """Checks that the same command asks only what is not there, and scores as if undisturbed."""

    def check(bench, nproc="8"):
        kept = answers(bench)
        again = bench.run("--api-nproc", nproc)
        assert (again.code, len(again.requests)) == (0, SAMPLES - len(kept)), again.output
        assert score_files(bench) == score_files(finished)
        assert len({r["key"] for r in answers(bench)}) == len(answers(bench)) == SAMPLES

    return check


@pytest.fixture
def released():
    event = threading.Event()
    yield event
    event.set()


def test_a_wrong_key_ends_the_run_though_others_hang_and_is_reported_once(
    tmp_path, released, goes_on
):
    arrived = threading.Barrier(IN_FLIGHT)

    def answer(request):
        if released.is_set():
            return reply(request)
        if arrived.wait(60) % 2:  # they are all sent before the first of them is answered
            return Reply(status=401, body=b'{"error": {"message": "bad key"}}')
        released.wait(60)
        return Reply(reset=True)

    with bench_with(tmp_path, answer) as (bench, _):
        began_s = time.monotonic()
        ran = bench.run("--api-nproc", str(IN_FLIGHT))
        assert time.monotonic() - began_s < 30  # the others would hang for a minute
        assert (ran.code, len(ran.requests), ran.output.count("bad key")) == (1, IN_FLIGHT, 1)
        assert "Answers so far are kept" in ran.output
        assert answers(bench) == []
        released.set()
        goes_on(bench)


@pytest.mark.parametrize("by", ["two interrupts", "SIGTERM"])
def test_a_run_is_ended_though_everything_hangs_and_keeps_what_came(
    by, tmp_path, released, goes_on
):
    def answer(request):
        if len(server.requests) > 5:
            released.wait(120)
        return reply(request)

    with bench_with(tmp_path, answer) as (bench, server):
        process = bench.start("--api-nproc", str(IN_FLIGHT))
        server.wait_for(IN_FLIGHT + 1)  # so something has been answered
        came = len(answers(bench))
        if by == "SIGTERM":
            process.terminate()
        else:
            process.send_signal(signal.SIGINT)
            assert any("Stopping after what is in flight" in line for line in process.stdout)
            process.send_signal(signal.SIGINT)
        code, output = end_of(process, 60 if by == "SIGTERM" else 10)
        kept = len(answers(bench))
        assert code == 130, output
        assert "the same command goes on from here" in output
        assert max(came, 1) <= kept <= len(server.requests) - IN_FLIGHT + 5
        released.set()
        goes_on(bench)


@pytest.mark.parametrize(("status", "nproc", "requests"), [(503, "1", 6), (429, "4", 9)],
                         ids=["away", "rate-limited"])  # fmt: skip
def test_an_interrupt_during_a_long_wait_ends_the_run(status, nproc, requests, tmp_path):
    def answer(request):
        if len(server.requests) > 5:
            return Reply(status=status, headers={"retry-after": "600"})
        return reply(request)

    with bench_with(tmp_path, answer) as (bench, server):
        process = bench.start("--api-nproc", nproc)
        server.wait_for(requests)
        process.send_signal(signal.SIGINT)
        code, output = end_of(process, 10)
    assert (code, len(answers(bench))) == (130, 5), output


# No file may grow beyond the limit. SIGXFSZ is ignored by Python.
FULL_DISK = """
import os, resource

if "FULL_AT" in os.environ:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(os.environ["FULL_AT"]), hard))
"""
MAKE_ROOM = "make room and start the same command again"


@pytest.mark.parametrize("nproc", ["1", "16"])
@pytest.mark.parametrize("limit", [100, 9_000, 20_011, 30_000])
def test_a_full_disk_stops_the_run_and_the_same_command_goes_on(limit, nproc, tmp_path, goes_on):
    with bench_with(tmp_path, sitecustomize=FULL_DISK) as (bench, _):
        ran = bench.run("--api-nproc", nproc, env={"FULL_AT": str(limit)})
        assert ran.code == 1, ran.output
        assert ran.output.count("cannot write") == 1, ran.output
        assert MAKE_ROOM in ran.finished.stderr
        assert len(ran.requests) - len(answers(bench)) <= 2 * int(nproc)
        goes_on(bench, nproc)


@pytest.mark.parametrize("limit", [0, 1000])
def test_a_disk_too_full_for_the_results_leaves_those_from_before(limit, tmp_path, finished):
    bench = finished.copy_to(tmp_path)
    put_in(bench, sitecustomize=FULL_DISK)
    before = contents(bench)
    ran = bench.run("--mode", "eval", env={"FULL_AT": str(limit)})
    assert ran.code == 1, ran.output
    # One for each data set, since the other's might fit; a manifest of nothing new is not written.
    assert [ran.finished.stderr.count(text) for text in ("cannot write", MAKE_ROOM)] == [2, 2]
    assert contents(bench) == before
    assert bench.run("--mode", "eval").code == 0
    assert score_files(bench) == score_files(finished)


KILLED = """
import os, pathlib, signal

replace = pathlib.Path.replace


def deadly(self, target):
    if str(target).endswith(os.environ.get("KILLED_AT", "?")):
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(self, target)


pathlib.Path.replace = deadly
"""
DERIVED = [
    f"/m_{L1}.xlsx", f"m_{L1}_exact_matching_result.xlsx", f"m_{L1}_scores.json",
    f"/m_{L2}.xlsx", f"m_{L2}_result.xlsx", f"m_{L2}_score.json",
    f"outputs/m/m_{L1}_scores.json", f"outputs/m/m_{L2}_score.json", f"outputs/m/m_{L2}.jsonl",
]  # fmt: skip


@pytest.mark.parametrize("where", DERIVED)
def test_a_kill_before_a_derived_file_gets_its_name_is_made_good_by_the_next_run(
    where, tmp_path, goes_on
):
    with bench_with(tmp_path, sitecustomize=KILLED) as (bench, _):
        killed = bench.run("--api-nproc", "8", env={"KILLED_AT": where})
        assert killed.code == -signal.SIGKILL, killed.output
        assert (len(answers(bench)), len(half_written(bench))) == (SAMPLES, 1)
        goes_on(bench)  # with nothing asked
    assert half_written(bench) == []
