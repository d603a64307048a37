"""The parts of a group of ranks: shares, merging, signs of life; no torch, no processes."""

import threading
from contextlib import closing
from types import SimpleNamespace

import pytest

import evaluate
from models.wrappers.local.loading import device_of_this_rank
from tests.support.ranks import write_log
from utils.engine.jobs import Job
from utils.engine.ranks.group import GivenUp, Group
from utils.engine.ranks.logs import merge, merge_leftovers, merge_newest_run, open_rank_log
from utils.engine.ranks.runs import LeadersPart, _GroupProgress, tell_failure
from utils.engine.ranks.shares import Share, pieces
from utils.engine.ranks.store import GroupLost
from utils.engine.ranks.who import Rank, rank_of
from utils.errors import StopRun, UserError
from utils.runs.folder import RunFolder
from utils.runs.log import AnswerIndex, RunLog, read_records

# ---- which rank ----------------------------------------------------------------------------------

TORCHRUN = {
    "RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500",
    "TORCHELASTIC_RUN_ID": "abc", "TORCHELASTIC_USE_AGENT_STORE": "True",
}  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), [
    ({}, (1, 2, False)),
    ({"RANK": "0"}, (0, 2, False)),
    ({"RANK": "0", "TORCHELASTIC_USE_AGENT_STORE": "False"}, (0, 2, True)),
    ({"RANK": "1", "TORCHELASTIC_USE_AGENT_STORE": "False"}, (1, 2, False)),
    ({"RANK": "0", "WORLD_SIZE": "1"}, None),  # torchrun with one process
    ({"RANK": None, "WORLD_SIZE": None}, None),
])  # fmt: skip
def test_torchruns_variables_say_which_rank_this_is(changes, expected):
    environ = {k: v for k, v in {**TORCHRUN, **changes}.items() if v is not None}

    rank = rank_of(environ)

    assert (rank and (rank.number, rank.count, rank.hosts_store)) == expected


@pytest.mark.parametrize("changes", [
    {"MASTER_ADDR": None}, {"MASTER_PORT": "x"}, {"RANK": "2"},
])  # fmt: skip
def test_variables_that_do_not_fit_together_are_an_error(changes):
    environ = {k: v for k, v in {**TORCHRUN, **changes}.items() if v is not None}

    with pytest.raises(UserError, match="torchrun"):
        rank_of(environ)


@pytest.mark.parametrize("text", ["soon", "0", "-5", "nan", "inf"])
def test_a_silence_that_is_no_number_of_seconds_is_an_error_of_its_own(text):
    with pytest.raises(UserError, match=r"EVAL_RANK_SILENCE_S is '.*'; expected seconds from 1 up"):
        rank_of({**TORCHRUN, "EVAL_RANK_SILENCE_S": text})


@pytest.mark.parametrize(("local_rank", "devices", "expected"), [
    (None, 8, "cuda:0"),
    ("3", 8, "cuda:3"),
    ("3", 1, "cuda:0"),  # each rank sees one device only
])  # fmt: skip
def test_each_rank_has_a_device_of_its_own(local_rank, devices, expected, monkeypatch):
    chosen = []

    class Torch:
        class cuda:
            device_count = staticmethod(lambda: devices)
            set_device = staticmethod(chosen.append)

    monkeypatch.delenv("LOCAL_RANK", raising=False)
    if local_rank is not None:
        monkeypatch.setenv("LOCAL_RANK", local_rank)

    assert [device_of_this_rank(Torch)] == chosen == [expected]


# ---- shares --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("samples", "ranks", "least"), [
    (0, 2, 1), (1, 8, 1), (25, 2, 1), (25, 3, 8), (10_000, 8, 1), (10_000, 64, 16),
])  # fmt: skip
def test_pieces_cover_every_sample_once_and_shrink(samples, ranks, least):
    sizes = [len(piece) for piece in pieces(samples, ranks, least)]

    assert [i for piece in pieces(samples, ranks, least) for i in piece] == list(range(samples))
    assert sizes == sorted(sizes, reverse=True)
    assert all(size >= least for size in sizes[:-1])
    assert max(sizes, default=0) <= 64


def share_of(claims, samples=25, ranks=2):
    def claim():
        claims.append(1)
        return len(claims) - 1

    return Share(range(samples), pieces(samples, ranks), claim, lambda: len(claims))


def test_two_ranks_claim_every_sample_once():
    claims = []
    takers = [share_of(claims).take(lambda: 0) for _ in range(2)]

    taken = [sample for _ in range(40) for taker in takers for sample in [next(taker, None)]]

    assert sorted(sample for sample in taken if sample is not None) == list(range(25))


def test_a_rank_does_not_claim_far_ahead_of_what_it_has_asked():
    claims, under_way = [], [0]
    taker = share_of(claims).take(lambda: under_way[0])
    ahead = []
    for sample in taker:
        if sample is None:
            ahead.append(under_way[0])
            under_way[0] -= 1  # one is answered
        else:
            under_way[0] += 1

    assert len(claims) == len(pieces(25, 2)) + 1  # it got everything in the end
    assert max(ahead) <= 13  # half of them


def test_a_share_has_more_until_all_pieces_are_claimed():
    claims = []
    share = share_of(claims)

    assert share.has_more
    claims.extend([1] * len(pieces(25, 2)))
    assert not share.has_more


# ---- merging -------------------------------------------------------------------------------------


def answer(key, **more):
    return {"kind": "answer", "key": key, "trial": 0, "fingerprint": "f", "status": "ok",
            "asked_at": "2026", "line": {}, **more}  # fmt: skip


def run_at(moment):
    return {"kind": "run", "started_at": moment, "samples": []}


@pytest.fixture
def folder(tmp_path):
    return RunFolder("m", tmp_path / "m" / "T20260101_Gabc")


def of_rank(folder, rank, run, *records):
    return write_log(folder.rank_log("L", rank, "t"), [{"kind": "rank", "run": run}, *records])


def keys(path):
    return [record.get("key") or record["kind"] for _, record in read_records(path)]


def open_log(folder, *records):
    write_log(folder.log("L"), list(records))
    return RunLog(folder.log("L"))


def test_merging_moves_a_ranks_answers_into_the_runs_log(folder):
    log = open_log(folder, run_at("1"), answer("a"))
    reuse = {"kind": "reuse", "key": "c", "trial": 0, "fingerprint": "f"}
    part = of_rank(folder, 1, "1", answer("b"), reuse, {"kind": "end"})

    merge(log, [part])
    log.close()

    assert keys(log.path) == ["run", "a", "b", "c"]
    assert sorted(path.name for path in folder.path.iterdir()) == ["m_L.jsonl", "m_L.jsonl.lock"]


def test_a_merge_that_was_killed_is_completed_without_doubles(folder, monkeypatch):
    log = open_log(folder, run_at("1"))
    part = of_rank(folder, 1, "1", answer("a"), answer("b"))
    write = RunLog.append

    def killed_at_b(self, record):
        if record["key"] == "b":
            raise SystemExit
        write(self, record)

    monkeypatch.setattr(RunLog, "append", killed_at_b)
    with pytest.raises(SystemExit):
        merge(log, [part])
    monkeypatch.setattr(RunLog, "append", write)
    log.close()
    again = RunLog(log.path)
    merge(again, [part])
    merge(again, [of_rank(folder, 1, "1", answer("a"), answer("b"))])
    again.close()

    assert keys(log.path) == ["run", "a", "b"]


def test_an_equal_record_of_an_earlier_run_is_no_double(folder):
    reuse = {"kind": "reuse", "key": "a", "trial": 0, "fingerprint": "f"}
    log = open_log(folder, run_at("1"), answer("a"), reuse, run_at("2"))

    merge(log, [of_rank(folder, 1, "2", reuse)])
    log.close()

    assert keys(log.path) == ["run", "a", "a", "run", "a"]


def test_a_log_that_its_rank_still_holds_is_read_and_stays(folder):
    log = open_log(folder, run_at("1"))
    held = open_rank_log(folder, "L", rank=1, token="t", run="1")
    held.append(answer("a"))
    [part] = folder.rank_logs("L")

    merge(log, [part])
    held.append(answer("b"))
    held.close()
    merge(log, [part])
    log.close()

    assert (keys(log.path), part.exists()) == (["run", "a", "b"], False)


def test_leftovers_of_other_days_are_merged_into_their_own_log(folder, tmp_path):
    before = RunFolder("m", tmp_path / "m" / "T20251231_Gabc")
    write_log(before.log("L"), [run_at("0")])
    of_rank(before, 1, "0", answer("a"))
    log = open_log(folder)

    merge_leftovers(folder, "L", log)
    log.close()

    assert (keys(before.log("L")), keys(log.path)) == (["run", "a"], [])
    assert before.rank_logs("L") == []


def test_only_what_belongs_to_the_newest_run_is_scored_with_it(folder):
    log = open_log(folder, run_at("1"), run_at("2"))
    old = of_rank(folder, 1, "1", answer("a"))
    of_rank(folder, 2, "2", answer("b"))

    merge_newest_run(folder, "L", log)
    log.close()

    assert (keys(log.path), folder.rank_logs("L")) == (["run", "run", "b"], [old])


# ---- the group -----------------------------------------------------------------------------------


class Notes:
    """A store in this process."""

    def __init__(self):
        self.notes, self._lock = {}, threading.Lock()

    def put(self, key, value):
        self.notes[key] = value

    def look(self, key):
        return self.notes.get(key)

    def add(self, key, by):
        with self._lock:
            self.notes[key] = self.notes.get(key, 0) + by
            return self.notes[key]


GROUPS = []


def group(store, number, silence_s=0.5):
    GROUPS.append(Group(Rank(number, 2, "h", 1, "run", False, silence_s), store))
    return GROUPS[-1]


@pytest.fixture
def store():
    yield Notes()
    while GROUPS:
        GROUPS.pop().close()


def test_ranks_find_each_other_and_hear_each_others_notes(store):
    leader, follower = group(store, 0), group(store, 1)
    leader.tell("m/start", ["folder"])
    follower.finished = 7

    assert follower.token == leader.token
    assert follower.wait_for_leader(lambda: follower.heard("m/start")) == ["folder"]
    follower.tell("m/report", note={"x": 1})
    assert leader.wait_for_others(lambda rank: leader.heard("m/report")) == {1: {"x": 1}}
    assert [leader.count_up("c"), follower.count_up("c"), leader.count_up("c", 0)] == [0, 1, 2]


def test_a_group_that_torchrun_restarts_ignores_notes_of_the_one_before(store):
    before = [group(store, number) for number in range(2)]
    before[0].tell("m/start", ["old"])
    for one in before:
        one.close()

    follower_started = threading.Thread(target=lambda: found.append(group(store, 1)))
    found = []
    follower_started.start()  # before its rank 0: only the old group's notes are there
    leader = group(store, 0)
    follower_started.join(30)

    assert found[0].token == leader.token != before[0].token
    assert found[0].heard("m/start") is None


def test_a_rank_that_gives_no_sign_of_life_is_given_up_and_learns_of_it(store):
    leader, follower = group(store, 0), group(store, 1)
    follower.close()

    assert leader.wait_for_others(lambda rank: None) == {}
    assert leader.given_up == {1}
    with pytest.raises(GivenUp, match="silent for too long"):
        follower.count_up("c")


def test_a_slow_rank_that_gives_signs_of_life_is_waited_for(store):
    leader, _ = group(store, 0, silence_s=2), group(store, 1, silence_s=2)
    looks = []

    def look(rank):
        looks.append(rank)
        return "done" if len(looks) > 25 else None  # long after the silence that is allowed

    assert leader.wait_for_others(look) == {1: "done"}


def test_ranks_do_not_wait_for_a_leader_that_is_gone(store):
    leader, follower = group(store, 0), group(store, 1)
    leader.close()

    with pytest.raises(GroupLost, match="rank 0 has given no sign of life"):
        follower.wait_for_leader(lambda: None)


@pytest.mark.parametrize(("heard", "shown"), [
    (None, 0),  # of this rank nothing was heard yet
    (5, 0),  # a sign of life from before it had finished the model before
    (7, 0),
    (9, 2),
])  # fmt: skip
def test_what_others_have_finished_of_earlier_models_is_not_shown_again(heard, shown):
    advanced = []
    progress = SimpleNamespace(advance=lambda status, reused: advanced.append(status))
    heard_of = SimpleNamespace(finished_by={} if heard is None else {1: heard})

    _GroupProgress(progress, heard_of, {1: 7}).catch_up()

    assert advanced == ["by other ranks"] * shown


# ---- a model that fails --------------------------------------------------------------------------


def plan_of(models, closed):
    wrappers = {name: SimpleNamespace(close=lambda name=name: closed.append(name))
                for name in models}  # fmt: skip
    return SimpleNamespace(models=wrappers)


@pytest.mark.parametrize(("error", "asked", "code"), [
    (StopRun("cannot be loaded"), ["a", "b"], 1),
    (UserError("no such function"), ["a", "b"], 1),
    (GivenUp("silent for too long"), ["a"], 0),  # the run of the others goes on
])  # fmt: skip
def test_another_rank_goes_on_after_a_model_as_a_single_process_does(
    error, asked, code, store, monkeypatch, capsys
):
    group(store, 0)
    tried, closed = [], []

    def take_part(plan, name, model, group):
        tried.append(name)
        if name == "a":
            raise error

    monkeypatch.setattr(evaluate, "take_part", take_part)

    assert evaluate.follow(plan_of(["a", "b"], closed), group(store, 1)) == code
    assert tried == closed == asked
    assert str(error) in capsys.readouterr().err


def test_without_the_group_another_rank_asks_no_other_model(store, monkeypatch):
    group(store, 0)
    tried, closed = [], []

    def take_part(plan, name, model, group):
        tried.append(name)
        raise GroupLost("the store cannot be reached")

    monkeypatch.setattr(evaluate, "take_part", take_part)

    with pytest.raises(GroupLost, match="the store cannot be reached"):
        evaluate.follow(plan_of(["a", "b"], closed), group(store, 1))
    assert tried == closed == ["a"]


def test_rank_0_asks_what_a_rank_had_claimed_on_which_the_model_failed(store, folder, capsys):
    leader, follower = group(store, 0), group(store, 1)
    names = ["mine", "answered", "half", "never"]
    asked_again = []

    def ask(jobs):
        asked_again.extend((job.dataset, [sample.key for sample in job.samples]) for job in jobs)

    with closing(open_log(folder, run_at("1"))) as log:
        job = Job(
            dataset="L", samples=[SimpleNamespace(key=name) for name in names], log=log, run="1",
            episode=iter, answers=AnswerIndex.of_logs([]),
        )  # fmt: skip
        team = LeadersPart(leader, folder, batch=1)
        follower.tell("m/joined/1", note=0)
        team.begin([job])
        team.watched(SimpleNamespace(advance=lambda status, reused: None))
        log.append(answer("mine"))
        its_log = folder.rank_log("L", 1, leader.token)
        write_log(its_log, [{"kind": "rank", "run": "1"}, answer("answered"), answer("half")])
        tell_failure(follower, "m")
        team.finish(ask, fresh=False)

    # What it answered is looked up, not asked: a sample of several questions may be half done.
    assert asked_again == [("L", ["answered", "half", "never"])]
    assert keys(log.path) == ["run", "mine", "answered", "half"]
    assert (leader.failed, leader.given_up, its_log.exists()) == ({1}, set(), False)
    assert "rank 1 has failed; rank 0 has asked what it left" in capsys.readouterr().err
