"""One folder holds one experiment: which folder a run works in, and what is in it afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal

import pytest
from PIL import Image

from tests.support.bench import L1, L2, Bench, dataset_of, told
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model, make_data

PROMPT = """\
import os

def ask(line, dataset):
    text = os.environ.get("TONE", "") + "Please: " + line["instruction"]
    return [{"role": "user", "type": "image", "value": line["image_path"]},
            {"role": "user", "type": "text", "value": text}]

def parse(response, meta):
    return 0.2, 0.15
"""
DENIED = Reply(status=401, body=b'{"error": {"message": "no"}}')
ALL, NOTHING = {L1: 9, L2: 6}, {L1: 0, L2: 0}


class Server:
    """Right answers, until nothing is answered any more."""

    denies = False
    kills = None

    def __call__(self, request):
        if self.kills:
            os.kill(self.kills.pid, signal.SIGKILL)
        if self.denies:
            return DENIED
        return Reply("B" if dataset_of(request) == L1 else "(0.2, 0.15)")


@pytest.fixture(scope="module")
def answers():
    return Server()


@pytest.fixture(scope="module")
def whole(answers, tmp_path_factory):
    """After a whole run."""
    home = tmp_path_factory.mktemp("whole")
    make_data(home / "data")
    (home / "code").mkdir()
    (home / "code" / "mine.py").write_text(PROMPT)
    with MockServer(answers) as server:
        model = {"m": api_model(server.url, custom_prompt={L2: "mine.ask"})}
        data = {L1: {"mode": "all"}, L2: {"mode": "all", "parse_function": "mine.parse"}}
        bench = Bench(home, server, model, data)
        assert bench.run("--no-report").code == 0
        yield bench


@pytest.fixture
def bench(whole, answers, tmp_path):
    """A copy of it that a test may change."""
    answers.denies, answers.kills = False, None
    yield whole.copy_to(tmp_path)
    answers.denies, answers.kills = False, None


def folders(bench):
    """The run folders by name, each with its files and their bytes; locks aside."""
    found = [path for path in (bench.work_dir / "m").iterdir() if not path.is_symlink()]
    return {path.name: {each.name: each.read_bytes() for each in path.iterdir()
                        if each.suffix != ".lock"} for path in sorted(found)}  # fmt: skip


def edit(bench, file, before, after):
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after))
    shutil.rmtree(bench.code / "__pycache__", ignore_errors=True)


# ---- in which folder -----------------------------------------------------------------------------


def the_same(bench): ...


def another_day_and_commit(bench):
    folder = bench.folder()
    folder.rename(folder.with_name("T20200101_Gdeadbeef"))


def key_timeout_and_batch(bench):
    bench.model["m"]["model_path"] = bench.model["m"]["model_path"].replace("test-key", "other-key")
    bench.model["m"]["kwargs"] = {"timeout_s": 17}


def a_comment_and_the_parse_function(bench):
    edit(bench, bench.code / "mine.py", "import os", "import os  # for the tone")
    edit(bench, bench.code / "mine.py", "0.2, 0.15", "0.25, 0.15")


def system_prompt(bench):
    bench.model["m"]["kwargs"] = {"system_prompt": "You are brief."}


def prompt_function(bench):
    edit(bench, bench.code / "mine.py", "Please", "Kindly")


def variable_of_the_prompt_function(bench):
    bench.env["TONE"] = "Now. "


def template_of_the_default_prompt(bench):
    bench.env["L2_USER_PROMPT"] = "Where is {instruction}?"


def temperature(bench):
    bench.model["m"]["generate_cfg"]["temperature"] = 1


def another_model_of_the_same_name(bench):
    bench.model["m"]["model_path"] = bench.model["m"]["model_path"].replace("=mock", "=mock-2")


def an_image(bench):
    [file] = bench.annotations.rglob("pic1.png")
    with Image.open(file) as old:
        Image.new("RGB", old.size, "teal").save(file)


def the_truth(bench):
    edit(bench, bench.annotations / "L1_annotations.json", '"answer": "B"', '"answer": "A"')


SAME = [the_same, another_day_and_commit, key_timeout_and_batch, a_comment_and_the_parse_function]
OTHER = {
    system_prompt: ("prompt", {L1: 9, L2: 0}),
    prompt_function: ("prompt", {L1: 0, L2: 6}),
    variable_of_the_prompt_function: ("prompt", {L1: 0, L2: 6}),
    template_of_the_default_prompt: ("prompt", {L1: 0, L2: 0}),  # the function's own prompt counts
    temperature: ("settings", ALL),
    another_model_of_the_same_name: ("settings", ALL),
    an_image: ("pictures", {L1: 3, L2: 2}),
    the_truth: ("annotations", NOTHING),
}


@pytest.mark.parametrize("change", SAME, ids=lambda change: change.__name__)
def test_the_same_command_goes_on_in_its_folder(change, bench):
    change(bench)
    before = list(folders(bench))

    ran = bench.run("--no-report")

    assert (ran.code, ran.asked, list(folders(bench))) == (0, NOTHING, before), ran.output
    fresh = bench.run("--no-report", "--fresh")
    assert (fresh.asked, list(folders(bench))) == (ALL, before)


@pytest.mark.parametrize("change", OTHER, ids=lambda change: change.__name__)
def test_a_run_that_asks_otherwise_has_a_folder_of_its_own_and_touches_no_other(change, bench):
    aspect, asked = OTHER[change]
    [(first, before)] = folders(bench).items()
    change(bench)

    ran = bench.run("--no-report")

    after = folders(bench)
    assert (ran.code, ran.asked) == (0, asked), ran.output
    assert f"{first}_2 ({first} holds a run with other {aspect})" in ran.output
    assert list(after) == [first, f"{first}_2"]
    assert after[first] == before
    assert set(after[f"{first}_2"]) == set(before)
    link = bench.work_dir / "m" / f"m_{L1}_scores.json"
    assert link.resolve().parent.name == f"{first}_2"
    again = bench.run("--no-report")
    assert (again.asked, list(folders(bench))) == (NOTHING, list(after))
    assert "holds a run with" not in again.output


def test_another_limit_has_a_folder_of_its_own_and_every_command_goes_on_in_its(bench):
    [(first, before)] = folders(bench).items()
    limited = bench.run("--no-report", "--limit", "2")
    other = bench.run("--no-report", "--limit", "3", "--data", L2)
    whole = bench.run("--no-report")

    after = folders(bench)
    assert f"{first}_2 ({first} holds a run with no --limit)" in limited.output
    assert list(after) == [first, f"{first}_2", f"{first}_3"]
    assert f"{first}_3 ({first} holds a run with no --limit)" in other.output
    assert f"/{first}\n" in whole.output
    scores = [name for name in before if name.endswith(("scores.json", "score.json"))]
    assert {name: after[first][name] for name in scores} == {name: before[name] for name in scores}
    assert {name for name in after[f"{first}_2"] if "score" in name} == {
        f"m_{L1}_scores_partial.json", f"m_{L2}_score_partial.json"}  # fmt: skip
    assert [each.asked for each in (limited, other, whole)] == [NOTHING] * 3


def test_after_a_kill_the_same_command_goes_on_in_its_folder(bench, answers):
    temperature(bench)
    process = bench.start("--no-report", "--api-nproc", "1")
    answers.kills = process
    process.communicate(timeout=60)
    answers.kills = None
    killed = list(folders(bench))

    ran = bench.run("--no-report")

    assert (process.returncode, ran.code) == (-signal.SIGKILL, 0)
    assert list(folders(bench)) == killed == [killed[0], f"{killed[0]}_2"]


def test_a_change_that_is_taken_back_leads_back_to_the_first_folder(bench):
    first = bench.folder().name
    system_prompt(bench)
    bench.run("--no-report")
    bench.model["m"]["kwargs"] = {"system_prompt": "Another one."}
    third = bench.run("--no-report")
    del bench.model["m"]["kwargs"]
    back = bench.run("--no-report")

    assert (f"{first}_3 (" in third.output, f"/{first}\n" in back.output) == (True, True)
    assert back.asked == NOTHING


def test_data_sets_one_by_one_share_a_folder(bench):
    shutil.rmtree(bench.work_dir)
    bench.run("--no-report", "--data", L1)
    bench.run("--no-report", "--data", L2)

    assert len(folders(bench)) == 1


# ---- what --mode eval makes of it ----------------------------------------------------------------


@pytest.mark.parametrize("change", [change for change in OTHER if OTHER[change][1] != NOTHING],
                         ids=lambda change: change.__name__)  # fmt: skip
def test_answers_to_other_requests_are_never_scored_for_those_of_a_stopped_run(
    change, bench, answers
):
    [(first, before)] = folders(bench).items()
    change(bench)
    answers.denies = True
    bench.run("--no-report", "--api-nproc", "1")
    ran = bench.run("--no-report", "--mode", "eval")

    answered = told(ran.output, "answered")
    assert ran.code == 1
    assert not {ALL[dataset] for dataset, count in OTHER[change][1].items() if count} & {*answered}
    assert folders(bench)[first] == before


def test_a_prompt_that_changes_as_it_is_called_lends_nothing_either(bench, answers):
    """What no hash can know (a file that the function reads) shows in the requests themselves."""
    edit(bench, bench.code / "mine.py", 'os.environ.get("TONE", "")', 'open("tone").read()')
    (bench.home / "tone").write_text("Now. ")
    bench.run("--no-report", "--data", L2)
    (bench.home / "tone").write_text("Later. ")
    answers.denies = False
    left = [3]

    def stops(request):
        left[0] -= 1
        return Reply("(0.2, 0.15)") if left[0] >= 0 else DENIED

    with MockServer(stops) as server:
        entry = bench.model["m"]
        entry["model_identity"] = "same"
        bench.run("--no-report", "--data", L2)  # under its identity, from here on
        (bench.home / "tone").write_text("Much later. ")
        entry["model_path"] = entry["model_path"].replace(bench.server.url, server.url)
        bench.run("--no-report", "--data", L2, "--api-nproc", "1")
    ran = bench.run("--no-report", "--mode", "eval", "--data", L2)

    assert (ran.code, told(ran.output, "answered")) == (1, [3]), ran.output
    assert json.loads(bench.log(L2).read_text().splitlines()[0])["kind"] == "run"
