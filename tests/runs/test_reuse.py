"""Answers are reused exactly when they are still the answers, and one folder holds one experiment.

One base run asks everything; each case changes one thing in a copy of it, counts what the same
command asks again, and looks at which folder it works in.
"""

import json
import os
import re
import shutil
import signal

import pytest
from PIL import Image

from tests.support.bench import FAILED_TEXT, L1, L2, SCORES, Bench, dataset_of, told
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model, make_data

ALL = {L1: 9, L2: 6}
NOTHING = {L1: 0, L2: 0}

MODEL_FILE = '''\
"""A model file as users write it."""

import os
import re

import wording


def build_prompt(line, dataset):
    """L2 has a prompt of its own, L1 the benchmark's."""
    if dataset != "GUIElementGrounding":
        return None
    # the picture first
    return [
        {"role": "user", "type": "image", "value": line["image_path"]},
        {"role": "user", "type": "text", "value": os.environ.get("TONE", "") + wording.phrase(line)},
    ]


def postprocess(response, model, processor, **kwargs):
    """Drops a closing remark."""
    return response.split("#")[0]


def parse_point(response, meta):
    """The first two numbers."""
    found = re.findall(r"[0-9.]+", response)
    return (float(found[0]), float(found[1])) if len(found) > 1 else None
'''
HELPER_FILE = """\
POLITE = "Please: "

def phrase(line):
    return POLITE + line["instruction"]
"""


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


def model_entry(server, **changes):
    entry = api_model(server.url, custom_prompt={L2: "model_file.build_prompt"},
                      postprocess_function="model_file.postprocess")  # fmt: skip
    return {**entry, **changes}


@pytest.fixture(scope="module")
def base(server, tmp_path_factory):
    """After a first run."""
    home = tmp_path_factory.mktemp("base")
    make_data(home / "data")
    (home / "code").mkdir()
    (home / "code" / "model_file.py").write_text(MODEL_FILE)
    (home / "code" / "wording.py").write_text(HELPER_FILE)
    data = {L1: {"mode": "all"}, L2: {"mode": "all", "parse_function": "model_file.parse_point"}}
    bench = Bench(home, server, {"m": model_entry(server)}, data)
    ran = bench.run()
    assert ran.code == 0, ran.output
    assert ran.asked == ALL
    return bench


@pytest.fixture
def bench(base, tmp_path):
    """A copy of the base run that a test may change."""
    return base.copy_to(tmp_path)


# ---- what a user changes -------------------------------------------------------------------------


def edit(bench, name, before, after):
    file = bench.code / name  # or a path of its own
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    # Two edits within a second and of equal length would meet the old byte code.
    shutil.rmtree(bench.code / "__pycache__", ignore_errors=True)


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


def order_of_everything(bench):
    bench.data = dict(reversed(bench.data.items()))
    file = bench.annotations / "L2_annotations.json"
    file.write_text(json.dumps(json.loads(file.read_text())[::-1]))


def nothing(bench):
    """The same command again."""


def another_day_and_commit(bench):
    folder = bench.folder()
    folder.rename(folder.with_name("T20200101_Gdeadbeef"))


def key_and_timeout(bench):
    bench.model["m"]["model_path"] = bench.model["m"]["model_path"].replace("test-key", "other-key")
    bench.model["m"]["kwargs"] = {"timeout_s": 17}


def system_prompt(bench):
    bench.model["m"]["kwargs"] = {"system_prompt": "You are brief."}


def variable_of_the_prompt_function(bench):
    bench.env["TONE"] = "Now. "


def template_of_the_default_prompt(bench):
    bench.env["L2_USER_PROMPT"] = "Where is {instruction}?"  # the function's own prompt counts


def another_model_of_the_same_name(bench):
    bench.model["m"]["model_path"] = bench.model["m"]["model_path"].replace("=mock", "=mock-2")


def truth(bench):
    edit(bench, bench.annotations / "L1_annotations.json", '"answer": "B"', '"answer": "A"')


CHANGES = [
    # what changes, arguments, what is asked again, the reason printed, scores stay, and in what the
    # folder's run asks otherwise: then the run has a folder of its own
    (nothing, ["--reuse", "--api-nproc", "1", "--retry", "0"], NOTHING, None, True, None),
    (nothing, ["--fresh"], ALL, "--fresh", True, None),
    (another_day_and_commit, [], NOTHING, None, True, None),
    (key_and_timeout, [], NOTHING, None, True, None),
    (comments_and_docstrings, [], NOTHING, None, True, None),
    (parse_function, [], NOTHING, None, False, None),
    (postprocess_function, [], NOTHING, None, False, None),
    (picture_rewritten_with_the_same_bytes, [], NOTHING, None, True, None),
    (data_root_moved, [], NOTHING, None, True, None),
    (helper_of_the_prompt, [], {L1: 0, L2: 3}, "prompt changed", False, "prompt"),
    (prompt, [], {L1: 0, L2: 6}, "prompt changed", False, "prompt"),
    (system_prompt, [], {L1: 9, L2: 0}, "prompt changed", True, "prompt"),
    (variable_of_the_prompt_function, [], {L1: 0, L2: 6}, "prompt changed", True, "prompt"),
    (template_of_the_default_prompt, [], NOTHING, None, True, "prompt"),
    (generate_cfg, [], ALL, "settings changed", False, "settings"),
    (another_model_of_the_same_name, [], ALL, "settings changed", True, "settings"),
    (picture, [], {L1: 3, L2: 2}, "picture changed", True, "pictures"),
    (order_of_everything, [], NOTHING, None, True, "annotations"),
    (truth, [], NOTHING, None, False, "annotations"),
]
IDS = [f"{change.__name__}{''.join(args[:1])}" for change, args, *_ in CHANGES]


def folders(bench):
    """The run folders by name, each with its files and their bytes; locks aside."""
    found = [path for path in (bench.work_dir / "m").iterdir() if not path.is_symlink()]
    return {path.name: {each.name: each.read_bytes() for each in path.iterdir()
                        if each.is_file() and each.suffix != ".lock"}
            for path in sorted(found)}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "arguments", "asked", "reason", "scores_stay", "aspect"), CHANGES, ids=IDS
)
def test_a_change_asks_again_exactly_what_it_touches_in_its_own_folder(
    change, arguments, asked, reason, scores_stay, aspect, bench
):
    before = [bench.scores(dataset) for dataset in (L1, L2)]
    change(bench)
    [(first, files)] = folders(bench).items()
    ran = bench.run(*arguments, "--no-report")
    after = folders(bench)

    assert (ran.code, ran.asked) == (0, asked), ran.output
    for dataset, count in asked.items():
        reasons = f"{count} ({count} {reason})" if count else "0"
        assert f"{dataset}: asked {reasons}, reused {ALL[dataset] - count}\n" in ran.output
    assert ([bench.scores(dataset) for dataset in (L1, L2)] == before) == scores_stay
    assert list(after) == ([first] if aspect is None else [first, f"{first}_2"])
    if aspect is not None:
        assert f"{first}_2 ({first} holds a run with other {aspect})" in ran.output
        assert (after[first], set(after[f"{first}_2"])) == (files, set(files))
        link = bench.work_dir / "m" / f"m_{L1}_scores.json"
        assert link.resolve().parent.name == f"{first}_2"
    again = bench.run("--no-report")
    assert (again.asked, list(folders(bench))) == (NOTHING, list(after))
    assert "holds a run with" not in again.output


# ---- folders -------------------------------------------------------------------------------------


def test_another_limit_has_a_folder_of_its_own_and_every_command_goes_on_in_its(bench):
    [(first, before)] = folders(bench).items()
    limited = bench.run("--no-report", "--limit", "2")
    other = bench.run("--no-report", "--limit", "3", "--data", L2)
    whole = bench.run("--no-report")

    after = folders(bench)
    assert f"{first}_2 ({first} holds a run with no --limit)" in limited.output
    assert f"{first}_3 ({first} holds a run with no --limit)" in other.output
    assert f"/{first}\n" in whole.output
    assert list(after) == [first, f"{first}_2", f"{first}_3"]
    scores = [name for name in before if name.endswith(("scores.json", "score.json"))]
    assert {name: after[first][name] for name in scores} == {name: before[name] for name in scores}
    assert {name for name in after[f"{first}_2"] if "score" in name} == {
        f"m_{L1}_scores_partial.json", f"m_{L2}_score_partial.json"}  # fmt: skip
    assert [each.asked for each in (limited, other, whole)] == [NOTHING] * 3


def stopped(bench, arguments=(), *, answers=0, kill=False):
    """A run of the bench at a server that gives so many answers, then denies all, or kills it."""
    victim, left = [], [answers]

    def answer(request):
        left[0] -= 1
        if left[0] < 0 and kill:
            os.kill(victim[0].pid, signal.SIGKILL)
        return reply(request) if left[0] >= 0 else Reply(status=401, body=b"{}")

    with MockServer(answer) as server:
        path = bench.model["m"]["model_path"]
        bench.model["m"]["model_path"] = path.replace(bench.server.url, server.url)
        victim.append(bench.start("--no-report", "--api-nproc", "1", *arguments))
        victim[0].communicate(timeout=60)
        bench.model["m"]["model_path"] = path
    return victim[0].returncode


def test_after_a_kill_the_same_command_goes_on_in_its_folder(bench):
    bench.model["m"]["model_identity"] = "weights-1"  # whatever the address
    code = stopped(bench, answers=2, kill=True)
    killed = list(folders(bench))

    ran = bench.run("--no-report")

    assert (code, ran.code, sum(ran.asked.values())) == (-signal.SIGKILL, 0, 13)
    assert list(folders(bench)) == killed == [killed[0], f"{killed[0]}_2"]


def test_data_sets_one_by_one_share_a_folder(bench):
    shutil.rmtree(bench.work_dir)
    bench.run("--no-report", "--data", L1)
    bench.run("--no-report", "--data", L2)

    assert len(folders(bench)) == 1


@pytest.mark.parametrize(("change", "asked"), [
    (change, asked) for change, _, asked, _, _, aspect in CHANGES if aspect and asked != NOTHING])  # fmt: skip
def test_answers_to_other_requests_are_never_scored_for_those_of_a_stopped_run(
    change, asked, bench
):
    bench.model["m"]["model_identity"] = "weights-1"
    if change is another_model_of_the_same_name:
        change = lambda bench: bench.model["m"].update(model_identity="weights-2")  # noqa: E731
    bench.run("--no-report")
    before = folders(bench)
    change(bench)
    stopped(bench)
    ran = bench.run("--no-report", "--mode", "eval")

    whole = {ALL[dataset] for dataset, count in asked.items() if count}
    assert (ran.code, whole & {*told(ran.output, "answered")}) == (1, set())
    assert {name: files for name, files in folders(bench).items() if name in before} == before


def test_what_no_hash_can_know_shows_in_the_requests_of_a_stopped_run(bench):
    edit(bench, "model_file.py", 'os.environ.get("TONE", "")', 'open("tone").read()')
    bench.model["m"]["model_identity"] = "weights-1"
    (bench.home / "tone").write_text("Now. ")
    bench.run("--no-report", "--data", L2)
    (bench.home / "tone").write_text("Later. ")
    stopped(bench, ["--data", L2], answers=3)
    ran = bench.run("--no-report", "--mode", "eval", "--data", L2)

    assert (ran.code, told(ran.output, "answered")) == (1, [3]), ran.output


# ---- changes of the config: one model for each, all changed at once ------------------------------

CONFIG_CHANGES = {
    # name: (before, after, what is asked again, the reason printed)
    "temperature": ({}, {"generate_cfg": {"temperature": 1}}, ALL, "settings changed"),
    "extra-body": ({}, {"generate_cfg": {"extra_body": {"top_k": 3}}}, ALL, "settings changed"),
    "timeout": ({}, {"kwargs": {"timeout_s": 17}, "generate_cfg": {"timeout": 18}}, NOTHING, None),
    "img-size-as-it-is": ({"kwargs": {"img_size": -1}}, {"kwargs": {"img_size": 0}}, NOTHING, None),
    "img-size-larger": ({}, {"kwargs": {"img_size": 4096}}, NOTHING, None),
    "img-size-smaller": ({}, {"kwargs": {"img_size": 600}}, {L1: 6, L2: 4}, "settings changed"),
    "png-of-png": ({}, {"kwargs": {"image_format": "png"}}, NOTHING, None),
    "jpeg-of-png": ({}, {"kwargs": {"image_format": "jpeg"}}, ALL, "settings changed"),
    "jpeg-that-fits": (
        {"kwargs": {"image_format": "jpeg"}},
        {"kwargs": {"image_format": "jpeg", "img_size": 4096}},
        NOTHING,
        None,
    ),
    "detail": ({}, {"kwargs": {"img_detail": "low"}}, ALL, "settings changed"),
    "detail-of-reference": (
        {"kwargs": {"wire_format": "reference"}},
        {"kwargs": {"wire_format": "reference", "img_detail": "low"}},
        NOTHING,
        None,
    ),
    "query": ({}, {"generate_cfg": {"extra_query": {"api-version": "2"}}}, ALL, "settings changed"),
    "key-in-query": ({}, {"generate_cfg": {"extra_query": {"key": "k-12345678"}}}, NOTHING, None),
    "routing-header": (
        {"generate_cfg": {"extra_headers": {"X-Route": "a"}}},
        {"generate_cfg": {"extra_headers": {"X-Route": "b"}}},
        ALL,
        "settings changed",
    ),
    "same-header": (
        {"generate_cfg": {"extra_headers": {"X-Route": "a"}}},
        {"generate_cfg": {"extra_headers": {"x-route": "a"}}},
        NOTHING,
        None,
    ),
    "key-in-header": (
        {"generate_cfg": {"extra_headers": {"X-Api-Key": "k-12345678"}}},
        {"generate_cfg": {"extra_headers": {"X-Api-Key": "k-87654321"}}},
        NOTHING,
        None,
    ),
    "same-number": ({}, {"generate_cfg": {"temperature": 0.0}}, NOTHING, None),
    "same-address": ({}, {"path": "/v1/"}, NOTHING, None),
    "password": ({"login": "me:old-pass-123@"}, {"login": "me:new-pass-456@"}, NOTHING, None),
    "same-payload": (
        {},
        {"preprocess_function": "models.base.default_api_preprocess_function"},
        NOTHING,
        None,
    ),
    "key": ({}, {"key": "another-key-7890"}, NOTHING, None),
    "base-url": ({}, {"host": "localhost"}, ALL, "settings changed"),
    "model-name": ({}, {"asked_as": "mock-2"}, ALL, "settings changed"),
    "moved-with-identity": (
        {"model_identity": "weights-1"},
        {"model_identity": "weights-1", "host": "localhost", "asked_as": "mock-2"},
        NOTHING,
        None,
    ),
    "identity": (
        {"model_identity": "weights-1"},
        {"model_identity": "weights-2"},
        ALL,
        "settings changed",
    ),
    # without effect on L2, which has a prompt function
    "system-prompt": (
        {},
        {"kwargs": {"system_prompt": "You are brief."}},
        {L1: 9, L2: 0},
        "prompt changed",
    ),
    "same-system-prompt": ({}, {"kwargs": {"system_prompt": "benchmark_default"}}, NOTHING, None),
    "free-kwargs": ({}, {"kwargs": {"note_of_mine": 3}}, NOTHING, None),
    "wire-format": ({}, {"kwargs": {"wire_format": "reference"}}, ALL, None),
}


@pytest.fixture(scope="module")
def config_run(server, tmp_path_factory):
    """Output of the second run, by model."""
    home = tmp_path_factory.mktemp("config")
    make_data(home / "data")
    (home / "code").mkdir()
    (home / "code" / "model_file.py").write_text(MODEL_FILE)
    (home / "code" / "wording.py").write_text(HELPER_FILE)

    def section(which):
        return {name: with_changes(server, case[which]) for name, case in CONFIG_CHANGES.items()}

    bench = Bench(home, server, section(0))
    assert bench.run().asked == {L1: 9 * len(CONFIG_CHANGES), L2: 6 * len(CONFIG_CHANGES)}
    bench.model = section(1)
    ran = bench.run()
    blocks = re.split(r'^model "([\w-]+)" → ', ran.output, flags=re.MULTILINE)
    sent = {dataset: sum(case[2][dataset] for case in CONFIG_CHANGES.values()) for dataset in ALL}
    assert (ran.code, ran.asked) == (0, sent), ran.output
    return dict(zip(blocks[1::2], blocks[2::2], strict=True))


def with_changes(server, changes):
    host = changes.get("login", "") + changes.get("host", "127.0.0.1")
    url = server.url.replace("127.0.0.1", host).replace("/v1", changes.get("path", "/v1"))
    of_address = ("host", "key", "asked_as", "login", "path")
    entry = {k: v for k, v in changes.items() if k not in of_address}
    key, asked_as = changes.get("key", "test-key-123456"), changes.get("asked_as", "mock")
    parameters = {**api_model(server.url)["generate_cfg"], **entry.pop("generate_cfg", {})}
    path = f"{url}?api_key={key}&model={asked_as}"
    return model_entry(server, model_path=path, generate_cfg=parameters, **entry)


@pytest.mark.parametrize("case", CONFIG_CHANGES)
def test_a_change_of_the_config_asks_again_exactly_what_it_touches(case, config_run):
    _, _, asked, reason = CONFIG_CHANGES[case]
    for dataset, count in asked.items():
        reasons = rf"{count} \({count} {reason or '.*'}\)" if count else "0"
        line = rf"^{dataset}: asked {reasons}, reused {ALL[dataset] - count}$"
        assert re.search(line, config_run[case], re.MULTILINE), config_run[case]


# ---- there and back ------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [prompt, generate_cfg], ids=lambda f: f.__name__)
def test_a_change_that_is_taken_back_costs_nothing_and_brings_the_old_scores_back(change, bench):
    before = [bench.scores(dataset) for dataset in (L1, L2)]
    unchanged = bench.home / "unchanged"
    shutil.copytree(bench.code, unchanged)
    model = json.loads(json.dumps(bench.model))
    change(bench)
    changed, first = bench.run(), bench.folder().name.removesuffix("_2")
    assert sum(changed.asked.values()) > 0
    assert [bench.scores(dataset) for dataset in (L1, L2)] != before
    shutil.rmtree(bench.code)
    unchanged.rename(bench.code)
    bench.model = model

    ran = bench.run()
    assert (ran.asked, f"/{first}\n" in ran.output) == (NOTHING, True), ran.output
    assert [(bench.work_dir / "m" / first / f"m_{d}_{SCORES[d]}.json").read_bytes()
            for d in (L1, L2)] == before  # fmt: skip


def test_mode_all_after_easy_asks_the_rest(server, tmp_path):
    make_data(tmp_path / "data")
    bench = Bench(tmp_path, server, {"m": api_model(server.url)}, {L1: {"mode": "easy"}})
    assert bench.run().asked == {L1: 3, L2: 0}
    bench.data[L1]["mode"] = "all"
    ran = bench.run("--verbose")
    assert ran.asked == {L1: 6, L2: 0}
    assert all("easy" not in request.text for request in ran.requests)
    assert f"{L1}: asked 6 (6 new), reused 3" in ran.output
    assert (
        len(
            re.findall(
                r"^asking GUIContentUnderstanding \d, \S+\.png: new$", ran.output, re.MULTILINE
            )
        )
        == 6
    )
    assert json.loads(bench.scores(L1))["total_sample_num"] == 9


def test_several_reasons_are_counted_apart(bench):
    helper_of_the_prompt(bench)
    picture(bench)
    ran = bench.run()
    assert f"{L1}: asked 3 (3 picture changed), reused 6" in ran.output
    expected = "asked 4 (1 picture changed, 1 prompt and picture changed, 2 prompt changed)"
    assert f"{L2}: {expected}, reused 2" in ran.output


# ---- other folders, other machines ---------------------------------------------------------------


def test_the_newest_log_alone_gives_the_same_scores_elsewhere_without_the_data(bench, tmp_path):
    before = {dataset: bench.scores(dataset) for dataset in (L1, L2)}
    elsewhere = tmp_path / "elsewhere"
    copied = elsewhere / "m" / bench.folder().name
    copied.mkdir(parents=True)
    for dataset in (L1, L2):
        shutil.copy(bench.log(dataset), copied)
    shutil.rmtree(bench.root)
    ran = bench.run("--mode", "eval", "--work-dir", elsewhere)
    assert (ran.code, ran.asked) == (0, NOTHING), ran.output
    assert {d: (copied / f"m_{d}_{SCORES[d]}.json").read_bytes() for d in (L1, L2)} == before


def test_the_newest_of_equal_answers_counts_in_whatever_folder(bench):
    bench.model["m"]["model_identity"] = "weights-1"  # keeps the address out of the fingerprint
    assert bench.run("--data", L2).asked[L2] == 6
    old = bench.folder()
    old.rename(old.with_name("T99990101_Gdeadbeef"))  # sorts behind today's; only runs count
    path = bench.model["m"]["model_path"]
    with MockServer(lambda request: Reply("0.5, 0.5")) as other:
        bench.model["m"]["model_path"] = path.replace(bench.server.url, other.url)
        bench.run("--data", L2, "--fresh")
        again = bench.run("--data", L2)
        elsewhere = bench.run("--data", L2, "--limit", "4")
        assert (again.code, elsewhere.code, len(other.requests)) == (0, 0, 6), again.output
    assert [record["raw"] for record in bench.answers(L2)] == ["0.5, 0.5"] * 4


def test_mended_truth_is_scored_without_asking(bench):
    file = bench.annotations / "L1_annotations.json"
    images = json.loads(file.read_text())
    for image in images:
        for group in image["groups"]:
            group["answer"] = "A"  # what the server says to medium and hard questions
    file.write_text(json.dumps(images))
    before = json.loads(bench.scores(L1))
    ran = bench.run()
    after = json.loads(bench.scores(L1))
    assert ran.asked == NOTHING
    assert [(before[d]["level_score"], after[d]["level_score"]) for d in ("easy", "medium", "hard")] \
        == [(1.0, 0.0), (0.0, 1.0), (0.0, 1.0)]  # fmt: skip
    again = bench.run("--mode", "eval")
    assert (again.code, json.loads(bench.scores(L1))) == (0, after)


def test_models_do_not_share_answers(bench):
    bench.model["other"] = bench.model["m"]
    assert bench.run("--model", "other").asked == ALL


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
        assert (told(ran.output, "refused"), told(ran.output, "failed")) == ([1], [1]), ran.output
        broken.clear()
        yield bench


EASY_0, EASY_1 = "Question 0 easy?", "Question 1 easy?"
FAILED_CASES = {
    # arguments: (asked again, exit code, easy score, what is printed)
    "": ([EASY_0], 1, 2 / 3, [f"{L1}: asked 1 (1 failed last time), reused 8",
                              "asked again with --retry-refused",
                              "9/9 (1 answered, 1 refused before, 7 reused)"]),
    "--ignore": ([], 1, 1 / 3, ["failed: wrong in the score, left as they are (--ignore)"]),
    "--retry-refused": ([EASY_0, EASY_1], 0, 1, [
        f"{L1}: asked 2 (1 failed last time, 1 refused last time), reused 7"]),
    "--retry-refused --ignore": ([EASY_1], 1, 2 / 3, []),
    "--check": ([], 0, 1 / 3, ["(1 failed last time, ",
        "7 answers there already, 1 refused before (--retry-refused)"]),
    "--check --retry-refused": ([], 0, 1 / 3, [
        "2 requests to send (1 failed last time, 1 refused last time, "]),
}  # fmt: skip


@pytest.mark.parametrize("arguments", FAILED_CASES)
def test_what_failed_is_asked_again_and_what_was_refused_on_demand(arguments, with_failures):
    asked, code, score, printed = FAILED_CASES[arguments]
    ran = with_failures.run(*arguments.split())
    found = [text for text in (EASY_0, EASY_1) if any(text in each.text for each in ran.requests)]
    assert (found, len(ran.requests), ran.code) == (asked, len(asked), code), ran.output
    assert [text for text in printed if text not in ran.output] == []
    easy = json.loads(with_failures.scores(L1))["easy"]["level_score"]
    assert easy == pytest.approx(score)
    if arguments == "--ignore":
        failed = [row for row in with_failures.sheet(L1) if row["prediction"] == FAILED_TEXT]
        assert [row["question"] for row in failed] == [EASY_0, EASY_1]
    if arguments == "--retry-refused":
        assert with_failures.run(arguments).requests == []


def test_fresh_asks_refused_samples_too(with_failures):
    ran = with_failures.run("--fresh")
    assert (ran.code, len(ran.requests)) == (0, 9)


def test_what_is_refused_again_on_demand_stays_refused(server, tmp_path):
    def answer(request):
        return Reply("B") if "hard" in request.text else Reply(status=400)

    make_data(tmp_path / "data")
    with MockServer(answer) as picky:
        bench = Bench(tmp_path, picky, {"m": api_model(picky.url)}, {L1: {"mode": "all"}})
        bench.run()
        assert len(bench.run("--retry-refused").requests) == 6
        assert bench.run().requests == []


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_run_in_which_all_was_refused_leaves_samples_that_are_asked_again(status, tmp_path):
    broken = [status]

    def answer(request):
        return Reply(status=broken[0]) if broken else Reply("B")

    make_data(tmp_path / "data")
    with MockServer(answer) as server:
        bench = Bench(tmp_path, server, {"m": api_model(server.url)}, {L1: {"mode": "all"}})
        ran = bench.run()
        assert (ran.code, len(ran.requests)) == (1, 9)
        assert told(ran.output, "failed") == [9], ran.output
        broken.clear()
        ran = bench.run()
    assert (ran.code, len(ran.requests)) == (0, 9)


def test_the_reason_is_what_sets_the_nearest_earlier_request_apart(bench):
    wording = bench.code / "wording.py"
    before = wording.read_text()
    bench.run("--data", L2)
    wording.write_text(before.replace("Please", "I ask you"))
    assert bench.run("--data", L2).asked == {L1: 0, L2: 6}
    wording.write_text(before)
    assert bench.run("--data", L2).asked == NOTHING
    bench.model["m"]["generate_cfg"]["temperature"] = 1

    ran = bench.run("--data", L2)

    assert f"{L2}: asked 6 (6 settings changed), reused 0" in ran.output
