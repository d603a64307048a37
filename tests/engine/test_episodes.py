"""Whole episodes (L3, L4): side by side in worlds, logged turn by turn, reused whole or not at all."""

import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from benchmarks import MODULES
from benchmarks.l2_element_grounding import GUIElementGrounding
from tests.support.live import TURNS, Model, Shown, Stagehand, act, run, unread
from tests.support.mock_server import Reply
from tests.support.runs import PROJECT
from tests.support.stage import read_log_lines, told
from utils.contracts import ActingBenchmark, CallError, UserFunctionError
from utils.engine.engine import Interrupted
from utils.engine.worlds import Worlds
from utils.errors import StopRun


@pytest.fixture
def log(tmp_path):
    return tmp_path / "m_Live.jsonl"


def episodes_of(log):
    """The newest record of each episode by its key."""
    return {record["key"]: record for record in read_log_lines(log) if record["kind"] == "episode"}


def statuses(log):
    return {key: record["status"] for key, record in episodes_of(log).items()}


def fails_at(text, status_code):
    """A model that fails at one screen."""

    def answer(request):
        if text in request:
            raise CallError("http", f"HTTP {status_code}", status_code=status_code)
        return "click"

    return Model(answer)


def test_each_turn_is_an_answer_to_what_the_world_shows_and_each_sample_one_episode(log):
    model, progress = Model(), Shown()
    job = run(log, model, Stagehand(), episodes=3, worlds=2, progress=progress)
    screens = ["the first screen", *(f"screen {turn} after click" for turn in range(1, TURNS))]
    assert [text for text in model.asked if "Task 0" in text] == [f"Task 0: {s}" for s in screens]
    keys = sorted(record["key"] for record in read_log_lines(log) if record["kind"] == "answer")
    assert keys == [f"key{n}~{turn}" for n in range(3) for turn in range(1, TURNS + 1)]
    returned = {key: (r["turns"], r["returned"]) for key, r in episodes_of(log).items()}
    assert returned == {f"key{n}": (TURNS, {"success": n != 1}) for n in range(3)}
    assert progress.statuses == [("ok", False)] * 3  # samples, not turns
    assert (dict(job.reasons), job.reused) == ({"new": 3}, 0)


def test_worlds_step_while_one_request_at_a_time_is_in_flight_and_each_in_one_thread(log):
    meeting = Stagehand(meets=threading.Barrier(4))  # which breaks if one of them never comes
    run(log, Model(), meeting, episodes=8, worlds=4, in_flight=1)
    assert list(statuses(log).values()) == ["ok"] * 8
    for episodes, worlds, world_count in ((9, 3, 3), (2, 5, 2)):  # and no world too many is made
        run(log, Model(), hand := Stagehand(), episodes=episodes, worlds=worlds, fresh=True)
        assert (hand.made_count, hand.closed) == (world_count, world_count)
        assert [len(threads) for threads in hand.threads] == [1] * world_count


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({}, None),
        ({"settings": "others"}, "settings changed"),
        ({"fresh": True}, "because of --fresh"),
    ],
)
def test_a_whole_episode_is_reused_and_makes_no_world_unless_settings_differ(log, changed, reason):
    run(log, Model(), Stagehand(), episodes=2)
    model, hand, progress = Model(), Stagehand(), Shown()
    job = run(log, model, hand, episodes=2, progress=progress, **changed)
    played = 0 if reason is None else 2
    assert (len(model.asked), job.reused) == (played * TURNS, 2 - played)
    assert dict(job.reasons) == ({reason: 2} if reason else {})
    assert progress.statuses == [("ok", reason is None)] * 2
    assert (hand.made_count > 0) is (reason is not None)


def test_a_broken_episode_starts_again_from_its_beginning(log):
    with pytest.raises(StopRun):
        run(log, fails_at("Task 1: screen 2", 401), Stagehand(), episodes=2, worlds=1)
    assert statuses(log) == {"key0": "ok"}
    run(log, model := Model(), Stagehand(), episodes=2)
    assert (len(model.asked), statuses(log)) == (TURNS, {"key0": "ok", "key1": "ok"})


def test_a_kill_costs_only_the_episodes_under_way(tmp_path, log):
    requests, episodes, worlds = tmp_path / "requests.txt", 12, 4
    command = [
        sys.executable,
        "-m",
        "tests.support.live",
        str(log),
        str(requests),
        "--episodes",
        str(episodes),
        "--worlds",
        str(worlds),
    ]
    # Of so many answers some belong to the episodes that are under way then, the rest to whole ones.
    process = subprocess.Popen([*command, "--most", str(2 * worlds * TURNS)], cwd=PROJECT)
    ends_s = time.monotonic() + 120
    while not log.exists() or log.read_bytes().count(b'"kind":"episode"') < worlds:
        assert time.monotonic() < ends_s and process.poll() is None
        time.sleep(0.01)  # until the file of another process says so
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    finished = statuses(log)
    asked_before = len(requests.read_text().splitlines())
    assert asked_before <= TURNS * (len(finished) + worlds)
    subprocess.run(command, cwd=PROJECT, check=True, timeout=120)
    request_count = len(requests.read_text().splitlines()) - asked_before
    assert request_count == TURNS * (episodes - len(finished))
    assert statuses(log) == {f"key{n}": "ok" for n in range(episodes)}


def test_a_world_that_fails_is_made_anew_and_its_episode_played_once_more_but_not_twice(log):
    run(log, Model(), Stagehand(fails=lambda task, attempt: task == "0"), episodes=2, worlds=1)
    assert statuses(log) == {"key0": "failed", "key1": "ok"}
    failure = episodes_of(log)["key0"]["error"]  # no fault of the model
    assert failure["class"] == "world" and "RuntimeError: the page crashed" in failure["message"]
    run(log, model := Model(), Stagehand(), episodes=2)  # as any sample that failed
    assert len(model.asked) == TURNS
    hand = Stagehand(fails=lambda task, attempt: task == "0" and attempt == 1)
    run(log, Model(), hand, episodes=2, worlds=1, fresh=True)
    assert statuses(log) == {"key0": "ok", "key1": "ok"}
    assert (hand.made_count, hand.closed, hand.begun) == (2, 2, {"0": 2, "1": 1})


@pytest.mark.parametrize(("status_code", "status"), [(400, "refused"), (418, "failed")])
def test_an_episode_ends_with_a_turn_that_gets_no_answer(log, status_code, status):
    run(log, fails_at("Task 1: screen 2", status_code), Stagehand(), episodes=3)
    assert statuses(log) == {"key0": "ok", "key1": status, "key2": "ok"}
    episode = episodes_of(log)["key1"]
    assert (episode["turns"], episode["returned"]) == (2, None)
    assert episode["error"]["status_code"] == status_code


def test_a_prompt_function_that_fails_ten_episodes_in_a_row_stops_the_data_set(log):
    def raises(sample, world):
        yield from ()
        raise UserFunctionError("prompt", "KeyError: 'x'", "the traceback")

    job = run(log, Model(), Stagehand(), episodes=30, worlds=1, episode=raises)
    assert len(statuses(log)) == 10
    for expected_text in ("Live: the prompt function failed 10 times in a row", "the traceback"):
        assert expected_text in str(job.stopped)


def test_prompt_functions_that_fail_in_every_second_episode_stop_nothing(log):
    def fails_at_odd_numbers(sample, world):
        if sample.line["index"] % 2:
            raise UserFunctionError("prompt", "KeyError: 'x'", "the traceback")
        return (yield from act(sample, world))

    job = run(log, Model(), Stagehand(), episodes=24, worlds=1, episode=fails_at_odd_numbers)
    assert job.stopped is None
    assert list(statuses(log).values()) == ["ok", "failed"] * 12


class BrokenBar(Shown):
    def advance(self, status, *, reused):
        raise RuntimeError("a progress bar that breaks")


def interrupts():
    """A model that presses Ctrl-C, once."""
    signals_left = [signal.SIGINT]

    def answer(text):
        if "screen 2" in text:
            with suppress(IndexError):  # another thread was faster
                signal.pthread_kill(threading.main_thread().ident, signals_left.pop())
        return "click"

    return Model(answer)


@pytest.mark.parametrize(
    ("model", "progress", "raised"),
    [
        (fails_at("screen 2", 401), Shown(), StopRun),
        (Model(), BrokenBar(), RuntimeError),
        (interrupts(), Shown(), Interrupted),
    ],
    ids=["a-run-that-cannot-go-on", "any-exception", "an-interrupt"],
)
def test_worlds_are_closed_whatever_ends_a_run(log, model, progress, raised):
    hand = Stagehand(0.05)
    with pytest.raises(raised):
        run(log, model, hand, episodes=12, worlds=4, progress=progress)
    assert hand.made_count == hand.closed > 0
    assert len(statuses(log)) < 12


@pytest.mark.parametrize(
    ("worlds", "datasets", "episodes"), [(1, 2, 2), (1, 3, 1), (2, 2, 3), (3, 2, 4), (4, 3, 2)]
)
def test_no_more_worlds_are_open_than_asked_for_where_a_data_set_follows_another(
    log, worlds, datasets, episodes
):
    hand = Stagehand(step_s=0.002)
    run(log, Model(), hand, episodes=episodes, worlds=worlds, datasets=datasets)
    assert list(statuses(log).values()) == ["ok"] * (datasets * episodes)
    assert hand.most_open <= worlds
    assert hand.made_count == hand.closed
    assert set(hand.numbers) <= set(range(worlds))


def test_the_next_data_set_begins_while_the_last_episode_of_another_is_under_way(log):
    hand = Stagehand(meets=threading.Barrier(2))  # an episode of each waits for the other
    run(log, Model(), hand, episodes=1, worlds=2, datasets=2)
    assert list(statuses(log).values()) == ["ok", "ok"]
    assert sorted(hand.numbers) == [0, 1]


def test_a_world_may_use_the_time_that_nobody_waits_for_it():
    rested = threading.Event()

    class Resting:
        def reset(self, task):
            return "a screen"

        def rest(self):
            rested.set()
            raise RuntimeError("nothing can be made ready")

        def close(self):
            pass

    worlds = Worlds(lambda number: Resting(), 1)
    world = worlds.borrow()
    assert (world.reset({}), rested.wait(60), world.reset({})) == ("a screen", True, "a screen")
    worlds.close()


class Errands(GUIElementGrounding, ActingBenchmark):
    """L2's instructions as errands in a made world; those about icons cannot be done."""

    name, level = "Errands", "L3"
    hand = Stagehand()

    def rules_digest(self):
        return ""

    def read_reply(self, *reply):
        return unread(*reply)

    def open_world(self, shots, number=0):
        return self.hand.make()

    def episode(self, sample, prompt_of, world, reading):
        screen = world.reset(sample.line)
        for _ in range(2):
            generation = yield prompt_of({**sample.line, "instruction": screen})
            screen = world.step(generation.text)
        return {"success": sample.line["data_type"] == "text", "seen": screen}

    def judge(self, line, sizes, reply, parse, meta_extra):
        point = (0.2, 0.15) if reply and reply["success"] else (0.9, 0.9)
        return self.judge_parsed(line, sizes, reply and point, reply and reply["seen"])


def test_a_run_plays_scores_and_reuses_episodes(staged, monkeypatch):
    monkeypatch.setitem(MODULES, Errands.name, __name__)
    stage, worlds_made = (
        staged(answer=lambda request: Reply("click"), pictures=3),
        Errands.hand.made_count,
    )
    home, stage.data = stage.annotations, {Errands.name: {"mode": "all"}}
    (home / "L2_annotations.json").rename(home / "L3_annotations.json")
    check = stage.run("--check")
    assert f"{Errands.name}: 6 episodes to play (6 new), 0 answers stored" in check.output
    assert "the first screen" in check.output
    assert (check.code, check.requests, Errands.hand.made_count - worlds_made) == (0, [], 1)
    ran = stage.run("--api-nproc", "2")
    assert (ran.code, len(ran.requests)) == (0, 12), ran.output
    assert Errands.hand.made_count == Errands.hand.closed
    scores = json.loads((stage.folder() / f"m_{Errands.name}_score.json").read_text())
    assert (scores["Basic accuracy"], scores["Advanced accuracy"]) == (100, 0)
    again = stage.run()
    assert (again.code, again.requests) == (0, []), again.output
    for result, expected_text in ((ran, "6 (6 new), reused 0"), (again, "0, reused 6")):
        assert f"{Errands.name}: queried {expected_text}" in result.output
    assert stage.run("--mode", "eval").code == 0
    stage.model["m"]["generate_cfg"]["temperature"] = 1
    assert len(stage.run().requests) == 12


def test_an_episode_whose_announcement_fails_is_played_by_the_next_run(staged, monkeypatch):
    monkeypatch.setitem(MODULES, Errands.name, __name__)
    source = """
        class Model:
            one_by_one, answers_version = True, "1"
            def announce(self, dataset_name, sample_count, index):
                if index == FAILS_AT:
                    raise ValueError("no window")
            def generate(self, message, *, dataset_name):
                return "click"
    """
    stage = staged(source.replace("FAILS_AT", "1"), pictures=2)
    (stage.annotations / "L2_annotations.json").rename(stage.annotations / "L3_annotations.json")
    model = {"m": {"imp_type": "custom", "model_path": "mymodel.Model"}}
    data = {Errands.name: {"mode": "all"}}
    ran = stage.evaluate(model, data=data)
    assert (ran.code, told(ran.output, "have a reply"), told(ran.output, "failed")) == (1, [3], [1])
    assert "announce function raised ValueError: no window" in ran.output
    stage.module(source.replace("FAILS_AT", "9"))
    again = stage.evaluate(model, data=data)
    assert again.code == 0, again.output
    assert f"{Errands.name}: queried 1 (1 failed last time), reused 3" in again.output
