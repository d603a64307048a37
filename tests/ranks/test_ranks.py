"""The parts of a group of ranks: shards, logs, notes; no torch, no processes."""

from contextlib import closing, nullcontext
from types import SimpleNamespace

import pytest

from tests.support.live import Shown
from utils.engine.jobs import Job
from utils.engine.ranks import runs
from utils.engine.ranks.group import Group, NoGroup, Rank, rank_of
from utils.errors import UserError
from utils.store.folder import RunFolder
from utils.store.index import AnswerIndex
from utils.store.log import LoggedRun, RunLog, read_records

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Rank(1, 2, leads_machine=False)),
        ({"LOCAL_RANK": "0", "GROUP_WORLD_SIZE": "2"}, Rank(1, 2, machines=2)),
        ({"RANK": "0"}, Rank(0, 2)),
        ({"RANK": "0", "WORLD_SIZE": "1"}, None),
        ({"RANK": None, "WORLD_SIZE": None}, None),  # one process
        ({"MASTER_ADDR": None}, "by torchrun, but MASTER_ADDR is not; start with torchrun"),
        (
            {"RANK": "5", "MASTER_ADDR": None, "MASTER_PORT": None},
            "RANK and WORLD_SIZE are set as by torchrun, but MASTER_ADDR, MASTER_PORT are not; start with",
        ),
        ({"MASTER_PORT": "x"}, "'x'.*start with torchrun"),
        *[
            ({"RANK": rank}, f"RANK is {rank}, expected 0 to 1.*start with torchrun")
            for rank in ("2", "-1")
        ],
        *[({"WORLD_SIZE": size}, "start with torchrun") for size in ("0", "-2", "two", "")],
    ],
)
def test_torchruns_variables_say_which_rank_this_is_or_that_they_do_not_fit(changes, expected):
    variables = {name: text for name, text in {**TORCHRUN, **changes}.items() if text is not None}
    is_error = isinstance(expected, str)
    with pytest.raises(UserError, match=expected) if is_error else nullcontext():
        assert rank_of(variables) == expected


class Notes(dict):
    """A store in this process, as torch's is called; one thread counts at a time."""

    set = dict.__setitem__
    get = dict.__getitem__

    def check(self, keys):
        return self.keys() >= set(keys)

    def add(self, key, by):
        self[key] = self.setdefault(key, 0) + by
        return self[key]


@pytest.fixture
def group():
    """Makes members of one group of two ranks, by their number."""
    store = Notes()
    return lambda number: Group(Rank(number, 2), lambda: store)


def test_ranks_read_each_others_notes_and_wait_for_them(group):
    leader, follower = group(0), group(1)
    waited = []

    def meanwhile():
        waited.append(1)
        if len(waited) == 3:
            follower.leave("m/report/1", {"x": 1})

    leader.leave("m/start", ["folder"])
    assert follower.wait_for("m/start") == ["folder"]
    assert leader.notes_of_others("m/report", meanwhile) == {1: {"x": 1}}
    assert len(waited) == 3
    assert [leader.count_up("c"), follower.count_up("c"), leader.count_up("c")] == [0, 1, 2]


def test_a_store_that_cannot_be_reached_is_one_clear_message():
    def connect():
        raise RuntimeError("connection refused (10.0.0.1, 29500)\nC++ stack")

    with pytest.raises(NoGroup, match=r"cannot be reached: .*29500\) All answers are kept"):
        Group(Rank(1, 2), connect)


@pytest.mark.parametrize(("samples", "ranks"), [(0, 2), (1, 8), (25, 2), (25, 3), (10_000, 64)])
def test_ranks_ask_every_sample_once_and_about_as_many_each(samples, ranks):
    jobs = [job_of(None, range(samples)) for _ in range(ranks)]
    for number, job in enumerate(jobs):
        runs.share_samples(Group(Rank(number, ranks), Notes), [job])
    shards = [job.samples[job.shard[0] :: job.shard[1]] for job in jobs]
    assert sorted(sample for shard in shards for sample in shard) == list(range(samples))
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_a_run_that_cannot_begin_on_rank_0_has_nobody_join_it(group):
    leader, follower = group(0), group(1)
    with pytest.raises(KeyboardInterrupt), runs.leading(leader, "m"):
        raise KeyboardInterrupt
    assert runs.join(follower, "m", None) is None


def answer(key):
    return {
        "kind": "answer",
        "seq": 1,
        "key": key,
        "trial": 0,
        "fingerprint": "f",
        "parts": {},
        "status": "ok",
        "raw": "x",
        "asked_at": "2026",
        "line": {},
        "sizes": {},
    }


RUN = {"kind": "run", "seq": 1, "started_at": "1", "samples": [], "asking": {}}


@pytest.fixture
def folder(tmp_path):
    return RunFolder("m", tmp_path / "m" / "T20260101_Gabc")


@pytest.fixture
def log(folder):
    """The run's own, with nothing but its head."""
    with closing(RunLog(folder.log("L"))) as opened:
        opened.append(RUN)
        yield opened


def keys(path):
    return [record.get("key") or record["kind"] for _, record in read_records(path)]


def test_a_ranks_answers_are_copied_behind_those_of_the_run_once_it_lets_go(folder, log, group):
    log.append(answer("a"))
    with closing(runs.open_rank_log(group(0), folder, "L", LoggedRun(RUN, {}))) as part:
        for record in (answer("b"), answer("c"), {"kind": "end", "seq": 1}):
            part.append(record)
        runs.adopt(folder, "L", log)
        before = keys(log.path)
    runs.adopt(folder, "L", log)
    assert (before, keys(log.path)) == (["run", "a"], ["run", "a", "b", "c"])
    assert folder.rank_logs("L") == []
    assert [path for path in folder.path.iterdir() if ".rank" in path.name] == []


def job_of(log, samples):
    job = Job(
        dataset="L",
        samples=samples,
        run=LoggedRun(RUN, {}),
        prompt_of=iter,
        answers=AnswerIndex([]),
    )
    job.open(log)
    return job


def test_rank_0_collects_what_the_others_have_answered(group, folder, log):
    leader, follower = group(0), group(1)
    samples = [SimpleNamespace(key=str(number)) for number in range(8)]
    job, job_of_1 = job_of(log, samples), job_of(log, samples)
    follower.leave("m/joined/1", note=True)
    runs.begin(leader, folder, [job])
    with closing(runs.open_rank_log(follower, folder, "L", LoggedRun(RUN, {}))) as part:
        part.append(answer("0"))
    progress_of_1 = runs.GroupProgress(Shown(), follower, "m")
    for _ in range(2):
        progress_of_1.advance("ok", reused=False)
    job_of_1.reasons["new"] = 2
    runs.report(follower, "m", [job_of_1], wall_s=9.0, cpu_s=1.5)
    progress = Shown()
    assert runs.collect(runs.GroupProgress(progress, leader, "m"), folder, [job]) == (9, 1.5)
    assert keys(log.path) == ["run", "0"]
    assert job.reasons == {"new": 2}
    assert progress.statuses == [("by other ranks", False)] * 2
