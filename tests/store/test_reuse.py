"""Answers are reused exactly when they are still the answers, and one folder holds one experiment."""

import itertools
import os
import re
import shutil
from contextlib import closing

import pytest
from PIL import Image

from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import FAILED_TEXT, L1, L2, SCORES, Stage, dataset_of, told
from utils.store.folder import DIFFERENCES
from utils.store.load import load_run
from utils.store.view import LogView

ALL, NOTHING = {L1: 9, L2: 6}, {L1: 0, L2: 0}
MODEL_FILE = '''\
import os
import re
import wording
def build_prompt(line, dataset):
    if dataset == "GUIElementGrounding":  # L1 has the benchmark's
        text = os.environ.get("TONE", "") + wording.phrase(line)
        return [{"role": "user", "type": "image", "value": line["image_path"]},
                {"role": "user", "type": "text", "value": text}]
def postprocess(response, model, processor, **kwargs):
    """Drops a closing remark."""
    return response.split("#")[0]
def parse_point(response, meta):
    found = re.findall(r"[0-9.]+", response)
    return (float(found[0]), float(found[1])) if len(found) > 1 else None
'''
HELPER_FILE = """\
POLITE = "Please: "
def phrase(line):
    return POLITE + line["instruction"]
"""
FUNCTIONS = {
    "custom_prompt": {L2: "model_file.build_prompt"},
    "postprocess_function": "model_file.postprocess",
}
EASY_0, EASY_1 = "Question 0 easy?", "Question 1 easy?"


def reply(request):
    """Depends on the request alone, so that equal requests have equal answers.
    L1: right where easy. L2: a hit for basic targets, unless wording or temperature was changed.
    """
    if dataset_of(request) == L1:
        return Reply("B #A" if "easy" in request.text else "A #B")
    hit = "basic" in request.text and "Please: " in request.text
    hit = hit and request.body.get("temperature") != 0.25
    return Reply("0.2, 0.15 # done" if hit else "0.9, 0.9 # done")


@pytest.fixture(scope="module")
def server():
    with MockServer(reply) as running:
        yield running


def stage_with_code(home, server):
    new_stage = Stage.make(home, server, **FUNCTIONS)
    new_stage.module(MODEL_FILE, "model_file")
    new_stage.module(HELPER_FILE, "wording")
    return new_stage


@pytest.fixture(scope="module")
def base(server, tmp_path_factory):
    """One run that asks everything; each case changes one thing in a copy of it."""
    stage = stage_with_code(tmp_path_factory.mktemp("base"), server)
    stage.data[L2]["parse_function"] = "model_file.parse_point"
    ran = stage.run()
    assert (ran.code, ran.asked) == (0, ALL), ran.output
    return stage


@pytest.fixture
def stage(base, tmp_path):
    return base.copy_to(tmp_path)


def edit(stage, name, before, after):
    file = stage.code / name  # or a path of its own
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    # Two edits within a second and of equal length would meet the old byte code.
    shutil.rmtree(stage.code / "__pycache__", ignore_errors=True)


def edited(name, *replacements):
    return lambda stage: [edit(stage, name, *replacement) for replacement in replacements]


def in_path(before, after):
    return lambda stage: [
        entry.update(model_path=entry["model_path"].replace(before, after))
        for entry in stage.model.values()
    ]


def picture(stage):
    Image.new("RGB", (295, 639), "teal").save(stage.picture(1))


def pictures_rewritten_with_the_same_bytes(stage):
    for file in stage.annotations.rglob("*.png"):
        file.write_bytes(file.read_bytes())
        os.utime(file, (1, 1))


def order_of_everything(stage):
    stage.data = dict(reversed(stage.data.items()))
    stage.change_annotations("L2", list.reverse)


PROMPT_OF_BASIC_TARGETS = edited(
    "wording.py",
    ("return POLITE +", 'return (POLITE if "advanced" in line["instruction"] else "Kindly: ") +'),
)
CHANGES = {
    # change: what is asked again, the reason printed, whether scores stay, and in what the folder's
    # run asks otherwise (then the run has a folder of its own), what was changed
    "--reuse": (NOTHING, None, True, None, lambda stage: None),
    "--fresh": (ALL, "because of --fresh", True, None, lambda stage: None),
    "another day and commit": (
        NOTHING,
        None,
        True,
        None,
        lambda stage: stage.folder().rename(stage.work_dir / "m" / "T20200101_Gdeadbeef"),
    ),
    "comments and docstrings": (
        NOTHING,
        None,
        True,
        None,
        edited(
            "model_file.py",
            ("# L1 has the benchmark's", "# another"),
            ("Drops a closing remark", "Another"),
        ),
    ),
    "parse function": (
        NOTHING,
        None,
        False,
        None,
        edited("model_file.py", ("float(found[0]), float(found[1])", "0.2, 0.15")),
    ),
    "postprocess function": (
        NOTHING,
        None,
        False,
        None,
        edited("model_file.py", ('.split("#")[0]', '.split("#")[1]')),
    ),
    "pictures rewritten": (NOTHING, None, True, None, pictures_rewritten_with_the_same_bytes),
    "data root moved": (
        NOTHING,
        None,
        True,
        None,
        lambda stage: stage.env.update(LMUData=str(stage.root.rename(stage.home / "moved"))),
    ),
    "helper of the prompt": (
        {L1: 0, L2: 3},
        "prompt changed",
        False,
        "prompt",
        PROMPT_OF_BASIC_TARGETS,
    ),
    "prompt": (
        {L1: 0, L2: 6},
        "prompt changed",
        False,
        "prompt",
        edited("wording.py", ("Please: ", "Kindly: ")),
    ),
    "system prompt": (
        {L1: 9, L2: 0},
        "prompt changed",
        True,
        "prompt",
        lambda stage: stage.model["m"].update(kwargs={"system_prompt": "You are brief."}),
    ),
    "variable of the prompt function": (
        {L1: 0, L2: 6},
        "prompt changed",
        True,
        None,  # nothing guesses what a function reads; its requests tell
        lambda stage: stage.env.update(TONE="Now. "),
    ),
    # without effect where a function makes the prompt
    "template of the default prompt": (
        NOTHING,
        None,
        True,
        "prompt",
        lambda stage: stage.env.update(L2_USER_PROMPT="Where is {instruction}?"),
    ),
    "generate_cfg": (
        ALL,
        "settings changed",
        False,
        "settings",
        lambda stage: stage.model["m"]["generate_cfg"].update(temperature=0.25),
    ),
    "another model": (ALL, "settings changed", True, "settings", in_path("=mock", "=mock-2")),
    "picture": ({L1: 3, L2: 2}, "image changed", True, "pictures", picture),
    "order of everything": (NOTHING, None, True, "annotations", order_of_everything),
    "truth": (
        NOTHING,
        None,
        False,
        "annotations",
        lambda stage: edit(
            stage, stage.annotations / "L1_annotations.json", '"answer": "B"', '"answer": "A"'
        ),
    ),
}
ARGUMENTS = {"--reuse": ["--reuse", "--api-nproc", "1", "--retry", "0"], "--fresh": ["--fresh"]}


def folders(stage):
    """The run folders by name, each with its files and their bytes; locks aside."""
    paths = sorted(path for path in (stage.work_dir / "m").iterdir() if not path.is_symlink())
    return {
        path.name: {
            entry.name: entry.read_bytes()
            for entry in path.iterdir()
            if entry.is_file() and entry.suffix != ".lock"
        }
        for path in paths
    }


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_asks_again_exactly_what_it_touches_in_its_own_folder(name, stage):
    expected_requests, reason, scores_stay, aspect, change = CHANGES[name]
    before = stage.both_scores()
    change(stage)
    [(first, files)] = folders(stage).items()
    ran = stage.run(*ARGUMENTS.get(name, []), "--no-report")
    after = folders(stage)
    assert (ran.code, ran.asked) == (0, expected_requests), ran.output
    for dataset, count in expected_requests.items():
        reasons = f"{count} ({count} {reason})" if count else "0"
        assert f"{dataset}: queried {reasons}, reused {ALL[dataset] - count}\n" in ran.output
    assert (stage.both_scores() == before) == scores_stay
    assert list(after) == ([first] if aspect is None else [first, f"{first}_2"])
    if aspect is not None:
        assert f"{first}_2 ({first} holds a run with {DIFFERENCES[aspect]}" in ran.output
        assert (after[first], set(after[f"{first}_2"])) == (files, set(files))
        link = stage.work_dir / "m" / f"m_{L1}_scores.json"
        assert link.resolve().parent.name == f"{first}_2"
    again = stage.run("--no-report")
    assert (again.asked, list(folders(stage))) == (NOTHING, list(after))
    assert "holds a run with" not in again.output
    if name == "truth":  # A is what the server says to medium and hard questions
        scores = stage.scores(L1)
        assert [scores[difficulty]["level_score"] for difficulty in ("easy", "medium", "hard")] == [
            0,
            1,
            1,
        ]


def test_another_limit_has_a_folder_of_its_own_and_every_command_goes_on_in_its(stage):
    [(first, before)] = folders(stage).items()
    limited = stage.run("--no-report", "--limit", "2")
    other = stage.run("--no-report", "--limit", "3", "--data", L2)
    whole_run = stage.run("--no-report")
    after, scores = folders(stage), {f"m_{d}_{SCORES[d]}.json" for d in (L1, L2)}
    for number, ran in ((2, limited), (3, other)):
        assert f"{first}_{number} ({first} holds a run with no --limit)" in ran.output
    assert f"/{first}\n" in whole_run.output
    assert list(after) == [first, f"{first}_2", f"{first}_3"]
    assert all(after[first][name] == before[name] for name in scores)
    partial = [name.replace("_partial", "") for name in after[f"{first}_2"] if "score" in name]
    assert set(partial) == scores
    assert [result.asked for result in (limited, other, whole_run)] == [NOTHING] * 3


def test_data_sets_one_by_one_share_a_folder_and_models_no_answers(stage):
    shutil.rmtree(stage.work_dir)
    for dataset in (L1, L2):
        stage.run("--no-report", "--data", dataset)
    assert len(folders(stage)) == 1
    stage.model["other"] = stage.model["m"]
    assert stage.run("--no-report", "--model", "other").asked == ALL


def test_what_no_hash_can_know_shows_in_the_requests_of_a_stopped_run(stage):
    edit(stage, "model_file.py", 'os.environ.get("TONE", "")', 'open("tone").read()')
    stage.model["m"]["model_identity"] = "weights-1"
    (stage.home / "tone").write_text("Now. ")
    stage.run("--no-report", "--data", L2)
    (stage.home / "tone").write_text("Later. ")
    replies_left = iter([reply] * 3)  # so many answers, then all is denied
    denied = Reply(status=401, body=b"{}")
    with MockServer(lambda request: next(replies_left, lambda _: denied)(request)) as server:
        in_path(stage.server.url, server.url)(stage)
        stage.run("--no-report", "--api-nproc", "1", "--data", L2)
        ran = stage.run("--no-report", "--mode", "eval", "--data", L2)
    assert (ran.code, told(ran.output, "have a reply")) == (1, [3]), ran.output


def section(name):
    return lambda **settings: {name: settings}


cfg, kw = section("generate_cfg"), section("kwargs")
SAME, OTHER = (NOTHING, None), (ALL, "settings changed")
CONFIG_CHANGES = {
    # name: (before, after, (what is asked again, the reason printed))
    "same-number": ({}, cfg(temperature=0.0), SAME),
    "extra-body": ({}, cfg(extra_body={"top_k": 3}), OTHER),
    "timeout": ({}, kw(timeout_s=17) | cfg(timeout=18), SAME),
    "img-size-as-it-is": (kw(img_size=-1), kw(img_size=0), SAME),
    "img-size-larger": ({}, kw(img_size=4096), SAME),
    "img-size-smaller": ({}, kw(img_size=600), ({L1: 6, L2: 4}, "settings changed")),
    "png-of-png": ({}, kw(image_format="png"), SAME),
    "jpeg-of-png": ({}, kw(image_format="jpeg"), OTHER),
    "jpeg-that-fits": (kw(image_format="jpeg"), kw(image_format="jpeg", img_size=4096), SAME),
    "detail": ({}, kw(img_detail="low"), OTHER),
    "detail-of-reference": (
        kw(wire_format="reference"),
        kw(wire_format="reference", img_detail="low"),
        SAME,
    ),
    "wire-format": ({}, kw(wire_format="reference"), (ALL, ".*")),
    "query": ({}, cfg(extra_query={"api-version": "2"}), OTHER),
    "key-in-query": ({}, cfg(extra_query={"key": "k-12345678"}), SAME),
    "routing-header": (
        cfg(extra_headers={"X-Route": "a"}),
        cfg(extra_headers={"X-Route": "b"}),
        OTHER,
    ),
    "same-header": (cfg(extra_headers={"X-Route": "a"}), cfg(extra_headers={"x-route": "a"}), SAME),
    "key-in-header": (
        cfg(extra_headers={"X-Api-Key": "k-12345678"}),
        cfg(extra_headers={"X-Api-Key": "k-87654321"}),
        SAME,
    ),
    "header-that-stored-fingerprints-have": (
        cfg(extra_headers={"authToken": "k-12345678"}),
        cfg(extra_headers={"authToken": "k-87654321"}),
        OTHER,
    ),
    "same-address": ({}, {"path": "/v1/"}, SAME),
    "password": ({"login": "me:old-pass-123@"}, {"login": "me:new-pass-456@"}, SAME),
    "same-payload": (
        {},
        {"preprocess_function": "models.base.default_api_preprocess_function"},
        SAME,
    ),
    "key": ({}, {"key": "another-key-7890"}, SAME),
    "base-url": ({}, {"host": "localhost"}, OTHER),
    "moved-with-identity": (
        {"model_identity": "weights-1"},
        {"model_identity": "weights-1", "host": "localhost", "asked_as": "mock-2"},
        SAME,
    ),
    "identity": ({"model_identity": "weights-1"}, {"model_identity": "weights-2"}, OTHER),
    "same-system-prompt": ({}, kw(system_prompt="benchmark_default"), SAME),
    "free-kwargs": ({}, kw(note_of_mine=3), SAME),
}


@pytest.fixture(scope="module")
def config_run(server, tmp_path_factory):
    """Output of the second run, by model."""
    before, after = (
        {name: with_changes(server, case[which]) for name, case in CONFIG_CHANGES.items()}
        for which in (0, 1)
    )
    stage = stage_with_code(tmp_path_factory.mktemp("config"), server)
    stage.model = before
    assert stage.run().asked == {L1: 9 * len(CONFIG_CHANGES), L2: 6 * len(CONFIG_CHANGES)}
    stage.model = after
    ran = stage.run()
    blocks = re.split(r'^model "([\w-]+)" → ', ran.output, flags=re.MULTILINE)
    sent = {
        d: sum(expected_requests[d] for _, _, (expected_requests, _) in CONFIG_CHANGES.values())
        for d in ALL
    }
    assert (ran.code, ran.asked) == (0, sent), ran.output
    return dict(zip(blocks[1::2], blocks[2::2], strict=True))


def with_changes(server, changes):
    address = {
        "host": "127.0.0.1",
        "key": "test-key-123456",
        "asked_as": "mock",
        "login": "",
        "path": "/v1",
    }
    host, key, asked_as, login, path = ({**address, **changes}[name] for name in address)
    url = server.url.replace("127.0.0.1", login + host).replace("/v1", path)
    plain = api_model(server.url, **FUNCTIONS)
    entry = plain | {name: value for name, value in changes.items() if name not in address}
    entry["generate_cfg"] = plain["generate_cfg"] | entry["generate_cfg"]
    return entry | {"model_path": f"{url}?api_key={key}&model={asked_as}"}


@pytest.mark.parametrize("case", CONFIG_CHANGES)
def test_a_change_of_the_config_asks_again_exactly_what_it_touches(case, config_run):
    _, _, (expected_requests, reason) = CONFIG_CHANGES[case]
    for dataset, count in expected_requests.items():
        reasons = rf"{count} \({count} {reason}\)" if count else "0"
        line = rf"^{dataset}: queried {reasons}, reused {ALL[dataset] - count}$"
        assert re.search(line, config_run[case], re.MULTILINE), config_run[case]


def test_a_change_that_is_taken_back_costs_nothing_and_brings_the_old_scores_back(stage):
    before, first = stage.both_scores(), stage.folder()
    parameters = stage.model["m"]["generate_cfg"]
    back = (
        edited("wording.py", ('"Kindly: "', '"Please: "')),
        lambda stage: parameters.update(temperature=0),
    )
    # The reason is what sets the nearest earlier request apart: the second is asked as at first.
    for name, take_back in zip(("prompt", "generate_cfg"), back, strict=True):
        expected_requests, reason, *_, change = CHANGES[name]
        change(stage)
        ran = stage.run()
        assert (ran.asked, f"{L2}: queried 6 (6 {reason}), reused 0" in ran.output) == (
            expected_requests,
            True,
        )
        assert stage.both_scores() != before
        take_back(stage)
        ran = stage.run()
        assert (ran.asked, f"/{first.name}\n" in ran.output) == (NOTHING, True), ran.output
        assert stage.both_scores(first) == before


def test_mode_all_after_easy_asks_the_rest(staged):
    stage = staged()
    stage.data = {L1: {"mode": "easy"}}
    assert stage.run().asked == {L1: 3, L2: 0}
    stage.data[L1]["mode"] = "all"
    ran = stage.run("--verbose")
    assert ran.asked == {L1: 6, L2: 0}
    assert all("easy" not in request.text for request in ran.requests)
    assert f"{L1}: queried 6 (6 new), reused 3" in ran.output
    assert len(re.findall(rf"^querying {L1} \d, \S+\.png: new$", ran.output, re.MULTILINE)) == 6
    assert stage.scores(L1)["total_sample_num"] == 9


def test_several_reasons_are_counted_apart(stage):
    PROMPT_OF_BASIC_TARGETS(stage)
    picture(stage)
    ran = stage.run()
    assert f"{L1}: queried 3 (3 image changed), reused 6" in ran.output
    expected = "queried 4 (1 image changed, 1 prompt and image changed, 2 prompt changed)"
    assert f"{L2}: {expected}, reused 2" in ran.output


def test_the_newest_of_equal_answers_counts_in_whatever_folder(stage):
    stage.model["m"]["model_identity"] = "weights-1"  # keeps the address out of the fingerprint
    assert stage.run("--data", L2).asked[L2] == 6
    old = stage.folder()
    old.rename(old.with_name("T99990101_Gdeadbeef"))  # sorts behind today's; only runs count
    with MockServer(lambda request: Reply("0.5, 0.5")) as other:
        in_path(stage.server.url, other.url)(stage)
        stage.run("--data", L2, "--fresh")
        again = stage.run("--data", L2)
        elsewhere = stage.run("--data", L2, "--limit", "4")
        assert (again.code, elsewhere.code, len(other.requests)) == (0, 0, 6), again.output
    assert [record["raw"] for record in stage.answers(L2)] == ["0.5, 0.5"] * 4


def test_a_stopped_fresh_run_goes_on_without_the_answers_from_before_it(stage):
    stage.run("--data", L2)
    replies = itertools.chain([Reply("0.5, 0.5")] * 2, itertools.repeat(Reply(status=401)))
    stage.server.answer = lambda request: next(replies)
    stopped = stage.run("--data", L2, "--fresh", "--api-nproc", "1")
    assert (stopped.code, len(stage.answers(L2))) == (1, 8), stopped.output
    partial = stage.run("--mode", "eval", "--data", L2)
    assert partial.code == 1 and "4 samples of this run have not been queried yet" in partial.output
    stage.server.answer = lambda request: Reply("0.5, 0.5")
    again = stage.run("--data", L2)
    assert (again.code, again.asked[L2]) == (0, 4), again.output
    assert "(4 because of --fresh), reused 2" in again.output
    with closing(LogView(stage.log(L2))) as view:
        records = [view.record(key) for key in view.covered]
    assert {record["raw"] for record in records} == {"0.5, 0.5"}


def test_a_stopped_fresh_run_leaves_answers_to_other_settings_alone(stage):
    stage.run("--data", L2)
    other = "model.m.generate_cfg.temperature=0.7"
    stage.server.answer = lambda request: Reply(status=401)
    assert stage.run("--data", L2, "--fresh", "--set", other).code == 1
    stage.server.answer = lambda request: Reply("0.5, 0.5")
    assert stage.run("--data", L2).asked[L2] == 0
    assert stage.run("--data", L2, "--set", other).asked[L2] == 6


FAILED_CASES = {
    # arguments: (which of the two are asked again, exit code, easy score, what is printed)
    "": (
        [EASY_0],
        1,
        2 / 3,
        [
            f"{L1}: queried 1 (1 failed last time), reused 8",
            "--retry-refused queries them again",
            "9/9 (1 answered, 1 refused before, 7 reused)",
        ],
    ),
    "--fresh": ([EASY_0, EASY_1], 0, 1, []),
    "--ignore": ([], 1, 1 / 3, ["failed: counted as wrong, left as they are (--ignore)"]),
    "--retry-refused": (
        [EASY_0, EASY_1],
        0,
        1,
        [f"{L1}: queried 2 (1 failed last time, 1 refused last time), reused 7"],
    ),
    "--retry-refused --ignore": ([EASY_1], 1, 2 / 3, []),
    "--check": (
        [],
        0,
        1 / 3,
        ["(1 failed last time, ", "7 answers stored already, 1 refused before (--retry-refused)"],
    ),
    "--check --retry-refused": (
        [],
        0,
        1 / 3,
        ["2 requests to send (1 failed last time, 1 refused last time, "],
    ),
    "--check --fresh": ([], 0, 1 / 3, ["9 requests to send (9 because of --fresh, "]),
}


@pytest.mark.parametrize("arguments", FAILED_CASES)
def test_what_failed_is_asked_again_and_what_was_refused_on_demand(arguments, staged):
    broken = {EASY_0: Reply(status=500), EASY_1: Reply(status=400)}
    stage = staged(
        answer=lambda request: next(
            (bad for text, bad in broken.items() if text in request.text), Reply("B")
        )
    )
    stage.data = {L1: {"mode": "all"}}
    ran = stage.run("--retry", "0")
    assert (ran.code, len(ran.requests)) == (1, 9)
    assert (told(ran.output, "refused"), told(ran.output, "failed")) == ([1], [1]), ran.output
    broken.clear()  # from now on everything is answered
    expected_requests, code, score, printed = FAILED_CASES[arguments]
    ran = stage.run(*arguments.split())
    requested_texts = [
        text
        for text in (EASY_0, EASY_1)
        if any(text in sent_request.text for sent_request in ran.requests)
    ]
    count = 9 if arguments == "--fresh" else len(expected_requests)
    assert (requested_texts, len(ran.requests), ran.code) == (expected_requests, count, code), (
        ran.output
    )
    assert [text for text in printed if text not in ran.output] == []
    assert stage.scores(L1)["easy"]["level_score"] == pytest.approx(score)
    if arguments == "--ignore":
        failed = [row for row in stage.sheet(L1) if row["prediction"] == FAILED_TEXT]
        assert [row["question"] for row in failed] == [EASY_0, EASY_1]
    if arguments == "--retry-refused":
        assert stage.run(arguments).requests == []


def test_what_is_refused_again_on_demand_stays_refused(staged):
    stage = staged(answer=lambda request: Reply(status=200 if "hard" in request.text else 400))
    stage.data = {L1: {"mode": "all"}}
    request_counts = [
        len(stage.run(*arguments).requests) for arguments in ((), ("--retry-refused",), ())
    ]
    assert request_counts == [9, 6, 0]


def test_what_was_refused_stays_so_in_a_run_that_queries_nothing(staged):
    stage = staged(answer=lambda request: Reply(status=200 if "hard" in request.text else 400))
    stage.data = {L1: {"mode": "all"}}
    asked = [stage.run(*arguments).asked[L1] for arguments in ([], *[["--limit", "4"]] * 2)]
    statuses = {record["status"] for record in stage.answers(L1) if "hard" not in str(record)}
    assert (asked, statuses) == ([9, 0, 0], {"refused"})


def test_newer_answers_of_a_part_count_in_the_next_whole_run(tmp_path):
    replies = ["(0.2, 0.15)"]
    with MockServer(lambda _: Reply(replies[0])) as server:
        stage = Stage.make(tmp_path, server)
        stage.data = {L2: {"mode": "all"}}
        assert stage.run("--no-report").asked[L2] == 6
        replies[0] = "(0.9, 0.9)"
        assert stage.run("--fresh", "--limit", "4", "--no-report").asked[L2] == 4
        ran = stage.run("--no-report")
        assert (ran.code, ran.asked[L2]) == (0, 0)
        assert load_run(stage.work_dir / "m").samples.hit.sum() == 2
        again = stage.log(L2).stat().st_size
        for limit in (["--limit", "4"], [], ["--limit", "4"], []):
            assert stage.run("--no-report", *limit).asked[L2] == 0
        grown = stage.folder() / f"m_{L2}.jsonl"
        assert grown.stat().st_size - again < 3 * 10_000  # run records; answers are copied once


PREPROCESS = """
from models.base import default_api_preprocess_function


def before(message, model, processor, **kwargs):
    chat = default_api_preprocess_function(message, model, processor, **kwargs)
    chat[0]["content"][0]["text"] += "{text}"
    return chat


def read(reply):
    return {answer!r}
"""


def test_changed_code_of_a_function_is_named_where_a_run_begins_and_where_it_is_scored(staged):
    stage = staged(PREPROCESS.format(text="", answer="B"))
    stage.data = {L1: {"parse_function": "mymodel.read"}}
    stage.model["m"]["preprocess_function"] = "mymodel.before"
    first = stage.run()
    assert first.code == 0, first.output
    older = stage.folder()
    stage.module(PREPROCESS.format(text=" Be quick.", answer="B"))
    second = stage.run()
    assert f"({older.name} holds a run with other settings (code of the preprocess" in second.output
    assert len(second.requests) == len(first.requests)
    stage.module(PREPROCESS.format(text="", answer="B"))
    scored = stage.run("--mode", "eval")
    assert "than this config has (code of the preprocess function)" in scored.output
    assert f"add --run-folder {older}" in scored.output


def test_changed_code_of_a_parse_function_is_told_with_the_figures_before_and_after(staged):
    stage = staged(PREPROCESS.format(text="", answer="B"))
    stage.data = {L1: {"parse_function": "mymodel.read"}}
    assert "another version" not in stage.run().output
    stage.module(PREPROCESS.format(text="", answer="A"))
    ran = stage.run("--mode", "eval")
    assert (
        "these scores are by another version of mymodel.py than the scores before; easy was "
        "100.00 % and is 0.00 % now" in ran.output
    )


def test_a_command_that_reuses_answers_says_what_its_own_requests_cost(stage):
    stage.model["m"]["generate_cfg"]["temperature"] = 1
    stage.run("--data", "L2", "--limit", "2")
    ran = stage.run("--data", "L2")
    [spent] = re.findall(r"tokens of this command: ([\d,]+) \+ ([\d,]+) ", ran.output)
    [total] = re.findall(r"  tokens: ([\d,]+) \+ ([\d,]+) ", ran.output)
    assert [3 * int(count) for count in spent] == [2 * int(count) for count in total]  # 4 of 6
    assert "tokens of this command" not in stage.run("--data", "L2").output
