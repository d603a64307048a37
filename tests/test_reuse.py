"""Answers are reused exactly when they are still the answers: tables on request counts of real runs.

One base run asks everything; each case changes one thing in a copy of it and counts what the same
command asks again.
"""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from PIL import Image

from tests.support.bench import FAILED_TEXT, L1, L2, SCORES, Bench, dataset_of, read_log_lines
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model, evaluate, make_data

ALL = {L1: 9, L2: 6}
NOTHING = {L1: 0, L2: 0}

MODEL_FILE = '''\
"""A model file as users write it."""

import re

import wording


def build_prompt(line, dataset):
    """L2 has a prompt of its own, L1 the benchmark's."""
    if dataset != "GUIElementGrounding":
        return None
    # the picture first
    return [
        {"role": "user", "type": "image", "value": line["image_path"]},
        {"role": "user", "type": "text", "value": wording.phrase(line)},
    ]


def postprocess(response, model, processor, **kwargs):
    """Drops a closing remark."""
    return response.split("#")[0]


def parse_point(response, meta):
    """The first two numbers."""
    found = re.findall(r"[0-9.]+", response)
    return (float(found[0]), float(found[1])) if len(found) > 1 else None
'''
HELPER_FILE = '''\
POLITE = "Please: "

def phrase(line):
    return POLITE + line["instruction"]
'''


def reply(request):
    """Depends on the request alone, so that equal requests have equal answers.

    L1: right where easy. L2: a hit for basic targets, unless the wording was changed.
    """
    if dataset_of(request) == L1:
        return Reply("B #A" if "easy" in request.text else "A #B")
    hit = "basic" in request.text and "Please: " in request.text
    return Reply("0.2, 0.15 # done" if hit else "0.9, 0.9 # done")


@pytest.fixture(scope="module")
def server():
    with MockServer(reply) as running:
        yield running


def model_entry(server, **changes):
    entry = api_model(server.url, custom_prompt={L2: "model_file.build_prompt"},
                      postprocess_function="model_file.postprocess")  # fmt: skip
    return {**entry, **changes}


@pytest.fixture(scope="module")
def base(server, tmp_path_factory):
    """After a first run of two models: one known by its address, one by its `model_identity`."""
    home = tmp_path_factory.mktemp("base")
    make_data(home / "data")
    (home / "code").mkdir()
    (home / "code" / "model_file.py").write_text(MODEL_FILE)
    (home / "code" / "wording.py").write_text(HELPER_FILE)
    named = model_entry(server, model_identity="weights-1")
    data = {L1: {"mode": "all"}, L2: {"mode": "all", "parse_function": "model_file.parse_point"}}
    bench = Bench(home, server, {"m": model_entry(server), "named": named}, data)
    ran = bench.run()
    assert ran.code == 0, ran.output
    assert ran.asked == {L1: 18, L2: 12}
    return bench


@pytest.fixture
def bench(base, tmp_path):
    """A copy of the base run that a test may change."""
    return base.copy_to(tmp_path)


# ---- what a user changes -------------------------------------------------------------------------


def edit(bench, name, before, after):
    file = bench.code / name
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def comments_and_docstrings(bench):
    edit(bench, "model_file.py", "# the picture first", "# now with another comment")
    edit(bench, "model_file.py", '"""Drops a closing remark."""', '"""Another docstring."""')


def parse_function(bench):
    edit(bench, "model_file.py", "float(found[0]), float(found[1])", "0.2, 0.15")


def postprocess_function(bench):
    edit(bench, "model_file.py", '.split("#")[0]', '.split("#")[1]')


def helper_of_the_prompt(bench):
    conditional = 'POLITE if "advanced" in line["instruction"] else "Kindly: "'
    edit(bench, "wording.py", "return POLITE +", f"return ({conditional}) +")


def prompt(bench):
    edit(bench, "wording.py", '"Please: "', '"Kindly: "')


def generate_cfg(bench):
    bench.model["m"]["generate_cfg"]["temperature"] = 0.25


def extra_body(bench):
    bench.model["m"]["generate_cfg"]["extra_body"] = {"top_k": 3}


def timeouts(bench):
    bench.model["m"]["kwargs"] = {"timeout_s": 17}
    bench.model["m"]["generate_cfg"]["timeout"] = 18


def key(bench):
    path = bench.model["m"]["model_path"]
    bench.model["m"]["model_path"] = path.replace("test-key-123456", "another-key-7890")


def headers(bench):
    bench.model["m"]["generate_cfg"]["extra_headers"] = {"X-Team": "gui"}


def base_url(bench):
    path = bench.model["m"]["model_path"]
    bench.model["m"]["model_path"] = path.replace("127.0.0.1", "localhost")


def model_name(bench):
    path = bench.model["m"]["model_path"]
    bench.model["m"]["model_path"] = path.replace("model=mock", "model=mock-2")


def system_prompt(bench):
    bench.model["m"]["kwargs"] = {"system_prompt": "You are brief."}


def wire_format(bench):
    bench.model["m"]["kwargs"] = {"wire_format": "reference"}


def picture(bench):
    file = bench.annotations / "offline_images" / "os_ios" / "pic1.png"
    with Image.open(file) as old:
        Image.new("RGB", old.size, "teal").save(file)


def picture_rewritten_with_the_same_bytes(bench):
    for file in bench.annotations.rglob("*.png"):
        file.write_bytes(file.read_bytes())
        os.utime(file, (1, 1))


def data_root_moved(bench):
    elsewhere = bench.home / "moved"
    bench.root.rename(elsewhere)
    bench.env["LMUData"] = str(elsewhere)


def order_of_annotations(bench):
    file = bench.annotations / "L2_annotations.json"
    file.write_text(json.dumps(json.loads(file.read_text())[::-1]))


def order_of_data_sets(bench):
    bench.data = dict(reversed(bench.data.items()))


def nothing(bench):
    """The same command again."""


CHANGES = [
    # what changes, arguments, what is asked again, the reason printed, scores stay
    (nothing, [], NOTHING, None, True),
    (nothing, ["--reuse"], NOTHING, None, True),
    (nothing, ["--api-nproc", "1", "--retry", "0", "--ignore"], NOTHING, None, True),
    (nothing, ["--fresh"], ALL, "--fresh", True),
    (comments_and_docstrings, [], NOTHING, None, True),
    (parse_function, [], NOTHING, None, False),
    (postprocess_function, [], NOTHING, None, False),
    (helper_of_the_prompt, [], {L1: 0, L2: 3}, "prompt changed", False),
    (prompt, [], {L1: 0, L2: 6}, "prompt changed", False),
    (generate_cfg, [], ALL, "settings changed", True),
    (extra_body, [], ALL, "settings changed", True),
    (timeouts, [], NOTHING, None, True),
    (key, [], NOTHING, None, True),
    (headers, [], NOTHING, None, True),
    (base_url, [], ALL, "settings changed", True),
    (model_name, [], ALL, "settings changed", True),
    (system_prompt, [], {L1: 9, L2: 0}, "prompt changed", True),
    (wire_format, [], ALL, None, True),
    (picture, [], {L1: 3, L2: 2}, "picture changed", True),
    (picture_rewritten_with_the_same_bytes, [], NOTHING, None, True),
    (data_root_moved, [], NOTHING, None, True),
    (order_of_annotations, [], NOTHING, None, True),
    (order_of_data_sets, [], NOTHING, None, True),
]


@pytest.mark.parametrize(
    ("change", "arguments", "asked", "reason", "scores_stay"),
    CHANGES,
    ids=[f"{change.__name__}{''.join(args[:1])}" for change, args, *_ in CHANGES],
)
def test_a_change_asks_again_exactly_what_it_touches(
    change, arguments, asked, reason, scores_stay, bench
):
    before = [bench.scores(dataset) for dataset in (L1, L2)]
    change(bench)
    ran = bench.run("--model", "m", *arguments)
    assert (ran.code, ran.asked) == (0, asked), ran.output
    for dataset, count in asked.items():
        reasons = rf"{count} \({count} {reason or '.*'}\)" if count else "0"
        line = rf"^{dataset}: asked {reasons}, reused {ALL[dataset] - count}$"
        assert re.search(line, ran.output, re.MULTILINE), ran.output
    assert ([bench.scores(dataset) for dataset in (L1, L2)] == before) == scores_stay


def test_a_model_with_an_identity_may_move_to_another_server_and_name(bench):
    path = bench.model["named"]["model_path"].replace("127.0.0.1", "localhost")
    bench.model["named"]["model_path"] = path.replace("model=mock", "model=other")
    before = bench.scores(L2, "named")
    ran = bench.run("--model", "named")
    assert (ran.code, ran.asked) == (0, NOTHING)
    assert bench.scores(L2, "named") == before


def test_another_identity_is_another_model(bench):
    bench.model["named"]["model_identity"] = "weights-2"
    assert bench.run("--model", "named").asked == ALL


@pytest.mark.parametrize("change", [prompt, generate_cfg, picture], ids=lambda f: f.__name__)
def test_a_change_that_is_taken_back_costs_nothing_and_brings_the_old_scores_back(change, bench):
    before = [bench.scores(dataset) for dataset in (L1, L2)]
    unchanged = bench.home / "unchanged"
    for part in ("code", "data"):
        shutil.copytree(bench.home / part, unchanged / part)
    model = json.loads(json.dumps(bench.model))
    # Other replies to the changed requests, whatever they are about.
    change(bench)
    assert sum(bench.run("--model", "m").asked.values()) > 0
    for part in ("code", "data"):
        shutil.rmtree(bench.home / part)
        shutil.move(unchanged / part, bench.home / part)
    bench.model = model

    ran = bench.run("--model", "m")
    assert ran.asked == NOTHING, ran.output
    assert [bench.scores(dataset) for dataset in (L1, L2)] == before


def test_mode_all_after_easy_asks_the_rest(server, tmp_path):
    make_data(tmp_path / "data")
    bench = Bench(tmp_path, server, {"m": api_model(server.url)}, {L1: {"mode": "easy"}})
    assert bench.run().asked == {L1: 3, L2: 0}
    bench.data[L1]["mode"] = "all"
    ran = bench.run("--verbose")
    assert ran.asked == {L1: 6, L2: 0}
    assert all("easy" not in request.text for request in ran.requests)
    assert f"{L1}: asked 6 (6 new), reused 3" in ran.output
    assert len(re.findall(r"^asking \w+: new$", ran.output, re.MULTILINE)) == 6
    assert json.loads(bench.scores(L1))["total_sample_num"] == 9


def test_several_reasons_are_counted_apart(bench):
    helper_of_the_prompt(bench)
    picture(bench)
    ran = bench.run("--model", "m")
    assert f"{L1}: asked 3 (3 picture changed), reused 6" in ran.output
    expected = "asked 4 (1 picture changed, 1 prompt and picture changed, 2 prompt changed)"
    assert f"{L2}: {expected}, reused 2" in ran.output


# ---- other days, other commits, other machines ---------------------------------------------------


@pytest.fixture
def next_day(bench):
    """The base run happened at another date and commit; the same command has run again today."""
    old = bench.folder()
    old.rename(old.with_name("T20200101_Gdeadbeef"))
    before = {d: (old.with_name("T20200101_Gdeadbeef") / f"m_{d}_{SCORES[d]}.json").read_bytes()
              for d in (L1, L2)}  # fmt: skip
    return bench, before, bench.run("--model", "m")


def test_another_date_and_commit_ask_nothing_and_score_the_same(next_day):
    bench, before, ran = next_day
    assert (ran.code, ran.asked) == (0, NOTHING), ran.output
    assert bench.folder().name != "T20200101_Gdeadbeef"
    assert {dataset: bench.scores(dataset) for dataset in (L1, L2)} == before


def test_the_newest_log_alone_gives_the_same_scores_elsewhere_without_data_or_functions_state(
    next_day, tmp_path
):
    bench, before, _ = next_day
    newest = bench.folder()
    elsewhere = tmp_path / "elsewhere"
    copied = elsewhere / "m" / newest.name
    copied.mkdir(parents=True)
    for dataset in (L1, L2):
        shutil.copy(bench.log(dataset), copied)
    shutil.rmtree(bench.root)
    ran = bench.run("--model", "m", "--mode", "eval", "--work-dir", elsewhere)
    assert (ran.code, ran.asked) == (0, NOTHING), ran.output
    assert {d: (copied / f"m_{d}_{SCORES[d]}.json").read_bytes() for d in (L1, L2)} == before


def test_the_newest_of_equal_answers_counts(bench):
    old = bench.folder()
    old.rename(old.with_name("T99990101_Gdeadbeef"))  # sorts behind today's; only times count
    [first, *_] = read_log_lines(old.with_name("T99990101_Gdeadbeef") / f"m_{L2}.jsonl")[1:]
    with MockServer(lambda request: Reply("0.5, 0.5")) as other:
        # The identity keeps the address out of the fingerprint.
        old = bench.folder("named")
        old.rename(old.with_name("T99990101_Gdeadbeef"))
        path = bench.model["named"]["model_path"]
        bench.model["named"]["model_path"] = path.replace(bench.server.url, other.url)
        fresh = bench.run("--model", "named", "--data", L2, "--fresh")
        assert (fresh.code, len(other.requests)) == (0, 6)
        again = bench.run("--model", "named", "--data", L2)
        assert (again.code, len(other.requests)) == (0, 6)
    assert {record["raw"] for record in bench.answers(L2, "named")} == {"0.5, 0.5"}
    assert first["raw"] != "0.5, 0.5"


def test_mended_truth_is_scored_without_asking(bench):
    file = bench.annotations / "L1_annotations.json"
    images = json.loads(file.read_text())
    for image in images:
        for group in image["groups"]:
            group["answer"] = "A"  # what the server says to medium and hard questions
    file.write_text(json.dumps(images))
    before = json.loads(bench.scores(L1))
    ran = bench.run("--model", "m")
    after = json.loads(bench.scores(L1))
    assert ran.asked == NOTHING
    assert [(before[d]["level_score"], after[d]["level_score"]) for d in ("easy", "medium", "hard")] \
        == [(1.0, 0.0), (0.0, 1.0), (0.0, 1.0)]  # fmt: skip
    again = bench.run("--model", "m", "--mode", "eval")
    assert (again.code, json.loads(bench.scores(L1))) == (0, after)


def test_models_do_not_share_answers(bench):
    bench.model["other"] = bench.model["m"]
    assert bench.run("--model", "other").asked == ALL


def test_another_work_dir_starts_from_nothing(bench, tmp_path):
    assert bench.run("--model", "m", "--work-dir", tmp_path / "new").asked == ALL


# ---- failed and refused --------------------------------------------------------------------------


@pytest.fixture
def with_failures(server, tmp_path):
    """One sample failed, one was refused; from now on the server answers everything."""
    make_data(tmp_path / "data")
    broken = {"Question 0 easy?": Reply(status=500), "Question 1 easy?": Reply(status=400)}

    def answer(request):
        found = [bad for text, bad in broken.items() if text in request.text]
        return found[0] if found else Reply("B")

    with MockServer(answer) as failing:
        bench = Bench(tmp_path, failing, {"m": api_model(failing.url)}, {L1: {"mode": "all"}})
        ran = bench.run("--retry", "0")
        assert (ran.code, len(ran.requests)) == (1, 9)
        assert (ran.output.count("1 refused"), ran.output.count("1 failed")) == (2, 2), ran.output
        broken.clear()
        yield bench


def test_a_failed_sample_is_asked_again_and_a_refused_one_is_not(with_failures):
    ran = with_failures.run()
    assert [("Question 0 easy?" in request.text) for request in ran.requests] == [True]
    assert f"{L1}: asked 1 (1 failed last time), reused 8" in ran.output
    assert ran.code == 1  # the refused one stays wrong
    assert json.loads(with_failures.scores(L1))["easy"]["level_score"] == pytest.approx(2 / 3)


def test_with_ignore_a_failed_sample_stays_failed(with_failures):
    ran = with_failures.run("--ignore")
    assert (ran.code, ran.requests) == (1, [])
    assert json.loads(with_failures.scores(L1))["easy"]["level_score"] == pytest.approx(1 / 3)
    failed = [row for row in with_failures.sheet(L1) if row["prediction"] == FAILED_TEXT]
    assert [row["question"] for row in failed] == ["Question 0 easy?", "Question 1 easy?"]


def test_fresh_asks_refused_samples_too(with_failures):
    ran = with_failures.run("--fresh")
    assert (ran.code, len(ran.requests)) == (0, 9)


def test_a_run_from_another_folder_finds_the_answers(bench, tmp_path):
    elsewhere = tmp_path / "cwd"
    elsewhere.mkdir()
    before = len(bench.server.requests)
    config = bench.home / "config.json"
    config.write_text(json.dumps({"model": bench.model, "data": bench.data}))
    work_dir = Path(os.path.relpath(bench.work_dir, elsewhere))
    env = {"LMUData": os.path.relpath(bench.root, elsewhere), "PYTHONPATH": str(bench.code)}
    ran = evaluate("--config", config, "--work-dir", work_dir, cwd=elsewhere, env=env)
    assert (ran.code, len(bench.server.requests)) == (0, before), ran.output
