"""The parts of a group of ranks: shares, logs, notes, heartbeats; no torch, no processes."""

import itertools
import time
from contextlib import closing, nullcontext
from types import SimpleNamespace

import pytest

from tests.support.live import Shown
from utils.engine.jobs import Job
from utils.engine.ranks import runs
from utils.engine.ranks.group import Group, LateRank, NoGroup, Rank, rank_of
from utils.engine.ranks.shares import Share, pieces
from utils.errors import UserError
from utils.runs.folder import RunFolder
from utils.runs.log import AnswerIndex, LoggedRun, RunLog, read_records

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Rank(1, 2, 60)),
        ({"RANK": "0", "EVAL_RANK_SILENCE_S": "5"}, Rank(0, 2, 5)),
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
        *[
            (
                {"EVAL_RANK_SILENCE_S": text},
                f"EVAL_RANK_SILENCE_S is '{text}'; expected 1 or more seconds",
            )
            for text in ("soon", "0", "-5", "nan", "inf")
        ],
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
    """Makes a rank's place in a group; all of them see one store."""
    store, made = Notes(), []

    def join(number, silence_s=30):
        made.append(Group(Rank(number, 2, silence_s), lambda: store))
        return made[-1]

    yield join
    for one in made:
        one.close()


@pytest.fixture
def second(monkeypatch):
    """Lets one pass on the clock of the ranks, which stands still otherwise."""
    passed_s = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: passed_s[-1])
    return lambda *_: passed_s.append(passed_s[-1] + 1)


def hear(listener, speaker):
    """Returns when the one has heard a heartbeat that the other has given meanwhile."""
    speaker.finished = ("m", speaker.finished[1] + 1)
    for _ in range(10_000):
        if listener.finished_by_others("m") == speaker.finished[1]:
            return
        time.sleep(0.01)  # until the threads of both have come to it
    raise AssertionError("no heartbeat is heard")


def test_ranks_find_each_other_read_each_others_notes_and_wait_for_a_slow_one(group, second):
    leader, follower = group(0, silence_s=2), group(1, silence_s=2)
    leader.leave("m/start", ["folder"])
    assert follower.wait_for_leader(lambda: follower.find("m/start")) == ["folder"]
    follower.leave("m/report", note={"x": 1})
    assert leader.wait_for_others(lambda rank: leader.find("m/report")) == {1: {"x": 1}}
    assert [leader.count_up("c"), follower.count_up("c"), leader.count_up("c")] == [0, 1, 2]
    looks = itertools.count()  # many of them: long after the silence that is allowed

    def look(rank):
        hear(leader, follower)
        second()
        return "done" if next(looks) > 5 else None

    assert leader.wait_for_others(look) == {1: "done"}


def test_a_rank_without_a_heartbeat_is_given_up_and_learns_of_it(group, second):
    leader, follower = group(0, silence_s=5), group(1)
    hear(leader, follower)
    follower.close()
    assert leader.wait_for_others(second) == {}
    assert leader.given_up == {1}
    with pytest.raises(LateRank, match="silent for too long"):
        follower.count_up("c")


def test_ranks_do_not_wait_for_a_leader_that_is_gone(group, second):
    leader, follower = group(0), group(1, silence_s=5)
    hear(follower, leader)
    leader.close()
    with pytest.raises(NoGroup, match="rank 0 has given no heartbeat"):
        follower.wait_for_leader(second)


def test_a_store_that_cannot_be_reached_is_one_clear_message():
    def connect():
        raise RuntimeError("connection refused (10.0.0.1, 29500)\nC++ stack")

    with pytest.raises(NoGroup, match=r"cannot be reached: .*29500\) All answers are kept"):
        Group(Rank(1, 2), connect)


@pytest.mark.parametrize(
    ("samples", "ranks", "least"),
    [(0, 2, 1), (1, 8, 1), (25, 2, 1), (25, 3, 8), (10_000, 8, 1), (10_000, 64, 16)],
)
def test_pieces_cover_every_sample_once_and_shrink(samples, ranks, least):
    sizes = [len(piece) for piece in pieces(samples, ranks, least)]
    assert [i for piece in pieces(samples, ranks, least) for i in piece] == list(range(samples))
    assert sizes == sorted(sizes, reverse=True)
    assert all(size >= least for size in sizes[:-1])
    assert max(sizes, default=0) <= 64


def test_two_ranks_claim_every_sample_once(group):
    shares = [Share(group(number), "m", "L", range(25), 1) for number in range(2)]
    takers = [share.take(lambda: 0) for share in shares]
    taken = [sample for _ in range(40) for taker in takers for sample in [next(taker, None)]]
    assert sorted(sample for sample in taken if sample is not None) == list(range(25))
    assert shares[0].rest(set(shares[0].claimed + shares[1].claimed)) == []
    assert len(shares[0].rest(set(shares[0].claimed))) > 0 < len(shares[0].claimed)


def test_a_rank_does_not_claim_far_ahead_of_what_it_has_asked(group):
    under_way = [0]
    share = Share(group(0), "m", "L", range(25), 1)
    for sample in share.take(lambda: under_way[-1]):
        under_way.append(under_way[-1] + (-1 if sample is None else 1))  # one is answered, or taken
    assert share.rest(set(share.claimed)) == []  # it got everything in the end
    assert max(under_way) <= 13  # half of them


def test_a_run_that_ends_early_on_rank_0_ends_the_claims_of_all(group):
    leader, follower = group(0), group(1)
    share = Share(follower, "m", "L", range(25), 1)
    with pytest.raises(KeyboardInterrupt), runs.leading(leader, "m"):
        raise KeyboardInterrupt
    assert list(share.take(lambda: 0)) == []
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


@pytest.mark.parametrize("has_failed", [True, False])
def test_rank_0_asks_what_a_failed_rank_had_claimed(has_failed, group, folder, log, capsys):
    leader, follower = group(0), group(1)
    samples, asked_again = [SimpleNamespace(key=str(number)) for number in range(8)], []

    def ask(jobs):
        asked_again.extend((job.dataset, [sample.key for sample in job.samples]) for job in jobs)

    mine, theirs = (
        Job(
            dataset="L",
            samples=samples,
            log=log,
            run=LoggedRun(RUN, {}),
            episode=iter,
            answers=AnswerIndex([]),
        )
        for _ in range(2)
    )
    follower.leave("m/joined/1", note=True)
    runs.begin(leader, folder, [mine], batch=1)
    theirs.share = Share(follower, "m", "L", samples, 1)
    next(theirs.share.take(lambda: 0))
    list(mine.share.take(lambda: 0))
    with closing(runs.open_rank_log(follower, folder, "L", LoggedRun(RUN, {}))) as part:
        part.append(answer("0"))
    theirs.reasons["new"] = 2
    if has_failed:
        runs.report_failure(follower, "m")
    else:
        runs.report(follower, "m", [theirs], wall_s=9.0, cpu_s=1.5)
    progress = runs.GroupProgress(Shown(), leader, "m")
    took_s = runs.collect(progress, folder, [mine], ask, fresh=False)

    assert keys(log.path) == ["run", "0"]
    messages = capsys.readouterr().err
    if has_failed:  # what it has answered is looked up: a sample of several turns may be half done
        assert asked_again == [("L", ["0", "1"])]
        assert (leader.failed, leader.given_up, took_s) == ({1}, set(), (0, 0))
        assert "rank 1 has failed; rank 0 has queried what it left" in messages
    else:
        assert (asked_again, leader.failed, took_s, messages) == ([], set(), (9, 1.5), "")
        assert mine.reasons == {"new": 2}
